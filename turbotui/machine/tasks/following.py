"""Follows threads: opens their sets, maps the rings, finds new threads, hands out records, and closes the books."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.errors import MachineError
from turbotui.machine.host import Host, HostError
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.perf_ring import (
    WHOLE_GROUP,
    Reading,
    Record,
    Ring,
    event_id,
    parse_reading,
)
from turbotui.machine.tasks.pace import LOOK_NS, Pace
from turbotui.machine.tasks.processes import threads_of
from turbotui.machine.tasks.sets import Choice, CounterSet, Mode, When, open_set
from turbotui.machine.tasks.waiting import Waiting

_PAGES_CPU: Final = 512  # 2 MiB: 100 ms of 200,000 switches a second at about 100 bytes each
_PAGES_ALL: Final = 16_384  # 64 MiB of the kernel's memory for the rings of all CPUs together
_PAGES_LEAST: Final = 32  # 128 KiB: 50 ms of 25,000 switches a second on one CPU
_PAGES_THREAD: Final = 16  # many threads share the memory that may be locked
_SEARCH: Final = 0.05  # seconds between two looks for new threads in /proc (mode A)
_TAKE: Final = 0.2  # seconds between two looks at rings that wake their reader when they are half full
_SCANS: Final = 20  # a process that makes threads faster than they can be listed is taken as it is


@dataclass(frozen=True, slots=True)
class Taken:
    """Records of one ring, in the order of their writing; `cpu` is the ring's, -1 for a thread's own."""

    cpu: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Closing:
    """A set's counters read one last time: the thread's own, or in mode B the sum over all that inherited it."""

    root: int
    cpu: int
    reading: Reading


class Follower:
    """Samples the threads of processes, of a control group, or of whole CPUs.

    Args:
        host: this machine.
        choice: what `sets.choose` found.
        cpus: online CPUs.
        pages: of each ring; a power of two, None for the default.
        waiting: shared with other followers, and closed by whoever made it; None for one of its own.
    """

    def __init__(self, host: Host, choice: Choice, cpus: Sequence[int], pages: int | None = None,
                 waiting: Waiting | None = None) -> None:
        self._host = host
        self._cpus = tuple(cpus)
        self._pages = pages or (_PAGES_THREAD if choice.mode is Mode.THREADS else pages_for(len(self._cpus)))
        self._sets: list[CounterSet] = []
        self._rings: dict[int, Ring] = {}  # by the descriptor that it is mapped on
        self._ring_cpu: dict[int, int] = {}
        self._paces: dict[int, Pace] = {}  # by the same; of sets that follow threads
        self._waiting = Waiting() if waiting is None else waiting
        self._own_waiting = self._waiting if waiting is None else None
        self._known: set[int] = set()
        self._closed: list[Closing] = []
        self._resting = False
        self.choice = choice
        self.roots: dict[int, int] = {}
        """By the identifier that a sample carries: the thread whose set took it."""
        self.damaged = 0  # records that could not be understood

    @property
    def followed(self) -> frozenset[int]:
        """Threads with sets of their own."""
        return frozenset(self._known)

    @property
    def pause(self) -> float:
        """Seconds that may pass before the next `take`: the samples lie in the rings meanwhile."""
        if any(pace.close for pace in self._paces.values()):
            return LOOK_NS / 1e9
        return _SEARCH if self.choice.mode is Mode.THREADS else _TAKE

    @property
    def resting(self) -> frozenset[int]:
        """CPUs on which the clock rests, for switches come often enough; -1 for that of a thread's own set."""
        return frozenset(self._ring_cpu[ring] for ring, pace in self._paces.items() if pace.resting)

    def add_process(self, pid: int, *, on_exec: bool = False) -> int:
        """Follow all threads that a process has now; new ones are inherited, or found by `look`.

        Returns:
            How many were new.

        Raises:
            MachineError: there is no such process, it may not be watched, or descriptors or memory do not suffice.
        """
        added = 0
        seen = False
        for _ in range(_SCANS):
            threads = threads_of(self._host, pid)
            fresh = sorted(threads - self._known)
            seen |= bool(threads & self._known)
            if not fresh:
                break
            for tid in fresh:
                added += self._add_thread(tid, on_exec=on_exec)
        if not added and not seen:
            raise MachineError(f"there is no process {pid}: it has ended, or this user cannot see it")
        return added

    def add_cpus(self, cgroup: int | None = None) -> None:
        """Watch all switches on the CPUs; with a cgroup's descriptor only its threads.

        Raises:
            MachineError: not permitted, or descriptors or memory do not suffice.
        """
        for cpu in self._cpus:
            target = -1 if cgroup is None else cgroup
            self._keep([self._open(target, cpu, cgroup=cgroup is not None)], enable=True)

    def look(self, pids: Iterable[int]) -> None:
        """Mode A: find threads that came since the last look."""
        if self.choice.mode is Mode.THREADS:
            for pid in pids:
                for tid in sorted(threads_of(self._host, pid) - self._known):
                    self._add_thread(tid, on_exec=False)

    def wait(self, seconds: float) -> None:
        """Until a ring is half full or a target ended, at most so long."""
        self._waiting.wait(seconds)

    def watch(self, descriptor: int) -> None:
        """Have `wait` end when this descriptor becomes readable too."""
        self._waiting.add(descriptor)

    def take(self) -> list[Taken]:
        """What came since the last time, one entry a ring."""
        found = []
        now = self._host.now_ns()
        for descriptor, ring in self._rings.items():
            records, damaged = ring.records(self.choice.read_format, len(self.choice.names))
            self.damaged += damaged
            pace = self._paces.get(descriptor)
            if pace is not None and pace.look(now, len(records)):
                self._rest(descriptor, pace)
            if records:
                found.append(Taken(self._ring_cpu[descriptor], tuple(records)))
        self._release()
        return found

    def rest(self) -> None:
        """Count nothing until `wake`; sets that threads hand on rest in those too."""
        self._resting = True
        for one in self._sets:
            control(one.leader, DISABLE, 0, "a set of counters whose turn is over")

    def wake(self) -> None:
        """Go on counting.

        The leaders alone are switched: a group counts while its leader does, and a clock that rests stays at rest.
        """
        self._resting = False
        for one in self._sets:
            control(one.leader, ENABLE, 0, "a set of counters whose turn it is")

    def stop(self) -> None:
        """Stop counting; what was counted stays readable."""
        for one in self._sets:
            control(one.leader, DISABLE, WHOLE_GROUP, "stopping counters")

    def close_books(self) -> list[Closing]:
        """The last read of every set.

        Raises:
            HostError: a counter cannot be read.
        """
        return [*self._closed, *map(self._last_read, self._sets)]

    def close(self) -> None:
        """Unmap the rings and give every descriptor back."""
        for descriptor, ring in self._rings.items():
            self._waiting.remove(descriptor)
            ring.close()
        self._rings.clear()
        for one in self._sets:
            one.close(self._host)
        self._sets.clear()
        if self._own_waiting is not None:
            self._own_waiting.close()
            self._own_waiting = None

    def _last_read(self, one: CounterSet) -> Closing:
        data = self._host.read_counter(one.leader, 24 + 24 * len(self.choice.names))
        return Closing(one.root, one.cpu, parse_reading(data, self.choice.read_format)[0])

    def _release(self) -> None:
        """Mode A: a thread that ended is read for good, and its descriptors serve others."""
        if self.choice.mode is Mode.THREADS:
            for one in [one for one in self._sets if self._waiting.has_hung_up(one.leader)]:
                if self._rings[one.leader].waiting:
                    continue  # the next round takes what came in between
                self._waiting.remove(one.leader)
                self._closed.append(self._last_read(one))
                self._rings.pop(one.leader).close()
                del self._ring_cpu[one.leader]
                self._paces.pop(one.leader, None)
                self._sets.remove(one)
                one.close(self._host)

    def _rest(self, ring: int, pace: Pace) -> None:
        cpu = self._ring_cpu[ring]
        for one in self._sets:
            if one.leader == ring or (cpu >= 0 and one.cpu == cpu):
                one.rest(pace.resting)

    def _add_thread(self, tid: int, *, on_exec: bool) -> int:
        per_cpu = self._cpus if self.choice.mode is Mode.INHERITED else (-1,)
        opened: list[CounterSet] = []
        try:
            opened.extend(self._open(tid, cpu, on_exec=on_exec) for cpu in per_cpu)
        except MachineError:
            for one in opened:
                one.close(self._host)
            raise
        except HostError as error:
            for one in opened:
                one.close(self._host)
            if error.errno not in (errno.ESRCH, errno.ENODEV):
                raise
            return 0  # it ended between the look at /proc and the open
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
        for one in sets:
            home = next((fd for fd, cpu in self._ring_cpu.items() if cpu == one.cpu and cpu >= 0), None)
            if home is None:
                self._map(one)
                home = one.leader
            one.write_into(home)
            self.roots.update({event_id(descriptor): one.root for descriptor in one.samplers})
        if enable and not self._resting:
            for one in sets:
                control(one.leader, ENABLE, WHOLE_GROUP, "starting counters")

    def _map(self, one: CounterSet) -> None:
        pages = self._pages
        while True:
            try:
                self._rings[one.leader] = Ring(one.leader, pages)
                break
            except HostError as error:
                # EPERM: beyond kernel.perf_event_mlock_kb and RLIMIT_MEMLOCK; a smaller ring may still do
                if error.errno != errno.EPERM or pages == 1:
                    raise MachineError(
                        f"no memory for one more ring of samples ({error.name}): "
                        "raise ulimit -l or kernel.perf_event_mlock_kb, or watch fewer threads"
                    ) from error
                pages //= 2
        self._ring_cpu[one.leader] = one.cpu
        if self.choice.mode is not Mode.CPUS and self.choice.when is When.SWITCHES:
            self._paces[one.leader] = Pace(self._host.now_ns())
        self._waiting.add(one.leader)


def pages_for(cpus: int) -> int:
    """Pages of each CPU's ring: fewer where there are many CPUs; a power of two."""
    share = max(_PAGES_LEAST, min(_PAGES_CPU, _PAGES_ALL // max(1, cpus)))
    return 1 << (share.bit_length() - 1)


def sentence(error: HostError, what: str, counters: int) -> str:
    """Why threads cannot be sampled, and what to do about it."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return (f"{what} may not be sampled by this user: it belongs to somebody else, or "
                "kernel.perf_event_paranoid forbids it; run as root, or with CAP_PERFMON")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return (f"{what}: no file descriptor left for its {counters} counters; raise ulimit -n, "
                "watch fewer threads, or use --all")
    if error.errno == errno.ENOENT:
        return f"{what}: one of the {counters} counters does not exist here; turbotui events says which do"
    if error.errno == errno.E2BIG:
        return f"{what}: {counters} counters are too many events for one group; ask for fewer with --event"
    if error.errno == errno.EINVAL:
        return f"{what}: the kernel refuses this set of {counters} counters; ask for fewer with --event"
    return f"{what} cannot be sampled: {error}"
