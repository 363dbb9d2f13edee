"""The sampler asks every worker at absolute deadlines and publishes one frame per interval.

An interval ends at its deadline, or early on a newline, a key, SIGUSR1 or the end of a command, always through
`end_interval`. A tick that falls into a slow tick is skipped and counted, and never made up for.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import KeptFile
from turbotui.machine.timed_reads import clock_offset
from turbotui.machine.topology import Topology, read_topology
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.answers import Answer, RowRequest
from turbotui.sampling.assembly import Assembler, Tick
from turbotui.sampling.bus import Bus
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.collector import CLOCK, Clock, WakeUp, clock_here
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.liveness import Liveness
from turbotui.sampling.plan import Plan, make_plan
from turbotui.sampling.row_workers import LatestRows, RowSource
from turbotui.sampling.suspensions import Suspensions
from turbotui.sampling.worker_pool import NO_HURRY, WorkerPool
from turbotui.sampling.wraps import WrapCounter
from turbotui.sources.source import Source

if TYPE_CHECKING:  # imported on use: few programs drop root
    from turbotui.sampling.relinquishing import Relinquished

_LATE_SHARE = 0.5  # a worker that has not answered after this share of the interval is late
_LATE_FLOOR = 0.25  # minimum time in s for a worker: opening counters on the first tick takes longer than reading
_WAIT_INTERVALS = 5  # intervals after which a reader that prints goes on without a worker
_WAIT_SECONDS = (5.0, 60.0)  # the same at least and at most: realtime tasks leave others 50 ms of a second (sched(7))
_LAST_SECONDS = 2.0  # the same for the last reading, for which somebody waits who has ended the program
_FIRST_TICK_SECONDS = 30.0  # opening thousands of counters may take seconds; reading them never does
_TICKS_TO_OPEN = 3  # for workers that were late in the first tick; after that, privileges are dropped anyway
_WRAP_CHECKS = 3  # readings of a counter in the time it can wrap in: one may be late or fail without loss
_WRAP_CHECK_FLOOR = (
    0.05  # minimum seconds between two wrap checks, in case a wrong unit makes the wrap time too short
)
_CHECK_NS = 200_000_000  # seconds between two searches for CPUs that came or went; a CPU that is gone reports itself
_ONLINE = "/sys/devices/system/cpu/online"


@dataclass(frozen=True, slots=True)
class _Requests:
    """What other threads ask for from the next tick on."""

    wanted: frozenset[SignalId]
    tcc: int | None  # °C from which temperatures count down; None for the machine's own value
    added: tuple[Source, ...] = ()  # sources since the last tick
    beside: tuple[Source, ...] = ()  # sources that are read beside the capabilities' own
    rows: Mapping[KindId, RowSource] = field(default_factory=dict)
    retold: bool = False  # whether the capabilities are to be described again


class Sampler:
    """Samples one machine until stopped. `run` does all the work; any thread may call the other methods.

    Attributes:
        bus: where frames are published.
        waits: whether an interval ends when all workers have answered, as printed numbers must: the workers of the
            busiest CPUs are the last. Otherwise it ends without those that are late, as a screen must.
        moves: whether a few workers read all CPUs, moving from one to the next, which costs less the more CPUs there
            are; set before `run`. Otherwise each CPU has its own worker, so that none is late because of another.
        hold: seconds for which frames may be held back. At shorter intervals workers read several ticks by their own
            clocks and wake nobody in between, which halves the wake-ups and leaves little work beside the reading.
    """

    def __init__(self, machine: Machine, capabilities: Capabilities, wanted: frozenset[SignalId], interval: float,
                 cpus: frozenset[int] | None = None, *, clock: Clock = CLOCK) -> None:
        self.bus: Bus[Frame] = Bus()
        self.interval = interval
        self.waits = False
        self.moves = False
        self.hold = 0.0
        self._machine = machine
        self._offered = capabilities
        self._asked_cpus = cpus
        self._wanted = wanted
        self._beside: tuple[Source, ...] = ()
        self._rows: Mapping[KindId, RowSource] = {}
        self._next = _Requests(wanted, machine.tcc)
        self._latest_rows = LatestRows()
        self._changed = False
        self._begun = False
        self._stopping = False
        self._give_up: Callable[[], None] | None = None
        self._relinquished: Relinquished | None = None
        self._clock = clock
        self._early = WakeUp(clock)
        self._wraps = WrapCounter()
        self._liveness = Liveness(recorded=machine.host.kind is HostKind.RECORDED)
        self._asleep = Suspensions(machine.host)
        self._capabilities = capabilities
        self._anew: frozenset[SignalId] = frozenset()
        self._pool = WorkerPool(self._cut, self._grace, clock)
        self._replan()
        self._frames = FrameMaker()
        self._seq = 0
        self._overruns = 0
        self._late_total = 0
        self._incomplete = 0
        self._recheck = False
        self._newest_topology: Topology | None = None
        self._online = KeptFile(machine.host, _ONLINE)
        self._cpus_seen = self._cpus_now()
        self._online.close()  # whoever does not run a sampler does not end it
        self._wraps_checked = 0.0
        self._checked = -_CHECK_NS
        self._handover = threading.RLock()

    def give_up(self, give_up: Callable[[], None]) -> None:
        """Call this once every counter is open; afterwards no counter that needs privileges can be opened."""
        self._give_up = give_up

    def want(self, wanted: frozenset[SignalId]) -> None:
        """Read these signals from the next tick on."""
        self._request(wanted=wanted)

    def add(self, source: Source) -> None:
        """Add a source from the next tick on."""
        with self._handover:
            self._request(added=(*self._next.added, source))

    def describe_again(self) -> None:
        """Describe the capabilities again from the next tick on, because the same readings now make other columns."""
        self._request(retold=True)

    def set_tcc(self, degrees: int | None) -> None:
        """Count temperatures down from this value in °C from the next tick on; None for the machine's own value."""
        self._request(tcc=degrees)

    def beside(self, sources: Sequence[Source]) -> None:
        """Read exactly these sources beside the capabilities' own from the next tick on."""
        self._request(beside=tuple(sources))

    def read_rows(self, sources: Mapping[KindId, RowSource]) -> None:
        """Read the rows of exactly these kinds from the next tick on."""
        self._request(rows=dict(sources))

    def _request(self, **changes: Any) -> None:
        with self._handover:
            self._next = replace(self._next, **changes)
        self._changed = True  # set after the change itself: a thread that sees this flag sees the change
        self._pool.wake_up.request()  # cancels pending ticks: the next one reads what is wanted now

    def end_interval(self) -> None:
        """End the interval now; before `run` has begun, end the first interval as soon as it begins."""
        self._early.request()
        self._pool.wake_up.request()

    def set_interval(self, seconds: float) -> None:
        """Change the interval; the current one ends now. Before `run` has begun, the first one gets this length."""
        self.interval = seconds
        if self._begun:
            self.end_interval()

    def stop(self) -> None:
        """End the interval, publish it, and return from `run`."""
        self._stopping = True
        self.end_interval()

    async def run(self, intervals: int | None = None, first: float | None = None) -> None:
        """Sample until `stop`, or until this many intervals have been published.

        Args:
            first: length of the first interval in seconds, short so that a screen has numbers soon; None for a full
                one.
        """
        now = clock_here(self._clock)
        if self._stopping:
            return
        self._begun = True
        if self.moves:
            self._pool.move()
        try:
            await self._tick(now)
            if self._give_up is not None:
                await self._without_privileges(self._give_up, now)
            deadline = now() + (self.interval if first is None else min(first, self.interval))
            done = 0
            last = self._stopping
            while not last and (intervals is None or done < intervals):
                ahead = self._ticks_ahead(None if intervals is None else intervals - done)
                if ahead > 1:
                    ticks = [deadline + number * self.interval for number in range(ahead)]
                    read, published = await self._read_ticks(now, ticks)
                    done += published
                    deadline += read * self.interval
                    if not self._early.requested:
                        deadline = self._next_deadline(now(), deadline - self.interval)
                        continue
                    if done == intervals:
                        break
                if await self._wait(now, deadline):
                    deadline = now()  # ticks count from the moment of the cut
                last = self._stopping  # a stop during the publication of this tick ends one more, short interval
                await self._tick(now)
                done += 1
                deadline = self._next_deadline(now(), deadline)
        finally:
            self._pool.end()
            self._online.close()

    async def _without_privileges(self, give_up: Callable[[], None], now: Callable[[], float]) -> None:
        """Wait for workers that still open counters, drop the privileges, and probe what remains."""
        for _ in range(_TICKS_TO_OPEN):
            if self._frames.last is None or not self._frames.last.late:
                break
            await self._tick(now)
        before, read = self._offered, self._plan.signals()
        give_up()
        self._machine = replace(self._machine, privileges=self._machine.host.privileges())
        capabilities = probe_sources(self._machine, before.sources)
        from turbotui.sampling.relinquishing import relinquish  # noqa: PLC0415 - few give root up

        self._relinquished = relinquish(before, capabilities, read)
        self._offered = self._relinquished.offered(capabilities)
        self._replan()

    def _next_deadline(self, now: float, deadline: float) -> float:
        deadline += self.interval
        # missed ticks are skipped and not made up for: frames in quick succession would cover almost no time
        while deadline <= now:
            deadline += self.interval
            self._overruns += 1
        return deadline

    async def _wait(self, now: Callable[[], float], deadline: float) -> bool:
        """Wait for the deadline; True if the interval was ended early.

        Counters that wrap are checked often enough while waiting, however far the deadline is.
        """
        while True:
            until = min(deadline, self._wraps_checked + self._wrap_check_every)
            if await self._early.sleep_until(until):
                return True
            if until >= deadline:
                return False
            answers, _late = await self._pool.ask(now, min(_LATE_FLOOR, max(0.0, deadline - now())), wrap_check=True)
            self._asleep.look()
            self._assembler.note(answers, self._asleep.ns)
            self._recheck = self._recheck or any(answer.gone for answer in answers)
            self._wraps_checked = now()

    def _ticks_ahead(self, most: int | None) -> int:
        """The number of ticks for which workers are asked in one request."""
        if not self._pool.keeps_time:
            return 1
        ahead = math.floor(self.hold / self.interval + 1e-6)
        return ahead if most is None else min(ahead, most)

    async def _read_ticks(self, now: Callable[[], float], ticks: Sequence[float]) -> tuple[int, int]:
        """Let workers read at each of these times, and publish a frame for each.

        Returns:
            The number of ticks that were read, fewer if a change or the end of the interval cancelled the rest, and of
            those that were published: who waits gets no frame of a tick that a worker missed.
        """
        self._follow_changes()
        host = self._machine.host
        self._asleep.look()
        answers, away = await self._pool.ask(now, ticks[-1] - now() + self._patience(), ticks=tuple(ticks))
        self._wraps_checked = now()
        torn = self._asleep.look()
        clock, wall = (clock_offset(ahead, lambda: round(now() * 1e9)) for ahead in (host.now_ns, host.wall_ns))
        # a tick cut between two of its readings counts as not read
        ends = [max(answer.ticks, default=-1) + 1 for answer in answers]
        read = min(ends, default=sum(tick <= now() for tick in ticks))
        by_worker = {answer.worker: answer.ticks for answer in answers}
        by_cpu = {cpu: by_worker[worker] for cpu, worker in self._pool.by_cpu.items() if worker in by_worker}
        published = 0
        for number in range(read):
            read_answers = [ticks_of[number] for ticks_of in by_cpu.values() if number in ticks_of]
            late = away.union(cpu for cpu, ticks_of in by_cpu.items() if number not in ticks_of)
            if self.waits and late and self._incomplete * self.interval < self._patience():
                self._incomplete += 1
                self._overruns += 1
                continue
            self._incomplete = 0
            published += 1
            at = round(ticks[number] * 1e9)
            self._seq += 1
            self._publish(read_answers, late, at + wall, at + clock, behind=read - 1 - number, torn=torn)
        self._check(host.now_ns())
        return read, published

    async def _tick(self, now: Callable[[], float]) -> None:
        """Ask all workers, wait until all have answered or are late, and publish the frame."""
        self._follow_changes()
        host = self._machine.host
        self._seq += 1
        self._asleep.look()
        wall, started = host.wall_ns(), host.now_ns()
        patience = self._patience() if self._seq > 1 else _FIRST_TICK_SECONDS
        rows = RowRequest(wall, started + self._asleep.ns, self._asleep.ns, self._latest_rows.ticks)
        answers, late = await self._pool.ask(now, patience, waits=self.waits, rows=rows)
        self._wraps_checked = now()
        self._publish(answers, late, wall, started, torn=self._asleep.look())
        # after the readings, which come first, when the machine is at rest again
        self._check(started)

    def _patience(self) -> float:
        """Seconds that workers have for a reading."""
        if not self.waits:
            return max(_LATE_FLOOR, self.interval * _LATE_SHARE)
        least, most = _WAIT_SECONDS
        return min(max(least, self.interval * _WAIT_INTERVALS), most)

    def _publish(self, answers: Sequence[Answer], late: frozenset[int], wall: int, started: int, *,
                 behind: int = 0, torn: bool = False) -> None:
        """Assemble a snapshot and publish its frame; one interrupted by a suspension starts all counters anew."""
        if torn:
            self._anew = self._plan.signals()
        self._late_total += len(late)
        slept = self._asleep.ns
        snapshot = self._assembler.assemble(answers, Tick(self._seq - 1, wall, started + slept, late, self._overruns,
                                                          self._late_total, behind, slept, self._anew))
        if self._rows:
            rows, no_rows = self._latest_rows.take(tuple(self._rows), answers, torn=torn)
            snapshot = replace(snapshot, rows=rows, no_rows=no_rows)
        self._anew = self._plan.signals() if torn else frozenset()
        self._recheck = bool(snapshot.failed)
        self.bus.publish(self._frames.frame(snapshot, self._capabilities))

    def _check(self, at: int) -> None:
        """Look for CPUs that came or went, if it is time or one is known to have gone."""
        if self._recheck or at - self._checked >= _CHECK_NS:
            self._checked = at
            self._newest_topology = self._new_topology()

    def _cut(self) -> bool:
        """Tell whether pending ticks are outdated."""
        return self._changed or self._early.requested

    def _grace(self) -> float:
        """Seconds that pending answers still have: unlimited until a stop, none before the first snapshot."""
        if not self._stopping:
            return NO_HURRY
        return 0.0 if self._frames.last is None else _LAST_SECONDS if self.waits else _LATE_FLOOR

    def _follow_changes(self) -> None:
        """Apply the changes requested since the last tick, and CPUs that came or went."""
        topology, self._newest_topology = self._newest_topology, None
        if not self._changed and topology is None:
            return
        with self._handover:
            asked, self._next = self._next, replace(self._next, added=(), retold=False)
            self._changed = False
        if asked.rows != self._rows:
            self._rows = asked.rows
            self._latest_rows.keep(asked.rows)
            self._pool.follow_rows(asked.rows)
        same = asked == _Requests(self._wanted, self._machine.tcc, beside=self._beside, rows=self._rows)
        if same and topology is None:
            return
        self._wanted = asked.wanted
        if topology is not None:
            self._machine = self._machine.with_topology(topology)
        if topology is not None or asked.tcc != self._machine.tcc:
            self._machine = replace(self._machine, tcc=asked.tcc)
            # with other CPUs, other CPUs may read a PMU's counters; thermal readouts count down from another target
            self._offered = probe_sources(self._machine, self._offered.sources)
        if asked.retold:
            self._offered = replace(self._offered)
        for source in asked.added:
            self._offered = self._offered.plus(self._machine, source)
        if asked.beside != self._beside:
            gone = [source for source in self._beside if source not in asked.beside]
            come = [source for source in asked.beside if source not in self._beside]
            self._offered = self._offered.exchange(self._machine, gone, come)
            self._beside = asked.beside
        if self._relinquished is not None:
            self._offered = self._relinquished.offered(self._offered)
        self._replan()

    def _replan(self) -> None:
        """Decide again who reads what; signals that were given up before are tried again."""
        before = self._capabilities
        self._plan: Plan = make_plan(self._machine, self._offered, self._wanted if self._relinquished is None
                                     else self._relinquished.wanted(self._wanted, self._offered))
        self._capabilities = self._offered.without(self._plan.dropped) if self._plan.dropped else self._offered
        self._anew |= self._capabilities.counted_otherwise(before)
        self._pool.follow(self._machine, self._plan, self._capabilities.signals)
        self._assembler = Assembler(self._machine.topology, self._capabilities, self._plan, self._wraps, self._liveness)
        wraps = [seconds for name in self._plan.signals()
                 if (seconds := self._capabilities.signals[name].wrap_seconds) > 0]
        self._wrap_check_every = max(min(wraps, default=math.inf) / _WRAP_CHECKS, _WRAP_CHECK_FLOOR)

    def _new_topology(self) -> Topology | None:
        """The new topology if CPUs came, went, or left the cpuset; None if nothing changed."""
        seen = self._cpus_now()
        if seen == self._cpus_seen and not self._recheck:
            return None
        host = self._machine.host
        asked = self._asked_cpus
        online, usable = seen
        if asked is not None and online:
            asked &= frozenset(parse_cpulist(online))
        if asked is not None and usable is not None:
            asked &= usable
        if asked is not None and not asked:
            return None  # all requested CPUs are offline: their rows say so until one comes back
        try:
            topology = read_topology(host, asked)
        except TurbotuiError:  # nothing can be measured right now: keep the rows, which say offline
            return None
        self._cpus_seen = seen
        return None if topology.cpus == self._machine.topology.cpus else topology

    def _cpus_now(self) -> tuple[str, frozenset[int] | None]:
        """Read the online CPUs and the cpuset; cheap enough for every tick."""
        online = self._online.text()  # if a recorded tree lacks the file, the cpuset alone decides
        return online, self._machine.host.usable_cpus(online)

