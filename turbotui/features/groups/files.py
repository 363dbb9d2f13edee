"""The kernel's files of control groups of both versions, and the quantities in each.

Documents: kernel Documentation/admin-guide/cgroup-v2.rst, and for version 1 Documentation/admin-guide/cgroup-v1 and
Documentation/scheduler/sched-bwc.rst; the facts are in docs/specs/groups.md 1.1, 1.2.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.open_files import Values
from turbotui.quantities.bounds import Bounds, bounds_of_kind
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit

Quantity: TypeAlias = str
"""The name of a counter or gauge of a group in formulas: "cpu_usec"."""

UNIFIED: Final = ""
"""The controller that stands for the tree of version 2."""
NO_QUOTA: Final = Unavailable(Reason.NOT_SET, "the group has no quota of CPU time")
_NO_LIMIT: Final = Unavailable(Reason.NOT_SET, "the group has no such limit")
_UNLIMITED: Final = 1 << 60
"""Version 1 writes the largest number of whole pages for no limit."""
_TICK: Final = 1_000_000 // os.sysconf("SC_CLK_TCK")
"""Microseconds of a tick of cpuacct.stat (USER_HZ)."""

COUNTERS: Final = frozenset({
    "cpu_usec", "user_usec", "system_usec", "periods", "throttled", "throttled_usec", "waited_usec", "oom_kills",
    "refused", "major_faults", "read_bytes", "written_bytes", "reads", "writes",
    *(f"stalled_{what}_{line}_usec" for what in ("cpu", "memory", "io", "irq") for line in ("some", "full")),
})
"""Quantities that are counters; all others are gauges."""
OCCUPANCY: Final = "llc_occupancy"
"""The only gauge among resctrl's events, whose quantities begin with their domain: "L3 00 llc_occupancy"."""


@functools.cache
def is_counter(quantity: Quantity) -> bool:
    """Tell whether a quantity is a counter."""
    domain, _, event = quantity.rpartition(" ")
    return event != OCCUPANCY if domain else event in COUNTERS


_MOST_CPUS: Final = 8192
"""The most CPUs that a kernel is built for (NR_CPUS, kernel arch/x86/Kconfig)."""
_MOST_TASKS: Final = bounds_of_kind("stat.running", Unit.COUNT, counter=False).most
_BOUNDS: Final[tuple[tuple[str, float, str], ...]] = (
    ("stalled_", 1.1e6, "no time passes faster than the interval"),
    ("waited_usec", 1e6 * _MOST_TASKS, "no more tasks can wait (PID_MAX_LIMIT)"),
    ("quota_usec", math.inf, ""),
    ("period_usec", math.inf, ""),
    ("pids", _MOST_TASKS, "Linux has at most 4,194,304 tasks (PID_MAX_LIMIT)"),
)
"""What quantities are at most, counters a second, by how their name begins."""


@functools.cache
def bounds_of_quantity(quantity: Quantity) -> Bounds:
    """Return what a quantity lies within in its own unit; of a counter, its increase a second."""
    event, counter = quantity.rpartition(" ")[2], is_counter(quantity)
    for begins, most, because in _BOUNDS:
        if event.startswith(begins):
            return Bounds(0.0, most, because)
    if event.endswith("_usec"):
        return Bounds(0.0, 1.1e6 * _MOST_CPUS, "no kernel has more than 8,192 CPUs (NR_CPUS)")
    if event.endswith(("_bytes", OCCUPANCY)):
        return bounds_of_kind("", Unit.BYTE, counter)
    if event.endswith("_energy"):
        return bounds_of_kind("energy.", Unit.JOULE, counter)
    if event in COUNTERS:
        return bounds_of_kind("switches", Unit.COUNT, counter)
    return Bounds(-math.inf, math.inf, "")  # limits, which are what somebody wrote, and events of perf


@dataclass(frozen=True, slots=True)
class GroupFile:
    """A file in a group's directory."""

    id: str  # the unique name of the file in readings and explanations
    name: str  # the name in the directory
    controller: str  # the controller of version 1 whose tree has the file; `UNIFIED` for version 2
    gives: tuple[Quantity, ...]
    parse: Callable[[bytes], Values]  # parses the content; raises ValueError or IndexError for other content
    seldom: bool = False  # whether the content seldom changes, because a person or manager sets it


