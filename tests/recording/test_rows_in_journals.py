"""Rows of kinds in files, streams, tiers and the past in memory: whole, or missing and named, never another tick's."""

from __future__ import annotations

import random
import tracemalloc
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, SECOND, frames_of, machine, topology_of_cpus
from made_rows import DEFINITION, KIND, QUANTITIES, contents, frames_with_rows, row_ticks

from turbotui import recording
from turbotui.quantities.row_kinds import ROWS_LIMIT, RowKind
from turbotui.quantities.tables import Cell, CellEvidence
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.ended_rows import EndedRows
from turbotui.recording.framing import HEAD_SIZE, Missing, Record, RecordingError, RecordKind, RecordParser, framed
from turbotui.recording.json_values import packed, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.recording.ring import PastRing
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.recording.row_streams import FIRST_STREAM, MOST_KINDS, RowsEncoder, RowStreams
from turbotui.recording.stream_reader import RecordedTick, StreamReader
from turbotui.recording.tiers import FULL, KEY_EVERY, TEN_SECONDS, Thinning, Tier
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import row_table
from turbotui.sampling.rows import Roster, Row, RowTick
from turbotui.sampling.snapshot import Snapshot

TOPOLOGY = topology_of_cpus(range(2))
TICKS = KEY_EVERY + 20
LIVE = [*row_ticks(TICKS, random.Random(1))]
FRAMES = frames_with_rows(LIVE, TOPOLOGY)
CONTENTS = {frame.seq: contents(frame.newer.rows[KIND.id]) for frame in FRAMES}


def written(path: Path, frames: Iterable[Frame] = FRAMES, tier: Tier = FULL) -> Path:
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0, tier=tier)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("rows") / "a.ttj").read_bytes()


def read(data: bytes, piece: int) -> list[RecordedTick | Missing]:
    """What a reader makes of a stream that comes in pieces of so many bytes."""
    parser, reader = RecordParser(), StreamReader()
    result = [item for at in range(0, len(data), piece) for record in parser.feed(data[at:at + piece])
              for item in reader.take(record)]
    torn = parser.finish()
    if torn is not None:
        result += reader.take(torn)
    return [item for item in (*result, *reader.rest()) if isinstance(item, RecordedTick | Missing)]


def right(result: Iterable[RecordedTick | Missing]) -> list[int]:
    """The numbers of the ticks with rows; all rows must be those of their tick."""
    ticks = [item.snapshot for item in result if isinstance(item, RecordedTick)]
    for snapshot in ticks:
        if snapshot.rows:
            assert contents(snapshot.rows[KIND.id]) == CONTENTS[snapshot.seq]
    return [tick.seq for tick in ticks if tick.rows]


@pytest.mark.parametrize("piece", [1, 1000, 1 << 20])
def test_rows_come_with_their_tick_byte_by_byte(whole: bytes, piece: int) -> None:
    result = read(whole, piece)
    assert right(result) == [*range(1, TICKS + 1)]
    assert not any(isinstance(item, Missing) for item in result)


def test_a_frame_has_its_rows_wherever_reading_begins(tmp_path: Path) -> None:
    path = written(tmp_path / "a.ttj")
    with recording.read(str(path)) as journal:
        assert journal.check() == ()
        for number in (1, 2, KEY_EVERY, KEY_EVERY + 1, KEY_EVERY + 2, TICKS):
            frame = journal.frame_at(NOON + number * SECOND)
            assert frame is not None
            assert contents(frame.newer.rows[KIND.id]) == CONTENTS[number]
            assert frame.older is None or contents(frame.older.rows[KIND.id]) == CONTENTS[number - 1]
        later = [*journal.frames(NOON + (KEY_EVERY + 3) * SECOND)]
        assert [contents(frame.newer.rows[KIND.id]) for frame in later] == [
            CONTENTS[number] for number in range(KEY_EVERY + 3, TICKS + 1)]


def damaged(data: bytes, chosen: random.Random) -> bytes:
    """The data with a flipped bit, a cut end, or a hole."""
    kind, at = chosen.randrange(3), chosen.randrange(len(data))
    if kind == 0:
        return data[:at] + bytes((data[at] ^ 1 << chosen.randrange(8),)) + data[at + 1:]
    return data[:at] if kind == 1 else data[:at] + data[at + chosen.randrange(1, 4000):]


