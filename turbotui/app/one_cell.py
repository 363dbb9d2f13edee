"""One cell of a table, as the windows that explain it and draw its past ask for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from turbotui.app import scales
from turbotui.app.watch import Watch
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.sampling.history import HistoryRing
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import said
from turbotui.widgets.comparison import difference_said
from turbotui.widgets.content import Content
from turbotui.widgets.explanation import explanation, past_lines
from turbotui.widgets.frame_rows import FrameContent


class OneCell(ABC):
    """A cell, which is another one's neighbour in every frame, and has a past.

    Attributes:
        column: of the cell.
        row: of the cell, by the key that it keeps.
        seconds: length of an interval.
        top: end of the scale of its values; 0.0 where they have none.
    """

    column: Column[Any]
    row: Any
    seconds: float
    top: float = 0.0

    @property
    def content(self) -> Content[Any, Any] | None:
        """The table now; None before the first reading."""
        return None

    @property
    def mark(self) -> Content[Any, Any] | None:
        """The table at the moment that it is compared with; None where values are shown."""
        return None

    @property
    def title(self) -> str:
        """Column, row and newest value."""
        content, column = self.content, self.column
        if content is None:
            return column.id
        return f"{column.id} · {content.name(column, self.row)} · {said(column, content.value(column, self.row))}"

    @property
    def past_title(self) -> str:
        """The same for the past of the value, which may be that of what the row lies in."""
        return self.title

    def lines(self, width: int) -> list[str]:
        """Where the value comes from, or why it is missing, in lines of at most so many characters."""
        content, column, mark = self.content, self.column, self.mark
        past: list[str] = []
        if content is not None and not column.identity:
            past = past_lines(column, self.ring, self.top or None, content.seq)
            if mark is not None:
                words = difference_said(column, content.value(column, self.row), mark.value(column, self.row))
                past.append(f"  compared with #{mark.seq}: {words}")
        return explanation(content, column, self.row, past, width)

    @property
    @abstractmethod
    def ring(self) -> HistoryRing | None:
        """What the cell was; None if it was not kept."""


class FrameCell(OneCell):
    """A cell of the counter table. It is kept from now on."""

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
        """See `OneCell`."""
        return self._watch.interval

    @property
    def title(self) -> str:
        """See `OneCell.title`."""
        return self._titled(self.row)

    @property
    def past_title(self) -> str:
        """See `OneCell.past_title`."""
        return self._titled(self._home)

    def _titled(self, row: RowId) -> str:
        frame = self._watch.frame
        if frame is None:
            return self.column.id
        name, value = row_name(frame.topology, row), frame.cell(self.column, self.row)
        return f"{self.column.id} · {name} · {said(self.column, value)}"

    @property
    def content(self) -> FrameContent | None:
        """See `OneCell.content`."""
        return None if self._watch.frame is None else FrameContent(self._watch.frame)

    @property
    def mark(self) -> FrameContent | None:
        """See `OneCell.mark`."""
        return None if self._watch.mark is None else FrameContent(self._watch.mark)

    @property
    def ring(self) -> HistoryRing | None:
        """See `OneCell.ring`."""
        return self._watch.history.ring(self.column.id, self._home)

    @property
    def top(self) -> float:  # type: ignore[override]  # a limit may become known meanwhile
        """See `OneCell.top`."""
        return scales.tops(self._watch).get(self.column.id, 0.0)
