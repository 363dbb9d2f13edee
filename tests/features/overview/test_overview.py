"""The overview: the screen that the dashboard starts with, on simulated machines whose load is known."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from dashboard_driver import dashboard, table, text_of, until
from patience import PATIENCE
from replayed_machine import Recording, ReplayedSession, recording
from simulated_session import SimulatedSession
from textual.app import App

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain, Graph
from turbotui.app.screen_table import SCREENS, screen_named
from turbotui.errors import UsageError
from turbotui.features.overview.screen import OverviewScreen
from turbotui.features.power.screen import PowerScreen
from turbotui.quantities.scope import cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole

SnapCompare = Callable[..., bool]


@pytest.fixture(scope="module")
def machines() -> dict[str, Recording]:
    """Frames of machines of every kind; of the largest, two frames of the columns that are shown at first."""
    whole = {name: recording(name, 17.0, 6) for name in ("guest", "laptop", "laptop-arrow", "sapphire-2s", "turin-2s")}
    return {**whole, "big-8s": recording("big-8s", 17.0, 1, read=lambda column: column.default)}


def overview(app: App[int]) -> OverviewScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, OverviewScreen)
    return screen


def drawn(app: App[int]) -> list[str]:
    return overview(app).drawn.text.splitlines()


class TestWhatIsShown:
    @pytest.mark.parametrize("name", ["guest", "laptop", "sapphire-2s", "turin-2s", "big-8s"])
    async def test_every_line_fits_the_screen(self, machines: dict[str, Recording], name: str) -> None:
        ticks = min(5, len(machines[name].frames))
        async with dashboard(ReplayedSession(machines[name]), (300, 90), ticks, screen="overview") as (app, pilot):
            for size in ((300, 90), (120, 36), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
                assert app.size == size
                widget = overview(app).drawn
                assert len(widget.lines) == widget.size.height
                widths = [sum(len(span.text) for span in line) for line in widget.lines]
                assert max(widths) <= size[0]
                assert "┌ Load" in drawn(app)[0]

    async def test_what_a_machine_does_not_have_takes_no_room(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["guest"]), screen="overview") as (app, _):
            text = "\n".join(drawn(app))
            assert "Power" not in text
            assert "Heat" not in text
            assert "┐┌ " in drawn(app)[0]  # another chart takes their room
            assert re.search(r"sources of numbers cannot be read here: 9 says why|9 doctor: \d+ sources? missing", text)

    async def test_limits_are_drawn_into_the_charts(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), screen="overview") as (app, _):
            text = "\n".join(drawn(app))
            assert all(word in text for word in ("TDP 28", "base ", "turbo ", "tj_max 110"))

    async def test_tasks_wait_for_a_frame_that_comes_soon_and_draw_nothing_twice(self) -> None:
        session = SimulatedSession("laptop", few=True)
        async with (asyncio.timeout(PATIENCE), dashboard(session, screen="overview") as (app, pilot)):  # type: ignore[arg-type]  # as below
            screen = overview(app)
            while screen._look is None or not screen._look.tasks or screen._looking is not None:
                session.tick()
                await pilot.pause()
            for interval, waits in ((1.0, True), (5.0, False)):
                app.watched.interval = interval
                lines = screen.drawn.lines
                await screen._look_again()
                assert (screen.drawn.lines is lines) == waits

    async def test_tasks_come_with_the_first_numbers(self) -> None:
        session = SimulatedSession("laptop", few=True)
        async with dashboard(session, ticks=0, screen="overview") as (app, pilot):  # type: ignore[arg-type]  # as below
            screen = overview(app)
            await until(pilot, lambda: screen._look is not None and screen._looking is None)
            session.tick()
            await until(pilot, lambda: screen._look is not None and screen._look.tasks)

    async def test_the_first_tasks_wait_for_no_interval(self) -> None:
        session = SimulatedSession("laptop", few=True)
        async with dashboard(session, ticks=0, screen="overview") as (app, pilot):  # type: ignore[arg-type]  # as below
            screen = overview(app)
            await until(pilot, lambda: screen._look is not None and screen._looking is None)
            session._clock.advance(0.25)  # less than an interval, which has not ended
            await until(pilot, lambda: " task, over 0." in "".join(drawn(app)))

    async def test_kinds_of_core_are_named(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop-arrow"]), screen="overview") as (app, _):
            text = "\n".join(drawn(app))
            assert all(f" {kind} " in text for kind in ("P", "E", "LP-E"))

    async def test_each_package_has_its_figures_beside_its_cores(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["big-8s"]), (120, 36), ticks=2, screen="overview") as (app, _):
            result = re.findall(r"package (\d) .* \d+ % +[\d,]+ MHz +\d+ W +\d+ °C", "\n".join(drawn(app)))
            assert result == [*"01234567"]

    async def test_the_verdict_stands_on_top(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["guest"]), screen="overview") as (app, _):
            line = text_of(app, "summary").splitlines()[1]
            assert line.startswith((" ▲ ", "   No bottleneck found", "   Nothing found; "))

    @pytest.mark.parametrize("name", ["guest", "laptop"])
    async def test_the_cursor_is_on_one_number_wherever_it_goes(self, machines: dict[str, Recording],
                                                                name: str) -> None:
        async with dashboard(ReplayedSession(machines[name]), ticks=5, screen="overview") as (app, pilot):
            seen = set()
            for key in ("down", "up", "right", "left", "down", "right", "right", "up"):
                await pilot.press(key)
                lit = {(span.target[0].id, span.target[1]) for line in overview(app).drawn.lines for span in line
                       if span.role is StyleRole.CELL and span.target is not None}
                assert len(lit) == 1
                seen |= lit
            assert len(seen) > 2
            await pilot.press("escape")
            assert all(span.role is not StyleRole.CELL for line in overview(app).drawn.lines for span in line)

    async def test_charts_are_of_their_time_though_the_last_interval_was_ended_early(
            self, machines: dict[str, Recording]) -> None:
        session = ReplayedSession(machines["laptop"])
        async with dashboard(session, (120, 36), ticks=6, screen="overview") as (app, pilot):
            frame = session.frame()
            assert frame.older is not None
            early = 990_000_000
            newer = replace(frame.newer, started_ns=frame.newer.started_ns - early, wall_ns=frame.newer.wall_ns - early)
            app._frames.put(Frame(frame.older, newer, frame.capabilities))
            await pilot.pause()
            assert "over 0.01 s" in text_of(app, "summary")
            (label,) = {word for line in drawn(app) for word in re.findall(r"└─ (\d+) s ─", line)}
            assert int(label) >= 4

    async def test_the_past_is_marked(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), ticks=5, screen="overview") as (app, pilot):
            before = drawn(app)
            await pilot.press("comma", "comma")
            await pilot.pause()
            assert "PAST" in text_of(app, "status")
            assert drawn(app) != before
            assert text_of(app, "banner").strip().startswith("SIMULATED")
            assert "(for " not in text_of(app, "summary"), "one interval tells nothing of the time before it"
            assert any("7 has tasks of times when it was shown" in line for line in drawn(app))

    async def test_a_line_that_stays_the_same_is_not_drawn_again(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), screen="overview") as (app, pilot):
            widget = overview(app).drawn
            strips = [widget.render_line(y) for y in range(widget.size.height)]
            overview(app).show_frame()
            await pilot.pause()
            assert all(widget.render_line(y) is strip for y, strip in enumerate(strips))


class TestKeys:
    async def test_arrows_choose_a_number_that_windows_are_about(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), screen="overview") as (app, pilot):
            await pilot.press("down")
            assert text_of(app, "status").startswith(" Busy% · cpu 0 ")
            await pilot.press("down", "right")
            assert text_of(app, "status").startswith(" Bzy_MHz · cpu 1 ")
            await pilot.press("e")
            assert isinstance(app.screen, Explain)
            await pilot.press("escape", "g")
            assert isinstance(app.screen, Graph)
            await pilot.press("escape", "escape")
            assert text_of(app, "status").startswith(" Arrows choose a number")

    async def test_enter_opens_the_cpu_in_the_table(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["sapphire-2s"]), screen="overview") as (app, pilot):
            await pilot.press("down", "down")
            cpu = int(text_of(app, "status").split("cpu ")[1].split()[0])
            await pilot.press("enter")
            await pilot.pause()
            await pilot.pause()
            assert table(app).cursor == cpu_row(cpu)

    async def test_enter_on_a_chart_opens_the_screen_that_tells_more(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), screen="overview") as (app, pilot):
            await pilot.press("home", "right", "right", "enter")
            await pilot.pause()
            assert isinstance(app.screen_stack[0], PowerScreen)

    async def test_a_click_chooses_and_a_second_one_opens(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), (120, 36), screen="overview") as (app, pilot):
            place = next(place for place in overview(app)._places() if place.target[1] == cpu_row(3))
            await pilot.click(overview(app).drawn, offset=(place.x, place.y))
            assert " cpu 3 " in text_of(app, "status")

    async def test_a_click_on_the_missing_sources_opens_the_doctor(self, machines: dict[str, Recording]) -> None:
        async with dashboard(ReplayedSession(machines["laptop"]), (120, 36), screen="overview") as (app, pilot):
            drawn = overview(app).drawn
            x, y = next((line.index(" sources"), y) for y, line in enumerate(drawn.text.splitlines())
                        if " sources" in line)
            await pilot.click(drawn, offset=(4, y))
            await pilot.pause()
            assert app.current_mode == "overview"
            await pilot.click(drawn, offset=(x, y))
            await pilot.pause()
            assert app.current_mode == "doctor"

    async def test_the_cursor_stays_on_its_cpu(self, machines: dict[str, Recording]) -> None:
        session = ReplayedSession(machines["sapphire-2s"])
        async with dashboard(session, screen="overview") as (app, pilot):
            await pilot.press("end")
            before = text_of(app, "status").split("·")[:2]
            session.tick()
            await pilot.pause()
            assert text_of(app, "status").split("·")[:2] == before


class TestMemoryTraffic:
    @pytest.mark.parametrize(("name", "said"), [("laptop", r"[\d.]+ of at most \d+ GB/s \(\d+ % or more\) · up"),
                                                ("turin-2s", r"[\d.]+ of 1,152 GB/s \(\d+ %\) · up"),
                                                ("sapphire-2s", r"[\d.]+ of 614 GB/s \(\d+ %\), \d+ % local · up")])
    async def test_who_counts_it(self, name: str, said: str) -> None:
        session = SimulatedSession(name, few=True, small=True)
        async with (asyncio.timeout(PATIENCE), dashboard(session, (200, 60), screen="overview") as (app, pilot)):  # type: ignore[arg-type]  # has what is asked for
            while not re.search(said, drawn(app)[-1]):
                session.tick()
                await pilot.pause()
            assert bool(session.also) is (name != "sapphire-2s"), "resctrl takes no counter from others"


class TestStart:
    async def test_a_screen_is_named_by_mode_key_or_word(self, machines: dict[str, Recording]) -> None:
        for name in ("power", "4", "Power"):
            async with dashboard(ReplayedSession(machines["guest"]), screen=name) as (app, _):
                assert isinstance(app.screen_stack[0], PowerScreen)

    def test_the_key_of_every_screen_names_it(self) -> None:
        assert [screen_named(spec.number) for spec in SCREENS] == [spec.id for spec in SCREENS]

    def test_one_that_is_not_there_is_named(self, machines: dict[str, Recording]) -> None:
        with pytest.raises(UsageError, match='no screen is called "xyz"; there are overview, cpus'):
            TurbotuiApp(ReplayedSession(machines["guest"]), screen="xyz")


@pytest.mark.parametrize(("name", "size"), [("guest", (80, 24)), ("laptop", (80, 24)), ("sapphire-2s", (120, 36)),
                                            ("turin-2s", (120, 36))],
                         ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}")
def test_pictures(snap_compare: SnapCompare, machines: dict[str, Recording], name: str, size: tuple[int, int]) -> None:
    session = ReplayedSession(machines[name])

    app = TurbotuiApp(session, screen="overview")

    async def before(pilot: object) -> None:
        await pilot.pause()  # type: ignore[attr-defined]  # a Pilot
        session.tick(5)
        async with asyncio.timeout(PATIENCE):  # a thread looks at the machine around the CPUs
            while app.watched.judge.is_at_work or not any(line.startswith(" load ") for line in drawn(app)):
                await pilot.pause()  # type: ignore[attr-defined]  # as above

    assert snap_compare(app, terminal_size=size, run_before=before)
