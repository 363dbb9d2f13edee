"""Records of sampled instruction pointers, the code that was mapped then, and names by symbol tables."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine import elf_symbols
from turbotui.machine.elf_symbols import FunctionTable, read_functions
from turbotui.machine.ip_records import (
    KERNEL,
    UNMAPPED,
    AddressSpaces,
    CodeFile,
    FileMapped,
    IpSample,
    ProcessBegan,
    RecordsMissed,
    parse_ip_records,
)
from turbotui.machine.perf_records import RecordError

_TRAILER = struct.pack("=IIQQ", 7, 7, 50, 3)


def _record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def test_records_are_read_by_their_layout() -> None:
    mapped = struct.pack("=IIQQQIIQQII", 7, 7, 0x1000, 0x2000, 0x400, 8, 1, 99, 0, 5, 2)
    data = (_record(9, 2, struct.pack("=QQIIQQ", 3, 0x1234, 7, 8, 60, 1000))
            + _record(10, 2, mapped + b"/bin/\x1btrue\0\0\0" + _TRAILER)
            + _record(7, 0, struct.pack("=IIIIQ", 9, 7, 9, 7, 50) + _TRAILER)
            + _record(3, 1 << 13, struct.pack("=II", 7, 7) + b"true\0\0\0\0" + _TRAILER)
            + _record(2, 0, struct.pack("=QQ", 3, 12) + _TRAILER)
            + _record(4, 0, b"\0" * 40))
    assert list(parse_ip_records(data)) == [
        IpSample(60, 3, 7, 0x1234, False, 1000), FileMapped(50, 7, 0x1000, 0x2000, 0x400, 99, "/bin/␛true"),
        ProcessBegan(50, 9, 7), ProcessBegan(50, 7, 7), RecordsMissed(50, 12)]


@given(st.binary(max_size=200), st.integers(0, 20))
def test_any_bytes_are_records_or_an_error(body: bytes, kind: int) -> None:
    for data in (body, _record(kind, 2, body)):
        try:
            result = list(parse_ip_records(data))
        except RecordError:
            continue
        assert len(result) <= len(data)


def test_a_sample_lies_in_what_was_mapped_then() -> None:
    spaces = AddressSpaces()
    spaces.take(FileMapped(1, 7, 0x1000, 0x1000, 0x400, 99, "/bin/one"))
    sample = IpSample(2, 3, 7, 0x1010, False, 5)
    assert spaces.place(sample) == (CodeFile("/bin/one", 99), 0x410)
    assert spaces.place(sample._replace(ip=0x2000)) == (UNMAPPED, 0)
    assert spaces.place(sample._replace(pid=8)) == (UNMAPPED, 0)
    assert spaces.place(sample._replace(kernel=True)) == (KERNEL, 0)
    spaces.take(ProcessBegan(3, 8, 7))  # fork(2) copies
    spaces.take(ProcessBegan(4, 7, 7))  # exec(2) begins anew
    assert spaces.place(sample._replace(pid=8))[0].path == "/bin/one"
    assert spaces.place(sample) == (UNMAPPED, 0)
    spaces.take(FileMapped(5, 8, 0x0800, 0x1000, 0, 1, "/bin/two"))  # over a part of it
    assert spaces.place(sample._replace(pid=8))[0].path == "/bin/two"
    spaces.take(sample._replace(pid=8))
    spaces.take(sample._replace(pid=8))
    spaces.take(RecordsMissed(6, 4))
    assert spaces.weights == {(3, CodeFile("/bin/two", 1), 0x810): (2, 10)}
    assert spaces.lost == 4


def test_what_ran_before_is_looked_up_when_it_is_sampled() -> None:
    asked: list[int] = []

    def maps_of(pid: int) -> list[FileMapped]:
        asked.append(pid)
        return [FileMapped(0, pid, 0x1000, 0x1000, 0, 9, "/bin/old")] if pid == 7 else []

    spaces = AddressSpaces(maps_of)
    sample = IpSample(2, 3, 7, 0x1010, False, 5)
    spaces.take(ProcessBegan(1, 8, 7))  # of a parent that nothing is known of: not taken for a process without mappings
    for _ in range(3):
        spaces.take(sample)
    spaces.take(sample._replace(kernel=True))
    for _ in range(20):
        spaces.take(sample._replace(pid=8))
    assert spaces.weights == {(3, CodeFile("/bin/old", 9), 0x10): (3, 15), (3, KERNEL, 0): (1, 5),
                              (3, UNMAPPED, 0): (20, 100)}
    assert spaces.tasks == {(3, 7): 4, (3, 8): 20}
    assert asked == [7, *[8] * 5]  # what cannot be had is not asked for at each sample


def test_an_offset_is_named_by_the_function_that_covers_it() -> None:
    table = FunctionTable((0x100, 0x200, 0x300), (0x10, 0, 0x80), (0, 4, 8), b"one\0two\0three\0",
                          ((0x1000, 0x400, 0x0),))
    assert [table.name(0x1000 + at) for at in (0x0, 0x100, 0x10F, 0x110, 0x250, 0x300, 0x3FF)] == [
        "", "one", "one", "", "two", "three", ""]
    assert table.name(0x100) == ""


def test_what_has_no_names_says_why(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    assert "no ELF file" in read_functions(str(text)).why
    assert "cannot be read" in read_functions(str(tmp_path / "gone")).why
    assert read_functions(str(tmp_path)).why == "it is no regular file"
    assert "another one now" in read_functions(sys.executable, inode=1).why


@pytest.mark.parametrize(("width", "order"), [(1, "<"), (1, ">"), (2, "<"), (2, ">")])
def test_files_of_both_classes_and_byte_orders(width: int, order: str, tmp_path: Path) -> None:
    names = b"\0one\0two\0gone\0data\0"
    symbols = [(0, 0, 0, 0, 0), (1, 2, 5, 0x400010, 16), (5, 10, 5, 0x400020, 4), (9, 2, 0, 0, 0),
               (14, 1, 5, 0x400030, 8)]
    path = tmp_path / "program"
    path.write_bytes(program(names, symbols, width, order))
    functions = read_functions(str(path))
    assert (functions.segments, functions.why) == (((0, 0x1000, 0x400000),), "")
    assert named(functions) == [(0x400010, 16, "one"), (0x400020, 4, "two")]


def named(functions: FunctionTable) -> list[tuple[int, int, str]]:
    """Address, size and name of each function of a file whose first byte is mapped at 0x400000."""
    return [(start, size, functions.name(start - 0x400000))
            for start, size in zip(functions.starts, functions.sizes, strict=True)]


def test_names_that_share_their_ends_take_no_more_than_their_table(tmp_path: Path) -> None:
    """Symbols may point into one name: 100 of them have 50 times the bytes of their table, and 2,000,000 a terabyte."""
    names, count = b"\0" + bytes(b"n" * 60_000) + b"\0", 100
    path = tmp_path / "program"
    path.write_bytes(program(names, [(1 + at, 2, 5, 0x400000 + at, 1) for at in range(count)]))
    functions = read_functions(str(path))
    assert [len(name) for _start, _size, name in named(functions)] == [60_000 - at for at in range(count)]
    assert functions.texts == names


def test_of_functions_at_an_address_the_largest_that_has_a_name_is_shown(tmp_path: Path) -> None:
    symbols = [(5, 2, 5, 0x400010, 8), (1, 2, 5, 0x400010, 16), (0, 2, 5, 0x400010, 32), (5, 2, 5, 0x400010, 4),
               (0, 2, 5, 0x400040, 4)]
    path = tmp_path / "program"
    path.write_bytes(program(b"\0one\0two\0", symbols))
    assert named(read_functions(str(path))) == [(0x400010, 16, "one"), (0x400040, 4, "")]
    path.write_bytes(program(b"\0", symbols[2:3]))
    assert read_functions(str(path)).why == "the file has no symbols: it was stripped"


def test_a_part_that_cannot_be_read_leaves_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is too long is cut, with its address, by which two of equal beginning differ; others stay."""
    long = b"n" * 70_000
    names = b"\0one\0" + long + b"\0" + long + b"x\0torn"
    places = [1, 5, 5 + len(long) + 1, len(names) - 4, len(names) + 9]
    path = tmp_path / "program"
    path.write_bytes(program(names, [(name, 2, 5, 0x400000 + 16 * at, 0) for at, name in enumerate(places)]))
    functions = read_functions(str(path))
    assert [name for _start, _size, name in named(functions)] == [
        "one", "n" * 65_536 + "… at 0x400010", "n" * 65_536 + "… at 0x400020", "", ""]
    assert functions.name(0x31) == ""  # not the function in front of it, whose size is unknown
    assert functions.why == "2 of the file's symbols cannot be read"
    monkeypatch.setattr(elf_symbols, "_MOST_SYMBOLS", 2)
    assert read_functions(str(path)).why == "3 of the file's symbols cannot be read"


