"""Reads Chrome traces by the published schema, "Trace Event Format" (Google, catapult), and by nothing of turbotui."""

from __future__ import annotations

import functools
import itertools
import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import jsonschema

Event = Mapping[str, Any]

_ID: Final = {"type": "integer", "minimum": 1}
_TIME: Final = {"type": "number", "minimum": 0}
_NAMED: Final = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 200}},
                 "required": ["name"]}
SCHEMA: Final = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
        "traceEvents": {"type": "array", "items": {"oneOf": [
            {"properties": {"ph": {"const": "M"}, "pid": _ID, "tid": _ID, "name": {
                "enum": ["process_name", "process_sort_index", "thread_name", "thread_sort_index"]}, "args": {
                    "oneOf": [_NAMED, {"type": "object", "properties": {"sort_index": {"type": "integer"}},
                                       "required": ["sort_index"]}]}},
             "required": ["ph", "pid", "name", "args"], "additionalProperties": False},
            {"properties": {"ph": {"const": "X"}, "pid": _ID, "tid": _ID, "ts": _TIME, "dur": _TIME,
                            "name": {"type": "string", "minLength": 1, "maxLength": 200}, "args": {"type": "object"}},
             "required": ["ph", "pid", "tid", "ts", "dur", "name"], "additionalProperties": False},
            {"properties": {"ph": {"const": "C"}, "pid": _ID, "ts": _TIME, "name": {"type": "string", "minLength": 1},
                            "args": {"type": "object", "minProperties": 1, "maxProperties": 1,
                                     "additionalProperties": {"type": "number"}}},
             "required": ["ph", "pid", "ts", "name", "args"], "additionalProperties": False},
            {"properties": {"ph": {"const": "i"}, "s": {"enum": ["g", "p", "t"]}, "cat": {"type": "string"},
                            "pid": _ID, "tid": _ID, "ts": _TIME, "name": {"type": "string", "minLength": 1}},
             "required": ["ph", "s", "pid", "tid", "ts", "name"], "additionalProperties": False},
        ]}},
    },
}


class Trace(NamedTuple):
    """What a reader makes of a trace."""

    facts: Mapping[str, Any]
    slices: Mapping[tuple[str, str], list[Event]]  # by the names of group and track, in the order of the file
    counters: Mapping[str, list[tuple[float, float]]]  # time and value by name
    instants: list[Event]


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(SCHEMA)


def read_trace(text: str) -> Trace:
    """Read a trace.

    Raises:
        jsonschema.ValidationError: an event is not as the schema says.
        AssertionError: slices of a track overlap, times go back, or an event is on a track without a name.
    """
    result = json.loads(text)
    _validator().validate(result)
    names: dict[tuple[int, int], str] = {}
    groups: dict[int, str] = {}
    for event in result["traceEvents"]:
        if event["name"] == "process_name":
            groups[event["pid"]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
    assert len({tid for _pid, tid in names}) == len(names), "a thread's number is used for two tracks"
    slices, counters, instants = defaultdict(list), defaultdict(list), []
    for event in result["traceEvents"]:
        if event["ph"] == "X":
            slices[groups[event["pid"]], names[event["pid"], event["tid"]]].append(event)
        elif event["ph"] == "C":
            assert event["pid"] in groups
            ((_unit, value),) = event["args"].items()
            counters[event["name"]].append((event["ts"], value))
        elif event["ph"] == "i":
            assert (event["pid"], event["tid"]) in names
            instants.append(event)
    for track, events in slices.items():
        for item, following in itertools.pairwise(events):
            assert round(item["ts"] + item["dur"], 3) <= round(following["ts"], 3), track
    for name, samples in counters.items():
        assert all(entry[0] < following[0] for entry, following in itertools.pairwise(samples)), name
    return Trace(result.get("otherData", {}), slices, counters, instants)
