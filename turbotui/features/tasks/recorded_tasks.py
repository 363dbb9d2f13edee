"""The recorded tasks of an interval: rows of threads, processes and commands with raw counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from itertools import islice
from typing import Final, Self, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.loads import sampled_together
from turbotui.features.tasks.merging import NO_GROUP, by_group
from turbotui.features.tasks.numerics import Numerics
from turbotui.features.tasks.parallel_columns import ParallelWindow, times_of_all
from turbotui.features.tasks.process_tree import Ancestry
from turbotui.features.tasks.recorded_places import joined_places, places_facts, places_from
from turbotui.features.tasks.recorded_rows import MOST_ROWS, rows_facts, rows_from
from turbotui.features.tasks.report import Apart, Report
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.waits import waits_of_all
from turbotui.machine.core_metrics import task_metric_definition_of
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.tasks.group_names import GroupName
from turbotui.machine.tasks.proc_facts import MemoryPlaces, Stat, TaskFacts, TaskKey, TaskLooks
from turbotui.machine.tasks.sets import Mode, SamplingMoment, TaskSampling
from turbotui.quantities.precision import Precision
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from, whole
from turbotui.recording.rows import TASKS_STREAM, FindRows, IntervalRows, joined_rows
from turbotui.sampling.frame import Frame
from turbotui.untrusted import in_cell

_MOST_WORDS: Final = 256
"""Characters of a command line that are kept: it is written with each interval in which its process ran."""
_GROUP: Final = ("kind", "name", "container", "pod", "path")


def facts_facts(facts: Mapping[TaskKey, TaskFacts]) -> dict[str, object]:
    """Facts from /proc as JSON: processes, their threads, and each control group once."""
    processes = {pid: looked for (pid, tid), looked in facts.items() if tid is None}
    threads = {key: looked.stat for key, looked in facts.items() if key[1] is not None and key[1] != key[0]}
    groups = list(dict.fromkeys(process.group for process in processes.values() if process.group is not None))
    numbers = {group: at for at, group in enumerate(groups)}
    return {
        "processes": {
            "pid": list(processes), "name": [process.process for process in processes.values()],
            "arguments": [process.arguments[:_MOST_WORDS] for process in processes.values()],
            "user": [process.user for process in processes.values()],
            "group": [None if process.group is None else numbers[process.group] for process in processes.values()],
            **_stats_facts([process.stat for process in processes.values()]),
        },
        "threads": {"pid": [pid for pid, _tid in threads], "tid": [tid for _pid, tid in threads],
                    **_stats_facts(list(threads.values()))},
        "groups": [[getattr(group, name) for name in _GROUP] for group in groups],
    }


def facts_from(stored: JsonValue) -> dict[TaskKey, TaskFacts]:
    """Read facts from /proc back from the JSON of `facts_facts`. Raises DamagedError if it is none."""
    processes, threads = stored["processes"], stored["threads"]
    groups = [_group_from(item) for item in stored["groups"].items()]
    pids, names, arguments, users = (processes["pid"].values(int), *(
        processes[name].lines() for name in ("name", "arguments", "user")))
    chosen = processes["group"].values_or_none(int)
    if not len(pids) == len(names) == len(arguments) == len(users) == len(chosen) or any(
            at is not None and not 0 <= at < len(groups) for at in chosen):
        raise DamagedError(f"{stored.where} of the recording has columns of different lengths, or groups of no number")
    facts: dict[TaskKey, TaskFacts] = {}
    for at, (pid, stat) in enumerate(zip(pids, _stats_from(processes, names), strict=True)):
        group = chosen[at]
        facts[pid, None] = facts[pid, pid] = TaskFacts(stat, names[at], arguments[at], users[at],
                                                       None if group is None else groups[group])
    tids, owners = threads["tid"].values(int), threads["pid"].values(int)
    threads.expect_columns(len(tids), owners)
    for pid, tid, stat in zip(owners, tids, _stats_from(threads, [""] * len(tids)), strict=True):
        if (process := facts.get((pid, None))) is not None:
            facts[pid, tid] = TaskFacts(stat, process.process, process.arguments, process.user, process.group)
    return facts


def ancestry_facts(ancestry: Ancestry) -> dict[str, object]:
    """The parents of processes as JSON."""
    return {"parents": {str(pid): parent for pid, parent in ancestry.parents.items()},
            "names": {str(pid): name for pid, name in ancestry.names.items()}}


def ancestry_from(stored: JsonValue) -> Ancestry:
    """Read the parents back from the JSON of `ancestry_facts`. Raises DamagedError if it is none."""
    return Ancestry({whole(pid): parent.integer() for pid, parent in stored["parents"].entries().items()},
                    {whole(pid): name.text() for pid, name in stored["names"].entries().items()})


_FIRST: Final = ("state", "parent", "priority", "nice", "policy")
_LATER: Final = ("threads", "memory", "ran")
"""Numbers of `Stat` that recordings of earlier versions lack."""


def _stats_facts(stats: list[Stat]) -> dict[str, object]:
    return {name: [getattr(stat, name) for stat in stats] for name in (*_FIRST, *_LATER, "allowed")}


def _stats_from(stored: JsonValue, names: list[str]) -> list[Stat]:
    states, policies = stored["state"].lines(), stored["policy"].lines()
    parents, priorities, nices = (stored[name].values(int) for name in ("parent", "priority", "nice"))
    later = [[None] * len(names) if (column := stored.get(name)) is None else column.values_or_none(int)
             for name in _LATER]
    allowed = [None] * len(names) if (column := stored.get("allowed")) is None else column.values_or_none(str)
    stored.expect_columns(len(names), states, policies, parents, priorities, nices, *later, allowed)
    return [Stat(name, state, parent, 0, kernel=False, priority=priority, nice=nice, policy=policy,
                 allowed=None if cpus is None else in_cell(cpus), **dict(zip(_LATER, numbers, strict=True)))
            for name, state, parent, priority, nice, policy, cpus, numbers in zip(
                names, states, parents, priorities, nices, policies, allowed, zip(*later, strict=True), strict=True)]


def _group_from(stored: JsonValue) -> GroupName:
    words = stored.texts()
    if len(words) != len(_GROUP):
        raise DamagedError(f"{stored.where} of the recording is no control group")
    return GroupName(**dict(zip(_GROUP, words, strict=True)))


E = TypeVar("E", bound=Enum)
K = TypeVar("K")
V = TypeVar("V")

RECORDED_BY: Final = (Grouping.THREAD, Grouping.PROCESS, Grouping.COMMAND)
"""What rows stand for in a recording; each has its own, for a sum of threads lacks those that did nothing."""
NOT_RECORDED: Final = Unavailable(
    Reason.NOT_READ, "the recording does not say: the task had ended, or was not among those that ran most")
_NO_GROUPS: Final = "(groups were not recorded)"
_MOST_JOINED: Final = 10 * MOST_ROWS
"""Rows of joined intervals, and what else is known of their tasks: tasks come and go without end."""


@dataclass(frozen=True, slots=True)
class TaskRecord(IntervalRows):
    """The tasks of one interval."""

    stream = TASKS_STREAM

    reports: Mapping[Grouping, tuple[Report, ...]]  # of each application, by what its rows stand for
    # how many rows were not kept, likewise in the order of the applications
    left_out: Mapping[Grouping, tuple[int, ...]] = field(default_factory=dict)
    # what /proc said of tasks when it ended, of the busiest ones; None where nobody asked
    facts_seen: Mapping[TaskKey, TaskFacts] | None = None
    ancestry: Ancestry = field(default_factory=Ancestry)  # who made whom
    places: MemoryPlaces | None = None  # where their memory is; None where nobody asked

    @property
    def looks(self) -> TaskLooks:
        """Facts about the tasks beside their counts."""
        return TaskLooks(None, seen=self.facts_seen or {}, unseen=NOT_RECORDED, places=self.places)

    def facts(self) -> Mapping[str, object]:
        applications = []
        for at, report in enumerate(self.reports[Grouping.THREAD]):
            facts: dict[str, object] = {}
            for by in RECORDED_BY:
                rows = self.reports[by][at].rows
                kept = rows[:MOST_ROWS]
                left_out = len(rows) - len(kept) + sum(self.left_out.get(by, ())[at:at + 1])
                facts[by.value] = {**rows_facts(kept, report.names), "left_out": left_out}
            applications.append({**_report_facts(report), "rows": facts})
        seen = self.facts_seen
        beside = {} if seen is None else {"facts": facts_facts(seen), "ancestry": ancestry_facts(self.ancestry)}
        places = {} if self.places is None else {"places": places_facts(self.places)}
        return {"table": "tasks", "applications": applications, **beside, **places}

    def plus(self, later: Self) -> Self:
        """Add the next interval; applications are matched by their names."""
        joined = {by: tuple(joined_reports(later.reports[by], self.reports[by])) for by in later.reports}
        over = {by: [max(0, len(report.rows) - _MOST_JOINED) for report in joined[by]] for by in joined}
        left_out = {by: tuple(max(pair) + more for *pair, more in zip(
            later.left_out.get(by, ()), self.left_out.get(by, ()), over[by], strict=False)) for by in joined}
        reports = {by: tuple(replace(report, rows=report.rows[:_MOST_JOINED]) if more else report
                             for report, more in zip(joined[by], over[by], strict=True)) for by in joined}
        seen = (self.facts_seen, later.facts_seen)
        ancestry = Ancestry(_merged(self.ancestry.parents, later.ancestry.parents),
                            _merged(self.ancestry.names, later.ancestry.names))
        return replace(later, reports=reports, left_out=left_out, ancestry=ancestry,
                       places=joined_places(self.places, later.places, later.wall_ns - self.wall_ns),
                       facts_seen=None if seen == (None, None) else _merged(seen[0] or {}, seen[1] or {}))


def task_record(stored: JsonValue, wall_ns: int, model: CpuModel,
                wanted: Iterable[Grouping] = RECORDED_BY) -> TaskRecord:
    """Read the tasks of an interval from a JSON document.

    Args:
        model: of the machine, whose metric definition FLOPs and bytes are made of.
        wanted: what rows are to stand for.

    Raises:
        DamagedError: it is none.
    """
    reports: dict[Grouping, tuple[Report, ...]] = {}
    left_out: dict[Grouping, tuple[int, ...]] = {}
    applications = stored["applications"].items()
    for by in wanted:
        reports[by] = tuple(_report_from(application, by, model) for application in applications)
        left_out[by] = tuple(application["rows"][by.value]["left_out"].integer() for application in applications)
    return TaskRecord(wall_ns, 0, reports, left_out, stored.optional("facts", facts_from, None),
                      stored.optional("ancestry", ancestry_from, Ancestry()),
                      stored.optional("places", places_from, None))


def tasks_of(rows: FindRows, frame: Frame, model: CpuModel, by: Grouping) -> TaskRecord | None:
    """The tasks recorded for a frame, summed over its intervals; None if none were recorded.

    Args:
        frame: of the same recording.
        by: what rows are to stand for; of `UNIT` they are made of those of processes.

    Raises:
        DamagedError: what is there are no tasks.
    """
    source = Grouping.PROCESS if by is Grouping.UNIT else by
    record = joined_rows(rows, frame, TaskRecord,
                         lambda stored, wall_ns: task_record(stored, wall_ns, model, (source,)))
    if record is not None and record.places is not None:
        node_of = {cpu: place.node for cpu, place in frame.topology.places.items()}
        record = replace(record, places=replace(record.places, node_of=node_of))
    return record if record is None or by is source else _by_unit(record)


def _by_unit(record: TaskRecord) -> TaskRecord:
    """Add rows of containers, pods, jobs and units to reports, as far as each process's group is known."""
    seen = record.facts_seen or {}
    unknown = _NO_GROUPS if record.facts_seen is None else NO_GROUP

    def group_of(pid: int) -> GroupName | None:
        facts = seen.get((pid, None))
        return None if facts is None else facts.group

    reports = tuple(replace(report, rows=tuple(by_group(report.rows, group_of, unknown)))
                    for report in record.reports[Grouping.PROCESS])
    return replace(record, reports={Grouping.UNIT: reports},
                   left_out={Grouping.UNIT: record.left_out.get(Grouping.PROCESS, ())})


