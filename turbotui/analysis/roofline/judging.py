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


def peak_of(roofs: RoofSet, dominant: str) -> Peak | None:
    """The highest flat roof of the width that dominates; None for the highest of all."""
    found = [peak for peak in roofs.peaks if peak.isa == dominant and peak.precision is Precision.DOUBLE]
    return max(found, key=lambda peak: peak.flops, default=None)


def judge(spot: Spot, roofs: RoofSet) -> Verdict | None:
    """What bounds a spot; the flat roof is that of its dominating width. None where it has no place."""
    if spot.intensity is None or not spot.has_place:
        return None
    return verdict(roofs, spot.intensity, spot.gflops * 1e9, peak_of(roofs, spot.dominant))


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
    if found.bound is Bound.COMPUTE:
        return f"{text}: {share} of the {found.ceiling.removesuffix(' double')} roof, compute-bound"
    return f"{text}: {share} of the {found.ceiling.removesuffix(' bandwidth')} roof, memory-bound"
