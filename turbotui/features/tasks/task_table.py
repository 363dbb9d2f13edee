"""Tables of an application's tasks over one interval: its rows and their totals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.application_totals import ApplicationTotals, Totals
from turbotui.features.tasks.columns import (
    ENERGY,
    MEASURED,
    NOT_ALL_ROWS,
    NOT_SCHEDULED,
    TASK_COLUMNS,
    TIMES,
    TaskColumn,
    TaskInputs,
    count_columns,
    extra_columns,
    is_estimate,
    measured,
    was_not_scheduled,
    why_missing,
)
from turbotui.features.tasks.cpu_time import CPU_TIME
from turbotui.features.tasks.energy import METHOD, UNITS
from turbotui.features.tasks.fact_columns import PROC
from turbotui.features.tasks.loads import LOADS
from turbotui.features.tasks.loads import NOT_YET as NOT_SAMPLED
from turbotui.features.tasks.memory_places import MAPS
from turbotui.features.tasks.memory_places import NOT_READ as NOT_MAPPED
from turbotui.features.tasks.parallel_columns import NOT_WEIGHED, PARALLEL
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.totals_table import IDLE_PART, OUTSIDE_PART
from turbotui.features.tasks.waits import NOT_YET, WAIT
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

TASKS: Final = "tasks"
TOTALS: Final = "totals"
"""Names of the two tables."""
SUM: Final = "sum of the rows"
FINAL: Final = "final read"
AFTER: Final = "after the last samples"
SINCE_START: Final = "sum since watching began"
USED: Final = "wait4 of the command"
"""What rows of totals say; parts that are in no row have the words of `ApplicationTotals.apart`."""


def says_something(column: TaskColumn, by: Grouping, reports: Sequence[Report], energy: Unavailable | None,
                   *, several: bool) -> bool:
    """Whether a table has a column: its ids exist for this grouping, and its counts can be counted.

    Args:
        energy: why there is no share of the energy; None where there is.
    """
    match column.id:
        case "App":
            return several
        case "TID":
            return by is Grouping.THREAD
        case "Thr":
            return by is not Grouping.THREAD or any(row.threads != 1 for report in reports for row in report.rows)
        case "PID":
            return by not in (Grouping.COMMAND, Grouping.UNIT)
        case "Unit":
            return by is Grouping.UNIT
        case "Command":
            return by is not Grouping.UNIT
    if not {PROC, MAPS}.isdisjoint(column.needs) and by is Grouping.UNIT:
        return False
    return any(why_missing(column, report.names, report.numerics, energy) is None
               for report in reports if report.names)


def starting_columns(by: Grouping) -> tuple[TaskColumn, ...]:
    """The columns of a table before anything is known: without the ids that rows of this kind never have."""
    return tuple(column for column in TASK_COLUMNS
                 if not column.identity or says_something(column, by, (), None, several=False))


def task_table(report: Report, by: Grouping, joules: Mapping[str, float],
               energy: Unavailable | None, looks: TaskLooks) -> RowTable[TaskInputs]:
    """A row for each thread, process or command.

    Args:
        joules: of rows, by their key.
        energy: why there is no share of the energy; None where there is.
        looks: what /proc says of the rows; a column of what it says of none of them is left out.
    """
    counts = count_columns(report.names)
    columns = (*TASK_COLUMNS, *extra_columns(report.names, report.numerics.counters), *counts)
    rows = tuple(TaskInputs(row, report.seconds, report.numerics, joules.get(row.key), looks, report.parallel)
                 for row in report.rows)
    shown = tuple(column for column in columns
                  if (joules or ENERGY not in column.needs)
                  and (report.waits_lost is not None or WAIT not in column.needs)
                  and (report.sampling or LOADS not in column.needs)
                  and (looks.knows_memory or MAPS not in column.needs)
                  and (report.parallel is not None or PARALLEL not in column.needs)
                  and says_something(column, by, (report,), energy, several=bool(report.application.name))
                  and (PROC not in column.needs or any(column.compute(row) is not None for row in rows)))
    return RowTable(TASKS, by.value, shown, rows, judge_task(energy))


def judge_task(energy: Unavailable | None) -> Callable[[TaskColumn, TaskInputs, Value], Cell]:
    """Return what adds marks and reasons to values; `energy` is the reason for missing energy shares."""
    return lambda column, row, value: _judged(column, row, value, energy)


def _judged(column: TaskColumn, inputs: TaskInputs, value: Value, energy: Unavailable | None) -> Cell:
    if value is not None:
        row = inputs.row
        if not (row.guessed or row.estimated or row.incomplete or column.id in MEASURED):  # nearly every cell
            return Cell(value)
        lacks = column.id in MEASURED and measured(column.id, inputs).partial
        return Cell(value, estimated=is_estimate(column, inputs),
                    partial=lacks or (row.incomplete and not column.identity))
    return Cell(None, _why(column, inputs, energy))


def _why(column: TaskColumn, inputs: TaskInputs, energy: Unavailable | None) -> Unavailable:
    if was_not_scheduled(column, inputs):
        return Unavailable(Reason.NEVER_RAN, NOT_SCHEDULED)
    if column.identity:
        return Unavailable(Reason.NO_HARDWARE, "the row is of several threads")
    if column.id == "Run_s":
        return NOT_ALL_ROWS
    if PROC in column.needs:
        facts = inputs.facts
        return facts if isinstance(facts, Unavailable) else _NOT_TOLD
    if column.id in MEASURED:
        return measured(column.id, inputs).why or _NOT_MEASURED[column.needs[0]]
    missing = why_missing(column, tuple(inputs.row.counts), inputs.numerics, energy)
    zeros = [need for need in column.needs if inputs.row.counts.get(need) == 0]
    of_what = f"{', '.join(zeros)} counted 0" if zeros else f"it is made of {', '.join(column.needs)}"
    return missing or Unavailable(Reason.OUT_OF_RANGE, f"{column.id} has no sensible value in this interval: {of_what}")


_NOT_MEASURED: Final = {WAIT: NOT_YET, LOADS: NOT_SAMPLED, PARALLEL: NOT_WEIGHED, MAPS: NOT_MAPPED}
_NOT_TOLD: Final = Unavailable(Reason.NOT_PERMITTED, "/proc does not say it of this task, or not to this user",
                               "run as root to see tasks of others")


@dataclass(frozen=True, slots=True)
class Total:
    """Counts in one part of an application's time."""

    what: str  # the part
    counts: Mapping[str, int | None]  # by name; None is unknown; what lacks was counted for a part of the time only
    estimated: frozenset[str] = frozenset()  # names of counts that were brought to all instructions
    joules: float | None = None  # its share of the energy; None where it has none


