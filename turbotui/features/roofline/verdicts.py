"""The roofs above a row, and the verdict on its point: its bound, and its distance from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.features.roofline import storage
from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.measuring import threads_of
from turbotui.features.roofline.roofs import NOTHING_BINDS, Bound, Peak, RoofSet, RoofVerdict, verdict
from turbotui.features.roofline.sharing import WorkingShare, divided, used_of
from turbotui.features.roofline.theory import machine_roofs
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import RowId, Scope

_MOSTLY = 0.5  # share of operations from which a precision is that of a point


@dataclass(frozen=True, slots=True)
class LevelRoofs:
    """The roofs for rows of one level."""

    # the roofs as if nothing else ran, of which `under` returns the applicable part; None if there are none
    roofs: RoofSet | None
    source: str  # the source of the roofs, or why there are none, for people
    whole: RoofSet | None = None  # for rows of one core, the roofs of all cores of the package, which share its memory
    core: RoofSet | None = None  # for larger rows, the roofs of one core

    def under(self, working: WorkingShare | None) -> RoofSet | None:
        """Return the roofs for the working part of the machine; all of them if that is unknown."""
        if self.roofs is None or working is None:
            return self.roofs
        return divided(self.roofs, working, whole=self.whole, core=self.core)

    def used(self, working: WorkingShare | None) -> float | None:
        """Return the share of the memory's bandwidth that its controllers counted; None if nothing counts it."""
        shared = self.whole if self.whole is not None else self.roofs
        if working is None or shared is None:
            return None
        rate = max((slant.rate for slant in shared.bandwidths if slant.level == "DRAM"), default=0.0)
        return used_of(working, rate if self.whole is not None else rate * working.memory)

    def judge(self, point: RooflinePoint) -> RoofVerdict | None:
        """Judge a point under its share of the roofs; None if it has no position or there are no roofs."""
        roofs = self.under(point.working)
        return None if roofs is None else judge(point, roofs, self.used(point.working))


def roofs_for(machine: Machine, row: RowId, environment: Mapping[str, str], *, theory: bool = False) -> LevelRoofs:
    """Return the roofs that bound a row: stored measurements of exactly its CPUs, else theory at the highest clock.

    With a lower clock, a core in turbo would seem to reach more of its roof than it does.

    Args:
        row: a CPU or core (one core's roofs), a package, or the whole machine.
        environment: the environment, which tells where measured roofs are stored.
    """
    topology = machine.topology
    choice = _alone(machine, row, environment, theory=theory)
    if choice.roofs is None:
        return choice
    instance = topology.instance(row)
    cpu = topology.cpus[0] if instance is None or not instance.cpus else instance.cpus[0]
    if row.scope.rank < Scope.PACKAGE.rank:
        package = _alone(machine, topology.row(Scope.PACKAGE, cpu), environment, theory=theory)
        return replace(choice, whole=package.roofs)
    return replace(choice, core=_alone(machine, topology.row(Scope.CORE, cpu), environment, theory=theory).roofs)


def part_of(roofs: RoofSet, cpus: tuple[int, ...], threads: str = "package") -> RoofSet:
    """Return some CPUs' share of the roofs of more equal CPUs, such as those of one of several packages."""
    share = len(cpus) / len(roofs.cpus)
    return replace(
        roofs, threads=threads, cpus=cpus,
        peaks=tuple(replace(peak, flops=peak.flops * share) for peak in roofs.peaks),
        integer_peaks=tuple(replace(peak, flops=peak.flops * share) for peak in roofs.integer_peaks),
        bandwidths=tuple(replace(bandwidth, rate=bandwidth.rate * share) for bandwidth in roofs.bandwidths),
    )


def core_weights(machine: Machine) -> Mapping[str | None, float]:
    """Return the arithmetic of a core of each type by theory; empty for one type, or without limits of each."""
    kinds = machine.topology.core_types
    weights: dict[str | None, float] = {}
    for kind in kinds if len(kinds) > 1 else ():
        cpu = next(cpu for cpu, place in machine.topology.places.items() if place.core_type == kind)
        try:
            peak = machine_roofs(machine, "one", (cpu,), highest=True).top_peak()
        except (MachineError, UsageError):
            return {}
        if peak is None:
            return {}
        weights[kind] = peak.flops
    return weights


def _alone(machine: Machine, row: RowId, environment: Mapping[str, str], *, theory: bool) -> LevelRoofs:
    """Return the roofs of a row as if nothing else ran."""
    if row.scope.rank < Scope.PACKAGE.rank:
        cpus = _one_core(machine, row)
        kind = machine.topology.places[cpus[0]].core_type if cpus else None
        word = "one" if kind is None else f"one {kind}"
    elif row.scope is Scope.SYSTEM or len(machine.topology.instances(Scope.PACKAGE)) == 1:
        word, cpus = "all", threads_of(machine, "all", None)
    else:
        instance = machine.topology.instance(row)
        members = frozenset(() if instance is None else instance.cpus)
        word = "package" if instance is None else f"package {instance.label}"
        cpus = threads_of(machine, word, members)
    if machine.host.kind is HostKind.REAL and not theory:
        stored = storage.load(os.path.join(storage.folder(environment), storage.file_name(machine)))
        measured = next((roofs_of for roofs_of in stored if roofs_of.cpus == cpus), None)
        if measured is not None:
            return LevelRoofs(measured, f"measured {measured.when}")
        every = next((roofs_of for roofs_of in stored if roofs_of.cpus == threads_of(machine, "all", None)), None)
        if row.scope is Scope.PACKAGE and every is not None:
            return LevelRoofs(part_of(every, cpus, word), f"measured {every.when}, its share of all cores")
    try:
        roofs = machine_roofs(machine, word, cpus, highest=True)
    except (MachineError, UsageError) as error:
        return LevelRoofs(None, str(error))
    clocks = dict.fromkeys(f"{group.kind + ' ' if group.kind else ''}{group.hertz / 1e9:.2f} GHz"
                           for group in roofs.groups)
    return LevelRoofs(roofs, f"theory at the highest clock, {', '.join(clocks)}; not measured")


