"""Filters of events that are open on one PMU at a time: some exclude each other, whichever columns they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from turbotui.events.devices import Devices
from turbotui.events.uncore.filters import check_pcie_group, check_target_group
from turbotui.machine.host import Host, PerfAttr
from turbotui.machine.pmus import Pmu
from turbotui.sources.event_places import Bundle

Filters: TypeAlias = Mapping[str, tuple[Mapping[str, int], ...]]
"""PMU -> the terms of each event that is counted on it."""

_RULES: Mapping[str, Callable[[Sequence[Mapping[str, int]]], None]] = {
    # a term that only PMUs with the rule have (nvidia-tegra410-pmu.rst)
    "src_bdf_en": check_pcie_group,
    "dst_addr_en": check_target_group,
}
_CYCLES = 0x1_0000_0000
"""The dedicated cycle counter of a CoreSight PMU, which no filter touches."""


def filters_of(host: Host, bundles: Iterable[Bundle]) -> Filters:
    """The terms of every event on PMUs that have such rules."""
    devices = Devices.of(host)
    found: dict[str, tuple[Mapping[str, int], ...]] = {}
    for bundle in bundles:
        for _text, event in bundle.members:
            pmu = devices.exactly(event.pmu) if event.uncore else None
            if pmu is not None and not _RULES.keys().isdisjoint(pmu.formats):
                terms = _terms(pmu, event.attr)
                if terms.get("event") != _CYCLES:
                    found[pmu.name] = (*found.get(pmu.name, ()), terms)
    return found


def check_together(filters: Iterable[Filters]) -> None:
    """Check what is counted at the same time.

    Raises:
        EventError: two filters on one PMU exclude each other.
    """
    on: dict[str, list[Mapping[str, int]]] = {}
    for one in filters:
        for name, events in one.items():
            on.setdefault(name, []).extend(events)
    for together in on.values():
        for term, rule in _RULES.items():
            if any(term in terms for terms in together):
                rule(together)


def _terms(pmu: Pmu, attr: PerfAttr) -> dict[str, int]:
    """The fields of an attribute, by the PMU's formats; every one of them, zero or not."""
    words = (attr.config, attr.config1, attr.config2, attr.config3, attr.config4)
    return {
        name: sum((words[form.word] >> bit & 1) << index for index, bit in enumerate(form.bits))
        for name, form in pmu.formats.items()
    }