def joules_together(report: Report, joules: Mapping[str, float]) -> float | None:
    """Return the joules of all rows; None without those of a package on which one of them ran."""
    if not joules or any(row.key not in joules and any(row.loads.values()) for row in report.rows):
        return None
    return math.fsum(joules.get(row.key, 0.0) for row in report.rows)


def total_table(report: Report, aggregate: ApplicationTotals, joules: Mapping[str, float]) -> RowTable[Total]:
    """The table of sums over the rows, and of counts in no row.

    The sum of the rows, what is in no row and what came after the last samples are the final read together.
    """
    whole = aggregate.totals()
    totals = Totals(report.sets or whole.sets)
    # brought to all instructions once for the sum and once for each row, so that these add up only about
    joined = frozenset(aggregate.names) - aggregate.always
    sums = {name: value for name, value in report.sums.items() if name in aggregate.always}
    rows = [Total(SUM, totals.brought_to(sums), joined,
                  joules_together(report, joules))]
    rows += [Total(what, part.counts, joules=joules.get(what)) for what, part in report.apart.items()]
    if aggregate.read is not None:
        rows += [Total(AFTER, {name: max(0, value) for name, value in of_all_sets(aggregate, aggregate.tail).items()}),
                 Total(FINAL, of_all_sets(aggregate, aggregate.read))]
    if aggregate.set_count > 1:
        for number, (total_set, read) in enumerate(zip(totals.sets, aggregate.reads, strict=True), 1):
            rows.append(Total(f"set {number}: {SUM}", total_set))
            if read is not None:
                rows.append(Total(f"set {number}: {FINAL}", read))
    rows.append(Total(SINCE_START, whole.everything, joined))
    time = CPU_TIME if CPU_TIME in aggregate.names else RUN
    if report.used_ns is not None:
        rows.append(Total(USED, {time: report.used_ns}))
    names = tuple(name for name in aggregate.names if name not in TIMES)
    columns = (
        Column[Total]("what", "", -1, (), lambda total: total.what, help="the part that was counted", identity=True),
        _seconds("Time_s", time, "CPU time"),
        _seconds("Clock_s", RUN, "for how long counters counted, by perf's task clock"),
        *((Column[Total]("~J", "J", 3, (ENERGY,), lambda total: total.joules, help=METHOD.format(unit=UNITS), width=9),)
          if joules else ()),
        *(_count(name) for name in names),
    )
    return RowTable(TOTALS, "total", columns, tuple(rows), _judged_total)


def of_all_sets(aggregate: ApplicationTotals, values: Sequence[int]) -> dict[str, int]:
    """Counts by name of the events that every set counts.

    Without CPU time too, which no counter counts.
    """
    return {name: value for name, value in zip(aggregate.names, values, strict=True)
            if name in aggregate.always and name != CPU_TIME}


def _seconds(name: str, count: str, meaning: str) -> Column[Total]:
    def seconds(total: Total) -> Value:
        spent = total.counts.get(count)
        return None if spent is None else spent / 1e9

    return Column(name, "s", 9, (count,), seconds, help=meaning, width=14)


def _count(name: str) -> Column[Total]:
    return Column(name, "", 0, (name,), lambda total: total.counts.get(name), help=name, width=12)


BOTH_TOGETHER: Final = Unavailable(Reason.NOT_READ, "perf has the number 0 for the idle task and for tasks outside: "
                                   "only their times can be told apart, by /proc/stat")
"""Why the two parts have no counts beside their times."""


def _judged_total(column: Column[Total], total: Total, value: Value) -> Cell:
    if value is not None:
        return Cell(value, estimated=not total.estimated.isdisjoint(column.needs))
    if column.needs == (ENERGY,):
        return Cell(None, Unavailable(Reason.NOT_READ, "energy is shared out among rows and what is in no row"))
    if total.what in (IDLE_PART, OUTSIDE_PART):
        return Cell(None, BOTH_TOGETHER)
    if all(name in total.counts for name in column.needs):
        return Cell(None, Unavailable(Reason.NEVER_RAN, NOT_SCHEDULED))
    if total.what == USED:
        return Cell(None, Unavailable(Reason.NOT_READ, "wait4(2) tells CPU time alone"))
    if column.needs == (CPU_TIME,):
        return Cell(None, Unavailable(Reason.NOT_READ, "CPU time of the clock is no counter: see Clock_s"))
    return Cell(None, Unavailable(Reason.NOT_READ, "another set counts it, with which this one was multiplexed"))
