"""The window of C on the uncore screen: chooses a table's derived values, events by name, and typed events.

Typed text is also searched in the names and descriptions of the vendor's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.field_window import find_named_events
from turbotui.app.picker import ChoosableColumns, Picker
from turbotui.cell_widths import flush_left
from turbotui.errors import UsageError
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.machine.host import Host
from turbotui.quantities.columns import Column
from turbotui.quantities.uncore.metric import Metric
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

if TYPE_CHECKING:
    from turbotui.events.event_tables.model import VendorEvent
    from turbotui.events.event_tables.searching import EventSearch

_TABLES = "table "
"""The prefix of the keys of lines with events of the vendor's tables."""
_MOST = 60
_FEWEST = 2  # least characters of a search there
_WIDE = 40


class TypedEventsTable(ChoosableColumns, Protocol):
    """A table whose columns the user chooses or types."""

    def add_typed(self, text: str) -> None:
        """Show an event given as terms or by the vendor's name; raises UsageError where there is no such event."""


class EventPicker(Picker):
    """The columns of the table of one kind; Enter adds an event that is typed as terms.

    Args:
        current: id of the column on which the cursor begins.
        host: the machine whose events can be counted; None for a recording.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "take", "add terms", priority=True)]

    DEFAULT_CSS = """
    EventPicker > .window { width: 72; }
    """

    hint = "Space show/hide · Enter adds terms · Esc close"
    placeholder = "search, or terms: event=0x1,umask=0x2"

    def __init__(self, choosing: TypedEventsTable, current: str, units: UncoreUnits, host: Host | None = None) -> None:
        super().__init__(choosing, current)
        self.heading = f"columns of {units.kind.title}"
        self._typing = choosing
        self._pmu = units.pmu
        self._host = host
        self._search: EventSearch | None = None

    def on_mount(self) -> None:
        """Search at once, and again when the vendor's tables have been read."""
        if self._host is not None:  # Textual itself calls on_mount of the base classes
            self.run_worker(self._read_tables(self._host))

    async def _read_tables(self, host: Host) -> None:
        self._search = await find_named_events(host)
        if self._search is not None and self.query_one(Input).value:
            self.fill()

    def further(self, wanted: str) -> Sequence[Item]:
        """Further rows: events of the vendor's tables that are not listed yet."""
        if not (events := self._matching(wanted)):
            return ()
        lines = (Item(((f" {flush_left(row.name, _WIDE)}", StyleRole.PLAIN), (f" {row.brief}", StyleRole.DIM)),
                      f"{_TABLES}{row.name}") for row in events)
        return (Item((("of the vendor's tables", StyleRole.TITLE),)), *lines)

    def _matching(self, wanted: str) -> list[VendorEvent]:
        if self._search is None or len(wanted) < _FEWEST or "=" in wanted:
            return []
        listed = {column.what for column in self._choosing.known_columns if isinstance(column, Metric)}
        events = self._search.find(wanted, _MOST, self._pmu.name)
        return [row for row in events if row.name not in self._pmu.events and row.name not in listed]

    @property
    def _chosen_row(self) -> VendorEvent | None:
        """Return the event of the vendor's tables under the cursor."""
        key = self.query_one(Listing).key
        if self._search is None or not key.startswith(_TABLES):
            return None
        return next(iter(self._search.find(key.removeprefix(_TABLES), 1, self._pmu.name)), None)

    def about_no_column(self) -> str:
        row = self._chosen_row
        if row is None or self._search is None:
            return super().about_no_column()
        words = dict.fromkeys((row.brief, row.description))
        return "\n".join(text for text in (row.name, *words, row.terms, self._search.tables.source) if text)

    def action_show_or_hide(self) -> None:
        if (row := self._chosen_row) is None:
            super().action_show_or_hide()
        elif self._add(row.name):
            self.fill()

    def matches(self, column: Column[Any], wanted: str) -> bool:
        """Whether a row matches the typed text; terms of an event hide no row."""
        return "=" in wanted or super().matches(column, wanted)

    def about(self, column: Column[Any]) -> Sequence[str]:
        """The lines about a row: the last one has the kernel's terms of its events."""
        terms = (self._pmu.events[name].text if name in self._pmu.events else name for name in column.needs)
        return *super().about(column), "; ".join(terms)

    def action_take(self) -> None:
        """Show the event that was typed as terms, or toggle the column under the cursor."""
        field = self.query_one(Input)
        if "=" not in field.value:
            self.action_show_or_hide()
            return
        if self._add(field.value):
            field.value = ""

    def _add(self, text: str) -> bool:
        try:
            self._typing.add_typed(text)
        except UsageError as error:
            self.say(str(error))
            return False
        return True
