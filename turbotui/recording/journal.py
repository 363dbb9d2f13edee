"""Reads recordings: frames of any time, events, gaps, and missing parts; `turbotui.recording.read` opens one.

A recording of several resolutions is several files beside each other; for each time the finest available is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Final, Self, TypeVar

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.definition import Definition
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.recording.framing import Missing, RecordingError
from turbotui.recording.journal_file import KeyEntry
from turbotui.recording.machine_facts import Header
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.recorded_source import recorded_catalog
from turbotui.recording.recording_part import CoveredTime, RecordingPart
from turbotui.recording.rows import RecordedRows
from turbotui.recording.stream_reader import KnownLayouts, RecordedTick
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tiers import Thinning
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.snapshot import Snapshot

T = TypeVar("T")
_MOST_DEFINITIONS: Final = 1_000


class Journal:
    """A recording opened for reading, which may still grow.

    Attributes:
        paths: the files of the recording.

    Raises:
        RecordingError: none of the files can be read, or they have no reading; a single file that cannot be read, or
            that belongs to another recording, is left out and is one of `missing`.
    """

    def __init__(self, paths: Sequence[str], layouts: KnownLayouts | None = None,
                 grow: Callable[[], bool] | None = None) -> None:
        self.paths = tuple(paths)
        self._left_out: list[Missing] = []
        layouts = KnownLayouts() if layouts is None else layouts
        with contextlib.ExitStack() as opened:
            self._parts = self._of_one_recording(self._readable(layouts, opened, grow))
            first = next((tick for part in self._parts if (tick := part.first()) is not None), None)
            if first is None:
                why = next((f": {damage.text}" for part in self._parts for damage in part.missing.values()), "")
                raise RecordingError(f"{paths[0]} holds no reading yet, or none that can be read{why}")
            self._first = first
            opened.pop_all()

    def _readable(self, layouts: KnownLayouts, opened: contextlib.ExitStack,
                  grow: Callable[[], bool] | None) -> list[RecordingPart]:
        """Open every file that can be read, and note the others. Raises RecordingError if there is none."""
        parts: list[RecordingPart] = []
        errors: list[RecordingError] = []
        for path in self.paths:
            try:
                part = RecordingPart(path, layouts, grow)
            except RecordingError as error:
                errors.append(error)
                continue
            opened.callback(part.file.close)
            parts.append(part)
        if not parts:
            raise errors[0]
        self._left_out += (Missing(0, 0, 0, f"{error}; it is left out") for error in errors)
        return parts

    def _of_one_recording(self, parts: Sequence[RecordingPart]) -> list[RecordingPart]:
        """Parts of the recording that the first part with a header belongs to; the others are noted.

        A name shows only which recording a file lies beside: what is read is what FILE belongs to. Files of turbotui
        0.4 do not name their recording: they belong to it if they are of the same machine.
        """
        headers = [part.header() for part in parts]
        first = next((header for header in headers if header is not None), None)
        kept: list[RecordingPart] = []
        others: dict[str, list[tuple[str, Header]]] = {}
        for part, header in zip(parts, headers, strict=True):
            if (header is None or first is None or header.identity == first.identity
                    or (not header.recording and header.machine_words() == first.machine_words())):
                kept.append(part)
            else:
                others.setdefault(header.identity, []).append((part.file.path, header))
        alone = f"; where {kept[0].file.path} is moved away, they are read" if len(kept) == 1 else ""
        self._left_out += (Missing(0, 0, 0, f"{_another_recording(files)}{alone}") for files in others.values())
        return kept

    def close(self) -> None:
        """Close the journal's files."""
        for part in self._parts:
            part.file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def header(self) -> Header:
        """Header of the journal's first session."""
        return self._first.header

    @property
    def ended(self) -> bool:
        """Whether the journal's end is known: always, except for one that comes through a pipe."""
        return True

    def header_at(self, wall_ns: int) -> Header:
        """Return the header of the session at a wall clock; before the first session, the first one's."""
        header = self._first.header
        for tick in self._ticks(wall_ns, wall_ns, all_of_them=False):
            header = tick.header
        return header

    @property
    def machine(self) -> Machine:
        """The recorded machine as it was at the first tick."""
        return self._first.header.machine(self._first.snapshot.topology, self.kept)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the newest tick, at the end of the recording."""
        return self._newest().capabilities

    @property
    def catalog(self) -> Catalog:
        """The columns that this version computes from the newest tick's signals, and those that were added then."""
        return recorded_catalog(self.capabilities)

    @property
    def kinds(self) -> Mapping[KindId, str]:
        """The titles of the kinds of rows that were met so far, by their ids."""
        return {kind: title for part in self._parts for kind, title in part.kinds.items()}

    def definitions(self) -> tuple[Definition, ...]:
        """The first thousand definitions that were counted beside the catalog, each once, in the order of the files."""
        definitions: list[Definition] = []
        for definition in chain.from_iterable(part.definitions() for part in self._parts):
            if len(definitions) >= _MOST_DEFINITIONS:
                break
            if definition not in definitions:
                definitions.append(definition)
        return tuple(definitions)

    @property
    def signals(self) -> frozenset[SignalId]:
        """The signals that were read at the first or the newest tick."""
        return frozenset(self._first.snapshot.values) | frozenset(self._newest().snapshot.values)

    @property
    def kept(self) -> KeptAnswers:
        """The files of the machine that the journal kept."""
        return next(iter(self._noted(KeptAnswers)), KeptAnswers())

    @property
    def first_ns(self) -> int:
        """Wall clock of the first tick, in ns since 1970."""
        return min((covered.first_ns for covered in self.covered()), default=self._first.snapshot.wall_ns)

    @property
    def last_ns(self) -> int:
        """Wall clock of the last tick so far, in ns since 1970."""
        return max((covered.last_ns for covered in self.covered()), default=self._first.snapshot.wall_ns)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """The damage found so far, with the file's name for a part; `check` reads everything."""
        return (*self._left_out, *(
            damage if part.file.path == self.paths[0] else replace(damage, text=f"{part.file.path}: {damage.text}")
            for part in self._parts for damage in part.missing.values()))

    def events(self) -> tuple[Event, ...]:
        """All events, in order of time."""
        return tuple(sorted(dict.fromkeys(self._noted(Event)), key=lambda event: event.wall_ns))

    def gaps(self) -> tuple[Gap, ...]:
        """All times without ticks and jumps of the clock, in order of time."""
        return tuple(sorted(dict.fromkeys(self._noted(Gap)), key=lambda gap: gap.wall_ns))

    def check(self) -> tuple[Missing, ...]:
        """Read everything, and return the parts that cannot be read."""
        for part in self._parts:
            for _item in part.items(0):
                pass
        return self.missing

    def covered(self) -> tuple[CoveredTime, ...]:
        """Return the times covered, each with its resolution, in order of time."""
        times: list[CoveredTime] = []
        for part in sorted(self._parts, key=lambda part: part.seconds):
            if (whole := part.span()) is None:
                continue
            spans = [whole]
            for known in times:
                if known.seconds == part.seconds and (part.clock_was_set or known.part.clock_was_set):
                    continue  # other ticks of the same time
                spans = [rest for span in spans for rest in _without(span, (known.first_ns, known.last_ns))]
            least = round(part.seconds * 1e9)  # this tier has no tick between two files of a finer tier
            times += [CoveredTime(part, begin, end, part.seconds, (begin, end) == whole) for begin, end in spans
                      if end - begin >= least or (begin, end) == whole]
        return tuple(sorted(times, key=lambda time: time.first_ns))

    def frames(self, start_ns: int | None = None, end_ns: int | None = None, every: float = 0.0, *,
               within: bool = False) -> Iterator[Frame]:
        """Yield frames in order of time, each of two consecutive ticks; the first frame of a session has no interval.

        Args:
            start_ns: the first one ends at this wall clock or later; None: from the beginning.
            end_ns: the last one ends at this wall clock or earlier; None: to the end.
            every: seconds of an interval; 0: as they were recorded. What is left at the end, and before a gap, is a
                shorter interval.
            within: whether the first interval may not begin before `start_ns` either.
        """
        return (frame for frame in self.decoding(start_ns, end_ns, every, within=within) if frame is not None)

    def decoding(self, start_ns: int | None = None, end_ns: int | None = None, every: float = 0.0, *,
                 within: bool = False) -> Iterator[Frame | None]:
        """As `frames`, with None for each tick that is decoded for those behind it only."""
        maker, thinning = FrameMaker(), Thinning(every)
        earlier = None if start_ns is None else start_ns - (0 if within else round(every * 1e9))
        newest: RecordedTick | None = None

        def made(snapshot: Snapshot | None, tick: RecordedTick | None) -> Frame | None:
            if snapshot is None or tick is None:
                return None
            frame = maker.frame(snapshot, tick.capabilities)
            return frame if start_ns is None or snapshot.wall_ns >= start_ns else None

        for tick, follows in _following(self._ticks(earlier, end_ns)):
            if within and start_ns is not None and tick.snapshot.wall_ns < start_ns:
                yield None
                continue
            if not follows:
                if (rest := made(thinning.rest(), newest)) is not None:
                    yield rest
                maker, thinning = FrameMaker(), Thinning(every)
            newest = tick
            yield made(thinning.take(tick.snapshot), tick)
        if (rest := made(thinning.rest(), newest)) is not None:
            yield rest

    def frame_at(self, wall_ns: int) -> Frame | None:
        """Return the newest frame at a wall clock; None before the first tick."""
        frame = self._last_frame(wall_ns, wall_ns)
        if frame is not None and frame.older is None:  # a key tick, whose previous tick lies in the minute before
            frame = self._last_frame(frame.newer.wall_ns, wall_ns)
        return frame

    def _last_frame(self, start_ns: int, end_ns: int) -> Frame | None:
        maker, newest = FrameMaker(), None
        for tick, follows in _following(self._ticks(start_ns, end_ns, all_of_them=False)):
            if not follows:
                maker = FrameMaker()
            frame = maker.frame(tick.snapshot, tick.capabilities)
            if newest is None or frame.newer.wall_ns >= newest.newer.wall_ns:  # else the clock was set back
                newest = frame
        return newest

    def clocks(self) -> Sequence[int]:
        """Return the wall clock of every recorded tick, in ns since 1970, ascending."""
        clocks: set[int] = set()
        for covered in self.covered():
            clocks.update(clock for clock in covered.part.clocks() if covered.first_ns <= clock <= covered.last_ns)
        return sorted(clocks)

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Iterator[RecordedRows]:
        """Yield the rows of another table than the CPUs', for the intervals that ended after start and not after end.

        Args:
            stream: the table's stream.
            start_ns: wall clock, in ns since 1970.
            end_ns: likewise.
        """
        for covered in self.covered():
            if covered.first_ns <= end_ns and covered.last_ns > start_ns:
                yield from covered.part.rows(stream, max(start_ns, covered.first_ns - 1), min(end_ns, covered.last_ns))

    @property
    def size(self) -> int:
        """Return the present size of the journal's files in bytes."""
        return sum(part.file.size for part in self._parts)

    def _ticks(self, start_ns: int | None, end_ns: int | None, *, all_of_them: bool = True) -> Iterator[RecordedTick]:
        """Yield ticks up to a time, beginning before the start if there are earlier ticks.

        Args:
            start_ns: wall clock.
            end_ns: likewise.
            all_of_them: whether ticks before the clock was set back are wanted too, where times were passed twice.
        """
        covered = self.covered()
        first = 0
        if start_ns is not None:
            first = max((at for at, span in enumerate(covered) if span.first_ns < start_ns), default=0)
        for number, span in enumerate(covered[first:]):
            if end_ns is not None and span.first_ns > end_ns:
                return
            begin: KeyEntry | int = 0
            if number == 0 and start_ns is not None:
                begin = span.part.before(start_ns, all_of_them=all_of_them)
            elif not span.whole:
                begin = span.part.before(span.first_ns)
            yield from span.ticks(begin, end_ns)

    def _newest(self) -> RecordedTick:
        latest = sorted(self._parts, key=lambda part: (part.span() or (0, 0))[1], reverse=True)
        return next((tick for part in latest if (tick := part.last()) is not None), self._first)

    def _noted(self, kind: type[T]) -> Iterable[T]:
        return (item for part in self._parts for item in part.noted(kind))


