"""Small recordings that would become large objects: refused or read in part, in bounded memory."""

from __future__ import annotations

import gc
import json
import random
import re
import struct
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, frames, machine, topology_of_cpus

from turbotui import recording
from turbotui.features.fleet.engine import FleetQuestion
from turbotui.features.fleet.recorded import recorded_reading
from turbotui.features.groups.recorded_groups import groups_of
from turbotui.features.topdown.recorded_threads import thread_record
from turbotui.recording.capability_facts import capabilities_from
from turbotui.recording.codec import COUNTS, HEAD
from turbotui.recording.compression import pack, stream_compressor, stream_decompressor, unpack
from turbotui.recording.framing import DamagedError, Record, RecordKind, RecordParser, framed
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.json_values import Allowance, JsonValue, unpacked
from turbotui.recording.recorder import Recorder
from turbotui.recording.recording_part import RecordingPart
from turbotui.recording.rows import GROUPS_STREAM, RecordedRows
from turbotui.recording.stream_reader import KnownLayouts, StreamReader
from turbotui.recording.stream_writer import INDEX, OFFSET
from turbotui.sampling.frame import Frame

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
def bounded(most: int = MOST) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


def write(path: Path, records: Records) -> None:
    path.write_bytes(b"".join(framed(Record(record.kind, record.stream, number, record.payload))
                              for number, record in enumerate(records)))


def missing(path: Path, records: Records) -> list[str]:
    """What a reader says is missing of a file of these records."""
    write(path, records)
    try:
        with bounded(), recording.read(str(path)) as journal:
            return [item.text for item in journal.check()]
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
    stream, made = stream_compressor(1 << 16), records[:at]
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
    assert "holds no reading yet, or none that can be read: record 1: a record unpacks to more than" in sentence


def test_documents_out_of_proportion() -> None:
    """What costs a hundred bytes in a file would take a second to read."""
    with pytest.raises(DamagedError, match="holds more than"):
        unpacked(pack(b"[" + b"0," * 25_000 + b"0]"), "record 7")
    with pytest.raises(DamagedError, match="unpacks to more than"):
        unpacked(pack(b" " * (8 << 20)), "record 7")
    chance = random.Random(3)
    assert len(unpacked(pack(json.dumps([chance.randrange(1000) for _ in range(100_000)]).encode()), "").values(int))


def test_texts_of_many_ticks(records: Records, tmp_path: Path) -> None:
    documents = [json.dumps({"texts": [f"{tick:x}{text * 7919 % 16_000:x}" for text in range(16_000)]}).encode()
                 for tick in range(70)]
    result = missing(tmp_path / "b.ttj", ticks(records, *documents))
    assert any("texts" in sentence and "since the last key tick" in sentence for sentence in result)


def test_ticks_out_of_proportion(records: Records, tmp_path: Path) -> None:
    result = missing(tmp_path / "b.ttj", ticks(records, b"", *[b'{"texts":[' + b'"",' * 5_000_000 + b'""]}'] * 3))
    assert any("is not possible in its layout" in sentence for sentence in result)


def test_positions_that_overlap(records: Records, tmp_path: Path) -> None:
    document = json.dumps({"fresh": {"work": [[0, 1]] * 5_000}}).encode()
    result = missing(tmp_path / "b.ttj", ticks(records, b"", document))
    assert any("are no positions of 2 rows" in sentence for sentence in result)


def with_tick(records: Records, layout: Record) -> Records:
    """A layout and a key tick that names it."""
    key = next(record for record in records if record.kind == RecordKind.KEY)
    wall, started, _number, size = HEAD.unpack_from(key.payload)
    number = json.loads(unpack(layout.payload))["number"]
    return [layout, Record(RecordKind.KEY, 0, 0, HEAD.pack(wall, started, number, size) + key.payload[HEAD.size:])]


def test_layouts_of_many_cells(records: Records, tmp_path: Path) -> None:
    """Each is a few kilobytes, and its masks would take 100 MB; those that no tick names are not read at all."""
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
    assert not missing(tmp_path / "b.ttj", [*records, *made])
    result = missing(tmp_path / "b.ttj", [*records, *(part for layout in made for part in with_tick(records, layout))])
    assert sum("a clock of the recording is of no signal" in sentence for sentence in result) == 20


