"""Runs a program under a seccomp filter that refuses some system calls, as SystemCallFilter= of a service does.

Run as a program: `python sandbox.py CALL,CALL ERRNO PROGRAM WORD...`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from typing import Final

CALLS: Final = {
    # arch/x86/entry/syscalls/syscall_64.tbl; include/uapi/asm-generic/unistd.h
    "x86_64": {"sched_setaffinity": 203, "prlimit64": 302, "getrlimit": 97, "setrlimit": 160, "uname": 63,
               "sched_getaffinity": 204},
    "aarch64": {"sched_setaffinity": 122, "prlimit64": 261, "getrlimit": 163, "setrlimit": 164, "uname": 160,
                "sched_getaffinity": 123},
}
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO (uapi linux/seccomp.h)
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K (uapi linux/bpf_common.h)
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def why_not() -> str:
    """Why no filter can be set here; "" if one can."""
    return "" if os.uname().machine in CALLS else f"the calls of {os.uname().machine} have no numbers here"


def refuse(calls: Iterable[str], number: int) -> None:
    """Let this process and its children get this errno from these calls, for good."""
    lines = [struct.pack("HBBI", _LOAD, 0, 0, 0)]  # offsetof(struct seccomp_data, nr) is 0
    for call in calls:
        lines += [struct.pack("HBBI", _EQUAL, 0, 1, CALLS[os.uname().machine][call]),
                  struct.pack("HBBI", _RETURN, 0, 0, _ERRNO | number)]
    lines.append(struct.pack("HBBI", _RETURN, 0, 0, _ALLOW))
    program = ctypes.create_string_buffer(b"".join(lines))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(lines), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(_SECCOMP, _FILTER, header, 0, 0):
        raise OSError(ctypes.get_errno(), "the filter cannot be set")


if __name__ == "__main__":
    refuse(sys.argv[1].split(","), int(sys.argv[2]))
    os.execv(sys.argv[3], sys.argv[3:])  # noqa: S606 - the program that the test names
