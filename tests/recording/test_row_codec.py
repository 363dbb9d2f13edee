"""Ticks of rows, encoded and decoded: equal to the last bit, bounded, and never another tick than the one written."""

from __future__ import annotations

import itertools
import random
from array import array
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from made_rows import KIND, QUANTITIES, REASONS, SECOND, contents, row_ticks

from turbotui.quantities.row_kinds import ROWS_LIMIT, Form, RowKind
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError, RecordingError, damage_of
from turbotui.recording.json_values import JsonValue, packed, unpacked
from turbotui.recording.row_codec import EncodedRows, RowDecoder, RowEncoder
from turbotui.recording.row_layout import RowLayout, layout_of_rows, row_layout_facts, row_layout_from
from turbotui.sampling.rows import Columns, Roster, Row, RowTick


def encoded(ticks: list[RowTick], keys: frozenset[int] = frozenset()) -> list[EncodedRows]:
    encoder = RowEncoder(16)
    return [encoder.encode(tick, key=number in keys) for number, tick in enumerate(ticks)]


def layout_in(record: EncodedRows) -> RowLayout:
    return row_layout_from(unpacked(record.layout, "a layout"))[1]


def at_rest(columns: Columns, count: int) -> list[RowTick]:
    """Ticks between which nothing changes."""
    ticks = []
    for number in range(1, count + 1):
        columns.begin(0, number * SECOND)
        ticks.append(columns.tick())
    return ticks


def same_again(records: list[EncodedRows], ticks: list[RowTick]) -> None:
    decoder = RowDecoder(layout_in(records[0]))
    for tick, record in zip(ticks, records, strict=True):
        assert contents(decoder.decode(record.payload, key=record.key)) == contents(tick)


@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 2**32), st.floats(0.0, 1.0), st.sets(st.integers(0, 9)))
def test_ticks_are_the_same_again_however_many_rows_are_replaced(
        seed: int, replaced: float, keys: set[int]) -> None:
    ticks = [*row_ticks(10, random.Random(seed), replaced=replaced)]
    records = encoded(ticks, frozenset(keys))
    same_again(records, ticks)


def test_every_key_tick_can_be_decoded_alone_and_growth_makes_one() -> None:
    ticks = [*row_ticks(30, random.Random(7), most=200, replaced=0.02)]
    records = encoded(ticks, frozenset({20}))
    grown = {number for number, (before, now) in enumerate(itertools.pairwise(ticks), 1)
             if before.roster.capacity != now.roster.capacity}
    assert grown
    assert {number for number, record in enumerate(records) if record.key} == {0, 20} | grown
    for number, record in enumerate(records):
        decoder = RowDecoder(layout_in(record))
        if record.key:
            assert contents(decoder.decode(record.payload, key=True)) == contents(ticks[number])
        else:
            with pytest.raises(DamagedError, match="those before it are missing"):
                decoder.decode(record.payload, key=False)


def test_a_roster_and_what_is_absent_stay_one_object_while_nothing_changes() -> None:
    columns = Columns(KIND, QUANTITIES.values())
    for _ in range(3):
        columns.birth(Row(str(_)))
    ticks = at_rest(columns, 3)
    records = encoded(ticks)
    decoder = RowDecoder(layout_in(records[0]))
    first, second, third = (decoder.decode(rows.payload, key=rows.key) for rows in records)
    assert first.roster is second.roster is third.roster
    assert first.absent["work"] is third.absent["cycles"]
    assert len(records[2].payload) < 120 < len(records[0].payload)  # bytes


def test_a_kind_and_its_quantities_are_restored() -> None:
    tick = next(row_ticks(1, random.Random(3)))
    for kind in (KIND, RowKind("groups", "groups", nested=True)):
        layout = layout_of_rows(replace(tick, kind=kind))
        number, again = row_layout_from(unpacked(packed(row_layout_facts(layout, 77)), "a layout"))
        assert (number, again.kind, again.clocks) == (77, kind, ("", "slow"))
        assert again.quantities == {name: replace(quantity, kind=kind.id) for name, quantity in QUANTITIES.items()}


