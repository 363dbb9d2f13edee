"""Records the times of all switches of a machine in rings of their own, to compute threads' CPU time; needs rights.

A record has 32 bytes and no counts, so a ring holds many more of them than samples of counters, and they are read many
times faster.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Final

from turbotui.errors import MachineError
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_abi import ENABLE, control
from turbotui.machine.perf_ring import SET_OUTPUT, Ring
from turbotui.machine.tasks.memory import pages_for
from turbotui.machine.tasks.sets import timed
from turbotui.machine.tasks.slices import SAMPLE_TYPE, CpuSlices, IdleExitTimes, KnownTimes, RunTimes, Span, added
from turbotui.machine.tasks.wait_set import WaitSet

_SHARE: Final = 2  # by this factor, the rings of samples are larger
_TICK_NS: Final = 50_000_000  # ns between two records of a CPU that does not switch
_SILENT_NS: Final = 1_000_000_000  # ns without records after which a CPU was offline, and lost its counters
_LOOK_NS: Final = 1_000_000_000  # ns between two readings of the list of online CPUs
_ONLINE: Final = "/sys/devices/system/cpu/online"
_SOFTWARE, _CPU_CLOCK, _DUMMY = 1, 0, 9  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_{CPU_CLOCK,DUMMY}
_DISABLED, _TASK, _SAMPLE_ID_ALL, _CONTEXT_SWITCH = 1 << 0, 1 << 13, 1 << 18, 1 << 26
_SWITCH: Final = PerfAttr(_SOFTWARE, _DUMMY, flags=_DISABLED | _TASK | _SAMPLE_ID_ALL | _CONTEXT_SWITCH,
                          sample_type=int(SAMPLE_TYPE))
_CLOCK: Final = PerfAttr(_SOFTWARE, _CPU_CLOCK, flags=_DISABLED | _SAMPLE_ID_ALL, sample_period=_TICK_NS,
                         sample_type=int(SAMPLE_TYPE))


class _Cpu:
    def __init__(self, host: Host, cpu: int, pages: int, waiting: WaitSet, idle_exits: IdleExitTimes) -> None:
        self._host = host
        self._waiting = waiting
        self._descriptors = [host.perf_event_open(timed(_SWITCH), -1, cpu, -1)]
        try:
            self._descriptors.append(host.perf_event_open(timed(_CLOCK), -1, cpu, -1))
            self.ring = Ring(self._descriptors[0], pages)
        except HostError:
            self._close_descriptors()
            raise
        control(self._descriptors[1], SET_OUTPUT, self._descriptors[0], "sending ticks to another ring")
        waiting.add(self._descriptors[0])
        self.slices = CpuSlices(host.now_ns(), idle_exits)
        for descriptor in self._descriptors:
            control(descriptor, ENABLE, 0, "times of switches")

    def close(self) -> None:
        self._waiting.remove(self._descriptors[0])
        self.ring.close()
        self._close_descriptors()

    def _close_descriptors(self) -> None:
        for descriptor in reversed(self._descriptors):
            self._host.close(descriptor)


class SwitchTimes:
    """Records the switches of all CPUs, and gives the CPU time of every thread.

    Args:
        host: this machine.
        waiting: ends its wait when a ring is half full.

    Raises:
        HostError: EACCES if the user may not watch whole CPUs, EMFILE, EPERM beyond the memory that may be locked.
    """

    def __init__(self, host: Host, cpus: Sequence[int], waiting: WaitSet) -> None:
        self._host = host
        self._waiting = waiting
        self._pages = max(1, pages_for(len(cpus)) // _SHARE)
        self._cpus: dict[int, _Cpu] = {}
        self._known_until = KnownTimes()
        self._idle_exits = IdleExitTimes()
        self._damaged = 0
        self._looked_ns = host.now_ns()
        try:
            for cpu in cpus:
                self._cpus[cpu] = _Cpu(host, cpu, self._pages, waiting, self._idle_exits)
        except HostError:
            self.close()
            raise

    @property
    def damaged(self) -> int:
        """The number of malformed records."""
        return self._damaged + sum(cpu.slices.damaged for cpu in self._cpus.values())

    def known(self, tid: int, now: int) -> None:
        """Note that another source knows the thread's CPU time up to now, so that `take` returns only later time."""
        self._known_until.known(tid, now)

    def take(self) -> RunTimes:
        """Empty the rings, and return the CPU time of threads since the last call."""
        now = self._host.now_ns()
        parts = []
        unknown: dict[int, tuple[Span, ...]] = {}
        for cpu, state in self._cpus.items():
            parts.append(state.slices.read(state.ring.take(), self._known_until))
            if state.slices.unknown:
                unknown[cpu] = tuple(state.slices.unknown)
        guessed = frozenset[int]().union(*(state.slices.guessed for state in self._cpus.values()))
        if self._cpus:
            self._known_until.forget(min(state.slices.last for state in self._cpus.values()))
        cpus = frozenset(self._cpus)
        if now - self._looked_ns >= _LOOK_NS:
            self._looked_ns = now
            cpus &= self._replug(now)
        return RunTimes(added(parts), unknown, cpus, now, guessed)

    def _replug(self, now: int) -> frozenset[int]:
        """Close CPUs that went offline, open CPUs that came online, and return those that were online all the time."""
        with contextlib.suppress(HostError, ValueError):  # without the list, the CPUs stay as they are
            online = set(parse_cpulist(self._host.read_text(_ONLINE)))
            for cpu, state in list(self._cpus.items()):
                if cpu not in online or now - state.slices.last > _SILENT_NS:
                    self._damaged += state.slices.damaged
                    state.close()
                    del self._cpus[cpu]
            there = frozenset(self._cpus)
            for cpu in online - there:
                with contextlib.suppress(HostError, MachineError):  # offline again: the next call tries again
                    self._cpus[cpu] = _Cpu(self._host, cpu, self._pages, self._waiting, self._idle_exits)
            return there
        return frozenset(self._cpus)

    def close(self) -> None:
        """Close every descriptor."""
        for cpu in self._cpus.values():
            cpu.close()
        self._cpus.clear()