def test_a_damaged_table_leaves_the_other(tmp_path: Path) -> None:
    names, symbols = b"\0one\0", [(1, 2, 5, 0x400010, 16)]
    path = tmp_path / "program"
    for damage in ((4, 1 << 40), (5, 1 << 30), (6, 9)):  # sh_offset, sh_size, sh_link
        path.write_bytes(program(names, symbols, broken={1: damage}, tables=2))
        assert named(read_functions(str(path))) == [(0x400010, 16, "one")]
        path.write_bytes(program(names, symbols, broken={1: damage}))
        assert read_functions(str(path)).why.startswith("a symbol table of the file cannot be read")


@pytest.mark.parametrize(("width", "order"), [(1, "<"), (2, ">")])
def test_numbers_of_sections_and_segments_beyond_16_bits(width: int, order: str, tmp_path: Path) -> None:
    """System V ABI, chapter 4, e_shnum, and Linux's elf(5), e_phnum: section 0 has the numbers."""
    path = tmp_path / "program"
    path.write_bytes(program(b"\0one\0", [(1, 2, 5, 0x400010, 16)], width, order, empty_sections=66_000, many=True))
    functions = read_functions(str(path))
    assert functions.segments == ((0, 0x1000, 0x400000),)
    assert named(functions) == [(0x400010, 16, "one")]


