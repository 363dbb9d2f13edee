"""`turbotui tasks --replay`: the tasks of a recording, interval by interval, in every format."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Final

from turbotui.commands.formats import TRACE, marked, print_lines, terminal_room, text_lines
from turbotui.commands.intervals import intervals_of, open_output
from turbotui.commands.recorded import open_replay, recorded_ones, replayed_frames, report_missing
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.tasks.application_totals import multiplexing_sentence
from turbotui.features.tasks.columns import TaskInputs
from turbotui.features.tasks.energy import method, share_out, why_not
from turbotui.features.tasks.recorded_tasks import tasks_of
from turbotui.features.tasks.region_totals import RegionTotals, regions_of
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_regions import TaskRegion
from turbotui.features.tasks.task_table import task_table
from turbotui.features.tasks.text import in_text
from turbotui.features.tasks.traced import recorded_lines
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.quantities.columns import Value
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.journal import Journal
from turbotui.sampling.energy import Energy, energy_of
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope

_WATCHED: Final = ("pid", "cgroup", "container", "app", "command", "event", "pages")
_REFUSED: Final = (*_WATCHED, "all", "interval")
"""Options that say what to watch, and how."""
_RICHER: Final = ("waits", "loads", "nodes")
"""Options that are words of `record --tables`, whose tasks have more columns."""


@dataclass(frozen=True, slots=True)
class ReplayedTasks:
    """The tasks of one application over one interval of a recording."""

    frame: Frame  # of the interval
    journal: Journal  # the recording
    report: Report  # the rows
    by: Grouping  # what a row stands for
    left_out: int  # rows that were not kept
    looks: TaskLooks  # what is known of the tasks beside their counts
    alone: bool  # no other application was watched
    energy: Energy  # what is shared out over rows

    @property
    def no_energy(self) -> Unavailable | None:
        """The reason why energy is not shared out; None if it is."""
        return why_not(self.report, self.energy)

    @property
    def table(self) -> RowTable[TaskInputs]:
        """A row for each thread, process or command."""
        report = self.report
        joules = share_out(report, self.energy, self.frame.topology)
        alone = replace(report, application=replace(report.application, name="")) if self.alone else report
        return task_table(alone, self.by, joules, self.no_energy, self.looks)

    @property
    def envelope(self) -> Envelope:
        """The envelope, with facts on the sampling and on lost samples."""
        report, host = self.report, self.journal.machine.host
        facts: dict[str, Value] = {"application": report.application.name, "sets": report.set_count}
        if report.choice is not None:
            facts |= {"mode": report.choice.mode.name, "sampled": report.choice.when.name}
        facts |= {"lost_since_start": report.lost, "throttled_since_start": report.throttled,
                  "damaged_since_start": report.damaged, "left_out": self.left_out}
        return Envelope(host.name, host.kind, self.frame.newer.wall_ns, report.seconds, facts=facts,
                        notes=tuple(self.notes()))

    def notes(self) -> Iterator[str]:
        """Notes on what the numbers leave out, and how they were made."""
        report = self.report
        if report.unseen is not None:
            yield report.unseen_note()
        if self.left_out:
            yield f"not recorded: {several(self.left_out, 'row')} that ran least"
        if report.lost:
            yield f"{several(report.lost, 'sample')} LOST since watching began, for want of room in the ring"
        if report.throttled:
            yield f"the kernel held samples back {several(report.throttled, 'time')} since watching began"
        if report.missed:
            yield (f"not counted: {several(report.missed, 'thread')} that ended between two looks at /proc, or may not "
                   "be followed")
        if report.sampling:
            yield report.sampling
        if report.numerics_note():
            yield report.numerics_note()
        if self.no_energy is not None:
            yield f"no energy: {self.no_energy.sentence()}"
        else:
            yield f"J and W are an {method(report)}"
        if report.set_count > 1:
            yield multiplexing_sentence(report.set_count)

    def text(self, printed: Collection[str], room: int | None) -> Iterator[str]:
        """Format the table with the notes that were not printed before."""
        report, envelope = self.report, self.envelope
        yield (f"# {report.application.name}: {envelope.time}, interval of {report.seconds:.3f} s"
               + ("" if report.choice is None else f"; mode {report.choice.mode.value}"))
        yield from text_lines(envelope, in_text(self.table), room=room)
        yield f"# {report.sums_sentence()}"
        if any(row.incomplete for row in report.rows):
            yield "# * marks counts that are too low: another profiler held the counters for a part of the time"
        yield from (f"# {note}" for note in self.notes() if note not in printed)


@dataclass(frozen=True, slots=True)
class ReplayedRegions:
    """The regions that a recorded command had marked by the end of an interval."""

    frame: Frame  # of the interval
    journal: Journal  # the recording
    totals: RegionTotals

    @property
    def table(self) -> RowTable[TaskRegion]:
        """A row for each region."""
        return self.totals.table

    @property
    def envelope(self) -> Envelope:
        """The envelope; its seconds are those since the first mark."""
        host = self.journal.machine.host
        return Envelope(host.name, host.kind, self.frame.newer.wall_ns, self.totals.seconds, notes=tuple(self.notes()))

    def notes(self) -> Iterator[str]:
        """Notes on the meaning of the counts, and on faults of marks."""
        yield from self.totals.notes()
        if self.totals.why is not None:
            yield f"not counted: {self.totals.why.sentence()}"

    def text(self, printed: Collection[str], room: int | None) -> Iterator[str]:
        """Format the table with the notes that were not printed before."""
        envelope = self.envelope
        yield f"# marked regions, until {envelope.time}: {self.totals.seconds:.3f} s"
        yield from text_lines(envelope, self.table, room=room)
        yield from (f"# {note}" for note in self.notes() if note not in printed)


def replay(arguments: argparse.Namespace) -> int:
    """Print the tasks of a recording; returns the exit status.

    Raises:
        UsageError: an option that only a machine can follow.
        TurbotuiError: no tasks were recorded in that time.
    """
    seconds = 1.0
    if arguments.host:
        given = next((name for name in (*_WATCHED, "regions") if getattr(arguments, name)), None)
        if given is not None:
            raise UsageError(f"{given} is not for --host, which sends the tasks of all CPUs: run turbotui tasks there")
        seconds, arguments.intervals = intervals_of(arguments)
    elif any(getattr(arguments, name) for name in _REFUSED):
        raise UsageError("--replay shows what was recorded: leave out what is to be watched, -e, -i (--every), "
                         "and --pages")
    if arguments.timeline and arguments.format != TRACE:
        raise UsageError("a recording does not say when within an interval a thread ran: leave --timeline out, or give "
                         "--format trace")
    by = Grouping(arguments.by)
    table = next((name for name in _RICHER if getattr(arguments, name)), "tasks")
    with open_replay(arguments, intervals=arguments.intervals, seconds=seconds, tables=table) as journal:
        if arguments.format == TRACE:
            print_lines(recorded_lines(journal, islice(replayed_frames(arguments, journal), arguments.intervals)))
            report_missing(journal)
            return 0
        _print(arguments, recorded_ones(arguments, replayed_frames(arguments, journal), partial(_interval, journal, by),
                                        "tasks", "tasks"))
        report_missing(journal)
    return 0


def _interval(journal: Journal, by: Grouping, frame: Frame) -> list[ReplayedTasks | ReplayedRegions] | None:
    """The recorded tasks of every application, then the command's regions, of an interval; None without any."""
    record, totals = tasks_of(journal.rows, frame, journal.machine.model, by), regions_of(journal.rows, frame)
    parts: list[ReplayedTasks | ReplayedRegions] = []
    if record is not None and record.reports[by]:
        energy, left_out, looks = energy_of(frame), record.left_out[by], record.looks
        parts += (ReplayedTasks(frame, journal, report, by, left, looks, len(left_out) == 1, energy)
                  for report, left in zip(record.reports[by], left_out, strict=True))
    if totals is not None:
        parts.append(ReplayedRegions(frame, journal, totals))
    return parts or None


def _print(arguments: argparse.Namespace, intervals: Iterable[list[ReplayedTasks | ReplayedRegions]]) -> None:
    output, room = open_output(arguments, arguments.intervals), terminal_room()
    printed: set[str] = set()
    for part in chain.from_iterable(intervals):
        text = marked(part.envelope, part.text(printed, room))
        output.write(part.envelope, (part.table,), partial(chain, text, ("",)))
        printed.update(part.notes())
    output.end()
