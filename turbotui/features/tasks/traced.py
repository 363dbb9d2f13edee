"""Threads by CPU and regions as slices of a trace: of a recording's intervals, or of a timeline's bins.

A recording has how long each thread ran on each CPU in an interval, and not when: the slices of an interval lie one
behind the other from its start, the longest first. A timeline has it by bins, of 10 us or more.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from turbotui import __version__
from turbotui.errors import TurbotuiError
from turbotui.features.tasks.recorded_tasks import tasks_of
from turbotui.features.tasks.region_totals import RegionTotals, regions_of
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.text import TaskInterval
from turbotui.features.tasks.timeline import NO_SLICE, Timeline
from turbotui.machine.host import Host, HostKind
from turbotui.machine.tasks.sets import Mode
from turbotui.quantities.by_key import lists_by_key, sums_by_key
from turbotui.quantities.marks import ESTIMATED, PARTIAL
from turbotui.quantities.sentences import several
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope, timestamp
from turbotui.tables.trace_events import TracedRows, TraceEvents, TraceSlice

if TYPE_CHECKING:
    from turbotui.recording.journal import Journal  # live tasks read none

THREADS: Final = "threads by CPU"
REGIONS: Final = "regions"
_OTHERS: Final = "(other threads)"
_ORDER: Final = ("threads by CPU: how long each ran on the CPU in an interval, the longest first; when it ran within "
                 "the interval is not recorded")
_SHARES: Final = ("a thread that ran on several CPUs has its CPU time divided among them by what its energy is shared "
                  "by (cycles, or time), and is marked as estimated")
_REGION_ORDER: Final = "regions: how long each was open in an interval, from its start"


_ALONE: Final = "one thread alone"
_MOST_OF_INTERVAL: Final = 1_000
"""Slices of threads of an interval."""


_CLOCKS: Final = {HostKind.REAL: "CLOCK_MONOTONIC_RAW, by which perf dates its records"}


class _Share(NamedTuple):
    """What a thread ran on a CPU in an interval."""

    ns: float
    cpu: int
    row: TaskRow
    estimated: bool


class _RecordedTrace:
    """Slices of the threads and regions of a recording, interval by interval."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._joined = 0
        self._left_out = 0
        self._nowhere_ns = 0.0
        self._notes: dict[str, None] = {}
        self._regions: RegionTotals | None = None

    def slices(self, frame: Frame, most: int) -> Iterator[TraceSlice]:
        """The slices of an interval."""
        if frame.older is None:
            return
        start_ns, end_ns = frame.older.wall_ns, frame.newer.wall_ns
        yield from self._threads(frame, start_ns, end_ns, most)
        if (totals := regions_of(self._journal.rows, frame)) is not None:
            yield from self._opened(totals, start_ns, end_ns)

    def _threads(self, frame: Frame, start_ns: int, end_ns: int, most: int) -> Iterator[TraceSlice]:
        record = tasks_of(self._journal.rows, frame, self._journal.machine.model, Grouping.THREAD)
        if record is None:
            return
        self._notes |= dict.fromkeys((_ORDER, _SHARES))
        self._left_out += sum(record.left_out[Grouping.THREAD])
        shares = [share for report in record.reports[Grouping.THREAD] for row in report.rows
                  for share in self._shares(row)]
        by_cpu = lists_by_key((share.cpu, share) for share in heapq.nlargest(most, shares, key=lambda share: share.ns))
        ran = sums_by_key((share.cpu, share.ns) for share in shares)
        self._joined += max(0, len(shares) - most)
        for cpu, whole in sorted(ran.items()):
            # a thread's clock and the ticks are read one after the other
            scale = min(1.0, (end_ns - start_ns) / whole)
            at, track = 0.0, f"cpu {cpu}"
            for share in by_cpu.get(cpu, ()):
                ends = at + share.ns * scale
                yield TraceSlice(THREADS, track, share.row.name, start_ns + round(at), start_ns + round(ends),
                                 _args(share))
                at = ends
            if whole * scale > at + 1:
                yield TraceSlice(THREADS, track, _OTHERS, start_ns + round(at), start_ns + round(whole * scale))

    def _shares(self, row: TaskRow) -> Iterator[_Share]:
        """The CPU time of a thread by CPU, as far as the CPU is known."""
        loads = {cpu: load for cpu, load in row.loads.items() if load > 0}
        whole = sum(loads.values())
        if row.cpu_ns <= 0:
            return
        if whole:
            for cpu, load in loads.items():
                yield _Share(row.cpu_ns * load / whole, cpu, row, len(loads) > 1)
        elif row.last_cpu >= 0:
            yield _Share(row.cpu_ns, row.last_cpu, row, len(row.cpus) > 1)
        else:
            self._nowhere_ns += row.cpu_ns

    def _opened(self, totals: RegionTotals, start_ns: int, end_ns: int) -> Iterator[TraceSlice]:
        """The time for which regions were open in an interval: totals are those since the first mark."""
        before = self._regions
        if before is None or totals.seconds < before.seconds:
            # an interval that begins with the first mark, or later, has all of the totals
            before = RegionTotals() if totals.seconds * 1e9 <= end_ns - start_ns else totals
        self._regions = totals
        known = {region.name: region for region in before.regions}
        for region in totals.regions:
            earlier = known.get(region.name)
            seconds = region.seconds - (0.0 if earlier is None else earlier.seconds)
            if seconds > 0:
                self._notes[_REGION_ORDER] = None
                entered = region.entries - (0 if earlier is None else earlier.entries)
                marks = {"marks": ESTIMATED.name} if region.apportioned else {}
                yield TraceSlice(REGIONS, region.name, region.name, start_ns,
                                 min(end_ns, start_ns + round(seconds * 1e9)),
                                 {"entered": entered, **marks})

    def notes(self) -> Iterator[str]:
        """What a reader of the slices has to know."""
        yield from self._notes
        if self._left_out:
            yield f"not recorded: {several(self._left_out, 'row')} of threads that ran least"
        if self._nowhere_ns:
            yield f"{self._nowhere_ns / 1e9:.3f} s of CPU time of threads whose CPU was not recorded are on no track"

    def thinned(self) -> Iterator[str]:
        """What was joined to have room."""
        if self._joined:
            yield f"{self._joined:,} slices of threads that ran least are joined to {_OTHERS}"