def test_damage_costs_at_most_the_rows_up_to_the_next_key_tick_and_never_gives_wrong_ones(whole: bytes) -> None:
    chosen, lost, named = random.Random(3), [], 0
    for _ in range(60):
        data = damaged(whole, chosen)
        result = read(data, 1 << 20)
        numbers = right(result)
        named += any(isinstance(item, Missing) for item in result)
        if len(data) == len(whole):
            lost.append(TICKS - len(numbers))
            assert numbers == [*range(1, TICKS + 1)] or any(isinstance(item, Missing) for item in result)
    assert max(lost) <= KEY_EVERY
    assert sum(lost)
    assert named > 40


def changed(data: bytes, change: Mapping[int, bytes | None]) -> bytes:
    """The records of a stream, with other payloads for some kinds; None leaves them out, as damage with a head does."""
    result = b""
    for record in RecordParser().feed(data):
        assert isinstance(record, Record)
        frame = framed(record)
        if record.kind in change:
            new = change[record.kind]
            frame = framed(replace(record, payload=new)) if new is not None else frame[:HEAD_SIZE] + bytes(
                len(record.payload))
        result += frame
    return result


def test_rows_without_their_layout_are_named_and_everything_else_is_read(whole: bytes) -> None:
    result = read(changed(whole, {RecordKind.ROW_LAYOUT: None}), 1 << 20)
    assert right(result) == []
    assert sum(isinstance(item, RecordedTick) for item in result) == TICKS
    assert any(isinstance(item, Missing) for item in result)


def test_a_key_tick_that_is_lost_costs_the_rows_up_to_the_next(whole: bytes) -> None:
    result = read(changed(whole, {RecordKind.ROW_KEY: None}), 1 << 20)
    assert right(result) == []
    assert sum(isinstance(item, RecordedTick) for item in result) == TICKS
    texts = [item.text for item in result if isinstance(item, Missing)]
    assert any("jobs: " in text and "cannot be decoded without what is missing before" in text for text in texts)


def test_a_kind_of_a_later_version_is_named_and_the_rest_is_read(whole: bytes) -> None:
    facts = unpacked(next(record.payload for record in RecordParser().feed(whole)
                          if isinstance(record, Record) and record.kind == RecordKind.ROW_LAYOUT), "a layout").value
    assert isinstance(facts, dict)
    facts["quantities"][0]["form"] = "matrix"
    result = read(changed(whole, {RecordKind.ROW_LAYOUT: packed(facts)}), 1 << 20)
    assert right(result) == []
    assert sum(isinstance(item, RecordedTick) for item in result) == TICKS
    assert {item.text.split(": ", 1)[1] for item in result if isinstance(item, Missing)} == {
        "a layout of rows.quantities[0].form of the recording is no Form: 'matrix'"}


def test_a_lost_tick_of_cpus_loses_its_rows_too(whole: bytes) -> None:
    result = read(changed(whole, {RecordKind.DELTA: None}), 1 << 20)
    assert right(result) == [1, KEY_EVERY + 1]


def test_rows_of_a_lost_tick_go_to_no_other_tick(tmp_path: Path) -> None:
    frames = [Frame(frame.older, replace(frame.newer, rows=frame.newer.rows if frame.seq <= KEY_EVERY else {}),
                    frame.capabilities) for frame in FRAMES]
    data = written(tmp_path / "a.ttj", frames).read_bytes()
    result = read(torn(data, RecordKind.DELTA, KEY_EVERY - 2), 1 << 20)  # the last before the next key tick
    assert right(result) == [*range(1, KEY_EVERY)]
    assert [item.snapshot.seq for item in result if isinstance(item, RecordedTick)] == [
        *range(1, KEY_EVERY), *range(KEY_EVERY + 1, TICKS + 1)]


def torn(data: bytes, kind: RecordKind, number: int) -> bytes:
    """The data with a changed byte at the end of one of the records of a kind, counted from 0."""
    record = [item for item in RecordParser().feed(data) if isinstance(item, Record) and item.kind == kind][number]
    return data[:record.end - 1] + bytes((data[record.end - 1] ^ 1,)) + data[record.end:]


def test_a_damaged_tick_of_rows_loses_the_rows_up_to_the_next_key_tick_and_no_cpus(whole: bytes) -> None:
    result = read(torn(whole, RecordKind.ROW_DELTA, TICKS - KEY_EVERY + 10), 1 << 20)
    numbers = right(result)
    lost = [number for number in range(1, TICKS + 1) if number not in numbers]
    assert lost == [*range(lost[0], KEY_EVERY + 1)]
    assert sum(isinstance(item, RecordedTick) for item in result) == TICKS
    damaged, skipped = (item.text for item in result if isinstance(item, Missing))
    assert "are damaged: they held 1 record" in damaged
    assert skipped.startswith(f"jobs: {len(lost) - 1} readings from byte ")


