"""The uncore screen over simulated machines: its tables, its windows, its pictures."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager

import pytest
from dashboard_driver import until_read
from scripted_machine import FakeSession
from simulated_session import SimulatedSession
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.graph import Explain, Graph
from turbotui.features.uncore.events_window import EventPicker
from turbotui.features.uncore.filters_window import FilterForm
from turbotui.features.uncore.kinds import UnitRow
from turbotui.features.uncore.screen import KindWidget, UncoreScreen
from turbotui.features.uncore.screen_rows import unit_painter
from turbotui.quantities.columns import Column
from turbotui.widgets.cells import StyleRole, cell_text, slot_for
from turbotui.widgets.levels import cell_role_of
from turbotui.widgets.listing import Listing
from turbotui.widgets.row_content import RowContent
from turbotui.widgets.segment_lines import SegmentLines
from turbotui.widgets.table_widget import TableWidget

SnapCompare = Callable[..., bool]
SUMS = ["machine Σ", "pkg 0 Σ", "pkg 1 Σ"]


@asynccontextmanager
async def uncore(shape: str = "vera-2s", size: tuple[int, int] = (120, 36),
                 ticks: int = 2, *, whole: bool = False,
                 ) -> AsyncIterator[tuple[SimulatedSession, UncoreScreen, Pilot[int]]]:
    """The dashboard on its uncore screen, after some frames, on a machine of few cores unless `whole` is asked for."""
    session = SimulatedSession(shape, few=True, small=not whole)
    app = TurbotuiApp(session, screen="uncore")
    async with app.run_test(size=size) as pilot:
        while not session.started:  # a busy machine shows the first screen later
            await pilot.pause()
        await pilot.pause()
        session.tick(ticks)
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, UncoreScreen)
        yield session, screen, pilot


async def press(pilot: Pilot[int], *keys: str) -> None:
    names = {":": "colon", "=": "equals_sign", ",": "comma"}
    await pilot.press(*(names.get(key, key) for key in keys))
    await pilot.pause()


async def enter_text(pilot: Pilot[int], text: str) -> None:
    """Enter a text in a window's field, all at once: where characters go, other tests see."""
    pilot.app.screen.query_one(Input).value = text
    await press(pilot, "enter")


def table_of(screen: UncoreScreen, kind: str) -> KindWidget:
    return next(widget for widget in screen.tables if widget.content is not None and widget.content.whole.name == kind)


def labels(screen: UncoreScreen, kind: str) -> list[str]:
    """The rows of a table from top to bottom."""
    table = table_of(screen, kind)
    return [row.label for line in table.lines if table.content and (row := table.content.get(line.row))]


def find(screen: UncoreScreen, kind: str, row: str,
         column: str) -> tuple[RowContent[UnitRow], Column[UnitRow], Hashable]:
    content = table_of(screen, kind).content
    assert content is not None
    key = next(key for key in content.rows if (unit_row := content.get(key)) and unit_row.label == row)
    return content, next(item for item in content.whole.columns if item.id == column), key


def at(screen: UncoreScreen, kind: str, row: str, column: str) -> None:
    """Put the cursor on a cell by names."""
    _content, shown, key = find(screen, kind, row, column)
    table = table_of(screen, kind)
    screen.enter(table)
    table.select_column(shown)
    table.select(key)


def cell(screen: UncoreScreen, kind: str, row: str, column: str) -> str:
    content, shown, key = find(screen, kind, row, column)
    result = content.cell(shown, key)
    return f"{'~' if result.estimated else ''}{cell_text(shown, result.value, 8).strip()}"


def drawn(screen: UncoreScreen) -> str:
    """Everything in the tables and above them, in sight or not."""
    parts = []
    for widget in screen.query("#stack > *"):
        if isinstance(widget, SegmentLines):
            parts.append(widget.text)
        elif isinstance(widget, TableWidget):
            parts += [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]
    return "\n".join(parts)


def sorted_by(screen: UncoreScreen, kind: str) -> str:
    column = table_of(screen, kind).view.sort
    return "" if column is None else column.id