class LiveTrace:
    """The trace of a whole watch: where threads ran, what ran alone, and regions.

    Args:
        host: what was watched.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._events = TraceEvents()
        self._notes: dict[str, None] = {}
        self._began_ns = 0
        self._label = ""

    def begin(self, timelines: Iterable[Timeline]) -> None:
        """Begin with the first thread that ran in any of the applications, whose timelines these are."""
        self._began_ns = min((line.start // line.bin_ns * line.bin_ns for line in timelines if line.end), default=0)
        self._events.begin(self._began_ns)

    def add(self, shown: TaskInterval) -> None:
        """Add an application at the end of the watch."""
        timeline, name = shown.aggregate.timeline, shown.report.application.name
        if shown.aggregate.choice.mode is Mode.PROC:
            self._notes[f"{name or 'tasks'}: when threads ran is known by perf alone"] = None
            return
        if not timeline.end:
            self._notes[f"threads by CPU{f' of {name}' if name else ''}: {NO_SLICE}"] = None
        elif shown.envelope.label != self._label:
            self._label = shown.envelope.label
            self._events.instant(self._label, self._began_ns, "trace")
        of = f" of {name}" if name else ""
        rows = {serial: row for row in shown.report.rows for serial in row.serials}
        for piece in timeline.slices():
            row = rows.get(piece.thread)
            self._events.slice(TraceSlice(
                f"{THREADS}{of}", f"cpu {piece.cpu}", _OTHERS if row is None else row.name, piece.start, piece.end,
                None if row is None else {"pid": row.pid, "tid": row.tid}))
        self._notes[f"threads by CPU{of}: to {timeline.bin_ns / 1e3:g} us, in which their order is not known"] = None
        for stretch in shown.parallel.slices.longest_stretches() if shown.parallel is not None else ():
            row = rows.get(stretch.thread)
            self._events.slice(TraceSlice(f"{_ALONE}{of}", _ALONE, _OTHERS if row is None else row.name,
                                          stretch.start, stretch.end, {"ran_ms": stretch.ran / 1e6}))
        if shown.parallel is not None and shown.parallel.slices.keep_stretches:
            self._notes[f"{_ALONE}{of}: the longest stretches in which no other ran; idle time lies in them"] = None
        for region, start, end in shown.regions.spans() if shown.regions is not None else ():
            self._events.slice(TraceSlice(f"{REGIONS}{of}", region, region, start, end))
        self._notes |= dict.fromkeys(shown.envelope.notes)

    def lines(self) -> Iterator[str]:
        """The lines of the trace."""
        thinned = tuple(self._events.left_out_words())
        for words in thinned:
            print(f"turbotui: trace: {words}", file=sys.stderr)
        return self._events.finish({
            "turbotui": __version__, "machine": self._host.name, "kind": self._host.kind.value,
            "clock": f"{_CLOCKS.get(self._host.kind, 'that of the records')}; ts 0 is `began_ns`",
            "began_ns": str(self._began_ns), "written": timestamp(time.time_ns()), "thinned": list(thinned),
            "notes": list(self._notes)})


def recorded_lines(journal: Journal, frames: Iterable[Frame]) -> Iterator[str]:
    """The lines of a trace of the tasks and regions of a recording alone.

    Raises:
        TurbotuiError: none were recorded in that time.
    """
    recorded, events = _RecordedTrace(journal), TraceEvents()
    began_ns = end_ns = 0
    for frame in frames:
        if frame.older is not None and not began_ns:
            began_ns = frame.older.wall_ns
            events.begin(began_ns)
            host = journal.machine.host
            events.instant(Envelope(host.name, host.kind, began_ns).label, began_ns, "trace")
        end_ns = frame.newer.wall_ns
        for drawn in recorded.slices(frame, _MOST_OF_INTERVAL):
            events.slice(drawn)
        if any(recorded.notes()):
            yield from events.take()
    if not any(recorded.notes()):
        raise TurbotuiError(f"{journal.paths[0]} holds no tasks in that time: turbotui record --tables tasks records "
                            "them")
    thinned = (*events.left_out_words(), *recorded.thinned())
    for words in thinned:
        print(f"turbotui: trace: {words}", file=sys.stderr)
    yield from events.finish({
        "turbotui": __version__, "machine": journal.machine.host.name, "kind": HostKind.RECORDED.value,
        "clock": "the wall clock of the recording's ticks; ts 0 is `began`", "began": timestamp(began_ns),
        "began_ns": str(began_ns), "ended": timestamp(end_ns), "thinned": list(thinned),
        "notes": list(recorded.notes())})


def trace_of(journal: Journal) -> TracedRows:
    """What the trace of a recording has of its tasks."""
    recorded = _RecordedTrace(journal)
    return TracedRows(recorded.slices, recorded.notes, recorded.thinned)


def _args(share: _Share) -> Mapping[str, object]:
    row = share.row
    marks = [mark.name for mark, is_marked in ((ESTIMATED, share.estimated or row.guessed), (PARTIAL, row.incomplete))
             if is_marked]
    return {"pid": row.pid, "tid": row.tid, **({"marks": ", ".join(marks)} if marks else {})}
