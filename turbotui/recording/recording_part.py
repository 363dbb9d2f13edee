"""Reads one file of a recording: ticks from any key tick on, events, rows of other tables, missing parts."""

from __future__ import annotations

import contextlib
import sys
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise, starmap
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.definition import Definition
from turbotui.quantities.row_kinds import KindId
from turbotui.recording.framing import DamagedError, Missing, Record, RecordingError, RecordKind, damage_of
from turbotui.recording.journal_file import JournalFile, KeyEntry
from turbotui.recording.machine_facts import Header
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.recorded_source import definitions_of
from turbotui.recording.rows import RecordedRows, rows_from, wall_of
from turbotui.recording.stream_reader import Item, KnownLayouts, RecordedTick, StreamReader
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tick_decoder import head_of
from turbotui.recording.tiers import SLEW, STEP_SECONDS

T = TypeVar("T")
_NEAR: Final = 1 << 20  # bytes before a damaged layout in which to look for its other copy
_NOTED: Final[Mapping[type, RecordKind]] = {
    Gap: RecordKind.GAP, Event: RecordKind.EVENT, KeptAnswers: RecordKind.FILES}
_MOST_MISSING: Final = 1_000  # parts that are listed; where everything is damaged, more tell nobody anything


@dataclass(frozen=True, slots=True)
class CoveredTime:
    """A time that is read from one file of a recording."""

    part: RecordingPart
    # first_ns, last_ns: wall clocks of the first and last tick
    first_ns: int
    last_ns: int
    seconds: float  # time between ticks in a tier of lower resolution; 0: every tick
    whole: bool  # whether the time covers the whole file

    def ticks(self, begin: KeyEntry | int, end_ns: int | None) -> Iterator[RecordedTick]:
        """Yield the ticks from a key tick of the file on, up to a wall clock."""
        until = None if end_ns is None else self.part.behind(end_ns)
        for item in self.part.items(begin, following=True):
            if not isinstance(item, RecordedTick):
                continue
            wall = item.snapshot.wall_ns
            if until is not None and end_ns is not None and wall > end_ns:
                if item.offset >= until:
                    return
                continue  # the clock is set back later in the file
            if self.whole or self.first_ns <= wall <= self.last_ns:
                yield item


