"""Simulated PMUs: their files below /sys/bus/event_source/devices, and their counters."""

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
"""A function from machine time to a running count."""


class Context(Enum):
    """The groups that a PMU's events may join (kernel perf_event contexts)."""

    SOFTWARE = "software"
    CORE = "core"
    UNCORE = "uncore"
    SAMPLER = "sampler"


@dataclass(frozen=True, slots=True)
class SimulatedCounter:
    """An event on one CPU, before it is opened."""

    value: Value  # the running count
    slots: int = 0  # the number of general counters that the event takes
    fixed: str = ""  # the fixed counter that the event prefers, or ""
    # the set of counters of a part of the PMU, of which the event takes one beside a general one, or ""
    local: str = ""
    filter: str = ""  # the event's setting of the filter register that all counters of the PMU share, or ""
    absolute: bool = False  # the value is a level, not a count, so it does not start at zero
    # the form over the CPU's integrals, if the count is one; then the share of each kind of work is known
    form: Form = ()


@dataclass(frozen=True, slots=True)
class EventFile:
    """The sysfs files of one named event."""

    terms: str
    scale: str = ""
    unit: str = ""
    snapshot: bool = False


Resolve: TypeAlias = Callable[[PerfAttr, int], SimulatedCounter | int]
"""A function that returns the counter of an event on a CPU, or the errno of the refusal."""


@dataclass(frozen=True, slots=True)
class SimulatedPmu:
    """One PMU."""

    name: str  # as below /sys/bus/event_source/devices
    context: Context  # which events the PMU's events may be grouped with
    resolve: Resolve  # finds counters
    # formats, events: files of those names
    formats: Mapping[str, str] = field(default_factory=dict)
    events: Mapping[str, EventFile] = field(default_factory=dict)
    readers: Callable[[], Iterable[int]] | None = None  # the CPUs in the cpumask file; None without the file
    cpus: frozenset[int] | None = None  # CPUs on which events may be opened; None for all
    cpus_file: bool = False  # whether the PMU has the `cpus` file of hybrid and Arm core PMUs
    counters: int = 0  # general counters for each CPU, 0 for no limit
    files: Mapping[str, str] = field(default_factory=dict)  # more files, name to text
    modes: bool = False  # whether exclude_user and exclude_kernel are accepted
    local_counters: int = 0  # the number of counters of each set that a counter's `local` names
    sampling: int = errno.EINVAL  # the errno with which sampling events are refused
    # tells whether the driver opens events as one group; None if only the number of counters decides
    fits: Callable[[Sequence[PerfAttr]], bool] | None = None
    type: int = 0  # as in its file `type`; 0 for one that is yet to be handed out, as the boot does
