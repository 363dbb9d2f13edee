"""Keys and the mouse in the dashboard of a scripted machine."""

from __future__ import annotations

import pytest
from dashboard_driver import cpus, dashboard, lines, table, text_of, until, until_read
from scripted_machine import GUEST_SIGNALS, FakeSession, Script, build_topology
from textual.binding import Binding
from textual.command import CommandList
from textual.widgets import Input

from turbotui.app.actions import ACTIONS, PLACES
from turbotui.app.base import WatchScreen
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain, Graph
from turbotui.app.help import Help, help_items
from turbotui.app.one_cell import FrameCell
from turbotui.app.picker import Picker
from turbotui.app.screen_table import SCREENS
from turbotui.errors import UsageError
from turbotui.feature import EVERYWHERE
from turbotui.features.cpus.map_screen import MapScreen
from turbotui.features.doctor.screen import DoctorScreen
from turbotui.machine.host import HostKind
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.widgets.cells import UNKNOWN
from turbotui.widgets.listing import Listing
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_view import TAGS_ROW, Follow


async def test_the_first_frame_has_gauges_and_the_second_has_rates() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=1) as (app, pilot):
        assert "▲91" in lines(app)[2]
        assert UNKNOWN in lines(app)[1]
        assert "first interval" in text_of(app, "status")
        session.tick()
        await pilot.pause()
        busy = session.catalog.get("Busy%")
        assert busy is not None
        assert session.latest is not None
        assert f"{session.latest.cell(busy, SYSTEM_ROW):.2f}" in lines(app)[1]


async def test_the_numbers_are_those_of_the_frame() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, _):
        frame = session.latest
        assert frame is not None
        busy, clock = session.catalog.get("Busy%"), session.catalog.get("Bzy_MHz")
        assert busy is not None
        assert clock is not None
        drawn = {int(line[:19].split()[2]): line for line in lines(app)[2:18]}
        for cpu in frame.topology.cpus:
            assert f"{frame.cell(busy, cpu_row(cpu)):.2f}" in drawn[cpu]
            assert f"{frame.cell(clock, cpu_row(cpu)):.0f}" in drawn[cpu]


async def test_the_decimal_points_of_a_column_stand_below_each_other() -> None:
    async with dashboard(FakeSession()) as (app, _):
        start = lines(app)[0].index("Busy%")
        points = {line.index(".", start) for line in lines(app)[1:18]}
        assert len(points) == 1


async def test_a_core_value_is_dim_on_the_siblings_and_a_package_value_on_all_but_its_first_cpu() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, _):
        shown = table(app)
        temperature = session.catalog.get("CoreTmp")
        assert temperature is not None
        assert session.latest is not None
        core = session.latest.topology.row(Scope.CORE, 1)
        degrees = f"{session.latest.cell(temperature, core):.0f}"
        at = [cpus(app).index(cpu) + 2 for cpu in (1, 9)]
        bright, dim = (
            next(segment.style for segment in shown.render_line(y) if degrees in segment.text) for y in at
        )
        assert bright != dim


async def test_sort_takes_the_cursor_along() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(cpu_row(5))
        await pilot.press("greater_than_sign")
        await pilot.pause()
        for _ in range(4):
            await pilot.press("greater_than_sign")
        await pilot.pause()
        assert table(app).view.sort is not None
        assert table(app).current == cpu_row(5)
        assert cpus(app) != sorted(cpus(app))


async def test_sorting_by_a_column_and_reversing() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("o")
        await pilot.pause()
        app.screen.query_one(Listing).select("Busy%")
        await pilot.press("enter")
        await pilot.pause()
        busy = session.catalog.get("Busy%")
        assert busy is not None
        assert table(app).view.sort == busy
        falling = cpus(app)
        assert falling[0] == 3
        assert "Busy%▼" in lines(app)[0]
        await pilot.press("I")
        await pilot.pause()
        assert cpus(app)[-1] == 3
        assert "Busy%▲" in lines(app)[0]


