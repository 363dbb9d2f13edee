"""The tasks of an interval as a recording has them: rows of threads, of processes and of commands, raw counts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Final, Self, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.core_metrics import task_metric_definition_of
from turbotui.machine.cpulist import format_cpulist, parse_cpulist
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.tasks.sets import Mode, TaskSampling, When
from turbotui.quantities.precision import Precision
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.rows import TASKS_STREAM, RecordedRows
from turbotui.recording.said import Said, whole
from turbotui.sampling.frame import Frame

E = TypeVar("E", bound=Enum)
K = TypeVar("K")

RECORDED_BY: Final = (Grouping.THREAD, Grouping.PROCESS, Grouping.COMMAND)
"""What rows stand for in a recording; each has its own, for a sum of threads lacks those that did nothing."""
_MOST_ROWS: Final = 2_000
"""Rows of each grouping of an application that are kept of an interval: those that ran most."""
_INCOMPLETE, _ENDED, _GUESSED = 1, 2, 4


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """The tasks of one interval; see `recording.rows.IntervalRows`.

    Attributes:
        wall_ns, started_ns: clocks of the tick that ended it.
        reports: of each application, by what its rows stand for.
        left_out: how many rows were not kept, likewise in the order of the applications.
    """

    wall_ns: int
    started_ns: int
    reports: Mapping[Grouping, tuple[Report, ...]]
    left_out: Mapping[Grouping, tuple[int, ...]] = field(default_factory=dict)

    @property
    def stream(self) -> int:
        """See `IntervalRows.stream`."""
        return TASKS_STREAM

    def facts(self) -> Mapping[str, object]:
        """See `IntervalRows.facts`."""
        applications = []
        for at, report in enumerate(self.reports[Grouping.THREAD]):
            found: dict[str, object] = {}
            for by in RECORDED_BY:
                rows = self.reports[by][at].rows
                kept = rows[:_MOST_ROWS]
                left_out = len(rows) - len(kept) + sum(self.left_out.get(by, ())[at:at + 1])
                found[by.value] = {**_rows_facts(kept, report.names), "left_out": left_out}
            applications.append({**_report_facts(report), "rows": found})
        return {"table": "tasks", "applications": applications}

    def plus(self, later: Self) -> Self:
        """See `IntervalRows.plus`. Applications are found again by their names."""
        reports = {by: tuple(_joined(later.reports[by], self.reports[by])) for by in RECORDED_BY}
        left_out = {by: tuple(max(pair) for pair in zip(later.left_out.get(by, ()), self.left_out.get(by, ()),
                                                        strict=False)) for by in RECORDED_BY}
        return replace(later, reports=reports, left_out=left_out)


def task_record(said: Said, wall_ns: int, model: CpuModel) -> TaskRecord:
    """The tasks of a JSON document.

    Args:
        said: that of `TaskRecord.facts`.
        wall_ns: when the interval ended.
        model: of the machine, whose metric definition FLOPs and bytes are made of.

    Raises:
        DamagedError: it is none.
    """
    reports: dict[Grouping, tuple[Report, ...]] = {}
    left_out: dict[Grouping, tuple[int, ...]] = {}
    applications = said["applications"].items()
    for by in RECORDED_BY:
        reports[by] = tuple(_report_from(one, by, model) for one in applications)
        left_out[by] = tuple(one["rows"][by.value]["left_out"].integer() for one in applications)
    return TaskRecord(wall_ns, 0, reports, left_out)


def tasks_of(rows: Callable[[int, int, int], Sequence[RecordedRows]], frame: Frame,
             model: CpuModel) -> TaskRecord | None:
    """The tasks of a frame's interval; None where none were recorded. Several intervals are added up.

    Args:
        rows: `Journal.rows`, or what stands for it.
        frame: of the same recording.
        model: see `task_record`.

    Raises:
        DamagedError: what is there are no tasks.
    """
    if frame.older is None:
        return None
    found = [task_record(one.said, one.wall_ns, model)
             for one in rows(TASKS_STREAM, frame.older.wall_ns, frame.newer.wall_ns)]
    return functools.reduce(TaskRecord.plus, found) if found else None


def _report_facts(report: Report) -> dict[str, object]:
    application, choice, numerics = report.application, report.choice, report.numerics
    why = numerics.why
    return {
        "name": application.name, "pids": application.pids, "cgroup": application.cgroup,
        "everything": application.everything, "command": application.command, "events": application.events,
        "mode": None if choice is None else choice.mode.name, "when": None if choice is None else choice.when.name,
        "names": report.names, "seconds": report.seconds, "lost": report.lost, "throttled": report.throttled,
        "damaged": report.damaged, "missed": report.missed, "ended": report.ended, "error": report.error,
        "sets": report.set_count, "early": report.early, "used_ns": report.used_ns,
        "apart": {what: dict(counts) for what, counts in report.apart.items()},
        "numerics": {
            "flops": numerics.has_flops, "bytes": numerics.has_bytes, "double": numerics.double_only,
            "note": numerics.note, "why": None if why is None else [why.reason.value, why.detail, why.remedy],
            "counted": sorted(numerics.counted),
        },
    }


def _report_from(said: Said, by: Grouping, model: CpuModel) -> Report:
    cgroup, mode, when, used = (said.get(name) for name in ("cgroup", "mode", "when", "used_ns"))
    application = Application(
        said["name"].text(), said["pids"].integers(), None if cgroup is None else cgroup.text(),
        said["everything"].flag(), said["command"].texts(), said["events"].text())
    choice = None
    if mode is not None and when is not None:
        choice = TaskSampling(_member(Mode, mode), _member(When, when), 0, ())
    names = said["names"].texts()
    rows = _rows_from(said["rows"][by.value], names, application.name)
    if names and any(RUN not in row.counts for row in rows):
        raise DamagedError(f"{said.where} of the recording has rows without a run time")
    return Report(
        application, choice, _numerics_from(said["numerics"], model), rows, said["seconds"].number(),
        said["lost"].integer(), said["throttled"].integer(), said["damaged"].integer(), said["missed"].integer(),
        said["ended"].flag(), said["error"].text(), names, said["sets"].integer(), said["early"].number(), (),
        {what: {name: count.integer() for name, count in counts.entries().items()}
         for what, counts in said["apart"].entries().items()},
        None if used is None else used.integer())


def _member(kind: type[E], said: Said) -> E:
    found = kind.__members__.get(said.text())
    if found is None:
        raise DamagedError(f"{said.where} of the recording is no {kind.__name__}")
    return found


def _numerics_from(said: Said, model: CpuModel) -> Numerics:
    """What this version knows of the machine's metric definition, cut down to what was counted."""
    counted, why = frozenset(said["counted"].texts()), said.get("why")
    double = said["double"].flag()
    reason = None
    if why is not None:
        parts = why.items()
        if len(parts) != 3:
            raise DamagedError(f"{why.where} of the recording is no reason")
        reason = Unavailable(parts[0].one_of(Reason, Reason.NOT_READ), parts[1].text(), parts[2].text())
    definition = task_metric_definition_of(model)
    if definition is None:
        return Numerics(why=reason or Unavailable(Reason.UNKNOWN_MODEL, "no metric definition counts FLOPs here"))
    flops = tuple(term for term in definition.flops
                  if term.event in counted and (not double or term.precision is Precision.DOUBLE))
    exact = definition.exact_bytes if all(term.event in counted for term in definition.exact_bytes) else ()
    widths = tuple(width for width in definition.widths if width.event in counted)
    return Numerics(replace(definition, flops=flops, widths=widths, exact_bytes=exact),
                    said["flops"].flag() and bool(flops), said["bytes"].flag(), double, said["note"].text(), reason,
                    counted)


