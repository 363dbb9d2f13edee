"""Pictures of whole screens, checked by eye, at three sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from scripted_machine import GUEST_SIGNALS, FakeSession, build_topology
from textual.app import App
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.machine.host import HostKind

SnapCompare = Callable[..., bool]

SIZES = [(80, 24), (120, 36), (200, 60)]
MAIN = ("cpus", "topology", "map", "doctor")
"""Shown at all three sizes; the windows at the smallest only, where they are most cramped."""

SCREENS: dict[str, Sequence[str]] = {
    "cpus": (),
    "sorted": ("greater_than_sign", "greater_than_sign", "greater_than_sign", "greater_than_sign", "greater_than_sign"),
    "grouped": ("t",),
    "tagged": ("down", "v", "v"),
    "topology": ("2",),
    "map": ("3",),
    "info": ("8", "down"),
    "doctor": ("9",),
    "add": ("a", *"msr0x6"),
    "joules": ("J",),
    "picker": ("C",),
    "explain": ("e",),
    "graph": ("g",),
    "help": ("question_mark",),
    "filter": ("backslash", "B", "u", "s", "y", "%", ">", "2", "0"),
    "categories": ("c",),
}

pytestmark = pytest.mark.usefixtures("one_time_zone")


def at_a_fixed_place(session: FakeSession, keys: Sequence[str], ticks: int = 12) -> Callable[[Pilot[int]], object]:
    """Run a scripted machine to the same frame every time, then press keys."""

    async def run(pilot: Pilot[int]) -> None:
        while not session.started:  # a busy machine shows the first screen later
            await pilot.pause()
        await pilot.pause()
        for _ in range(ticks):
            session.tick()
            await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        session.tick()
        await pilot.pause()
        await pilot.pause()

    return run


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name in SCREENS for size in (SIZES if name in MAIN else SIZES[:1])],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_a_server(snap_compare: SnapCompare, name: str, size: tuple[int, int]) -> None:
    session = FakeSession()
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=size, run_before=at_a_fixed_place(session, SCREENS[name]))


@pytest.mark.parametrize("theme", ["contrast", "ansi"])
def test_themes(snap_compare: SnapCompare, theme: str) -> None:
    session = FakeSession(build_topology(1, 6, 2, types=True))
    app: App[int] = TurbotuiApp(session, theme=theme)
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_a_fixed_place(session, ("down",)))


def test_a_graph_of_tagged_rows_in_sixteen_colours(snap_compare: SnapCompare) -> None:
    session = FakeSession()
    app: App[int] = TurbotuiApp(session, theme="ansi")
    keys = ("down", "v", "v", "g", "left", "left", "left", "left")
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_a_fixed_place(session, keys))


def test_a_guest(snap_compare: SnapCompare) -> None:
    session = FakeSession(build_topology(1, 2, 1), signals=GUEST_SIGNALS, kind=HostKind.REAL, name="guest")
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=(80, 24), run_before=at_a_fixed_place(session, ()))


@pytest.mark.parametrize("keys", [(), ("3",), ("2",)], ids=["cpus", "map", "topology"])
def test_a_thousand_cpus(snap_compare: SnapCompare, keys: Sequence[str]) -> None:
    session = FakeSession(build_topology(8, 64, 2), name="big")
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=(120, 36), run_before=at_a_fixed_place(session, keys, ticks=3))


def test_too_small(snap_compare: SnapCompare) -> None:
    session = FakeSession()
    app: App[int] = TurbotuiApp(session)
    assert snap_compare(app, terminal_size=(30, 8), run_before=at_a_fixed_place(session, (), ticks=1))
