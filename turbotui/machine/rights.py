"""The rights of this process: capabilities, seccomp, namespaces, and the limit on file descriptors.

Documents: proc_pid_status(5), namespaces(7), user_namespaces(7), prctl(2), getrlimit(2). A sandbox may refuse them all.
"""

from __future__ import annotations

import contextlib
import os
import resource
from typing import Final

from turbotui.machine.host import NAMESPACES, Privileges
from turbotui.machine.usable_cpus import read_or_empty
from turbotui.quantities.plain_numbers import hexadecimal, whole_number

_STATUS: Final = "/proc/self/status"
_UID_MAP: Final = "/proc/self/uid_map"


def own_rights(perf_paranoid: int | None) -> Privileges:
    """Read the rights of this process; what a sandbox keeps from it is unknown."""
    status = dict(line.split(":", 1) for line in read_or_empty(_STATUS).splitlines() if ":" in line)
    capabilities = status.get("CapEff", "").strip()
    namespaces = {}
    for kind in NAMESPACES:
        with contextlib.suppress(OSError):
            namespaces[kind] = os.stat(f"/proc/self/ns/{kind}").st_ino
    return Privileges(
        uid=os.geteuid(),
        capabilities=hexadecimal(capabilities) if capabilities else 0,
        perf_paranoid=perf_paranoid,
        descriptors=resource_limit(resource.RLIMIT_NOFILE),
        namespaces=namespaces,
        outer_uid=_outer_uid(read_or_empty(_UID_MAP)),
        seccomp=status.get("Seccomp", "").strip() in ("1", "2"),  # SECCOMP_MODE_STRICT, SECCOMP_MODE_FILTER
        no_new_privs=status.get("NoNewPrivs", "").strip() == "1",
    )


def resource_limit(kind: int) -> tuple[int, int] | None:
    """Return the soft and the hard limit of a resource; None if a sandbox forbids prlimit64(2)."""
    try:
        return resource.getrlimit(kind)
    except (OSError, ValueError):
        return None


def _outer_uid(uid_map: str) -> int | None:
    """Return the user outside of the user namespace that user 0 is there; None if unknown (user_namespaces(7))."""
    for line in uid_map.splitlines():
        words = line.split()
        if len(words) == 3 and words[0] == "0":
            return whole_number(words[1])
    return None
