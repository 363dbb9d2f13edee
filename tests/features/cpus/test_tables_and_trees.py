"""The layout of tables and trees, added counters, units, groups, the info screen."""

from __future__ import annotations

import pytest
from dashboard_driver import dashboard, lines, table, text_of
from scripted_machine import FakeSession, build_topology
from textual.events import Key
from textual.widgets import Input, Static

from turbotui.app.add import AddCounter
from turbotui.app.watch import Watch
from turbotui.features.info.screen import InfoScreen
from turbotui.quantities.scope import Scope, cpu_row
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.listing import Listing


async def test_in_a_tree_a_package_value_stands_on_the_package_only() -> None:
    session = FakeSession()
    async with dashboard(session, size=(200, 60)) as (app, pilot):
        await pilot.press("2")
        await pilot.pause()
        await pilot.press("*")
        await pilot.pause()
        shown = table(app)
        watts = session.catalog.get("PkgWatt")
        assert watts is not None
        frame = session.latest
        assert frame is not None
        numbers = {f"{frame.cell(watts, row):.2f}" for row in frame.rows(Scope.PACKAGE)}
        with_watts = [line.row for line, text in zip(shown.lines, lines(app)[2:], strict=False)
                      if any(number in text for number in numbers)]
        assert [row.scope for row in with_watts] == [Scope.PACKAGE, Scope.PACKAGE]


async def test_grouped_by_package_a_core_value_stands_on_the_first_cpu_of_the_core_only() -> None:
    session = FakeSession(build_topology(2, 2, 2))
    async with dashboard(session) as (app, pilot):
        await pilot.press("t")
        await pilot.pause()
        frame, heat = session.latest, session.catalog.get("CoreTmp")
        assert frame is not None
        assert heat is not None
        painter = table(app)._canvas.painter
        slot = next(slot for slot in painter.moving if slot.column.id == "CoreTmp" and not slot.spark)
        core = frame.topology.instances(Scope.CORE)[0]
        cells = painter.column(FrameContent(frame), [cpu_row(cpu) for cpu in core.cpus], slot)
        first, second = (text.strip(" ▲!") for text, _role in cells)
        assert first == f"{frame.cell(heat, core.row):.0f}"
        assert second == "", row_name(frame.topology, cpu_row(core.cpus[1]))


async def test_the_sort_mark_never_touches_the_title_beside_it() -> None:
    session = FakeSession()
    async with dashboard(session, size=(200, 60)) as (app, pilot):
        for _ in range(len(table(app).columns_in_order)):
            await pilot.press("greater_than_sign")
            await pilot.pause()
            titles = lines(app)[0]
            at = max(titles.find("▼"), titles.find("▲"))
            assert at < 0 or titles[at + 1 : at + 2] in {" ", ""}, titles


async def test_joules_take_the_place_of_watts_and_back() -> None:
    session = FakeSession()
    async with dashboard(session, size=(200, 60)) as (app, pilot):
        assert "PkgWatt" in lines(app)[0]
        await pilot.press("J")
        await pilot.pause()
        assert "Pkg_J" in lines(app)[0]
        assert "PkgWatt" not in lines(app)[0]
        assert "Energy in joules" in text_of(app, "status")
        await pilot.press("J")
        await pilot.pause()
        assert "PkgWatt" in lines(app)[0]


async def test_a_counter_is_added_removed_and_a_bad_one_refused_with_a_sentence() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("a")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, AddCounter)
        window.query_one(Input).value = "nothing like it"
        await pilot.press("enter")
        await pilot.pause()
        assert window.query_one(Input).value == "nothing like it"
        assert list(session.added) == []
        window.query_one(Input).value = "msr0xc0010299,cpu,delta,nowhere"
        await pilot.press("enter")
        await pilot.pause()
        assert window.query_one(Input).value == "msr0xc0010299,cpu,delta,nowhere", "it stays to be put right"
        assert list(session.added) == []
        assert "nowhere is not added" in str(window.query_one("#answer", Static).content)
        window.query_one(Input).value = "msr0x10,cpu,u64,delta,mine"
        await pilot.press("enter")
        await pilot.pause()
        assert [counter.name for counter in session.added] == ["mine"]
        selected = table(app).selected
        assert selected is not None
        assert selected[0].id == "mine", "it is moved into sight"
        window.query_one(Listing).select("remove mine")
        await pilot.press("delete")
        await pilot.pause()
        assert list(session.added) == []
        assert session.catalog.get("mine") is None


@pytest.mark.parametrize("keys", ["cu", "zf", "cc"])
async def test_keys_typed_faster_than_a_window_closes_do_no_harm(keys: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("c")
        await pilot.pause()
        window = app.screen
        for key in keys:
            window.post_message(Key(key, key))
        await pilot.pause()
        await pilot.pause()
        assert app.is_running
        assert window not in app.screen_stack


async def test_tab_completes_a_register() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("a")
        await pilot.pause()
        window = app.screen
        window.query_one(Input).value = "msr0x61"
        await pilot.pause()
        await pilot.press("tab")
        await pilot.pause()
        assert window.query_one(Input).value.startswith("msr0x61")
        assert len(window.query_one(Input).value) > len("msr0x61")


async def test_the_info_screen_tells_the_source_of_the_line_under_the_cursor() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("8")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, InfoScreen)
        assert "turbotui version" in screen.table.render_line(1).text
        await pilot.press("down")
        await pilot.pause()
        assert text_of(app, "status").startswith(" from ")


def test_a_column_lost_at_run_time_gives_its_reason_in_the_picker() -> None:
    session = FakeSession()
    watch = Watch(session)
    frame = session.frame()
    watts = session.catalog.get("PkgWatt")
    assert watts is not None
    assert watch.why_absent(watts) is None
    why = Unavailable(Reason.IN_USE, "no file descriptors are left")
    session.latest = Frame(frame.older, frame.newer, frame.capabilities.without({"energy.pkg": why}))
    assert watch.why_absent(watts) == why
    assert not watch.toggle(watts)


def test_a_group_may_be_columns_of_a_signal_family() -> None:
    session = FakeSession()
    watch = Watch(session)
    count, shown = watch.toggle_group(("stat.",))
    assert count
    assert not shown
    assert "Load%" not in {column.id for column in watch.columns}
    assert watch.toggle_group(("no such family.",)) == (0, True)
