"""The slots of regions in recordings: all counts until the end of an interval."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.features.topdown.recorded_counts import group_facts, groups_from
from turbotui.features.topdown.region_slots import RegionCount, RegionInterval, RegionSpan
from turbotui.machine.regions import RegionExtent
from turbotui.recording.json_values import JsonValue
from turbotui.recording.rows import REGION_SLOTS_STREAM, FindRows, IntervalRows, newest_rows, rows_of_interval
from turbotui.sampling.frame import Frame


@dataclass(frozen=True, slots=True)
class RegionSlotsRecord(IntervalRows):
    """The slots of regions at the end of an interval."""

    stream = REGION_SLOTS_STREAM

    interval: RegionInterval  # the counts until then

    def facts(self) -> Mapping[str, object]:
        interval = self.interval
        return {
            "table": "topdown regions", "family": interval.family, "user_only": interval.user_only,
            "lost": interval.lost,
            "ended": interval.ended, "refused": [{"why": why, "programs": many} for why,
                                                 many in interval.refused.items()],
            "first": _span_facts(interval.first),
            "deeper": None if interval.deeper is None else _span_facts(interval.deeper),
            "opened": None if interval.opened is None else interval.opened[0],
        }


def _span_facts(span: RegionSpan) -> dict[str, object]:
    extents = [region.extent for region in span.regions]
    return {"seconds": span.seconds, "name": [extent.name for extent in extents],
            "entries": [extent.entries for extent in extents],
            "open": [extent.seconds for extent in extents], "apportioned": [extent.apportioned for extent in extents],
            "groups": group_facts([span.whole, *(count.counts for count in span.regions)])}


def region_slots(data: JsonValue) -> RegionInterval:
    """Restore the slots of regions from the JSON document of `RegionSlotsRecord.facts`.

    Raises:
        DamagedError: it is none.
    """
    return RegionInterval(
        data["family"].flag(), _span(data["first"]), data.optional("deeper", _span, None),
        data.optional("opened", lambda name: (name.text(), 0), None),
        {item["why"].text(): item["programs"].integer() for item in data["refused"].items()},
        data["user_only"].flag(), data["lost"].integer(), data["ended"].flag())


def _span(data: JsonValue) -> RegionSpan:
    names, entries = data["name"].lines(), data["entries"].values(int)
    seconds, apportioned = ([item.number() for item in data[name].items()] for name in ("open", "apportioned"))
    data.expect_columns(len(names), entries, seconds, apportioned)
    whole, *counts = groups_from(data["groups"], 1 + len(names))
    return RegionSpan(data["seconds"].number(), whole, tuple(
        RegionCount(RegionExtent(name, entered, open_for, shared), numbers)
        for name, entered, open_for, shared, numbers in zip(names, entries, seconds, apportioned, counts, strict=True)))


def region_slots_of(rows: FindRows, frame: Frame) -> RegionInterval | None:
    """Return the slots of regions at the end of a frame's interval; None if none were recorded.

    Raises:
        DamagedError: the record is invalid.
    """
    recorded_rows = newest_rows(rows_of_interval(rows, REGION_SLOTS_STREAM, frame))
    return None if recorded_rows is None else recorded_rows.restored(lambda data, _wall_ns: region_slots(data))
