"""Totals of a command's regions since its first mark, live and recorded (docs/specs/journal.md 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.features.tasks.task_regions import TaskRegion, region_table
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.regions import SHARED_BY_TIME, region_notes
from turbotui.quantities.joined_sets import SetInterval
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from
from turbotui.recording.rows import REGIONS_STREAM, FindRows, IntervalRows, newest_rows, rows_of_interval
from turbotui.sampling.frame import Frame


@dataclass(frozen=True, slots=True)
class KindCounts:
    """Counts on one kind of core."""

    definition: str  # slug of the metric definition that `sets` are of
    # instructions, cycles: counted all the time
    instructions: float = 0.0
    cycles: float = 0.0
    sets: tuple[SetInterval, ...] = ()  # what each set of its events counted while it was on


@dataclass(frozen=True, slots=True)
class CountedRegion:
    """A region's counts over all threads of the command, while it was open in at least one."""

    name: str  # as marked, made visible
    entries: int  # how often a thread entered it
    seconds: float = 0.0  # in which it was open
    # seconds of these whose counts are its share by time of what was read together with other time
    apportioned: float = 0.0
    run_ns: float = 0.0  # CPU time of all threads meanwhile
    estimated: bool = False  # whether counters stood for a part of the time
    kinds: tuple[KindCounts, ...] = ()  # counts by kind of core; () where there are no counters


@dataclass(frozen=True, slots=True)
class RegionTotals:
    """All regions of a command since its first mark."""

    seconds: float = 0.0  # since then
    run_ns: float | None = 0.0  # CPU time of the whole command meanwhile; None where nothing is counted
    regions: tuple[CountedRegion, ...] = ()  # longest first
    lost: int = 0  # marks that the FIFO had no room for
    unmatched: int = 0  # ends of regions that were not open
    still_open: int = 0  # regions that have not ended
    unread: int = 0  # lines that were no marks
    user_only: bool = False  # whether counts leave the kernel out
    why: Unavailable | None = None  # why there are no counters, or none of operations; None where there are
    strangers: int = 0  # processes that are named in marks of a FIFO of a person's, and are not counted

    def rows(self) -> tuple[TaskRegion, ...]:
        """The rows of the table of regions, those that ran most first."""
        rows = [TaskRegion(region.name, region.entries, region.seconds, {} if self.run_ns is None else _counts(region),
                           region.run_ns / self.run_ns if self.run_ns else None,
                           region.apportioned / region.seconds if region.seconds else 0.0) for region in self.regions]
        return tuple(sorted(rows, key=lambda row: (-row.counts.get(RUN, 0.0), -row.seconds, row.name)))

    @property
    def table(self) -> RowTable[TaskRegion]:
        """The table of regions."""
        return region_table(self.rows(), self.why)

    def notes(self) -> tuple[str, ...]:
        """Notes on the regions; those that are still open are no fault while the command runs."""
        sentences = region_notes(marked=[region.name for region in self.regions], lost=self.lost,
                                 unmatched=self.unmatched,
                                 still_open=0, unread=self.unread, strangers=self.strangers,
                                 estimate=SHARED_BY_TIME if any(region.apportioned for region in self.regions) else "")
        more = ("a region is counted from the program's first mark on",) if self.regions else ()
        return (*sentences, *more, *(("counts leave the kernel out: kernel.perf_event_paranoid hides it from this user",
                                      )
                                     if self.user_only else ()))


def _counts(region: CountedRegion) -> dict[str, float]:
    counts = {RUN: region.run_ns}
    sums = {name: sum(getattr(kind, name) for kind in region.kinds) for name in ("instructions", "cycles")}
    return counts | {name: value for name, value in sums.items() if value}


@dataclass(frozen=True, slots=True)
class RegionRecord(IntervalRows):
    """The regions at the end of an interval, as totals since the first mark."""

    stream = REGIONS_STREAM

    totals: RegionTotals = field(default_factory=RegionTotals)

    def facts(self) -> Mapping[str, object]:
        totals = self.totals
        return {
            "table": "regions", "seconds": totals.seconds, "run": totals.run_ns, "lost": totals.lost,
            "unmatched": totals.unmatched, "still_open": totals.still_open, "unread": totals.unread,
            "user_only": totals.user_only, "strangers": totals.strangers, "why": reason_facts(totals.why),
            "regions": [{"name": region.name, "entries": region.entries, "seconds": region.seconds,
                         "run": region.run_ns,
                         "apportioned": region.apportioned, "estimated": region.estimated,
                         "kinds": [_kind_facts(kind) for kind in region.kinds]} for region in totals.regions],
        }


def _kind_facts(kind: KindCounts) -> dict[str, object]:
    return {"definition": kind.definition, "instructions": kind.instructions, "cycles": kind.cycles,
            "sets": [{"seconds": part.seconds, "instructions": part.instructions, "counts": dict(part.counts)}
                     for part in kind.sets]}


def region_totals(data: JsonValue) -> RegionTotals:
    """Read the regions back from the JSON of `RegionRecord.facts`. Raises DamagedError if it is none."""
    lost, unmatched, still_open, unread = (_whole(data[name]) for name in ("lost", "unmatched", "still_open", "unread"))
    regions = tuple(CountedRegion(
        item["name"].text(), _whole(item["entries"]), _positive(item["seconds"]), _positive(item["apportioned"]),
        _positive(item["run"]), item["estimated"].flag(), tuple(map(_kind, item["kinds"].items())))
        for item in data["regions"].items())
    return RegionTotals(_positive(data["seconds"]), data.optional("run", _positive, None), regions, lost, unmatched,
                        still_open, unread, data["user_only"].flag(), data.optional("why", reason_from, None),
                        data.optional("strangers", _whole, 0))  # older recordings have no strangers


def _kind(data: JsonValue) -> KindCounts:
    sets = tuple(SetInterval(_positive(item["seconds"]), _positive(item["instructions"]), {
        key: _positive(count) for key, count in item["counts"].entries().items()}) for item in data["sets"].items())
    return KindCounts(data["definition"].text(), _positive(data["instructions"]), _positive(data["cycles"]), sets)


def _positive(data: JsonValue) -> float:
    number = data.number()
    if number < 0:
        raise DamagedError(f"{data.where} of the recording is {number}")
    return number


def _whole(data: JsonValue) -> int:
    _positive(data)
    return data.integer()


def regions_of(rows: FindRows, frame: Frame) -> RegionTotals | None:
    """The regions recorded at the end of a frame's interval; None if none were recorded.

    Raises:
        DamagedError: what is there are no regions.
    """
    records = newest_rows(rows_of_interval(rows, REGIONS_STREAM, frame))
    return None if records is None else records.restored(lambda data, _wall_ns: region_totals(data))
