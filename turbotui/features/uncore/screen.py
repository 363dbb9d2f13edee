"""The uncore screen: a table for each kind of uncore PMU, a row for each unit, sums by package."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from textual import events
from textual.containers import Horizontal, VerticalScroll
from textual.geometry import Region, Size
from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen, RowWidget
from turbotui.app.sessions import PlayedSession, WatchedSession
from turbotui.app.view_states import ViewChoice
from turbotui.app.watch import Watch
from turbotui.events.uncore.fields import fields_of
from turbotui.features.uncore.absence import NOT_RECORDED, why_none
from turbotui.features.uncore.counters import AllSettings, UncoreCounters
from turbotui.features.uncore.events_window import EventPicker
from turbotui.features.uncore.filters_window import FilterForm
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.ports import PortMap
from turbotui.features.uncore.recorded import RecordedCounters
from turbotui.features.uncore.screen_contents import (
    NO_FILTERS,
    KindContents,
    MapPanel,
    UnitCharts,
    UnitMoment,
    edges_content,
)
from turbotui.features.uncore.screen_rows import UnitPainter, UnitRows, caption_of, unit_painter
from turbotui.features.uncore.traffic import find_edges, metrics_by_kind, traffic_of
from turbotui.quantities.columns import Column, ColumnId
from turbotui.quantities.uncore import Metric
from turbotui.sampling.frame import Frame
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.row_charts import LEAST
from turbotui.widgets.row_content import RowContent, RowView
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines
from turbotui.widgets.table_view import TableView
from turbotui.widgets.table_widget import BESIDE, TableWidget

_NARROWEST: Final = 120
"""The least characters of the tables beside charts, for the lines above them."""
_MARGIN: Final = 2
"""Characters between the tables and charts beside them."""
_MANY: Final = 15
"""The number of a kind's units from which only their sums are shown at first."""

KindWidget: TypeAlias = RowWidget[UnitRow]


def counters_of(session: WatchedSession) -> UncoreCounters | RecordedCounters:
    """The counters of a machine, or those that a recording has."""
    return (RecordedCounters(session.machine, session.definitions) if isinstance(session, PlayedSession)
            else UncoreCounters(session.machine))


def names_of_kinds(session: WatchedSession) -> Sequence[str]:
    """The title of each kind of PMU with what it watches."""
    return [units.kind.described for units in counters_of(session).kinds]


