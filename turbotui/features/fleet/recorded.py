"""Readings of a fleet in recordings: the server's answers, from which nodes are judged anew on replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.fleet.columns import AGE
from turbotui.features.fleet.engine import FleetQuestion, judged_by
from turbotui.features.fleet.model import FleetCost, FleetNode, FleetReading
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue
from turbotui.recording.rows import FLEET_STREAM, FindRows, IntervalRows, RecordedRows, newest_rows
from turbotui.sampling.frame import Frame

T = TypeVar("T")
_MOST_NODES: Final = 10_000
"""The most nodes of a reading that are recorded: the oddest."""
_NO_COST: Final = FleetCost(0, 0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class FleetRecord(IntervalRows):
    """A reading of a fleet."""

    stream = FLEET_STREAM

    reading: FleetReading  # all nodes

    def facts(self) -> Mapping[str, object]:
        reading, nodes = self.reading, self.reading.nodes[:_MOST_NODES]
        return {
            "table": "fleet", "server": reading.server, "window": reading.window, "notes": list(reading.notes),
            "queries": dict(reading.queries), "name": [node.name for node in nodes],
            "gone": [node.gone for node in nodes], "labels": _lists([node.labels for node in nodes]),
            "values": _lists([node.values for node in nodes]),
        }


def _lists(rows: Sequence[Mapping[str, T]]) -> Mapping[str, Sequence[T | None]]:
    """Convert rows to lists by name, with None for rows without the name."""
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def recorded_reading(rows: RecordedRows, question: FleetQuestion) -> FleetReading:
    """Restore a reading from rows of `FLEET_STREAM`, judged by the present rules.

    Raises:
        DamagedError: it is none.
    """
    return rows.restored(lambda data, wall_ns: _reading(data, wall_ns, question))


def _reading(data: JsonValue, wall_ns: int, question: FleetQuestion) -> FleetReading:
    names = data["name"].lines()
    many = len(names)
    if many > _MOST_NODES:
        raise DamagedError(f"{data.where} of the recording has {many:,} nodes, and none has more than {_MOST_NODES:,}")
    gone = [item.flag() for item in data["gone"].items()]
    labels, values = data["labels"].rows(many, JsonValue.text), data["values"].rows(many, JsonValue.number)
    data.expect_columns(many, gone)
    nodes = [FleetNode(name, labels[at], values[at], values[at].get(AGE), gone[at]) for at, name in enumerate(names)]
    queries = {name: value.text() for name, value in data["queries"].entries().items()}
    reading = FleetReading(data["server"].text(), nodes, wall_ns, data["window"].number(), data["notes"].texts(),
                           _NO_COST, queries, recorded=True)
    return replace(reading, nodes=judged_by(question, nodes))


def reading_of(rows: FindRows, frame: Frame, question: FleetQuestion) -> FleetReading | None:
    """Return the reading that ended a frame's interval; None if none was recorded.

    Raises:
        DamagedError: the record holds no reading.
    """
    start = frame.newer.wall_ns - 1 if frame.older is None else frame.older.wall_ns
    reading = newest_rows(rows(FLEET_STREAM, start, frame.newer.wall_ns))
    return None if reading is None else recorded_reading(reading, question)


def recorded_readings(rows: FindRows, frames: Iterator[Frame], question: FleetQuestion) -> Iterator[FleetReading]:
    """Yield the readings of a recording."""
    for frame in frames:
        if (reading := reading_of(rows, frame, question)) is not None:
            yield reading
