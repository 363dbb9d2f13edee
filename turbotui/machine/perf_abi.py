"""The binding of perf_event_open(2): the attribute structure, the system call's number, and the call itself.

libc has no wrapper, so the call goes through syscall(2). The layout is that of uapi linux/perf_event.h (Linux 6.18).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import struct
from typing import Final

from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.uname import own_uname

ENABLE: Final = 0x2400  # PERF_EVENT_IOC_ENABLE, _IO('$', 0)
DISABLE: Final = 0x2401  # PERF_EVENT_IOC_DISABLE, _IO('$', 1)
PERF_FLAG_FD_CLOEXEC: Final = 8  # uapi linux/perf_event.h
PUBLISHED_SIZE: Final = 136  # PERF_ATTR_SIZE_VER8 (config3); older kernels take a longer structure whose tail is zero

SYSCALL_NUMBERS: Final[dict[tuple[str, int], int]] = {
    # (uname machine, pointer bytes): arch/*/entry/syscalls/syscall*.tbl; 241 is the generic table's number.
    ("x86_64", 8): 298,
    ("aarch64", 8): 241,
    ("riscv64", 8): 241,
    ("loongarch64", 8): 241,
    ("ppc64le", 8): 319,
    ("i386", 4): 336,
    ("i686", 4): 336,
    ("x86_64", 4): 336,
    ("armv7l", 4): 364,
    ("aarch64", 4): 364,
}
"""A 32-bit interpreter under a 64-bit kernel calls through the 32-bit table. Big-endian machines are not listed: the
flag word of the structure below is written for little endian."""


class PerfEventAttr(ctypes.Structure):
    """struct perf_event_attr, 144 bytes (PERF_ATTR_SIZE_VER9); `flags` is the word of bit fields at offset 40."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_events", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("config1", ctypes.c_uint64),
        ("config2", ctypes.c_uint64),
        ("branch_sample_type", ctypes.c_uint64),
        ("sample_regs_user", ctypes.c_uint64),
        ("sample_stack_user", ctypes.c_uint32),
        ("clockid", ctypes.c_int32),
        ("sample_regs_intr", ctypes.c_uint64),
        ("aux_watermark", ctypes.c_uint32),
        ("sample_max_stack", ctypes.c_uint16),
        ("reserved_2", ctypes.c_uint16),
        ("aux_sample_size", ctypes.c_uint32),
        ("aux_action", ctypes.c_uint32),
        ("sig_data", ctypes.c_uint64),
        ("config3", ctypes.c_uint64),
        ("config4", ctypes.c_uint64),
    )


def structure_of(attr: PerfAttr) -> PerfEventAttr:
    """The kernel's structure for an attribute; fields that counting does not use are zero."""
    return PerfEventAttr(
        type=attr.type,
        # a kernel that does not know config4 refuses a structure with a nonzero one, whatever its size
        size=ctypes.sizeof(PerfEventAttr) if attr.config4 else PUBLISHED_SIZE,
        config=attr.config,
        config1=attr.config1,
        config2=attr.config2,
        config3=attr.config3,
        config4=attr.config4,
        read_format=attr.read_format,
        flags=attr.flags,
        sample_period=attr.sample_period,
        sample_type=attr.sample_type,
        bp_type=attr.bp_type,
        branch_sample_type=attr.branch_sample_type,
        sample_max_stack=attr.sample_max_stack,
        aux_sample_size=attr.aux_sample_size,
        clockid=attr.clockid,
    )


def syscall_number(machine: str, pointer_bytes: int) -> int | None:
    """The number of perf_event_open on an architecture, by its uname; None if unknown."""
    return SYSCALL_NUMBERS.get((machine, pointer_bytes))


_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_number = syscall_number(own_uname().machine, struct.calcsize("P"))


def perf_event_open(attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
    """Open one counter on this machine, closed on exec.

    Args:
        pid: a thread id, 0 for the calling thread, -1 for everything on `cpu`.
        cpu: Linux CPU number, -1 for any.
        group: the leader's descriptor, or -1 to lead a group.

    Raises:
        HostError: as perf_event_open(2); ENOSYS where the architecture's call number is not known.
    """
    what = f"perf_event_open type {attr.type} config {attr.config:#x} on CPU {cpu}"
    if _number is None:
        raise HostError(errno.ENOSYS, what)
    structure = structure_of(attr)
    descriptor = int(_libc.syscall(ctypes.c_long(_number), ctypes.byref(structure), ctypes.c_int(pid),
        ctypes.c_int(cpu), ctypes.c_int(group), ctypes.c_ulong(PERF_FLAG_FD_CLOEXEC | attr.target_flags)))
    # errno is meaningful only after a failure, so the result is looked at first.
    if descriptor < 0:
        raise HostError(ctypes.get_errno(), what)
    return descriptor


def control(descriptor: int, request: int, argument: int, what: str) -> None:
    """ioctl(2) on a perf event.

    Raises:
        HostError: as the kernel answers.
    """
    try:
        fcntl.ioctl(descriptor, request, argument)
    except OSError as error:
        raise HostError(error.errno or errno.EIO, what) from error
