"""Watches applications: chooses and opens counters, adds up samples, and makes reports of any interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from turbotui.errors import MachineError
from turbotui.features.tasks.application_totals import ApplicationTotals, Marks
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.choosing import ChosenSets, choose_sets
from turbotui.features.tasks.cpu_time import SchedStats
from turbotui.features.tasks.load_watch import LoadWatch
from turbotui.features.tasks.merging import Lineage, by_group
from turbotui.features.tasks.report import Apart, Report, idle_apart, rest_apart
from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.features.tasks.tables import Grouping, TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.totals_table import MEANWHILE_PART, OUTSIDE_PART, MultiplexedSets
from turbotui.features.tasks.wait_watch import WaitWatch
from turbotui.features.tasks.waits import SIMULATED
from turbotui.features.tasks.watched_application import IdleTimes, WatchedApplication, slice_for
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import cpus_in
from turbotui.machine.tasks.containers import find_container
from turbotui.machine.tasks.proc_facts import ProcFacts, Stat
from turbotui.machine.tasks.processes import cgroup_folder, cpu_time, has_ended, name_of, processes, threads_of
from turbotui.machine.tasks.sample_reader import SampleReader, open_sample_reader, refuse_recorded
from turbotui.machine.tasks.sets import Mode
from turbotui.machine.tasks.sight import FOREIGN
from turbotui.machine.tasks.sleeping import sleeps_in
from turbotui.machine.tasks.switch_times import SwitchTimes
from turbotui.machine.tasks.wait_set import WaitSet

_PRESENT: Final = "/sys/devices/system/cpu/present"
_PAUSE: Final = 0.2  # seconds, where nothing is watched
_MOST_LOOKED_AT: Final = 64  # threads, at 10 to 30 us each
LIVE_BIN_NS: Final = 10_000_000
LIVE_HORIZON_NS: Final = 60_000_000_000


class WatchedApplications:
    """The watched applications, for one thread; only `waiting.wake` may be called from others.

    Args:
        pages: of each ring; None for the default.
        live: keep a timeline of the last minute instead of one of everything.
        drawn: keep a timeline at all.

    Attributes:
        waiting: ends its wait when records have come.
        facts: reads what /proc says of tasks.
    """

    def __init__(self, machine: Machine, pages: int | None = None, *, live: bool = False, drawn: bool = True) -> None:
        refuse_recorded(machine.host)
        self.waiting = WaitSet()
        self.watched: list[WatchedApplication] = []
        self._machine = machine
        self._host: Host = machine.host
        self._cpus = tuple(machine.topology.cpus)
        self._pages = pages
        self._live = live
        self._drawn = drawn
        self._switches: SwitchTimes | None = None
        self._stats = SchedStats(machine.host)
        self.facts = ProcFacts(machine.host)
        self._waits: WaitWatch | None = None
        self._waits_wanted = False
        self._loads: LoadWatch | None = None
        self._parallel = False

    def watch_parallel(self, wanted: bool) -> None:
        """Start or stop adding up who runs beside whom."""
        if wanted is not self._parallel:
            self._parallel = wanted
            for application in self.watched:
                self._watch_parallel(application)

    def watch_waits(self, wanted: bool) -> None:
        """Start or stop reading what tasks wait for."""
        self._waits_wanted = wanted
        if wanted and self._waits is None and self._host.kind is HostKind.REAL:
            self._waits = WaitWatch(self._host, self._cpus, self.waiting, beginning=not self.watched)
        elif not wanted and self._waits is not None:
            self._waits.close()
            self._waits = None

    def watch_loads(self, wanted: bool) -> None:
        """Start or stop sampling loads."""
        if wanted and self._loads is None:
            self._loads = LoadWatch(self._host, self._cpus, beginning=not self.watched)
        elif not wanted and self._loads is not None:
            self._loads.close()
            self._loads = None

    def _watch_parallel(self, watched: WatchedApplication) -> None:
        watched.watch_parallel(self._parallel, len(self._present()), drawn=self._drawn and not self._live,
                               simulated=self._host.kind is not HostKind.REAL)

    def _with_loads(self, rows: list[TaskRow], watched: WatchedApplication, *, whole: bool,
                    again: bool) -> list[TaskRow]:
        """Return the rows with the sampled loads of their threads, if loads are sampled."""
        if self._loads is None:
            return rows
        if not again:
            self._loads.end_interval(id(watched))
        return self._loads.rows(rows, watched.aggregate.threads(rows), whole=whole)

    def _with_waits(self, rows: list[TaskRow], watched: WatchedApplication, by: Grouping, *, whole: bool,
                    again: bool) -> list[TaskRow]:
        """Return the rows with the waits of their tasks, if waits are read."""
        if self._waits is None:
            return [replace(row, waits=SIMULATED) for row in rows] if self._waits_wanted else rows
        if not again:
            self._waits.end_interval(id(watched), watched.taken_ns)
        return self._waits.rows(rows, watched.aggregate.threads(rows), whole=whole, again=again,
                                group_of=self.family(watched).group if by is Grouping.UNIT else None)

    def add(self, application: Application, *, child: int | None = None) -> WatchedApplication:
        """Open the counters of an application.

        Args:
            child: a child that waits before exec(2), for an application that is a command.

        Raises:
            MachineError: no such process, group or container, not permitted, or not enough descriptors or memory.
            UsageError: an event is unknown or given twice.
            EventError: an event cannot be understood.
        """
        if self.facts.sight.foreign and not application.everything:
            raise MachineError(f"tasks cannot be found: {FOREIGN.sentence()}; or watch --all")
        if application.container and self._host.kind is HostKind.REAL:
            application = replace(application, cgroup=find_container(self._host, application.container).path)
        pids = application.pids if child is None else (child,)
        chosen = self._choose(application, pids)
        try:
            watched = self._opened(application, chosen, pids, on_exec=child is not None)
        except MachineError:
            if len(chosen.sets) == 1:
                raise
            # fewer numbers are better than none where descriptors or memory do not suffice for every set
            watched = self._opened(application, chosen.first_only(self._machine), pids, on_exec=child is not None)
        if self._waits is not None and not self.watched:
            self._waits.forget(watched.opened_ns)
        self.watched.append(watched)
        self._watch_parallel(watched)
        return watched

    def _opened(self, application: Application, chosen: ChosenSets, pids: tuple[int, ...], *,
                on_exec: bool) -> WatchedApplication:
        sets = chosen.sets
        # a thread's sets are for CPUs that come online later too; those of whole CPUs are opened when they come
        cpus = self._present() if sets[0].mode is Mode.INHERITED else self._cpus
        scheduled = (self._host.kind is HostKind.REAL and len(sets) == 1
                     and sets[0].mode not in (Mode.CPUS, Mode.PROC))
        readers = tuple(open_sample_reader(self._host, choice, cpus, self.waiting, self._pages) for choice in sets)
        timeline = (Timeline(LIVE_BIN_NS, LIVE_HORIZON_NS) if self._live
                    else Timeline() if self._drawn else Timeline(most=0))
        if sets[0].mode is Mode.PROC:
            timeline = Timeline(most=0)  # when it ran is not known
        multiplexed = MultiplexedSets() if len(sets) > 1 else None
        kept = pids if application.command and sets[0].mode is Mode.CPUS else None
        aggregators = tuple(SampleAggregator(choice, reader.roots, timeline, multiplexed=multiplexed, kept=kept,
                                             scheduled=scheduled) for choice, reader in zip(sets, readers, strict=True))
        now = self._host.now_ns()
        nothing: Marks = ({},) * len(sets)
        watched = WatchedApplication(application, readers, aggregators, ApplicationTotals(aggregators), chosen.numerics,
                                     pids, None, now, nothing, now, nothing, now, taken_ns=now)
        try:
            if scheduled:
                self._time_switches()
                self._note_bases(aggregators[0], pids)
            for number, reader in enumerate(readers):
                if number:
                    reader.rest()
                watched.folder = self._aim(watched, reader, on_exec=on_exec and not number)
            if sets[0].mode is Mode.CPUS or (sets[0].mode is Mode.PROC and application.everything):
                self._begin_whole_cpus(watched)
            for aggregator in aggregators:
                self._name_all(aggregator, watched)
        except BaseException:
            for reader in readers:
                reader.close()
            raise
        return watched

    def _begin_whole_cpus(self, watched: WatchedApplication) -> None:
        """Begin the time of whole CPUs with the counters of the first set; opening the others takes ms a CPU."""
        began = self._host.now_ns() - watched.readers[0].counted_ns
        watched.opened_ns = watched.marked_ns = watched.before_ns = watched.taken_ns = began
        sight = self.facts.sight
        if sight.nested or watched.aggregate.choice.mode is Mode.PROC:
            watched.idle = IdleTimes(self._host, self._cpus, known=sight.times and watched.folder is None)

    @property
    def pause(self) -> float:
        """Seconds that a round may wait while the kernel keeps samples in the rings."""
        now = self._host.now_ns()
        return min((application.pause(now) for application in self.watched), default=_PAUSE)

    def round(self, seconds: float) -> None:
        """Wait for records, at most this many seconds, and process them."""
        self.waiting.wait(seconds)
        now = self._host.now_ns()
        ran = None if self._switches is None else self._switches.take()
        if self._waits is not None:
            self._waits.drain(now)
        if self._loads is not None:
            self._loads.drain()
        for application in self.watched:
            application.take(now, ran)
            if application.parallel is not None and not application.parallel.look_in(now):
                application.parallel.look(self._host.now_ns(), self._waiting_for(application))
            application.next_slice(now)
            if application.regions is not None:
                application.regions.settle()
        if self._stats.due(now):
            for application in self.watched:
                self._read_times(application, whole=False)

    def _waiting_for(self, watched: WatchedApplication) -> dict[int, str]:
        """What threads that are off their CPUs wait for at this moment, by the number of their entry."""
        reasons: dict[int, str] = {}
        for entry in islice((entry for entry in watched.aggregators[0].entries() if entry.tid > 0 and not entry.ended),
                            _MOST_LOOKED_AT):
            word = sleeps_in(self._host, entry.pid, entry.tid)
            if not word and (stat := self.facts.stat(entry.pid, entry.tid)) is not None and stat.state == "R":
                word = "a CPU"
            if word:
                reasons[entry.serial] = word
        return reasons

    def gone(self, watched: WatchedApplication) -> bool:
        """Tell whether all processes of the application have ended, including zombies."""
        if self._host.kind is not HostKind.REAL:
            return False
        if watched.folder is not None:
            return not self._host.exists(watched.folder)
        return bool(watched.pids) and all(has_ended(self._host, pid) for pid in watched.pids)

    def report(self, watched: WatchedApplication, by: Grouping, *, whole: bool = False, again: bool = False) -> Report:
        """End the interval, and return its rows.

        Args:
            by: what a row stands for.
            whole: since the beginning, ending nothing.
            again: from the beginning of the interval before, ending nothing: the same interval in another light.
        """
        self._name_nameless(watched)
        if not again:
            self._read_times(watched, whole=True)
        if not again and not whole:
            watched.end()
        since, since_ns = (watched.before, watched.before_ns) if again else (watched.since, watched.marked_ns)
        before = None if whole or again else watched.before
        rows = watched.aggregate.rows(by, None if whole else since, watched.application.name, before)
        if by is Grouping.UNIT:
            rows = by_group(rows, self.family(watched).group)
        apart = watched.aggregate.apart(None if whole else since)
        if watched.idle is not None:
            if not again and not whole:
                watched.idle.end()
            apart = self._apart_by_idle_time(watched, apart, rows, watched.idle.spent(whole=whole, again=again),
                                             watched.taken_ns - (watched.opened_ns if whole else since_ns))
        sets = watched.aggregate.totals(None if whole else since).sets
        seconds = (watched.taken_ns - (watched.opened_ns if whole else since_ns)) / 1e9
        early = 0.0 if whole or again else watched.early
        rows = self._with_waits(rows, watched, by, whole=whole, again=again)
        rows = self._with_loads(rows, watched, whole=whole, again=again)
        if watched.parallel is not None:
            if not again:
                watched.parallel.end_interval(watched.unseen_switches())
            rows = watched.parallel.rows(rows, whole=whole)
        if not whole and not again:
            watched.slice_ns = slice_for(watched.taken_ns - watched.marked_ns, len(watched.readers))
            watched.begin()
        aggregate = watched.aggregate
        return Report(
            watched.application,
            aggregate.choice,
            watched.numerics,
            tuple(rows),
            seconds,
            aggregate.lost,
            aggregate.throttled,
            sum(reader.damaged for reader in watched.readers),
            watched.missed,
            self.gone(watched),
            "",
            aggregate.names,
            aggregate.set_count,
            early,
            sets,
            apart,
            watched.used_ns,
            (0 if self._waits is None else self._waits.lost) if self._waits_wanted else None,
            "" if self._loads is None else self._loads.sentence(),
            {} if self._waits is None else self._waits.cpu_waits(whole=whole),
            None if watched.parallel is None else watched.parallel.window(whole=whole),
            None if watched.idle is None else
            self.facts.sight.why if aggregate.choice.mode is Mode.CPUS else self.facts.sight.unseen,
        )

    def _apart_by_idle_time(self, watched: WatchedApplication, apart: dict[str, Apart], rows: Sequence[TaskRow],
                            idle_ns: int | None, span_ns: int) -> dict[str, Apart]:
        """What is in no row, where only /proc/stat knows for how long the CPUs idled."""
        if watched.aggregate.choice.mode is Mode.CPUS:
            return idle_apart(apart, idle_ns, by_cycles="cycles" in watched.aggregate.names)
        rest = max(0, span_ns * len(self._cpus) - sum(row.counts[RUN] for row in rows))
        word = MEANWHILE_PART if self.facts.sight.unseen is None else OUTSIDE_PART
        return rest_apart(rest, idle_ns, self._cpus, word)

    def family(self, watched: WatchedApplication, known: Mapping[int, Stat] | None = None) -> Lineage:
        """Return the present ancestry of an application's processes, of which some states may be known already."""
        return Lineage(self.facts, watched.aggregators[0].births, known)

    def finish(self) -> None:
        """Stop counting, and process the last read of every counter."""
        for application in self.watched:
            for reader in application.readers:
                reader.stop()
        ran = None if self._switches is None else self._switches.take()
        for application in self.watched:
            application.taken_ns = self._host.now_ns()
            if application.idle is not None:
                application.idle.end()
            for reader, aggregator in zip(application.readers, application.aggregators, strict=True):
                application.book(reader, aggregator, ran)
                if aggregator is application.aggregators[-1]:
                    self._read_times(application, whole=True)
                aggregator.close(reader.final_readings())
            application.finish_parallel()
            if application.regions is not None:
                application.regions.settle()

    def close(self) -> None:
        """Close every descriptor."""
        for application in self.watched:
            for reader in application.readers:
                reader.close()
        self.watched.clear()
        if self._switches is not None:
            self._switches.close()
        self.watch_waits(False)
        self.watch_loads(False)
        self.waiting.close()

    def _time_switches(self) -> None:
        if self._switches is None:
            try:
                self._switches = SwitchTimes(self._host, self._cpus, self.waiting)
            except (HostError, MachineError):
                return  # CPU time of threads that ended is then an estimate, which rows say
            self._stats = SchedStats(self._host, self._switches)
        ran = self._switches.take()  # of before the new counters: the others'
        for application in self.watched:
            for aggregator in application.aggregators:
                aggregator.spend(ran)

    def _note_bases(self, aggregator: SampleAggregator, pids: Sequence[int]) -> None:
        for pid in pids:
            for tid in threads_of(self._host, pid):
                if aggregator.time is not None and (spent := cpu_time(self._host, pid, tid)) is not None:
                    aggregator.time.base(tid, spent)
                    if self._switches is not None:
                        self._switches.known(tid, self._host.now_ns())

    def _read_times(self, watched: WatchedApplication, *, whole: bool) -> None:
        for aggregator in watched.aggregators:
            if aggregator.time is not None:
                children = watched.pids if watched.application.command and watched.used_ns is None else ()
                self._stats.look(aggregator.of_threads(), aggregator.time, children, whole=whole)

    def _present(self) -> tuple[int, ...]:
        return tuple(sorted(cpus_in(self._host, _PRESENT) | set(self._cpus)))

    def _choose(self, application: Application, pids: Sequence[int]) -> ChosenSets:
        """Choose the event sets, in a method of its own, because tests multiplex sets that would fit together."""
        return choose_sets(self._machine, application, pids)

    def _aim(self, watched: WatchedApplication, reader: SampleReader, *, on_exec: bool) -> str | None:
        """Open the counters of one event set, and return the control group's folder."""
        application = watched.application
        real = self._host.kind is HostKind.REAL
        if application.everything:
            reader.add_cpus()
            return None
        if application.cgroup is not None or application.container:
            if not real:
                raise MachineError(f"{self._host.name} is a simulated machine without control groups: "
                                   "watch all, or one of its processes by number")
            folder = cgroup_folder(self._host, application.cgroup or "/")
            reader.add_cpus(folder)
            return folder
        if (
            watched.aggregate.choice.mode is Mode.CPUS and real
        ):  # a command, whose descendants the aggregator distinguishes
            reader.add_cpus()
            return None
        for pid in watched.pids:
            reader.add_process(pid, on_exec=on_exec)
        return None

    def _name_nameless(self, watched: WatchedApplication) -> None:
        """Read names from /proc for threads whose creation was not recorded."""
        if self._host.kind is HostKind.REAL and not self.facts.sight.foreign:
            for aggregator in watched.aggregators:
                for pid, tid in aggregator.nameless():
                    aggregator.rename(tid, name_of(self._host, pid, tid))

    def _name_all(self, aggregator: SampleAggregator, watched: WatchedApplication) -> None:
        if self._host.kind is not HostKind.REAL or self.facts.sight.foreign:
            return
        for pid in processes(self._host) if watched.application.whole_cpus else watched.pids:
            for tid in threads_of(self._host, pid):
                aggregator.name(tid, name_of(self._host, pid, tid))