async def test_a_click_on_a_title_sorts_and_a_second_one_reverses() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        at = lines(app)[0].index("Busy%") + 1
        await pilot.click("#table", offset=(at, 0))
        await pilot.pause()
        assert cpus(app)[0] == 3
        await pilot.click("#table", offset=(at, 0))
        await pilot.pause()
        assert cpus(app)[-1] == 3


async def test_a_click_selects_the_row_and_the_column() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.click("#table", offset=(lines(app)[0].index("Bzy_MHz") + 2, 6))
        await pilot.pause()
        selected = table(app).selected
        assert selected is not None
        assert (selected[0].id, selected[1]) == ("Bzy_MHz", cpu_row(cpus(app)[4]))


async def test_a_hidden_column_is_not_read_and_a_shown_one_is() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        assert {"PkgTmp", "CPU%c6"} <= session.wanted
        await pilot.press("c", "t", "c", "i")
        await pilot.pause()
        assert "CPU%c6" not in session.wanted
        assert "PkgTmp" in session.wanted, "a temperature costs nothing"
        assert "PkgTmp" not in lines(app)[0]
        await pilot.press("c", "t", "c", "i")
        await pilot.pause()
        assert {"PkgTmp", "CPU%c6"} <= session.wanted
        assert "PkgTmp" in lines(app)[0]


async def test_the_picker_changes_the_table_behind_it_at_once() -> None:
    session = FakeSession()
    async with dashboard(session, size=(200, 60)) as (app, pilot):
        assert "PkgTmp" in lines(app)[0]
        await pilot.press("f2")
        await pilot.pause()
        assert isinstance(app.screen, Picker)
        await pilot.press(*"pkgtmp")
        await pilot.pause()
        assert app.screen.query_one(Listing).key == "PkgTmp"
        await pilot.press("space")
        await pilot.pause()
        assert isinstance(app.screen, Picker)
        assert "PkgTmp" not in lines(app)[0]
        await pilot.press("space", "escape")
        await pilot.pause()
        assert "PkgTmp" in lines(app)[0]


async def test_the_picker_lists_what_cannot_be_had_with_reason_and_remedy() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("C")
        await pilot.pause()
        listing = app.screen.query_one(Listing)
        row = next(line for line in listing.text.splitlines() if "RAMWatt" in line)
        assert "no powercap driver; modprobe intel_rapl_msr" in row
        listing.select("RAMWatt")
        before = session.wanted
        await pilot.press("space")
        await pilot.pause()
        assert session.wanted == before


async def test_search_moves_as_one_types_and_escape_goes_back() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(cpu_row(0))
        await pilot.press("slash", *"cpu13")
        await pilot.pause()
        assert table(app).current == cpu_row(13)
        await pilot.press("escape")
        await pilot.pause()
        assert table(app).current == cpu_row(0)
        await pilot.press("f3", *"cpu1", "enter", "n")
        await pilot.pause()
        assert table(app).current != cpu_row(1)
        assert str(table(app).current.key[0]).startswith("1")  # type: ignore[union-attr]  # there are rows


async def test_a_filter_hides_rows_and_an_error_is_reported_and_changes_nothing() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("f4", *"Busy%>80", "enter")
        await pilot.pause()
        assert cpus(app) == [0, 3]
        assert "filter Busy%>80: 2 rows" in text_of(app, "status")
        await pilot.press("backslash")
        await pilot.pause()
        app.screen.query_one(Input).value = "Nonsense>1"
        await pilot.pause()
        assert cpus(app) == [0, 3]
        await pilot.press("escape")
        await pilot.pause()
        assert cpus(app) == [0, 3]
        await pilot.press("backslash")
        app.screen.query_one(Input).value = ""
        await pilot.press("enter")
        await pilot.pause()
        assert len(cpus(app)) == 16


async def test_a_filter_that_no_row_passes_says_so() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("backslash", *"Busy%>100", "enter")
        await pilot.pause()
        assert "No row passes the filter Busy%>100" in text_of(app, "status")


async def test_a_filter_on_a_hidden_column_has_it_read() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("c", "t")
        await pilot.press("backslash", *"PkgTmp>60", "enter")
        await pilot.pause()
        assert "PkgTmp" in session.wanted
        assert len(cpus(app)) == 8