def _report_facts(report: Report) -> dict[str, object]:
    application, choice, numerics = report.application, report.choice, report.numerics
    return {
        "name": application.name, "pids": application.pids, "cgroup": application.cgroup,
        "everything": application.everything, "command": application.command, "events": application.events,
        "mode": None if choice is None else choice.mode.name, "when": None if choice is None else choice.when.name,
        "names": report.names, "seconds": report.seconds, "lost": report.lost, "throttled": report.throttled,
        "damaged": report.damaged, "missed": report.missed, "ended": report.ended, "error": report.error,
        "sets": report.set_count, "early": report.early, "used_ns": report.used_ns,
        **({} if report.waits_lost is None else {"waits_lost": report.waits_lost}),
        **({"sampling": report.sampling} if report.sampling else {}),
        **({} if report.parallel is None else {"parallel": _window_facts(report.parallel)}),
        **({} if report.unseen is None else {"unseen": reason_facts(report.unseen)}),
        "apart": {what: part.counts for what, part in report.apart.items()},
        "apart_loads": {what: {str(cpu): load for cpu, load in part.loads.items()}
                        for what, part in report.apart.items()},
        "numerics": {
            "flops": numerics.has_flops, "bytes": numerics.has_bytes, "double": numerics.double_only,
            "note": numerics.note, "why": reason_facts(numerics.why), "refused": reason_facts(numerics.refused),
            "counted": sorted(numerics.counted),
        },
    }