def test_a_stream_of_too_many_kinds_is_bounded() -> None:
    streams, encoder = RowStreams(), RowsEncoder()
    rows = {f"kind{number}": replace(LIVE[0], kind=RowKind(f"kind{number}", f"kind{number}", most=512))
            for number in range(MOST_KINDS + 1)}
    records = encoder.encode(replace(FRAMES[0].newer, rows=rows), key=True)
    assert len(records) == MOST_KINDS
    assert encoder.failures == {f"kind{MOST_KINDS}": f"a recording has room for {MOST_KINDS} kinds of rows"}
    streams.take_encoded(records)
    assert len(streams.taken()) == MOST_KINDS
    with pytest.raises(RecordingError, match="more than 64 kinds"):
        list(streams.take(Record(RecordKind.ROW_LAYOUT, FIRST_STREAM + MOST_KINDS, 0, records[0].layout)))


LATE = Unavailable(Reason.LATE, "the reader of these rows did not answer in time")


def with_late_kind(*numbers: int) -> list[Frame]:
    """Frames in which the kind was late at some ticks, and has its last rows."""
    snapshots, rows = list[Snapshot](), FRAMES[0].newer.rows
    for frame in FRAMES:
        late = frame.seq in numbers
        rows = rows if late else frame.newer.rows
        snapshots.append(replace(frame.newer, rows=rows, no_rows={KIND.id: LATE} if late else {}))
    return frames_of(snapshots)


def test_a_kind_that_has_no_room_is_named_and_the_rest_is_recorded(tmp_path: Path) -> None:
    many = replace(LIVE[0], kind=RowKind("many", "many rows", most=ROWS_LIMIT), stamps={"": bytes(ROWS_LIMIT)},
                   quantities={name: replace(QUANTITIES["work"], id=name, kind="many") for name in NAMES},
                   values=dict.fromkeys(NAMES, array("Q", bytes(8 * ROWS_LIMIT))), absent={},
                   roster=Roster({}, ROWS_LIMIT), died=frozenset())
    long = replace(LIVE[0], kind=RowKind("long", "long names"), absent={}, died=frozenset(),
                   roster=Roster({0: Row("a" * (1 << 23), name="b")}, LIVE[0].roster.capacity))
    path = str(tmp_path / "a.ttj")
    for recorder in (Recorder(path, machine(TOPOLOGY), sync_seconds=0.0),
                     RotatingRecorder(path, machine(TOPOLOGY), Retention(full_seconds=60.0))):
        [frame] = frames_of([replace(FRAMES[0].newer, rows={**FRAMES[0].newer.rows, "many": many, "long": long})])
        recorder.take(frame)
        recorder.close()
        assert recorder.failures == {
            "many rows": "65,536 rows of 33 columns are more than a recording may have",
            "long names": "their names, or the reasons why values are absent, have more than 8,388,608 letters"}
    with recording.read(path) as journal:
        [frame] = journal.frames()
        assert frame.newer.rows.keys() == {KIND.id}
        assert journal.check() == ()


NAMES = [f"q{number}" for number in range(32)]


def test_a_kind_that_was_late_has_its_last_rows_and_the_reason(tmp_path: Path) -> None:
    frames = with_late_kind(5, KEY_EVERY + 1)
    with recording.read(str(written(tmp_path / "a.ttj", frames))) as journal:
        read_again = [*journal.frames()]
        result, key, behind = (journal.frame_at(NOON + at * SECOND) for at in (5, KEY_EVERY + 1, KEY_EVERY + 2))
    ring = PastRing()
    for frame in frames:
        ring.take(frame)
    for again in (read_again, [*ring.frames()]):
        for live, frame in zip(frames, again, strict=True):
            assert frame.newer.no_rows == live.newer.no_rows
            assert contents(frame.newer.rows[KIND.id]) == contents(live.newer.rows[KIND.id])
        assert again[4].newer.rows[KIND.id] is again[3].newer.rows[KIND.id]
    assert result is not None
    assert contents(result.newer.rows[KIND.id]) == CONTENTS[4]
    assert key is not None
    assert contents(key.newer.rows[KIND.id]) == CONTENTS[KEY_EVERY]  # although reading began here
    assert behind is not None
    assert contents(behind.newer.rows[KIND.id]) == CONTENTS[KEY_EVERY + 2]