def words_by_name(content: bytes) -> Mapping[bytes, bytes]:
    """The words of a flat keyed file, a name and a word a line, by name."""
    words = content.split()
    return dict(zip(words[::2], words[1::2], strict=False))


def _keyed(name: str, controller: str, named: str = "", /, **names: Quantity) -> GroupFile:
    """A file with lines of a name and a number; `names` maps the kernel's names to quantities."""
    wanted = {word.encode(): quantity for word, quantity in names.items()}

    def parse(content: bytes) -> Values:
        numbers = words_by_name(content)
        return {quantity: integer(numbers[word]) for word, quantity in wanted.items() if word in numbers}

    return GroupFile(named or name, name, controller, tuple(names.values()), parse)


def _number(name: str, controller: str, quantity: Quantity, factor: float = 1, *, named: str = "",
            seldom: bool = False) -> GroupFile:
    """A file with one number."""
    return GroupFile(named or name, name, controller, (quantity,),
                     lambda content: {quantity: integer(content) * factor}, seldom)


def _limit(name: str, controller: str, quantity: Quantity, named: str = "") -> GroupFile:
    """A file with a limit, or with the word for no limit."""
    def parse(content: bytes) -> Values:
        limit = None if content.strip() == b"max" else integer(content)
        return {quantity: _NO_LIMIT if limit is None or limit >= _UNLIMITED else limit}

    return GroupFile(named or name, name, controller, (quantity,), parse, seldom=True)


def _quota(content: bytes) -> Values:
    """Parse cpu.max: microseconds in each period, or "max"."""
    quota, period = content.split()
    return {"quota_usec": NO_QUOTA if quota == b"max" else integer(quota), "period_usec": integer(period)}


def _old_quota(content: bytes) -> Values:
    quota = integer(content)
    return {"quota_usec": NO_QUOTA if quota < 0 else quota}


def _old_times(content: bytes) -> Values:
    """Parse cpuacct.stat: ticks in user and kernel mode."""
    times = words_by_name(content)
    return {"user_usec": integer(times[b"user"]) * _TICK, "system_usec": integer(times[b"system"]) * _TICK}


def _old_throttling(content: bytes) -> Values:
    """Parse cpu.stat of version 1, with times in ns; wait_sum exists only while the kernel keeps schedstats."""
    throttling = words_by_name(content)
    values: dict[str, int | float | Unavailable] = {
        "periods": integer(throttling[b"nr_periods"]), "throttled": integer(throttling[b"nr_throttled"]),
        "throttled_usec": integer(throttling[b"throttled_time"]) / 1_000}
    if b"wait_sum" in throttling:
        values["waited_usec"] = integer(throttling[b"wait_sum"]) / 1_000
    return values


_TRAFFIC: Final = {b"rbytes": "read_bytes", b"wbytes": "written_bytes", b"rios": "reads", b"wios": "writes"}
_OLD_TRAFFIC: Final = {b"Read": "read_bytes", b"Write": "written_bytes"}


def _traffic(content: bytes) -> Values:
    """Parse io.stat: the sum over the lines of all devices."""
    values = dict.fromkeys(_TRAFFIC.values(), 0)
    for word in content.split():
        name, equals, number = word.partition(b"=")
        if equals and name in _TRAFFIC:
            values[_TRAFFIC[name]] += integer(number)
    return values


def _old_traffic(content: bytes) -> Values:
    """Parse blkio.throttle.io_service_bytes: the sum over devices by direction."""
    values = dict.fromkeys(_OLD_TRAFFIC.values(), 0)
    for line in content.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in _OLD_TRAFFIC:
            values[_OLD_TRAFFIC[words[1]]] += integer(words[2])
    return values