async def test_the_tables_of_a_machine() -> None:
    async with uncore() as (_session, screen, pilot):
        assert cell(screen, "nvidia_pcie_pmu", "pkg 0 rc 4", "rd latency ns") == "640.0"
        assert cell(screen, "nvidia_ucf_pmu", "pkg 1", "frequency GHz") == "~2.500"
        assert cell(screen, "nvidia_nvdlink_pmu", "pkg 0", "in_rd latency ns") == "—"
        text = drawn(screen)
        for part in ("UCF  no share of a peak · coherency fabric", "req/cyc", "▾ pkg 0 Σ", "0005:{00,40,c0}:00.0"):
            assert part in text
        at(screen, "nvidia_nvdlink_pmu", "pkg 0", "in_rd latency ns")
        await pilot.pause()
        assert "a divisor is zero" in screen.readout()


async def test_counters_are_open_while_the_screen_is_shown_and_for_some_minutes_longer() -> None:
    async with uncore() as (session, screen, pilot):

        def counters() -> int:
            opened = (getattr(item, "pmu", None) for item in session.host._open.values())
            return sum(pmu is not None and pmu.name.startswith("nvidia_") for pmu in opened)

        assert counters() > 100
        opened = set(session.host._open)
        await press(pilot, "1")
        session.tick()
        assert counters() > 100
        await press(pilot, "5")
        session.tick()
        assert opened <= set(session.host._open), "no counter began anew"
        await press(pilot, "1")
        await pilot.pause()
        screen.watch_state._requests._clock = lambda: math.inf
        session.tick(2)
        await pilot.pause()
        session.tick(2)
        assert counters() == 0


async def test_the_cursor_moves_over_cells_and_tables() -> None:
    async with uncore() as (_session, screen, pilot):
        await press(pilot, "down", "down", "right", "right")
        assert "slc wr bandwidth GB/s · nvidia_ucf_pmu_1 · pkg 1 · " in screen.readout()
        await press(pilot, "pagedown")
        assert "rd latency ns · 2 x CMEM · machine Σ · 145.0 ns" in screen.readout()
        await press(pilot, "end")
        assert "nvidia_nvdlink_pmu_1" in screen.readout()
        await press(pilot, "home")
        assert "2 x UCF · machine Σ" in screen.readout()


async def test_the_screen_follows_the_cursor_to_tables_out_of_sight() -> None:
    """A table out of sight is not drawn, but a cursor that enters it is told of."""
    async with uncore("icelake-2s") as (_session, screen, pilot):
        stack = screen.query_one("#stack")
        seen = set()
        for key in (*["pagedown"] * 9, *["pageup"] * 9, "end", "home"):
            await press(pilot, key)
            table = screen.table
            row = table.virtual_region.y + table.cursor_y
            assert stack.scroll_y <= row < stack.scroll_y + stack.size.height, (key, table.id)
            seen.add(table.id)
        assert len(seen) == 9


async def test_a_narrow_screen_scrolls_sideways() -> None:
    async with uncore(size=(80, 24)) as (_session, screen, pilot):
        assert "›" in drawn(screen)
        assert "slc rd hits" not in drawn(screen)
        await press(pilot, *["right"] * 8)
        assert "slc rd hits" in drawn(screen)
        assert "‹" in drawn(screen)


async def test_sorting_keeps_sums_on_top_and_packages_apart() -> None:
    async with uncore() as (_session, screen, pilot):
        at(screen, "nvidia_pcie_pmu", "pkg 0 rc 1", "frequency GHz")
        await press(pilot, "greater_than_sign", "greater_than_sign", "I")
        assert sorted_by(screen, "nvidia_pcie_pmu") == "rd bandwidth GB/s"
        rows = labels(screen, "nvidia_pcie_pmu")
        assert rows[:2] == ["machine Σ", "pkg 0 Σ"]
        assert rows[7:9] == ["pkg 0 rc 0", "pkg 1 Σ"]  # the busiest last, its package before the busier one
        assert "pkg 0 rc 1" in screen.readout()
        await press(pilot, "I")
        assert labels(screen, "nvidia_pcie_pmu")[1:3] == ["pkg 1 Σ", "pkg 1 rc 0"]
        assert sorted_by(screen, "nvidia_ucf_pmu") == ""
        await press(pilot, "o", "down", "down", "enter")
        assert sorted_by(screen, "nvidia_pcie_pmu") == "wr bandwidth GB/s"


