"""Answers CPUID and RDTSC of a program inside a fake machine: the two ways around the kernel to the real processor.

Every such instruction of the program is replaced by UD2 of the same length, and the signal of each is answered with
what the fake machine's CPU would have put into the registers (ptrace(2)). The vDSO is hidden from the program, so that
the time comes by system calls, which the supervisor answers. Works on every x86-64 processor: CPUID faulting is not
needed.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Final

_CONT, _GETREGS, _SETREGS, _SEIZE = 7, 12, 13, 0x4206  # uapi linux/ptrace.h
_TRACE_EXEC, _EXIT_KILL = 1 << 4, 1 << 20  # PTRACE_O_TRACEEXEC, PTRACE_O_EXITKILL
_EXEC_STOP: Final = signal.SIGTRAP | 4 << 8  # PTRACE_EVENT_EXEC, as si_status gives it
_UD2: Final = b"\x0f\x0b"
_LENGTH: Final = 2  # bytes of CPUID, RDTSC and UD2 (Intel SDM vol. 2)
_VDSO, _IGNORE = 33, 1  # AT_SYSINFO_EHDR, AT_IGNORE (uapi linux/auxvec.h)
_STOPPED: Final = os.WUNTRACED
_WORD: Final = struct.Struct("<Q")
_SITE: Final = re.compile(r"^\s*([0-9a-f]+):\t(?:0f a2|0f 31)\s+(cpuid|rdtsc)\s*$", re.MULTILINE)

Cpuid = Callable[[int, int, int], tuple[int, int, int, int]]
"""EAX, EBX, ECX, EDX of a thread's CPU, by thread, leaf and subleaf."""
Tsc = Callable[[], int]
"""The time-stamp counter."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


_NAMES = ("r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi",
          "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs")  # fmt: skip


class _Registers(ctypes.Structure):
    """struct user_regs_struct of x86-64 (sys/user.h)."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in _NAMES)


def cannot_trace() -> str:
    """Return what is missing for tracing instructions; "" if nothing is."""
    if os.uname().machine != "x86_64":
        return "CPUID and RDTSC are instructions of x86-64"
    if shutil.which("objdump") is None:
        return "objdump is not installed (Debian: binutils): it tells where the program executes CPUID"
    return ""


def instruction_sites(program: str) -> Mapping[int, str]:
    """Find the CPUID and RDTSC instructions of a program: load offset to the name of the instruction."""
    text = subprocess.run(["objdump", "-d", "--section=.text", program], capture_output=True, text=True, check=True)  # noqa: S603, S607 - objdump of the path
    return {int(match[1], 16): match[2] for match in _SITE.finditer(text.stdout)}


def _ptrace(request: int, pid: int, data: int = 0) -> None:
    if _libc.ptrace(request, pid, None, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace {request:#x}: {os.strerror(number)}")


class InstructionTracer:
    """Traces one process from before its exec(2) to its end, on a thread of its own.

    Args:
        pid: a child of this process that will exec `program` only after `start` has returned.
        program: path of the executable.
        cpuid: what CPUID gives.
        tsc: what RDTSC gives.

    Raises:
        OSError: the process cannot be traced.
    """

    def __init__(self, pid: int, program: str, cpuid: Cpuid, tsc: Tsc) -> None:
        self._pid = pid
        self._program = os.path.realpath(program)
        self._sites = instruction_sites(self._program)
        self._cpuid = cpuid
        self._tsc = tsc
        self._base = 0
        self._seized = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._trace, name="instruction-tracer", daemon=True)
        self._thread.start()
        self._seized.wait()
        if self._failure is not None:
            raise self._failure

    def join(self) -> None:
        """Wait until the process has ended."""
        self._thread.join(240.0)
        assert not self._thread.is_alive()

    def _trace(self) -> None:
        try:  # every request of ptrace(2) must come from the thread that seized
            _ptrace(_SEIZE, self._pid, _TRACE_EXEC | _EXIT_KILL)
        except OSError as error:
            self._failure = error
        self._seized.set()
        while self._failure is None:
            try:
                stop = os.waitid(os.P_PID, self._pid, _STOPPED)
            except ChildProcessError:  # it has ended
                return
            if stop is None:
                return
            try:
                self._answer(stop.si_status)
            except ProcessLookupError:  # it was killed while it was stopped
                return

    def _answer(self, status: int) -> None:
        passed_on = 0
        if status == _EXEC_STOP:
            if os.readlink(f"/proc/{self._pid}/exe") == self._program:
                self._prepare()
        elif status != signal.SIGILL or not self._emulate():
            passed_on = 0 if status >> 8 else status
        _ptrace(_CONT, self._pid, passed_on)

    def _registers(self) -> _Registers:
        registers = _Registers()
        _ptrace(_GETREGS, self._pid, ctypes.addressof(registers))
        return registers

    def _prepare(self) -> None:
        """Put UD2 in place of the instructions, and take the vDSO out of the auxiliary vector."""
        with open(f"/proc/{self._pid}/maps", encoding="utf-8") as maps:
            self._base = next(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(self._program))
        memory = os.open(f"/proc/{self._pid}/mem", os.O_RDWR)
        try:
            for site in self._sites:
                os.pwrite(memory, _UD2, self._base + site)
            self._hide_vdso(memory, self._registers().rsp)
        finally:
            os.close(memory)

    def _hide_vdso(self, memory: int, stack: int) -> None:
        """Walk argc, argv, envp and the auxiliary vector, as a program finds them at its start."""

        def word(address: int) -> int:
            return int.from_bytes(os.pread(memory, 8, address), "little")

        place = stack + 8 * (word(stack) + 2)  # argc, argv, its end
        while word(place):
            place += 8
        place += 8
        while word(place):
            if word(place) == _VDSO:
                os.pwrite(memory, _WORD.pack(_IGNORE), place)
            place += 16

    def _emulate(self) -> bool:
        """Do what the replaced instruction does; False for a SIGILL of the program's own."""
        registers = self._registers()
        name = self._sites.get(registers.rip - self._base)
        if name is None:
            return False
        if name == "cpuid":
            answer = self._cpuid(self._pid, registers.rax & 0xFFFF_FFFF, registers.rcx & 0xFFFF_FFFF)
            registers.rax, registers.rbx, registers.rcx, registers.rdx = answer
        else:
            ticks = self._tsc()
            registers.rax, registers.rdx = ticks & 0xFFFF_FFFF, ticks >> 32 & 0xFFFF_FFFF
        registers.rip += _LENGTH
        _ptrace(_SETREGS, self._pid, ctypes.addressof(registers))
        return True
