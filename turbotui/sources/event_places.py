"""The scopes of an added event's counters, and the CPUs that open them.

A PMU's cpumask lists the CPUs on which it is opened, and associated_cpus those for which it counts (kernel
Documentation/ABI/testing/sysfs-bus-event_source-devices; nvidia-tegra410-pmu.rst).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.events.devices import Devices
from turbotui.events.encoded import EncodedEvent
from turbotui.events.uncore.filters import check_pcie_group, check_target_group
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import Host
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable

_LEVELS = (Scope.PACKAGE, Scope.DIE, Scope.NODE, Scope.L3, Scope.MODULE, Scope.CORE)
"""Coarsest first. Nodes follow dies, because a die with two nodes has the finer rows; no node has two dies."""
_WHOLE_MACHINE = frozenset({("power", 0x05)})
"""PMU and config of events that count the whole machine on any package: energy-psys (Intel SDM vol. 3, RAPL, Platform
domain; linux arch/x86/events/rapl.c)."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Events that one PMU counts together: the members of a group, or one event."""

    members: tuple[tuple[str, EncodedEvent], ...]  # with their event strings, the leader first
    weak: bool = False  # whether they may be opened apart if they do not fit

    @property
    def first(self) -> EncodedEvent:
        """The member that determines where the bundle is opened: a hardware event if there is one."""
        return self.members[0][1]

    @property
    def events(self) -> tuple[str, ...]:
        """The event strings of the members."""
        return tuple(text for text, _event in self.members)


@dataclass(frozen=True, slots=True)
class Placed:
    """A bundle and the CPU on which it is opened."""

    bundle: Bundle
    cpu: int


@dataclass(frozen=True, slots=True)
class Family:
    """The bundles of the same event strings, on every PMU that counts them."""

    events: tuple[str, ...]
    bundles: tuple[Bundle, ...]
    scope: Scope  # one value for each instance of this level
    rows: Mapping[int, tuple[Placed, ...]]  # reading CPU -> the bundles that it opens, whose counts are summed
    absent: Mapping[int, Unavailable] = field(default_factory=dict)  # reading CPU -> why its row has no such counter
    # event string -> reading CPU -> why the kernel refuses this event of the row alone
    refused: Mapping[str, Mapping[int, Unavailable]] = field(default_factory=dict)


def families(topology: Topology, bundles: Iterable[Bundle], whole: Topology | None = None) -> tuple[Family, ...]:
    """The counters of every bundle, by the scope for which its PMU counts.

    Args:
        topology: the watched CPUs, which have the rows.
        whole: all CPUs, if not all are watched, because a PMU is opened on its own CPU in any case.
    """
    alike = lists_by_key((bundle.events, bundle) for bundle in bundles)
    return tuple(_family(topology, whole or topology, events, members) for events, members in alike.items())


def _family(topology: Topology, whole: Topology, events: tuple[str, ...], bundles: Sequence[Bundle]) -> Family:
    scope = _scope(whole, bundles)
    named: list[dict[RowId, list[int]]] = []
    for bundle in bundles:
        at = lists_by_key((whole.row(scope, cpu), cpu) for cpu in bundle.first.cpus if cpu in whole.places)
        named.append(at)
    rows: dict[int, tuple[Placed, ...]] = {}
    absent: dict[int, Unavailable] = {}
    for instance in topology.instances(scope):
        here: list[Placed] = []
        for bundle, at in zip(bundles, named, strict=True):
            cpus = at.get(instance.row, []) if bundle.first.cpus else instance.cpus[:1]
            once = scope is Scope.SYSTEM or bundle.first.per_package
            here += [Placed(bundle, cpu) for cpu in (cpus[:1] if once else cpus)]
        # the PMU's CPU reads the row, if that CPU is watched
        reader = next((placed.cpu for placed in here if placed.cpu in instance.cpus), instance.cpus[0])
        if here:
            rows[reader] = tuple(here)
        else:
            absent[reader] = _elsewhere(events, bundles, scope, instance.label)
    return Family(events, tuple(bundles), scope, rows, absent)