async def test_folding_leaves_the_sums() -> None:
    async with uncore() as (_session, screen, pilot):
        at(screen, "nvidia_pcie_pmu", "pkg 0 Σ", "rd bandwidth GB/s")
        await press(pilot, "left")
        assert labels(screen, "nvidia_pcie_pmu")[1:4] == ["pkg 0 Σ", "pkg 1 Σ", "pkg 1 rc 0"]
        await press(pilot, "asterisk")
        assert labels(screen, "nvidia_pcie_pmu") == SUMS
        await press(pilot, "asterisk")
        assert len(labels(screen, "nvidia_pcie_pmu")) == 15


async def test_many_units_are_folded_at_first() -> None:
    async with uncore("turin-2s") as (_session, screen, _pilot):
        assert labels(screen, "amd_umc") == SUMS
        shown = [column.id for column in table_of(screen, "amd_df").view.columns]
        assert shown == ["place", *(f"{what} bandwidth GB/s" for what in ("xgmi in", "xgmi out", "dma rd", "dma wr"))]


async def test_the_map_of_traffic_takes_the_place_of_the_tables() -> None:
    async with uncore("turin-2s") as (session, screen, pilot):
        before = len(screen.counters.signals())
        await press(pilot, "t")
        session.tick(2)
        await pilot.pause()
        picture = screen.query_one("#traffic", SegmentLines)
        assert "[  memory 0  ]" in picture.text
        assert "package 1" in picture.text
        assert len(screen.counters.signals()) == before, "links are counted by the events of their sum"
        assert "xGMI 0 to package 1" in picture.text
        assert not screen.query_one("#tables").display
        await press(pilot, "t")
        assert screen.query_one("#stack").display
        assert len(screen.counters.signals()) == before


async def test_keys_act_on_the_edges_of_the_map() -> None:
    async with uncore("granite-2s", (160, 60)) as (session, screen, pilot):
        await press(pilot, "down")
        place = screen.table.current
        await press(pilot, "t")
        session.tick(3)
        await pilot.pause()
        edges = screen.table
        assert edges.id == "edges"
        assert len(edges.lines) == 2 * (1 + 6 + 4 + 4), "memory, links, CXL ports, stacks"
        assert "package 0 · memory 0" in screen.readout()
        picture = screen.query_one("#traffic", SegmentLines)
        assert "memory 0" in marked(picture)
        await press(pilot, "down")
        assert "UPI 0 to package 1" in marked(picture)
        assert "memory 0" not in marked(picture)
        await press(pilot, "e")
        assert isinstance(pilot.app.screen, Explain)
        words = "\n".join(str(static.render()) for static in pilot.app.screen.query(Static))
        assert "UNC_UPI_RxL_FLITS.ALL_DATA" in words
        await press(pilot, "escape", "g")
        assert isinstance(pilot.app.screen, Graph)
        await press(pilot, "escape")
        before = screen.counters.shown(screen.counters.kinds[0])
        for key, said in (("f", "Filters are set for units"), ("asterisk", "The map has no sums")):
            await press(pilot, key)
            assert said in screen.query_one("#status", SegmentLines).text
        assert screen.counters.shown(screen.counters.kinds[0]) == before
        await press(pilot, "t")
        assert (screen.table.id, screen.table.current) == ("table-0", place), "back where one was"


def marked(picture: SegmentLines) -> str:
    """Return the highlighted parts of a picture."""
    return " ".join(text for line in picture.segments for text, role in line if role is StyleRole.CELL)


async def test_the_mouse_folds_sorts_and_explains() -> None:
    async with uncore() as (_session, screen, pilot):
        table = table_of(screen, "nvidia_pcie_pmu")
        caption = next(lines for lines in screen.query(SegmentLines) if "PCIE  nearest" in lines.text)
        await pilot.click(caption, offset=(3, 0))
        await pilot.pause()
        assert labels(screen, "nvidia_pcie_pmu") == SUMS
        await pilot.click(table, offset=(1, 3))
        await pilot.pause()
        assert labels(screen, "nvidia_pcie_pmu")[:3] == ["machine Σ", "pkg 0 Σ", "pkg 0 rc 0"]
        x = table.render_line(0).text.index("rd")
        await pilot.click(table, offset=(x, 1))
        await pilot.pause()
        assert sorted_by(screen, "nvidia_pcie_pmu") == "rd bandwidth GB/s"
        await pilot.click(table, offset=(x, 5), times=2)
        await pilot.pause()
        assert isinstance(pilot.app.screen, Explain)
        assert "rd bandwidth GB/s · nvidia_pcie_pmu_0_rc_0 · pkg 0 rc 0" in screen.readout()