def cells_of(frame: Frame) -> dict[object, tuple[Cell, CellEvidence]]:
    """Every cell of every row of a frame, with its reason, marks and evidence."""
    result = frame.kind(KIND.id)
    assert isinstance(result, RowDifferences)
    table = row_table(DEFINITION, result, parts=True)
    return {(row.identity, column.id): (table.cell(column, row), table.evidence(column, row))
            for row in table.rows for column in DEFINITION.columns}


def test_cells_of_replayed_rows_are_those_of_the_live_ones(tmp_path: Path) -> None:
    frames = with_late_kind(5, 6, KEY_EVERY + 1)
    ring = PastRing()
    for frame in frames:
        ring.take(frame)
    with recording.read(str(written(tmp_path / "a.ttj", frames))) as journal:
        for live, replayed, kept in zip(frames, journal.frames(), ring.frames(), strict=True):
            assert cells_of(replayed) == cells_of(live)
            assert cells_of(kept) == cells_of(live)
    assert any(cell.estimated for cell, _evidence in cells_of(frames[3]).values())
    assert any(cell.old for cell, _evidence in cells_of(frames[4]).values())


def sums_of(ticks: Iterable[RowTick]) -> Counter[tuple[str, int]]:
    """The increases of every row over consecutive ticks."""
    result: Counter[tuple[str, int]] = Counter()
    before: RowTick | None = None
    for tick in ticks:
        if before is not None:
            deltas = RowDifferences(before, tick).deltas("work")
            for slot, row in tick.roster.rows.items():
                result[row.identity] += round(deltas[slot] or 0)
        before = tick
    return +result


@pytest.mark.parametrize(("replaced", "every"), [(0.0, 2), (0.1, 10), (0.2, 3), (0.5, 10), (1.0, 4)])
def test_a_thinned_past_has_equal_sums_however_many_rows_are_replaced(replaced: float, every: int) -> None:
    ticks = [*row_ticks(41, random.Random(every), replaced=replaced, known=True)]
    thinning = Thinning(float(every))
    kept = [snapshot.rows[KIND.id] for frame in frames_with_rows(ticks, TOPOLOGY)
            if (snapshot := thinning.take(frame.newer)) is not None]
    rest = thinning.rest()
    if rest is not None:
        kept.append(rest.rows[KIND.id])
    assert sums_of(kept) == sums_of(ticks)
    assert len(kept) < len(ticks)


