"""Keeps the last hour in bounded memory, as records of a journal, and makes frames from them.

Every tick is kept while there is room, and beside that one tick in ten seconds for the whole hour. Nothing is thinned
later, so that every tick costs the same. Each of the two has a room of its own from the beginning, as it would have
after an hour: otherwise memory would grow for a quarter of one. Rows that come and go have half of a room at most:
beyond it they are left out before a tick of the CPUs is dropped, of every tick while those of ten seconds still have
them.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import ChainMap, Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.cpu_layout import CpuTableLayout
from turbotui.recording.event_detection import Changes
from turbotui.recording.lanes import SIZE
from turbotui.recording.row_codec import EncodedRows
from turbotui.recording.row_streams import RowStreams
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tick_decoder import LazyColumns, TickDecoder
from turbotui.recording.tiers import FULL, TEN_SECONDS, EncodedTick, SnapshotEncoder, Tier
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.snapshot import Snapshot

MOST_BYTES: Final = 16 << 20
"""Bytes of records and their layouts; with encoders and a decoded minute less than 40 MB at 256 CPUs, 43 signals."""

_EVERY_TICK: Final = 7 / 16
"""The share of every tick, four minutes at 256 CPUs and 43 signals; an hour at ten seconds takes the rest there."""

HOUR: Final = 3600.0

_KEY_EVERY: Final = 15
"""Ticks from one key tick to the next; one tick needs all of them decoded, 0.5 ms each at 256 CPUs."""

_TOGETHER: Final = 5
"""Ticks that are encoded together, since the second finds code and data in the CPU's caches; before, if one is asked
for. On more than `_FEW` CPUs each is encoded at once, so that every tick costs the same."""
_FEW: Final = 64

_MOST_DECODED: Final = 3  # groups: the one shown and its neighbours
_MOST_DECODED_BYTES: Final = 16 << 20  # of them
_DECODED: Final = 4  # times the bytes of its lanes that a tick takes: they, its columns and what is computed of some
_LANE_BYTES: Final = 64  # of a decoded lane of rows: the word, and an integer in a list if its column was asked for
_HELD_BYTES: Final = 100  # of a column with the last values of late CPUs, by name, beside its words
_MOST_COMPUTED: Final = 3
"""Frames of the shown group that keep what was computed of them, six times a tick at 224 CPUs; of others one."""
_AHEAD: Final = 2
"""Ticks of the previous group decoded at each step, so that stepping back finds it ready: at 256 CPUs the longest step
takes 1.5 ms, and 8.5 where the whole group is decoded at its end; the mean is the same."""
_FORGET_AFTER: Final = 30.0  # seconds without a look at the past, whose decoded groups take tens of MB at 224 CPUs
_TICK_BYTES: Final = 200  # bytes of the objects around a record
_MOST_EVENTS: Final = 4096
_NOT_KEPT: Final = Unavailable(Reason.NOT_READ, "the past has no room for these rows at every reading",
                               "see one of the moments ten seconds apart, which have them")


@dataclass(slots=True, eq=False)
class _Group:
    """A key tick and the ticks behind it, which need it."""

    layout: CpuTableLayout
    walls: list[int] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    rows: list[tuple[EncodedRows, ...]] = field(default_factory=list)
    size: int = 0
    rows_size: int = 0  # the part of `size` that rows take
    cells: int = 0  # lanes of all its rows
    left_out: frozenset[KindId] = frozenset()  # kinds whose rows had no room

    @property
    def decoded_size(self) -> int:
        """Bytes of its ticks and their rows if they are decoded."""
        return len(self.payloads) * _DECODED * self.layout.lane_layout.size + _LANE_BYTES * self.cells

    def add(self, encoded: EncodedTick) -> int:
        """Add a tick, and return its size in bytes."""
        self.walls.append(encoded.snapshot.wall_ns)
        self.started.append(encoded.snapshot.started_ns)
        self.payloads.append(encoded.payload)
        self.rows.append(encoded.rows)
        rows_size = sum(len(payload) + _TICK_BYTES for rows in encoded.rows for _kind, payload in rows.records())
        size = _TICK_BYTES + len(encoded.payload) + rows_size
        self.size += size
        self.rows_size += rows_size
        self.cells += sum(rows.cells for rows in encoded.rows)
        return size

    def leave_rows_out(self) -> int:
        """Drop the rows of all ticks, and return their size in bytes."""
        self.left_out = frozenset(row.kind for rows in self.rows for row in rows)
        self.rows = [()] * len(self.rows)
        freed, self.rows_size, self.cells = self.rows_size, 0, 0
        self.size -= freed
        return freed


class _Track:
    def __init__(self, tier: Tier, most: int) -> None:
        self.tier = tier
        self._most = most
        self._layouts: Counter[CpuTableLayout] = Counter()  # compared by identity
        self.encoder = SnapshotEncoder(tier, _KEY_EVERY, self._layouts)
        self.groups: deque[_Group] = deque()
        self._records = 0
        self._rows_size = 0  # the part of them that are rows, in bytes

    @property
    def size(self) -> int:
        """The bytes of records and layouts; a layout that several groups share counts once."""
        return self._records + sum(layout.size for layout in self._layouts)

    def make_room(self, begin_ns: int) -> bool:
        """Drop what began before a time, or has no room, but for the last group; tell whether rows were left out."""
        while len(self.groups) > 1 and self.groups[0].started[-1] < begin_ns:
            self._drop_first()
        left_out = False
        for group in list(self.groups)[:-1]:
            if self._rows_size <= self._most // 2:
                break
            if group.rows_size:
                freed = group.leave_rows_out()
                self._records -= freed
                self._rows_size -= freed
                left_out = True
        while len(self.groups) > 1 and self.size > self._most:
            self._drop_first()
        return left_out

    def take(self, frame: Frame) -> None:
        if (encoded := self.encoder.encode(frame.newer, frame.capabilities)) is None:
            return
        if encoded.key or not self.groups:
            self.groups.append(_Group(encoded.layout))
            self._layouts[encoded.layout] += 1
        before = self.groups[-1].rows_size
        self._records += self.groups[-1].add(encoded)
        self._rows_size += self.groups[-1].rows_size - before

    def _drop_first(self) -> None:
        group = self.groups.popleft()
        self._records -= group.size
        self._rows_size -= group.rows_size
        self._layouts[group.layout] -= 1
        if not self._layouts[group.layout]:
            del self._layouts[group.layout]

    def walls(self) -> Iterator[int]:
        for group in self.groups:
            yield from group.walls


class PastRing:
    """The newest frames, in bounded memory; one thread may call `take` and another the other methods.

    Args:
        most_bytes: the most bytes of all records and layouts together.
        seconds: the age at which frames are dropped.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, seconds: float = HOUR) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._waiting: list[Frame] = []
        every_tick = round(most_bytes * _EVERY_TICK)
        self._full, self._coarse = _Track(FULL, every_tick), _Track(TEN_SECONDS, most_bytes - every_tick)
        self._changes = Changes()
        self._events: deque[Event | Gap] = deque(maxlen=_MOST_EVENTS)
        self._times: tuple[int, ...] | None = None
        self._split = 0
        self._decoded: list[_DecodedGroup] = []  # newest last
        self._asked_ns: int | None = None  # start of the first tick since a frame was asked for

    def take(self, frame: Frame) -> None:
        """Keep the newer snapshot of a frame; frames come in their order."""
        with self._lock:
            self._waiting.append(frame)
            wall = frame.newer.wall_ns
            self._times = (*self._times, wall) if self._times and wall > self._times[-1] else None
            if len(self._waiting) >= _TOGETHER or len(frame.topology.cpus) > _FEW:
                self._pack()

    def _pack(self) -> None:
        """Encode the frames that wait."""
        while self._waiting:
            self._encode(self._waiting.pop(0))

    def _encode(self, frame: Frame) -> None:
        self._events += self._changes.take(frame.newer)
        self._full.take(frame)
        self._coarse.take(frame)
        tracks = self._full, self._coarse
        oldest = [next(iter(track.groups), None) for track in tracks]
        begin = frame.newer.started_ns - round(self._seconds * 1e9)
        for track in tracks:
            if track.make_room(begin):
                self._decoded.clear()
        if oldest != [next(iter(track.groups), None) for track in tracks]:
            self._times = None
        if self._asked_ns is None:
            self._asked_ns = frame.newer.started_ns
        elif frame.newer.started_ns > self._asked_ns + round(_FORGET_AFTER * 1e9):
            self._decoded = []

    @property
    def size(self) -> int:
        """The bytes of all kept records and their layouts."""
        with self._lock:
            self._pack()
            return self._full.size + self._coarse.size

    @property
    def times(self) -> Sequence[int]:
        """Return the ends of all intervals that can be shown, in ns since 1970, oldest first."""
        with self._lock:
            return self._list_times()

    @property
    def events(self) -> Sequence[Event | Gap]:
        """Return the events of the kept time, oldest first."""
        with self._lock:
            self._pack()
            begin = next(self._coarse.walls(), 0)
            return tuple(event for event in self._events if event.wall_ns >= begin)

    def resolution(self, time_ns: int) -> float:
        """Return the seconds between the kept ticks around a time; 0 if every tick was kept."""
        with self._lock:
            self._list_times()
            return 0.0 if time_ns >= self._split else self._coarse.tier.seconds

    def frame(self, time_ns: int) -> Frame | None:
        """Return the newest frame at a time; None before the first kept interval."""
        with self._lock:
            self._pack()
            self._asked_ns = None
            times = self._list_times()
            at = bisect_right(times, time_ns) - 1
            if at < 0:
                return None
            if times[at] < self._split:
                return self._frame(self._coarse, times[at])
            frame = self._frame(self._full, times[at])
            left_out = frame is not None and _NOT_KEPT in frame.newer.no_rows.values()
            coarse = self._frame(self._coarse, times[at]) if left_out else None
            return frame if frame is None or coarse is None else frame.with_rows_of(coarse)

    def frames(self) -> Iterator[Frame]:
        """Yield every frame that can be shown, oldest first."""
        for time_ns in self.times:
            if (frame := self.frame(time_ns)) is not None:
                yield frame

    def _list_times(self) -> tuple[int, ...]:
        """Return the tier's moments, then all ticks since every tick is kept; the first of each has no interval."""
        if self._times is None:
            self._pack()
            full, coarse = list(self._full.walls()), list(self._coarse.walls())
            lost = bool(coarse and full and coarse[0] < full[0])  # else the very first reading is still kept
            fine = full[1:] if lost else full
            self._split = fine[0] if fine else (full[-1] + 1 if full else 0)
            older = [wall for wall in coarse[1:] if wall < self._split] if lost else []
            self._times = tuple(sorted((*older, *fine)))  # sorted, because the clock may have been set back
        return self._times

    def _frame(self, track: _Track, wall_ns: int) -> Frame | None:
        before: _Group | None = None
        for group in track.groups:
            if wall_ns in group.walls:
                break
            before = group
        else:
            return None
        at = group.walls.index(wall_ns)
        frame = self._decoded_of(group).frame(at)
        for other in self._decoded[:-1]:
            other.let_go(1)
        if before is None or (at and before.decoded_size + group.decoded_size > _MOST_DECODED_BYTES):
            return frame
        earlier = self._decoded_of(before)
        if at:
            earlier.decode(_AHEAD)
            return frame
        maker, last = FrameMaker(), earlier.frame(len(before.payloads) - 1)
        maker.frame(last.newer, last.capabilities)
        return maker.frame(frame.newer, frame.capabilities)

    def _decoded_of(self, group: _Group) -> _DecodedGroup:
        """Return a group's frames, which stay decoded for the next step."""
        known = next((decoded for decoded in self._decoded if decoded.group is group), None) or _DecodedGroup(group)
        others = [decoded for decoded in self._decoded if decoded is not known][1 - _MOST_DECODED:]
        while others and sum(decoded.size for decoded in (*others, known)) > _MOST_DECODED_BYTES:
            del others[0]
        self._decoded = [*others, known]
        return known