class UncoreScreen(RowTableScreen[UnitRow]):
    """The uncore screen: tables below each other; keys act on the table with the cursor. Counts only while shown."""

    where = "uncore"
    number = "5"
    word = "uncore"
    unsorted = "topology order"
    BINDINGS = bindings_for("uncore")

    DEFAULT_CSS = """
    UncoreScreen #stack {
        height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; background: $background;
        scrollbar-color: $tui-rule; scrollbar-background: $background; scrollbar-color-hover: $tui-dim;
        scrollbar-background-hover: $background; scrollbar-color-active: $tui-accent;
        scrollbar-background-active: $background;
    }
    UncoreScreen #beside-charts { display: none; margin-left: 2; }
    UncoreScreen #stack TableWidget { height: auto; overflow-y: hidden; scrollbar-gutter: auto; margin-bottom: 1; }
    """

    def __init__(self, watch: Watch) -> None:
        machine = watch.session.machine
        self._played = isinstance(watch.session, PlayedSession)
        self.counters = counters_of(watch.session)
        self._ports = PortMap(machine.host)
        self._typed: dict[str, tuple[Metric, ...]] = {}
        self._contents = KindContents(self.counters, self._ports)
        self._tables: dict[str, KindWidget] = {}
        self._mapped = False
        self._match: tuple[KindWidget, Hashable] | None = None  # by the last search
        self._match_stack = Size()  # of the tables when it was shown
        super().__init__(watch)
        self._captions = tuple(SegmentLines() for _table in self._tables)
        pairs = zip(self._captions, self._tables.values(), strict=True)
        self._below, self._side = UnitCharts(self.recent, id="below"), UnitCharts(self.recent, id="beside-charts")
        self._stack = VerticalScroll(*(widget for pair in pairs for widget in pair), self._below, id="stack",
                                     can_focus=False)
        self._halves = Horizontal(self._stack, self._side, id="tables")
        self._absent = Listing(id="absent")
        self._edges = find_edges(machine, self.counters.kinds)
        self._map = MapPanel(watch.interval)
        self._before_map = self._table

    def new_table(self) -> KindWidget:
        """Make a table for each kind, and return the first."""
        for at, units in enumerate(self.counters.kinds):
            many = len(units.units) > _MANY
            table: KindWidget = TableWidget(TableView(folded=_sums(units) if many else frozenset()), UnitRows(),
                                            self.painter, seconds=self.watch_state.interval, id=f"table-{at}")
            table.show_cursor(shown=not at)
            self._tables[units.kind.id] = table
        return next(iter(self._tables.values()), None) or super().new_table()

    def painter(self, view: RowView[UnitRow], _seconds: float, width: int) -> UnitPainter:
        return unit_painter(view, width)

    def body(self) -> Iterable[Widget]:
        """Lay out the tables, or the reason why there are none."""
        if not self._tables:
            yield self._absent
            return
        yield self._halves
        yield self._map

    @property
    def tables(self) -> Sequence[KindWidget]:
        """The tables of all kinds; on the map, the table of edges."""
        return (self._map.table,) if self._mapped else tuple(self._tables.values())

    @property
    def keys_without_table(self) -> Sequence[str] | None:
        return None if self._tables else ()

    def read_beside(self) -> None:
        """Count the tables' events at once, and not only from the end of this interval."""
        self.watch_state.read_also(self, self.counters.sources(), self.counters.signals())
        self.watch_state.session.end_interval()

    # Drawing

    def show_columns(self) -> None:
        """Lay everything out for the width."""
        self.watch_state.want(self.wanted)
        self._fill()

    def moment(self, frame: Frame, name: str) -> UnitMoment | None:
        return UnitMoment(self.counters, frame, self.watch_state.frame, partial(self._made, name, frame))

    def over_minute(self, content: RowContent[UnitRow]) -> tuple[RowContent[UnitRow], float] | None:
        def rows_of(mean: Frame) -> RowContent[Any]:
            self.counters.follow(mean)  # events and filters of a recording
            rows = self._made(content.whole.name, mean)
            for column in rows.whole.columns:
                rows.values(column, rows.rows)
            self.counters.follow(self.watch_state.frame)
            return rows

        return self.mean_rows(rows_of)

    def _made(self, name: str, frame: Frame) -> RowContent[Any]:
        """The rows of a table, or of the map's edges, at a frame."""
        units = next((units for units in self.counters.kinds if units.kind.id == name), None)
        if units is not None:
            return self._contents.made(units, frame)
        return edges_content(self.counters, traffic_of(self.counters, frame, self._edges), frame.seq)

    def redraw_charts(self) -> None:
        super().redraw_charts()
        self._below.let_go()
        self._side.let_go()
        self._show_charts()

    def readout(self) -> str:
        """The status line; empty without tables, because the reason stands above."""
        return super().readout() if self._tables else ""

    def let_go(self) -> None:
        """Release the contents, too, each of which has a frame."""
        super().let_go()
        self._contents.clear()
        self._below.let_go()
        self._side.let_go()
        for table in (*self._tables.values(), self._map.table):
            table.let_go()

    def show_frame(self) -> None:
        """Show the numbers of the newest frame."""
        super().show_frame()
        self._fill()
        if self._match == (self._table, self._table.current) and self._stack.size != self._match_stack:
            self._show_parts(self._table, self._table.current)  # lines above or below have come or gone

    def _fill(self) -> None:
        if not self._tables:
            why = NOT_RECORDED if self._played else why_none(self.watch_state.session.machine)
            title = "No uncore counters" if self._played else "No uncore PMU here"
            lines = self.charts.absence(title, why, self.size.width, self._absent.size.height)
            self._absent.show([Item(tuple(line)) for line in lines])
            return
        if self._mapped:
            frame = self.watch_state.frame
            traffic = traffic_of(self.counters, frame, self._edges)
            self._map.show_traffic(self.counters, traffic, 0 if frame is None else frame.seq, self.fill)
            self.show_mark()
            self.show_status()
            return
        for units, table in zip(self.counters.kinds, self._tables.values(), strict=True):
            self.fill(table, self._contents.of(units, self.watch_state.frame))
        for at, (units, line) in enumerate(zip(self.counters.kinds, self._captions, strict=True)):
            room = self.size.width - self._side_width - 1  # without the scroll bar
            caption = caption_of(units, self._contents.of(units, self.watch_state.frame), room)
            line.show([caption], (ClickableSegment(0, 0, room, f"fold_table({at})"),))
        self._show_charts()
        self.show_mark()
        self.show_status()

    def _show_charts(self) -> None:
        """Draw charts of the row under the cursor where all tables leave room, below or beside them."""
        used = sum(table.virtual_size.height + 2 for table in self._tables.values())  # with caption and margin
        seconds, height, side = self.watch_state.interval, self._stack.size.height, self._side_width
        self._below.draw(self._table, seconds, self._stack.size.width - 1, height - used)
        if self._side.display != bool(side):
            self._side.display = bool(side)
        if side:
            if self._side.styles.width is None or self._side.styles.width.value != side - _MARGIN:
                self._side.styles.width = side - _MARGIN
            self._side.draw(self._table, seconds, side - _MARGIN, height)

    @property
    def _side_width(self) -> int:
        """The characters beside the tables, where charts stand if there is no room for them below; 0 for none."""
        used = sum(table.virtual_size.height + 2 for table in self._tables.values())
        width = self.size.width
        side = width - max(_NARROWEST, *(table.end_in(width) + 2 for table in self._tables.values()))
        return side if side >= BESIDE and self._stack.size.height - used < LEAST else 0

    # The table that keys act on

    @property
    def _units(self) -> UncoreUnits | None:
        return next((units for units in self.counters.kinds if self._tables[units.kind.id] is self._table), None)

    def enter(self, table: KindWidget) -> None:
        """Enter a table; the cursor stays in its column, if the table has so many."""
        before = self._table
        if table is before:
            return
        before.show_cursor(shown=False)
        super().enter(table)
        columns, chosen = table.columns_in_order, before.selected
        if columns and chosen is not None and before.is_column_chosen:
            table.select_column(columns[min(before.columns_in_order.index(chosen[0]), len(columns) - 1)])
        table.show_cursor(shown=True)

    def _enter_beside(self, by: int) -> bool:
        """Enter the next or previous table with rows, and tell whether there is one."""
        tables = self.tables
        at = tables.index(self._table) + by if tables else 0
        while 0 <= at < len(tables) and not tables[at].lines:
            at += by
        if not tables or not 0 <= at < len(tables):
            return False
        self.enter(tables[at])
        return True

    def on_click(self, event: events.Click) -> None:
        """Enter the table that is clicked."""
        if isinstance(event.widget, TableWidget) and event.widget in self.tables:
            self.enter(event.widget)

    def on_table_widget_moved(self, message: TableWidget.Moved) -> None:
        """Keep the cursor in sight, and the lines above a table's first row with it."""
        if self._mapped:
            self._map.draw()
        elif message.table is self._table:
            self._show_charts()
            y, line, lines = self._table.cursor_y, self._table.line, self._table.lines
            top = -1 if line is None or line is lines[0] else y
            region = Region(0, self._table.virtual_region.y + top, 1, y - top + 1)
            self._stack.scroll_to_region(region, animate=False, immediate=True)

    # Actions

    def action_move(self, by: int) -> None:
        """Move up or down, from table to table."""
        before = self._table.current
        super().action_move(by)
        if self._table.current == before and self._enter_beside(by):
            self._table.move_to_end(last=by < 0)

    def action_page(self, by: int) -> None:
        """Go to the next or previous table, or page of the map's edges."""
        if self._mapped:
            super().action_page(by)
        elif self._enter_beside(by):
            self._table.move_to_end(last=False)

    def action_end(self, by: int) -> None:
        """Go to the first or last row of all tables."""
        while self._enter_beside(by):
            pass
        super().action_end(by)

    def action_sideways(self, by: int) -> None:
        """Go to the next or previous column; at the left edge of a sum, fold or unfold."""
        line = self._table.line
        if by < 0 and line is not None and line.open is not None:
            if not self._table.move_column(by):
                self._fold(line.row, fold=line.open)
        else:
            self.action_column(by)

    def action_fold_table(self, at: int) -> None:
        """Fold every sum of a table, or unfold them all."""
        units, table = self.counters.kinds[at], self.tables[at]
        sums = _sums(units)
        table.show_view(replace(table.view, folded=frozenset() if table.view.folded == sums else sums))

    def action_fold_all(self) -> None:
        """Fold every table that has sums, or unfold all of them."""
        if self._mapped:
            self.notice(self._map.no_folds)
            return
        is_open = any(self._tables[units.kind.id].view.folded != _sums(units) for units in self.counters.kinds)
        for units in self.counters.kinds:
            table = self._tables[units.kind.id]
            table.show_view(replace(table.view, folded=_sums(units) if is_open else frozenset()))
        self.show_status()

    def find(self, text: str, *, after: bool = False) -> bool:
        """Find a row in all tables."""
        places = [(table, line.row) for table in self.tables for line in table.lines]
        here = next((at for at, place in enumerate(places) if place == (self._table, self._table.current)), 0) + after
        for table, row in (*places[here:], *places[:here]):
            if table.content is not None and text.lower() in table.content.words(row):
                self.enter(table)
                table.select(row)
                self._match = table, row
                self._show_parts(table, row)
                return True
        return super().find(text, after=after)  # a column

    def _show_parts(self, table: KindWidget, row: Hashable) -> None:
        """Scroll until a sum and the units that it adds up are in sight, as many as fit, or the unit alone."""
        lines = table.lines
        first = next((at for at, line in enumerate(lines) if line.row == row), 0)
        count = sum(not first or line.parent == row for line in lines[first + 1:])  # the machine's row adds up all
        top = table.virtual_region.y + (-1 if not first else table.cursor_y)
        height = min(table.virtual_region.y + table.cursor_y + 1 + count - top, self._stack.size.height)
        self._stack.scroll_to_region(Region(0, top, 1, height), animate=False, immediate=True)
        self._match_stack = self._stack.size

    # Columns and filters

    @property
    def known_columns(self) -> Sequence[Column[Any]]:
        """Columns that can be shown: derived values, typed events, all events, and text columns."""
        units, content = self._units, self._table.content
        if self._mapped:
            return super().known_columns
        if units is None or content is None:
            return ()
        typed = (*self._typed.get(units.kind.id, ()), *self.counters.shown(units))
        numbers = dict.fromkeys((*units.metrics, *(metric for metric in typed if metric not in units.raw), *units.raw))
        return (*numbers, *(column for column in content.whole.columns if column.decimals < 0))

    def section(self, column: Column[Any]) -> str:
        units = self._units
        if units is None or not isinstance(column, Metric):
            return "of the rows"
        return ("derived" if column in units.metrics else "events, each as a rate" if column in units.raw else "typed")

    def toggle(self, column: Column[Any]) -> None:
        """Show or hide a column, which is counted only while it is shown."""
        units = self._units
        if units is None or not isinstance(column, Metric):
            super().toggle(column)
            return
        shown = self.counters.shown(units)
        rest = tuple(metric for metric in shown if metric != column)
        self.counters.show(units, rest if column in shown else (*shown, column))
        self._changed()

    def add_typed(self, text: str) -> None:
        """Show an event that the user typed as terms.

        Raises:
            EventError: as `UncoreCounters.typed`.
        """
        if (units := self._units) is None:
            return
        metric = self.counters.typed(units, text)
        kind = units.kind.id
        self._typed[kind] = tuple(dict.fromkeys((*self._typed.get(kind, ()), metric)))
        if metric not in self.counters.shown(units):
            self.toggle(metric)

    def action_columns(self) -> None:
        """Choose the columns of the table under the cursor."""
        units, cell = self._units, self._table.selected
        if self._mapped:
            super().action_columns()
        elif units is not None:
            host = None if self._played else self.watch_state.session.machine.host
            self.app.push_screen(EventPicker(self, cell[0].id if cell else "", units, host))

    def action_filters(self) -> None:
        """Open the filters of the row under the cursor."""
        if self._mapped:
            self.notice(NO_FILTERS)
            return
        units, row = self._units, self.row_at_cursor
        if units is None or row is None:
            return
        if self._played:
            self.notice("A recording has only what passed the filters when it was made")
            return
        if not fields_of(units.pmu):
            self.notice(f"{units.kind.title} has no filters")
            return
        self.app.push_screen(FilterForm(self.counters, self._ports, units, row, self._changed))

    def action_traffic(self) -> None:
        """Switch between tables and the map of traffic; only visible values are counted."""
        if not self._tables:
            return
        if not self._mapped:
            self._before_map = self._table
        self._mapped = not self._mapped
        self._halves.display, self._map.display = not self._mapped, self._mapped
        self.enter(self._map.table if self._mapped else self._before_map)
        self.counters.count_beside(metrics_by_kind(self._edges) if self._mapped else {})
        self._changed()

    def choices(self) -> Iterator[ViewChoice[Any]]:
        """The map, the filters, and the events of each table, beside what other tables have."""
        yield from super().choices()
        yield ViewChoice(self.number, "map", self._mapped, lambda _mapped: self.action_traffic(), "")
        if not self._played:
            yield ViewChoice(self.number, "filters", self.counters.every_setting, self._filter_again,
                             "Counters filtered as they were")
        for units in self.counters.kinds:
            shown = tuple(metric.id for metric in self.counters.shown(units))
            yield ViewChoice(self.number, ("events", units.kind.id), shown,
                             partial(self._count_again, units), "Columns as they were")

    def _count_again(self, units: UncoreUnits, names: Sequence[ColumnId]) -> None:
        known = dict.fromkeys((*self._typed.get(units.kind.id, ()), *self.counters.shown(units), *units.metrics,
                               *units.raw))
        self.counters.show(units, [metric for metric in known if metric.id in names])
        self._changed()

    def _filter_again(self, every: AllSettings) -> None:
        self.counters.every_setting = every
        self._changed()

    def _changed(self) -> None:
        self._contents.clear()
        self.read_beside()
        self._fill()


def _sums(units: UncoreUnits) -> frozenset[Hashable]:
    """Return the rows of a kind that can be folded."""
    return frozenset(row.key for row in units.rows if row.is_sum)