async def test_grouping_steps_through_what_divides_the_machine() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        seen = []
        for _ in range(6):
            await pilot.press("t")
            await pilot.pause()
            seen.append(table(app).view.levels)
        assert seen[0] == (Scope.PACKAGE, Scope.CPU)
        assert (Scope.CORE, Scope.CPU) in seen
        assert (Scope.CPU,) in seen


async def test_the_tree_has_the_totals_of_the_frame_and_folds() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("2")
        await pilot.pause()
        session.tick()
        await pilot.pause()
        frame = session.latest
        assert frame is not None
        busy = session.catalog.get("Busy%")
        assert busy is not None
        package = RowId(Scope.PACKAGE, (0,))
        drawn = next(line for line in lines(app) if "package 0" in line)
        assert f"{frame.cell(busy, package):.2f}" in drawn
        before = len(table(app).lines)
        table(app).select(package)
        await pilot.press("left")
        await pilot.pause()
        assert len(table(app).lines) < before
        assert "▸ package 0" in "\n".join(lines(app))
        await pilot.press("right")
        await pilot.pause()
        assert len(table(app).lines) == before
        await pilot.press("asterisk")
        await pilot.pause()
        assert [line.row.scope for line in table(app).lines] == [Scope.PACKAGE, Scope.PACKAGE]


async def test_a_click_on_the_mark_folds() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("2")
        await pilot.pause()
        before = len(table(app).lines)
        await pilot.click("#table", offset=(1, 2))
        await pilot.pause()
        assert len(table(app).lines) < before


async def test_tags_are_pinned_with_their_sum_and_stay_when_rows_are_sorted() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(cpu_row(3))
        await pilot.press("v")
        table(app).select(cpu_row(0))
        await pilot.press("v", "greater_than_sign")
        await pilot.pause()
        assert table(app).view.tags == (cpu_row(3), cpu_row(0))
        drawn = lines(app)
        assert "97.00" in drawn[2]
        assert "Σ 2" in drawn[4]
        await pilot.press("V")
        await pilot.pause()
        assert "Σ" not in "\n".join(lines(app))


async def test_the_sum_of_tags_is_read_out_and_not_explained() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        table(app).select(cpu_row(3))
        await pilot.press("v")
        table(app).select(TAGS_ROW)
        await pilot.press("e")
        await pilot.pause()
        assert not isinstance(app.screen, Explain)
        assert "The sum of 1 tagged rows is explained by the rows" in text_of(app, "status")


async def test_the_cursor_follows_the_hottest_until_a_user_moves_it() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        while table(app).view.follow is not Follow.HOTTEST:
            await pilot.press("F")
        await pilot.pause()
        assert table(app).current == cpu_row(3)
        await pilot.press("up")
        await pilot.pause()
        assert table(app).view.follow is Follow.ROW
        assert table(app).current != cpu_row(3)


async def test_the_cursor_goes_above_the_first_row_to_the_whole_machine() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("up")
        await pilot.pause()
        assert table(app).current == SYSTEM_ROW
        assert "whole machine" in text_of(app, "status")
        await pilot.press("down")
        await pilot.pause()
        assert table(app).current == cpu_row(cpus(app)[0])


async def test_sideways_the_ids_stay_and_every_column_can_be_reached() -> None:
    session = FakeSession()
    async with dashboard(session, size=(80, 24)) as (app, pilot):
        assert lines(app)[0].rstrip().endswith("›")
        reached = set()
        before = None
        while (selected := table(app).selected) != before:  # the cursor stays on the last column
            assert selected is not None
            reached.add(selected[0].id)
            assert " CPU" in lines(app)[0][:22]
            before = selected
            await pilot.press("right")
        numbers = {column.id for column in table(app).view.columns if column.decimals >= 0}
        assert {"IRQ", "IPC"} <= reached
        assert reached <= numbers
        await pilot.press(*["left"] * len(reached))
        assert "‹" not in lines(app)[0]


