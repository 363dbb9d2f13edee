"""Functions of ELF files by their symbol tables (System V ABI, chapter 4, symbol table), with pyelftools.

pyelftools takes 60 ms to import, so it is imported only when a table of functions is needed.
"""

from __future__ import annotations

import bisect
import os
import stat
from typing import TYPE_CHECKING, Any, Final

from turbotui.dataclass import dataclass
from turbotui.machine.own_program import install_command
from turbotui.untrusted import decoded, one_line, original

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST: Final = 2 << 30  # most bytes of a file: a debug build of a browser
_MOST_SYMBOLS: Final = 2_000_000
_CODE: Final = ("STT_FUNC", "STT_GNU_IFUNC", "STT_LOOS")


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """The functions of one file."""

    starts: tuple[int, ...] = ()  # the functions' addresses, ascending
    sizes: tuple[int, ...] = ()  # their sizes; 0 if unknown
    names: tuple[str, ...] = ()  # their names, with control characters made visible
    segments: tuple[tuple[int, int, int], ...] = ()  # (offset in the file, length, address) of mapped segments
    why: str = ""  # why there are no names; "" if there are

    def name(self, offset: int) -> str:
        """Return the function at an offset of the file; "" if no symbol covers it."""
        return next((self._at(offset - start + address) for start, length, address in self.segments
                     if start <= offset < start + length), "")

    def _at(self, address: int) -> str:
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0:
            return ""
        size = self.sizes[at]
        return self.names[at] if not size or address < self.starts[at] + size else ""


def read_functions(path: str, inode: int = 0, since: float = 0.0) -> FunctionTable:
    """Read the functions of a file from its symbol table, else from its dynamic one.

    Args:
        inode: the file's inode when it was mapped; 0 for any. Overlays show other inodes than the kernel's records, so
            a difference counts only if the file was changed since.
        since: the start of the program, in seconds since 1970.
    """
    try:
        from elftools.common.exceptions import ELFError  # noqa: PLC0415 - an extra
        from elftools.elf.elffile import ELFFile  # noqa: PLC0415 - as above
    except ImportError:
        return FunctionTable(why=f"functions are named by pyelftools: {install_command('pyelftools')}")
    try:
        if not stat.S_ISREG(os.stat(original(path)).st_mode):
            return FunctionTable(why="it is no regular file")
        with open(os.open(original(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if inode and facts.st_ino != inode and facts.st_ctime > since:
                return FunctionTable(why="the file is another one now than the one that ran")
            if facts.st_size > _LARGEST:
                return FunctionTable(why=f"the file has more than {_LARGEST >> 30} GiB")
            return _read(ELFFile(file))
    except OSError as error:
        return FunctionTable(why=f"the file cannot be read: {error.strerror}")
    except (ELFError, ValueError, KeyError, IndexError, AssertionError, OverflowError, UnicodeError,
            AttributeError, TypeError) as error:  # errors of pyelftools for damaged files
        return FunctionTable(why=f"the file is no ELF file that can be read: {one_line(str(error))[:80]}")


def _read(elf: Any) -> FunctionTable:
    segments = tuple((segment["p_offset"], segment["p_filesz"], segment["p_vaddr"])
                     for segment in elf.iter_segments("PT_LOAD"))
    for section in (".symtab", ".dynsym"):
        table = elf.get_section_by_name(section)
        functions = {} if table is None else dict(_functions(table))
        if functions:
            starts = sorted(functions)
            return FunctionTable(tuple(starts), tuple(functions[start][0] for start in starts),
                                 tuple(functions[start][1] for start in starts), segments)
    return FunctionTable(segments=segments, why="the file has no symbols: it was stripped")


def _functions(table: Any) -> Iterator[tuple[int, tuple[int, str]]]:
    """Return each function's address, size and name; of several at one address, the one with the largest size."""
    best: dict[int, int] = {}
    for number, symbol in enumerate(table.iter_symbols()):
        if number >= _MOST_SYMBOLS:
            return
        if symbol["st_info"]["type"] not in _CODE or symbol["st_shndx"] == "SHN_UNDEF" or not symbol.name:
            continue
        start, size = symbol["st_value"], symbol["st_size"]
        if size >= best.get(start, -1):
            best[start] = size
            yield start, (size, one_line(decoded(symbol.name.encode("utf-8", "surrogateescape"))))
