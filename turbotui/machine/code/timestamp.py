"""Read the time-stamp counter directly, which needs no privilege, no driver and no system call."""

from __future__ import annotations

import ctypes
import errno
import functools
import sys

from turbotui.errors import MachineError
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.host import HostError
from turbotui.machine.uname import own_uname

RDTSC = bytes.fromhex(
    "0faee8"  # lfence: earlier instructions have completed (Intel SDM vol. 2, RDTSC)
    "0f31"  # rdtsc
    "48c1e220"  # shl rdx, 32
    "4809d0"  # or rax, rdx
    "c3"  # ret
)
"""A function without arguments that returns the counter (System V AMD64 psABI: result in rax, rdx is the callee's)."""

_PR_GET_TSC, _PR_TSC_ENABLE = 25, 1  # uapi linux/prctl.h


def read_timestamp() -> int:
    """The counter of the CPU that runs this thread.

    Raises:
        HostError: ENOSYS without such an instruction, EPERM if this process may not execute it, EACCES if the system
            refuses executable memory.
    """
    return _page().answer()


@functools.cache
def _page() -> CodePage:
    if own_uname().machine != "x86_64" or sys.maxsize <= 1 << 32:
        raise HostError(errno.ENOSYS, "rdtsc")
    if not _allowed():
        raise HostError(errno.EPERM, "rdtsc (prctl PR_SET_TSC)")
    try:
        return CodePage(RDTSC, "the counter cannot be read directly;")
    except MachineError as error:
        raise HostError(errno.EACCES, f"rdtsc ({error})") from error


def _allowed() -> bool:
    """Whether this process may execute the instruction; otherwise the attempt kills it (prctl(2), PR_SET_TSC)."""
    state = ctypes.c_int()
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(_PR_GET_TSC, ctypes.byref(state), 0, 0, 0) == 0 and state.value == _PR_TSC_ENABLE)