async def test_explain_says_formula_numbers_source_and_document() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        table(app).select(cpu_row(3))
        busy = session.catalog.get("Busy%")
        assert busy is not None
        table(app).select_column(busy)
        await pilot.press("e")
        await pilot.pause()
        assert isinstance(app.screen, Explain)
        said = "\n".join(FrameCell(app.watched, busy, cpu_row(3)).lines(96))
        assert "Busy% = 100 x Δmperf / Δtsc" in said
        assert "= 100 x 1,940,000,000 / 2,000,000,000" in said
        assert "Δmperf = 1,940,000,000 cycle" in said
        assert "= 97.00 %" in said
        assert "scripted mperf of cpu 3" in said
        assert "Intel SDM" in said
        session.tick()
        await pilot.pause()
        assert "over 3 intervals" in "\n".join(FrameCell(app.watched, busy, cpu_row(3)).lines(96))


async def test_explain_says_why_a_value_is_missing() -> None:
    topology = build_topology()
    script = Script(topology, hole=frozenset({("mperf", topology.index(Scope.CPU, 3))}))
    session = FakeSession(topology, script=script)
    async with dashboard(session) as (app, pilot):
        busy = session.catalog.get("Busy%")
        assert busy is not None
        table(app).select(cpu_row(3))
        table(app).select_column(busy)
        await pilot.pause()
        assert "could not be read" in text_of(app, "status")
        row = next(line for line in lines(app) if line[:19].split()[-1:] == ["3"])
        assert UNKNOWN in row
        assert "unknown: failed" in "\n".join(FrameCell(app.watched, busy, cpu_row(3)).lines(96))


async def test_the_graph_shows_the_past_of_the_cell() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=20) as (app, pilot):
        await pilot.press("g")
        await until(pilot, lambda: isinstance(app.screen, Graph) and app.screen.query("#curve"))
        await until_read(app, pilot)
        said = app.screen.query_one("#curve", SegmentLines).text
        assert "over 19 intervals" in said
        assert any("\u2801" <= sign <= "\u28ff" for sign in said)


async def test_reset_starts_the_extremes_again() -> None:
    session = FakeSession()
    async with dashboard(session, ticks=10) as (app, pilot):
        await until_read(app, pilot)
        ring = app.watched.history.ring("Busy%", SYSTEM_ROW)
        assert ring is not None
        assert ring.count == 9
        await pilot.press("z")
        session.tick()
        await until_read(app, pilot)
        assert ring.count == 1


async def test_an_interval_beyond_the_steps_stays_where_no_step_is() -> None:
    async with dashboard(FakeSession()) as (app, _):
        app.watched.interval = 600.0
        assert app.watched.step_interval(1) == 600.0
        assert app.watched.step_interval(-1) == 60.0
        app.watched.interval = 0.02
        assert app.watched.step_interval(-1) == 0.02
        assert app.watched.step_interval(1) == 0.05


async def test_pause_holds_the_picture_and_history_continues() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("space")
        await until_read(app, pilot)
        shown = lines(app)
        ring = app.watched.history.ring("Busy%", SYSTEM_ROW)
        assert ring is not None
        count = ring.count
        for _ in range(3):
            session.tick()
            await pilot.pause()
        await until(pilot, lambda: ring.count >= count + 3)
        assert ring.count == count + 3
        assert lines(app) == shown
        assert "PAUSED" in text_of(app, "status")
        await pilot.press("p")
        await pilot.pause()
        assert lines(app) != shown
        assert "PAUSED" not in text_of(app, "status")


async def test_a_newline_ends_the_interval_and_plus_and_minus_step_it() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("ctrl+j", "ctrl+j")
        assert session.ended == 2
        app.request_end_interval()
        await pilot.pause()
        assert session.ended == 3
        seen = []
        for key in ("plus", "plus", "minus", "minus", "minus"):
            await pilot.press(key)
            seen.append(session.interval)
        assert seen == [2.0, 5.0, 2.0, 1.0, 0.5]
        await pilot.press(*["minus"] * 5)
        assert session.interval == 0.05
        await pilot.press(*["plus"] * 12)
        assert session.interval == 60.0


