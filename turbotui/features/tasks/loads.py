"""Columns of sampled loads: latency and data source; sampled only while one of them is shown.

What each is: docs/specs/loads.md 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.fact_columns import MeasuredCell, MeasuredFact, measured_facts
from turbotui.machine.tasks.load_records import LoadCounts, Served
from turbotui.quantities.by_key import total_of
from turbotui.quantities.unavailable import Reason, Unavailable

LOADS: Final = "sampled loads"
"""The word that columns of sampled loads need."""
NOT_YET: Final = Unavailable(
    Reason.NOT_READ, "loads were not sampled: they are while it is shown, from the next interval on, and are "
    "recorded by turbotui record --tables loads")
NONE_SEEN: Final = Unavailable(Reason.NEVER_RAN, "no load of the row was sampled in this interval")
_NO_MISS: Final = Unavailable(Reason.NEVER_RAN, "L1 served each of the row's sampled loads")
_NO_GHZ: Final = Unavailable(Reason.NOT_READ, "cycles of the row are not counted, so its clock is not known",
                             "ask for the event cycles too")
_UNSURE: Final = 0.05  # standard error from which a number is marked: of the mean, or points of a share


@dataclass(frozen=True, slots=True)
class SampledLoads:
    """The sampled loads of a row's threads in an interval."""

    counts: LoadCounts | None = None  # of them; None where nothing is sampled
    why: Unavailable | None = None  # None where loads are sampled


def sampled_together(parts: Sequence[SampledLoads | None]) -> SampledLoads | None:
    """The combined loads of several rows; None if one row's loads are unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    counted = [part.counts for part in known if part.counts is not None]
    return replace(known[0], counts=total_of(LoadCounts(), counted) if counted else None)


def _mean(counts: LoadCounts, _ghz: float | None) -> MeasuredCell:
    mean, error = counts.mean, counts.mean_error
    if mean is None:
        return MeasuredCell(None, _NO_MISS if counts.number else NONE_SEEN)
    return MeasuredCell(mean, estimated=error is None or error > _UNSURE * mean)


def _nanoseconds(counts: LoadCounts, ghz: float | None) -> MeasuredCell:
    cell = _mean(counts, ghz)
    if counts.mean is None:
        return cell
    return cell._replace(value=counts.mean / ghz) if ghz else MeasuredCell(None, _NO_GHZ)


def _share(*which: Served) -> Callable[[LoadCounts, float | None], MeasuredCell]:
    def cell(counts: LoadCounts, _ghz: float | None) -> MeasuredCell:
        share, error = counts.share(*which), counts.share_error(*which)
        if share is None or error is None:
            return MeasuredCell(None, NONE_SEEN)
        return MeasuredCell(100 * share, estimated=error > _UNSURE)

    return cell


LOAD_FACTS: Final[tuple[MeasuredFact[LoadCounts, float | None], ...]] = measured_facts({
    "LoadLat": _mean,
    "LoadNs": _nanoseconds,
    "LoadL1%": _share(Served.L1),
    "LoadBuf%": _share(Served.BUFFER),
    "LoadL2%": _share(Served.L2),
    "LoadL3%": _share(Served.L3),
    "LoadPeer%": _share(Served.PEER),
    "LoadRAM%": _share(Served.MEMORY),
    "LoadFar%": _share(Served.FAR),
    "LoadElse%": _share(Served.ELSE),
    "LoadSmp": lambda counts, _ghz: MeasuredCell(counts.number),
})
LOAD_BY_ID: Final = {fact.id: fact for fact in LOAD_FACTS}
"""By the names of the columns; while one of them is shown, loads are sampled."""
