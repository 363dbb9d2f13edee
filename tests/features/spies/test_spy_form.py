"""The form that gives CPUs their event sets, driven by keys over a simulated machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from named_events import event_folder
from spiedmachine import SpiedMachine
from textual.pilot import Pilot
from textual.widgets import Input, Static

from turbotui.app.dashboard import TurbotuiApp
from turbotui.features.cpus.screen import TableScreen
from turbotui.features.spies.window import SpyForm
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.widgets.listing import Listing

_CLEARED = ["backspace"] * 12
"""Whatever the form begins with: that is the row under the cursor once there are rows, and all CPUs before."""


async def test_sets_are_given_changed_and_taken_away() -> None:
    spied = SpiedMachine("laptop-old", SpyPlan())
    app = TurbotuiApp(spied.session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("S")
        assert isinstance(app.screen, SpyForm)
        await pilot.press(*_CLEARED, *"2-3: cycles;branches", "enter")
        await pilot.pause()
        assert spied.session.spies == SpyPlan((typed_spy("2-3", "cycles;branches"),))
        visible = {column.id for column in app.watched.columns}
        assert {"instructions", "cycles", "branches", "Samples"} <= visible
        await pilot.press(*"all: nonsense", "enter")
        await pilot.pause()
        said = str(app.screen.query_one("#answer", Static).render())
        assert "nonsense" in said
        await pilot.press(*"socket 1: cycles", "enter")
        await pilot.pause()
        assert "names no CPUs" in str(app.screen.query_one("#answer", Static).render())
        await pilot.press(*(["backspace"] * 40), *"core 99: cycles", "enter")
        await pilot.pause()
        said = str(app.screen.query_one("#answer", Static).render())
        assert said == "core 99: no such CPU is measured here, only 0-7"
        assert app.screen.query_one(Input).value == "core 99: cycles", "to be put right"
        assert [spy.on.text for spy in spied.session.spies.spies] == ["2-3", "all"]
        await pilot.press("up", "up", "up", "up", "delete")
        await pilot.pause()
        assert [spy.on.text for spy in spied.session.spies.spies] == ["all"]
        await pilot.press("escape")
        await pilot.pause()
        assert "branches" not in {column.id for column in app.watched.columns}


async def test_another_event_joins_the_sets_where_there_are_no_instructions() -> None:
    spied = SpiedMachine("guest", SpyPlan())
    app = TurbotuiApp(spied.session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("S", *_CLEARED, *"all: context-switches;page-faults", "enter")
        await pilot.pause()
        assert "instructions joins the multiplexed sets" in str(app.screen.query_one("#answer", Static).render())
        await pilot.press(*"reference: task-clock,cpu-clock", "enter")
        await pilot.pause()
        assert "one event joins the sets" in str(app.screen.query_one("#answer", Static).render())
        assert spied.session.spies.reference == "instructions"
        await pilot.press(*([*["backspace"] * 40, *"reference: task-clock"]), "enter")
        await pilot.pause()
        assert spied.session.spies == SpyPlan((typed_spy("all", "context-switches;page-faults"),), "task-clock")
        assert "joined by task-clock" in str(app.screen.query_one("#answer", Static).render())


async def interval(spied: SpiedMachine, pilot: Pilot[int]) -> None:
    """Let a second pass, and wait until the screen shows it."""
    latest = spied.session.latest
    seen = -1 if latest is None else latest.seq
    if seen >= 0:
        spied.clock.advance(1.0)
        spied.session.end_interval()
    for _ in range(5000):
        await pilot.pause()
        latest = spied.session.latest
        if latest is not None and latest.seq > seen:
            break
    await pilot.pause()


def table_text(app: TurbotuiApp) -> str:
    screen = app.screen_stack[0]
    assert isinstance(screen, TableScreen)
    shown = screen.table
    return "\n".join("".join(segment.text for segment in shown.render_line(y)) for y in range(shown.size.height))


async def test_estimates_are_marked_in_the_table_and_the_cost_is_reported() -> None:
    spied = SpiedMachine("laptop-old", SpyPlan())
    app = TurbotuiApp(spied.session)
    async with app.run_test(size=(160, 36)) as pilot:
        await interval(spied, pilot)
        await interval(spied, pilot)
        await pilot.press("S", *_CLEARED, *"1: cycles;branches", "enter")
        for _ in range(4):
            await interval(spied, pilot)
        cost = str(app.screen.query_one("#cost", Static).render())
        assert "group reads" in cost
        assert "wake-ups" in cost
        assert "us of CPU time" in cost
        assert "function-call interrupts" in cost
        await pilot.press("escape")
        await interval(spied, pilot)
        assert "~" in table_text(app), "one of the two sets waits for its time slice"


@pytest.mark.parametrize(("shape", "typed", "offered"), [
    ("laptop-old", "c", ["core 0: ", "core 1: ", "core 2: ", "core 3: "]),
    ("sapphire-2s", "package 1 core", [f"package 1 core {core}: " for core in range(4)]),
    ("laptop-old", "p", ["package 0: "]),
])
async def test_what_can_be_named_is_offered(shape: str, typed: str, offered: list[str]) -> None:
    app = TurbotuiApp(SpiedMachine(shape, SpyPlan()).session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("S", *_CLEARED, *typed)
        await pilot.pause()
        form = app.screen
        assert isinstance(form, SpyForm)
        assert [item.key for item in form.query_one(Listing).items if item.key] == offered


async def test_events_by_the_vendors_names_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", event_folder(tmp_path / "tables"))
    app = TurbotuiApp(SpiedMachine("sapphire-2s", SpyPlan()).session)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        await pilot.press("S")
        await pilot.pause()
        await app.workers.wait_for_complete()
        app.screen.query_one(Input).value = "all: cycles,mem_inst"
        await pilot.pause()
        listing = app.screen.query_one(Listing)
        assert "all: cycles,mem_inst_retired.all_loads" in listing.text
        app.screen.query_one(Input).value = "all: unc_m"
        await pilot.pause()
        assert "unc_m_cas" not in listing.text  # no CPU's
