"""Functions of ELF files by their symbol tables (System V ABI, chapters 4 and 5).

pyelftools would take 60 ms and 6 MB, most of it for constructs and formats of debugging information. Tables are packed,
and names are decoded when they are asked for: objects for each of tens of thousands of functions took 13 MB, and left
holes of 7 MB.
"""

from __future__ import annotations

import bisect
import os
import stat
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.untrusted import decoded, one_line, original

_LARGEST: Final = 2 << 30  # most bytes of a file: a debug build of a browser
_LARGEST_PART: Final = 1 << 28  # of a table of it, or of the names
_MOST_SYMBOLS: Final = 2_000_000
_MOST_PARTS: Final = 1 << 17  # sections, and segments: a file of holes may claim four millions, which take 0.8 GB
_LONGEST_NAME: Final = 1 << 16  # bytes shown of a name
_IDENT: Final = 16  # bytes: magic number, class, byte order
_ORDERS: Final = {1: "<", 2: ">"}  # ELFDATA2LSB, ELFDATA2MSB
_LOAD, _SYMBOLS, _DYNAMIC, _UNDEFINED = 1, 2, 11, 0  # PT_LOAD, SHT_SYMTAB, SHT_DYNSYM, SHN_UNDEF
_CODE: Final = frozenset({2, 10})  # STT_FUNC; STT_GNU_IFUNC, which is STT_LOOS
_MANY_SEGMENTS: Final = 0xFFFF  # PN_XNUM: their number is in section 0


@dataclass(frozen=True, slots=True)
class _Form:
    """The structures of a class of files: how each is packed, and the places of what is used."""

    header: str  # behind the identification: places 4, 5, 9, 11 are e_phoff, e_shoff, e_phnum and e_shnum
    segment: str
    segment_places: tuple[int, ...]  # p_type, p_offset, p_filesz, p_vaddr
    section: str  # places 1, 4, 5, 6, 7 are sh_type, sh_offset, sh_size, sh_link and sh_info
    symbol: str
    symbol_places: tuple[int, ...]  # st_name, st_info, st_shndx, st_value, st_size


_FORMS: Final[Mapping[int, _Form]] = {
    1: _Form("HHIIIIIHHHHHH", "8I", (0, 1, 4, 2), "10I", "IIIBBH", (0, 3, 5, 1, 2)),  # ELFCLASS32
    2: _Form("HHIQQQIHHHHHH", "IIQQQQQQ", (0, 2, 5, 3), "IIQQQQIIQQ", "IBBHQQ", (0, 1, 3, 4, 5)),  # ELFCLASS64
}


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """The functions of one file."""

    starts: Sequence[int] = ()  # the functions' addresses, ascending
    sizes: Sequence[int] = ()  # their sizes; 0 if unknown
    names: Sequence[int] = ()  # where their names begin in the texts
    texts: bytes = b""  # names, each with a NUL behind it
    segments: tuple[tuple[int, int, int], ...] = ()  # (offset in the file, length, address) of mapped segments
    why: str = ""  # why names are missing; "" if none is

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.texts) + 3 * 8 * len(self.starts)

    def name(self, offset: int) -> str:
        """Return the function at an offset of the file; "" if no symbol covers it."""
        return next((self._at(offset - start + address) for start, length, address in self.segments
                     if start <= offset < start + length), "")

    def _at(self, address: int) -> str:
        at = bisect.bisect_right(self.starts, address) - 1
        if at < 0 or (self.sizes[at] and address >= self.starts[at] + self.sizes[at]):
            return ""
        begin = self.names[at]
        end = self.texts.find(b"\0", begin, begin + _LONGEST_NAME)
        if end >= 0:
            return one_line(decoded(self.texts[begin:end]))
        if self.texts.find(b"\0", begin) < 0:
            return ""  # the file ends in it
        return f"{one_line(decoded(self.texts[begin:begin + _LONGEST_NAME]))}… at {self.starts[at]:#x}"


