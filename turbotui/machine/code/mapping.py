"""Memory for machine code, writable or executable but never both, and aligned memory for data."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from turbotui.errors import MachineError
from turbotui.machine.uname import own_uname

_PAGE: Final = mmap.PAGESIZE
_HUGE_PAGE: Final = 2 << 20  # transparent huge pages of x86-64 and of AArch64 with 4 KiB pages (kernel transhuge.rst)
_MBIND: Final = {"x86_64": 237, "aarch64": 235}  # arch/x86/entry/syscalls/syscall_64.tbl, scripts/syscall.tbl
_MPOL_BIND: Final = 2  # uapi linux/mempolicy.h
_BITS: Final = 8 * ctypes.sizeof(ctypes.c_ulong)
_MAP_FAILED: Final = ctypes.c_void_p(-1).value
_FILL: Final = 0x3F  # doubles of 4.8e-4 and floats of 0.75: no zero page, no denormals

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

# ctypes releases the interpreter's lock during the call, so pinned threads run their kernels at the same time
_RUN = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_ANSWER = ctypes.CFUNCTYPE(ctypes.c_int64)
# keeps the interpreter's lock: for code of microseconds, since taking the lock back beside a busy thread lasts 5 ms
_BRIEF = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


def _reserve(size: int, what: str) -> int:
    address: int | None = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE,
                                     mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if address is None or address == _MAP_FAILED:
        raise MachineError(f"no memory for {what}: mmap of {size} bytes: {os.strerror(ctypes.get_errno())}")
    return address


class Mapping:
    """Pages that stay mapped while a thread works on them, even if another thread closes them.

    Raises a MachineError with `what` if there is not enough memory.
    """

    def __init__(self, size: int, what: str) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._closed = False
        self._mapped_size = size
        self._start = _reserve(size, what)

    @property
    def mapped(self) -> bool:
        """Whether the memory is still there."""
        return self._start != 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the code mapped within a `with`, for a thread that runs it while another may close it.

        Raises:
            ValueError: it is closed.
        """
        with self._lock:
            if self._closed:
                raise ValueError("closed memory cannot be worked on")
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                self._unmap_unused()

    def close(self) -> None:
        """Unmap the code immediately, or when the last thread that holds it releases it."""
        with self._lock:
            self._closed = True
            self._unmap_unused()

    def _unmap_unused(self) -> None:
        if self._closed and not self._holders and self._start:
            _libc.munmap(self._start, self._mapped_size)
            self._start = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


class CodePage(Mapping):
    """Machine code mapped writable, filled, then turned executable and read-only; a context manager.

    There is no way around a refusal: a file mapped executable would evade the policy that refused.

    Args:
        lost: what is not to be had without it, up to the remedy: "roofs cannot be measured; use --theory, or".

    Raises:
        MachineError: the kernel refuses executable memory (SELinux execmem, systemd MemoryDenyWriteExecute).
    """

    def __init__(self, code: bytes, lost: str = "roofs cannot be measured; use --theory, or") -> None:
        super().__init__(-(-len(code) // _PAGE) * _PAGE, "machine code")
        self.address = self._start
        ctypes.memmove(self.address, code, len(code))
        if _libc.mprotect(self.address, self._mapped_size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            number = ctypes.get_errno()
            self.close()
            raise MachineError(
                f"this system refuses executable memory (mprotect: {os.strerror(number)}), so {lost} "
                "run outside the service or SELinux domain that forbids it")
        self._run = _RUN(self.address)
        self._brief = _BRIEF(self.address)

    def run(self, iterations: int, base: int, size: int) -> None:
        """Call the code as a roof kernel."""
        self._run(iterations, base, size)

    def run_briefly(self, first: int, second: int, count: int) -> None:
        """Call code of a few microseconds, which no other Python thread runs beside."""
        self._brief(first, second, count)

    def answer(self) -> int:
        """Call the code as a function without arguments."""
        answer: int = _ANSWER(self.address)()
        return answer


class Buffer(Mapping):
    """Aligned memory in pages of its own, all written by the creating thread; a context manager.

    Args:
        node: the NUMA node of the memory; None for that of the thread's CPU.

    Attributes:
        address: aligned to a page, or to a huge page from 2 MiB on.
        size: usable bytes.

    Raises:
        MachineError: there is not enough memory, or none of that node.
    """

    def __init__(self, size: int, node: int | None = None) -> None:
        self.size = size
        huge = size >= _HUGE_PAGE
        super().__init__(size + (_HUGE_PAGE if huge else _PAGE), "a working set")
        alignment = _HUGE_PAGE if huge else _PAGE
        self.address = -(-self._start // alignment) * alignment
        if huge:
            # only advice: if it is ignored, TLB misses are part of the measurement
            _libc.madvise(self.address, size // _HUGE_PAGE * _HUGE_PAGE, mmap.MADV_HUGEPAGE)
        if node is not None:
            self._bind(node)
        # untouched pages all share one page of zeros; the thread that writes a page first has it on its NUMA node
        ctypes.memset(self.address, _FILL, size)

    def _bind(self, node: int) -> None:
        """Bind the pages to a node before the first of them is written (mbind(2))."""
        number = _MBIND.get(own_uname().machine)
        mask = (ctypes.c_ulong * (node // _BITS + 1))()
        mask[node // _BITS] = 1 << node % _BITS
        failed = number is None or _libc.syscall(
            ctypes.c_long(number), ctypes.c_void_p(self._start), ctypes.c_ulong(self._mapped_size),
            ctypes.c_long(_MPOL_BIND), mask, ctypes.c_ulong(len(mask) * _BITS + 1), ctypes.c_long(0)) != 0
        if failed:
            why = "its number is not known here" if number is None else os.strerror(ctypes.get_errno())
            self.close()
            raise MachineError(f"no memory of node {node}: mbind: {why}")

    def write(self, data: bytes, offset: int = 0) -> None:
        """Copy bytes into the mapping. Raises ValueError if the bytes do not fit."""
        if offset < 0 or offset + len(data) > self.size:
            raise ValueError(f"{len(data)} bytes at {offset} do not fit {self.size}")
        ctypes.memmove(self.address + offset, data, len(data))

    def read(self, size: int, offset: int = 0) -> bytes:
        """Copy bytes out of the mapping. Raises ValueError if there are fewer bytes."""
        if offset < 0 or offset + size > self.size:
            raise ValueError(f"{size} bytes at {offset} are not in {self.size}")
        return ctypes.string_at(self.address + offset, size)
