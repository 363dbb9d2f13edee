"""From a cut of the watcher to the lines and columns of the tasks screen."""

from __future__ import annotations

from dataclasses import dataclass

from turbotui.analysis.tasks.columns import TASK_COLUMNS, TaskColumn, TaskInputs, extra_columns
from turbotui.analysis.tasks.energy import Energy, share_out, why_not
from turbotui.analysis.tasks.live import Cut
from turbotui.analysis.tasks.task_table import says_something
from turbotui.machine.topology import Topology
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.task_lines import TaskLine


@dataclass(frozen=True, slots=True)
class Shown:
    """What a cut is shown as.

    Attributes:
        lines: one a row, in no order.
        columns: those that can be had, in print order.
        energy: why there is no share of the energy; None where there is.
    """

    lines: tuple[TaskLine, ...] = ()
    columns: tuple[TaskColumn, ...] = TASK_COLUMNS
    energy: Unavailable | None = None


def shown_as(cut: Cut, energy: Energy, topology: Topology) -> Shown:
    """Lines and columns of a cut; the energy is that of about the same time."""
    live = [report for report in cut.reports if report.names]
    why = next(filter(None, (
        why_not(energy, by_cycles="cycles" in report.names, everything=report.application.everything)
        for report in live)), None)
    names = tuple(dict.fromkeys(name for report in live for name in report.names))
    recipe = frozenset[str]().union(*(report.numerics.counters for report in live))
    columns = tuple(column for column in (*TASK_COLUMNS, *extra_columns(names, recipe))
                    if column.default and says_something(column, cut.wish.by, cut.reports, why,
                                                          several=len(cut.reports) > 1))
    lines = []
    for report in live:
        joules = share_out(report.rows, energy.over(report.seconds), topology, by_cycles="cycles" in report.names,
                           everything=report.application.everything)
        lines += [TaskLine(TaskInputs(row, report.seconds, report.numerics, joules.get(row.key)))
                  for row in report.rows if not row.ended or row.counts["run"]]
    return Shown(tuple(lines), columns, why)