def test_layouts_of_many_values_together(records: Records, tmp_path: Path) -> None:
    """Sixty layouts of 300,000 values in 3 MB took half a minute and 180 MB."""
    layout = next(record for record in records if record.kind == RecordKind.LAYOUT)
    document = json.loads(unpack(layout.payload))
    numbers = random.Random(3)
    path, made = tmp_path / "b.ttj", []
    for at in range(8):
        unknown = [numbers.randrange(10) for _at in range(30_000)] * 10
        made.append(Record(RecordKind.LAYOUT, 0, 0, pack(json.dumps(
            document | {"number": document["number"] + 1 + at, "of a later version": unknown}).encode())))
    result = missing(path, [*records, *(part for layout in made for part in with_tick(records, layout))])
    damaged = [sentence for sentence in result if "a layout of the recording is damaged: it" in sentence]
    assert 0 < len(damaged) < 6  # a million values are for all of them, and two for each byte of those that were read
    with recording.read(str(path)) as journal:
        for _time in range(2):  # what was read once can be read again, and nothing else
            assert len(list(journal.frames())) == 3 + 8 - len(damaged)


def test_the_last_tick_is_looked_for_in_each_part_of_the_file_once(records: Records, tmp_path: Path) -> None:
    """A thousand key ticks of an unknown layout in 150 kB took 4 s, ten thousand 100 times as long."""
    path, layout = tmp_path / "b.ttj", next(record for record in records if record.kind == RecordKind.LAYOUT)
    known = [record for record in records if record.kind not in (RecordKind.INDEX, RecordKind.END)]
    write(path, known)
    key = HEAD.pack(NOON, 0, json.loads(unpack(layout.payload))["number"] + 1, 8)
    data, before = bytearray(path.read_bytes()), 0
    for number in range(20):
        at, sequence = len(data), len(known) + 2 * number
        data += framed(Record(RecordKind.KEY, 0, sequence, key))
        index, before = INDEX.pack(NOON, 0, at, 0, before, 0), len(data)
        data += framed(Record(RecordKind.INDEX, 0, sequence + 1, index))
    path.write_bytes(data)
    part = RecordingPart(str(path), KnownLayouts())
    last = part.last()
    part.file.close()
    assert last is not None
    assert last.snapshot.seq == 2
    assert sum(item.ticks for item in part.missing.values()) == 20


def test_a_tick_has_no_more_values_than_its_cells_need(records: Records, tmp_path: Path) -> None:
    document = json.dumps({"late": list(range(30_000))}).encode()
    result = missing(tmp_path / "b.ttj", ticks(records, b"", document))
    assert any("it holds more than 16," in sentence for sentence in result)


def test_events_and_headers_have_few_values(records: Records, tmp_path: Path) -> None:
    numbers = random.Random(4)
    for kind, count, most in ((RecordKind.EVENT, 1_000, "64"), (RecordKind.GAP, 1_000, "64"),
                              (RecordKind.HEADER, 20_000, "16,384")):
        odd = pack(json.dumps([numbers.randrange(1 << 30) for _at in range(count)]).encode())
        result = missing(tmp_path / "b.ttj", [*records, Record(kind, 0, 0, odd)])
        assert any(f"it holds more than {most} values" in sentence for sentence in result)


def rows(moments: Iterable[float], document: object) -> Records:
    """Records of groups that ended these seconds behind the first tick, all of them alike."""
    packed = pack(json.dumps(document).encode())
    return [Record(RecordKind.ROWS, GROUPS_STREAM, 0, struct.pack("<qq", NOON + round(seconds * 1e9), 0) + packed)
            for seconds in moments]


def test_rows_of_many_intervals_are_not_in_memory_together(records: Records, tmp_path: Path) -> None:
    """Each is 4 MB once it is read, and there are twelve between two ticks."""
    path = tmp_path / "b.ttj"
    chance = random.Random(1)
    bomb = {"more": [[chance.randrange(10)] for _number in range(50_000)]}
    write(path, [*records, *rows((0.5 + number / 100 for number in range(12)), bomb)])
    with bounded(25 << 20), recording.read(str(path)) as journal:
        assert sum(1 for _one in journal.rows(GROUPS_STREAM, 0, 1 << 62)) == 12
        with pytest.raises(recording.RecordingError, match="has no"):
            [groups_of(journal.rows, frame) for frame in journal.frames()]


def unlike(count: int) -> list[str]:
    """Names that no packer makes small."""
    chance = random.Random(2)
    return [f"{chance.getrandbits(40):x}" for _number in range(count)]