def test_a_file_of_holes_is_not_taken_for_millions_of_sections(tmp_path: Path) -> None:
    path, count = tmp_path / "program", 4_000_000
    whole = bytearray(program(b"\0one\0", [(1, 2, 5, 0x400010, 16)], many=True))
    (sections,) = struct.unpack_from("<Q", whole, 40)
    struct.pack_into("<Q", whole, sections + 32, count)  # sh_size of section 0
    path.write_bytes(whole)
    os.truncate(path, sections + 64 * count)
    assert read_functions(str(path)).why.endswith("it has more than 131,072 sections or segments")


def program(names: bytes, symbols: Sequence[tuple[int, ...]], width: int = 2, order: str = "<", *, tables: int = 1,
            broken: Mapping[int, tuple[int, int]] = MappingProxyType({}), empty_sections: int = 0,
            many: bool = False) -> bytes:
    """A file of one segment, and the sections none, .symtab, .strtab (System V ABI, chapters 4 and 5) and others.

    Args:
        tables: 2 for a .dynsym of the same symbols behind them.
        broken: a place of a section's header and its wrong number, by section.
        empty_sections: how many follow.
        many: whether section 0 has the numbers of sections and segments.
    """
    if width == 2:
        table = b"".join(struct.pack(order + "IBBHQQ", name, kind, 0, section, at, size)
                         for name, kind, section, at, size in symbols)
        head, segment, section = "HHIQQQIHHHHHH", (1, 5, 0, 0x400000, 0, 0x1000, 0x1000, 1), "IIQQQQIIQQ"
        segment_form = "IIQQQQQQ"
    else:
        table = b"".join(struct.pack(order + "IIIBBH", name, at, size, kind, 0, section)
                         for name, kind, section, at, size in symbols)
        head, segment, section = "HHIIIIIHHHHHH", (1, 0, 0x400000, 0, 0x1000, 0x1000, 5, 1), "10I"
        segment_form = "8I"
    at = 16 + struct.calcsize(order + head)
    parts = [struct.pack(order + segment_form, *segment), table, names]
    places = [at, at + len(parts[0]), at + len(parts[0]) + len(table)]
    rows = [[0] * 10, [0, 2, 0, 0, places[1], len(table), 2, 0, 0, 0], [0, 3, 0, 0, places[2], len(names), 0, 0, 0, 0]]
    rows += [[0, 11, *rows[1][2:]]] * (tables - 1) + [[0] * 10] * empty_sections
    for row, (place, number) in broken.items():
        rows[row][place] = number
    count, segments = len(rows), 1
    if many:
        rows[0][5], rows[0][7] = count, segments
        count, segments = 0, 0xFFFF
    sections = b"".join(struct.pack(order + section, *row) for row in rows)
    ident = b"\x7fELF" + bytes((width, 1 if order == "<" else 2, 1)) + bytes(9)
    header = struct.pack(order + head, 2, 0, 1, 0, places[0], places[2] + len(names), 0, 0, 0, segments, 0, count, 0)
    return ident + header + b"".join(parts) + sections


def test_another_reader_finds_the_same_functions() -> None:
    elffile = pytest.importorskip("elftools.elf.elffile", reason="pyelftools is the other reader")
    path = sys.executable
    with open(path, "rb") as file:
        elf = elffile.ELFFile(file)
        table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        there = {symbol["st_value"]: symbol.name for symbol in table.iter_symbols()
                 if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"}
    function_table = read_functions(path)
    assert list(function_table.starts) == sorted(there)
    assert len(function_table.starts) > 1


@given(data=st.binary(max_size=400))
def test_a_damaged_file_ends_nothing(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + data)
    table = read_functions(str(path))
    assert not table.starts or table.segments is not None
