"""One cell of a table, as the windows that explain it and draw its past ask for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.cells import said
from turbotui.widgets.comparison import difference_said
from turbotui.widgets.explanation import explanation, past_lines
from turbotui.widgets.rows import row_name


class OneCell(ABC):
    """A cell, which is another one's neighbour in every frame, and has a past.

    Attributes:
        column: of the cell.
        seconds: length of an interval.
    """

    column: Column[Any]
    seconds: float

    @property
    @abstractmethod
    def title(self) -> str:
        """Column, row and newest value."""

    @property
    def past_title(self) -> str:
        """The same for the past of the value, which may be that of what the row lies in."""
        return self.title

    @abstractmethod
    def lines(self, width: int) -> list[str]:
        """Where the value comes from, or why it is missing."""

    @property
    @abstractmethod
    def ring(self) -> HistoryRing | None:
        """What the cell was; None if it was not kept."""

    @property
    @abstractmethod
    def top(self) -> float:
        """End of the scale of its values; 0.0 where they have none."""


class FrameCell(OneCell):
    """A cell of the counter table. It is kept from now on."""

    def __init__(self, watch: Watch, column: CounterColumn, row: RowId) -> None:
        self._watch = watch
        self.column: CounterColumn = column
        self._row = row
        frame = watch.frame
        self._home = row if frame is None else frame.home(column, row) or row
        if column.decimals >= 0:
            watch.keep(column, self._home)

    @property
    def seconds(self) -> float:  # type: ignore[override]  # a person may change it meanwhile
        """See `OneCell`."""
        return self._watch.interval

    @property
    def title(self) -> str:
        """See `OneCell.title`."""
        return self._titled(self._row)

    @property
    def past_title(self) -> str:
        """See `OneCell.past_title`."""
        return self._titled(self._home)

    def _titled(self, row: RowId) -> str:
        frame = self._watch.frame
        if frame is None:
            return self.column.id
        name, value = row_name(frame.topology, row), frame.cell(self.column, self._row)
        return f"{self.column.id} · {name} · {said(self.column, value)}"

    def lines(self, width: int) -> list[str]:
        """See `OneCell.lines`."""
        return explanation_of(self._watch, self.column, self._row, width)

    @property
    def ring(self) -> HistoryRing | None:
        """See `OneCell.ring`."""
        return self._watch.history.ring(self.column.id, self._home)

    @property
    def top(self) -> float:
        """See `OneCell.top`."""
        return self._watch.tops().get(self.column.id, 0.0)


def explanation_of(watch: Watch, column: CounterColumn, row: RowId, width: int = 96) -> list[str]:
    """A cell of the counter table explained, with what it was since the start."""
    frame = watch.frame
    if frame is None:
        return explanation(None, column, row, width=width)
    ring = watch.history.ring(column.id, frame.home(column, row) or row)
    past = past_lines(column, ring, watch.tops().get(column.id), frame.seq)
    if watch.mark is not None:
        words = difference_said(column, frame.cell(column, row), watch.mark.cell(column, row))
        past.append(f"  compared with #{watch.mark.seq}: {words}")
    return explanation(frame, column, row, past, width)