_WINDOW: Final = ("span", "ran", "covered", "alone")


def _window_facts(window: ParallelWindow) -> dict[str, object]:
    return {**{name: round(getattr(window, name)) for name in _WINDOW}, "why": reason_facts(window.why)}


def _window_from(stored: JsonValue) -> ParallelWindow:
    span, ran, covered, alone = (stored[name].number() for name in _WINDOW)
    if min(span, ran, covered, alone) < 0:
        raise DamagedError(f"{stored.where} of the recording has a time below zero")
    return ParallelWindow(span, ran, covered, alone, stored.optional("why", reason_from, None))


def _report_from(stored: JsonValue, by: Grouping, model: CpuModel) -> Report:
    application = Application(
        stored["name"].text(), stored["pids"].integers(), stored.optional("cgroup", JsonValue.text, None),
        stored["everything"].flag(), stored["command"].texts(), stored["events"].text())
    mode = stored.optional("mode", lambda word: _member(Mode, word), None)
    when = stored.optional("when", lambda word: _member(SamplingMoment, word), None)
    choice = None if mode is None or when is None else TaskSampling(mode, when, 0, ())
    names = stored["names"].texts()
    rows = rows_from(stored["rows"][by.value], names, application.name, by)
    if names and any(RUN not in row.counts for row in rows):
        raise DamagedError(f"{stored.where} of the recording has rows without a run time")
    return Report(
        application, choice, _numerics_from(stored["numerics"], model), rows, stored["seconds"].number(),
        stored["lost"].integer(), stored["throttled"].integer(), stored["damaged"].integer(),
        stored["missed"].integer(), stored["ended"].flag(), stored["error"].text(), names, stored["sets"].integer(),
        stored["early"].number(), (), _apart_from(stored["apart"], stored.get("apart_loads")),
        stored.optional("used_ns", JsonValue.integer, None), stored.optional("waits_lost", JsonValue.integer, None),
        stored.optional("sampling", JsonValue.text, ""), {}, stored.optional("parallel", _window_from, None),
        stored.optional("unseen", reason_from, None))