def read_functions(path: str, inode: int = 0, since: float = 0.0) -> FunctionTable:
    """Read the functions of a file from its symbol table, else from its dynamic one.

    Args:
        inode: the file's inode when it was mapped; 0 for any. Overlays show other inodes than the kernel's records, so
            a difference counts only if the file was changed since.
        since: the start of the program, in seconds since 1970.
    """
    try:
        if not stat.S_ISREG(os.stat(original(path)).st_mode):
            return FunctionTable(why="it is no regular file")
        with open(os.open(original(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            facts = os.fstat(file.fileno())
            if inode and facts.st_ino != inode and facts.st_ctime > since:
                return FunctionTable(why="the file is another one now than the one that ran")
            if facts.st_size > _LARGEST:
                return FunctionTable(why=f"the file has more than {_LARGEST >> 30} GiB")
            return _read(file.fileno())
    except OSError as error:
        return FunctionTable(why=f"the file cannot be read: {error.strerror}")
    except (struct.error, ValueError, KeyError, IndexError, OverflowError) as error:
        return FunctionTable(why=f"the file is no ELF file that can be read: {one_line(str(error))[:80]}")


def _read(descriptor: int) -> FunctionTable:
    ident = _bytes(descriptor, 0, _IDENT)
    if ident[:4] != b"\x7fELF":
        raise ValueError("it begins with another number")
    form, order = _FORMS[ident[4]], _ORDERS[ident[5]]
    header = struct.Struct(order + form.header)
    words = header.unpack(_bytes(descriptor, _IDENT, header.size))
    section_at, section_count, segment_count = words[5], words[11], words[9]
    if section_at and (not section_count or segment_count == _MANY_SEGMENTS):  # numbers beyond 16 bits are in section 0
        counts = next(_table(descriptor, order + form.section, section_at, 1))
        section_count = section_count or counts[5]
        segment_count = counts[7] if segment_count == _MANY_SEGMENTS else segment_count
    if max(section_count, segment_count) > _MOST_PARTS:
        raise ValueError(f"it has more than {_MOST_PARTS:,} sections or segments")
    segments = tuple(
        (offset, length, address)
        for kind, offset, length, address in map(
            itemgetter(*form.segment_places), _table(descriptor, order + form.segment, words[4], segment_count))
        if kind == _LOAD)
    sections = list(_table(descriptor, order + form.section, section_at, section_count if section_at else 0))
    size = struct.calcsize(order + form.symbol)
    why = "the file has no symbols: it was stripped"
    for section in sorted((section for section in sections if section[1] in (_SYMBOLS, _DYNAMIC)), key=itemgetter(1)):
        try:
            count, names = section[5] // size, sections[section[6]]
            symbols = _table(descriptor, order + form.symbol, section[4], min(count, _MOST_SYMBOLS))
            texts = _bytes(descriptor, names[4], names[5])
        except (ValueError, IndexError, OverflowError) as error:
            why = f"a symbol table of the file cannot be read: {one_line(str(error))[:80]}"
            continue
        starts, sizes, places, unread = _functions(map(itemgetter(*form.symbol_places), symbols), texts)
        unread += max(0, count - _MOST_SYMBOLS)
        if starts:
            return FunctionTable(starts, sizes, places, texts, segments,
                                 f"{unread} of the file's symbols cannot be read" if unread else "")
    return FunctionTable(segments=segments, why=why)


def _bytes(descriptor: int, offset: int, size: int) -> bytes:
    if size > _LARGEST_PART:
        raise ValueError(f"a part of it has more than {_LARGEST_PART >> 20} MiB")
    data = os.pread(descriptor, size, offset)
    if len(data) < size:
        raise ValueError("it ends early")
    return data


def _table(descriptor: int, row: str, offset: int, count: int) -> Iterator[tuple[Any, ...]]:
    return struct.iter_unpack(row, _bytes(descriptor, offset, count * struct.calcsize(row)))


def _functions(symbols: Iterable[tuple[Any, ...]],
               texts: bytes) -> tuple[array[int], array[int], array[int], int]:
    """Return the functions' addresses, ascending, sizes and places of names, and how many names cannot be read.

    All are empty if no function has a name. Of several functions at an address the one with the largest size is named.
    A function whose name cannot be read stays without one: samples in it belong to no function in front of it that has
    no size.
    """
    starts, sizes, places = array("Q"), array("Q"), array("Q")
    for place, info, section, start, size in symbols:
        if info & 15 in _CODE and section != _UNDEFINED:
            starts.append(start)
            sizes.append(size)
            places.append(place)
    last_end = texts.rfind(b"\0")

    def rank(at: int) -> tuple[bool, int]:
        return places[at] < last_end and texts[places[at]] != 0, sizes[at]

    kept = array("Q")
    for at in sorted(range(len(starts)), key=starts.__getitem__):
        if not kept or starts[kept[-1]] != starts[at]:
            kept.append(at)
        elif rank(at) >= rank(kept[-1]):
            kept[-1] = at
    if not any(rank(at)[0] for at in kept):
        return array("Q"), array("Q"), array("Q"), 0
    starts, sizes, places = (array("Q", map(column.__getitem__, kept)) for column in (starts, sizes, places))
    return starts, sizes, places, sum(place > last_end for place in places)
