"""Charts of one row, in the lines that a table with few rows leaves empty. Nothing here knows Textual."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeAlias

from turbotui.cell_widths import cut, flush_right
from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import C, K
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import StyleRole, cell_text
from turbotui.widgets.content import F
from turbotui.widgets.painter import TextSegment, merged, scale_top
from turbotui.widgets.spark import area, begun, length_of, roles, stretched
from turbotui.widgets.table_view import TableView

LEAST: Final = 6
"""Empty lines below which no chart is drawn."""
_WIDEST: Final = 120
"""Characters of a line of reasons that is still read easily."""
_GAP: Final = "  "
_NARROWEST: Final = 22
_LOWEST, _HIGHEST = 4, 48
"""Lines of a chart, its title among them."""
_SHAPE: Final = 5.0
"""Characters of a chart for each of its lines."""
_SHARE: Final = 1.0
"""Percent from which a share has something to show."""
_PLAIN: Final = 10.0
"""Ends of scales below this have decimals."""
_VARIES: Final = 0.01
"""Share of its greatest value by which another number varies that has something to show."""

Past: TypeAlias = Callable[[C, K, int], Sequence[float]]
"""The last values of a cell, so many at most, the newest last; NaN is a gap."""
DrawBelow: TypeAlias = Callable[[int, int], Sequence[list[TextSegment]]]
"""Draws lines of a width into so many lines that a widget leaves empty."""


@dataclass(frozen=True)  # no slots: CPython issue 90562
class ChartedRow(Generic[F, C, K]):
    """A row whose charts are drawn, and the room for them."""

    content: F
    view: TableView[C, K]
    columns: Sequence[C]  # those that the table draws
    chosen: C  # the one under the cursor
    row: K  # the one under the cursor
    seconds: float  # length of an interval
    width: int
    height: int  # the lines that are empty

    def is_like(self, other: ChartedRow[F, C, K]) -> bool:
        """Tell whether the charts are the same; contents are compared by identity, because each moment has its own."""
        return (self.content is other.content and self.view is other.view and self.row == other.row
                and (self.chosen.id, self.width, self.height) == (other.chosen.id, other.width, other.height)
                and [column.id for column in self.columns] == [column.id for column in other.columns])


@dataclass(frozen=True, slots=True)
class Grid:
    """The arrangement of charts: how many stand beside and below each other, and the size of each."""

    across: int
    down: int
    width: int
    height: int


def grid_of(count: int, width: int, height: int) -> Grid | None:
    """Return the grid that gives this many charts a good shape and leaves few places empty; None if they do not fit."""
    best, least = None, math.inf
    for down in range(1, count + 1):
        across = math.ceil(count / down)
        wide = (width - 2 - len(_GAP) * (across - 1)) // across
        high = min(_HIGHEST, height // down)
        if wide < _NARROWEST or high < _LOWEST:
            continue
        if (cost := abs(math.log(wide / high / _SHAPE)) + 2 * (1 - count / (across * down))) < least:
            best, least = Grid(across, down, wide, high), cost
    return best


def past_of(ring: HistoryRing | None, seq: int, value: Value, count: int) -> Sequence[float]:
    """Return the last values of a ring, which keeps that many from now on, up to an interval with its value."""
    newest = float(value) if isinstance(value, int | float) else math.nan
    if ring is None:
        return [newest]
    ring.lengthen(count)
    missing = seq - ring.last
    if missing <= 0:  # below: the picture is paused
        return ring.values(count - missing)[:missing or None]
    return [*ring.values(count), *(math.nan for _ in range(min(missing, count) - 1)), newest][-count:]


class RowCharts(Generic[F, C, K]):
    """Charts of the row under the cursor, for the drawn columns whose values vary.

    A column has a chart as soon as it has something to show, and keeps it while the cursor stays on the row: charts
    that come and go cannot be read.

    Args:
        past: the last values of a cell.
        otherwise: draws into the room of a row of which nothing is known, below the reasons, and of one that has
            texts alone.
    """

    def __init__(self, past: Past[C, K], otherwise: DrawBelow | None = None) -> None:
        self._past = past
        self._otherwise = otherwise
        self._row: K | None = None
        self._lively: set[str] = set()
        self._known: ChartedRow[F, C, K] | None = None
        self._lines: list[list[TextSegment]] = []

    def lines(self, room: ChartedRow[F, C, K]) -> list[list[TextSegment]]:
        """Draw the charts of a row; none if nothing can be drawn."""
        if self._known is None or not self._known.is_like(room):
            self._known = room
            self._lines = self._drawn(room) if room.height >= LEAST else []
        return self._lines

    def let_go(self) -> None:
        """Release the content that was drawn last."""
        self._known = None

    def _drawn(self, room: ChartedRow[F, C, K]) -> list[list[TextSegment]]:
        if room.row != self._row:
            self._row = room.row
            self._lively.clear()
        numbers = [column for column in room.columns if column.decimals >= 0 and not column.identity
                   and not column.hexadecimal]
        if not numbers:
            return self._in_words(room)
        pasts = {column.id: self._past(column, room.row, room.width) for column in numbers}
        why = [] if _is_known(pasts.get(room.chosen.id, (0.0,))) else _reasons(room, numbers)
        known = [column for column in numbers if not why or _is_known(pasts[column.id])]
        charted = [column for column in known if self._is_shown(column, room.chosen, pasts[column.id])]
        name = (f" {room.content.name(room.chosen, room.row)}", StyleRole.SUMMARY)
        grid = None
        while charted and (grid := grid_of(len(charted), room.width, room.height - 2 - len(why))) is None:
            charted.remove(max(charted, key=lambda column: (column.id != room.chosen.id, column.priority)))
        if grid is None:
            if not why:
                return []
            below = () if self._otherwise is None else self._otherwise(room.width, room.height - 2 - len(why))
            return [[], [name], *why, *below]
        count = max((len(begun(pasts[column.id][-grid.width:])) for column in charted), default=0)
        length = f" over {length_of(count * room.seconds)}" if count else ""  # nothing of the past may be read yet
        head = [name, (length, StyleRole.DIM)]
        lines: list[list[TextSegment]] = [[], head, *why]
        for first in range(0, len(charted), grid.across):
            beside = {column: pasts[column.id] for column in charted[first:first + grid.across]}
            lines += _beside(room, beside, grid, count)
        return lines

    def _in_words(self, room: ChartedRow[F, C, K]) -> list[list[TextSegment]]:
        """Write out the texts of a row without numbers, which the table may cut."""
        wide = max(20, min(_WIDEST, room.width - 4))
        lines: list[list[TextSegment]] = [[]]
        for column in room.columns:
            if not column.identity:
                text = str(room.content.value(column, room.row) or "")
                lines += [[(f"  {line}", StyleRole.PLAIN if column.id == room.chosen.id else StyleRole.DIM)]
                          for line in textwrap.wrap(text, wide, break_long_words=True)]
        lines = lines[:room.height]
        return [*lines, *(() if self._otherwise is None else self._otherwise(room.width, room.height - len(lines)))]

    def _is_shown(self, column: C, chosen: C, past: Sequence[float]) -> bool:
        if column.id == chosen.id:
            return True
        if column.id not in self._lively and _has_something(column, past):
            self._lively.add(column.id)
        return column.id in self._lively


def _is_known(past: Sequence[float]) -> bool:
    return any(value == value for value in past)  # noqa: PLR0124 - no NaN


def _reasons(room: ChartedRow[Any, Any, Any], columns: Sequence[Column[Any]]) -> list[list[TextSegment]]:
    """Why the value under the cursor is unknown, whole, with all others that are unknown; as many lines as fit."""
    whys: dict[str, list[str]] = {}
    for column in sorted(columns, key=lambda column: column.id != room.chosen.id):
        if (why := room.content.why(column, room.row)) is not None and why.reason is not Reason.FIRST_TICK:
            whys.setdefault(why.sentence(), []).append(column.title)
    texts = (f"{', '.join(names)}: {sentence}" for sentence, names in whys.items())
    wide = max(20, min(_WIDEST, room.width - 2))
    return [[(f" {line}", StyleRole.DIM)] for text in texts
            for line in textwrap.wrap(text, wide, subsequent_indent="  ")][:max(0, room.height - 2)]


def _has_something(column: Column[Any], past: Sequence[float]) -> bool:
    """Tell whether a curve is more than a line at the bottom or through the middle."""
    known = [value for value in past if value == value]  # noqa: PLR0124 - no NaN
    if not known:
        return False
    high, low = max(known), min(known)
    return high >= _SHARE if column.unit == "%" else high - low > _VARIES * abs(high)


def _beside(room: ChartedRow[F, C, K], charts: Mapping[C, Sequence[float]], grid: Grid,
            count: int) -> list[list[TextSegment]]:
    """Arrange charts of the same time side by side; all are equally high, so each of their lines has one colour."""
    titles: list[TextSegment] = [(" ", StyleRole.PLAIN)]
    areas: list[list[str]] = []
    for column, past in charts.items():
        peak = max((value for value in past if value == value), default=0.0)  # noqa: PLR0124 - no NaN
        natural = room.view.tops.get(column.id) or column.scale_max or (100.0 if column.unit == "%" else 0.0)
        top = scale_top(natural, peak)
        titles += [*_title(column, room.content.value(column, room.row), top, grid.width,
                           here=column.id == room.chosen.id), (_GAP, StyleRole.PLAIN)]
        areas.append(area(stretched(past, grid.width, count), top, grid.width, grid.height - 1))
    lines = [(f" {_GAP.join(parts)}", role)
             for parts, role in zip(zip(*areas, strict=True), roles(grid.height - 1), strict=True)]
    return [merged(titles[:-1]), *([line] for line in lines)]


def _title(column: Column[Any], value: Value, top: float, width: int, *, here: bool) -> list[TextSegment]:
    """Draw name, value and end of the scale at constant positions."""
    unit = "" if column.title.endswith(column.shown_unit) else f" {column.shown_unit}"
    widest = len(f"{column.as_shown(top):.{column.decimals}f}")
    words = f" {flush_right(cell_text(column, value, column.width).strip(), widest)}{unit} "
    shown = float(f"{column.as_shown(top):.4g}")
    end = f" {shown:,.0f}" if shown >= _PLAIN else f" {shown:.3g}"
    name = cut(column.title, max(1, width - len(words) - len(end) - 1))
    rule = "─" * max(0, width - len(name) - len(words) - len(end))
    return [(name, StyleRole.SORTED if here else StyleRole.TITLE), (words, StyleRole.SUMMARY), (rule, StyleRole.RULE),
            (end, StyleRole.DIM)]
