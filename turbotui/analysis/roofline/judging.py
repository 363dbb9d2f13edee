"""Which roofs a row stands under, and what they say of its place: bound by what, and how far below."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from turbotui.analysis.roofline import storage
from turbotui.analysis.roofline.live import Spot
from turbotui.analysis.roofline.measuring import threads_of
from turbotui.analysis.roofline.roofs import Bound, Peak, RoofSet, Verdict, verdict
from turbotui.analysis.roofline.theory import machine_roofs
from turbotui.errors import MachineError, UsageError
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import RowId, Scope

_MOSTLY = 0.5  # share from which a precision is that of a spot


@dataclass(frozen=True, slots=True)
class Choice:
    """The roofs for rows of one level.

    Attributes:
        roofs: None where there are none.
        source: where they are from, or why there are none, for people.
    """

    roofs: RoofSet | None
    source: str


def roofs_for(machine: Machine, row: RowId, environment: Mapping[str, str], *, theory: bool = False) -> Choice:
    """The roofs that bound a row: measured and stored ones of just those CPUs, else theory at the highest clock.

    A core in turbo would else be said to reach more of its roof than it does.

    Args:
        machine: real, simulated or recorded.
        row: a CPU or core (one core's roofs), a package, or the whole machine.
        environment: says where measured roofs are kept.
        theory: whether measured roofs are passed over.
    """
    if row.scope.rank < Scope.PACKAGE.rank:
        word, cpus = "one", _one_core(machine, row)
    elif row.scope is Scope.SYSTEM or len(machine.topology.instances(Scope.PACKAGE)) == 1:
        word, cpus = "all", threads_of(machine, "all", None)
    else:
        instance = machine.topology.instance(row)
        members = frozenset(() if instance is None else instance.cpus)
        word, cpus = "package", threads_of(machine, "package", members)
    if machine.host.kind is HostKind.REAL and not theory:
        path = os.path.join(storage.folder(environment), storage.file_name(machine))
        for stored in storage.load(path):
            if stored.cpus == cpus:
                return Choice(stored, f"measured {stored.when}")
    try:
        found = machine_roofs(machine, word, cpus, highest=True)
    except (MachineError, UsageError) as error:
        return Choice(None, str(error))
    clocks = dict.fromkeys(f"{one.kind + ' ' if one.kind else ''}{one.hertz / 1e9:.2f} GHz" for one in found.groups)
    return Choice(found, f"theory at the highest clock, {', '.join(clocks)}; not measured")


def _one_core(machine: Machine, row: RowId) -> tuple[int, ...]:
    """The core that roofs of one core are of: the first one, or the first of the row's kind where there are kinds."""
    instance = machine.topology.instance(row)
    cores = threads_of(machine, "all", None)
    if instance is None or not instance.cpus:
        return cores[:1]
    places = machine.topology.places
    kind = places[instance.cpus[0]].core_type
    return next(((cpu,) for cpu in cores if places[cpu].core_type == kind), cores[:1])


def peak_of(roofs: RoofSet, dominant: str, precision: Precision = Precision.DOUBLE) -> Peak | None:
    """The highest flat roof of a width in one precision; None where there is none."""
    found = [peak for peak in roofs.peaks if peak.isa == dominant and peak.precision is precision]
    return max(found, key=lambda peak: peak.flops, default=None)


def flat_roof(roofs: RoofSet, flops: float, dominant: str, single: float | None) -> Peak | None:
    """The flat roof that a point stands under: of its dominating width and precision; None where there is none.

    Instructions of several widths and precisions together have a roof between those of each: a point above that of the
    most frequent ones is under the next higher that it can have, and is above every roof only if there is none.

    Args:
        roofs: of the CPUs that it ran on.
        flops: per second.
        dominant: the width of most of its floating-point instructions; "" where that is not counted.
        single: share of its operations in single precision; None where no event tells.
    """
    mine = peak_of(roofs, dominant, Precision.SINGLE) if single is not None and single > _MOSTLY else None
    mine = mine or peak_of(roofs, dominant) or roofs.top_peak()
    if mine is None or flops <= mine.flops:
        return mine
    # where no event tells the precision, all of it may be single
    possible = [peak for peak in roofs.peaks if peak.precision is Precision.DOUBLE or single != 0]
    higher = [peak for peak in possible if peak.flops >= flops]
    return min(higher, key=_height) if higher else max(possible, key=_height, default=mine)


def _height(peak: Peak) -> float:
    return peak.flops


def judge(spot: Spot, roofs: RoofSet) -> Verdict | None:
    """What bounds a spot. None where it has no place."""
    if spot.intensity is None or not spot.has_place:
        return None
    flops = spot.gflops * 1e9
    return verdict(roofs, spot.intensity, flops, flat_roof(roofs, flops, spot.dominant, spot.single))


def sentence(spot: Spot, roofs: RoofSet | None) -> str:
    """A spot read out: "cpu 17: AI 0.41 flop/B, 18.2 GF/s: 71 % of the L2 roof, memory-bound"."""
    if spot.gbytes is None:
        return f"{spot.name}: {spot.gflops:.3g} GF/s; its bytes are not counted, so it has no place"
    if not spot.has_place:
        return f"{spot.name}: no floating-point work, {spot.gbytes:.3g} GB/s"
    mark = "~" if spot.estimated else ""
    text = f"{spot.name}: AI {mark}{spot.intensity:.3g} flop/B, {mark}{spot.gflops:.3g} GF/s"
    found = None if roofs is None else judge(spot, roofs)
    if found is None:
        return text
    share = f"{100 * found.reached:.0f} %"
    if found.above:
        return f"{text}: {share} of {found.top}: above every roof, so roofs or counts are wrong"
    how = "" if spot.dominant else "; width not counted: compared with the highest roof"
    if found.bound is Bound.COMPUTE:
        return f"{text}: {share} of the {found.ceiling.removesuffix(' double')} roof, compute-bound{how}"
    return f"{text}: {share} of the {found.ceiling.removesuffix(' bandwidth')} roof, memory-bound{how}"
