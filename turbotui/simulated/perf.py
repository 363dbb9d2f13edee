"""perf_event_open on a simulated machine: descriptors, groups, multiplexing, permissions, the read formats."""

from __future__ import annotations

import errno
import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from turbotui.machine.host import HostError, PerfAttr, Privileges
from turbotui.simulated.basis import CPU_BUSY, Form
from turbotui.simulated.cgroup_counts import is_beside, part_of, time_of
from turbotui.simulated.model import Model
from turbotui.simulated.perf_rules import (
    CORE_TYPES,
    Demand,
    demand_of,
    fits,
    refused_below,
    refused_bits,
    refused_by_pmu,
    refused_cpu,
    refused_loads,
    refused_thread,
    share_of,
)
from turbotui.simulated.pmu import Context, SimulatedCounter, SimulatedPmu, Value
from turbotui.simulated.pmus_core import RAW
from turbotui.simulated.shapes import Isa
from turbotui.simulated.task_files import user_of
from turbotui.simulated.threads import ThreadCount, Threads, of_kind, thread_of

_DISABLED = 1
_ENABLED_TIME, _RUNNING_TIME, _ID, _GROUP, _LOST = 1, 2, 4, 8, 16
_PMU_TYPE_SHIFT = 32
"""Generic events carry a hybrid core PMU's type in the upper half (PERF_PMU_TYPE_SHIFT)."""


class OpenEvent:
    """One open counter."""

    __slots__ = ("attr", "base", "counter", "group", "identity", "pmu", "total")

    def __init__(self, attr: PerfAttr, pmu: SimulatedPmu, counter: SimulatedCounter, identity: int, now: float) -> None:
        self.attr = attr
        self.pmu = pmu
        self.counter = counter
        self.identity = identity
        self.base = 0 if counter.absolute else int(counter.value(now))
        self.total = 0.0
        self.group: OpenGroup


class OpenGroup:
    """Counters that are scheduled together; `share` is the part of the time in which they run.

    Args:
        stopped: whether they are not yet enabled.
        cgroup: the control group that they count; "" for the whole CPU.
        clock: seconds, by machine time, for which the control group or the thread was on the CPU.
        on: the part of these seconds on cores of this PMU, because a thread may run on another core type. None: all.
    """

    __slots__ = ("cgroup", "clock", "cpu", "dead", "enabled", "members", "on", "running", "share", "since", "since_on",
                 "stopped")

    def __init__(self, cpu: int, now: float, stopped: bool, cgroup: str, clock: Value, *,
                 on: Value | None = None) -> None:
        self.cpu = cpu
        self.cgroup = cgroup
        self.clock = clock
        self.members: list[OpenEvent] = []
        self.on = on
        self.since = clock(now)
        self.since_on = self.since if on is None else on(now)
        self.enabled = 0.0
        self.running = 0.0
        self.share = 1.0
        self.stopped = stopped
        self.dead = False

    @property
    def hardware(self) -> SimulatedPmu | None:
        """The one hardware PMU of the group."""
        return next((event.pmu for event in self.members if event.pmu.context is not Context.SOFTWARE), None)

    def accumulate(self, now: float) -> None:
        """Add the counts at the present share, before the share changes."""
        at = self.clock(now)
        passed, self.since = at - self.since, at
        ran = passed
        if self.on is not None:
            on = self.on(now)
            ran, self.since_on = on - self.since_on, on
        counting = not (self.stopped or self.dead)
        self.enabled += passed if counting else 0.0
        self.running += ran * self.share if counting else 0.0
        for event in self.members:
            if event.counter.absolute:
                continue
            value = int(event.counter.value(now))
            event.total += (value - event.base) * self.share if counting else 0.0
            event.base = value

    def read(self, event: OpenEvent, now: float) -> tuple[int, int, list[OpenEvent], list[int]]:
        """(enabled ns, running ns, events, values) for a read of `event`'s descriptor."""
        passed = 0.0 if self.stopped or self.dead else self.clock(now) - self.since
        events = self.members if event.attr.read_format & _GROUP else [event]
        values = []
        for member in events:
            if member.counter.absolute:
                values.append(int(member.counter.value(now)))
            elif passed == 0.0:
                values.append(int(member.total))
            else:
                values.append(int(member.total + (int(member.counter.value(now)) - member.base) * self.share))
        enabled = round((self.enabled + passed) * 1e9)
        ran = passed if self.on is None or passed == 0.0 else self.on(now) - self.since_on
        running = round((self.running + ran * self.share) * 1e9)
        whole = self.on is None and self.share == 1.0 and self.running == self.enabled
        return enabled, enabled if whole else running, events, values


