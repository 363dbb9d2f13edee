"""Columns of sampled loads: latency and data source; sampled only while one of them is shown.

What each is: docs/specs/loads.md 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.tasks.fact_columns import MeasuredCell, MeasuredFact
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
    partial: bool = False  # whether it lacks threads that ran: put together with others, or of a number used again


def sampled_together(parts: Sequence[SampledLoads | None]) -> SampledLoads | None:
    """The combined loads of several rows; None if one row's loads are unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    counted = [part.counts for part in known if part.counts is not None]
    return replace(known[0], counts=total_of(LoadCounts(), counted) if counted else None,
                   why=None if counted else known[0].why,
                   partial=any(part.partial for part in known) or 0 < len(counted) < len(known))


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


def _number(counts: LoadCounts, _ghz: float | None) -> MeasuredCell:
    return MeasuredCell(counts.number)


def _share(*which: Served) -> Callable[[LoadCounts, float | None], MeasuredCell]:
    def cell(counts: LoadCounts, _ghz: float | None) -> MeasuredCell:
        share, error = counts.share(*which), counts.share_error(*which)
        if share is None or error is None:
            return MeasuredCell(None, NONE_SEEN)
        return MeasuredCell(100 * share, estimated=error > _UNSURE)

    return cell


COST: Final = "sampled while shown: an interrupt for each sample"
_SOURCE: Final = "uapi linux/perf_event.h, union perf_mem_data_src"
_LATENCY: Final = ("Intel SDM vol. 3, 21.3.4.4.2 (load latency facility); AMD64 APM vol. 2, 13.3 and "
                   "arch/x86/include/asm/amd/ibs.h (DcMissLat)")
LOAD_FACTS: Final[tuple[MeasuredFact[LoadCounts, float | None], ...]] = (
    MeasuredFact("LoadLat", "cycles", 0, 8, "mean latency of sampled loads that L1 did not serve, in core cycles: on "
                 "Intel from the load's dispatch, on AMD from the miss of L1 until the data came; ~ where the standard "
                 f"error is above 5 %; {COST}", _mean, _LATENCY),
    MeasuredFact("LoadNs", "ns", 1, 7, "LoadLat in nanoseconds, by the row's clock (GHz)", _nanoseconds, _LATENCY),
    MeasuredFact("LoadL1%", "%", 1, 7, "share of sampled loads that L1 served; ~ where the standard error is above 5 "
                 "points", _share(Served.L1), _SOURCE),
    MeasuredFact("LoadBuf%", "%", 1, 8, "share of sampled loads that waited for a line that was on its way already "
                 "(fill buffers)", _share(Served.BUFFER), _SOURCE),
    MeasuredFact("LoadL2%", "%", 1, 7, "share of sampled loads that L2 served", _share(Served.L2), _SOURCE),
    MeasuredFact("LoadL3%", "%", 1, 7, "share of sampled loads that L3 served; before Zen 4 another core's cache of "
                 "this complex is in it", _share(Served.L3), _SOURCE),
    MeasuredFact("LoadPeer%", "%", 1, 9, "share of sampled loads that another core's or complex's cache of this node "
                 "served", _share(Served.PEER), _SOURCE),
    MeasuredFact("LoadRAM%", "%", 1, 8, "share of sampled loads that this node's memory served, with CXL, persistent "
                 "memory and caches on the memory's side", _share(Served.MEMORY), _SOURCE),
    MeasuredFact("LoadFar%", "%", 1, 8, "share of sampled loads that another node served: its memory, or its caches",
                 _share(Served.FAR), _SOURCE),
    MeasuredFact("LoadElse%", "%", 1, 9, "share of sampled loads that I/O or uncached memory served, or of which the "
                 "core does not say what did", _share(Served.ELSE), _SOURCE),
    MeasuredFact("LoadSmp", "", 0, 7, "sampled loads of the interval: what the columns of loads are made of", _number,
                 _SOURCE, accumulates=True),
)
LOAD_BY_ID: Final = {fact.id: fact for fact in LOAD_FACTS}
"""By the names of the columns; while one of them is shown, loads are sampled."""
