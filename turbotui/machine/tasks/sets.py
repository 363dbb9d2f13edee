"""Opens the set of counters of a thread or a CPU: a sampling switch counter, a sampling clock, and further counters.

The leader counts context switches and samples at each (period 1), before the counters are switched out; a task clock in
its group samples at least every 50 ms of run time. Both write into one ring (kernel/events/core.c,
perf_event_open(2)). The run time itself is the time for which the kernel says the group was on its CPU, so that the
task clock may be switched off while switches are frequent (`clock_throttle`).
"""

from __future__ import annotations

import errno
import time
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cpulist import parse_cpulist
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.perf_abi import DISABLE, ENABLE, control
from turbotui.machine.perf_groups import close_all, open_group
from turbotui.machine.perf_records import SAMPLE_TYPE, ReadFormat, SampleType
from turbotui.machine.perf_ring import SET_OUTPUT
from turbotui.machine.small_files import names_in
from turbotui.machine.tasks.clock_throttle import POLL_NS
from turbotui.machine.tasks.last_counts import reports_last_counts
from turbotui.quantities.plain_numbers import integer

LONGEST_NS: Final = 50_000_000
"""The longest run time without a sample (Antao et al., docs/specs/carm.md 2)."""
TICK_NS: Final = LONGEST_NS - POLL_NS
"""Period of a task clock that may rest, so that a clock that a poll wakes samples within `LONGEST_NS` all the same."""
_SOFTWARE: Final = 1  # PERF_TYPE_SOFTWARE
_TASK_CLOCK: Final = 1  # PERF_COUNT_SW_TASK_CLOCK
_CONTEXT_SWITCHES: Final = 3  # PERF_COUNT_SW_CONTEXT_SWITCHES
_DUMMY: Final = 9  # PERF_COUNT_SW_DUMMY

_GENERIC: Final = (0, 3)  # PERF_TYPE_HARDWARE, PERF_TYPE_HW_CACHE
_PMU_TYPE_SHIFT: Final = 32  # PERF_PMU_TYPE_SHIFT: such an event may name the PMU that counts it
_DEVICES: Final = "/sys/bus/event_source/devices"

# bits of the flag word of struct perf_event_attr (include/uapi/linux/perf_event.h)
_DISABLED: Final = 1 << 0
_INHERIT: Final = 1 << 1
_EXCLUDE_KERNEL: Final = 1 << 5
_EXCLUDE_HV: Final = 1 << 6
_COMM: Final = 1 << 9
_INHERIT_STAT: Final = 1 << 11
_ENABLE_ON_EXEC: Final = 1 << 12
_TASK: Final = 1 << 13
_SAMPLE_ID_ALL: Final = 1 << 18
_CONTEXT_SWITCH: Final = 1 << 26
_USE_CLOCKID: Final = 1 << 25
_PID_CGROUP: Final = 4  # PERF_FLAG_PID_CGROUP
_TRAILER: Final = int(SAMPLE_TYPE & ~SampleType.READ)  # the trailer of records of an event that takes no samples
_FORMAT: Final = ReadFormat.GROUP | ReadFormat.ENABLED | ReadFormat.RUNNING  # values are in the order of opening


class Mode(Enum):
    """How threads are followed; the value is the text for users."""

    THREADS = "each thread that /proc shows is counted by itself; one that comes and goes between two looks is missed"
    INHERITED = "each thread is counted from its first moment, and so is all that it starts"
    CPUS = "each CPU is counted, and at every switch its counts go to the thread that ran"
    PROC = "CPU time by /proc alone, without counters; what ends between two looks is in no row"


class SamplingMoment(Enum):
    """When samples are taken; the value is the text for users."""

    SWITCHES = "when a thread leaves its CPU, and at least every 50 ms that it runs"
    TICKS = (
        "every 50 ms of run time in user mode only, run time at each switch: kernel.perf_event_paranoid hides the rest "
        "from this user, and counts leave the kernel out"
    )
    LOOKS = "CPU time at the end of each interval, by /proc/PID/task/TID/schedstat"
    ENDS = "run time at each switch; this kernel gives no other counts of threads that it handed counters on to"


