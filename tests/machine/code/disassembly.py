"""Disassemblers of the machine the tests run on, and an ELF file small enough for an emulator."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest


def x86(code: bytes, folder: Path) -> list[str]:
    """Instructions as GNU objdump writes them, Intel order of operands."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump is not installed (Debian: binutils)")
    path = folder / "code.bin"
    path.write_bytes(code)
    words = [objdump, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - a disassembler
    if done.returncode:
        pytest.skip(f"this objdump has no x86-64: {done.stderr.strip()}")
    return _instructions(done.stdout)


def a64(code: bytes, folder: Path) -> list[str]:
    """Instructions as an AArch64 objdump writes them, or llvm-mc, brought to the same spaces."""
    objdump = shutil.which("aarch64-linux-gnu-objdump")
    if objdump is not None:
        path = folder / "code.bin"
        path.write_bytes(code)
        words = [objdump, "-D", "-b", "binary", "-m", "aarch64", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - a disassembler
        if done.returncode == 0:
            return _instructions(done.stdout)
    llvm = shutil.which("llvm-mc")
    if llvm is None:
        pytest.skip("neither an AArch64 objdump nor llvm-mc is installed (Debian: binutils-aarch64-linux-gnu, llvm)")
    done = subprocess.run(  # noqa: S603 - a disassembler
        [llvm, "--disassemble", "--arch=aarch64", "--mattr=+sve,+bf16,+i8mm,+dotprod,+crc"],
        input=" ".join(f"{byte:#04x}" for byte in code), capture_output=True, text=True, check=False,
    )
    if done.returncode:
        pytest.skip(f"this llvm-mc has no AArch64: {done.stderr.strip()[:80]}")
    assert "invalid" not in done.stderr, done.stderr
    return [" ".join(line.split()) for line in done.stdout.splitlines() if line.strip() and ".text" not in line]


def _instructions(listing: str) -> list[str]:
    result = re.findall(r"^\s*[0-9a-f]+:\t[0-9a-f ]+\t(.*)$", listing, re.MULTILINE)
    return [" ".join(re.split(r"\s*(?:# |//|<)", text)[0].split()) for text in result]


_BASE = 0x400000
_HEADER = 64 + 56


def static_elf(code: bytes, data_bytes: int) -> bytes:
    """A static AArch64 program: its code at the entry, then zeroed writable memory (System V ABI, ELF-64)."""
    size = _HEADER + len(code)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, _BASE + _HEADER, 64, 0, 0, 64, 56, 1,
                         0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 7, 0, _BASE, _BASE, size, size + data_bytes, 0x10000)
    return header + segment + code
