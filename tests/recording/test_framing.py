"""Records found again after any damage, in pieces of any size, and never a wrong one."""

from __future__ import annotations

import itertools
import struct
from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from turbotui.recording.framing import HEAD_SIZE, MARKER, MOST_PAYLOAD, Damage, Record, RecordParser, framed

PAYLOADS = st.lists(st.one_of(st.binary(max_size=40), st.sampled_from((MARKER, MARKER[:2], b"x" + MARKER * 3))),
                    min_size=1, max_size=6)


def parsed(data: bytes, sizes: list[int]) -> list[Record | Damage]:
    """Parse data in pieces of these sizes, again and again."""
    parser, result, at, turn = RecordParser(), list[Record | Damage](), 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        result += parser.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    torn = parser.finish()
    return result if torn is None else [*result, torn]


def made(payloads: list[bytes]) -> list[Record]:
    records, offset = [], 0
    for number, payload in enumerate(payloads):
        records.append(Record(4, number % 3, number, payload, offset))
        offset += HEAD_SIZE + len(payload)
    return records


@given(PAYLOADS, st.lists(st.integers(1, 50), min_size=1, max_size=4))
def test_records_are_the_same_in_pieces_of_any_size(payloads: list[bytes], sizes: list[int]) -> None:
    records = made(payloads)
    assert parsed(b"".join(map(framed, records)), sizes) == records


@given(PAYLOADS, st.data(), st.sampled_from((1, 2, 3, 7, 10_000)))
def test_damage_costs_the_records_that_it_touches_and_is_all_reported(payloads: list[bytes], data: st.DataObject,
                                                                      size: int) -> None:
    records = made(payloads)
    whole = bytearray(b"".join(map(framed, records)))
    begin = data.draw(st.integers(0, len(whole) - 1))
    end = data.draw(st.integers(begin + 1, min(len(whole), begin + 60)))
    for at in range(begin, end):
        whole[at] ^= data.draw(st.integers(1, 255))
    result = parsed(bytes(whole), [size])
    kept = [record for record in result if isinstance(record, Record)]
    untouched = [record for record in records if record.end <= begin or record.offset >= end]
    assert kept == untouched
    covered = sum(item.length if isinstance(item, Damage) else item.end - item.offset for item in result)
    assert covered == len(whole)
    damages = [item for item in result if isinstance(item, Damage)]
    assert damages
    assert all(before.offset + before.length <= after.offset
               for before, after in itertools.pairwise(damages))
    if begin >= HEAD_SIZE and len(records) == 1:
        assert damages[0].streams == (), "the end of the data ends the damage, of a record whose head is whole"


@given(st.binary(min_size=1, max_size=40), st.integers(1, 27), PAYLOADS)
def test_what_was_inserted_before_or_cut_off_within_a_head_costs_only_that(garbage: bytes, kept: int,
                                                                           payloads: list[bytes]) -> None:
    records = made(payloads)
    whole = b"".join(map(framed, records))
    torn = framed(Record(4, 0, 99, b"torn"))[:kept]
    result = parsed(garbage + whole + torn, [1])
    assert [(record.sequence, record.payload) for record in result if isinstance(record, Record)] == [
        (record.sequence, record.payload) for record in records]
    assert sum(item.length for item in result if isinstance(item, Damage)) == len(garbage) + kept


def test_a_marker_that_is_split_between_two_pieces_is_found() -> None:
    (record,) = made([b"abc"])
    for length in range(1, 3 * HEAD_SIZE):
        damage, result = parsed(b"x" * length + framed(record), [1])
        assert damage == Damage(0, length)
        assert isinstance(result, Record)
        assert result.payload == b"abc"


def test_damaged_payloads_name_the_streams_of_their_heads_each_once() -> None:
    records = made([b"abc", b"def", b"ghi", b"jkl", b"mno"])
    whole = bytearray(b"".join(map(framed, records)))
    for record in (records[1], records[3]):
        whole[record.offset + HEAD_SIZE] ^= 1
    assert parsed(bytes(whole), [1]) == [
        records[0], Damage(records[1].offset, HEAD_SIZE + 3, (1,)), records[2],
        Damage(records[3].offset, HEAD_SIZE + 3, (0,)), records[4]]


def test_damaged_payloads_one_after_the_other_are_one_damage_from_the_first_on() -> None:
    records = made([b"abc", b"def", b"ghi", b"jkl"])
    whole = bytearray(b"".join(map(framed, records)))
    for record in records[1:3]:
        whole[record.offset + HEAD_SIZE] ^= 1
    assert parsed(bytes(whole), [1]) == [
        records[0], Damage(records[1].offset, 2 * (HEAD_SIZE + 3), (1, 2)), records[3]]


def test_a_record_within_a_damaged_payload_is_none() -> None:
    """A payload may hold the bytes of a record, as a recording of a recording does."""
    outer, after = Record(4, 2, 0, framed(Record(4, 0, 7, b"inner")) + b"x"), Record(4, 0, 1, b"after")
    whole = bytearray(framed(outer) + framed(after))
    whole[HEAD_SIZE + len(outer.payload) - 1] ^= 1
    damage, result = parsed(bytes(whole), [5])
    assert damage == Damage(0, HEAD_SIZE + len(outer.payload), (2,))
    assert isinstance(result, Record)
    assert result.payload == b"after"


def head_of(size: int) -> bytes:
    fields = struct.pack("<4sIQBBHI", MARKER, size, 0, 4, 0, 0, 0)
    return fields + struct.pack("<I", crc32(fields))


def test_the_largest_payload_is_waited_for() -> None:
    torn = head_of(MOST_PAYLOAD) + framed(Record(4, 0, 1, b"a part of the payload"))
    assert parsed(torn, [9]) == [Damage(0, len(torn))]


def test_a_length_beyond_the_bound_is_damage_and_not_waited_for() -> None:
    damage, result = parsed(head_of(MOST_PAYLOAD + 1) + framed(Record(4, 0, 1, b"after")), [9])
    assert damage == Damage(0, HEAD_SIZE)
    assert isinstance(result, Record)
    assert result.payload == b"after"