async def test_escape_never_quits() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        for key in ("question_mark", "C", "o", "slash", "backslash", "c", "e", "g"):
            await pilot.press(key)
            await pilot.pause()
            assert len(app.screen_stack) == 2, key
            await pilot.press("escape")
            await pilot.pause()
            assert len(app.screen_stack) == 1, key
        for number in ("1", "2", "3", "9"):
            await pilot.press(number, "escape", "escape")
            await pilot.pause()
        assert app.is_running
        assert not session.stopped


@pytest.mark.parametrize("key", ["q", "f10", "ctrl+c"])
async def test_quitting_closes_the_counters(key: str) -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press(key)
        await pilot.pause()
    assert session.stopped
    assert app.return_value == 0


async def test_ctrl_c_quits_through_an_open_text_field() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("slash", "ctrl+c")
        await pilot.pause()
    assert session.stopped
    assert app.return_value == 0


async def test_quitting_can_be_asked_for_from_outside() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        app.request("quit")
        await pilot.pause()
    assert session.stopped


def test_every_action_has_a_key_of_its_own_and_a_letter_beside_a_function_key() -> None:
    taken: dict[tuple[str, str], str] = {}
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    for action in ACTIONS:
        assert action.keys
        assert action.help.endswith(".")
        if any(key.startswith("f") and key[1:].isdigit() for key in action.keys):
            assert any(not (key.startswith("f") and key[1:].isdigit()) for key in action.keys)
        for where in action.where:
            for key in action.keys:
                for place in {where, EVERYWHERE} if where != EVERYWHERE else set(PLACES):
                    assert taken.get((place, key), action.id) == action.id, (place, key)
                taken[where, key] = action.id
    for spec in SCREENS:
        assert all((where, spec.number) not in taken for where in PLACES)


async def test_every_action_of_the_table_can_be_done() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        for number, where in (("1", "cpus"), ("2", "cpus"), ("3", "map"), ("9", "doctor")):
            await pilot.press(number)
            await pilot.pause()
            for action in ACTIONS:
                name = action.call.split("(")[0]
                holder = app if EVERYWHERE in action.where else app.screen if where in action.where else None
                if holder is not None:
                    assert hasattr(holder, f"action_{name}"), action.id
                    keys = {key for key, bindings in holder._bindings.key_to_bindings.items()
                            for binding in bindings if isinstance(binding, Binding) and binding.id == action.id}
                    assert set(action.keys) <= keys


async def test_footer_help_and_palette_come_from_the_same_table() -> None:
    session = FakeSession()
    async with dashboard(session, size=(340, 60)) as (app, _):
        keys, screen = text_of(app, "keys"), app.screen
        assert isinstance(screen, WatchScreen)
        for action in ACTIONS:
            if action.label and {EVERYWHERE, "cpus"} & set(action.where):
                label = screen.opens if action.id == "open" else action.label
                assert f"{action.shown.split(' ')[0]} {label}" in keys
        items = help_items(app.watched, app.screen_table)
        helped = "\n".join("".join(text for text, _ in item.segments) for item in items)
        palette = {command.title for command in app.get_system_commands(app.screen)}
        for action in ACTIONS:
            assert action.help in helped
            shown_here = {EVERYWHERE, "cpus"} & set(action.where)
            if shown_here and action.id not in {"palette", "interrupt", "close"}:
                assert action.help.rstrip(".") in palette
        for spec in SCREENS:
            assert f"{spec.number} {spec.word}" in keys
            assert f"Screen: {spec.word}" in palette
        for column in session.catalog.columns:
            if app.watched.why_absent(column) is None:
                assert column.help in helped