def test_more_groups_than_any_recording_keeps(records: Records, tmp_path: Path) -> None:
    names = unlike(100_000)
    nothing: dict[str, object] = {"increases": {}, "values": {}, "spans": {}, "absent": {}}
    bomb = {"table": "groups", "seconds": 1.0, "complete": True, "reasons": [], "plans": [{}],
            "kind": ["cgroup"] * len(names), "path": names, "name": names, "plan": [0] * len(names), **nothing}
    path = tmp_path / "b.ttj"
    write(path, [*records, *rows((0.1 * number for number in range(1, 6)), bomb)])
    with bounded(), recording.read(str(path)) as journal, pytest.raises(DamagedError, match="100,000 groups, and none"):
        [groups_of(journal.rows, frame) for frame in journal.frames()]


def test_threads_and_nodes_without_end() -> None:
    threads = {"pid": [1] * 20_001, "tid": list(range(20_001)), "name": [""] * 20_001}
    with pytest.raises(DamagedError, match="20,001 threads, and none"):
        thread_record(JsonValue(threads, "record 7"), NOON)
    with pytest.raises(DamagedError, match="10,001 nodes, and none"):
        recorded_reading(RecordedRows(NOON, JsonValue({"name": [""] * 10_001}, "record 7")), FleetQuestion())


def test_sources_without_end(records: Records) -> None:
    layout = next(record for record in records if record.kind == RecordKind.LAYOUT)
    said = json.loads(unpack(layout.payload))["capabilities"]
    said["sources"] *= 5_000
    with pytest.raises(DamagedError, match="has 5,000 sources"):
        capabilities_from(JsonValue(said, "a layout"))


def test_reasons_are_read_where_something_is_missing_for_them(records: Records) -> None:
    """Sixty layouts of 60,000 reasons each took half a minute, whether anything was missing or not."""
    layout = next(record for record in records if record.kind == RecordKind.LAYOUT)
    said = json.loads(unpack(layout.payload))["capabilities"]
    known = len(said["reasons"])
    said["reasons"] += [["no such kind", "a", "b", "four parts are no reason"]] * 60_000
    capabilities_from(JsonValue(said, "a layout"))
    said["missing"]["x"] = known
    with pytest.raises(DamagedError, match="is no reason"):
        capabilities_from(JsonValue(said, "a layout"))
    for number, problem in ((known + 60_000, "none is number"), (-1, "none is number"), (True, "no object of int"),
                            ("1", "no object of int")):
        said["missing"]["x"] = number
        with pytest.raises(DamagedError, match=problem):
            capabilities_from(JsonValue(said, "a layout"))
    del said["missing"]["x"]
    said["reasons"][known:] = [["not-read", f"{number}", ""] for number in range(60_000)]
    said["missing"] |= {f"x{number}": known + number for number in range(40_000)}
    with pytest.raises(DamagedError, match="more than 32,768 values in use"):
        capabilities_from(JsonValue(said, "a layout"))


def layouts_of_reasons(records: Records, details: Iterator[list[str]]) -> Records:
    """A key tick of each of some layouts, in which a signal is missing for each of the reasons."""
    layout = next(record for record in records if record.kind == RecordKind.LAYOUT)
    document = json.loads(unpack(layout.payload))
    said, made = document["capabilities"], []
    known = len(said["reasons"])
    for number, texts in enumerate(details, 1):
        missing = said["missing"] | {f"x{text}": known + at for at, text in enumerate(texts)}
        reasons = said["reasons"] + [["not-read", text, ""] for text in texts]
        made += with_tick(records, Record(RecordKind.LAYOUT, 0, 0, pack(json.dumps(document | {
            "number": document["number"] + number,
            "capabilities": said | {"missing": missing, "reasons": reasons}}).encode())))
    return [*(record for record in records if record.kind not in (RecordKind.INDEX, RecordKind.END)), *made]


def test_layouts_of_equal_reasons_are_read_once(records: Records, tmp_path: Path) -> None:
    """Twenty layouts of 32,000 reasons were read three times, with reasons of their own."""
    path, texts = tmp_path / "b.ttj", [f"{number}" for number in range(1_000)]
    assert missing(path, layouts_of_reasons(records, (texts for _layout in range(20)))) == []
    with recording.read(str(path)) as journal:
        first, again = ([frame.capabilities for frame in journal.frames()] for _time in range(2))
    assert len(first) == 3 + 20
    assert all(capabilities is other for capabilities, other in zip(first, again, strict=True))
    assert len({id(capabilities) for capabilities in first}) == 1 + 20
    assert len({id(capabilities.missing) for capabilities in first}) == 2


