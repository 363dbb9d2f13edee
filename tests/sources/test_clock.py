from __future__ import annotations

import pytest
from fakehost import FakeHost, machine

from turbotui.quantities.signals import Signal
from turbotui.sources.clock import ClockEnd, ClockStart


def test_the_two_enclose_what_is_read_between_them() -> None:
    host = FakeHost()
    here = machine(host)
    start = ClockStart().open(here, 0, frozenset({"clock.start"}))
    end = ClockEnd().open(here, 0, frozenset({"clock.end", "clock.wall"}))
    (began,) = start.read()
    host.advance(0.000123)
    raw = dict(zip(end.signals, end.read(), strict=True))
    signal = ClockEnd().probe(here).signals["clock.end"]
    assert isinstance(signal, Signal)
    assert isinstance(began, int)
    ended = signal.value(raw["clock.end"])
    assert ended is not None
    assert ended - began * 1e-9 == pytest.approx(123e-6)
    assert raw["clock.wall"] == host.now


def test_only_what_is_wanted_is_asked() -> None:
    assert ClockEnd().open(machine(FakeHost()), 0, frozenset({"clock.wall"})).signals == ("clock.wall",)
    assert ClockEnd().descriptors(frozenset({"clock.wall"}), 64) == 0
