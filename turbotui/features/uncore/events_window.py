"""C on the uncore screen: what one table shows: derived values, events by name, and events typed as terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.row_picker import Choosing, RowPicker
from turbotui.errors import UsageError
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.quantities.columns import Column


class Typing(Choosing, Protocol):
    """Whose columns are chosen, or typed."""

    def add_typed(self, text: str) -> None:
        """Show an event given as terms; raises UsageError where there is no such event."""


class EventPicker(RowPicker):
    """The columns of the table of one kind; Enter adds an event that is typed as terms.

    Args:
        choosing: whose columns.
        current: id of the column that the list's cursor begins on.
        units: of the kind.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "take", "add terms", priority=True)]

    DEFAULT_CSS = """
    EventPicker > .window { width: 72; }
    """

    hint = "Space show/hide · Enter adds terms · Esc close"
    placeholder = "search, or terms: event=0x1,umask=0x2"

    def __init__(self, choosing: Typing, current: str, units: UncoreUnits) -> None:
        super().__init__(choosing, current)
        self.heading = f"columns of {units.kind.title}"
        self._typing = choosing
        self._pmu = units.pmu

    def matches(self, column: Column[Any], wanted: str) -> bool:
        """See `RowPicker.matches`: terms that are being typed hide nothing."""
        return "=" in wanted or super().matches(column, wanted)

    def more_about(self, column: Column[Any]) -> Sequence[str]:
        """See `RowPicker.more_about`: what the kernel writes for the events."""
        return ["; ".join(self._pmu.events[name].text if name in self._pmu.events else name for name in column.needs)]

    def action_take(self) -> None:
        """Show the event that was typed as terms, or show or hide what is under the cursor."""
        field = self.query_one(Input)
        if "=" not in field.value:
            self.action_show_or_hide()
            return
        try:
            self._typing.add_typed(field.value)
        except UsageError as error:
            self.say(str(error))
            return
        field.value = ""
