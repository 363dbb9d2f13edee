"""A row's own roofs: shared roofs are divided among the cores that work.

The bandwidth of memory and of a shared L3 does not belong to one core while others use it, and a machine with few
working cores has only their arithmetic. With such shares, a run gets the same verdict by core and by machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.roofline.roofs import Bandwidth, RoofSet
from turbotui.machine.code.shapes import Mix
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.speeds import Speed

_AT_WORK: Final = 0.05
"""The share of the busiest core's operations or bytes from which a core works."""
SHARED: Final = ("L3", "DRAM")
ONE_CPU: Final = 1.2
"""The average number of busy CPUs above which a command is compared with the roofs of all cores."""


@dataclass(frozen=True, slots=True)
class WorkingShare:
    """The part of a machine that works for a row, over one interval or, as means, over several."""

    cores: float = 1.0  # the working cores of the row
    capacity: float = 1.0  # their share of the arithmetic of all the row's cores; 1 for a row of one core
    third: float = 1.0  # the row's share of its package's L3s, or of its own if it is at least a package
    memory: float = 1.0  # the row's share of the memory's bandwidth, in the same way
    beside: float = 1.0  # working cores that share the memory, including the row's own
    traffic: float | None = None  # bytes per second of the memory's controllers; None if nothing counts them
    others: bool = False  # whether CPUs that are not measured move a part of these bytes


def working_of(topology: Topology, busy: float, traffic: float | None) -> WorkingShare:
    """Return a command's share of a machine while it keeps that many CPUs busy."""
    cores = len(topology.instances(Scope.CORE))
    used = min(float(cores), busy)
    return WorkingShare(used, used / cores if busy > 1 else 1.0, beside=used, traffic=traffic)


def mean_working(parts: Iterable[tuple[WorkingShare | None, float]]) -> WorkingShare | None:
    """Average the parts of intervals by their seconds; None if one of them is unknown."""
    every = list(parts)
    known = [(share, length) for share, length in every if share is not None]
    total = math.fsum(length for _share, length in known)
    if len(known) < len(every) or total <= 0:
        return None

    def mean(values: Sequence[float]) -> float:
        return math.fsum(value * length for value, (_share, length) in zip(values, known, strict=True)) / total

    traffic = [share.traffic for share, _length in known if share.traffic is not None]
    return WorkingShare(mean([share.cores for share, _ in known]), mean([share.capacity for share, _ in known]),
        mean([share.third for share, _ in known]), mean([share.memory for share, _ in known]),
        mean([share.beside for share, _ in known]), mean(traffic) if len(traffic) == len(known) else None,
        any(share.others for share, _ in known))


class WorkingCores:
    """The cores of a machine that work in an interval.

    Args:
        weights: relative arithmetic of a core of each type; 1 if missing.
        traffic: bytes per second of the memory, by package row; empty if nothing counts them.
    """

    def __init__(self, topology: Topology, speeds: Mapping[RowId, Speed | None],
                 weights: Mapping[str | None, float] | None = None,
                 traffic: Mapping[RowId, float] | None = None) -> None:
        self._topology = topology
        self._weights = weights or {}
        self._traffic = traffic or {}
        self._cores = _working_cores(topology, speeds)
        self._known: dict[RowId, frozenset[RowId]] = {}  # cached, because it is needed for every core of a package

    def of(self, row: RowId) -> WorkingShare | None:
        """Return the part of the machine that works for a row; None if the row does not exist."""
        instance = self._topology.instance(row)
        if instance is None or not instance.cpus:
            return None
        if row.scope.rank < Scope.PACKAGE.rank:
            return self._of_core(instance.cpus[0])
        return self._of_many(row)

    def _of_core(self, cpu: int) -> WorkingShare:
        topology = self._topology
        core = topology.row(Scope.CORE, cpu)
        package = topology.row(Scope.PACKAGE, cpu)
        cache = topology.row(Scope.L3, cpu)
        beside = self._with(package, core)
        alike = self._with(cache, core)
        cores = len(topology.parts(cache, Scope.CORE)) / max(1, len(topology.parts(package, Scope.CORE)))
        return WorkingShare(1.0, 1.0, min(1.0, cores) / alike, 1.0 / beside, float(beside), self._traffic.get(package))

    def _of_many(self, row: RowId) -> WorkingShare:
        topology = self._topology
        everything = {topology.rows(Scope.CORE)[at] for at in topology.parts(row, Scope.CORE)}
        cores = self._inside(row) or frozenset(everything)
        weight = {core: self._weight(core) for core in everything}
        packages = topology.parts(row, Scope.PACKAGE) if row.scope is Scope.SYSTEM else ()
        rows = [topology.rows(Scope.PACKAGE)[at] for at in packages] or [row]
        traffic = [self._traffic[outer] for outer in rows if outer in self._traffic]
        return WorkingShare(float(len(cores)), math.fsum(weight[core] for core in cores) / math.fsum(weight.values()),
            self._share(row, Scope.L3, cores), self._share(row, Scope.PACKAGE, cores) if packages else 1.0,
            float(len(cores)), math.fsum(traffic) if len(traffic) == len(rows) else None,
            topology.restricted is not None)

    def _inside(self, outer: RowId) -> frozenset[RowId]:
        inner = self._known.get(outer)
        if inner is None:
            rows = self._topology.rows(Scope.CORE)
            inner = frozenset(rows[at] for at in self._topology.parts(outer, Scope.CORE)) & self._cores
            self._known[outer] = inner
        return inner

    def _with(self, outer: RowId, core: RowId) -> int:
        """Return how many cores inside a row work, counting this one as working."""
        inside = self._inside(outer)
        return len(inside) + (core not in inside)

    def _share(self, outer: RowId, scope: Scope, working: frozenset[RowId]) -> float:
        """Return the share of a scope's instances that contain one of these cores."""
        topology = self._topology
        inside = topology.parts(outer, scope)
        cores, rows = topology.rows(Scope.CORE), topology.rows(scope)
        used = sum(any(cores[at] in working for at in topology.parts(rows[place], Scope.CORE)) for place in inside)
        return used / len(inside) if used else 1.0

    def _weight(self, core: RowId) -> float:
        instance = self._topology.instance(core)
        kind = None if instance is None else self._topology.places[instance.cpus[0]].core_type
        return self._weights.get(kind, 1.0)