def test_another_set_of_quantities_is_another_layout() -> None:
    first, second = row_ticks(2, random.Random(3))
    encoder = RowEncoder(16)
    known = encoder.encode(first, key=False)
    fewer = replace(second, values={"work": second.values["work"]}, stamps={"": second.stamps[""]}, absent={})
    other = encoder.encode(fewer, key=False)
    assert other.key
    assert other.layout != known.layout
    assert contents(RowDecoder(layout_in(other)).decode(other.payload, key=True)) == contents(fewer)


def test_a_kind_may_have_as_many_rows_as_its_columns_allow() -> None:
    layout = layout_of_rows(next(row_ticks(1, random.Random(3))))
    assert layout.lanes(ROWS_LIMIT).count == ROWS_LIMIT * 9
    with pytest.raises(DamagedError, match="65,537 rows of 9 columns are more than a recording may have"):
        layout.lanes(ROWS_LIMIT + 1)


@settings(max_examples=40, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_a_damaged_payload_is_refused_or_is_a_tick_of_its_bounds(seed: int, place: int) -> None:
    ticks = [*row_ticks(4, random.Random(seed % 5))]
    records = encoded(ticks)
    decoder = RowDecoder(layout_in(records[0]))
    for number, record in enumerate(records):
        payload = bytearray(record.payload)
        if number == seed % 4:
            bit = place % (8 * len(payload))
            payload[bit >> 3] ^= 1 << (bit & 7)
        try:
            with damage_of("it"):
                tick = decoder.decode(bytes(payload), key=record.key)
        except DamagedError:
            assert not decoder.begun  # only a key tick can follow
            continue
        assert {len(column) for column in tick.values.values()} == {tick.roster.capacity}
        assert all(0 <= slot < tick.roster.capacity for slot in tick.roster.rows)
        assert tick.died <= tick.roster.rows.keys()


def spoiled(document: object, chosen: random.Random) -> object:
    """A document with one value that is another."""
    if isinstance(document, dict) and document and chosen.random() < 0.9:
        key = chosen.choice(sorted(document))
        return {**document, key: spoiled(document[key], chosen)}
    if isinstance(document, list) and document and chosen.random() < 0.9:
        at = chosen.randrange(len(document))
        return [*document[:at], spoiled(document[at], chosen), *document[at + 1:]]
    return chosen.choice([None, "x", [], {}, -3, 2**62, True, 0.5, ["x"]])


def test_what_a_layout_claims_is_damage_or_is_a_layout() -> None:
    layout = layout_of_rows(next(row_ticks(1, random.Random(3))))
    facts = unpacked(packed(row_layout_facts(layout, 77)), "a layout").value
    chosen, damaged = random.Random(5), 0
    for _ in range(400):
        try:
            with damage_of("a layout"):
                row_layout_from(JsonValue(spoiled(facts, chosen), "a layout"))
        except DamagedError:
            damaged += 1
    assert damaged > 200


@pytest.mark.parametrize("extras", [
    {"rows": [[600, "a", "0", "", "", 0]]},
    {"rows": [[0, "a", "x", "", "", 0]]},
    {"rows": [[0, "a", "0", "", "a" * (1 << 24), 0]]},
    {"rows": [[0, "a", "0", ""]]},
    {"died": [[1, 1]]},
    {"died": [[1, 0]]},
    {"gone": [[0, 1 << 40]]},
    {"absent": {"work": [[0, [[0, 0]]]]}},
    {"reasons": [["failed", "a" * (1 << 24), ""]]},
    {"absent": {"work": {}}},
    {"notes": ["a" * (1 << 15)]},
    {"notes": [*"a" * 65]},
    {"notes": [1]},
])
def test_a_hostile_tick_is_refused(extras: dict[str, object]) -> None:
    columns = Columns(KIND, QUANTITIES.values())
    columns.birth(Row("a"))
    encoder, tick = RowEncoder(16), columns.tick()
    encoder._extras = lambda tick: extras  # type: ignore[method-assign]
    record = encoder.encode(tick, key=True)
    with pytest.raises(DamagedError), damage_of("it"):
        RowDecoder(layout_in(record)).decode(record.payload, key=True)


def test_more_lanes_than_all_kinds_may_have_are_refused_before_anything_is_made() -> None:
    tick = next(row_ticks(1, random.Random(3)))
    [record] = encoded([tick])
    with pytest.raises(DamagedError, match="than a recording may have"):
        RowDecoder(layout_in(record)).decode(record.payload, key=True, most_cells=9 * tick.roster.capacity - 1)


def test_a_number_that_is_none_is_absent_and_texts_are_texts() -> None:
    columns = Columns(KIND, QUANTITIES.values())
    columns.birth(Row("a"))
    tick = columns.tick()
    heat = array("d", [float("nan"), *[0.0] * (tick.roster.capacity - 1)])
    texts = ("é", *[""] * (tick.roster.capacity - 1))
    odd = replace(tick, values={**tick.values, "heat": heat, "words": texts}, absent={})
    [record] = encoded([odd])
    again = RowDecoder(layout_in(record)).decode(record.payload, key=True)
    assert again.absent == {"heat": {0: Unavailable(Reason.FAILED, "the recording holds no finite number")}}
    assert again.values["words"] == texts
    torn = replace(odd, values={**odd.values, "words": array("Q", bytes(8 * tick.roster.capacity))})
    [record] = encoded([torn])
    with pytest.raises(DamagedError, match="words of jobs in the recording are no texts"):
        RowDecoder(layout_in(record)).decode(record.payload, key=True)


def test_rows_at_rest_are_no_bomb() -> None:
    columns = Columns(RowKind("many", "many", most=ROWS_LIMIT), [replace(QUANTITIES["work"], kind="many")])
    for number in range(33_000):
        columns.birth(Row(str(number)))
    ticks = at_rest(columns, 2)
    records = encoded(ticks)
    same_again(records, ticks)
    assert records[1].key


def test_names_and_reasons_that_change_all_the_time_make_a_key_tick_before_a_reader_refuses_them() -> None:
    columns = Columns(RowKind("jobs", "jobs"), QUANTITIES.values())
    ticks, chosen = [], random.Random(1)
    for second in range(1, 8):
        columns.begin(0, second * SECOND)
        for dying in columns.rows:
            columns.death(dying)
        slot = columns.birth(Row(chosen.randbytes(1 << 20).hex(), second))
        assert slot is not None
        columns.put(slot, "work", Unavailable(Reason.FAILED, chosen.randbytes(1 << 20).hex()))
        ticks.append(columns.tick())
    records = encoded(ticks)
    assert [record.key for record in records] == [True, False, False, True, False, True, False]
    decoder = RowDecoder(layout_in(records[0]))
    for tick, record in zip(ticks, records, strict=True):
        assert decoder.decode(record.payload, key=record.key).roster.rows == tick.roster.rows


def test_notes_are_written_when_they_change_and_more_than_a_recording_may_have_are_refused() -> None:
    columns = Columns(KIND, QUANTITIES.values())
    columns.birth(Row("a"))
    columns.note("the first", "é")
    ticks = at_rest(columns, 3)
    columns.note()
    ticks += at_rest(columns, 1)
    records = encoded(ticks)
    same_again(records, ticks)
    decoder = RowDecoder(layout_in(records[0]))
    again = [decoder.decode(record.payload, key=record.key).notes for record in records]
    assert again == [("the first", "é")] * 3 + [()]
    assert again[0] is again[1] is again[2]
    columns.note("a" * (1 << 15))
    with pytest.raises(RecordingError, match="notes"):
        encoded(at_rest(columns, 1))


def test_reasons_are_counted_from_one_key_tick_to_the_next() -> None:
    columns = Columns(KIND, QUANTITIES.values())
    slot = columns.birth(Row("a"))
    assert slot is not None
    ticks = []
    for second in range(1, 4):
        columns.begin(0, second * SECOND)
        columns.put(slot, "work", Unavailable(Reason.FAILED, f"for the {second}th time"))
        columns.put(slot, "time", REASONS[0])
        ticks.append(columns.tick())
    ticks.append(replace(ticks[0], roster=Roster({}, ticks[0].roster.capacity), absent={}))  # rows that never died
    records = encoded(ticks)
    same_again(records, ticks)
    assert QUANTITIES["heat"].form is Form.DOUBLE
