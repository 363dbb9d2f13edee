"""Messages of a table widget to its screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.message import Message

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column

if TYPE_CHECKING:
    from turbotui.widgets.table_widget import TableWidget

_WIDGET = "table_widget"
"""Prefix of the handlers' names: on_table_widget_moved."""


@dataclass()
class Moved(Message, namespace=_WIDGET):
    """The cursor moved to another cell, or the cell's value changed."""

    table: TableWidget[Any, Any, Any]


@dataclass()
class TitleClicked(Message, namespace=_WIDGET):
    """A column's title was clicked."""

    table: TableWidget[Any, Any, Any]
    column: Column[Any]


@dataclass()
class FoldClicked(Message, namespace=_WIDGET):
    """The mark of a group was clicked."""

    table: TableWidget[Any, Any, Any]
    row: Any


@dataclass()
class CellOpened(Message, namespace=_WIDGET):
    """A cell was clicked twice."""

    table: TableWidget[Any, Any, Any]


@dataclass()
class ColumnDragged(Message, namespace=_WIDGET):
    """A column's title was dragged onto another one, and dropped there if `dropped`."""

    table: TableWidget[Any, Any, Any]
    column: Column[Any]
    to: Column[Any]
    dropped: bool


@dataclass()
class WidthDragged(Message, namespace=_WIDGET):
    """A column's right border was dragged to this width; None after a double click."""

    table: TableWidget[Any, Any, Any]
    column: Column[Any]
    width: int | None
