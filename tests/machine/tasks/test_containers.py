"""Containers and pods by name, in trees as their runtimes create them."""

from __future__ import annotations

import errno
import json

import pytest
from treehost import TreeHost

from turbotui.errors import MachineError
from turbotui.machine.tasks.containers import (
    CONTAINER_LOGS,
    DOCKER,
    POD_LOGS,
    PODMAN,
    find_container,
    running_containers,
)

WEB = "4f1b2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
DB = "4f1baaaaaaaa5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
BOX = "beef2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
NGINX = "c0de2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"
UID = "7c1f3e2a-0b4d-4e6f-8a9b-0c1d2e3f4a5b"
POD = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice"

GROUPS = {
    1: "/init.scope",
    11: f"/system.slice/docker-{WEB}.scope",
    12: f"/system.slice/docker-{WEB}.scope",
    13: f"/system.slice/docker-{DB}.scope",
    14: f"/machine.slice/libpod-{BOX}.scope/container",
    15: f"/machine.slice/libpod-conmon-{BOX}.scope",
    16: f"{POD}/cri-containerd-{NGINX}.scope",
    17: "/lxc.payload.old/system.slice/cron.service",
}


def tree(*, names: bool = True, groups: dict[int, str] | None = None) -> TreeHost:
    files = {f"/proc/{pid}/cgroup": f"0::{path}\n" for pid, path in (GROUPS if groups is None else groups).items()}
    errors = {}
    if names:
        files |= {
            f"{DOCKER}/{WEB}/config.v2.json": json.dumps({"ID": WEB, "Name": "/web"}),
            f"{DOCKER}/{DB}/config.v2.json": json.dumps({"ID": DB, "Name": "/db"}),
            PODMAN: json.dumps([{"id": BOX, "names": ["box"]}, "nonsense"]),
            f"{CONTAINER_LOGS}/shop-0_prod_nginx-{NGINX}.log": "",
            f"{POD_LOGS}/prod_shop-0_{UID}/nginx/0.log": "",
        }
    else:
        errors[f"{DOCKER}/{WEB}/config.v2.json"] = errno.EACCES
    return TreeHost(files, folders=["/proc"], errors=errors)


@pytest.mark.parametrize(("word", "path"), [
    ("web", f"/system.slice/docker-{WEB}.scope"),
    ("4f1b2a9c0d3e", f"/system.slice/docker-{WEB}.scope"),
    (DB, f"/system.slice/docker-{DB}.scope"),
    ("box", f"/machine.slice/libpod-{BOX}.scope"),
    ("shop-0/nginx", f"{POD}/cri-containerd-{NGINX}.scope"),
    ("prod/shop-0/nginx", f"{POD}/cri-containerd-{NGINX}.scope"),
    ("shop-0", POD),
    ("prod/shop-0", POD),
    ("7c1f3e2a", POD),
    ("old", "/lxc.payload.old"),
])
def test_a_name_or_the_beginning_of_an_id_finds_the_group(word: str, path: str) -> None:
    assert find_container(tree(), word).path == path


def test_every_container_is_listed_once_and_what_watches_one_is_none() -> None:
    containers = running_containers(tree())
    assert [container.text for container in containers] == [
        "box (podman beef2a9c0d3e)", "db (docker 4f1baaaaaaaa)", "old (lxc old)", "shop-0 (pod 7c1f3e2a-0b4)",
        "shop-0/nginx (cri-containerd c0de2a9c0d3e)", "web (docker 4f1b2a9c0d3e)"]


def test_an_unknown_or_ambiguous_word_names_candidates() -> None:
    with pytest.raises(MachineError, match=r'"4f1b" is the name of 2 containers: db \(docker .*web \(docker'):
        find_container(tree(), "4f1b")
    with pytest.raises(MachineError, match=r'no container "wob"; there is box .*web \(docker 4f1b2a9c0d3e\)$'):
        find_container(tree(), "wob")
    with pytest.raises(MachineError, match="no process that this user can see is in one"):
        find_container(tree(groups={1: "/init.scope"}), "web")


def test_without_rights_an_id_is_found_and_a_name_says_why_it_is_not() -> None:
    assert find_container(tree(names=False), WEB[:6]).names == ()
    with pytest.raises(MachineError, match="only root may read: try the id, or sudo"):
        find_container(tree(names=False), "web")


def test_too_short_a_word_is_no_id() -> None:
    with pytest.raises(MachineError, match="no container"):
        find_container(tree(), "c0d")


def test_names_in_files_cannot_move_a_cursor() -> None:
    host = tree()
    host.files[f"{DOCKER}/{WEB}/config.v2.json"] = json.dumps({"Name": "/a\x1b[2Jb"})
    assert all("\x1b" not in container.text for container in running_containers(host))
    host.files[PODMAN] = json.dumps([{"id": BOX, "names": ["a\tb", ["c"], 7]}])
    assert find_container(host, "a\tb").names == ("a␉b",)


def test_a_name_that_is_no_text_is_none() -> None:
    host = tree()
    host.files[f"{DOCKER}/{WEB}/config.v2.json"] = json.dumps({"Name": ["web"]})
    assert find_container(host, WEB).names == ()