class _DecodedGroup:
    """The decoded frames of a group; the first has no interval. Of a group beyond the bound the last ones are kept."""

    def __init__(self, group: _Group) -> None:
        self.group = group
        self._begin()

    def _begin(self) -> None:
        self._decoder, self._maker = TickDecoder(self.group.layout.lane_layout), FrameMaker()
        self._rows = RowStreams()
        self._frames: deque[Frame] = deque()
        self._held: deque[int] = deque()  # bytes that late CPUs cost each of them
        self._done = 0  # ticks decoded, of which the last ones are kept
        self._asked: list[int] = []  # ticks of frames of which something may be computed, the newest last

    @property
    def size(self) -> int:
        """Bytes of the group if all of it is decoded, and of what is held for late CPUs by now."""
        return self.group.decoded_size + sum(self._held)

    def frame(self, at: int) -> Frame:
        if at < self._done - len(self._frames):
            self._begin()
        self.decode(at + 1 - self._done)
        self._asked = [*(other for other in self._asked if other != at), at]
        self.let_go(_MOST_COMPUTED)
        return self._frames[at - self._done]

    def let_go(self, most: int) -> None:
        """Let go what was computed of all frames but those that were asked for last."""
        while len(self._asked) > most:
            self._let_go(self._asked.pop(0))

    def _let_go(self, at: int) -> None:
        """Let go what was computed of a frame, and the columns that were decoded for it."""
        place = at - self._done
        if -place > len(self._frames):
            return
        frame = self._frames[place]
        used = [end for other in self._asked if self._done - other <= len(self._frames)
                for end in (self._frames[other - self._done].older, self._frames[other - self._done].newer)]
        for end in (frame.older, frame.newer):
            if end is not None and not any(end is other for other in used):
                _forget_columns(end)
        self._frames[place] = frame.anew()

    def decode(self, count: int) -> None:
        group, layout = self.group, self.group.layout
        for payload in group.payloads[self._done:self._done + max(0, count)]:
            tick = self._decoder.decode(payload, key=not self._done)
            self._rows.take_encoded(group.rows[self._done])
            snapshot = layout.snapshot(tick, self._rows)
            tick.extras = {}  # the snapshot has them: thousands of names where many counters began anew
            if group.left_out:
                snapshot = replace(snapshot, no_rows=dict.fromkeys(group.left_out, _NOT_KEPT))
            frame = self._maker.frame(snapshot, layout.capabilities)
            self._frames.append(frame)
            self._held.append(_held_bytes(self._maker))
            if snapshot.late:  # columns of three ticks were decoded for it
                for end in (snapshot, *(known.older for known in list(self._frames)[-2:])):
                    if end is not None:
                        _forget_columns(end)
            self._done += 1
            while len(self._frames) > 1 and sum(self._held) + (
                    len(self._frames) * group.decoded_size / len(group.payloads)) > _MOST_DECODED_BYTES:
                self._frames.popleft()
                self._held.popleft()


def _held_bytes(maker: FrameMaker) -> int:
    """Bytes of the last values that stand in for those of late CPUs at the end of an interval, and at its start."""
    ends = () if maker.last is None else (maker.last.values, maker.last.stamps)
    return 2 * sum(_HELD_BYTES + SIZE * len(column) for columns in ends if isinstance(columns, ChainMap)
                   for column in columns.maps[0].values())


def _forget_columns(snapshot: Snapshot) -> None:
    """Let go of a snapshot's decoded columns, which are decoded again if they are needed."""
    for columns in (snapshot.values, snapshot.stamps, snapshot.wraps,
                    *(columns for tick in snapshot.rows.values() for columns in (tick.values, tick.stamps))):
        for part in columns.maps if isinstance(columns, ChainMap) else (columns,):  # with the last values of late CPUs
            if isinstance(part, LazyColumns):
                part.forget()
