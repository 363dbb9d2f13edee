"""Shares a PMU's counters between groups: which events fit one group, and which part of the time a group runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.machine.host import PerfAttr
from turbotui.simulated.pmu import SimulatedCounter, SimulatedPmu


def fits(pmu: SimulatedPmu, members: Sequence[tuple[PerfAttr, SimulatedCounter]]) -> bool:
    """Tell whether events fit one group: enough counters, and the same setting of the PMU's filter."""
    if _demand(counter for _attr, counter in members) > pmu.counters:
        return False
    if len({counter.filter for _attr, counter in members} - {""}) > 1:
        return False
    return pmu.fits is None or pmu.fits([attr for attr, _counter in members])


def share_of(pmu: SimulatedPmu, own: Sequence[SimulatedCounter], wanting: Sequence[SimulatedCounter]) -> float:
    """Return the part of the time in which a group runs while the kernel rotates groups.

    Args:
        wanting: the counters of all groups that want the PMU at the same time, this one included.
    """
    wanted = _demand(wanting)
    share = 1.0 if wanted <= pmu.counters else pmu.counters / wanted
    for part in {counter.local for counter in own} - {""}:
        share = min(share, pmu.local_counters / max(1, sum(one.local == part for one in wanting)))
    if any(counter.filter for counter in own):
        share = min(share, 1 / len({counter.filter for counter in wanting} - {""}))
    return 1.0 if _demand(own) == 0 else share  # a group that uses only fixed counters never has to wait


def _demand(counters: Iterable[SimulatedCounter]) -> int:
    """Return the number of general counters needed; a fixed counter serves the first event that can use it."""
    taken: set[str] = set()
    general = 0
    for counter in counters:
        if counter.fixed and counter.fixed not in taken:
            taken.add(counter.fixed)
        else:
            general += counter.slots
    return general