async def test_the_explanation_follows_the_frames() -> None:
    async with uncore() as (session, screen, pilot):
        at(screen, "nvidia_pcie_pmu", "pkg 0 rc 4", "rd latency ns")
        await press(pilot, "e")
        window = pilot.app.screen
        assert isinstance(window, Explain)
        first = str(window.query_one("#text", Static).render())
        assert "rd_cum_outs / rd_req * dt / cycles" in first
        session.tick()
        await pilot.pause()
        assert str(window.query_one("#text", Static).render()) != first
        await press(pilot, "e")
        assert pilot.app.screen is screen


# What every table can do


async def test_a_text_is_found_in_all_tables() -> None:
    async with uncore() as (_session, screen, pilot):
        await press(pilot, "slash", *"0_rc_4", "enter")
        assert "nvidia_pcie_pmu_0_rc_4" in screen.readout()
        await press(pilot, "n")
        assert "nvidia_pcie_tgt_pmu_0_rc_4" in screen.readout()
        await press(pilot, "n")
        assert "nvidia_pcie_pmu_0_rc_4" in screen.readout()
        await press(pilot, "slash", *"ucf")
        assert "2 x UCF" in screen.readout()
        await press(pilot, "escape")
        assert "nvidia_pcie_pmu_0_rc_4" in screen.readout()


async def test_a_filter_leaves_the_units_that_pass_below_their_sums() -> None:
    async with uncore(whole=True) as (_session, screen, pilot):
        at(screen, "nvidia_pcie_pmu", "pkg 0 rc 4", "rd bandwidth GB/s")
        await press(pilot, "backslash", *"'rd")
        await enter_text(pilot, "'rd bandwidth GB/s'>0.1")
        assert labels(screen, "nvidia_pcie_pmu") == ["pkg 0 Σ", "pkg 0 rc 0", "pkg 1 Σ", "pkg 1 rc 0", "pkg 1 rc 1"]
        assert len(labels(screen, "nvidia_pcie_tgt_pmu")) == 15
        assert "3 rows" in screen.flags()[-1]


async def test_a_tagged_unit_stands_on_top_of_its_table_and_is_copied() -> None:
    async with uncore() as (_session, screen, pilot):
        at(screen, "nvidia_pcie_pmu", "pkg 0 rc 4", "rd bandwidth GB/s")
        await press(pilot, "x")
        table = table_of(screen, "nvidia_pcie_pmu")
        assert table.render_line(2).text.startswith("•  pkg 0 rc 4")
        assert table.size.height == 2 + 1 + 15
        await press(pilot, "Y")
        _titles, row = pilot.app.clipboard.splitlines()[-2:]
        assert "nvidia_pcie_pmu_0_rc_4" in row
        await press(pilot, "V")
        assert table.view.tags == ()


async def test_all_tables_are_compared_with_one_moment() -> None:
    async with uncore() as (session, screen, pilot):
        await press(pilot, "b")
        assert "DIFFERENCES FROM" in screen.query_one("#compared", SegmentLines).text
        session.tick()
        await pilot.pause()
        at(screen, "nvidia_cmem_latency_pmu", "pkg 0", "rd latency ns")
        assert "±0" in table_of(screen, "nvidia_cmem_latency_pmu").render_line(3).text
        await press(pilot, "b")
        assert all(table.view.mark is None for table in screen.tables)


async def test_a_table_that_comes_into_sight_shows_the_newest_numbers() -> None:
    async with uncore(size=(80, 24), whole=True) as (session, screen, pilot):
        before = cell(screen, "nvidia_ucf_pmu", "pkg 0", "slc rd bandwidth GB/s")
        await press(pilot, "end")
        session.tick(3)
        await pilot.pause()
        await press(pilot, "home")
        now = cell(screen, "nvidia_ucf_pmu", "pkg 0", "slc rd bandwidth GB/s")
        assert now != before
        assert now in table_of(screen, "nvidia_ucf_pmu").render_line(3).text


async def test_what_was_drawn_has_a_past() -> None:
    async with uncore() as (session, screen, pilot):
        session.tick(3)
        await pilot.pause()
        at(screen, "nvidia_pcie_pmu", "pkg 1 rc 4", "rd latency ns")
        await press(pilot, "g")
        assert isinstance(pilot.app.screen, Graph)
        assert re.search("over [2-9] intervals", pilot.app.screen.query_one("#curve", SegmentLines).text)


