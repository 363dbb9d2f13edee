"""An energy register that wraps while its column is hidden: the count is complete when it is shown again."""

from __future__ import annotations

import threading

import pytest
from model_truth import truth_of
from patience import PATIENCE

from turbotui.machine.delegating_host import RestrictedHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources import SOURCES


@pytest.mark.parametrize("provider", ["msr", "powercap"])
def test_joules_are_those_of_the_whole_interval_whenever_the_column_is_hidden(provider: str) -> None:
    clock = ManualClock(0)
    host = simulated_host("sapphire-2s", clock, seed=7)
    clock.advance(30.0)
    machine = read_machine(RestrictedHost(host, msr=provider == "msr", perf=False))
    session = Session(machine, SOURCES, 60.0, host)
    joules = session.catalog.by_id["Pkg_J"]
    energy = session.capabilities.signals[joules.needs[0]]
    assert session.capabilities.provider[joules.needs[0]].id == provider
    assert energy.wrap_seconds, "nobody counts how often it wraps"
    session.want(["CPU", "Pkg_J"])
    frames: list[Frame] = []
    truth: list[float] = []
    ended = threading.Event()

    def take(frame: Frame) -> None:
        frames.append(frame)
        truth.append(sum(truth_of(host).package_truth(number).joules for number in range(2)))
        if len(frames) == 9:
            return
        if len(frames) == 2:
            session.want(["CPU"])
        if len(frames) == 7:
            session.want(["CPU", "Pkg_J"])
        clock.advance(energy.wrap_seconds / 1.1)
        session.end_interval()

    session.start(take, intervals=8, on_end=ended.set)
    assert ended.wait(PATIENCE)
    if session.failure is not None:
        raise session.failure
    assert truth[-1] - truth[0] > 2 * energy.scale * energy.size, "it wrapped"
    for number in (1, 7, 8):  # before it was hidden, and from the first interval after it was shown again
        result = frames[number].cell(joules, SYSTEM_ROW)
        assert result == pytest.approx(truth[number] - truth[number - 1], rel=1e-3)
