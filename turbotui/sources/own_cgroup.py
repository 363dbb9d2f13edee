"""turbotui's own control group and those above it: the tightest quota of CPU time, and pressure.

In a container or a batch job, everything that runs beside turbotui has the same limits. The groups are found at the
probe, and the tightest of them at every tick. Counters are summed here, so that they continue when another group
becomes the tightest. Documents: kernel Documentation/admin-guide/cgroup-v2.rst, and for version 1
Documentation/scheduler/sched-bwc.rst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.cgroups import (
    CpuUse,
    Hierarchy,
    cpu_use,
    for_accounting,
    for_cpu_time,
    for_pressure,
    hierarchies,
    own_group,
    stalls,
)
from turbotui.machine.host import Host, is_bare_copy
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, SharedSource
from turbotui.sources.proc_pressure import why_no_pressure
from turbotui.sources.source import Probe, SharedReader

_DOCUMENT: Final = "kernel Documentation/admin-guide/cgroup-v2.rst"
_QUOTA: Final = "cgroup.quota"
_MILLIONTH: Final = 1e-6
# Signal, unit, scale, what is read
_COUNTERS: Final[tuple[tuple[SignalId, Unit, float, str], ...]] = (
    ("cgroup.used", Unit.SECOND, 1e-9, "CPU time"),
    ("cgroup.periods", Unit.COUNT, 1.0, "nr_periods"),
    ("cgroup.throttled", Unit.COUNT, 1.0, "nr_throttled"),
    ("cgroup.throttled_time", Unit.SECOND, 1e-9, "throttled time"),
)
_STALLS: Final[Mapping[SignalId, str]] = {f"cgroup.psi.{line}": line
                                          for line in ("cpu.some", "memory.some", "memory.full", "io.some", "io.full")}


@dataclass(frozen=True, slots=True)
class _Place:
    """The control groups of this process."""

    tree: Hierarchy  # of CPU time
    chain: tuple[str, ...]  # directories in the tree, from the own group up to the mount
    accounting: Hierarchy | None  # version 1's tree that counts CPU time
    pressure: str  # the directory of the own version 2 group; "" if there is none


class OwnCgroup(SharedSource):
    """The `Source` of the groups that this process is in."""

    id = "own-cgroup"
    counts_from_open = True

    def probe(self, machine: Machine) -> Probe:
        """Find the groups, their quotas, and what is counted for them."""
        host = machine.host
        ids = (*(signal for signal, *_ in _COUNTERS), _QUOTA, *_STALLS)
        if (place := _place_of(host)) is None:
            return Probe(dict.fromkeys(ids, _why_no_group(host)))
        signals = dict(_quota_signals(host, place))
        waits = stalls(host, place.pressure) if place.pressure else {}
        for signal, line in _STALLS.items():
            if line in waits:
                signals[signal] = Signal(signal, Scope.SYSTEM, Unit.SECOND, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{place.pressure}/{line.partition('.')[0]}.pressure {line.partition('.')[2]}",
                    document="kernel Documentation/accounting/psi.rst", scale=_MILLIONTH)
            elif place.pressure:
                signals[signal] = why_no_pressure(host, f"{place.pressure}/*.pressure cannot be read")
            else:
                signals[signal] = Unavailable(
                    Reason.NO_DRIVER, "there is no control group of version 2, and only those have pressure",
                    "mount -t cgroup2, or boot with systemd.unified_cgroup_hierarchy=1")
        return Probe(signals)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals of the groups found."""
        return OwnCgroupReader(machine.host, _place_of(machine.host), wanted)


