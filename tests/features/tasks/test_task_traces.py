"""Traces of a live watch."""

from __future__ import annotations

import json

import pytest
from tracefiles import read_trace

from turbotui.cli import main
from turbotui.features.tasks.timeline import Timeline
from turbotui.features.tasks.traced import LiveTrace
from turbotui.simulated import simulated_host


def test_a_watch_is_a_trace_whose_threads_never_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tasks", "--machine", "laptop-old+calculix", "--all", "-n", "1"]
    assert main([*words, "--timeline", "--format", "trace"]) == 0
    trace = read_trace(capsys.readouterr().out)
    assert trace.instants[0]["name"].startswith("SIMULATED machine laptop-old+calculix"), "no number passes as measured"
    assert trace.facts["kind"] == "SIMULATED"
    tracks = {track: slices for (group, track), slices in trace.slices.items() if group == "threads by CPU"}
    assert tracks.keys() == {f"cpu {cpu}" for cpu in range(8)}
    ends = [(part["ts"], part["ts"] + part["dur"]) for slices in tracks.values() for part in slices]
    watched = max(end for _start, end in ends) - min(start for start, _end in ends)
    ran = [sum(part["dur"] for part in slices) for slices in tracks.values()]
    assert all(0.5 * watched < us <= 1.001 * watched for us in ran), "however long a busy machine makes the interval"
    assert any("in which their order is not known" in note for note in trace.facts["notes"])


def test_a_trace_of_several_applications_begins_with_the_first_that_ran() -> None:
    """A trace begins with the first slice of any application, not of the one that was named first."""
    timelines = Timeline(1_000), Timeline(1_000), Timeline(1_000)
    timelines[1].add(1, 0, 900_500, 902_000)
    timelines[2].add(2, 1, 400_500, 410_000)
    trace = LiveTrace(simulated_host("laptop-old"))
    trace.begin(timelines)
    *_lines, last = trace.lines()
    assert json.loads("{" + last.partition(",")[2])["otherData"]["began_ns"] == "400000"


def test_a_trace_needs_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--machine", "laptop-old+calculix", "--all", "-n", "1", "--format", "trace"]) == 2
    assert "give --timeline too" in capsys.readouterr().err
