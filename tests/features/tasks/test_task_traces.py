"""Traces of a live watch."""

from __future__ import annotations

import pytest
from tracefiles import read_trace

from turbotui.cli import main


def test_a_watch_is_a_trace_whose_threads_never_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tasks", "--machine", "laptop-old+calculix", "--all", "-n", "1"]
    assert main([*words, "--timeline", "--format", "trace"]) == 0
    trace = read_trace(capsys.readouterr().out)
    assert trace.instants[0]["name"].startswith("SIMULATED machine laptop-old+calculix"), "no number passes as measured"
    assert trace.facts["kind"] == "SIMULATED"
    ran = {track: sum(one["dur"] for one in slices) for (group, track), slices in trace.slices.items()
           if group == "threads by CPU"}
    assert ran.keys() == {f"cpu {cpu}" for cpu in range(8)}
    assert all(0.5e6 < us < 1.5e6 for us in ran.values())
    assert any("in which their order is not known" in note for note in trace.facts["notes"])


def test_a_trace_needs_the_timeline(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--machine", "laptop-old+calculix", "--all", "-n", "1", "--format", "trace"]) == 2
    assert "give --timeline too" in capsys.readouterr().err
