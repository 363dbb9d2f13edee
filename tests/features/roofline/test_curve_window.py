"""The window with bandwidth over size: its cost, its result, and machines that cannot measure it."""

from __future__ import annotations

from replayed_frames import ReplayedSession, roofline

from turbotui.features.roofline.curve import BandwidthCurve, CurvePoint, Plateau
from turbotui.features.roofline.screen_curve import CurveWindow, MeasuredCurves, window_lines

_CURVE = BandwidthCurve(
    "one", "loads", (CurvePoint(4096, 4e11), CurvePoint(8192, 4e11, disturbed=True), CurvePoint(1 << 20, 1e11)),
    (Plateau(4096, 8192, 4e11, "L1"),), ("one NUMA node",))


def test_plateaus_are_named_by_the_cache_that_holds_them() -> None:
    lines = list(window_lines(MeasuredCurves(curves=(_CURVE,)), (0,), 80))
    assert lines[0] == "loads: L1 400 GB/s (4 KiB to 8 KiB)"
    assert lines[1].startswith("? other work ran")
    bars = [line.count("█") for line in lines if "█" in line]
    assert bars == [40, 40, 10]
    assert [line.endswith(" 1 L1") for line in lines if "█" in line] == [True, True, False]
    assert "400.00?" in lines[5]
    assert lines[-1] == "note: one NUMA node"


def test_before_and_while_it_is_measured_it_says_what_that_costs() -> None:
    before = "\n".join(window_lines(MeasuredCurves(), (3,), 80))
    assert "one thread on CPU 3" in before
    assert "Enter begins." in before
    doing = MeasuredCurves("measuring one loads, 1 of 2")
    assert "measuring one loads, 1 of 2 …" in list(window_lines(doing, (3,), 80))
    assert list(window_lines(MeasuredCurves(why="made"), (), 80)) == ["Not measured: made"]


async def test_nothing_is_measured_before_enter_and_no_simulated_machine() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (app, pilot, _screen):
        await pilot.press("c")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, CurveWindow)
        assert window.result == MeasuredCurves()
        await pilot.press("enter")
        while not window.result.why:
            await pilot.pause()
        assert "--sweep is for this machine" in window.result.why
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(app.screen, CurveWindow)
