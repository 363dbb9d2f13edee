"""Converts the groups of an interval to and from JSON: lists of increases, gauges and reasons by quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Self, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.groups.engine import GroupInterval
from turbotui.features.groups.model import CGROUP, CONTROL, MONITOR, Group, GroupRow, rows_over
from turbotui.features.groups.resctrl_reader import with_domains
from turbotui.quantities.definition import CountedEvents
from turbotui.recording.definition_facts import definition_facts, definition_from
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_from
from turbotui.recording.rows import GROUPS_STREAM, FindRows, IntervalRows, joined_rows
from turbotui.sampling.energy import energy_of
from turbotui.sampling.frame import Frame

T = TypeVar("T")
_KINDS: Final = (CGROUP, CONTROL, MONITOR)
_MOST_ROWS: Final = 5_000
"""The most groups of an interval that are recorded: the first of the tree."""


@dataclass(frozen=True, slots=True)
class GroupRecord(IntervalRows):
    """The groups of one interval."""

    stream = GROUPS_STREAM

    seconds: float  # the interval's length
    rows: tuple[GroupRow, ...]  # control groups and resctrl groups, without rows of domains
    complete: bool = True  # whether all groups of the machine were read
    counted: tuple[CountedEvents, ...] = ()  # the events that were counted for control groups

    def facts(self) -> Mapping[str, object]:
        kept = self.rows[:_MOST_ROWS]
        reasons = list(dict.fromkeys(why for row in kept for why in row.absent.values()))
        plans = list({tuple(row.files.items()): dict(row.files) for row in kept}.values())
        number = {why: at for at, why in enumerate(reasons)}
        return {
            "table": "groups", "seconds": self.seconds, "complete": self.complete and len(kept) == len(self.rows),
            "reasons": [[why.reason.value, why.detail, why.remedy] for why in reasons], "plans": plans,
            "kind": [row.group.kind for row in kept], "path": [row.group.path for row in kept],
            "name": [row.group.name for row in kept], "plan": [plans.index(dict(row.files)) for row in kept],
            "increases": _lists([row.increases for row in kept]), "values": _lists([row.values for row in kept]),
            "spans": _lists([row.spans for row in kept]),
            "counted": [definition_facts(counted) for counted in self.counted],
            "absent": _lists([{name: number[why] for name, why in row.absent.items()} for row in kept]),
        }

    def plus(self, later: Self) -> Self:
        return replace(later, rows=tuple(rows_over((self.rows, later.rows))), seconds=self.seconds + later.seconds,
                       complete=self.complete and later.complete)

    @property
    def cgroups(self) -> Sequence[GroupRow]:
        """Return the rows of control groups."""
        return [row for row in self.rows if row.group.kind == CGROUP]

    @property
    def monitored(self) -> Sequence[GroupRow]:
        """Return the rows of resctrl groups, each followed by its domains."""
        return with_domains(row for row in self.rows if row.group.kind != CGROUP)


def _lists(rows: Sequence[Mapping[str, float]]) -> Mapping[str, Sequence[float | None]]:
    """Convert rows to lists by name, with None for rows without the name."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def group_record(data: JsonValue, wall_ns: int) -> GroupRecord:
    """Restore the groups of a JSON document.

    Raises:
        DamagedError: it is none.
    """
    reasons = [reason_from(item) for item in data["reasons"].items()]
    plans = [{name: file.text() for name, file in item.entries().items()} for item in data["plans"].items()]
    kinds, paths, names = (data[name].lines() for name in ("kind", "path", "name"))
    plan = data["plan"].values(int)
    many = len(paths)
    if many > _MOST_ROWS:
        raise DamagedError(f"{data.where} of the recording has {many:,} groups, and none has more than {_MOST_ROWS:,}")
    increases, values, spans = (data[name].rows(many, JsonValue.number) for name in ("increases", "values", "spans"))
    absent = data["absent"].rows(many, lambda reason: _at(reason, reasons))
    if not len(kinds) == len(names) == len(plan) == many or not set(kinds) <= set(_KINDS):
        raise DamagedError(f"{data.where} of the recording has columns of different lengths, or rows of no known kind")
    rows = tuple(
        GroupRow(Group(kinds[at], paths[at], names[at]), increases[at], values[at], spans[at], absent[at],
                 _at(JsonValue(plan[at], "plan", data), plans)) for at in range(many))
    counted = data.get("counted")
    counted_events = () if counted is None else tuple(definition_from(item) for item in counted.items())
    return GroupRecord(wall_ns, 0, data["seconds"].number(), rows, data["complete"].flag(),
                       tuple(events for events in counted_events if isinstance(events, CountedEvents)))


def _at(data: JsonValue, choices: Sequence[T]) -> T:
    number = data.integer()
    if not 0 <= number < len(choices):
        raise DamagedError(f"{data.where} of the recording is {number}, of {len(choices)}")
    return choices[number]


def groups_of(rows: FindRows, frame: Frame) -> GroupRecord | None:
    """Return the groups of a frame's interval, adding up recorded intervals."""
    return joined_rows(rows, frame, GroupRecord, group_record)


def record_of(interval: GroupInterval) -> GroupRecord:
    """Make the record of an interval without rows of domains, whose quantities the groups have."""
    rows = (row for row in (*interval.rows, *interval.resctrl) if not row.group.domain)
    return GroupRecord(*interval.clocks, interval.seconds, tuple(rows), interval.complete, interval.counted)


def replayed_interval(rows: FindRows, frame: Frame) -> GroupInterval | None:
    """Return the groups of a frame's interval with its energy; None if none were recorded.

    Raises:
        DamagedError: the recorded rows are invalid.
    """
    record = groups_of(rows, frame)
    return None if record is None else GroupInterval(
        record.cgroups, frame.clocks, record.seconds, energy_of(frame), record.complete, record.monitored,
        counted=record.counted, seq=frame.seq)