def _pressure(what: str, lines: Sequence[str] = ("some", "full")) -> GroupFile:
    """A pressure file: the microseconds behind "total=" of each line."""
    quantities = {line.encode(): f"stalled_{what}_{line}_usec" for line in ("some", "full")}

    def parse(content: bytes) -> Values:
        words_of_lines = (line.split() for line in content.splitlines())
        return {quantities[words[0]]: integer(words[-1].partition(b"total=")[2]) for words in words_of_lines}

    name = f"{what}.pressure"
    return GroupFile(name, name, UNIFIED, tuple(quantities[line.encode()] for line in lines), parse)


_THROTTLING: Final = ("periods", "throttled", "throttled_usec")
FILES: Final[tuple[GroupFile, ...]] = (
    _number("cpuacct.usage", "cpuacct", "cpu_usec", 1e-3),
    GroupFile("cpuacct.stat", "cpuacct.stat", "cpuacct", ("user_usec", "system_usec"), _old_times),
    GroupFile("v1 cpu.stat", "cpu.stat", "cpu", (*_THROTTLING, "waited_usec"), _old_throttling),
    GroupFile("cpu.cfs_quota_us", "cpu.cfs_quota_us", "cpu", ("quota_usec",), _old_quota, seldom=True),
    _number("cpu.cfs_period_us", "cpu", "period_usec", seldom=True),
    _number("memory.usage_in_bytes", "memory", "memory_bytes"),
    _number("memory.max_usage_in_bytes", "memory", "memory_peak"),
    _limit("memory.soft_limit_in_bytes", "memory", "memory_high"),
    _limit("memory.limit_in_bytes", "memory", "memory_max"),
    _keyed("memory.stat", "memory", "v1 memory.stat", total_rss="anon_bytes", total_cache="file_bytes",
           total_swap="swap_bytes", total_pgmajfault="major_faults"),
    _keyed("memory.oom_control", "memory", oom_kill="oom_kills"),
    _number("pids.current", "pids", "pids", named="v1 pids.current"),
    _limit("pids.max", "pids", "pids_max", "v1 pids.max"),
    _keyed("pids.events", "pids", "v1 pids.events", max="refused"),
    GroupFile("blkio.throttle.io_service_bytes", "blkio.throttle.io_service_bytes", "blkio",
              ("read_bytes", "written_bytes"), _old_traffic),
    _keyed("cpu.stat", UNIFIED, usage_usec="cpu_usec", user_usec="user_usec", system_usec="system_usec",
           nr_periods="periods", nr_throttled="throttled", throttled_usec="throttled_usec"),
    GroupFile("cpu.max", "cpu.max", UNIFIED, ("quota_usec", "period_usec"), _quota, seldom=True),
    *map(_pressure, ("cpu", "memory", "io")),
    _pressure("irq", ("full",)),
    _number("memory.current", UNIFIED, "memory_bytes"),
    _number("memory.peak", UNIFIED, "memory_peak"),
    _limit("memory.high", UNIFIED, "memory_high"),
    _limit("memory.max", UNIFIED, "memory_max"),
    _keyed("memory.stat", UNIFIED, anon="anon_bytes", file="file_bytes", pgmajfault="major_faults"),
    _number("memory.swap.current", UNIFIED, "swap_bytes"),
    _keyed("memory.events", UNIFIED, oom_kill="oom_kills"),
    _number("pids.current", UNIFIED, "pids"),
    _limit("pids.max", UNIFIED, "pids_max"),
    _keyed("pids.events", UNIFIED, max="refused"),
    GroupFile("io.stat", "io.stat", UNIFIED, ("read_bytes", "written_bytes", "reads", "writes"), _traffic),
)
"""Files of groups, version 1 first: a controller mounted as version 1 has no files in version 2."""

QUANTITIES: Final = frozenset(quantity for file in FILES for quantity in file.gives)
"""All quantities of a group."""


def files_for(wanted: frozenset[Quantity], controllers: frozenset[str]) -> tuple[GroupFile, ...]:
    """Return the files with these quantities of a group in the trees of these controllers, each quantity once.

    The file with the CPU time is the first.
    """
    files: dict[str, GroupFile] = {}
    left = set(wanted)
    for file in FILES:
        if file.controller in controllers and not left.isdisjoint(file.gives):
            files[file.id] = file
            left.difference_update(file.gives)
    return tuple(sorted(files.values(), key=lambda file: "cpu_usec" not in file.gives))
