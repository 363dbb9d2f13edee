"""A temperature target that the user sets while the machine is watched."""

from __future__ import annotations

import asyncio

from patience import ENDED_BY_THE_TEST
from sampled_machine import Watched

from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Raw
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.widgets.explanation import explanation
from turbotui.widgets.frame_rows import FrameContent


def frames_told(watched: Watched, text: list[int | None]) -> list[Frame]:
    """Return one frame after each target was set, and one before."""
    sampler = Sampler(watched.machine, watched.capabilities, signals_of(watched.columns, watched.capabilities),
                      ENDED_BY_THE_TEST)
    frames: list[Frame] = []

    class Box:
        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            watched.clock.advance(1.0)
            if 1 < len(frames) <= len(text) + 1:
                sampler.set_tcc(text[len(frames) - 2])
            sampler.end_interval()

    sampler.bus.attach(Box())
    asyncio.run(sampler.run(len(text) + 1))
    return frames[1:]


def raw_of(frame: Frame) -> Raw:
    return frame.newer.values["temp.core"][0]


def test_temperatures_count_down_from_what_was_told_and_back() -> None:
    watched = Watched("laptop-old")
    core = watched.catalog.by_id["CoreTmp"]
    signal = watched.capabilities.signals["temp.core"]
    row = watched.machine.topology.instances(Scope.CORE)[0].row
    before, text, back = frames_told(watched, [90, None])
    for frame, target in ((before, signal.offset), (text, 90), (back, signal.offset)):
        raw = raw_of(frame)
        assert isinstance(raw, int)
        assert frame.cell(core, row) == target - signal.bits(raw)
    assert signal.offset != 90
    assert f"= 90 - {signal.bits(raw_of(text))}" in "\n".join(explanation(FrameContent(text), core, row))  # type: ignore[arg-type]  # an integer, as above
    assert "told by hand" in " ".join(" ".join(explanation(FrameContent(text), core, row)).split())


def test_counters_continue_when_a_target_is_set() -> None:
    watched = Watched("laptop-old")
    frames = frames_told(watched, [90, None])
    for name in ("Busy%", "PkgWatt", "IPC", "IRQ"):
        for frame in frames:
            assert frame.cell(watched.catalog.by_id[name], SYSTEM_ROW) is not None, (name, frame.seq)


def test_sensors_that_tell_degrees_themselves_do_not_change() -> None:
    watched = Watched("turin-2s")
    column = watched.catalog.by_id["CCDTmp"]
    before, frame = frames_told(watched, [50])
    item, other = before.cell(column, SYSTEM_ROW), frame.cell(column, SYSTEM_ROW)
    assert isinstance(item, float | int)
    assert isinstance(other, float | int)
    assert abs(item - other) < 10