def _one_core(machine: Machine, row: RowId) -> tuple[int, ...]:
    """Return the core for roofs of one core: the first one, or the first of the row's type."""
    instance = machine.topology.instance(row)
    cores = threads_of(machine, "all", None)
    if instance is None or not instance.cpus:
        return cores[:1]
    places = machine.topology.places
    kind = places[instance.cpus[0]].core_type
    return next(((cpu,) for cpu in cores if places[cpu].core_type == kind), cores[:1])


def peak_of(roofs: RoofSet, dominant: str, precision: Precision = Precision.DOUBLE) -> Peak | None:
    """Return the highest flat roof of a width in one precision; None if there is none."""
    peaks = [peak for peak in roofs.peaks if peak.isa == dominant and peak.precision is precision]
    return max(peaks, key=lambda peak: peak.flops, default=None)


def flat_roof(roofs: RoofSet, flops: float, dominant: str, single: float | None) -> Peak | None:
    """Return the flat roof above a point, by its dominating width and precision; None if there is none.

    A point above the roof of its most frequent instructions gets the next higher possible roof, and is above
    every roof only if there is none.

    Args:
        dominant: the width of most of its floating-point instructions; "" if not counted.
        single: the share of operations in single precision; None if no event tells.
    """
    own_peak = peak_of(roofs, dominant, Precision.SINGLE) if single is not None and single > _MOSTLY else None
    own_peak = own_peak or peak_of(roofs, dominant) or roofs.top_peak()
    if own_peak is None or flops <= own_peak.flops:
        return own_peak
    # if no event distinguishes the precisions, all operations may be single
    possible = [peak for peak in roofs.peaks
                if peak.precision is Precision.DOUBLE or (peak.precision is Precision.SINGLE and single != 0)]
    # instructions of several widths and precisions have a roof between those of each
    higher = [peak for peak in possible if peak.flops >= flops]
    return min(higher, key=_height) if higher else max(possible, key=_height, default=own_peak)


def _height(peak: Peak) -> float:
    return peak.flops


def precision_of(point: RooflinePoint) -> Precision | None:
    """Return half precision if most of a point's operations are half or a matrix unit's; else None."""
    return Precision.HALF if point.half > _MOSTLY else None


NO_HALF = "half precision and matrix operations have no roof here"


def _top_half(roofs: RoofSet) -> Peak | None:
    return roofs.top_peak(Precision.HALF)


def lacks_roof(point: RooflinePoint, roofs: RoofSet) -> bool:
    """Tell whether no roof above a point is known, because half precision may be faster than all known ones."""
    if _top_half(roofs) is not None:
        return False
    top = max((peak.flops for peak in roofs.peaks), default=0.0)
    return point.half > _MOSTLY or (point.half > 0 and point.gflops * 1e9 > top)


def judge(point: RooflinePoint, roofs: RoofSet, used: float | None = None) -> RoofVerdict | None:
    """Judge a point's bound; None if it has no position, or no known roof above it (`lacks_roof`).

    Args:
        used: the share of the memory's bandwidth that its controllers counted; None if nothing counts it.
    """
    if point.intensity is None or not point.has_place or lacks_roof(point, roofs):
        return None
    flops = point.gflops * 1e9
    flat = flat_roof(roofs, flops, point.dominant, point.single)
    if point.half > _MOSTLY or (point.half > 0 and flat is not None and flops > flat.flops):
        # no event distinguishes vector from matrix units, but a point below the lower roof is bound by that
        halves = [peak for peak in roofs.peaks if peak.precision is Precision.HALF and peak.flops >= flops]
        flat = min(halves, key=_height) if halves else _top_half(roofs) or flat
    return verdict(roofs, point.intensity, flops, flat, used=used)


def sentence(point: RooflinePoint, roofs: RoofSet | None, used: float | None = None) -> str:
    """Describe a point: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, memory-bound"."""
    if point.gbytes is None:
        return f"{point.name}: {point.signs}{point.gflops:.3g} GF/s; its bytes are not counted, so it has no place"
    if not point.has_place:
        return f"{point.name}: no floating-point work, {point.signs}{point.gbytes:.3g} GB/s"
    text = f"{point.name}: AI {point.signs}{point.intensity:.3g} flop/B, {point.signs}{point.gflops:.3g} GF/s"
    verdict = None if roofs is None else judge(point, roofs, used)
    if verdict is None:
        return text if roofs is None or not lacks_roof(point, roofs) else f"{text}: {NO_HALF}"
    share = f"{100 * verdict.reached:.0f} %"
    if verdict.above:
        return f"{text}: {share} of {verdict.top}: above every roof, so roofs or counts are wrong"
    how = "" if point.dominant else "; width not counted: compared with the highest roof"
    name = verdict.ceiling.removesuffix(" double").removesuffix(" bandwidth")
    counted = " by its counted traffic" if verdict.counted else ""
    beside = 0.0 if point.working is None else point.working.beside
    shared = f", shared by {beside:.0f} cores" if name == "DRAM" and beside > 1 and not counted else ""
    if verdict.bound is Bound.NONE:
        return f"{text}: {NOTHING_BINDS}; {share} of the nearest, {name}{counted}{shared}{how}"
    bound = "compute" if verdict.bound is Bound.COMPUTE else "memory"
    return f"{text}: {share} of the {name} roof{counted}{shared}, {bound}-bound{how}"
