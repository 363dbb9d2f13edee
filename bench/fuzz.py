"""Fuzzes the reader of recordings: any exception other than a `RecordingError` is a fault, and so is a `MisreadError`.

`python -m bench.fuzz --count 1000000 --seed 1` (some 600 a second) takes short recordings and changes them, each
input in one of four ways: bytes of the file; bytes of a payload, under a right checksum; a value of a JSON document in
it; bytes of an unpacked tick. Each input has a number, from which alone it can be made again (`--only NUMBER`). More
than a second of CPU time or 200 MB are faults too. A fault is printed once for each place in the program. Exit status:
how many such there were. bench.fuzz_documents and bench.fuzz_grammars do the same for what else comes from outside;
.ci/fuzz runs all three.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import random
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Final, TypeVar

from turbotui.app.past import past_events
from turbotui.diagnosis.recorded_looks import look_results
from turbotui.features.fleet.engine import FleetQuestion
from turbotui.features.fleet.recorded import recorded_reading
from turbotui.features.groups.recorded_groups import group_record, groups_of
from turbotui.features.tasks.recorded_tasks import task_record, tasks_of
from turbotui.features.tasks.region_totals import region_totals, regions_of
from turbotui.features.tasks.tables import Grouping
from turbotui.features.topdown.recorded_regions import region_slots
from turbotui.features.topdown.recorded_threads import thread_record, threads_of
from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.row_kinds import Form
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import Behavior
from turbotui.recording.codec import HEAD
from turbotui.recording.compression import (
    StreamCompressor,
    StreamDecompressor,
    pack,
    stream_compressor,
    stream_decompressor,
    unpack,
)
from turbotui.recording.framing import (
    Damage,
    DamagedError,
    MisreadError,
    Missing,
    Record,
    RecordingError,
    RecordKind,
    RecordParser,
    framed,
)
from turbotui.recording.journal import Journal
from turbotui.recording.parts import paths_of
from turbotui.recording.rows import (
    FLEET_STREAM,
    GROUPS_STREAM,
    LOOKS_STREAM,
    REGION_SLOTS_STREAM,
    REGIONS_STREAM,
    TASKS_STREAM,
    TOPDOWN_STREAM,
    RecordedRows,
    rows_from,
)
from turbotui.recording.stream_reader import KnownLayouts, RecordedTick, StreamReader
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.row_differences import RowDifferences

T = TypeVar("T")
GOLDEN: Final = Path(__file__).parents[1] / "tests" / "recording" / "golden"
MEMORY: Final = 1 << 30
"""Bytes of address space."""
GROWTH_KB: Final = 200 << 10
"""Memory that one input may add to the most that was ever used."""
SECONDS: Final = 1.0
_TICKS: Final = 4  # of each recording: most faults are in the first
_ROWS_HEAD: Final = 16
_KEYS: Final = (RecordKind.KEY, RecordKind.ROW_KEY)
_TICK_KINDS: Final = (*_KEYS, RecordKind.DELTA, RecordKind.ROW_DELTA)
_BINARY: Final = (*_TICK_KINDS, RecordKind.INDEX, RecordKind.END, RecordKind.ROW_KEY, RecordKind.ROW_DELTA)
_ODD: Final[tuple[object, ...]] = (
    None, True, -1, 0, 1, 255, 1 << 31, 1 << 62, -(1 << 62), 1e308, -0.5, "", "cpu", "a" * 300, "0x1", [], {}, [[]],
    [0], {"a": 1}, ["cpu", "x"],
)
_READERS: Final[Mapping[int, Callable[[RecordedRows], object]]] = {
    TASKS_STREAM: lambda rows: task_record(rows.stored, rows.wall_ns, CpuModel()),
    GROUPS_STREAM: lambda rows: group_record(rows.stored, rows.wall_ns),
    FLEET_STREAM: lambda rows: recorded_reading(rows, FleetQuestion()),
    TOPDOWN_STREAM: lambda rows: thread_record(rows.stored, rows.wall_ns),
    REGIONS_STREAM: lambda rows: region_totals(rows.stored),
    REGION_SLOTS_STREAM: lambda rows: region_slots(rows.stored),
    LOOKS_STREAM: lambda rows: look_results(rows.stored),
}
"""What reads the rows of each stream."""
_ODD_WORDS: Final = (0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 22, 1 << 26)


def base(path: Path) -> list[Record]:
    """Return the records of a recording up to its fifth tick, and all records that are not ticks."""
    records, ticks = [], 0
    for record in RecordParser().feed(path.read_bytes()):
        if not isinstance(record, Record):
            continue
        ticks += record.kind in _TICK_KINDS
        if record.kind not in _TICK_KINDS or ticks <= _TICKS:
            records.append(record)
    return records


class Inputs:
    """Changed recordings, by their number."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._bases = [base(path) for path in sorted(GOLDEN.glob("*.ttj"))]
        self._shares = [1 / sum(len(one.payload) for one in records) for records in self._bases]  # small ones are quick

    def __getitem__(self, number: int) -> bytes:
        chance = random.Random(self._seed << 40 | number)
        records = chance.choices(self._bases, self._shares)[0]
        if len(records) > 12 and chance.random() < 0.5:
            at = chance.randrange(len(records) - 8)
            records = records[:3] + records[at:at + 8]
        way = chance.choice((_file_bytes, _payload_bytes, _documents, _documents, _bodies, _bodies))
        return way(chance, records)