async def test_the_palette_begins_with_what_only_this_screen_can_do() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        everywhere = {action.help.rstrip(".") for action in ACTIONS if EVERYWHERE in action.where}
        listed = [command.title for command in app.get_system_commands(app.screen)]
        first = next(at for at, title in enumerate(listed) if title in everywhere)
        assert first > 20
        assert not {action.help.rstrip(".") for action in ACTIONS if "cpus" in action.where} & set(listed[first:])
        await pilot.press("ctrl+p")
        await pilot.pause()
        shown = app.screen.query_one(CommandList)
        while shown.option_count < len(listed):  # Textual lists them little by little
            await pilot.pause(0.02)
        assert str(shown.get_option_at_index(0).prompt).startswith(listed[0])


async def test_the_footer_can_be_clicked() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.click("#keys", offset=(text_of(app, "keys").index("help"), 0))
        await pilot.pause()
        assert isinstance(app.screen, Help)
        await pilot.press("escape")
        await pilot.click("#keys", offset=(text_of(app, "keys").index(" 3") + 1, 0))
        await pilot.pause()
        assert isinstance(app.screen, MapScreen)


async def test_a_simulated_machine_is_labelled_on_every_screen_and_a_real_one_is_not() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for spec in SCREENS:
            await pilot.press(spec.number)
            await pilot.pause()
            assert "SIMULATED" in text_of(app, "banner")
    async with dashboard(FakeSession(kind=HostKind.RECORDED)) as (app, _):
        assert "RECORDED" in text_of(app, "banner")
    async with dashboard(FakeSession(kind=HostKind.REAL)) as (app, _):
        assert not app.screen.query("#banner")


@pytest.mark.parametrize("size", [(40, 10), (60, 12), (80, 24), (120, 36), (200, 60)])
async def test_the_banner_is_never_cut(size: tuple[int, int]) -> None:
    async with dashboard(FakeSession(), size=size) as (app, _):
        assert "SIMULATED" in text_of(app, "banner")
        assert app.screen.query_one("#banner").size.height == 1
        assert any("Busy%" in line for line in lines(app))


@pytest.mark.parametrize("size", [(39, 12), (60, 9), (12, 4), (5, 2)])
async def test_too_small_a_terminal_gets_a_sentence(size: tuple[int, int]) -> None:
    session = FakeSession()
    async with dashboard(session, size=size) as (app, pilot):
        said = text_of(app, "tiny").split("\n")
        assert "toosmall" in "".join(said).replace(" ", "")
        assert all(len(line) <= size[0] for line in said)
        assert app.screen.query_one("#tiny").display
        assert not table(app).display
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        session.tick()
        await pilot.pause()
        assert table(app).display
        assert "Busy%" in lines(app)[0]


@pytest.mark.parametrize("rows", [2, 3, 9])
async def test_the_palette_has_an_action_in_sight_on_two_rows(rows: int) -> None:
    async with dashboard(FakeSession(), size=(80, rows)) as (app, pilot):
        await pilot.press("ctrl+p", *"theme")
        palette = app.screen
        await until(pilot, lambda: palette.query_one(Input).value == "theme"
                    and palette.query_one(CommandList).scrollable_content_region.height)
        await pilot.press("pagedown", "pagedown", "end", "up")
        assert palette.query_one(Input).region.y == 0
        assert 0 < palette.query_one(CommandList).scrollable_content_region.height < rows
        assert app.screen is palette


async def test_a_guest_without_counters_shows_what_it_has_and_names_it_right() -> None:
    session = FakeSession(build_topology(1, 2, 1), signals=GUEST_SIGNALS, kind=HostKind.REAL)
    async with dashboard(session) as (app, pilot):
        summary = text_of(app, "summary")
        assert "Load" in summary
        assert "Busy" not in summary
        assert "Pkg" not in summary
        assert " W " not in summary
        await pilot.press("C")
        await pilot.pause()
        row = next(line for line in app.screen.query_one(Listing).text.splitlines() if "Bzy_MHz" in line)
        assert "virtual machine" in row


async def test_names_from_the_machine_are_not_markup() -> None:
    session = FakeSession(name="[red]box[/red] [b]")
    async with dashboard(session) as (app, pilot):
        assert "[red]box[/red] [b]" in text_of(app, "summary")
        await pilot.press("e")
        await pilot.pause()
        assert isinstance(app.screen, Explain)