def _scope(topology: Topology, bundles: Sequence[Bundle]) -> Scope:
    """The coarsest level in whose instances each PMU names one CPU, and which its associated CPUs fill."""
    first = bundles[0].first
    if (first.pmu, first.attr.config) in _WHOLE_MACHINE:
        return Scope.SYSTEM
    if first.per_package:
        return Scope.PACKAGE
    if not first.uncore:
        return Scope.CPU
    masks = [bundle.first for bundle in bundles]
    fitting = [scope for scope in _LEVELS if all(_one_each(topology, scope, event) for event in masks)]
    exact = [scope for scope in fitting if all(_filled(topology, scope, event) for event in masks)]
    return next(iter((*exact, *fitting)), Scope.CPU)


def _one_each(topology: Topology, scope: Scope, event: EncodedEvent) -> bool:
    places = [topology.index(scope, cpu) for cpu in event.cpus if cpu in topology.places]
    return len(set(places)) == len(places)


def _filled(topology: Topology, scope: Scope, event: EncodedEvent) -> bool:
    """Whether the PMU counts for all CPUs of the instances in which it is opened."""
    if not (covers := frozenset(event.covers)):
        return True
    instances = topology.instances(scope)
    return all(covers.issuperset(instances[topology.index(scope, cpu)].cpus) for cpu in event.cpus
               if cpu in topology.places)


def _elsewhere(events: Sequence[str], bundles: Sequence[Bundle], scope: Scope, label: int) -> Unavailable:
    """Return why a row has no counter although others have one."""
    pmus = sorted({bundle.first.pmu for bundle in bundles})
    cpus = sorted({cpu for bundle in bundles for cpu in (bundle.first.covers or bundle.first.cpus)})
    what = f"the PMU {pmus[0]}" if len(pmus) == 1 else f"{len(pmus)} PMUs ({pmus[0]} ...)"
    verb = "counts" if len(pmus) == 1 else "count"
    whose = f"CPUs {format_cpulist(cpus)}" if len(cpus) > 1 else f"CPU {cpus[0]}" if cpus else "none of the CPUs here"
    return Unavailable(Reason.NO_HARDWARE, f"{events[0]}: {what} {verb} for {whose}, not for {scope.value} {label}")


Filters: TypeAlias = Mapping[str, tuple[Mapping[str, int], ...]]
"""PMU -> the terms of each event that it counts."""

_RULES: Mapping[str, Callable[[Sequence[Mapping[str, int]]], None]] = {
    # a term that only PMUs with this rule have (nvidia-tegra410-pmu.rst)
    "src_bdf_en": check_pcie_group,
    "dst_addr_en": check_target_group,
}
_CYCLES = 0x1_0000_0000
"""The dedicated cycle counter of a CoreSight PMU, which filters do not affect."""


def filters_of(host: Host, bundles: Iterable[Bundle]) -> Filters:
    """The terms of every event on PMUs with such rules."""
    devices = Devices.of(host)
    filters: dict[str, tuple[Mapping[str, int], ...]] = {}
    for bundle in bundles:
        for _text, event in bundle.members:
            pmu = devices.exactly(event.pmu) if event.uncore else None
            if pmu is not None and not _RULES.keys().isdisjoint(pmu.formats):
                attr = event.attr
                words = (attr.config, attr.config1, attr.config2, attr.config3, attr.config4)
                terms = {name: sum((words[form.word] >> bit & 1) << index for index, bit in enumerate(form.bits))
                         for name, form in pmu.formats.items()}
                if terms.get("event") != _CYCLES:
                    filters[pmu.name] = (*filters.get(pmu.name, ()), terms)
    return filters


def check_together(filters: Iterable[Filters]) -> None:
    """Check events that are counted at the same time.

    Raises:
        EventError: two filters on one PMU exclude each other.
    """
    by_pmu = lists_by_key((pmu, event) for placed in filters for pmu, events in placed.items() for event in events)
    for together in by_pmu.values():
        for term, rule in _RULES.items():
            if any(term in terms for terms in together):
                rule(together)