def test_layouts_of_many_reasons_together(records: Records, tmp_path: Path) -> None:
    path = tmp_path / "b.ttj"
    result = missing(path, layouts_of_reasons(records, ([f"{layout}.{number}" for number in range(30_000)]
                                                        for layout in range(3))))
    assert sum("more than 65,536 reasons" in sentence for sentence in result) == 1
    with recording.read(str(path)) as journal:
        for _time in range(2):
            assert len(list(journal.frames())) == 3 + 2
        assert len(journal.missing) == 2  # the layout and its tick


def test_long_texts_of_events_are_cut(records: Records, tmp_path: Path) -> None:
    """A hundred bytes are 100,000 letters, and all events of a recording are kept."""
    def mark(text: str) -> bytes:
        return pack(json.dumps({"wall_ns": NOON, "started_ns": 0, "kind": "mark", "text": text}).encode())

    event, endless = mark("\N{GRINNING FACE}" * 1_300), mark("x" * 60_000)
    path = tmp_path / "b.ttj"
    assert missing(path, [*records, Record(RecordKind.EVENT, 0, 0, event)]) == []
    with recording.read(str(path)) as journal:
        assert [len(item.text) for item in journal.events()] == [1_000]
    assert len(missing(path, [*records, Record(RecordKind.EVENT, 0, 0, endless)])) == 1


def test_an_index_that_names_a_record_again_and_again(records: Records, tmp_path: Path) -> None:
    """Each name of a record would read it once more; records within a record are none."""
    mark = {"wall_ns": NOON, "started_ns": 0, "kind": "mark", "text": "whole"}
    inner = framed(Record(RecordKind.EVENT, 0, 0, pack(json.dumps(mark | {"text": "inner"}).encode())))
    key = next(record for record in records if record.kind == RecordKind.KEY)
    made, places = b"", {}

    def add(kind: RecordKind, payload: bytes, name: str = "") -> None:
        nonlocal made
        places[name] = len(made)
        made += framed(Record(kind, 0, len(places), payload))

    add(RecordKind.HEADER, records[0].payload, "header")
    add(RecordKind.LAYOUT, next(record for record in records if record.kind == RecordKind.LAYOUT).payload, "layout")
    add(RecordKind.KEY, key.payload, "first")
    add(RecordKind.INDEX, INDEX.pack(NOON, 0, places["first"], places["layout"], 0, 0), "index")
    add(RecordKind.EVENT, pack(json.dumps(mark).encode()) + inner, "event")
    within = len(made) - len(inner)
    add(RecordKind.KEY, key.payload, "last")
    noted = [*[places["event"]] * 2_000, within]
    add(RecordKind.INDEX, INDEX.pack(NOON, 0, places["last"], places["layout"], places["index"], len(noted))
        + b"".join(map(OFFSET.pack, noted)), "end")
    path = tmp_path / "b.ttj"
    path.write_bytes(made)
    reads: list[int] = []
    whole = JournalFile.record_at

    def noting(file: JournalFile, at: int) -> Record | None:
        reads.append(at)
        return whole(file, at)

    with recording.read(str(path)) as journal, pytest.MonkeyPatch.context() as patched:
        patched.setattr(JournalFile, "record_at", noting)
        assert [event.text for event in journal.events()] == ["whole"]
    assert reads.count(places["event"]) == 1


def test_files_of_a_session_are_read_once(records: Records, tmp_path: Path) -> None:
    """Each takes a second, and is of no use to anybody."""
    kept = {"texts": {"/a": "first"}, "folders": {}, "words": [], "refused": {}}
    files = [Record(RecordKind.FILES, 0, 0, pack(json.dumps(item).encode())) for item in [kept, *[[1]] * 20]]
    path = tmp_path / "b.ttj"
    assert missing(path, [*records[:1], *files, *records[1:]]) == []
    decoded: list[object] = []
    with recording.read(str(path)) as journal, pytest.MonkeyPatch.context() as patched:
        patched.setattr("turbotui.recording.stream_reader.kept_from", decoded.append)
        assert journal.events() == ()
        assert journal.gaps() == ()
    assert not decoded
    with recording.read(str(path)) as journal:
        assert journal.kept.texts == {"/a": "first"}