def _apart_from(counts: JsonValue, loads: JsonValue | None) -> dict[str, Apart]:
    known = {} if loads is None else loads.entries()  # 0.4.0 recorded none
    return {what: Apart({name: count.integer() for name, count in part.entries().items()},
                        {whole(cpu): load.integer() for cpu, load in known[what].entries().items()}
                        if what in known else {})
            for what, part in counts.entries().items()}


def _member(kind: type[E], stored: JsonValue) -> E:
    if (member := kind.__members__.get(stored.text())) is None:
        raise DamagedError(f"{stored.where} of the recording is no {kind.__name__}")
    return member


def _numerics_from(stored: JsonValue, model: CpuModel) -> Numerics:
    """This version's metric definition of the machine, limited to the counted events."""
    counted, double = frozenset(stored["counted"].texts()), stored["double"].flag()
    reason, refused = stored.optional("why", reason_from, None), stored.optional("refused", reason_from, None)
    if refused is not None:
        return Numerics(why=reason, refused=refused)
    if (definition := task_metric_definition_of(model)) is None:
        return Numerics(why=reason or Unavailable(Reason.UNKNOWN_MODEL, "no metric definition counts FLOPs here"))
    flops = tuple(term for term in definition.flops
                  if term.event in counted and (not double or term.precision is Precision.DOUBLE))
    exact = definition.exact_bytes if all(term.event in counted for term in definition.exact_bytes) else ()
    widths = tuple(width for width in definition.widths if width.event in counted)
    return Numerics(replace(definition, flops=flops, widths=widths, exact_bytes=exact),
                    stored["flops"].flag() and bool(flops), stored["bytes"].flag(), double, stored["note"].text(),
                    reason, counted)


