"""Small recordings that would become large objects: refused or read in part, in bounded memory."""

from __future__ import annotations

import json
import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from made_frames import NOON, frames, machine, topology_of_cpus

from turbotui import recording
from turbotui.features.groups.recorded_groups import groups_of
from turbotui.recording.codec import COUNTS, HEAD
from turbotui.recording.compression import pack, stream_compressor, stream_decompressor, unpack
from turbotui.recording.framing import DamagedError, Record, RecordKind, RecordParser, framed
from turbotui.recording.json_values import JsonValue
from turbotui.recording.recorder import Recorder
from turbotui.recording.rows import GROUPS_STREAM, RecordedRows

TOPOLOGY = topology_of_cpus(range(2))
MOST = 150 << 20
Records = list[Record]


@pytest.fixture
def records(tmp_path: Path) -> Records:
    recorder = Recorder(str(tmp_path / "a.ttj"), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(3, TOPOLOGY):
        recorder.take(frame)
    recorder.close()
    parser = RecordParser()
    return [record for record in parser.feed((tmp_path / "a.ttj").read_bytes()) if isinstance(record, Record)]


@contextmanager
def bounded() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST


def missing(path: Path, records: Records) -> list[str]:
    """What a reader says is missing of a file of these records."""
    path.write_bytes(b"".join(framed(Record(record.kind, record.stream, number, record.payload))
                              for number, record in enumerate(records)))
    try:
        with bounded(), recording.read(str(path)) as journal:
            return [one.text for one in journal.check()]
    except recording.RecordingError as error:
        return [str(error)]


def with_layout(records: Records, **changed: object) -> Records:
    """The records with members added to each layout."""
    return [Record(record.kind, record.stream, record.sequence,
                   pack(json.dumps(json.loads(unpack(record.payload)) | changed).encode()))
            if record.kind == RecordKind.LAYOUT else record for record in records]


def ticks(records: Records, *extras: bytes) -> Records:
    """The records up to the first key tick, and ticks like it, with these documents beside their cells."""
    at, key = next((at, record) for at, record in enumerate(records) if record.kind == RecordKind.KEY)
    wall, started, number, size = HEAD.unpack(key.payload[: HEAD.size])
    body = stream_decompressor().decompress(key.payload[HEAD.size :], size)
    tick, *counts, length = COUNTS.unpack_from(body)
    rest = body[COUNTS.size + length :]
    stream, made = stream_compressor(), records[:at]
    for later, document in enumerate(extras):
        whole = COUNTS.pack(tick + later, *counts, len(document)) + document + rest
        head = HEAD.pack(wall + later * 10**9, started + later * 10**9, number, len(whole))
        made.append(Record(RecordKind.DELTA if later else RecordKind.KEY, 0, 0, head + stream.compress((whole,))))
    return made


def test_these_records_are_read(records: Records, tmp_path: Path) -> None:
    assert missing(tmp_path / "b.ttj", records) == []
    assert missing(tmp_path / "b.ttj", ticks(records, b"", b'{"texts":["odd"]}')) == []
    assert missing(tmp_path / "b.ttj", with_layout(records, more=[])) == []


def test_a_layout_of_millions_of_lists(records: Records, tmp_path: Path) -> None:
    (sentence,) = set(missing(tmp_path / "b.ttj", with_layout(records, more=[[]] * 3_000_000)))
    assert sentence.endswith("holds no reading yet, or none that can be read")


def test_texts_of_many_ticks(records: Records, tmp_path: Path) -> None:
    document = json.dumps({"texts": [""] * 300_000}).encode()
    found = missing(tmp_path / "b.ttj", ticks(records, *[document] * 12))
    assert any("texts" in sentence and "since the last key tick" in sentence for sentence in found)


def test_positions_that_overlap(records: Records, tmp_path: Path) -> None:
    document = json.dumps({"fresh": {"work": [[0, 1]] * 50_000}}).encode()
    found = missing(tmp_path / "b.ttj", ticks(records, b"", document))
    assert any("are no positions of 2 rows" in sentence for sentence in found)


def test_layouts_of_many_cells(records: Records, tmp_path: Path) -> None:
    """Each is a few kilobytes, and its masks would take 100 MB."""
    layout = next(record for record in records if record.kind == RecordKind.LAYOUT)
    document = json.loads(unpack(layout.payload))
    columns = document["columns"]
    clocks = sum(column["kind"] == "clock" for column in columns)
    made = []
    for number in range(20):
        unused = {"kind": "clock", "rows": (1 << 20) - number, "against": -2, "rounded": False}
        columns = [*document["columns"][:clocks], unused, *document["columns"][clocks:]]
        made.append(Record(RecordKind.LAYOUT, 0, 0, pack(json.dumps(
            document | {"columns": columns, "number": document["number"] + 1 + number}).encode())))
    assert missing(tmp_path / "b.ttj", [*records, *made]) == []


def rows(seconds: float, document: object) -> Record:
    """A record of groups that ended these seconds behind the first tick."""
    return Record(RecordKind.ROWS, GROUPS_STREAM, 0,
                  struct.pack("<qq", NOON + round(seconds * 1e9), 0) + pack(json.dumps(document).encode()))


def test_rows_of_many_intervals_are_not_in_memory_together(records: Records, tmp_path: Path) -> None:
    """Each is 64 MB once it is read, and there are twelve between two ticks."""
    path = tmp_path / "b.ttj"
    bomb: dict[str, list[list[int]]] = {"more": [[]] * 800_000}
    missing(path, [*records, *(rows(0.5 + number / 100, bomb) for number in range(12))])
    with bounded(), recording.read(str(path)) as journal:
        assert sum(1 for _one in journal.rows(GROUPS_STREAM, 0, 1 << 62)) == 12
        with pytest.raises(recording.RecordingError, match="has no"):
            [groups_of(journal.rows, frame) for frame in journal.frames()]


@pytest.mark.parametrize("error", [KeyError, IndexError, OverflowError, RecursionError, MemoryError, ZeroDivisionError])
def test_whatever_rows_do_to_their_reader_is_damage_with_its_place(error: type[Exception]) -> None:
    def read(said: JsonValue, wall_ns: int) -> None:
        raise error(said.value, wall_ns)

    with pytest.raises(DamagedError, match=f"record 7 holds what no recording holds \\({error.__name__}"):
        RecordedRows(NOON, JsonValue({}, "record 7")).restored(read)