# Filters


async def filters(screen: UncoreScreen, pilot: Pilot[int], kind: str, row: str) -> FilterForm:
    columns = table_of(screen, kind).columns_in_order
    at(screen, kind, row, columns[1].id)
    await press(pilot, "f")
    form = pilot.app.screen
    assert isinstance(form, FilterForm)
    return form


def sentence(form: FilterForm) -> str:
    return str(form.query_one("#answer", Static).render())


async def test_a_switch_counts_at_once() -> None:
    async with uncore() as (session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_ucf_pmu", "pkg 0")
        form.query_one(Listing).select("dst_loc_cmem")
        await press(pilot, "space")
        assert screen.counters.settings("nvidia_ucf_pmu_0") == {"dst_loc_cmem": 1}
        assert screen.counters.settings("nvidia_ucf_pmu_1") == {}
        assert "count" in sentence(form)
        session.tick(2)
        await press(pilot, "escape")
        filtered, other = (
            float(cell(screen, "nvidia_ucf_pmu", row, "mem rd bandwidth GB/s").lstrip("~"))
            / float(cell(screen, "nvidia_cmem_latency_pmu", row, "rd bandwidth GB/s"))
            for row in ("pkg 0", "pkg 1")
        )
        assert "pkg 0 [f]" in drawn(screen)
        assert filtered == pytest.approx(0.86, abs=0.01)  # the model's share of that destination
        assert other == pytest.approx(1.0, abs=0.01)
        assert "dst_loc_cmem on" in screen.readout()


async def test_an_address_as_lspci_shows_it_becomes_a_device_filter() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_pcie_pmu", "pkg 0 rc 4")
        await press(pilot, *"27:01.1", "enter")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_bdf": 0x2709, "src_bdf_en": 1}
        assert "0x2709 = 27:01.1" in sentence(form)


async def test_exclusions_are_named_and_not_taken() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_pcie_pmu", "pkg 0 rc 4")
        form.query_one(Listing).select("src_rp_mask")
        await press(pilot, *"0x3", "enter")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_rp_mask": 3}
        await enter_text(pilot, "27:01.1")
        assert "exclude each other" in sentence(form)
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_rp_mask": 3}
        form.query_one(Listing).select("src_rp_mask")
        await press(pilot, "delete")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_bdf": 0x2709, "src_bdf_en": 1}


async def test_a_wrong_value_has_a_hint() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_pcie_pmu", "pkg 0 rc 4")
        for field, typed, part in (
            ("src_rp_mask", "0x1ff", "the nearest value is 0xff"),
            ("src_rp_mask", "many", "neither decimal"),
            ("src_bdf", "0005:42:00.0", "is no device below this root complex now. Near it: 0005:41:00.0 = 0x4100"),
            ("src_bdf", "27:44.1", "not a PCI address"),
            ("src_bdf", "0002:81:00.0", "is below nvidia_pcie_pmu_0_rc_1"),
        ):
            form.query_one(Listing).select(field)
            await enter_text(pilot, typed)
            assert part in sentence(form), typed


async def test_filters_for_all_units_of_a_kind() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_nvlink_c2c_pmu", "pkg 1")
        form.query_one(Listing).select("gpu_mask")
        await press(pilot, "down", "down", "space", "tab")
        assert {screen.counters.settings(f"nvidia_nvlink_c2c_pmu_{socket}")["gpu_mask"] for socket in (0, 1)} == {2}
        assert "GPU 1" in sentence(form)


async def test_an_address_range() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_pcie_tgt_pmu", "pkg 0 rc 1")
        form.query_one(Listing).select("dst_addr_base")
        await enter_text(pilot, "0x10000")
        await press(pilot, "down")
        await enter_text(pilot, "0xfff00")
        assert screen.counters.settings("nvidia_pcie_tgt_pmu_0_rc_1") == {
            "dst_addr_base": 0x10000, "dst_addr_mask": 0xFFF00, "dst_addr_en": 1,
        }  # fmt: skip
        form.query_one(Listing).select("dst_addr_en")
        await press(pilot, "space")
        assert "do nothing without dst_addr_en" in sentence(form)


async def test_ports_and_devices_are_chosen_without_typing() -> None:
    async with uncore() as (_session, screen, pilot):
        form = await filters(screen, pilot, "nvidia_pcie_pmu", "pkg 0 rc 4")
        listing = form.query_one(Listing)
        assert "root port 1  0005:40:00.0 10de:22d0" in listing.text
        assert "root port 3" not in listing.text  # this root complex has three ports
        listing.select("src_rp_mask#1")
        await press(pilot, "space", "down", "space")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_rp_mask": 0b110}
        listing.select("src_bdf=0005:c1:00.0")
        await press(pilot, "space")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {"src_bdf": 0xC100, "src_bdf_en": 1}
        assert "[x] 0005:c1:00.0 144d:a826" in listing.text
        await press(pilot, "space")
        assert screen.counters.settings("nvidia_pcie_pmu_0_rc_4") == {}
        assert "counts everything" in sentence(form)


async def test_without_rights_the_form_says_that_ports_are_unknown() -> None:
    session = SimulatedSession("vera-2s", prepare=lambda host: host.set_privileges(capabilities=1 << 38, uid=1000),
                               few=True, small=True)
    app = TurbotuiApp(session, screen="uncore")
    async with app.run_test(size=(120, 36)) as pilot:
        while not session.started:
            await pilot.pause()
        await pilot.pause()
        session.tick(2)
        await pilot.pause()
        assert isinstance(app.screen, UncoreScreen)
        assert "root ports unknown: only root" in drawn(app.screen)
        form = await filters(app.screen, pilot, "nvidia_pcie_pmu", "pkg 0 rc 4")
        assert "root ports unknown: only root" in form.query_one(Listing).text


async def test_a_pmu_without_filters_says_so() -> None:
    async with uncore() as (_session, screen, pilot):
        at(screen, "nvidia_nvclink_pmu", "pkg 0", "frequency GHz")
        await press(pilot, "f")
        assert pilot.app.screen is screen


# Events


async def test_events_are_chosen_and_typed() -> None:
    async with uncore("turin-2s") as (session, screen, pilot):
        at(screen, "amd_l3", "pkg 0 Σ", "hits %")
        await press(pilot, "C")
        picker = pilot.app.screen
        assert isinstance(picker, EventPicker)
        await press(pilot, "space")
        shown = [column.id for column in table_of(screen, "amd_l3").view.columns]
        assert shown == ["place", "lookups M/s", "miss bandwidth GB/s", "miss latency ns"]
        await press(pilot, *"event=0x4,umask=0x1", "enter")
        session.tick(2)
        await press(pilot, "escape")
        assert float(cell(screen, "amd_l3", "pkg 0 Σ", "event=0x4,umask=0x1 M/s")) > 0


async def test_a_wrong_event_is_a_sentence() -> None:
    async with uncore("sapphire-2s") as (_session, _screen, pilot):
        await press(pilot, "C", *"evnt=1", "enter")
        about = str(pilot.app.screen.query_one("#about", Static).render())
        assert "has no event and no field 'evnt'" in about


async def test_a_machine_without_uncore_pmus_says_why() -> None:
    async with uncore("guest") as (_session, screen, _pilot):
        assert not screen.readout()  # nothing is waited for
        text = screen.query_one("#absent", Listing).text
        assert "virtual machine" in text
        assert "--machine vera-2s" in text


async def test_a_machine_whose_files_cannot_be_read_has_none_either() -> None:
    app = TurbotuiApp(FakeSession())
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "5", "down", "e", "f", "C", "right", "asterisk", "greater_than_sign")
        assert isinstance(app.screen, UncoreScreen)


