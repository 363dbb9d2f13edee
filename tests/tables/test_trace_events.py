"""Chrome traces, read by the published schema."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tracefiles import Trace, read_trace

from turbotui.tables.trace_events import TraceEvents, TraceRoom, TraceSlice

SECOND = 10**9


def finished(events: TraceEvents, lines: list[str] | None = None) -> Trace:
    return read_trace("\n".join([*(lines or ()), *events.finish({"clock": "this test's"})]))


def test_an_empty_trace_is_one() -> None:
    assert finished(TraceEvents()) == Trace({"clock": "this test's"}, {}, {}, [])


@given(st.lists(st.tuples(st.sampled_from(["cpu 0", "cpu 1"]), st.integers(0, 500), st.integers(-5, 300)),
                max_size=30))
def test_slices_of_a_track_never_overlap(spans: list[tuple[str, int, int]]) -> None:
    """Whatever order they come in: what lies before the end of the last one is cut."""
    events = TraceEvents()
    events.begin(100)
    for track, start, length in spans:
        events.slice(TraceSlice("threads", track, "x", start, start + length))
    trace = finished(events)
    for (_group, track), slices in trace.slices.items():
        assert sum(item["dur"] for item in slices) * 1e3 <= sum(
            max(0, length) for name, _start, length in spans if name == track) + 1e-6


def test_names_from_outside_are_bounded_and_escaped() -> None:
    events = TraceEvents()
    events.slice(TraceSlice("threads", 'cpu "0"\\\x1b[2J', "n" * 10_000 + "\x1b", 0, 5, {"tid": 7}))
    lines = events.take()
    trace = finished(events, lines)
    assert all(line.isprintable() and len(line) < 500 for line in lines)
    ((track, (piece,)),) = trace.slices.items()
    assert track == ("threads", 'cpu "0"\\\x1b[2J')
    assert piece["name"] == "n" * 199 + "…"
    assert (piece["ts"], piece["dur"], piece["args"]) == (0.0, 0.005, {"tid": 7})


def test_what_has_no_room_is_left_out_and_counted() -> None:
    room = TraceRoom(20_000)
    events = TraceEvents(room)
    kept = [events.counter("cpus", "Busy% cpu 0", "%", at * SECOND, at) for at in range(1_000)]
    for at in range(1_000):
        events.slice(TraceSlice("threads", "cpu 0", "gcc", at * SECOND, (at + 1) * SECOND, {"pid": 1}))
        events.instant("mark", at * SECOND, "marks")
    text = [*events.take(), *events.finish({})]
    assert sum(map(len, text)) < room.size
    trace = read_trace("\n".join(text))
    assert kept.count(True) == len(trace.counters["Busy% cpu 0"]) >= room.samples
    assert len(trace.slices["threads", "cpu 0"]) >= room.slices
    left = (("gaps, marks of values and instants", len(trace.instants)), ("samples of counters", kept.count(True)),
            ("slices", len(trace.slices["threads", "cpu 0"])))
    assert sorted(events.left_out_words()) == sorted(
        f"{1_000 - count:,} {what} are left out, to keep the trace below 0.02 MB" for what, count in left)