async def test_the_hottest_core_is_named_with_its_cpu() -> None:
    async with dashboard(FakeSession()) as (app, _):
        assert "91 °C cpu3" in text_of(app, "summary")
        assert "▲" in text_of(app, "summary")


async def test_the_map_shows_every_cpu_and_reads_out_the_one_under_the_cursor() -> None:
    session = FakeSession(build_topology(8, 64, 2))
    async with dashboard(session, size=(120, 36), ticks=2) as (app, pilot):
        await pilot.press("3")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, MapScreen)
        plan = screen.heat_map.plan
        assert len(plan.places) == 1024
        assert len(set(plan.places.values())) == 1024
        assert plan.height <= screen.heat_map.size.height - 1
        assert max(x for x, _ in plan.places.values()) < 120
        await pilot.press("right")
        await pilot.pause()
        assert screen.heat_map.cpu == 1
        assert text_of(app, "status").startswith(" cpu 1 ")
        await pilot.press("down")
        await pilot.pause()
        assert screen.heat_map.cpu == 1 + 512
        await pilot.press("greater_than_sign")
        await pilot.pause()
        assert screen.heat_map.column is not None
        assert screen.heat_map.column.id != "Busy%"


async def test_the_doctor_lists_the_sources_and_reports_on_one() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("9")
        await pilot.pause()
        assert isinstance(app.screen, DoctorScreen)
        assert any("partial" in app.screen.table.render_line(y).text for y in range(app.screen.table.size.height))
        assert "modprobe intel_rapl_msr" in app.screen.report.text
        await pilot.press("pageup")
        assert "The beginning of the report is in sight" in text_of(app, "status")


async def test_a_screen_that_comes_back_has_the_newest_frame() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("9")
        await pilot.pause()
        assert "CPU%c1" in session.wanted, "what a screen showed goes on being read for a while"
        for _ in range(3):
            session.tick()
            await pilot.pause()
        await pilot.press("1")
        await pilot.pause()
        content = table(app).content
        assert content is not None
        assert content.frame is session.latest
        assert "CPU%c1" in session.wanted


async def test_themes_are_stepped_through_and_an_unknown_one_is_refused() -> None:
    session = FakeSession()
    async with dashboard(session) as (app, pilot):
        seen = [app.theme]
        for _ in range(4):
            await pilot.press("T")
            await pilot.pause()
            seen.append(app.theme)
        assert seen == ["calm", "contrast", "light", "ansi", "calm"]
    with pytest.raises(UsageError):
        TurbotuiApp(session, theme="plaid")


async def test_the_first_columns_are_those_asked_for() -> None:
    session = FakeSession()
    columns = session.catalog.select(["CPU", "Busy%"])
    app = TurbotuiApp(session, columns)
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        session.tick()
        await pilot.pause()
        assert lines(app)[0].split() == ["CPU", "│", "Busy%"]


async def test_a_cpu_that_leaves_takes_its_row_and_the_cursor_finds_another() -> None:
    session = FakeSession(build_topology(1, 4, 1))
    async with dashboard(session) as (app, pilot):
        table(app).select(cpu_row(3))
        smaller = build_topology(1, 3, 1)
        session.topology = session.script.topology = smaller
        session.script.totals.clear()
        session.tick()
        await pilot.pause()
        assert cpus(app) == [0, 1, 2]
        assert table(app).current in {cpu_row(cpu) for cpu in range(3)}
        assert app.watched.history.ring("Bzy_MHz", cpu_row(3)) is None


async def test_the_doctor_rests_when_nothing_changes() -> None:
    moveds: list[Listing.Moved] = []

    def hear(message: object) -> None:
        if isinstance(message, Listing.Moved):
            moveds.append(message)

    app = TurbotuiApp(FakeSession())
    async with app.run_test(size=(120, 36), message_hook=hear) as pilot:
        await pilot.press("9")
        await pilot.pause()
        moveds.clear()
        await pilot.press("down")
        for _ in range(60):
            await pilot.pause()
        assert 1 <= len(moveds) <= 12  # not one for every turn of the loop