# Pictures

SIZES = [(80, 24), (120, 36), (200, 60)]


def shown(session: SimulatedSession, keys: Sequence[str]) -> Callable[[Pilot[int]], object]:
    async def run(pilot: Pilot[int]) -> None:
        while not session.started:
            await pilot.pause()
        await pilot.pause()
        session.tick(3)
        await pilot.pause()
        await press(pilot, *keys)
        await pilot.pause()
        assert isinstance(pilot.app, TurbotuiApp)
        await until_read(pilot.app, pilot)

    return run


PICTURES: dict[str, tuple[str, tuple[str, ...], list[tuple[int, int]]]] = {
    "vera": ("vera-2s", (), SIZES),
    "turin": ("turin-2s", (), SIZES[1:2]),
    "filters": ("vera-2s", ("pagedown", "pagedown", "down", "down", "f"), SIZES[:2]),
    "explain": ("vera-2s", ("pagedown", "pagedown", "down", "down", "end", "home", "right", "e"), SIZES[:2]),
    "events": ("grace-2s", ("C",), SIZES[:1]),
    "guest": ("guest", (), SIZES[:1]),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [(name, size) for name, (_, _, sizes) in PICTURES.items() for size in sizes],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_pictures(snap_compare: SnapCompare, name: str, size: tuple[int, int]) -> None:
    shape, keys, _sizes = PICTURES[name]
    session = SimulatedSession(shape)
    app: App[int] = TurbotuiApp(session, screen="uncore")
    assert snap_compare(app, terminal_size=size, run_before=shown(session, keys))


async def test_a_unit_that_takes_clearly_more_traffic_than_the_others_stands_out() -> None:
    async with uncore(whole=True) as (_session, screen, _pilot):
        result: dict[str, dict[str, StyleRole]] = {}
        for kind, name in (("nvidia_pcie_pmu", "rd bandwidth GB/s"), ("nvidia_pcie_pmu", "rd latency ns"),
                           ("nvidia_ucf_pmu", "slc rd bandwidth GB/s")):
            table = table_of(screen, kind)
            content = table.content
            assert content is not None
            column = next(item for item in content.whole.columns if item.id == name)
            painter = unit_painter(table.view, 120)
            painter.begin(content)
            result[f"{kind} {name}"] = {row.label: painter.segment(content, key, slot_for(column))[1]
                                        for key in content.rows if (row := content.get(key)) is not None}
        shared, latency, alike = result.values()
        assert shared["pkg 1 rc 0"] is cell_role_of(1.0)
        assert shared["pkg 1 rc 5"] is cell_role_of(0.1) is not cell_role_of(1.0)
        assert shared["pkg 0 Σ"] is StyleRole.SUMMARY
        assert {role for label, role in latency.items() if "Σ" not in label} == {StyleRole.PLAIN}
        assert {role for label, role in alike.items() if "Σ" not in label} == {StyleRole.PLAIN}


async def test_tables_that_leave_room_have_charts_of_the_row_under_the_cursor() -> None:
    async with uncore("laptop") as (session, screen, pilot):
        below = screen.query_one("#below", SegmentLines)
        session.tick()
        await pilot.pause()
        table = screen.table
        assert table.current is not None
        assert table.content is not None
        assert table.selected is not None
        name = table.content.name(table.selected[0], table.current)
        assert f"{name} over " in below.text
        assert screen.query_one("#stack").max_scroll_y == 0
        await pilot.resize_terminal(120, 14)
        session.tick()
        await pilot.pause()
        assert below.text == ""


async def test_tables_too_long_for_charts_below_have_them_beside() -> None:
    async with uncore(size=(240, 30)) as (session, screen, pilot):
        side, below = (screen.query_one(name, SegmentLines) for name in ("#beside-charts", "#below"))
        session.tick()
        await pilot.pause()
        table = screen.table
        assert table.content is not None
        assert table.selected is not None
        assert f"{table.content.name(*table.selected)} over " in side.text
        assert below.text == ""
        assert table.size.width + side.size.width < 240
        await pilot.resize_terminal(120, 30)
        session.tick()
        await pilot.pause()
        assert not side.display
        assert table.size.width == 119
        for width in (200, 240):  # drawn at 120 columns, tables are narrower than they want to be
            await pilot.resize_terminal(width, 30)
            session.tick()
            await pilot.pause()
            assert side.display == (width == 240)
            assert not any(table._geometry.more_right for table in screen.tables), "a column is hidden for charts"


async def test_a_row_that_is_searched_comes_with_the_units_below_it() -> None:
    async with uncore(size=(80, 24)) as (_session, screen, pilot):
        await press(pilot, "slash", *"c2c", "enter")
        table, stack = screen.table, screen.query_one("#stack")
        assert table is table_of(screen, "nvidia_nvlink_c2c_pmu")
        assert labels(screen, "nvidia_nvlink_c2c_pmu")[0] == "machine Σ"
        assert table.current == table.lines[0].row
        seen = range(round(stack.scroll_offset.y), round(stack.scroll_offset.y) + stack.size.height)
        assert table.virtual_region.y - 1 in seen, "the line that says what it is"
        assert table.virtual_region.y + table.cursor_y + len(table.lines) - 1 in seen, "the last unit"
