"""Columns of sampled loads: latency and data source; sampled only while one of them is shown.

What each is: docs/specs/loads.md 3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final, NamedTuple

from turbotui.dataclass import dataclass
from turbotui.machine.tasks.load_records import LoadCounts, Served, loads_of_all
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
    """The sampled loads of a row's threads in an interval.

    Attributes:
        counts: of them; None where nothing is sampled.
        why: None where loads are sampled.
    """

    counts: LoadCounts | None = None
    why: Unavailable | None = None


def sampled_together(parts: Sequence[SampledLoads | None]) -> SampledLoads | None:
    """The combined loads of several rows; None if one row's loads are unknown."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    counted = [part.counts for part in known if part.counts is not None]
    return replace(known[0], counts=loads_of_all(counted) if counted else None)


class LoadCell(NamedTuple):
    """A row's value, or the reason why it is unknown.

    Attributes:
        unsure: its standard error is above 5 %, or 5 points of a share, or not known.
    """

    value: float | int | None
    why: Unavailable | None = None
    unsure: bool = False


def _mean(counts: LoadCounts, _ghz: float | None) -> LoadCell:
    mean, error = counts.mean, counts.mean_error
    if mean is None:
        return LoadCell(None, _NO_MISS if counts.number else NONE_SEEN)
    return LoadCell(mean, unsure=error is None or error > _UNSURE * mean)


def _nanoseconds(counts: LoadCounts, ghz: float | None) -> LoadCell:
    cell = _mean(counts, ghz)
    if cell.value is None:
        return cell
    return LoadCell(None, _NO_GHZ) if not ghz else cell._replace(value=cell.value / ghz)


def _number(counts: LoadCounts, _ghz: float | None) -> LoadCell:
    return LoadCell(counts.number)


def _share(*which: Served) -> Callable[[LoadCounts, float | None], LoadCell]:
    def cell(counts: LoadCounts, _ghz: float | None) -> LoadCell:
        share, error = counts.share(*which), counts.share_error(*which)
        if share is None or error is None:
            return LoadCell(None, NONE_SEEN)
        return LoadCell(100 * share, unsure=error > _UNSURE)

    return cell


@dataclass(frozen=True, slots=True)
class LoadFact:
    """One column of sampled loads.

    Attributes:
        id: its name.
        unit: of its value.
        decimals: of it.
        width: in characters.
        help: what it says.
        of: its value by loads and the row's clock in GHz.
        document: what it follows.
    """

    id: str
    unit: str
    decimals: int
    width: int
    help: str
    of: Callable[[LoadCounts, float | None], LoadCell]
    document: str = field(default="uapi linux/perf_event.h, union perf_mem_data_src")

    def cell(self, loads: SampledLoads | None, ghz: float | None) -> LoadCell:
        """The column's value for a row, given its clock."""
        if loads is None:
            return LoadCell(None, NOT_YET)
        return LoadCell(None, loads.why) if loads.counts is None else self.of(loads.counts, ghz)


COST: Final = "sampled while shown: an interrupt for each sample"
_LATENCY: Final = ("Intel SDM vol. 3, 21.3.4.4.2 (load latency facility); AMD64 APM vol. 2, 13.3 and "
                   "arch/x86/include/asm/amd/ibs.h (DcMissLat)")
LOAD_FACTS: Final[tuple[LoadFact, ...]] = (
    LoadFact("LoadLat", "cycles", 0, 8, "mean latency of sampled loads that L1 did not serve, in core cycles: on Intel "
             "from the load's dispatch, on AMD from the miss of L1 until the data came; ~ where the standard error is "
             f"above 5 %; {COST}", _mean, _LATENCY),
    LoadFact("LoadNs", "ns", 1, 7, "the same in nanoseconds, by the row's clock (GHz)", _nanoseconds, _LATENCY),
    LoadFact("LoadL1%", "%", 1, 7, "share of sampled loads that L1 served; ~ where the standard error is above 5 "
             "points", _share(Served.L1)),
    LoadFact("LoadBuf%", "%", 1, 8, "share that waited for a line that was on its way already (fill buffers)",
             _share(Served.BUFFER)),
    LoadFact("LoadL2%", "%", 1, 7, "share that L2 served", _share(Served.L2)),
    LoadFact("LoadL3%", "%", 1, 7, "share that L3 served; before Zen 4 another core's cache of this complex is in it",
             _share(Served.L3)),
    LoadFact("LoadPeer%", "%", 1, 9, "share that another core's or complex's cache of this node served",
             _share(Served.PEER)),
    LoadFact("LoadRAM%", "%", 1, 8, "share that this node's memory served, with CXL, persistent memory and caches on "
             "the memory's side", _share(Served.MEMORY)),
    LoadFact("LoadFar%", "%", 1, 8, "share that another node served: its memory, or its caches", _share(Served.FAR)),
    LoadFact("LoadElse%", "%", 1, 9, "share that I/O or uncached memory served, or of which the core does not say what "
             "did", _share(Served.ELSE)),
    LoadFact("LoadSmp", "", 0, 7, "sampled loads of the interval: what the columns of loads are made of", _number),
)
LOAD_BY_ID: Final = {fact.id: fact for fact in LOAD_FACTS}
"""By the names of the columns; while one of them is shown, loads are sampled."""