def test_a_tier_on_disk_has_equal_sums(tmp_path: Path) -> None:
    ticks = [*row_ticks(41, random.Random(9), known=True)]
    path = written(tmp_path / "a.ttj", frames_with_rows(ticks, TOPOLOGY), TEN_SECONDS)
    with recording.read(str(path)) as journal:
        result = [frame.newer.rows[KIND.id] for frame in journal.frames()]
        assert journal.check() == ()
    assert [tick.started_ns // SECOND for tick in result] == [1, 10, 20, 30, 40]
    assert sums_of(result) == sums_of(ticks[:40])


def test_rows_that_ended_take_free_slots_and_more_are_omitted_and_counted() -> None:
    ended = EndedRows(most=3)
    ticks = [*row_ticks(6, random.Random(2), replaced=0.4)]
    died = [len(tick.died) for tick in ticks[:5]]
    *left_out, last = (frame.newer for frame in frames_with_rows(ticks, TOPOLOGY))
    for snapshot in left_out:
        ended.skip(snapshot)
        ended.skip(replace(snapshot, no_rows={KIND.id: LATE}))  # the same rows again: their reader was late
    assert ended.added_to(replace(last, no_rows={KIND.id: LATE})) == last.rows
    row_tick = ended.added_to(last)[KIND.id]
    assert sum(died) > 3
    assert row_tick.omitted == sum(died) - 3
    assert len(row_tick.died) == len(ticks[5].died) + 3
    assert len(row_tick.roster.rows) == len(ticks[5].roster.rows) + 3
    assert ended.added_to(last)[KIND.id] is ticks[5]


def test_the_past_in_memory_has_the_rows_and_counts_their_bytes() -> None:
    ring, bare = PastRing(), PastRing()
    for frame in FRAMES:
        ring.take(frame)
        bare.take(Frame(frame.older and replace(frame.older, rows={}), replace(frame.newer, rows={}),
                        frame.capabilities))
    assert [contents(frame.newer.rows[KIND.id]) for frame in ring.frames()] == list(CONTENTS.values())
    assert ring.size - bare.size > TICKS * 1000  # bytes


def test_decoded_rows_count_towards_what_the_past_keeps_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.recording.ring._MOST_DECODED_BYTES", 200_000)
    ring, most = PastRing(), 0
    for frame in FRAMES:
        ring.take(frame)
    times = ring.times
    tracemalloc.start()
    try:
        for time_ns in (*reversed(times), *times):
            result = ring.frame(time_ns)
            assert result is not None
            assert contents(result.newer.rows[KIND.id]) == CONTENTS[result.seq]  # every column is decoded
            del result
            most = max(most, tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert most < 530_000, "1,500,000 if rows did not count, 650,000 if a group were kept whole"


def test_rows_that_have_no_room_are_left_at_one_in_ten_seconds_before_the_cpus_lose_a_tick() -> None:
    whole = PastRing()
    for frame in FRAMES:
        whole.take(frame)
    ring = PastRing(most_bytes=whole.size)  # half of it for rows
    for frame in FRAMES:
        ring.take(frame)
    assert ring.size < whole.size
    assert [*ring.times] == [frame.newer.wall_ns for frame in FRAMES]
    kept = {frame.seq: frame for frame in ring.frames()}
    there = [number for number, frame in kept.items() if frame.newer.rows]
    assert there[:4] == [1, 10, 20, 30]
    assert there[-16:] == [*range(TICKS - 15, TICKS + 1)]
    assert contents(kept[TICKS].newer.rows[KIND.id]) == CONTENTS[TICKS]
    result = kept[20].kind(KIND.id)
    assert isinstance(result, RowDifferences)
    assert result.older is not None
    assert (result.older.started_ns, result.newer.started_ns) == (10 * SECOND, 20 * SECOND)
    assert kept[20].seconds == 1.0
    why = kept[21].kind(KIND.id)
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NOT_READ


def narrowed(tick: RowTick, *names: str) -> RowTick:
    """A tick without some quantities, which nobody wanted then."""
    quantities = {name: quantity for name, quantity in tick.quantities.items() if name not in names}
    clocks = {quantity.clock for quantity in quantities.values()}
    return replace(tick, quantities=quantities, values={name: tick.values[name] for name in quantities},
                   stamps={clock: stamps for clock, stamps in tick.stamps.items() if clock in clocks},
                   absent={name: why for name, why in tick.absent.items() if name in quantities})


NARROWED = [narrowed(tick, *((), ("time", "words"), ("time",))[at // 2 % 3])
            for at, tick in enumerate(row_ticks(41, random.Random(3), known=True))]
"""Ticks of which every second has other quantities than the one before."""


def test_what_is_recorded_of_a_kind_may_change_at_any_tick(tmp_path: Path) -> None:
    frames, ring = frames_with_rows(NARROWED, TOPOLOGY), PastRing()
    for frame in frames:
        ring.take(frame)
    with recording.read(str(written(tmp_path / "a.ttj", frames))) as journal:
        for kept in ([*journal.frames()], ring.frames()):
            assert [contents(frame.newer.rows[KIND.id]) for frame in kept] == [*map(contents, NARROWED)]
        assert journal.check() == ()


def test_of_a_row_that_ended_nobody_knows_what_was_not_wanted_then() -> None:
    thinning = Thinning(4.0)
    kept = [snapshot.rows[KIND.id] for frame in frames_with_rows(NARROWED, TOPOLOGY)
            if (snapshot := thinning.take(frame.newer)) is not None]
    rest = thinning.rest()
    assert sums_of([*kept, *([] if rest is None else [rest.rows[KIND.id]])]) == sums_of(NARROWED)
    ends = {tick.roster.rows[slot].identity: (tick, slot) for tick in NARROWED for slot in tick.died}
    unknown = 0
    for tick in kept:
        for slot in tick.died if "time" in tick.values else ():
            then, place = ends[tick.roster.rows[slot].identity]
            if "time" in then.values:
                assert (tick.values["time"][slot], tick.stamps["slow"][slot]) == (
                    then.values["time"][place], then.stamps["slow"][place])
            else:
                unknown += 1
                assert tick.absent["time"][slot].reason is Reason.NOT_READ
    assert unknown