@dataclass(frozen=True, slots=True)
class TaskCounter:
    """A counter in addition to switches and run time."""

    name: str
    attr: PerfAttr

    @property
    def free(self) -> bool:
        """Whether the kernel counts the event in software, so that the event needs no counter of a PMU."""
        return self.attr.type == _SOFTWARE


SOFTWARE_COUNTERS: Final = (
    TaskCounter("faults", PerfAttr(_SOFTWARE, 2)),  # PERF_COUNT_SW_PAGE_FAULTS
)
"""The default counters. Each one makes every switch of a watched thread slower (bench.tasks), so migrations are not
counted: samples say on which CPU a thread ran."""
HARDWARE_COUNTERS: Final = (
    TaskCounter("instructions", PerfAttr(0, 1)),  # PERF_COUNT_HW_INSTRUCTIONS
    TaskCounter("cycles", PerfAttr(0, 0)),  # PERF_COUNT_HW_CPU_CYCLES
    TaskCounter("cache-misses", PerfAttr(0, 3)),  # PERF_COUNT_HW_CACHE_MISSES
)


@dataclass(frozen=True, slots=True)
class TaskSampling:
    """The features that this kernel and this user's rights allow, as tested."""

    mode: Mode  # how threads are followed
    when: SamplingMoment  # when samples are taken
    read_format: int  # the read format of every counter; has LOST if the kernel supports it (6.0)
    counters: tuple[TaskCounter, ...]  # the counters in addition to switches and run time, in the order of their values
    # the type of each CPU's core PMU, on machines with several; generic events are opened on that PMU
    kinds: Mapping[int, int] = field(default_factory=dict)
    # whether the kernel reports the counts of a thread when it ends (`last_counts.reports_last_counts`)
    last: bool = False
    user_only: bool = False  # whether counts exclude the kernel because of missing rights

    @property
    def switch_records(self) -> bool:
        """Whether the kernel records when a thread gets and leaves a CPU.

        If there are samples at each switch, such records only double the bytes, so they are taken only if the time
        between a thread's last sample and its end would be lost otherwise.
        """
        return (self.when in (SamplingMoment.TICKS, SamplingMoment.ENDS)
                or (self.mode is Mode.INHERITED and not self.last))

    @property
    def width(self) -> int:
        """The number of values of a reading, which includes that of the event that only reports last counts."""
        return len(self.names) + self.needs_reporter

    @property
    def needs_reporter(self) -> bool:
        """Whether an event that does not sample must be opened, to report the counts at a thread's end."""
        return self.last and not self.counters

    def on_cpu(self, cpu: int) -> tuple[TaskCounter, ...]:
        """Return the counters as events of a CPU's own core PMU."""
        if (kind := self.kinds.get(cpu)) is None:
            return self.counters
        return tuple(
            replace(counter, attr=replace(counter.attr, config=counter.attr.config | kind << _PMU_TYPE_SHIFT))
            if counter.attr.type in _GENERIC and not counter.attr.config >> _PMU_TYPE_SHIFT else counter
            for counter in self.counters
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all values of a reading, in order."""
        first = ("switches", "run") if self.when is SamplingMoment.SWITCHES else ("run",)
        return (*first, *(counter.name for counter in self.counters))


@dataclass(frozen=True, slots=True)
class CounterSet:
    """A set of open counters."""

    root: int  # the thread for which the set was opened, -1 for a whole CPU
    cpu: int  # the CPU on which it counts, -1 for any
    descriptors: tuple[int, ...]  # those of the events, the leader's first
    samplers: tuple[int, ...]  # the descriptors that write records into the ring of their CPU or thread
    reporter: int = -1  # the descriptor that writes the counts of ended threads into a ring of its own; -1 for none

    @property
    def leader(self) -> int:
        """The descriptor that reads and enables the whole set."""
        return self.descriptors[0]

    def write_into(self, ring: int) -> None:
        """Send the samples to the ring of another descriptor of the same CPU or thread.

        Raises:
            HostError: EINVAL when it is of another CPU or thread.
        """
        for descriptor in self.samplers:
            if descriptor != ring:
                control(descriptor, SET_OUTPUT, ring, "sending samples to another ring")

    def rest(self, resting: bool) -> None:
        """Switch the sampling clock off, or on again, in every thread that inherited the set.

        Raises:
            HostError: as ioctl(2).
        """
        for descriptor in self.samplers[1:]:
            control(descriptor, DISABLE if resting else ENABLE, 0, "the clock of a set")

    def close(self, host: Host) -> None:
        """Close all descriptors."""
        close_all(host, self.descriptors)


def attributes(choice: TaskSampling, cpu: int = -1, *, on_exec: bool = False, cgroup: bool = False) -> list[PerfAttr]:
    """Return the perf_event_attr of every event of a set, the leader's first."""
    ticks = choice.when is not SamplingMoment.SWITCHES
    common = (_INHERIT if choice.mode is Mode.INHERITED else 0) | (_EXCLUDE_KERNEL | _EXCLUDE_HV if choice.user_only
                                                                   else 0)
    leads = _DISABLED | _SAMPLE_ID_ALL | _COMM | _TASK | (_ENABLE_ON_EXEC if on_exec else 0)
    leads |= _CONTEXT_SWITCH if choice.switch_records else 0
    period = LONGEST_NS if ticks or choice.mode is Mode.CPUS else TICK_NS
    clock = PerfAttr(_SOFTWARE, _TASK_CLOCK, flags=common | _SAMPLE_ID_ALL, read_format=choice.read_format,
                     sample_period=period, sample_type=int(SAMPLE_TYPE))
    if choice.when is SamplingMoment.ENDS:
        attrs = [replace(clock, flags=common | leads, sample_period=0, sample_type=_TRAILER)]
    elif choice.when is SamplingMoment.TICKS:
        attrs = [replace(clock, flags=common | leads)]
    else:
        attrs = [replace(clock, config=_CONTEXT_SWITCHES, sample_period=1, flags=common | leads), clock]
    attrs += [replace(counter.attr, flags=counter.attr.flags | common, read_format=choice.read_format)
              for counter in choice.on_cpu(cpu)]
    # ended threads report to the last event, which does not sample. They end on any CPU, and a ring has one writer at a
    # time: that event has a ring of its own, whose writers the kernel serialises (child_mutex in
    # perf_event_exit_event(), kernel/events/core.c).
    if choice.needs_reporter:
        attrs.append(PerfAttr(_SOFTWARE, _DUMMY, flags=common, read_format=choice.read_format))
    if choice.last:
        attrs[-1] = replace(attrs[-1], flags=attrs[-1].flags | _INHERIT_STAT | _SAMPLE_ID_ALL, sample_type=_TRAILER)
    target = _PID_CGROUP if cgroup else 0
    return [replace(timed(attr), target_flags=target) for attr in attrs]


def switch_namer(*, cgroup: bool) -> PerfAttr:
    """Return the event whose records name the threads that leave a CPU, in the ring of the CPU's samples."""
    return timed(PerfAttr(_SOFTWARE, _DUMMY, flags=_SAMPLE_ID_ALL | _CONTEXT_SWITCH, sample_type=_TRAILER,
                          target_flags=_PID_CGROUP if cgroup else 0))


def timed(attr: PerfAttr) -> PerfAttr:
    """Return the event with records in the time of `Host.now_ns`, so that they compare with readings of /proc."""
    return replace(attr, flags=attr.flags | _USE_CLOCKID, clockid=time.CLOCK_MONOTONIC_RAW)


def open_set(host: Host, choice: TaskSampling, target: int, cpu: int, *, on_exec: bool = False,
             cgroup: bool = False) -> CounterSet:
    """Open a set of counters, disabled.

    Args:
        target: a thread id, -1 for everything on the CPU, or a cgroup's descriptor.
        on_exec: start counting when the thread calls exec(2).
        cgroup: whether `target` is a cgroup's directory.

    Raises:
        HostError: as perf_event_open(2); nothing stays open.
    """
    opened = open_group(host, attributes(choice, cpu, on_exec=on_exec, cgroup=cgroup), target, cpu)
    samplers = 2 if choice.when is SamplingMoment.SWITCHES else 1
    return CounterSet(-1 if cgroup else target, cpu, tuple(opened), tuple(opened[:samplers]),
                      opened[-1] if choice.last else -1)


def choose(host: Host, cpu: int, wanted: Sequence[TaskCounter], *, whole_cpus: bool, target: int = 0,
           command: bool = False) -> TaskSampling:
    """Find the best mode and moments of sampling that this kernel and this user's rights allow, by trying them.

    Args:
        wanted: counters in addition to switches and run time; unavailable ones are left out.
        whole_cpus: whether the user asks for `Mode.CPUS`.
        target: the thread for the test, 0 for the calling one.
        command: whether the target is a command, all of whose descendants are to be watched.

    Raises:
        HostError: no mode works; the error of the last mode, which needs the fewest rights.
    """
    switches, ticks, ends = SamplingMoment.SWITCHES, SamplingMoment.TICKS, SamplingMoment.ENDS
    if whole_cpus:
        ways = [(Mode.CPUS, switches, False)]
    elif command:
        # before Linux 6.12, samples of inherited counters cannot contain values (kernel/events/core.c: "inherit" and
        # PERF_SAMPLE_READ): threads are then counted on whole CPUs, or their run time comes from records of switches
        ways = [(Mode.INHERITED, switches, False), (Mode.CPUS, switches, False), (Mode.INHERITED, ticks, True),
                (Mode.INHERITED, ends, False), (Mode.INHERITED, ends, True)]
    else:
        ways = [(Mode.INHERITED, switches, False), (Mode.THREADS, switches, False), (Mode.INHERITED, ticks, True),
                (Mode.THREADS, ticks, True)]
    refused = HostError(errno.EOPNOTSUPP, "sampling threads")
    kinds = core_kinds(host)
    for mode, when, user_only in ways:
        for lost in (ReadFormat.LOST, ReadFormat(0)):
            choice = TaskSampling(mode, when, int(_FORMAT | lost), (), kinds, user_only=user_only)
            error = _refusal(host, choice, cpu, target)
            if error is None and when is ends:
                return choice  # its counts would belong to no thread
            if error is None:
                last = mode is Mode.INHERITED and reports_last_counts(host, cpu)
                return with_wanted(host, replace(choice, last=last), cpu, wanted, target)
            refused = error
    raise refused


def _refusal(host: Host, choice: TaskSampling, cpu: int, target: int) -> HostError | None:
    whole = choice.mode is Mode.CPUS
    try:
        counters = open_set(host, choice, -1 if whole else target, -1 if choice.mode is Mode.THREADS else cpu)
    except HostError as error:
        return error
    counters.close(host)
    return None


def with_wanted(host: Host, choice: TaskSampling, cpu: int, wanted: Sequence[TaskCounter],
                target: int = 0) -> TaskSampling:
    """Return the choice with as many of these counters as the PMU has room for."""
    whole = replace(choice, counters=(*choice.counters, *wanted))
    if _refusal(host, whole, cpu, target) is None:
        return whole
    # one by one in addition to the earlier ones: a group that does not fit is shortened, not refused
    for counter in wanted:
        more = replace(choice, counters=(*choice.counters, counter))
        if _refusal(host, more, cpu, target) is None:
            choice = more
    return choice


def core_kinds(host: Host) -> dict[int, int]:
    """Return the type of each CPU's core PMU if there are several core types; empty for one.

    Core PMUs of such machines list their CPUs in a file `cpus` (Documentation/ABI, sysfs-bus-event_source-devices).
    """
    kinds_of: dict[int, int] = {}
    kinds = 0
    for name in names_in(host, _DEVICES):
        try:
            cpus = parse_cpulist(host.read_text(f"{_DEVICES}/{name}/cpus"))
            kind = integer(host.read_text(f"{_DEVICES}/{name}/type"))
        except (HostError, ValueError):
            continue  # no core PMU, or one for all CPUs
        kinds += 1
        kinds_of.update(dict.fromkeys(cpus, kind))
    return kinds_of if kinds > 1 else {}


def with_required(host: Host, choice: TaskSampling, cpu: int, required: Sequence[TaskCounter],
                  target: int = 0) -> TaskSampling:
    """Return the choice with these counters added.

    Raises:
        HostError: the counters cannot be added to the others; E2BIG and EINVAL if they do not fit into one group,
            EOPNOTSUPP where the kernel has no counts of single threads.
    """
    if required and choice.when is SamplingMoment.ENDS:
        raise HostError(errno.EOPNOTSUPP, "events of single threads")
    whole = replace(choice, counters=(*choice.counters, *required))
    if (error := _refusal(host, whole, cpu, target)) is not None:
        raise error
    return whole
