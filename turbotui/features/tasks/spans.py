"""What tasks used over a span that ends at the shown moment: the last minute, or the time since a mark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Final

from turbotui.features.tasks.energy import share_out
from turbotui.features.tasks.merging import merged
from turbotui.features.tasks.recorded_tasks import joined_reports
from turbotui.features.tasks.screen_rows import PastTasks
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.moments import time_of_day
from turbotui.quantities.unavailable import Unavailable


class TaskSpan(Enum):
    """What the numbers of the tasks screen are of, in the order of its key; whoever made a mark asks for it first."""

    INTERVAL = "Numbers of each interval again"
    MARK = "Amounts since the mark, the most first"
    MINUTE = "Amounts of the last minute, the most first"


MINUTE_NS: Final = 60_000_000_000


def joined(intervals: Iterable[PastTasks], by: Grouping, topology: Topology,
           newest: PastTasks | None = None) -> PastTasks | None:
    """The sum of consecutive intervals, without those whose rows do not make rows of this kind; None if none is left.

    Energy is shared out interval by interval, because a task has no part in what was used while it did nothing. An
    interval whose energy is not known yet, as the first one, is shared out with the next; at the end it is left out.
    What is known of tasks beside their counts is that of the last interval.

    Args:
        newest: tells who made whom, for rows in a tree.
    """
    joined_tasks: PastTasks | None = None
    waiting: PastTasks | None = None  # for the energy of its time
    shares: dict[str, float] = {}
    lacking: set[str] = set()
    for interval in intervals:
        if (rows := _grouped(interval, by)) is None:
            continue
        part = rows if waiting is None else _sum(waiting, rows)
        if part.spent.why is not None:
            waiting = part
            continue
        waiting = None
        for report in part.snapshot.reports:
            joules = share_out(report, part.spent, topology)
            lacking |= {row.key for row in report.rows if row.key not in joules and any(row.loads.values())}
            for key, used in joules.items():
                shares[key] = shares.get(key, 0.0) + used
        joined_tasks = part if joined_tasks is None else _sum(joined_tasks, part)
    if joined_tasks is None:
        return waiting
    whole = replace(joined_tasks, joules={key: used for key, used in shares.items() if key not in lacking})
    return whole if newest is None else replace(whole, snapshot=replace(
        whole.snapshot, request=newest.snapshot.request, ancestry=newest.snapshot.ancestry))


def span_words(mark_ns: int | None, seconds: float, interval: float) -> str:
    """The heading that names a span: since a mark, or the last minute, so many seconds of which were watched."""
    if mark_ns is not None:
        return f"SINCE THE MARK OF {time_of_day(mark_ns)}"
    return f"LAST MINUTE{'' if seconds > MINUTE_NS / 1e9 - 2 * interval else f', {seconds:.0f} s of it watched'}"


def _grouped(interval: PastTasks, by: Grouping) -> PastTasks | None:
    """An interval with rows of a kind: threads make processes and commands; None if its rows do not make them."""
    request = interval.snapshot.request
    if request.by is by:
        return interval
    if request.by is not Grouping.THREAD or by is Grouping.UNIT:
        return None
    reports = tuple(replace(report, rows=_rows(report.rows, by, interval.looks))
                    for report in interval.snapshot.reports)
    return replace(interval, snapshot=replace(interval.snapshot, reports=reports, request=replace(request, by=by)))


def _rows(threads: Sequence[TaskRow], by: Grouping, looks: TaskLooks) -> tuple[TaskRow, ...]:
    """Rows of processes or commands, made of those of threads."""
    members = lists_by_key((row.name if by is Grouping.COMMAND or row.pid is None else row.pid, row) for row in threads)
    span_rows = []
    for rows in members.values():
        first = next((row for row in rows if row.tid == row.pid), rows[0])
        pid = first.pid if len({row.pid for row in rows}) == 1 else None
        name = first.name
        if by is Grouping.PROCESS and pid is not None and first.tid != pid:  # the first thread, which names it, slept
            facts = looks.at(pid)
            name = name if isinstance(facts, Unavailable) else facts.process
        span_rows.append(replace(merged(rows, first), pid=pid, tid=None, name=name, whole_run=None, by=by))
    return tuple(sorted(span_rows, key=lambda row: -row.cpu_ns))


def _sum(earlier: PastTasks, later: PastTasks) -> PastTasks:
    reports = tuple(joined_reports(later.snapshot.reports, earlier.snapshot.reports))
    return replace(later, snapshot=replace(later.snapshot, reports=reports), spent=earlier.spent.plus(later.spent))
