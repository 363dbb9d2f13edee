"""One cell of a table, as the windows that explain and graph it need it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from turbotui.app import scales
from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import in_words
from turbotui.widgets.comparison import difference_in_words
from turbotui.widgets.content import Content
from turbotui.widgets.curves import TimedValue
from turbotui.widgets.explanation import explanation, past_lines
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.slots import HISTORY


class OneCell(ABC):
    """One cell of a table over time, for the windows that explain and graph it."""

    column: Column[Any]
    row: Any
    seconds: float  # length of an interval
    top: float = 0.0  # end of the scale of its values; 0.0 if they have none
    in_frames: bool = False  # whether frames of the past contain it

    @property
    @abstractmethod
    def content(self) -> Content[Any, Any] | None:
        """The current table; None before the first reading."""

    @property
    def mark(self) -> Content[Any, Any] | None:
        """The table at the moment of comparison; None if values are shown."""
        return None

    @property
    def title(self) -> str:
        """Column, row and newest value."""
        content, column = self.content, self.column
        if content is None:
            return column.id
        return f"{column.id} · {content.name(column, self.row)} · {in_words(column, content.value(column, self.row))}"

    @property
    def past_title(self) -> str:
        """Column, row and newest value for the graph; the row may be the package that contains the cell's row."""
        return self.title

    def lines(self, width: int) -> list[str]:
        """The explanation of the cell, in lines up to a width."""
        content, column, mark = self.content, self.column, self.mark
        past: list[str] = []
        if content is not None and not column.identity:
            past = past_lines(column, self.ring, self.top or None, content.seq)
            if mark is not None:
                words = difference_in_words(column, content.value(column, self.row), mark.value(column, self.row))
                past.append(f"  compared: {words}")
        return explanation(content, column, self.row, past, width)

    @property
    @abstractmethod
    def ring(self) -> HistoryRing | None:
        """History of the cell's values; None if none was kept."""

    # For a graph

    @property
    def earlier(self) -> Sequence[TimedValue]:
        """Values from before the kept frames, oldest first."""
        return ()

    @property
    def home(self) -> object:
        """A key shared by rows with the same value."""
        return self.row

    @property
    def name(self) -> str:
        """The row's name for people."""
        return "" if self.content is None else self.content.name(self.column, self.row)

    @property
    def newest_ns(self) -> int | None:
        """End of the newest interval that may be read, in ns since 1970; None for the newest frame's."""
        return None

    def read(self, frame: Frame) -> float | None:
        """The cell's value in a frame of the past; None if unknown."""
        raise NotImplementedError(f"no frame has {self.column.id}")

    @property
    def columns(self) -> Sequence[Column[Any]]:
        """Columns of further cells of the row."""
        return (self.column,)

    def why_absent(self, _column: Column[Any]) -> Unavailable | None:
        """Why the row has no cell of a column; None if it has one."""
        return None

    def section(self, _column: Column[Any]) -> str:
        """The picker's heading above a column; "" for none."""
        return ""

    def beside(self, column: Column[Any]) -> OneCell:
        """The row's cell of another column, which is kept from now on."""
        raise NotImplementedError(f"no cell of {column.id} is beside that of {self.column.id}")


def cell_in_words(frame: Frame, column: CounterColumn, row: RowId) -> str:
    """A cell of a frame in words: column, row, and value with unit or reason."""
    why = frame.why(column, row)
    words = number_in_words(frame, column, row) if why is None else f"unknown: {why.sentence()}"
    return f"{column.id} · {row_name(frame.topology, row)} · {words}"


def number_in_words(frame: Frame, column: CounterColumn, row: RowId) -> str:
    """The value of a cell with its unit, behind the signs of its marks; a dash if unknown."""
    return frame.signs(column, row) + in_words(column, frame.cell(column, row))


class FrameCell(OneCell):
    """A cell of the CPU table, which is kept from now on."""

    in_frames = True

    def __init__(self, watch: Watch, column: CounterColumn, row: RowId) -> None:
        self._watch = watch
        self.column: CounterColumn = column
        self.row = row
        frame = watch.frame
        self._home = row if frame is None else frame.home(column, row) or row
        if column.decimals >= 0:
            watch.keep(column, self._home)

    @property
    def seconds(self) -> float:  # type: ignore[override]  # a person may change it meanwhile
        return self._watch.interval

    @property
    def title(self) -> str:
        return self._titled(self.row)

    @property
    def past_title(self) -> str:
        return self._titled(self._home)

    def _titled(self, row: RowId) -> str:
        if (frame := self._watch.frame) is None:
            return self.column.id
        name = row_name(frame.topology, row)
        return f"{self.column.id} · {name} · {number_in_words(frame, self.column, self.row)}"

    @property
    def content(self) -> FrameContent | None:
        return None if self._watch.frame is None else FrameContent(self._watch.frame)

    @property
    def mark(self) -> FrameContent | None:
        return None if self._watch.mark is None else FrameContent(self._watch.mark)

    @property
    def ring(self) -> HistoryRing | None:
        self._watch.history.series(self.column, self._home, HISTORY)
        return self._watch.history.ring(self.column.id, self._home)

    @property
    def top(self) -> float:  # type: ignore[override]  # a limit may become known meanwhile
        column = self.column
        return scales.tops(self._watch).get(column.id) or column.scale_max or (100.0 if column.unit == "%" else 0.0)

    @property
    def home(self) -> RowId:
        """The instance that contains the row."""
        return self._home

    @property
    def name(self) -> str:
        """Name of the CPU, core ... that the value belongs to."""
        frame = self._watch.frame
        return "" if frame is None else row_name(frame.topology, self._home)

    def read(self, frame: Frame) -> float | None:
        (value,) = frame.bare_cells(self.column, (self._home,))
        return None if isinstance(value, str) else value

    @property
    def columns(self) -> Sequence[CounterColumn]:
        return self._watch.session.catalog.columns

    def why_absent(self, column: Column[Any]) -> Unavailable | None:
        added = self._watch.session.catalog.get(column.id)
        return None if added is None else self._watch.why_absent(added)

    def section(self, column: Column[Any]) -> str:
        """The picker's heading above a column: its category."""
        added = self._watch.session.catalog.get(column.id)
        return "" if added is None else added.category.value

    def beside(self, column: Column[Any]) -> OneCell:
        added = self._watch.session.catalog.get(column.id)
        return self if added is None else FrameCell(self._watch, added, self.row)
