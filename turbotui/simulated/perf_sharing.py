"""How groups share the counters of a PMU: what fits into one group, and which part of the time each runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.machine.host import PerfAttr
from turbotui.simulated.pmu import SimulatedCounter, SimulatedPmu


def fits(pmu: SimulatedPmu, members: Sequence[tuple[PerfAttr, SimulatedCounter]]) -> bool:
    """Whether events of a PMU can be counted in one group: there are counters enough, and one setting of its filter."""
    if _demand(counter for _attr, counter in members) > pmu.counters:
        return False
    if len({counter.filter for _attr, counter in members} - {""}) > 1:
        return False
    return pmu.fits is None or pmu.fits([attr for attr, _counter in members])


def share_of(pmu: SimulatedPmu, own: Sequence[SimulatedCounter], wanting: Sequence[SimulatedCounter]) -> float:
    """The part of the time in which a group runs, where the kernel rotates groups that do not fit together.

    Args:
        pmu: whose counters they want.
        own: what the group counts.
        wanting: what all groups count that want the PMU in the same time, this one's included.
    """
    wanted = _demand(wanting)
    share = 1.0 if wanted <= pmu.counters else pmu.counters / wanted
    for part in {counter.local for counter in own} - {""}:
        share = min(share, pmu.local_counters / max(1, sum(one.local == part for one in wanting)))
    if any(counter.filter for counter in own):
        share = min(share, 1 / len({counter.filter for counter in wanting} - {""}))
    return 1.0 if _demand(own) == 0 else share  # a group that uses only fixed counters never has to wait


def _demand(counters: Iterable[SimulatedCounter]) -> int:
    """General counters needed: a fixed-purpose one serves the first who asks for it."""
    taken: set[str] = set()
    general = 0
    for counter in counters:
        if counter.fixed and counter.fixed not in taken:
            taken.add(counter.fixed)
        else:
            general += counter.slots
    return general
