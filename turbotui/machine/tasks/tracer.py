"""Traces threads: opens their counters, maps the rings, finds new threads, and returns records."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.perf_blocks import BEHIND, UNMERGED, Decoder
from turbotui.machine.perf_records import CounterReopened, GroupReading, parse_reading
from turbotui.machine.perf_ring import SET_OUTPUT, WHOLE_GROUP, Ring, event_id
from turbotui.machine.sample_numbers import SampleNumbers
from turbotui.machine.tasks.clock_throttle import POLL_NS, ClockThrottle
from turbotui.machine.tasks.draining import Draining, RingRecords, in_order
from turbotui.machine.tasks.memory import affordable, pages_for, pages_of_ends
from turbotui.machine.tasks.processes import threads_of
from turbotui.machine.tasks.sets import CounterSet, Mode, SamplingMoment, TaskSampling, open_set, switch_namer
from turbotui.machine.tasks.wait_set import WaitSet

_PAGES_THREAD: Final = 16  # many threads share the memory that may be locked
_SEARCH: Final = 0.05  # seconds between two polls for new threads in /proc (mode A)
_TAKE: Final = 0.2  # seconds between two polls of rings that wake their reader when they are half full
_REPLUG_NS: Final = 1_000_000_000  # ns between two readings of the list of online CPUs
_ONLINE: Final = "/sys/devices/system/cpu/online"
_UNDOUBTED_NS: Final = 600_000_000  # ns without doubt after which no other program numbers samples
_CHECKED: Final = 256  # samples of a CPU's threads, each named by its switch, after which none does on that CPU
_SCANS: Final = 20  # at most so many listings of a process that creates threads faster than they can be listed


@dataclass(frozen=True, slots=True)
class Closing:
    """The last reading of a set's counters: the thread's own, or in mode B the sum over all that inherited the set."""

    root: int
    cpu: int
    reading: GroupReading


class TaskTracer:
    """Samples the threads of processes, of a control group, or of whole CPUs.

    Args:
        host: this machine.
        pages: the number of pages of each ring; a power of two, None for the default.
        waiting: shared with other tracers, and closed by its creator; None for one of the tracer's own.
    """

    def __init__(self, host: Host, choice: TaskSampling, cpus: Sequence[int], pages: int | None = None,
                 waiting: WaitSet | None = None) -> None:
        self._host = host
        self._cpus = tuple(cpus)
        self._pages = pages or (_PAGES_THREAD if choice.mode is Mode.THREADS else
                                affordable(host, pages_for(len(self._cpus)), len(self._cpus), ends=choice.last))
        self._sets: list[CounterSet] = []
        self._rings: dict[int, Ring] = {}  # by the descriptor that it is mapped on
        self._ring_cpu: dict[int, int] = {}
        self._decoders: dict[int, Decoder] = {}
        self._behind = BEHIND
        self._ends: dict[int, Ring] = {}  # of those that end, by the descriptor that reports them
        self._ends_cpu: dict[int, int] = {}
        self._rings_of_ends = 0  # that there may be
        self._cgroup: int | None = None
        self._active_cpus: set[int] = set()  # CPUs whose rings had records since the last reading of the online CPUs
        self._replug_ns = 0
        self._throttles: dict[int, ClockThrottle] = {}  # by the descriptor of the ring; of sets that trace threads
        self._waiting = WaitSet() if waiting is None else waiting
        self._own_waiting = self._waiting if waiting is None else None
        self._known: set[int] = set()
        self._closed: list[Closing] = []
        self._resting = False
        self.choice = choice
        self.roots: dict[int, int] = {}
        """By the identifier that a sample carries: the thread whose set took it."""
        self._numbers = SampleNumbers(self.roots)
        self._began_ns = self._doubted_ns = 0  # when CPUs were added; when a sample last had another program's numbers
        self._enabled_ns = 0  # when the counters of whole CPUs were started
        self._namers: dict[int, int] = {}  # events that name who is switched out, by the descriptor of the ring

    @property
    def damaged(self) -> int:
        """The number of malformed records."""
        return sum(decoder.damaged for decoder in self._decoders.values())

    @property
    def merged(self) -> int:
        """The number of slices that were merged with others because there were too many to read each."""
        return sum(decoder.merged for decoder in self._decoders.values())

    def want_slices(self, wanted: bool) -> None:
        """Say whether each slice is wanted: then samples are merged only where there are eight times as many."""
        self._behind = UNMERGED if wanted else BEHIND
        for decoder in self._decoders.values():
            decoder.behind = self._behind

    @property
    def followed(self) -> frozenset[int]:
        """The number of threads with sets of their own."""
        return frozenset(self._known)

    @property
    def pause(self) -> float:
        """Seconds that may pass before the next `take`, while the rings keep the samples."""
        if any(throttle.close for throttle in self._throttles.values()) or (
                self._namers and self._doubted_ns == self._began_ns):  # nobody has doubted yet
            return POLL_NS / 1e9
        return _SEARCH if self.choice.mode is Mode.THREADS else _TAKE

    @property
    def resting(self) -> frozenset[int]:
        """CPUs on which the clock rests because switches are frequent; -1 for that of a thread's own set."""
        return frozenset(self._ring_cpu[ring] for ring, throttle in self._throttles.items() if throttle.resting)

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Follow all threads that a process has now; new ones are inherited, or found by `find_threads`.

        Returns:
            The number of new threads.

        Raises:
            MachineError: the process does not exist or may not be watched, or descriptors or memory do not suffice.
        """
        added = 0
        seen = False
        for _ in range(_SCANS):
            threads = threads_of(self._host, pid)
            fresh = sorted(threads - self._known)
            self._rings_of_ends = max(self._rings_of_ends, len(threads) * len(self._cpus))
            seen |= bool(threads & self._known)
            if not fresh:
                break
            for tid in fresh:
                added += self._add_thread(tid, on_exec=on_exec)
        if not added and not seen:
            raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
        return added

    def add_cpus(self, cgroup: str | None = None) -> None:
        """Watch all switches on the CPUs, or with the folder of a cgroup only those of its threads.

        Raises:
            MachineError: not permitted, or descriptors or memory do not suffice.
        """
        try:
            self._cgroup = None if cgroup is None else self._host.open_file(cgroup)
        except HostError as error:
            raise MachineError(f"the control group {cgroup} cannot be watched: {error.strerror}") from error
        self._began_ns = self._doubted_ns = self._host.now_ns()
        self._replug_ns = self._began_ns + _REPLUG_NS
        for cpu in self._cpus:
            self._add_cpu(cpu, enable=False)
        self._name_switches(self._began_ns)
        self._enabled_ns = self._host.now_ns()
        self._enable(self._sets)  # all at one instant: it takes a millisecond a CPU to open them

    @property
    def counted_ns(self) -> int:
        """For how long the CPUs have been counted."""
        return self._host.now_ns() - self._enabled_ns if self._enabled_ns else 0

    def _add_cpu(self, cpu: int, *, enable: bool) -> None:
        cgroup = self._cgroup
        self._keep([self._open(-1 if cgroup is None else cgroup, cpu, cgroup=cgroup is not None)], enable=enable)

    def find_threads(self, pids: Iterable[int]) -> frozenset[int]:
        """In mode A, find threads that were created since the last call.

        Returns:
            Processes that have ended.
        """
        over: set[int] = set()
        if self.choice.mode is Mode.THREADS:
            for pid in pids:
                threads = threads_of(self._host, pid)
                if not threads:
                    over.add(pid)
                try:
                    for tid in sorted(threads - self._known):
                        self._add_thread(tid, on_exec=False)
                except MachineError:  # another user's, or no descriptor is left: counted as missed
                    over.add(pid)
        return frozenset(over)

    def wait(self, seconds: float) -> None:
        """Wait until a ring is half full or a target ended, at most for these seconds."""
        self._waiting.wait(seconds)

    def watch(self, descriptor: int) -> None:
        """Have `wait` end when this descriptor becomes readable too."""
        self._waiting.add(descriptor)

    def take(self) -> Iterator[list[RingRecords]]:
        """Empty the rings, and return records since the last call, in batches with one entry per ring."""
        now = self._numbers.now = self._host.now_ns()
        foreign = self._numbers.foreign
        # first, so that the records before the last counts, of the thread's creation and its end, are present
        ends = [Draining(ring, self._decoders[descriptor], self._ends_cpu[descriptor])
                for descriptor, ring in self._ends.items()]
        samples = {descriptor: Draining(ring, self._decoders[descriptor], self._ring_cpu[descriptor])
                   for descriptor, ring in self._rings.items()}
        for descriptor, draining in samples.items():
            throttle = self._throttles.get(descriptor)
            if throttle is not None and throttle.update(
                    now, 0 if foreign else draining.size // self._decoders[descriptor].sample_bytes):
                self._rest(descriptor, throttle)  # of samples that another program numbers, those of the clock are ours
            if draining.size:
                self._active_cpus.add(self._ring_cpu[descriptor])
        yield from in_order([*ends, *samples.values()])
        self._release()
        if self.choice.mode is Mode.CPUS:
            self._name_switches(now)
        if self.choice.mode is Mode.CPUS and now >= self._replug_ns:
            yield self._replug(now)

    def _name_switches(self, now: int) -> None:
        """Have each CPU's ring name who is switched out while another program may number samples.

        At first, because another may be there already; later from the first sample on that shows it. A switch then
        takes three times the bytes, so a CPU that has named enough threads right goes on without.
        """
        doubted, self._numbers.doubted = self._numbers.doubted, False
        if doubted:
            self._doubted_ns = now
            for decoder in self._decoders.values():
                decoder.checked = 0
        elif now - self._doubted_ns >= _UNDOUBTED_NS:
            self._unname()
            return
        cgroup = self._cgroup
        try:
            for counters in self._sets:
                if self._decoders[counters.leader].checked >= _CHECKED:
                    self._unname(counters.leader)
                elif counters.leader not in self._namers:
                    self._namers[counters.leader] = namer = self._host.perf_event_open(
                        switch_namer(cgroup=cgroup is not None), -1 if cgroup is None else cgroup, counters.cpu, -1)
                    control(namer, SET_OUTPUT, counters.leader, "sending records of switches to the ring of samples")
                    self._decoders[counters.leader].named = True
        except HostError:  # without descriptors such samples stay nobody's, which the report says
            self._unname()

    def _unname(self, *leaders: int) -> None:
        for leader in leaders or tuple(self._namers):
            if leader in self._namers:
                self._host.close(self._namers.pop(leader))
                self._decoders[leader].named = False

    def _replug(self, now: int) -> list[RingRecords]:
        """Open the counters of CPUs that came online, and close those of CPUs that went offline.

        The ring of a CPU that was offline only between two polls gets no more records.
        """
        have = {counters.cpu for counters in self._sets}
        try:
            online = parse_cpulist(self._host.read_text(_ONLINE))
        except (HostError, ValueError):  # without the list, the CPUs stay as they are
            online = frozenset(have)
        news = []
        for cpu in sorted(set(online) - have):
            try:
                self._add_cpu(cpu, enable=True)
            except HostError:  # ENODEV: offline again
                continue
            news.append(RingRecords(cpu, (CounterReopened(0),)))
        # when a CPU goes offline, the kernel removes its events for good (perf_event_exit_cpu()), and splits their
        # group
        gone = [counters for counters in self._sets if counters.cpu not in online
                or (counters.cpu not in self._active_cpus and counters.cpu in have and self._is_cut(counters))]
        for counters in gone:
            self._closed.append(self._last_read(counters))
            self._drop(counters)
        self._active_cpus.clear()
        self._replug_ns = now if gone else now + _REPLUG_NS  # the next call opens a CPU that came back
        return news

    def _is_cut(self, counters: CounterSet) -> bool:
        data = self._host.read_counter(counters.leader, self._bytes)
        return len(parse_reading(data, self.choice.read_format)[0].values) < self.choice.width

    def rest(self) -> None:
        """Count nothing until `take_over`; before anything was added."""
        self._resting = True

    def take_over(self, before: TaskTracer) -> None:
        """Count from now on in place of another tracer, which rests, in threads that inherit its sets too.

        CPU by CPU and thread by thread, because nothing counts between the end of a set and the beginning of its
        successor: to stop all first takes as long as all of the calls. Only leaders are enabled: a group counts while
        its leader does, and a resting clock continues to rest.
        """
        before._resting, self._resting = True, False
        successors = {(counters.root, counters.cpu): counters for counters in self._sets}
        for counters in before._sets:
            control(counters.leader, DISABLE, 0, "a set of counters whose time slice is over")
            self._continue(successors.pop((counters.root, counters.cpu), None))
        for unpaired in successors.values():
            self._continue(unpaired)

    def _continue(self, counters: CounterSet | None) -> None:
        if counters is not None:
            control(counters.leader, ENABLE, 0, "a set of counters whose time slice begins")

    def stop(self) -> None:
        """Stop counting; the counts stay readable."""
        for counters in self._sets:
            control(counters.leader, DISABLE, WHOLE_GROUP, "stopping counters")

    def final_readings(self) -> list[Closing]:
        """Return the last reading of every set. Raises HostError if a counter cannot be read."""
        return [*self._closed, *map(self._last_read, self._sets)]

    def close(self) -> None:
        """Unmap the rings and close every descriptor."""
        for descriptor, ring in (*self._rings.items(), *self._ends.items()):
            self._waiting.remove(descriptor)
            ring.close()
        self._rings.clear()
        self._ends.clear()
        if self._cgroup is not None:
            self._host.close(self._cgroup)
            self._cgroup = None
        self._unname()
        for counters in self._sets:
            counters.close(self._host)
        self._sets.clear()
        if self._own_waiting is not None:
            self._own_waiting.close()
            self._own_waiting = None

    @property
    def _bytes(self) -> int:
        """Return the bytes of the largest reading: three words, then at most three for each event."""
        return 24 + 24 * self.choice.width

    def _last_read(self, counters: CounterSet) -> Closing:
        """Read the whole set; event by event if the kernel split the group because its CPU went offline."""
        reading = self._read(counters.leader)
        if len(reading.values) < self.choice.width:
            parts = [reading, *map(self._read, counters.descriptors[1:])]
            reading = GroupReading(reading.enabled, reading.running, tuple(part.values[0] for part in parts),
                                   tuple(lost for part in parts for lost in part.lost[:1]))
        return Closing(counters.root, counters.cpu, reading)

    def _read(self, descriptor: int) -> GroupReading:
        return parse_reading(self._host.read_counter(descriptor, self._bytes), self.choice.read_format)[0]

    def _release(self) -> None:
        """In mode A, read ended threads a last time, and close their descriptors."""
        if self.choice.mode is Mode.THREADS:
            for counters in [counters for counters in self._sets if self._waiting.has_hung_up(counters.leader)]:
                if self._rings[counters.leader].waiting:
                    continue  # the next call takes records that came meanwhile
                self._closed.append(self._last_read(counters))
                self._known.discard(counters.root)  # its id may be reused
                self._drop(counters)

    def _drop(self, counters: CounterSet) -> None:
        """Close the descriptors of a set with a ring of its own."""
        self._waiting.remove(counters.leader)
        self._rings.pop(counters.leader).close()
        del self._ring_cpu[counters.leader]
        self._throttles.pop(counters.leader, None)
        self._unname(counters.leader)
        self._sets.remove(counters)
        counters.close(self._host)

    def _rest(self, ring: int, throttle: ClockThrottle) -> None:
        cpu = self._ring_cpu[ring]
        for counters in self._sets:
            if counters.leader == ring or (cpu >= 0 and counters.cpu == cpu):
                counters.rest(throttle.resting)

    def _add_thread(self, tid: int, *, on_exec: bool) -> int:
        per_cpu = self._cpus if self.choice.mode is Mode.INHERITED else (-1,)
        opened: list[CounterSet] = []
        try:
            opened.extend(self._open(tid, cpu, on_exec=on_exec) for cpu in per_cpu)
        except MachineError:
            for counters in opened:
                counters.close(self._host)
            raise
        except HostError as error:
            for counters in opened:
                counters.close(self._host)
            if error.errno not in (errno.ESRCH, errno.ENODEV):
                raise
            return 0  # it ended after /proc was read
        self._known.add(tid)
        self._keep(opened, enable=not on_exec)
        return 1

    def _open(self, target: int, cpu: int, *, on_exec: bool = False, cgroup: bool = False) -> CounterSet:
        try:
            return open_set(self._host, self.choice, target, cpu, on_exec=on_exec, cgroup=cgroup)
        except HostError as error:
            if error.errno in (errno.ESRCH, errno.ENODEV):
                raise
            raise MachineError(sentence(error, f"thread {target}" if target > 0 and not cgroup else f"CPU {cpu}",
                                        len(self.choice.names))) from error

    def _keep(self, sets: list[CounterSet], *, enable: bool) -> None:
        self._sets += sets
        for counters in sets:
            if counters.reporter >= 0:
                self._ends[counters.reporter] = self._mapped(counters.reporter,
                                                             pages_of_ends(self._pages, self._rings_of_ends))
                self._ends_cpu[counters.reporter] = counters.cpu
            shared_ring = next((fd for fd, cpu in self._ring_cpu.items() if cpu == counters.cpu and cpu >= 0), None)
            if shared_ring is None:
                self._map(counters)
                shared_ring = counters.leader
            counters.write_into(shared_ring)
            self.roots.update({event_id(descriptor): counters.root
                               for descriptor in (*counters.samplers, counters.reporter)
                               if descriptor >= 0})
        if enable:
            self._enable(sets)

    def _enable(self, sets: Sequence[CounterSet]) -> None:
        for counters in () if self._resting else sets:
            control(counters.leader, ENABLE, WHOLE_GROUP, "starting counters")

    def _mapped(self, descriptor: int, pages: int) -> Ring:
        while True:
            try:
                ring = Ring(descriptor, pages)
                break
            except HostError as error:
                # EPERM: beyond kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK; a smaller ring may still do
                if error.errno != errno.EPERM or pages == 1:
                    raise MachineError(
                        f"no memory for one more ring of samples ({error.name}): "
                        "raise ulimit -l or kernel.perf_event_mlock_kb, or watch fewer threads"
                    ) from error
                pages //= 2
        self._decoders[descriptor] = Decoder(self.choice.read_format, self.choice.width,
                                             shared=self.choice.mode is Mode.CPUS, behind=self._behind,
                                             numbers=self._numbers)
        self._waiting.add(descriptor)
        return ring

    def _map(self, counters: CounterSet) -> None:
        self._rings[counters.leader] = self._mapped(counters.leader, self._pages)
        self._ring_cpu[counters.leader] = counters.cpu
        if self.choice.mode is not Mode.CPUS and self.choice.when is SamplingMoment.SWITCHES:
            self._throttles[counters.leader] = ClockThrottle(self._host.now_ns())


def sentence(error: HostError, what: str, counters: int) -> str:
    """Return a sentence that says why threads cannot be sampled, and the remedy."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return (f"{what} may not be sampled by this user: it belongs to somebody else, or "
                "kernel.perf_event_paranoid forbids it; run as root, or with CAP_PERFMON")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return (f"{what}: no file descriptor left for its {counters} counters; raise ulimit -n, "
                "watch fewer threads, or use --all")
    if error.errno == errno.ENOENT:
        return f"{what}: one of the {counters} counters does not exist here; turbotui events says which do"
    if error.errno == errno.EOPNOTSUPP:
        return (f"{what}: before Linux 6.12 the kernel counts no events for each thread of a command for this user; "
                "run as root, or watch it by --pid")
    if error.errno == errno.E2BIG:
        return f"{what}: {counters} counters are too many events for one group; ask for fewer with --event"
    if error.errno == errno.EINVAL:
        return f"{what}: the kernel refuses this set of {counters} counters; ask for fewer with --event"
    return f"{what} cannot be sampled: {error}"