def _refuse(number: int, what: str) -> None:
    """Raise an errno; do nothing for 0."""
    if number:
        raise HostError(number, what)


def _resolved(pmu: SimulatedPmu, attr: PerfAttr, cpu: int, what: str) -> SimulatedCounter:
    """Return an event's counter on a CPU; raise the PMU's error if it has none."""
    counter = pmu.resolve(attr, cpu)
    if isinstance(counter, int):
        raise HostError(counter, what)
    return counter


class PerfEvents:
    """All perf descriptors of one simulated machine; the caller holds the model's lock."""

    def __init__(self, model: Model, pmus: Iterable[SimulatedPmu], threads: Threads) -> None:
        self._model = model
        self._threads = threads
        self.pmus = tuple(pmus)
        self._by_type: Mapping[int, SimulatedPmu] = {pmu.type: pmu for pmu in self.pmus}
        self._cores = [pmu for pmu in self.pmus if pmu.context is Context.CORE]
        self._groups: defaultdict[tuple[str, int], list[OpenGroup]] = defaultdict(list)
        self._next_identity = 1

    def open(self, attr: PerfAttr, pid: int, cpu: int, *, leader: OpenEvent | None, rights: Privileges, now: float,
             cgroup: str = "") -> OpenEvent:
        """Open one counter, for the control group if one is named, whatever `pid` is.

        Raises:
            HostError: as perf_event_open(2); docs/specs/perf.md 7.
        """
        what = f"perf_event_open(type={attr.type}, config={attr.config:#x}, cpu={cpu})"
        _refuse(refused_bits(attr, rights), what)
        if cgroup:
            pid = -1
        if pid > 0:
            return self._open_thread(attr, pid, cpu, leader=leader, rights=rights, now=now)
        if (pid == -1 and cpu == -1) or cpu >= len(self._model.online):
            raise HostError(errno.EINVAL, what)
        if pid == 0:
            pmu = self._pmu_for(attr, max(cpu, 0), what)
            # this process is no task of the simulated machine; a PMU without tasks refuses every pid
            raise HostError(errno.EINVAL if pmu.context is Context.UNCORE else errno.ESRCH, what)
        if cpu < 0:
            raise HostError(errno.EINVAL, what)
        pmu = self._pmu_for(attr, cpu, what)
        self._check_attr(pmu, attr, leader, what)
        if cgroup and pmu.context is Context.UNCORE:
            raise HostError(errno.EINVAL, what)  # perf_event_alloc: its context has no tasks, and so no groups
        opened = _resolved(pmu, attr, cpu, what)
        _refuse(refused_cpu(rights), what)
        if not self._model.online[cpu]:
            raise HostError(errno.ENODEV, what)
        counter = part_of(opened, cgroup, self._model, cpu) if cgroup else opened
        event = OpenEvent(attr, pmu, counter, self._next_identity, now)
        if leader is None:
            group = OpenGroup(cpu, now, bool(attr.flags & _DISABLED), cgroup, time_of(cgroup, self._model, cpu))
        elif leader.group.cgroup != cgroup:
            raise HostError(errno.EINVAL, what)  # perf_cgroup_connect: one control group for all
        else:
            group = leader.group
            self._check_group(group, leader, event, cpu, what)
            group.accumulate(now)
        return self._join(event, group, now, what)

    def _join(self, event: OpenEvent, group: OpenGroup, now: float, what: str) -> OpenEvent:
        group.members.append(event)
        event.group = group
        pmu = event.pmu
        if pmu.counters and not fits(pmu, [(opened.attr, opened.counter)
                                           for opened in group.members if opened.pmu is pmu]):
            group.members.pop()
            raise HostError(errno.EINVAL, what)
        self._next_identity += 1
        self._enter(group, now)
        return event

    def _open_thread(self, attr: PerfAttr, tid: int, cpu: int, *, leader: OpenEvent | None, rights: Privileges,
                     now: float) -> OpenEvent:
        """Open a counter of one thread of the model, on whichever CPU it runs, in a group of its own."""
        what = f"perf_event_open(type={attr.type}, config={attr.config:#x}, pid={tid})"
        thread = thread_of(tid)
        if thread is None or thread[1] >= len(self._model.online):
            raise HostError(errno.ESRCH, what)  # the simulated machine has no tasks of this user
        if cpu >= 0:
            raise HostError(errno.EOPNOTSUPP, what)  # the model has no such events
        _refuse(refused_thread(rights, user_of(thread[0])), what)
        pmu = self._pmu_of(attr, 0, what)
        if pmu.context is Context.UNCORE:
            raise HostError(errno.EINVAL, what)
        self._check_attr(pmu, attr, leader, what)
        cpus = pmu.cpus if pmu.cpus is not None else frozenset(range(len(self._model.online)))
        opened = _resolved(pmu, attr, min(cpus), what)
        if not opened.form and opened.value(now):
            raise HostError(errno.EOPNOTSUPP, what)  # the model does not know which thread causes them
        kind, owner = thread

        def form(at: int) -> Form:
            counter = pmu.resolve(attr, at) if at in cpus else 0
            return () if isinstance(counter, int) else of_kind(counter.form, kind)

        count = self._threads.count(kind, owner, form, now)
        event = OpenEvent(attr, pmu, replace(opened, value=count, form=()), self._next_identity, now)
        if leader is None:
            busy: Form = ((CPU_BUSY + kind, 1.0),)
            clock = self._threads.count(kind, owner, lambda _at: busy, now)
            here = None if pmu.cpus is None else self._threads.count(kind, owner, lambda at: busy if at in cpus else (),
                                                                     now)
            group = OpenGroup(-tid, now, bool(attr.flags & _DISABLED), "", clock, on=here)
        else:
            group = leader.group
            self._check_group(group, leader, event, -tid, what)
            group.accumulate(now)
        return self._join(event, group, now, what)

    def form(self, attr: PerfAttr, cpu: int) -> Form:
        """Return an event's count on a CPU as a form over the CPU's integrals; () if it is none.

        Raises:
            HostError: the CPU has no such event.
        """
        what = f"perf_event_open(type={attr.type}, config={attr.config:#x}, cpu={cpu})"
        return _resolved(self._pmu_for(attr, cpu, what), attr, cpu, what).form

    def _check_attr(self, pmu: SimulatedPmu, attr: PerfAttr, leader: OpenEvent | None, what: str) -> None:
        """Raise the error with which the PMU refuses an attribute, alone or below a leader."""
        _refuse(refused_by_pmu(pmu, attr, x86=self._model.shape.isa is not Isa.ARM), what)
        before = [] if leader is None else [(member.pmu, member.attr) for member in leader.group.members]
        _refuse(refused_below(pmu, attr, before) or refused_loads(pmu, attr, before), what)

    def _pmu_for(self, attr: PerfAttr, cpu: int, what: str) -> SimulatedPmu:
        pmu = self._pmu_of(attr, cpu, what)
        if pmu.cpus is not None and cpu not in pmu.cpus:
            raise HostError(errno.ENOENT if pmu.context is Context.CORE else errno.EINVAL, what)
        return pmu

    def _pmu_of(self, attr: PerfAttr, cpu: int, what: str) -> SimulatedPmu:
        pmu = self._by_type.get(attr.type)
        if attr.type in CORE_TYPES:
            wanted = attr.config >> _PMU_TYPE_SHIFT if attr.type != RAW else 0
            pmu = self._by_type.get(wanted) if wanted else self._unnamed_core(attr, cpu)
        if pmu is None or (attr.type in CORE_TYPES and pmu.context is not Context.CORE):
            raise HostError(errno.ENOENT, what)
        return pmu

    def _unnamed_core(self, attr: PerfAttr, cpu: int) -> SimulatedPmu | None:
        """Return the core PMU of an event that names none: the first one; for generic events, else the CPU's own.

        linux kernel/events/core.c, perf_init_event: PERF_TYPE_RAW belongs to the first core PMU of a hybrid; where that
        PMU says ENOENT, the generic types are offered to every other one.
        """
        if attr.type == RAW or not self._cores:
            return self._cores[0] if self._cores else None
        return next((pmu for pmu in self._cores if pmu.cpus is None or cpu in pmu.cpus), self._cores[0])

    def _check_group(self, group: OpenGroup, leader: OpenEvent, event: OpenEvent, cpu: int, what: str) -> None:
        if group.members[0] is not leader or group.cpu != cpu:
            raise HostError(errno.EINVAL, what)
        if group.dead:
            raise HostError(errno.ENODEV, what)
        hardware = group.hardware
        if event.pmu.context is not Context.SOFTWARE and hardware is not None and hardware is not event.pmu:
            raise HostError(errno.EINVAL, what)

    def _enter(self, group: OpenGroup, now: float) -> None:
        pmu = group.hardware
        if pmu is None or not pmu.counters:
            return
        together = self._groups[pmu.name, group.cpu]
        if group not in together:
            together.append(group)
        self._share_out(pmu, together, now)

    def _share_out(self, pmu: SimulatedPmu, together: list[OpenGroup], now: float) -> None:
        """Set the groups' shares of time, as the kernel rotates groups that do not fit together."""
        alive = [group for group in together if not (group.stopped or group.dead)]
        demands: dict[str, Demand] = {}
        for group in alive:
            if group.cgroup not in demands:
                demands[group.cgroup] = demand_of([event.counter for other in alive
                                                   if not is_beside(other.cgroup, group.cgroup)
                                                   for event in other.members])
            share = share_of(pmu, [event.counter for event in group.members], demands[group.cgroup])
            if share != group.share:
                group.accumulate(now)
                group.share = share

    def read(self, event: OpenEvent, size: int, now: float) -> bytes:
        """Read a descriptor, and return the bytes in its read_format.

        Raises:
            HostError: ENOSPC, the buffer is too small for the group.
        """
        form = event.attr.read_format
        if event.group.cpu < 0:
            self._threads.look(now)
        enabled, running, events, values = event.group.read(event, now)
        head = [len(events)] if form & _GROUP else []
        times = ([enabled] if form & _ENABLED_TIME else []) + ([running] if form & _RUNNING_TIME else [])
        body: list[int] = []
        for member, value in zip(events, values, strict=True):
            body += [value & 0xFFFF_FFFF_FFFF_FFFF, *(() if form & _GROUP else times),
                     *((member.identity,) if form & _ID else ()), *((0,) if form & _LOST else ())]
        words = head + times + body if form & _GROUP else body
        if size < 8 * len(words):
            raise HostError(errno.ENOSPC, "read of a perf counter")
        return struct.pack(f"<{len(words)}Q", *words)

    def close(self, event: OpenEvent, now: float) -> None:
        """Close a counter; siblings of a closed leader continue to count on their own."""
        group = event.group
        pmu = group.hardware
        if event in group.members:
            group.accumulate(now)
            group.members.remove(event)
        for count in (event.counter.value, *(() if group.members else (group.clock, group.on))):
            if isinstance(count, ThreadCount):
                self._threads.forget(count)
        if pmu is None or not pmu.counters:
            return
        together = self._groups[pmu.name, group.cpu]
        if not group.members and group in together:
            together.remove(group)
        self._share_out(pmu, together, now)

    def cpu_left(self, events: Iterable[OpenEvent], cpu: int, now: float) -> None:
        """Handle a CPU that went offline: its counters keep their last value for good."""
        for event in events:
            group = event.group
            pmu = group.hardware
            # the kernel moves counters of an uncore PMU to another CPU (perf_pmu_migrate_context)
            if group.cpu == cpu and not group.dead and not (pmu is not None and pmu.context is Context.UNCORE):
                group.accumulate(now)
                group.dead = True
