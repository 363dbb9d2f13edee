"""Pictures, checked by eye, of the comparison with a marked moment and of a user's temperature target."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from scripted_machine import FakeSession
from textual.app import App
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp

SnapCompare = Callable[..., bool]

pytestmark = pytest.mark.usefixtures("one_time_zone")


def pressed(session: FakeSession, keys: Sequence[str]) -> Callable[[Pilot[int]], object]:
    async def run(pilot: Pilot[int]) -> None:
        await pilot.pause()
        while not session.started:
            await pilot.pause()
        for _ in range(12):
            session.tick()
            await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        for _ in range(2):
            session.tick()
            await pilot.pause()

    return run


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)], ids=["80x24", "120x36", "200x60"])
def test_compared(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    session = FakeSession()
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=size, run_before=pressed(session, ("b", "D", "9", "5", "enter")))


def test_compared_cell_explained(snap_compare: SnapCompare) -> None:
    session = FakeSession()
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=(120, 36), run_before=pressed(session, ("b", "e")))
