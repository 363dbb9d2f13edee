"""Looks up the tasks of an interval when it ends: who made whom, and for a recording /proc's facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from turbotui.features.tasks.ancestry import Ancestry
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.watching import Watching
from turbotui.machine.tasks.proc_facts import READS, TaskFacts, TaskKey


def ancestry_of(watching: Watching, reports: Iterable[Report],
                facts: Mapping[TaskKey, TaskFacts] | None = None) -> Ancestry:
    """Who made the processes of some reports, up to the first process of all.

    Args:
        watching: watches them.
        reports: of its applications, in their order.
        facts: what /proc said of some of them already.
    """
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    known = {pid: one.stat for (pid, tid), one in (facts or {}).items() if tid is None}
    for one, report in zip(watching.watched, reports, strict=False):
        family = watching.family(one, known)
        for pid in {row.pid for row in report.rows if row.pid is not None}:
            below = pid
            for above in family.ancestors(pid):
                parents[below] = above
                below = above
                stat = family.stat(above)
                if stat is not None:
                    names[above] = stat.name
    return Ancestry(parents, names)


def facts_of(watching: Watching, processes: Sequence[Report], threads: Sequence[Report],
             most: int = READS) -> dict[TaskKey, TaskFacts]:
    """Facts of /proc on the processes and threads of an interval.

    Args:
        watching: watches them.
        processes: reports of its applications by process.
        threads: by thread.
        most: tasks whose files are read: those that ran most, processes before their further threads.
    """
    reader, found, left = watching.facts, dict[TaskKey, TaskFacts](), most
    for pid in dict.fromkeys(row.pid for report in processes for row in report.rows if not row.ended):
        if pid is not None and left:
            left -= 1
            facts = reader.facts(pid)
            if facts is not None:
                found[pid, None] = facts
    for row in (row for report in threads for row in report.rows):
        process = None if row.pid is None else found.get((row.pid, None))
        if row.pid is None or row.tid is None or process is None or row.ended:
            continue
        if row.tid == row.pid:
            found[row.pid, row.tid] = process
        elif left:
            left -= 1
            stat = reader.stat(row.pid, row.tid)
            if stat is not None:
                found[row.pid, row.tid] = replace(process, stat=stat)
    return found