def _following(ticks: Iterable[RecordedTick]) -> Iterator[tuple[RecordedTick, bool]]:
    """Ticks, each with whether it follows the one before: in its session, and not before it.

    Files are read in the order of their wall clocks, which is not theirs if the clock was set back between them.
    """
    session, started_ns = "", 0
    for tick in ticks:
        follows = tick.header.session == session and tick.snapshot.started_ns >= started_ns
        session, started_ns = tick.header.session, tick.snapshot.started_ns
        yield tick, follows


def _another_recording(files: Sequence[tuple[str, Header]]) -> str:
    """Say which files beside a recording are of another one, and of which."""
    (path, header), count = files[0], len(files)
    begun = datetime.fromtimestamp(header.wall_ns / 1e9, UTC)
    of = f"another recording, of {header.machine_words()} from {begun:%Y-%m-%dT%H:%M:%SZ} on"
    if count == 1:
        return f"{path} belongs to {of}; it is left out"
    return f"{path} and {count - 1:,} more file{'s' * (count > 2)} belong to {of}; they are left out"


def _without(span: tuple[int, int], known: tuple[int, int]) -> Iterator[tuple[int, int]]:
    if known[1] < span[0] or known[0] > span[1]:
        yield span
        return
    if span[0] < known[0]:
        yield span[0], known[0] - 1
    if span[1] > known[1]:
        yield known[1] + 1, span[1]