def _working_cores(topology: Topology, speeds: Mapping[RowId, Speed | None]) -> frozenset[RowId]:
    flops: dict[RowId, float] = {}
    moved: dict[RowId, float] = {}
    for row, speed in speeds.items():
        instance = topology.instance(row)
        if speed is None or instance is None or not instance.cpus:
            continue
        core = topology.row(Scope.CORE, instance.cpus[0])
        flops[core] = flops.get(core, 0.0) + speed.flops
        moved[core] = moved.get(core, 0.0) + (speed.bytes or 0.0)
    return frozenset(core for amounts in (flops, moved) for core, amount in amounts.items()
                     if amount > 0 and amount >= _AT_WORK * max(amounts.values()))


def divided(roofs: RoofSet, working: WorkingShare, *, whole: RoofSet | None = None,
            core: RoofSet | None = None) -> RoofSet:
    """Return a row's roofs for the working part of the machine.

    Args:
        roofs: the roofs of all cores of the row, as if nothing else ran.
        working: the working part.
        whole: for a row of one core, the roofs of all cores of its package.
        core: for a larger row, the roofs of one core, whose multiples bound those of many cores.
    """
    levels = {slant.level for slant in roofs.bandwidths}
    # by theory, memory that delivers more than one core takes from its caches is no roof of a lone core
    more = () if whole is None else (slant for slant in whole.bandwidths
                                     if slant.level in SHARED and slant.level not in levels)
    slants = tuple(replace(slant, rate=_rate(slant, working, whole, core)) for slant in (*roofs.bandwidths, *more))
    own = [slant.rate for slant in slants if slant.level not in SHARED and slant.mix is Mix.LOADS]
    return replace(
        roofs,
        peaks=tuple(replace(peak, flops=peak.flops * working.capacity) for peak in roofs.peaks),
        integer_peaks=tuple(replace(peak, flops=peak.flops * working.capacity) for peak in roofs.integer_peaks),
        bandwidths=tuple(slant for slant in slants if slant.level not in SHARED or slant.evidence is not None
                         or slant.rate < min(own, default=math.inf)),
        working=_words(roofs, working),
    )


def _rate(slant: Bandwidth, working: WorkingShare, whole: RoofSet | None, core: RoofSet | None) -> float:
    if slant.level not in SHARED:
        return slant.rate * working.capacity
    share = working.memory if slant.level == "DRAM" else working.third
    if whole is not None:
        all_of_it = _same(whole, slant)
        return slant.rate if all_of_it is None else min(slant.rate, share * all_of_it)
    alone = None if core is None else _same(core, slant)
    return slant.rate * share if alone is None else min(slant.rate * share, alone * working.cores)


def _same(roofs: RoofSet, slant: Bandwidth) -> float | None:
    """Return the rate of the same level and mix in another set, else the level's highest."""
    rates = {bandwidth.mix: bandwidth.rate for bandwidth in roofs.bandwidths if bandwidth.level == slant.level}
    return rates.get(slant.mix, max(rates.values(), default=None))


def _words(roofs: RoofSet, working: WorkingShare) -> str:
    if len(roofs.cpus) <= 1:
        return f"memory shared by {working.beside:.0f} cores" if working.beside > 1 else ""
    return "" if working.capacity >= 1 else f"those of the {working.cores:.0f} cores at work"


def used_of(working: WorkingShare, dram: float | None) -> float | None:
    """Return the used share of a row's memory bandwidth (peak: `dram`); None if no controller counts it."""
    return None if working.traffic is None or not dram else working.traffic / dram