def test_files_without_a_header_before_them_are_read_once() -> None:
    kept = {"texts": {"/a": "first"}, "folders": {}, "words": [], "refused": {}}
    record, reader = Record(RecordKind.FILES, 0, 0, pack(json.dumps(kept).encode())), StreamReader()
    assert len([*reader.items_of(record), *reader.items_of(record)]) == 1


def test_long_texts_count_as_the_values_that_they_could_be() -> None:
    def refused(number: int) -> bool:
        text = json.dumps([f"{number}{'x' * 2_000_000}"]).encode()  # a value
        try:
            allowance.unpacked(zlib.compress(text), "the files")
        except DamagedError:
            return True
        return False

    allowance = Allowance()
    assert 16 <= [refused(number) for number in range(24)].index(True) <= 20


def test_damage_is_listed_up_to_a_number(records: Records, tmp_path: Path) -> None:
    wrongs = [Record(RecordKind.EVENT, 0, 0, pack(json.dumps([number]).encode())) for number in range(1_500)]
    result = missing(tmp_path / "b.ttj", [*records, *wrongs])
    assert len(result) == 1_001
    assert result[-1] == "more than 1,000 parts, of which only the first are listed"


@pytest.mark.parametrize("error", [AttributeError, KeyError, IndexError, OverflowError, RecursionError, MemoryError,
                                   ZeroDivisionError, struct.error])
def test_whatever_rows_do_to_their_reader_is_damage_with_its_place(error: type[Exception]) -> None:
    def read(said: JsonValue, wall_ns: int) -> None:
        raise error(said.value, wall_ns)

    with pytest.raises(DamagedError, match=f"record 7 holds what no recording holds \\({error.__name__}"):
        RecordedRows(NOON, JsonValue({}, "record 7")).restored(read)


def test_ticks_of_more_cells_than_their_bytes_account_for(tmp_path: Path) -> None:
    """Five hundred ticks of 1,024 CPUs in a megabyte took a minute and a half: each hundred bytes were 90,000 cells."""
    topology = topology_of_cpus(range(4096))
    with closing(Recorder(str(tmp_path / "a.ttj"), machine(topology), sync_seconds=0.0)) as recorder:
        for frame in frames(3, topology):
            recorder.take(frame)
    read = RecordParser().feed((tmp_path / "a.ttj").read_bytes())
    records = [record for record in read if isinstance(record, Record)]
    path = tmp_path / "b.ttj"
    said = missing(path, ticks(records, *[b""] * 600))
    assert len(said) == 2
    assert re.search(r"a tick of [\d,]+ cells, packed \d+ bytes: it and those before it hold too many", said[0])
    with recording.read(str(path)) as journal:
        counts = [sum(frame.newer.values is not None for frame in journal.frames()) for _time in range(2)]
    assert counts[0] == counts[1], "what was let in is let in again"
    assert 100 < counts[0] < 250


def test_ticks_at_rest_are_written_so_that_they_are_read(tmp_path: Path) -> None:
    """What changes little is no bomb: where a tick has few bytes, it is written whole."""
    topology = topology_of_cpus(range(4096))
    chance = random.Random(5)
    first, second = frames(2, topology)
    values = {name: [chance.getrandbits(40) if isinstance(word, int) else word for word in words]
              for name, words in second.newer.values.items()}
    with closing(Recorder(str(tmp_path / "a.ttj"), machine(topology), sync_seconds=0.0)) as recorder:
        recorder.take(first)
        for number in range(600):
            newer = replace(second.newer, seq=second.newer.seq + number, values=values,
                            wall_ns=second.newer.wall_ns + number * 10**9,
                            started_ns=second.newer.started_ns + number * 10**9)
            recorder.take(Frame(first.newer, newer, second.capabilities))
    with recording.read(str(tmp_path / "a.ttj")) as journal:
        assert sum(1 for _frame in journal.frames()) == 601
        assert journal.missing == ()


def test_damaged_layouts_without_end() -> None:
    """What is wrong with a layout is remembered, and a stream may send other ones for as long as it lasts."""
    known, payloads = KnownLayouts(), [pack(b"%d" % number) for number in range(5_000)]

    def read_all(some: list[bytes]) -> None:
        for payload in some:
            with pytest.raises(DamagedError):
                known.read(payload)

    read_all(payloads[:500])
    tracemalloc.start()
    try:
        read_all(payloads[500:])
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 600_000  # 330,000; a megabyte if all were remembered
    finally:
        tracemalloc.stop()
