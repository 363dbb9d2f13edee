"""Rights of a process, in its own namespaces and under a seccomp filter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from turbotui.machine.host import CAP_SYS_ADMIN, NAMESPACES, Privileges
from turbotui.machine.rights import own_rights

_SHOW = """
import json
from turbotui.machine.rights import own_rights
rights = own_rights(2)
print(json.dumps([rights.has(21), rights.contained("user"), rights.contained("pid"), rights.outer_uid]))
"""


def test_rights_of_this_process() -> None:
    rights = own_rights(1)
    assert (rights.uid, rights.perf_paranoid) == (os.geteuid(), 1)
    assert rights.namespaces.keys() == NAMESPACES.keys()
    assert rights.descriptors is not None
    assert rights.most_descriptors == rights.descriptors[0]


def test_capabilities_of_a_user_namespace_are_none_of_the_machine() -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is missing (package util-linux)")
    process = subprocess.run([unshare, "--user", "--map-root-user", "--pid", "--fork", sys.executable, "-c", _SHOW],  # noqa: S603 - ours
                             capture_output=True, text=True, check=False)
    if process.returncode:
        pytest.skip(f"no user namespace may be made: {process.stderr.strip()}")
    assert json.loads(process.stdout) == [False, True, True, os.getuid()]


def test_unknown_namespaces_are_taken_for_the_first_and_limits_for_the_usual() -> None:
    rights = Privileges(0, 1 << CAP_SYS_ADMIN, None, None)
    assert rights.has(CAP_SYS_ADMIN)
    assert not any(map(rights.contained, NAMESPACES))
    assert rights.most_descriptors == 1024