class RecordingPart:
    """One file of a recording.

    Args:
        path: of the file.
        layouts: of all files of the recording.
        grow: waits until a file that is still written has more; returns false at its end.
    """

    def __init__(self, path: str, layouts: KnownLayouts, grow: Callable[[], bool] | None = None) -> None:
        self.file = JournalFile(path)
        self._grow = grow
        self._layouts = layouts
        self.kinds: dict[KindId, str] = {}  # titles of the kinds of rows that were met so far
        self.missing: dict[tuple[int, str], Missing] = {}
        self._first: RecordedTick | None = None
        self._last: tuple[int, RecordedTick | None] = (-1, None)
        self._span: tuple[int, tuple[int, int] | None] = (-1, None)
        self._clock_was_set = False
        self._clocks: list[int] = []
        self._rows: dict[int, list[tuple[int, int]]] = {}
        self._seen_end = 0
        self._looking = threading.Lock()

    def clocks(self) -> Sequence[int]:
        """Yield the wall clock of every tick with a whole record, in the file's order, without decoding."""
        self._look()
        return self._clocks

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Iterator[RecordedRows]:
        """Yield the rows of a table for every interval that ended after `start_ns` and not after `end_ns`."""
        self._look()
        known = self._rows.get(stream, [])
        for wall, offset in known[bisect_right(known, (start_ns, sys.maxsize)):]:
            if wall > end_ns:
                return
            if (record := self.file.record_at(offset)) is not None:
                try:
                    yield rows_from(record)
                except DamagedError as error:
                    self._noted(Missing(offset, record.end - offset, 0, str(error)))

    def _look(self) -> None:
        """Scan new records for the times of ticks and the offsets of rows of other tables."""
        with self._looking:
            for stream in self._look_on():
                self._rows[stream].sort()

    def _look_on(self) -> set[int]:
        changed = set()
        for record in self.file.records(self._seen_end):
            if not isinstance(record, Record):
                continue
            self._seen_end = record.end
            if (wall := wall_of(record)) is not None:
                self._rows.setdefault(record.stream, []).append((wall, record.offset))
                changed.add(record.stream)
            elif record.kind in (RecordKind.KEY, RecordKind.DELTA) and not record.stream:
                with contextlib.suppress(DamagedError):  # `items` reports the damage
                    self._clocks.append(head_of(record.payload).wall_ns)
        return changed

    def header(self) -> Header | None:
        """Return the header of the file's first session, from its first tick if the record is damaged.

        Raises:
            RecordingError: the file has a later format.
        """
        header = self.file.header()
        tick = self.first() if header is None else None
        return header if tick is None else tick.header

    @cached_property
    def seconds(self) -> float:
        """Seconds from one tick to the next where not every one was kept; 0: every one."""
        header = self.header()
        return 0.0 if header is None else header.tier[0]

    def span(self) -> tuple[int, int] | None:
        """Return the wall clocks between which all ticks lie, without decoding; None without ticks.

        These are the clocks of the first key tick and the last tick, unless the clock was set back.
        """
        size = self.file.size
        if self._span[0] != size:
            index = self.file.index()
            first = next((clocks for clocks, kind in self._clocks_from(0) if kind == RecordKind.KEY), None)
            tail = [clocks for clocks, _kind in self._clocks_from(index[-1].key if index else 0)]
            if first is None or not tail:
                self._span = size, None
                for _item in self.items(0):  # a file without a tick is not read otherwise, nor its damage noted
                    pass
            else:
                known = (first, *((entry.wall_ns, entry.started_ns) for entry in index), *tail)
                self._clock_was_set = any(starmap(_was_set_back, pairwise(known)))
                all_walls = sorted(self.clocks()) if self._clock_was_set else (first[0], tail[-1][0])
                self._span = size, (all_walls[0], all_walls[-1])
        return self._span[1]

    @property
    def clock_was_set(self) -> bool:
        """Whether the wall clock was set back while the file was written, so that its ticks are not in its order."""
        self.span()
        return self._clock_was_set

    def _clocks_from(self, offset: int) -> Iterator[tuple[tuple[int, int], int]]:
        """Yield wall and monotonic clock of each tick from an offset on, and its kind."""
        for record in self.file.records(offset):
            if isinstance(record, Record) and record.kind in (RecordKind.KEY, RecordKind.DELTA) and not record.stream:
                with contextlib.suppress(DamagedError):  # `items` reports the damage
                    head = head_of(record.payload)
                    yield (head.wall_ns, head.started_ns), record.kind

    def first(self) -> RecordedTick | None:
        """Return the first tick that can be read."""
        if self._first is None:
            self._first = next((item for item in self.items(0) if isinstance(item, RecordedTick)), None)
        return self._first

    def last(self) -> RecordedTick | None:
        """Return the last tick that can be read."""
        size = self.file.size
        if self._last[0] != size:
            tick = None
            begins: list[KeyEntry | int] = [0, *self.file.index()]  # 0: there is no usable index
            end = None
            for entry in reversed(begins):
                for item in self.items(entry, end):
                    tick = item if isinstance(item, RecordedTick) else tick
                if tick is not None:
                    break
                end = entry.key if isinstance(entry, KeyEntry) else None  # nothing behind it can be read
            self._last = size, tick
        return self._last[1]

    def items(self, begin: KeyEntry | int, end: int | None = None, *, following: bool = False) -> Iterator[Item]:
        """Yield records from a key tick or the beginning (0) on; damage is added to `missing`.

        Args:
            begin: see above.
            end: offset at which no record begins any more; None: the end of the file.
            following: whether to wait for what is still to come.
        """
        reader = StreamReader(self._layouts, self.kinds)
        offset = 0
        if isinstance(begin, KeyEntry):
            if (layout := self._layout(begin)) is not None:
                reader.begin(layout)
            offset = begin.key
        for record in self.file.records(offset, end, grow=self._grow if following else None):
            yield from map(self._noted, reader.take(record))
        if following or self._grow is None:  # else the end of the bytes is not that of the recording
            yield from map(self._noted, reader.rest())

    def before(self, wall_ns: int, *, all_of_them: bool = True) -> KeyEntry | int:
        """Return a key tick before a time; 0, the beginning, if there is none.

        Args:
            wall_ns: the time.
            all_of_them: where the clock was set back, whether all ticks from that time on have to lie behind the key
                tick; else the key tick is the nearest one.
        """
        index = self.file.index()
        if not self.clock_was_set:
            return next((entry for entry in reversed(index) if entry.wall_ns < wall_ns), 0)
        if all_of_them:
            within = next((at for at, (entry, following) in enumerate(pairwise(index))
                           if entry.wall_ns + following.started_ns - entry.started_ns >= wall_ns), len(index) - 1)
            at = within if within >= 0 and index[within].wall_ns < wall_ns else within - 1
            return index[at] if at >= 0 else 0
        earlier = [entry for entry in index if entry.wall_ns < wall_ns]
        return max(earlier, key=lambda entry: (entry.wall_ns, entry.key)) if earlier else 0

    def behind(self, wall_ns: int) -> int:
        """Return an offset behind which no tick is of a time or earlier."""
        index = self.file.index()
        last = next((at for at in reversed(range(len(index))) if index[at].wall_ns <= wall_ns), -1)
        if self.clock_was_set:  # ticks between the last key tick and the next one may be earlier again
            return index[last + 1].key if last + 1 < len(index) else sys.maxsize
        return index[last].key if last >= 0 else 0

    def noted(self, kind: type[T]) -> Iterator[T]:
        """Return gaps, events or kept files, without reading anything else."""
        index = self.file.index()
        reader = StreamReader(self._layouts)
        for record in self._listed(offset for entry in index for offset in entry.noted):
            if record.kind == _NOTED[kind]:
                yield from (item for item in reader.items_of(record) if isinstance(item, kind))

    def definitions(self) -> Iterator[Definition]:
        """Return the definitions in the file's layouts that were counted beside the catalog."""
        known = b""
        for record in self._listed(entry.layout for entry in self.file.index()):
            if record.kind == RecordKind.LAYOUT and record.payload != known:
                known = record.payload
                with contextlib.suppress(RecordingError), damage_of("it"):  # `items` reports the damage
                    _header, _number, layout = self._layouts.read(record.payload)
                    yield from definitions_of(layout.capabilities)

    def _listed(self, offsets: Iterable[int]) -> Iterator[Record]:
        """Yield the records before the first key tick of the index, those at offsets, and those behind the last."""
        index = self.file.index()
        first, last = (index[0].key, index[-1].key) if index else (0, 0)
        within = self.file.records_at(sorted({offset for offset in offsets if first <= offset < last}))
        records = chain(self.file.records(0, first) if index else (), within, self.file.records(last))
        yield from (record for record in records if isinstance(record, Record))

    def _layout(self, entry: KeyEntry) -> Record | None:
        """Return a key tick's layout: the copy in its index, the copy beside it, or an earlier intact layout.

        A layout of another session does no harm, because every tick names its layout.
        """
        record = self.file.record_at(entry.layout)
        if record is not None and record.kind == RecordKind.LAYOUT:
            return record
        near = [record for record in self.file.records(max(0, entry.layout - _NEAR), entry.key)
                if isinstance(record, Record)]
        others = sorted({other.layout for other in self.file.index() if other.layout < entry.layout}, reverse=True)
        known = chain(reversed(near), filter(None, map(self.file.record_at, others)))
        return next((record for record in known if record.kind == RecordKind.LAYOUT), None)

    def _noted(self, item: Item) -> Item:
        if isinstance(item, Missing):
            if len(self.missing) == _MOST_MISSING and (item.offset, item.text) not in self.missing:
                item = Missing(0, 0, 0, f"more than {_MOST_MISSING:,} parts, of which only the first are listed")
            if len(self.missing) <= _MOST_MISSING:
                self.missing.setdefault((item.offset, item.text), item)
        return item


def _was_set_back(earlier: tuple[int, int], later: tuple[int, int]) -> bool:
    """Tell whether the wall clock was set back between two ticks, each given by its wall and monotonic clock."""
    wall, started = later[0] - earlier[0], later[1] - earlier[1]
    return wall < 0 or wall < started * (1.0 - SLEW) - STEP_SECONDS * 1e9