class OwnCgroupReader(NothingToClose):
    """Reads the groups from this process's own up to the mount, and its pressure."""

    def __init__(self, host: Host, place: _Place | None, wanted: frozenset[SignalId]) -> None:
        self._host = host
        self._place = place
        self._counters = tuple(signal for signal, *_ in _COUNTERS if signal in wanted)
        self._quota = (_QUOTA,) if _QUOTA in wanted else ()
        self._stalls = tuple(signal for signal in _STALLS if signal in wanted)
        self._before: dict[tuple[str, SignalId], int] = {}  # the last count of each group that could be read
        self._totals: dict[SignalId, int] = {}
        self.unsure: Mapping[SignalId, frozenset[int]] = {}

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted counters, the quota, the pressure."""
        return (*self._counters, *self._quota, *self._stalls)

    def follow(self, cpus: Sequence[int]) -> None:
        """Continue when CPUs come or go, because no count belongs to a CPU."""

    def read(self) -> Sequence[Sequence[Raw]]:
        """One value of each signal, from the tightest group or the own group."""
        uses: dict[SignalId, int] = {}
        if self._place is not None and (self._counters or self._quota):
            uses |= self._cpu(self._place)
        if self._place is not None and self._place.pressure and self._stalls:
            waits = stalls(self._host, self._place.pressure)
            uses |= {signal: waits[line] for signal, line in _STALLS.items() if line in waits}
        return [(uses.get(signal),) for signal in self.signals]

    def _cpu(self, place: _Place) -> dict[SignalId, int]:
        uses = _uses(self._host, place)
        if (group := _tightest(uses)) is None:
            return {}
        use = {}
        fell: dict[SignalId, frozenset[int]] = {}
        for signal, value in _counts(uses[group]).items():
            grown = value - self._before.get((group, signal), value)
            self._totals[signal] = self._totals.get(signal, 0) + max(0, grown)
            if grown >= 0:
                use[signal] = self._totals[signal]
            else:  # it began anew, and nobody knows what it had counted
                fell[signal] = frozenset({0})
        self.unsure = fell
        self._before |= {(path, signal): value for path, known in uses.items()
                         for signal, value in _counts(known).items()}
        if (quota := uses[group].quota) is not None:
            use[_QUOTA] = round(quota / _MILLIONTH)
        return use


def _place_of(host: Host) -> _Place | None:
    """The control groups of this process; None if none is visible."""
    trees = hierarchies(host)
    tree = for_cpu_time(trees)
    own = None if tree is None else own_group(host, tree)
    if tree is None or own is None:
        return None
    pressures = for_pressure(trees)
    return _Place(tree, tuple(tree.upwards(own)), for_accounting(trees),
                  (own_group(host, pressures) or "") if pressures is not None else "")


def _uses(host: Host, place: _Place) -> dict[str, CpuUse]:
    return {path: cpu_use(host, place.tree, path, place.accounting) for path in place.chain}


def _tightest(uses: Mapping[str, CpuUse]) -> str | None:
    """The group with the smallest quota, or the own group without any quota; None without a group."""
    limited = {group: use.quota for group, use in uses.items() if use.quota is not None}
    return min(limited, key=limited.__getitem__) if limited else next(iter(uses), None)


def _counts(use: CpuUse) -> dict[SignalId, int]:
    values = (use.used_ns, use.periods, use.throttled, use.throttled_ns)
    return {signal: value for (signal, *_), value in zip(_COUNTERS, values, strict=True) if value is not None}


def _quota_signals(host: Host, place: _Place) -> Mapping[SignalId, Signal | Unavailable]:
    """The signals of CPU time: of a quota only where there is one."""
    uses = _uses(host, place)
    group = _tightest(uses) or place.chain[0]
    known = _counts(uses[group])
    limited = uses[group].quota is not None
    own = place.tree.name(place.chain[0])
    unlimited = Unavailable(
        Reason.NOT_SET, f"turbotui's control group ({own}) has no CPU quota; no group above it has one")
    if place.tree.root != "/" or host.exists(f"{place.tree.top}/cgroup.type"):
        # the outermost group of the machine has no such file (cgroup-v2.rst, "Core Interface Files")
        unlimited = Unavailable(
            Reason.HIDDEN, f"turbotui's control group ({own}) has no CPU quota, and groups above {place.tree.top} are "
            "hidden by the container: whether one of them has a quota is not known",
            "run turbotui on the machine itself")
    uncounted = Unavailable(Reason.NO_DRIVER, f"{group}: the kernel does not count it for this group")
    origin = f"{group}/cpu.stat"
    signals: dict[SignalId, Signal | Unavailable] = {
        signal: Signal(signal, Scope.SYSTEM, unit, Behavior.COUNTER, Reduce.SUM, origin=f"{origin}: {what}",
                       document=_DOCUMENT, scale=scale)
        if signal in known and (limited or signal == "cgroup.used") else unlimited if not limited else uncounted
        for signal, unit, scale, what in _COUNTERS
    }
    signals[_QUOTA] = unlimited if not limited else Signal(
        _QUOTA, Scope.SYSTEM, Unit.COUNT, Behavior.GAUGE, Reduce.SUM, origin=f"{group}: quota / period",
        document=_DOCUMENT, scale=_MILLIONTH)
    if "cgroup.used" not in known:
        signals["cgroup.used"] = uncounted
    return signals


def _why_no_group(host: Host) -> Unavailable:
    what = "no control group of this process can be seen below the mounts of /proc/self/mountinfo"
    if is_bare_copy(host):
        return Unavailable(Reason.RECORDED, what)
    return Unavailable(Reason.NO_DRIVER, what, "mount -t cgroup2 cgroup2 /sys/fs/cgroup")