def _rows_facts(rows: Sequence[TaskRow], names: Sequence[str]) -> dict[str, object]:
    """Rows by column; a count that a row lacks is null."""
    found: dict[str, object] = {
        "pid": [row.pid for row in rows], "tid": [row.tid for row in rows], "name": [row.name for row in rows],
        "threads": [row.threads for row in rows], "cpus": [format_cpulist(row.cpus) for row in rows],
        "last_cpu": [row.last_cpu for row in rows], "migrations": [row.migrations for row in rows],
        "whole_run": [row.whole_run for row in rows],
        "flags": [_INCOMPLETE * row.incomplete + _ENDED * row.ended + _GUESSED * row.guessed for row in rows],
        "loads": [{str(cpu): load for cpu, load in row.loads.items()} for row in rows],
        "counts": {name: [row.counts.get(name) for row in rows] for name in names},
    }
    if any(row.estimated for row in rows):
        found["estimated"] = [sorted(row.estimated) for row in rows]
    return found


def _rows_from(said: Said, names: Sequence[str], application: str) -> tuple[TaskRow, ...]:
    pids = said["pid"].items()
    columns = {name: said[name].items() for name in ("tid", "name", "threads", "cpus", "last_cpu", "migrations",
                                                     "whole_run", "flags", "loads")}
    counts = {name: said["counts"][name].items() for name in names}
    estimated = said.get("estimated")
    marked = [()] * len(pids) if estimated is None else [one.texts() for one in estimated.items()]
    if any(len(one) != len(pids) for one in (*columns.values(), *counts.values(), marked)):
        raise DamagedError(f"{said.where} of the recording has columns of different lengths")
    found = []
    for at, pid in enumerate(pids):
        cells = {name: column[at] for name, column in columns.items()}
        flags = cells["flags"].integer()
        found.append(TaskRow(
            _number(pid), _number(cells["tid"]), cells["name"].text(), cells["threads"].integer(),
            _cpus(cells["cpus"]), cells["last_cpu"].integer(),
            {name: count for name, column in counts.items() if (count := _number(column[at])) is not None},
            cells["migrations"].integer(),
            {whole(cpu): load.integer() for cpu, load in cells["loads"].entries().items()},
            cells["whole_run"].integer(), bool(flags & _INCOMPLETE), bool(flags & _ENDED),
            application=application, guessed=bool(flags & _GUESSED),
            estimated=frozenset(marked[at])))
    return tuple(found)


