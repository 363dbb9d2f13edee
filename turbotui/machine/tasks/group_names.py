"""Names of control groups for people: container, pod, job or unit, by the paths that their managers create.

One table of patterns, tried from the finest to the coarsest over every path that /proc/PID/cgroup names
(cgroups(7): one line in version 2, one for each hierarchy in version 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.small_files import text_of
from turbotui.untrusted import one_line

_HEX: Final = r"(?P<container>[0-9a-f]{64})"
_POD: Final = r"pod(?P<pod>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
_END: Final = r"(?=/|$)"
_SHORT: Final = 12
"""Characters of a container's id that runtimes show."""


@dataclass(frozen=True, slots=True)
class GroupName:
    """The kind and name of a control group."""

    kind: str  # "docker", "podman", "slurm", "unit"; "cgroup" if unknown
    name: str = ""  # the name of a unit, a job or a machine; "" if there is only an id
    container: str = ""  # the id, 64 digits; "" for other groups
    pod: str = ""  # the uid of a Kubernetes pod, with hyphens; "" outside of pods
    path: str = "/"  # the group's path from the root of its hierarchy; groups below it are parts of it

    @property
    def text(self) -> str:
        """The group in a few words: "docker 4f1b2a9c0d3e", "slurm 4711.0", "sshd.service"."""
        if self.kind in (UNIT, CGROUP):
            return self.name
        words = [self.kind, self.name, f"pod {self.pod[:8]}" if self.pod else "", self.container[:_SHORT]]
        return " ".join(word for word in words if word)


UNIT: Final = "unit"
CGROUP: Final = "cgroup"


@dataclass(frozen=True, slots=True)
class _Pattern:
    """The form of a manager's paths."""

    kind: str  # "" if the group `kind` of the expression tells it
    expression: re.Pattern[str]  # is searched in the path; the match's end is the end of the group's path
    document: str  # the source document


def _pattern(kind: str, expression: str, document: str) -> _Pattern:
    return _Pattern(kind, re.compile(expression), document)


_CRI: Final = "Kubernetes pkg/kubelet/cm/cgroup_manager_linux.go, the names of pods' groups"
_PATTERNS: Final[tuple[_Pattern, ...]] = (
    # containers of pods: by systemd's units, by plain folders, and by runc's slice:prefix:name where the two are mixed
    _pattern("", rf"kubepods[^/]*[-/]{_POD}(?:\.slice)?/(?P<kind>cri-containerd|crio|docker)-{_HEX}\.scope{_END}",
             _CRI),
    _pattern("", rf"kubepods[^/]*-{_POD}\.slice:(?P<kind>cri-containerd):{_HEX}{_END}", _CRI),
    _pattern("k8s", rf"kubepods(?:/\w+)?/{_POD}/(?:crio-)?{_HEX}{_END}", _CRI),
    _pattern("k8s", rf"kubepods[^/]*[-/]{_POD}(?:\.slice)?{_END}", _CRI),
    _pattern("k8s", rf"kubepods(?:/\w+)?/{_POD}{_END}", _CRI),
    # containers
    _pattern("conmon", rf"/(?:libpod-conmon|crio-conmon)-{_HEX}\.scope{_END}", "podman libpod/oci_conmon_linux.go"),
    _pattern("podman", rf"/libpod-{_HEX}(?:\.scope)?{_END}", "podman libpod, the names of scopes"),
    _pattern("docker", rf"/docker(?:/|-){_HEX}(?:\.scope)?{_END}", "moby daemon/oci_linux.go, withCgroups"),
    _pattern("crio", rf"/crio-{_HEX}(?:\.scope)?{_END}", "cri-o internal/config/cgmgr, prefix of scopes"),
    _pattern("containerd", rf"/(?:nerdctl|cri-containerd)-{_HEX}\.scope{_END}",
             "runc docs/systemd.md, slice:prefix:name"),
    _pattern("ecs", rf"/ecs/[0-9a-f-]+/{_HEX}{_END}", "Amazon ECS agent, groups of tasks"),
    _pattern("lxc", rf"/lxc\.payload\.(?P<name>[^/]+){_END}", "lxc.container.conf(5), lxc.cgroup.dir.container"),
    _pattern("lxc", rf"/lxc/(?P<name>[^/]+){_END}", "lxc.container.conf(5), before 4.0"),
    _pattern("nspawn", rf"/systemd-nspawn@(?P<name>[^/]+)\.service{_END}", "systemd-nspawn(1)"),
    _pattern("machine", rf"/machine-(?P<name>[^/]+)\.scope{_END}", "systemd-machined(8), org.freedesktop.machine1(5)"),
    _pattern("container", rf"/{_HEX}{_END}", "OCI runtimes with a --cgroup-parent of their own"),
    # jobs
    _pattern("slurm", rf"/(?:[^/]+_)?slurm[^/]*(?:/[^/]+)?/job_(?P<job>\d+)(?:/step_(?P<step>\w+))?{_END}",
             "Slurm cgroup.conf(5); src/plugins/cgroup/v1 and v2"),
    # units, the last one of a path; a user's own manager is a unit too
    _pattern(UNIT, rf"(?:.*)/(?P<name>[^/]+\.(?:service|scope|socket|mount|swap)){_END}", "systemd.unit(5)"),
    _pattern(UNIT, rf"(?:.*)/(?P<name>[^/]+\.slice){_END}", "systemd.slice(5)"),
)
"""The patterns, finest first, because a container's group lies in a unit, too."""


def group_paths(text: str) -> tuple[str, ...]:
    """Return the paths of /proc/PID/cgroup (`number:controllers:path`), the managing hierarchy's first."""
    paths: list[tuple[int, str]] = []
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon and path.startswith("/"):
            rank = 0 if number == "0" and path != "/" else 1 if controllers == "name=systemd" else 2
            paths.append((rank, one_line(path)))
    return tuple(dict.fromkeys(path for _, path in sorted(paths, key=lambda path: path[0])))


def group_name(paths: Iterable[str]) -> GroupName | None:
    """Return a process's group by the finest pattern that fits one of its paths; None without any path."""
    paths = tuple(paths)
    for pattern in _PATTERNS:
        for path in paths:
            if (match := pattern.expression.search(path)) is not None:
                return _named(pattern.kind, match, path)
    return GroupName(CGROUP, paths[0], path=paths[0]) if paths else None


def group_of_task(host: Host, tid: int) -> GroupName | None:
    """Return the group of a process or thread; None if it has ended, is hidden, or the kernel has none."""
    return group_name(group_paths(text_of(host, f"/proc/{tid}/cgroup")))


def _named(kind: str, match: re.Match[str], path: str) -> GroupName:
    parts = match.groupdict()
    job = parts.get("job")
    name = parts.get("name") or ""
    if job is not None:
        name = f"{job}.{parts['step']}" if parts.get("step") else job
    if kind in ("machine", "nspawn"):
        # \x2d is a hyphen: systemd's escapes (systemd.unit(5), "String Escaping for Inclusion in Unit Names")
        name = one_line(re.sub(r"\\x([0-9a-f]{2})", lambda escape: chr(int(escape[1], 16)), name))
    pod = (parts.get("pod") or "").replace("_", "-")
    return GroupName(parts.get("kind") or kind, name, parts.get("container") or "", pod, path[: match.end()])
