"""Pictures of the tasks screen, checked by eye: a simulated machine, its own watcher, a clock set by the test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest
from drawn_tasks import DrawnTasksScreen
from patience import PATIENCE
from simulated_session import SimulatedSession
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp

SnapCompare = Callable[..., bool]

SIZES = [(80, 24), (120, 36), (200, 60)]
PICTURES: dict[str, tuple[str, Sequence[str], list[tuple[int, int]]]] = {
    "server": ("sapphire-2s", (), SIZES),
    "processes": ("sapphire-2s", ("t",), SIZES[:1]),
    "timeline": ("laptop-old", ("v",), SIZES[:2]),
    "explained": ("sapphire-2s", ("e",), SIZES[:1]),
}


def shown(session: SimulatedSession, app: TurbotuiApp, keys: Sequence[str]) -> Callable[[Pilot[int]], object]:
    """Three intervals of a second, then the keys, then two intervals more; each is drawn before the next begins."""

    async def run(pilot: Pilot[int]) -> None:
        await pilot.pause()
        await app.remove_mode("tasks")
        app.add_mode("tasks", lambda: DrawnTasksScreen(app.watched))
        await pilot.press("7")
        await pilot.pause()
        screen = app.screen_stack[0]
        assert isinstance(screen, DrawnTasksScreen)

        async def drawn() -> None:
            await asyncio.wait_for(screen.drawn.wait(), PATIENCE)
            screen.drawn.clear()
            await pilot.pause()

        await drawn()
        for at in range(5):
            if at == 3:
                for key in keys:
                    await pilot.press(key)
                    await pilot.pause()
                if keys and keys != ("e",):
                    await drawn()  # the same interval in another light
            session.tick()
            await drawn()

    return run


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name, (_, _, sizes) in PICTURES.items() for size in sizes],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_pictures(snap_compare: SnapCompare, name: str, size: tuple[int, int]) -> None:
    shape, keys, _sizes = PICTURES[name]
    session = SimulatedSession(shape, small=name == "explained")
    app = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=size, run_before=shown(session, app, keys))