def _number(said: Said) -> int | None:
    return None if said.value is None else said.integer()


def _cpus(said: Said) -> tuple[int, ...]:
    text = said.text()
    try:
        return tuple(sorted(parse_cpulist(text))) if text else ()
    except ValueError:
        raise DamagedError(f"{said.where} of the recording names no CPUs: {text[:40]!r}") from None


def _joined(later: Iterable[Report], earlier: Iterable[Report]) -> Iterable[Report]:
    """Reports of two intervals behind one another as one; what counts since the beginning is that of the later one."""
    before = {one.application.name: one for one in earlier}
    for one in later:
        first = before.get(one.application.name)
        if first is None or first.names != one.names:  # it came, or other events are counted now
            yield one
            continue
        apart = {what: _sum(counts, first.apart.get(what, {})) for what, counts in one.apart.items()}
        yield replace(one, rows=_joined_rows(first.rows, one.rows), seconds=first.seconds + one.seconds,
                      early=first.early + one.early, apart=apart)


def _joined_rows(earlier: Sequence[TaskRow], later: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    known = {(row.key, row.name): row for row in earlier}
    found = []
    for row in later:
        first = known.pop((row.key, row.name), None)
        found.append(row if first is None else _plus(first, row))
    return tuple(sorted((*found, *known.values()), key=lambda row: (-row.cpu_ns, row.pid or 0, row.tid or 0)))


def _plus(first: TaskRow, later: TaskRow) -> TaskRow:
    return replace(
        later, threads=max(first.threads, later.threads), cpus=tuple(sorted({*first.cpus, *later.cpus})),
        counts={name: first.counts[name] + count for name, count in later.counts.items() if name in first.counts},
        migrations=first.migrations + later.migrations, loads=_sum(later.loads, first.loads),
        incomplete=first.incomplete or later.incomplete, guessed=first.guessed or later.guessed,
        estimated=first.estimated | later.estimated)


def _sum(one: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in (*one, *(key for key in other if key not in one))}