def _joined(records: Sequence[Record]) -> bytes:
    return b"".join(framed(Record(record.kind, record.stream, at, record.payload)) for at, record in enumerate(records))


def changed_bytes(chance: random.Random, data: bytes, most: int = 8) -> bytes:
    """Replace, remove or insert some bytes."""
    changed = bytearray(data)
    for _ in range(chance.randrange(1, most)):
        at = chance.randrange(len(changed) + 1)
        if chance.random() < 0.3:
            size = chance.choice((1, 2, 4, 8))
            changed[at:at + size] = (chance.choice(_ODD_WORDS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        else:
            changed[at:at + chance.randrange(4)] = chance.randbytes(chance.randrange(4))
    return bytes(changed)


def _file_bytes(chance: random.Random, records: Sequence[Record]) -> bytes:
    return changed_bytes(chance, _joined(records), 40)


def _payload_bytes(chance: random.Random, records: Sequence[Record]) -> bytes:
    made = list(records)
    for _ in range(chance.randrange(1, 3)):
        at = chance.randrange(len(made))
        record = made[at]
        kind = chance.choice(list(RecordKind)) if chance.random() < 0.1 else record.kind
        stream = chance.choice((0, *_READERS)) if chance.random() < 0.1 else record.stream
        made[at] = Record(kind, stream, record.sequence, changed_bytes(chance, record.payload))
    if chance.random() < 0.2:
        chance.shuffle(made)
    return _joined(made)


def _documents(chance: random.Random, records: Sequence[Record]) -> bytes:
    """Change one to three values of JSON documents."""
    made = list(records)
    places = [at for at, record in enumerate(made) if record.kind not in _BINARY]
    for _ in range(chance.randrange(1, 4)):
        if not places:
            break
        at = chance.choice(places)
        record = made[at]
        head = _ROWS_HEAD if record.kind == RecordKind.ROWS else 0
        document = json.loads(unpack(record.payload[head:]))
        change_value(chance, document)
        payload = record.payload[:head] + pack(json.dumps(document).encode())
        same = record.payload
        made = [Record(each.kind, each.stream, each.sequence, payload if each.payload == same else each.payload)
                for each in made]
    return _joined(made)


def change_value(chance: random.Random, document: object) -> None:
    """Replace, remove or copy a value in a document, preferring deep values."""
    here = document
    while True:
        keys: Sequence[object] = ()
        if isinstance(here, dict | list):
            keys = list(here) if isinstance(here, dict) else range(len(here))
        if not keys:
            return
        key = chance.choice(keys)
        value = here[key]  # type: ignore[index] # a dict or a list
        if isinstance(value, dict | list) and value and chance.random() < 0.9:
            here = value
            continue
        if chance.random() < 0.2:
            del here[key]  # type: ignore[attr-defined] # likewise
        elif chance.random() < 0.2 and isinstance(here, list):
            here.append(value)
        else:
            here[key] = _odd(chance, value)  # type: ignore[index] # likewise
        return


def _odd(chance: random.Random, value: object) -> object:
    if isinstance(value, int) and chance.random() < 0.5:
        return value + chance.choice((-1, 1, 1 << 16))
    if isinstance(value, str) and value and chance.random() < 0.5:
        return value[:-1] + chance.choice(("", "x", "\x1b", "\ud800"))
    return copy.deepcopy(chance.choice(_ODD))


def _bodies(chance: random.Random, records: Sequence[Record]) -> bytes:
    """Change bytes of unpacked ticks, and pack them again as a whole stream."""
    made: list[Record] = []
    streams: dict[int, tuple[StreamDecompressor, StreamCompressor]] = {}
    spoil = chance.randrange(_TICKS)
    ticks = 0
    for record in records:
        if record.kind not in _TICK_KINDS:
            made.append(record)
            continue
        if record.kind in _KEYS:
            streams[record.stream] = stream_decompressor(), stream_compressor()
        begin = HEAD.size + (4 if record.stream else 0)  # a tick of rows has its capacity first
        try:
            unpacking, packing = streams[record.stream]
            body = unpacking.decompress(record.payload[begin:], *struct.unpack_from("<I", record.payload, begin - 4))
        except (RecordingError, LookupError, struct.error):  # the ticks before it are left out
            return _file_bytes(chance, records)
        if ticks == spoil or chance.random() < 0.2:
            changed = 80 if chance.random() < 0.6 else len(body)
            body = changed_bytes(chance, body[:changed], 3 if changed == 80 else 8) + body[changed:]
        ticks += 1
        head = record.payload[:begin - 4] + struct.pack("<I", len(body))
        made.append(Record(record.kind, record.stream, record.sequence, head + packing.compress((body,))))
    return _joined(made)


def read_all(data: bytes, number: int, layouts: KnownLayouts) -> None:
    """Read everything from a file; one input in 16 is read as a file, the others as streams.

    Args:
        data: of the file.
        number: of the input.
        layouts: that were read before, so that only those that were changed are parsed.
    """
    if number % 16 == 0:
        _read_file(data, layouts)
        return
    reader, parser, maker = StreamReader(layouts), RecordParser(), FrameMaker()
    for record in _pieces(parser, data):
        if isinstance(record, Record) and record.kind == RecordKind.ROWS:
            _read_rows(record)
        items = list(reader.take(record))
        _expect_foreseen(items)
        for item in items:
            if isinstance(item, RecordedTick):
                frame = maker.frame(item.snapshot, item.capabilities)
                for name in frame.newer.values:
                    frame.deltas(name)
                    frame.rates(name)
                    frame.levels(name)
                _read_kinds(frame)
    _expect_foreseen(reader.rest())


def _expect_foreseen(items: Iterable[object]) -> None:
    """Raise the `MisreadError` of what is missing."""
    for item in items:
        if isinstance(item, Missing) and item.fault:
            raise MisreadError(item.text, item.fault)


@contextlib.contextmanager
def _damage_foreseen() -> Iterator[None]:
    """Let damage pass, unless a reader did not foresee it."""
    try:
        yield
    except MisreadError:
        raise
    except DamagedError:
        pass


def _read_kinds(frame: Frame) -> None:
    """Compute everything of the rows of a frame."""
    for kind, tick in frame.newer.rows.items():
        moved = RowDifferences(None if frame.older is None else frame.older.rows.get(kind), tick)
        for name, quantity in tick.quantities.items():
            if quantity.behavior is Behavior.COUNTER and quantity.form is Form.WORD:
                moved.deltas(name)
                moved.rates(name)
            for slot, row in tick.roster.rows.items():
                moved.level(name, slot)
                moved.why(name, row)


def _read_rows(record: Record) -> None:
    with _damage_foreseen():
        read = _READERS.get(record.stream, _READERS[TASKS_STREAM])
        rows_from(record).restored(lambda said, wall_ns: read(RecordedRows(wall_ns, said)))


def _pieces(parser: RecordParser, data: bytes) -> Iterator[Record | Damage]:
    yield from parser.feed(data[:len(data) // 2])
    yield from parser.feed(data[len(data) // 2:])
    torn = parser.finish()
    if torn is not None:
        yield torn


def _read_file(data: bytes, layouts: KnownLayouts) -> None:
    memory = os.memfd_create("fuzz", os.MFD_CLOEXEC)
    try:
        os.write(memory, data)
        with Journal(paths_of(f"/proc/self/fd/{memory}"), layouts) as journal:
            _expect_foreseen(journal.check())
            past_events((*journal.events(), *journal.gaps()))
            journal.clocks()
            journal.definitions()
            str(journal.machine.host.name)
            catalog = journal.catalog
            middle = (journal.first_ns + journal.last_ns) // 2
            journal.frame_at(middle)
            for frame in journal.frames():
                with _damage_foreseen():
                    tasks_of(journal.rows, frame, journal.machine.model, Grouping.UNIT)
                for read in (groups_of, regions_of, threads_of):
                    with _damage_foreseen():
                        read(journal.rows, frame)
                for column in catalog.columns[:40]:
                    frame.cell(column, SYSTEM_ROW)
                    frame.why(column, SYSTEM_ROW)
    finally:
        os.close(memory)


def _too_long(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS:g} s of CPU time")


def run(count: int, inputs: Callable[[int], T], first: int = 0, *, read: Callable[[T, int], object] | None = None,
        refusals: tuple[type[Exception], ...] = (RecordingError,)) -> dict[str, tuple[int, str]]:
    """Read this many inputs.

    Args:
        count: of inputs.
        inputs: makes an input of its number.
        first: the number of the first.
        read: reads an input with its number; None reads recordings.
        refusals: how it says no.

    Returns:
        By the place in the program at which something was raised that is no refusal, or by what was too much: the first
        input that did it, and the traceback.
    """
    faults: dict[str, tuple[int, str]] = {}
    layouts = KnownLayouts()
    most_kb = 0
    began = time.monotonic()

    def note(number: int, key: str, text: str) -> None:
        if key not in faults:
            faults[key] = number, text
            print(f"input {number}: {key}\n{text}", flush=True)

    before = signal.signal(signal.SIGVTALRM, _too_long)
    try:
        for number in range(first, first + count):
            data = inputs(number)
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            try:
                if read is None:
                    read_all(data, number, layouts)  # type: ignore[arg-type] # bytes, where nothing else reads them
                else:
                    read(data, number)
            except MisreadError as error:
                note(number, error.fault, traceback.format_exc())
            except refusals:
                pass
            except Exception as error:  # noqa: BLE001 - whichever it is
                place = traceback.extract_tb(error.__traceback__)[-1]
                note(number, f"{type(error).__name__} at {place.filename}:{place.lineno}", traceback.format_exc())
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            used_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if most_kb and used_kb > most_kb + GROWTH_KB:
                note(number, "memory", f"{(used_kb - most_kb) >> 10} MB more than all inputs before")
            most_kb = max(most_kb, used_kb)
            if number % 20_000 == 19_999:
                print(f"{number + 1 - first:,} inputs, {time.monotonic() - began:.0f} s, {used_kb >> 10} MB at most, "
                      f"{len(faults)} faults", flush=True)
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return faults


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this input alone, with what it raises")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    inputs = Inputs(arguments.seed)
    if arguments.only is not None:
        read_all(inputs[arguments.only], arguments.only, KnownLayouts())
        return 0
    faults = run(arguments.count, inputs.__getitem__)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{arguments.count:,} inputs: {len(faults)} faults, {peak:.0f} MB at most")
    return min(len(faults), 100)


if __name__ == "__main__":
    sys.exit(main())
