"""Remedies for refusals: what a person can do, and what each way opens to whom.

Never a capability for the system's interpreter: every script of every user would have it.
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import CAP_PERFMON, CAP_SYS_RAWIO, Privileges

OR: Final = "; or "
"""Between two ways of one remedy."""

SUDO: Final = "run as root: sudo turbotui (everything, for that run alone)"

PARANOID: Final = (
    "sysctl kernel.perf_event_paranoid=0 (until the next boot every user may count whole CPUs, and so see how busy the "
    "kernel and others' programs are)"
)

_COPY: Final = "/opt/turbotui"
_CAPABILITIES: Final = ((CAP_PERFMON, "cap_perfmon"), (CAP_SYS_RAWIO, "cap_sys_rawio"))  # capabilities(7)
_OPENS: Final = {
    CAP_PERFMON: "count and sample everything that runs",
    CAP_SYS_RAWIO: "reach devices and memory past the kernel, which is as good as root",
}


def own_copy(rights: Privileges, *wanted: int) -> str:
    """How to give a group capabilities through a copy of the interpreter that runs nothing but this program.

    Those of ours that the process has already are kept in the line: setcap(8) replaces the set.

    Args:
        rights: of this process.
        wanted: capability numbers.
    """
    kept = [number for number, _name in _CAPABILITIES if number in wanted or rights.has(number)]
    names = ",".join(name for number, name in _CAPABILITIES if number in kept)
    opens = " and ".join(_OPENS[number] for number in kept)
    python = f"{_COPY}/bin/python3"
    return (
        f"for a GROUP a copy of Python for this program alone: python3 -m venv --copies {_COPY} && {python} -m pip "
        f"install turbotui && chgrp GROUP {python} && chmod 0750 {python} && setcap {names}+ep {python} (whoever is in "
        f"GROUP may run any Python with it: {opens})"
    )


def ways(*texts: str) -> str:
    """Several ways on one line, the narrowest first."""
    return OR.join(texts)