def joined_reports(later: Iterable[Report], earlier: Iterable[Report]) -> Iterable[Report]:
    """Join the reports of two consecutive intervals; totals since the start are those of the later one."""
    before = {report.application.name: report for report in earlier}
    for report in later:
        first = before.get(report.application.name)
        if first is None or first.names != report.names:  # it came, or other events are counted now
            yield report
            continue
        nothing = Apart({}, {})
        apart = {what: Apart(_sum(part.counts, first.apart.get(what, nothing).counts),
                             _sum(part.loads, first.apart.get(what, nothing).loads))
                 for what, part in report.apart.items()}
        windows = first.parallel, report.parallel
        yield replace(report, rows=_joined_rows(first.rows, report.rows), seconds=first.seconds + report.seconds,
                      early=first.early + report.early, apart=apart,
                      parallel=None if windows[0] is None or windows[1] is None else windows[0].plus(windows[1]))


def _joined_rows(earlier: Sequence[TaskRow], later: Sequence[TaskRow]) -> tuple[TaskRow, ...]:
    sums: dict[str, TaskRow] = {}
    for row in (*earlier, *later):
        # `delayed` is a share of the row's own interval
        part = row if row.waits is None else replace(row, waits=replace(row.waits, delayed=None))
        known = sums.get(row.key)
        sums[row.key] = part if known is None else _plus(known, part)
    return tuple(sorted(sums.values(), key=lambda row: (-row.cpu_ns, row.pid or 0, row.tid or 0)))


def _plus(first: TaskRow, later: TaskRow) -> TaskRow:
    return replace(
        later, pid=later.pid if first.pid == later.pid else None, threads=max(first.threads, later.threads),
        cpus=tuple(sorted({*first.cpus, *later.cpus})),
        counts={name: first.counts[name] + count for name, count in later.counts.items() if name in first.counts},
        migrations=first.migrations + later.migrations, loads=_sum(later.loads, first.loads),
        incomplete=first.incomplete or later.incomplete, guessed=first.guessed or later.guessed,
        estimated=first.estimated | later.estimated, waits=waits_of_all([first.waits, later.waits]),
        sampled=sampled_together([first.sampled, later.sampled]),
        parallel=times_of_all([first.parallel, later.parallel]))


def _merged(earlier: Mapping[K, V], later: Mapping[K, V]) -> dict[K, V]:
    """Join what is known by key, the later interval's first, as much of it as is kept."""
    merged = {**later, **{key: value for key, value in earlier.items() if key not in later}}
    return merged if len(merged) <= _MOST_JOINED else dict(islice(merged.items(), _MOST_JOINED))


def _sum(first: Mapping[K, int], other: Mapping[K, int]) -> dict[K, int]:
    return {key: first.get(key, 0) + other.get(key, 0) for key in (*first, *(key for key in other if key not in first))}
