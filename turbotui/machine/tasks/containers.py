"""Finds a container or pod by name or id, from control groups of processes and from the runtimes' files.

Control groups have the ids, and need no rights; names are in the runtimes' own files:

    docker      /var/lib/docker/containers/ID/config.v2.json: "Name"                    (root)
    podman      /var/lib/containers/storage/overlay-containers/containers.json, and the user's own: "names"
    kubelet     /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, links that are named so
    kubelet     /var/log/pods/NAMESPACE_POD_UID/CONTAINER

The kubelet's are described in Kubernetes' documentation of logging, the others in the runtimes' sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import names_in
from turbotui.machine.tasks.group_names import group_of_task
from turbotui.machine.tasks.processes import processes
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.documents import parse_json
from turbotui.untrusted import one_line

DOCKER: Final = "/var/lib/docker/containers"
PODMAN: Final = "/var/lib/containers/storage/overlay-containers/containers.json"
CONTAINER_LOGS: Final = "/var/log/containers"
POD_LOGS: Final = "/var/log/pods"
_PEOPLE: Final = "/home"
_OWN_PODMAN: Final = ".local/share/containers/storage/overlay-containers/containers.json"
_LOG: Final = re.compile(r"(?P<pod>[^_]+)_(?P<space>[^_]+)_(?P<container>.+)-(?P<id>[0-9a-f]{64})\.log")
_POD_LOG: Final = re.compile(r"(?P<space>[^_]+)_(?P<pod>[^_]+)_(?P<uid>[0-9a-f-]{32,36})")
_LEAST: Final = 4  # least characters of an id that name a container
_LISTED: Final = 8  # most candidates that an error names


@dataclass(frozen=True, slots=True)
class RunningContainer:
    """A container, or a whole pod, with processes."""

    kind: str  # the runtime
    id: str  # the id of the container, or the uid of the pod
    names: tuple[str, ...]  # the names for people; for a pod's container also "pod/container"
    path: str  # the path of its control group

    @property
    def text(self) -> str:
        """The container in a few words: "web (docker 4f1b2a9c0d3e)"."""
        what = f"{self.kind} {self.id[:12]}"
        return f"{self.names[0]} ({what})" if self.names else what


def running_containers(host: Host) -> list[RunningContainer]:
    """Return every container and pod with a process that this user can see."""
    names = _names(host)
    matches = (_POD_LOG.fullmatch(name) for name in names_in(host, POD_LOGS))
    pods = {match["uid"]: (match["pod"], f"{match['space']}/{match['pod']}") for match in matches if match is not None}
    containers: dict[str, RunningContainer] = {}
    for pid in processes(host):
        group = group_of_task(host, pid)
        if group is None or group.kind == "conmon":
            continue
        if group.container and group.path not in containers:
            known = names.get(group.container, ())
            containers[group.path] = RunningContainer(group.kind, group.container, known, group.path)
        elif group.kind in ("lxc", "nspawn", "machine"):
            containers[group.path] = RunningContainer(group.kind, group.name, (group.name,), group.path)
        if group.pod:
            path = group.path if not group.container else group.path.rpartition("/")[0]
            containers.setdefault(path, RunningContainer("pod", group.pod, pods.get(group.pod, ()), path))
    return sorted(containers.values(), key=lambda container: (container.names or (container.id,), container.path))


def find_container(host: Host, word: str) -> RunningContainer:
    """Find the container or pod by name, or by the beginning of its id.

    Raises:
        MachineError: there is none, or several; candidates are named.
    """
    running, word = running_containers(host), one_line(word)  # as their names are
    exact = [container for container in running if word in container.names or word == container.id]
    containers = exact or [container for container in running if len(word) >= _LEAST and container.id.startswith(word)]
    if len(containers) == 1:
        return containers[0]
    if containers:
        raise MachineError(f'"{word}" is the name of {len(containers)} containers: {_listed(containers)}; give the id')
    if not running:
        raise MachineError(f'there is no container "{word}": no process that this user can see is in one')
    unnamed = any(not container.names for container in running)
    hint = "; names are in files of the runtime that only root may read: try the id, or sudo" if unnamed else ""
    raise MachineError(f'there is no container "{word}"; there is {_listed(running)}{hint}')


def _listed(containers: Sequence[RunningContainer]) -> str:
    more = f" and {len(containers) - _LISTED} more" if len(containers) > _LISTED else ""
    return ", ".join(container.text for container in containers[:_LISTED]) + more


def _names(host: Host) -> Mapping[str, tuple[str, ...]]:
    """Return names by container id, from every readable file."""
    named = lists_by_key((container, one_line(name))
                         for container, name in (*_docker(host), *_podman(host), *_kubelet(host)) if name)
    return {container: tuple(dict.fromkeys(names)) for container, names in named.items()}


def _docker(host: Host) -> Iterator[tuple[str, str]]:
    for container in names_in(host, DOCKER):
        config = _json(host, f"{DOCKER}/{container}/config.v2.json")
        if isinstance(config, dict):
            name = config.get("Name")
            yield container, name.removeprefix("/") if isinstance(name, str) else ""


def _podman(host: Host) -> Iterator[tuple[str, str]]:
    own = (f"{_PEOPLE}/{name}/{_OWN_PODMAN}" for name in names_in(host, _PEOPLE))
    for path in (PODMAN, *own, f"/root/{_OWN_PODMAN}"):
        listed = _json(host, path)
        for container in listed if isinstance(listed, list) else ():
            names = container.get("names") if isinstance(container, dict) else None
            if isinstance(names, list):
                yield from ((str(container.get("id")), name) for name in names if isinstance(name, str))


def _kubelet(host: Host) -> Iterator[tuple[str, str]]:
    for name in names_in(host, CONTAINER_LOGS):
        if (match := _LOG.fullmatch(name)) is not None:
            yield match["id"], f"{match['pod']}/{match['container']}"
            yield match["id"], f"{match['space']}/{match['pod']}/{match['container']}"


def _json(host: Host, path: str) -> object:
    try:
        return parse_json(host.read_text(path))
    except (HostError, ValueError):
        return None  # as above
