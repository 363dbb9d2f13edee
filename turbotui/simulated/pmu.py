"""Simulated PMUs: files below /sys/bus/event_source/devices, and counters to open."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.simulated.basis import Form

Value: TypeAlias = Callable[[float], float]
"""A running count at a machine time."""


class Context(Enum):
    """Which groups a PMU's events may join (kernel perf_event contexts)."""

    SOFTWARE = "software"
    CORE = "core"
    UNCORE = "uncore"
    SAMPLER = "sampler"


@dataclass(frozen=True, slots=True)
class SimulatedCounter:
    """An event on one CPU, before it is opened.

    Attributes:
        value: the running count.
        slots: general counters it takes; 0 for none.
        fixed: the fixed-purpose counter it prefers, or "".
        local: the counters of a part of the PMU that it takes one of beside a general one, or "".
        filter: what it sets the filter register to that all counters of the PMU share, or "".
        absolute: the value is a level, not a count, so it does not start at zero.
        form: over the CPU's integrals, where it is one: the share of each kind of work in it is known then.
    """

    value: Value
    slots: int = 0
    fixed: str = ""
    local: str = ""
    filter: str = ""
    absolute: bool = False
    form: Form = ()


@dataclass(frozen=True, slots=True)
class EventFile:
    """One named event: what sysfs says of it."""

    terms: str
    scale: str = ""
    unit: str = ""
    snapshot: bool = False


Resolve: TypeAlias = Callable[[PerfAttr, int], SimulatedCounter | int]
"""Finds the counter of an event on a CPU, or gives the errno of the refusal."""


@dataclass(frozen=True, slots=True)
class SimulatedPmu:
    """One PMU.

    Attributes:
        name, type: as below /sys/bus/event_source/devices.
        context: what it may be grouped with.
        resolve: finds counters.
        formats, events: files of those names.
        readers: the cpumask file, None without one.
        cpus: CPUs whose events may be opened here, None for all.
        cpus_file: the `cpus` file of hybrid and Arm core PMUs is there.
        counters: general counters for each CPU, 0 for no limit.
        files: more files, name to text.
        modes: exclude_user and exclude_kernel are understood.
        local_counters: how many counters there are of each name that a counter's `local` says.
        sampling: the errno with which events that sample are refused.
        fits: whether its driver opens these events as one group; None where counters alone decide.
    """

    name: str
    type: int
    context: Context
    resolve: Resolve
    formats: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, EventFile] = field(default_factory=dict)
    readers: Callable[[], Iterable[int]] | None = None
    cpus: frozenset[int] | None = None
    cpus_file: bool = False
    counters: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    modes: bool = False
    local_counters: int = 0
    sampling: int = errno.EINVAL
    fits: Callable[[Sequence[PerfAttr]], bool] | None = None
