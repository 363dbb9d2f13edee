"""Texts around the table of the tasks screen: what is watched, how, and what is unavailable."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Sequence
from typing import Final

from turbotui.cell_widths import cell_count, flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.tasks.application_totals import multiplexing_sentence
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import (
    DOUBLE_FLOP,
    NOT_SCHEDULED,
    TASK_COLUMNS,
    TaskInputs,
    extra_columns,
    is_estimate,
    was_not_scheduled,
    why_missing,
)
from turbotui.features.tasks.energy import method
from turbotui.features.tasks.live import TaskSnapshot
from turbotui.features.tasks.memory_places import place_sentence
from turbotui.features.tasks.parallel_columns import MADE_LONG
from turbotui.features.tasks.region_totals import RegionTotals
from turbotui.features.tasks.report import Report, cpu_seconds
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.waits import lacking_threads
from turbotui.machine.tasks.numa_maps import NodeMemory
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.sentences import clauses, several
from turbotui.quantities.tables import CellEvidence
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.cells import UNKNOWN, StyleRole
from turbotui.widgets.painter import TextSegment

_ONE: Final = {Grouping.THREAD: "thread", Grouping.PROCESS: "process", Grouping.COMMAND: "command",
               Grouping.UNIT: "container, job or unit"}
PLURAL: Final = {Grouping.THREAD: "threads", Grouping.PROCESS: "processes", Grouping.COMMAND: "commands",
                 Grouping.UNIT: "containers, jobs and units"}
_NOTES: Final = 6  # lines below the table on a screen that is high enough
_WARNINGS: Final = 6  # lines that refusals may take
_SHOWN: Final = tuple(column for column in TASK_COLUMNS if column.default)


@dataclass(frozen=True, slots=True)
class TasksView:
    """Settings of the screen: the kind of rows, and the timeline."""

    by: Grouping = Grouping.THREAD  # what a row stands for
    tree: bool = False  # processes stand below those that made them
    timeline: bool = False  # where threads ran instead of numbers
    window: float = 10.0  # seconds of the timeline


def head_line(applications: Sequence[Application], snapshot: TaskSnapshot | None, view: TasksView, *,
              watching: bool, span: str = "") -> list[TextSegment]:
    """The head line: what is watched, the number of rows, and lost samples.

    Args:
        span: of which time the numbers are; "" for an interval's.
    """
    names = ", ".join(_short(application) for application in applications)
    refused = snapshot is not None and all(report.error for report in snapshot.reports)
    word = "cannot watch " if refused else "stopped; was watching "
    state: TextSegment = ("watching ", StyleRole.KEY) if watching else (word, StyleRole.AMBER)
    segments: list[TextSegment] = [(" ", StyleRole.PLAIN), state, (names, StyleRole.SUMMARY)]
    if snapshot is None and span:
        return [*segments, (f" · {span}", StyleRole.AMBER)]
    if snapshot is None:
        return [*segments, (" · opening counters", StyleRole.DIM)] if watching else segments
    live = [report for report in snapshot.reports if not report.error]
    if not live:
        return segments
    lost = sum(report.lost for report in live)
    segments.append((f" · {several(lost, 'sample')} LOST", StyleRole.RED) if lost else
                    (" · no sample lost", StyleRole.DIM))
    seconds = max(report.seconds for report in live)
    if view.timeline:
        summary = f" · {_counted(len(snapshot.lanes), Grouping.THREAD)} that ran"
    else:
        ran = math.fsum(cpu_seconds(report.sums) for report in live)
        rows = sum(len(report.rows) for report in live)
        summary = f" · {_counted(rows, snapshot.request.by)} ran {ran:.2f} s in {seconds:.2f} s"
    return [*segments, (f" · {span}" if span else "", StyleRole.AMBER), (summary, StyleRole.DIM)]


def _counted(count: int, by: Grouping) -> str:
    return f"{count:,} {_ONE[by] if count == 1 else PLURAL[by]}"


def region_line(totals: RegionTotals, width: int) -> str:
    """The line of marked regions, sorted by run time: share of the CPU time, or seconds."""
    line = "regions:"
    for row in totals.rows():
        value = f"{row.seconds:.1f} s open" if row.of_run is None else f"{100 * row.of_run:.0f} % of CPU time"
        more = f"{line}{' ·' * (line != 'regions:')} {row.name} {value}"
        if cell_count(more) > width - 2:
            return f"{line} …"
        line = more
    return line


def serial_lines(happened: Sequence[str], width: int) -> list[tuple[str, StyleRole]]:
    """The sentence on who made a recorded command long, among what happened in the recording; () if it is not there."""
    sentence = next((text for text in reversed(happened) if text.startswith(MADE_LONG)), "")
    return [(line, StyleRole.SUMMARY) for line in textwrap.wrap(sentence, max(20, width - 2))]


def note_lines(snapshot: TaskSnapshot, energy: Unavailable | None, width: int,
               height: int) -> list[tuple[str, StyleRole]]:
    """Notes below the table that fit the screen: refusals, sampling, missing columns."""
    room = max(20, width - 2)
    warnings: list[tuple[str, StyleRole]] = []
    for report in snapshot.reports:
        if report.error:
            warnings += [(part, StyleRole.AMBER) for part in textwrap.wrap(report.error, room)]
        elif report.unseen is not None:
            warnings += [(part, StyleRole.AMBER) for part in textwrap.wrap(report.unseen_note(remedy=False), room)]
        if report.numerics.refused is not None:
            warnings += [(part, StyleRole.AMBER) for part in textwrap.wrap(report.numerics.refused.sentence(), room)]
        if report.ended:
            warnings.append((f"{report.application.name or 'The command'} has ended", StyleRole.AMBER))
    spare = max(0, max(2, min(_NOTES, height // 7)) - len(warnings))
    lines = _wrapped([*_facts(snapshot, energy), *_no_columns(snapshot, energy)], room)
    if len(lines) > spare:  # all of it is a key away
        texts, fewer = (_in_short(snapshot, energy, mode=mode) for mode in (True, False))
        lines = texts if max(map(len, texts), default=0) <= room else _wrapped(fewer, room)
    return [*warnings[:_WARNINGS], *((line, StyleRole.DIM) for line in lines[:spare])]


def _wrapped(texts: Sequence[str], room: int) -> list[str]:
    return [part for text in texts for part in textwrap.wrap(text, room, subsequent_indent="  ")]


def _facts(snapshot: TaskSnapshot, energy: Unavailable | None) -> list[str]:
    live = [report for report in snapshot.reports if report.choice is not None]
    if not live or live[0].choice is None:
        return []
    choice, numerics = live[0].choice, live[0].numerics
    notes = [note for report in live if (note := report.unseen_note())]
    notes += [f"{choice.mode.value} · sampled {choice.when.value}"]
    if energy is None:
        notes.append(f"~Watt is an {method(live[0])}")
    if numerics.has_flops and numerics.note:
        notes.append(f"FLOPs and bytes: {numerics.note}")
    notes += dict.fromkeys(report.sampling for report in live if report.sampling)
    if lost := max(report.waits_lost or 0 for report in live):
        notes.append(f"{lost:,} records of switches LOST: waits are too low")
    sets = max(report.set_count for report in live)
    if sets > 1:
        notes.append(multiplexing_sentence(sets))
    return notes


def _no_columns(snapshot: TaskSnapshot, energy: Unavailable | None) -> list[str]:
    """Sentences that say which columns are missing, and why."""
    return [f"no {', '.join(ids)}: {sentence}" for sentence, ids in _missing(snapshot, energy).items()]


def _in_short(snapshot: TaskSnapshot, energy: Unavailable | None, *, mode: bool) -> list[str]:
    """Short notes for a low screen: missing columns without reasons, and how tasks are sampled."""
    live = [report for report in snapshot.reports if report.choice is not None]
    if not live or live[0].choice is None:
        return []
    choice = live[0].choice
    how = f"{choice.mode.value} · sampled {choice.when.value}" if mode else (
        f"sampled {choice.when.value.partition(':')[0]}")
    ids = [name for names in _missing(snapshot, energy).values() for name in names]
    sets = max(report.set_count for report in live)
    first = f"not here: {', '.join(ids)} · e: why, what to do" if ids else "e: more"
    return [f"~ estimate: {sets} multiplexed sets of events · {first}" if sets > 1 else first, how]


def _missing(snapshot: TaskSnapshot, energy: Unavailable | None) -> dict[str, list[str]]:
    """Columns that no application has, grouped by the sentence that explains why."""
    live = [report for report in snapshot.reports if report.choice is not None]
    whys = {column.id: [why_missing(column, report.names, report.numerics, energy) for report in live]
            for column in _SHOWN if not column.identity and DOUBLE_FLOP not in column.needs}
    return lists_by_key((why[0].sentence(), name) for name, why in whys.items()
                        if why and all(why) and why[0] is not None)


def no_tasks_words(first_ns: int | None, *, played: bool) -> str:
    """Why no tasks are known for a moment of the past.

    Args:
        first_ns: the first kept moment, in ns since 1970; None if none is kept.
        played: whether the moments are those of a recording.
    """
    if played:
        return "No tasks of this moment were recorded: turbotui record --tables tasks, or Ctrl+R on this screen"
    kept = "they were not watched yet" if first_ns is None else f"they are kept from {time_of_day(first_ns)} on"
    return f"No tasks of this moment: tasks are kept while this screen is shown, and {kept}"


def task_evidence(snapshot: TaskSnapshot | None, energy: Unavailable | None, inputs: TaskInputs | None,
                  explained: str = "") -> CellEvidence:
    """Explain a row: missing numbers with their reasons, which `not here` on the screen promises, then its numbers.

    Args:
        inputs: the row; None for what goes for all.
        explained: id of a column that was explained already.
    """
    if snapshot is None:
        return CellEvidence(remarks=("nothing has been sampled yet",))
    numbers: list[tuple[str, ...]] = []
    remarks: list[str] = []
    report = None if inputs is None else next(
        (report for report in snapshot.reports if report.application.name == inputs.row.application), None)
    if inputs is not None and report is not None:
        row = inputs.row
        for column in (*_SHOWN, *extra_columns(report.names, report.numerics.counters)):
            if column.identity or column.id == explained or (
                    why_missing(column, report.names, report.numerics, energy) is not None):
                continue
            value = column.compute(inputs)
            text = (UNKNOWN if value is None else value if isinstance(value, str)
                    else f"{'~' * is_estimate(column, inputs)}{value:,.{max(0, column.decimals)}f}")
            why = f" (unknown: {NOT_SCHEDULED})" if was_not_scheduled(column, inputs) else ""
            named = f"{flush_left(column.id, 9)} {flush_right(text, 9)} {flush_left(column.unit, 7)}"
            numbers.append((f"{named} {clauses(column.help)[0]}{why}",))
        if row.incomplete:
            remarks.append("* counts are too low: another profiler held the counters for a part of the time")
        remarks.append(_how_counted(report, row.estimated))
        memory = None if row.pid is None else inputs.looks.memory_seen(row.pid)
        if row.pid is not None and isinstance(memory, NodeMemory):
            remarks.append(place_sentence(memory, inputs.nodes, inputs.looks.node_of, row.pid, row.tid))
        if row.waits is not None and (total := sum(ran for _name, ran in row.waits.behind)):
            parts = ", ".join(f"{name} {ran / total:.0%}" for name, ran in row.waits.behind).replace("%", " %")
            remarks.append(f"on its CPU ran while it waited 0.1 ms or longer: {parts}")
        if lacking := lacking_threads(row.waits):
            remarks.append(lacking)
    sums = [f"{report.application.name}: {report.sums_sentence()}" for report in snapshot.reports if report.names]
    missing = tuple((sentence,) for sentence in _no_columns(snapshot, energy))
    return CellEvidence(readings=(*missing, *numbers), remarks=(*remarks, *_facts(snapshot, energy), *sums))


def _how_counted(report: Report, estimated: frozenset[str]) -> str:
    """The events behind a row's numbers, and for how long each was counted."""
    always, multiplexed = (", ".join(_SOURCES.get(name, name) for name in report.names if (name in estimated) is is_so)
                           for is_so in (False, True))
    if report.set_count == 1:
        return f"counted for {report.seconds:.2f} s, together in one group of perf_event_open(2): {always}"
    sets = report.set_count
    return (f"counted for all of {report.seconds:.2f} s: {always}; the others in {sets} multiplexed sets, each counted "
            f"for about 1/{sets} of the time, in one group of perf_event_open(2) with those: {multiplexed}")


_SOURCES: Final = {"switches": "context-switches", "run": "the time that the group was on a CPU, which is the run time"}


def _short(application: Application) -> str:
    if application.events:
        return application.text
    if application.everything:
        return "everything"
    if application.container:
        return f"container {application.container}"
    if application.cgroup is not None:
        return f"control group {application.cgroup}"
    if application.command and not application.name:
        return f"the command {shlex.join(application.command)} and all that it starts"
    return f"process {application.name}" if application.name.isdecimal() else application.text


COMMAND: Final = "command"
"""What a person types for the command that runs beside the dashboard."""


def word_of(application: Application) -> str:
    """An application in the words of the prompt."""
    if application.command and not application.name:
        return COMMAND
    if application.container == application.name and not application.events:
        return shlex.quote(f"container={application.container}")
    name = application.name
    return name if name == "all" or name.isdecimal() or name.startswith("/") else f"'{application.text}'"
