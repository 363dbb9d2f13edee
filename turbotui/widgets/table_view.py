"""How a table is shown, and its rows in display order. Nothing here knows Textual."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from operator import itemgetter
from typing import Final, Generic, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.filters import Filter
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.tables import C, K
from turbotui.widgets.arrangement import USUAL, ColumnArrangement
from turbotui.widgets.comparison import difference
from turbotui.widgets.content import Content, F, Line


class Follow(Enum):
    """What the cursor follows when rows move, by the word shown to people."""

    ROW = "its CPU"
    LINE = "off"
    HOTTEST = "hottest"
    BUSIEST = "busiest"
    SLOWEST = "slowest"


TAGS_ROW = RowId(Scope.SYSTEM, (-1,))
"""The row that sums the tagged rows; it is no instance of the topology."""


@dataclass(frozen=True)  # no slots: CPython issue 90562
class TableView(Generic[C, K]):
    """The settings of one table."""

    columns: tuple[C, ...] = ()  # the shown columns in print order; identity columns are always drawn first
    sort: C | None = None  # None for the table's own order
    reverse: bool = False  # whether the greatest comes first (in the table's own order, the last)
    levels: tuple[Scope, ...] = (Scope.CPU,)  # of the tree, coarse to fine; one level is a flat table
    filter: Filter[C] = field(default_factory=Filter)  # decides which rows are shown
    top: tuple[K, ...] = ()  # rows fixed at the top
    tags: tuple[K, ...] = ()  # rows pinned below those
    sums: tuple[K, ...] = ()  # rows that sum the tags, if there are any
    folded: frozenset[K] = frozenset()  # groups whose parts are hidden
    follow: Follow = Follow.ROW  # what the cursor follows
    # the columns that HOTTEST, BUSIEST and SLOWEST use, if available
    targets: Mapping[Follow, C] = field(default_factory=dict)
    sparks: Mapping[ColumnId, int] = field(default_factory=dict)  # columns with a sparkline beside them, and its width
    # value of a full block for each sparkline; a column without one scales to its peak
    tops: Mapping[ColumnId, float] = field(default_factory=dict)
    mark: Content[C, K] | None = None  # the moment with which numbers are compared; None to show values
    arrangement: ColumnArrangement = USUAL  # order and widths of columns, if the user changed them

    @property
    def pinned(self) -> tuple[K, ...]:
        """Rows that do not scroll: those at the top, the tagged ones and their sum."""
        return (*self.top, *self.tags, *self.sums) if self.tags else self.top

    @property
    def needed(self) -> tuple[C, ...]:
        """Every column that this view has to read, each once."""
        wanted = [*self.columns, *self.filter.columns]
        if self.sort is not None:
            wanted.append(self.sort)
        if (target := self.targets.get(self.follow)) is not None:
            wanted.append(target)
        return tuple({column.id: column for column in wanted}.values())


class RowList(Generic[F, C, K]):
    """The lines of a table for one moment and view, without pinned rows; flat unless a subclass groups rows."""

    def __init__(self) -> None:
        self.last = LastOrder[K]()
        self.lines: Sequence[Line[K]] = []
        self._places: dict[K, int] | None = {}

    def update(self, content: F, view: TableView[C, K]) -> None:
        """Filter, sort and fold again."""
        self.lines = self.arranged(content, view)
        self._places = None

    def arranged(self, content: F, view: TableView[C, K]) -> Sequence[Line[K]]:
        """The lines for a view."""
        rows = content.rows
        if view.filter.text:
            rows = [row for row in rows if passes(content, view, row)]
        return [Line(row) for row in self.order(content, view, rows)]

    def order(self, content: Content[C, K], view: TableView[C, K], rows: Sequence[K]) -> Sequence[K]:
        """Sort rows for a view; those whose values have changed by no more than chance stay where they were."""
        return ordered(content, rows, view.sort, reverse=view.reverse, mark=view.mark, last=self.last)

    def position(self, row: K | None) -> int | None:
        """Position of a row; None if it is not shown."""
        if row is None:
            return None
        if self._places is None:
            self._places = {line.row: at for at, line in enumerate(self.lines)}
        return self._places.get(row)

    def target(self, content: F, view: TableView[C, K]) -> K | None:
        """The row for the cursor to follow: the hottest, busiest or slowest; None if the cursor follows nothing."""
        if (column := view.targets.get(view.follow)) is None:
            return None
        rows: list[K] = [line.row for line in self.lines if line.open is None]
        best: Sequence[K] = ordered(content, rows, column, reverse=view.follow is not Follow.SLOWEST)
        return best[0] if best and content.value(column, best[0]) is not None else None

    def _names(self, content: F, *, by_number: bool) -> Iterator[list[str]]:
        """The names of all rows, then what else they are found by: words take longer than titles, and wait for them."""
        if by_number:
            yield [content.title(line.row) for line in self.lines]
            yield ["" if line.open else content.words(line.row) for line in self.lines]
        yield [content.words(line.row) for line in self.lines]

    def find(self, content: F, text: str, start: int, *, after: bool = False) -> K | None:
        """The first row whose words contain a text, from line `start` on, wrapping around.

        A text with a number is first looked for in the rows' own names, because 1 does not stand for core 1 of package
        1, then in rows with all that they contain, unless that has rows of its own.

        Args:
            after: whether the line before `start` is found already, and another one is wanted.
        """
        again = None
        for names in self._names(content, by_number=text[-1:].isdecimal()):
            at = next_match(names, text, start, after=after)
            if at is not None and not (after and at == (start - 1) % len(self.lines)):
                return self.lines[at].row
            again = again if at is None else at
        return None if again is None else self.lines[again].row


def next_match(names: Sequence[str], text: str, start: int, *, after: bool = False) -> int | None:
    """The first place from a start whose name contains a text in any case, wrapping around; None if there is none.

    Args:
        names: of the places, in their order.
        text: a number matches only itself: 7 does not match "cpu 17", and "cpu 1" matches it if there is no CPU 1.
        start: index of the place to begin with.
        after: whether the place before `start` is found already, so that places that match less are preferred to it.
    """
    wanted = text.strip().lower()
    left, right = (r"(?<!\d)" if wanted[:1].isdecimal() else "", r"(?!\d)" if wanted[-1:].isdecimal() else "")
    exact = f"{left}{re.escape(wanted)}{right}"
    places: Sequence[int] = range(len(names))
    start = start % len(names) if names else 0
    order: Sequence[int] = [*places[start:], *places[:start]]
    again = None
    for pattern in [exact] if wanted.isdecimal() else [exact, re.escape(wanted)]:
        for at in order:
            if re.search(pattern, names[at].lower()):
                if not after or at != order[-1]:
                    return at
                again = at
    return again


def passes(content: Content[C, K], view: TableView[C, K], row: K) -> bool:
    """Whether a row passes the filter."""
    return view.filter.passes(content.words(row), lambda column: column.as_shown(content.value(column, row)))


_AS_BUSY: Final = 1.0
"""Percent of load from 0 and from 100 within which CPUs are as busy as each other: their rows stay where they are."""


class LastOrder(Generic[K]):
    """The values by which a table was sorted last: a row that has changed by no more than chance keeps its value.

    A machine at rest changes by chance alone, and its rows would change places at each tick.
    """

    def __init__(self) -> None:
        self._by: tuple[str, bool] | None = None
        self._values: dict[K, Value] = {}

    def held(self, column: C, rows: Sequence[K], values: Sequence[Value], *, reverse: bool) -> Sequence[Value]:
        """The values to sort by now; in another order all are those of this moment."""
        last = self._values if self._by == (column.id, reverse) else {}
        chance = _CHANCE.get(column.unit)
        if chance is not None:
            values = [before if isinstance(value, float) and isinstance(before := last.get(row), float)
                      and abs(value - before) <= chance(max(value, before)) else value
                      for row, value in zip(rows, values, strict=True)]
        self._by, self._values = (column.id, reverse), dict(zip(rows, values, strict=True))
        return values


_CHANCE: Final[Mapping[str, Callable[[float], float]]] = {
    "%": lambda value: _AS_BUSY / 2 if value < 2 * _AS_BUSY else 0.0,
    "/s": lambda value: 2 * math.sqrt(max(value, 1.0)),  # twice the standard deviation of counts of a second
}
"""By how much a value of a unit may differ from the one before though nothing but chance has changed."""


def ordered(content: Content[C, K], rows: Sequence[K], column: C | None, *, reverse: bool,
            mark: Content[C, K] | None = None, load: bool = False, last: LastOrder[K] | None = None) -> Sequence[K]:
    """Sort rows by a column in either direction: unknown values come last, equal ones in the table's order.

    Values that look alike are equal, so that rows move only when a number that is seen does.

    Args:
        rows: in the table's order.
        column: to sort by; None for the table's order.
        reverse: whether the greatest comes first.
        mark: sort by the differences from this moment, which are what is shown then.
        load: whether the column is a load in percent, of which idle rows count as equal, and so do saturated ones.
        last: the order so far, which rows that have changed by chance alone keep.
    """
    if column is None:
        return tuple(reversed(rows)) if reverse else rows
    values = content.values(column, rows)
    if mark is not None and not column.identity:
        values = [difference(column, value, mark.value(column, row)) for row, value in zip(rows, values, strict=True)]
    elif load:
        values = [value if not isinstance(value, float) else
                  0.0 if 0.0 <= value < _AS_BUSY else min(value, 100.0 - _AS_BUSY) for value in values]
    elif last is not None:
        values = last.held(column, rows, values, reverse=reverse)
    if column.decimals >= 0 and not column.most_decimals:
        shown, decimals = map(column.as_shown, values) if column.shown else values, column.decimals
        values = [round(value, decimals) if isinstance(value, float) else value for value in shown]
    return ordered_by(rows, values, reverse=reverse)


def ordered_by(rows: Sequence[K], values: Sequence[Value], *, reverse: bool) -> Sequence[K]:
    """Sort rows by a value of each, as `ordered` does."""
    if set(map(type, values)) <= {int, float}:
        numbers = cast("Sequence[float]", values)
        # a sort keeps the order of equal values in both directions
        return [rows[at] for at in sorted(range(len(rows)), key=numbers.__getitem__, reverse=reverse)]
    known: list[tuple[float, K]] = []
    texts: list[tuple[str, K]] = []
    unknown: list[K] = []
    for row, value in zip(rows, values, strict=True):
        if value is None:
            unknown.append(row)
        elif isinstance(value, str):
            texts.append((value.lower(), row))
        else:
            known.append((value, row))
    known.sort(key=itemgetter(0), reverse=reverse)
    texts.sort(key=itemgetter(0), reverse=reverse)
    return [row for _, row in known] + [row for _, row in texts] + unknown
