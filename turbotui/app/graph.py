"""g: cells over time, with a cursor; e: where one number comes from. Each window leads to the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual import events, getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message

from turbotui.app.frames import FramesApp
from turbotui.app.graph_cells import GraphCells
from turbotui.app.modal import Window
from turbotui.app.one_cell import OneCell
from turbotui.app.past import Portions
from turbotui.app.picker import Picker
from turbotui.app.text_window import TextWindow
from turbotui.dataclass import dataclass
from turbotui.quantities.moments import NS
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.graph_cursor import GraphCursor
from turbotui.widgets.graph_picture import GraphEvent, GraphPainter, GraphPicture
from turbotui.widgets.segment_lines import SegmentLines

_REDRAW: Final = 0.2
"""Minimum seconds between two pictures of what has been read; at least five times what a picture takes."""
_SMALLEST: Final = (30, 8)
"""Minimum size for an axis and a curve."""


class GraphLines(SegmentLines):
    """The picture, which reports where it was clicked."""

    @dataclass()
    class Clicked(Message):
        """A place was clicked, in characters from the left end of the lines."""

        place: int

    async def on_click(self, event: events.Click) -> None:
        """Tell the window."""
        self.post_message(self.Clicked(event.x))


class Graph(Window[None]):
    """Cells as curves over the whole available past: a panel for each column, a curve for each row.

    Args:
        cells: of one column.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("g", "close", "close", show=False),
        Binding("e", "explain", "explain"),
        Binding("left,comma,h", "step(-1)", "back"),
        Binding("right,full_stop,l", "step(1)", "on"),
        Binding("left_curly_bracket", "step(-10)", "ten back", show=False),
        Binding("right_curly_bracket", "step(10)", "ten on", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "far back"),
        Binding("pagedown,ctrl+f", "page(1)", "far on"),
        Binding("home", "end(-1)", "first"),
        Binding("end,G,backspace", "end(1)", "newest"),
        Binding("right_square_bracket,plus,equals_sign", "zoom(1)", "nearer"),
        Binding("left_square_bracket,minus,underscore", "zoom(-1)", "from further away"),
        Binding("0", "whole", "whole"),
        Binding("C,f2", "columns", "columns"),
        Binding("enter,ctrl+j", "go_there", "show that moment"),
    ]

    DEFAULT_CSS = """
    Graph > .window { width: 98%; max-width: 240; height: 94%; max-height: 100%; padding: 0; }
    Graph GraphLines { height: 1fr; }
    """

    app = getters.app(FramesApp)

    def __init__(self, *cells: OneCell) -> None:
        super().__init__()
        self._asked = cells
        self._cells: GraphCells | None = None
        self._cursor: GraphCursor | None = None
        self._painter = GraphPainter()
        self._loading = ""

    def compose(self) -> ComposeResult:
        """The picture in a window."""
        with Vertical(classes="window") as window:
            window.border_subtitle = self._keys()
            yield GraphLines(id="curve")

    def copied(self) -> str:
        """The cells with their newest values, for the clipboard."""
        return "\n".join(cell.title for cell in self._asked)

    def on_mount(self) -> None:
        """Show the curve."""
        self._cells = GraphCells(self.app.watched, self._asked, self._columns_changed)
        self.show_frame()

    def on_resize(self) -> None:
        """Draw the curve again once the window has its new size."""
        self.query_one(".window", Vertical).border_subtitle = self._keys()
        self.call_after_refresh(self.show_frame)

    def _keys(self) -> str:
        wide = self.app.size.width >= 120
        move = "← → PgUp PgDn Home End" if wide else "← → move"
        zoom = r"] nearer · \[ further · 0 whole" if wide else r"\[ ] zoom"
        return f"{move} · {zoom} · C columns · Enter go there · e explain · Esc close"

    def show_frame(self) -> None:
        """Show the curves up to the newest frame, and read missing values."""
        self._paint()
        self._load()

    # Drawing

    def _paint(self) -> None:
        if not self.query("#curve"):  # the window closes while values of the past are read
            return
        cells, curve = self._cells, self.query_one("#curve", GraphLines)
        width, height = curve.size
        if cells is None or width < _SMALLEST[0] or height < _SMALLEST[1]:
            return
        self.entitle(self._title(cells))
        if cells.first.column.decimals < 0:
            curve.show([[(" a text has no curve", StyleRole.DIM)]])
            return
        moments = cells.moments()
        if not moments:
            curve.show([[(" kept from now on: the curve begins with the next interval", StyleRole.DIM)]])
            return
        cursor = self._moved(moments, cells.first.seconds, width)
        curve.show(self._painter.lines(self._picture(cells, cursor, moments), width, height))

    @staticmethod
    def _title(cells: GraphCells) -> str:
        many = len(cells.rows) - 1 + cells.left_out
        if not many:
            return cells.first.past_title
        left_out = f", of which {cells.left_out} are left out" if cells.left_out else ""
        return f"{cells.first.column.id} · {cells.first.name} and {many} tagged{left_out}"

    def _moved(self, moments: Sequence[int], seconds: float, width: int) -> GraphCursor:
        """The cursor among these moments; initially at the screens' moment."""
        interval, places = round(seconds * NS), 2 * width
        if self._cursor is None:
            past = self.app.watched.cursor
            self._cursor = GraphCursor(moments, interval, places, None if past is None else past.at)
        else:
            self._cursor.go_on(moments, interval, places)
        return self._cursor

    def _picture(self, cells: GraphCells, cursor: GraphCursor, moments: Sequence[int]) -> GraphPicture:
        past, latest = self.app.watched.cursor, self.app.watched.session.latest
        live = past is None or past.live
        now = latest.newer.wall_ns if live and latest is not None else moments[-1]
        happened = () if past is None else tuple(GraphEvent(event.time_ns, event.text) for event in past.events)
        newest = cursor.span.last >= moments[-1]
        return GraphPicture(cells.panels(), cursor.span, cursor.here, max(now, cursor.here), live and newest,
                            live and cursor.at is None, happened, self._loading)

    # The past

    def _load(self) -> None:
        if self._cells is None or self._cursor is None:
            return
        if not self._cells.missing(self._cursor.span):
            self._loading = ""
        else:
            # the method, not a coroutine: a worker that is cancelled before it starts would never await that
            self.run_worker(self._read_missing, group="past", exclusive=True)  # type: ignore[arg-type] # inferred as Never

    async def _read_missing(self) -> None:
        """Read missing values of the past, newest first and between keys, drawing them as they come."""
        cells, cursor = self._cells, self._cursor
        if cells is None or cursor is None:
            return
        missing, portions = cells.missing(cursor.span), Portions()
        drawn, wait = time.monotonic(), _REDRAW
        for read, time_ns in enumerate(missing, start=1):
            cells.read(time_ns)
            self._loading = f"read {read:,} of {len(missing):,} intervals "
            if await portions.rest() and time.monotonic() - drawn > wait:
                began = time.monotonic()
                self._paint()
                drawn = time.monotonic()
                wait = max(_REDRAW, 5 * (drawn - began))
        self._loading = ""
        self._paint()

    # Keys

    def _look(self, change: Callable[[GraphCursor], object]) -> None:
        """Move the cursor or the visible span, and draw."""
        if self._cursor is not None:
            change(self._cursor)
            self.show_frame()

    def action_step(self, by: int) -> None:
        """Move the cursor by a number of intervals."""
        self._look(lambda cursor: cursor.step(by))

    def action_page(self, by: int) -> None:
        """Move forward or back by the visible span."""
        self._look(lambda cursor: cursor.page(by))

    def action_end(self, by: int) -> None:
        """Move to the first interval or the newest."""
        self._look(lambda cursor: cursor.end(by))

    def action_zoom(self, by: int) -> None:
        """Zoom in or out."""
        self._look(lambda cursor: cursor.zoom(by))

    def action_whole(self) -> None:
        """Show the whole past."""
        self._look(GraphCursor.show_whole)

    def action_columns(self) -> None:
        """Choose more columns."""
        if self._cells is not None:
            self.app.push_screen(Picker(self._cells, self._cells.first.column.id))

    def _columns_changed(self) -> None:
        self.app.read_wanted()
        self.show_frame()

    def on_graph_lines_clicked(self, message: GraphLines.Clicked) -> None:
        """Put the cursor on the clicked place."""
        place, across = message.place - self._painter.left, self._painter.across
        if 0 <= place < across:
            self._look(lambda cursor: cursor.go_to(cursor.span.time(place, across)))

    def action_go_there(self) -> None:
        """Show the moment of the cursor on all screens."""
        app, cursor = self.app, self._cursor
        self.action_close()
        if cursor is not None:
            if cursor.at is None:
                app.action_past_now()
            else:
                app.go_to_time(cursor.at)

    def action_explain(self) -> None:
        """The first cell explained."""
        if self._cells is not None:
            self.app.switch_screen(Explain(self._cells.first))


class Explain(TextWindow):
    """The window that explains one cell and is updated with every frame: the answer bright, the readings below it."""

    DEFAULT_CSS = "Explain #text { color: $tui-strong; }"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("g", "graph", "graph")]
    KEYS = "g graph · y copy · Esc close"

    def __init__(self, cell: OneCell) -> None:
        super().__init__(lambda width: (cell.title, cell.lines(width)))
        self._cell = cell

    def action_graph(self) -> None:
        """Show the graph of the explained cell."""
        self.app.switch_screen(Graph(self._cell))
