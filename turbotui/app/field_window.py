"""Windows with one line to type into, a sentence below it, and a list to accept from or remove from."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from turbotui.app.list_window import ListWindow
from turbotui.errors import UsageError
from turbotui.machine.host import Host

if TYPE_CHECKING:
    from turbotui.events.event_tables.searching import EventSearch

async def find_named_events(host: Host) -> EventSearch | None:
    """The vendor's tables of a machine, for searching; None if there are none.

    A thread reads them, because the first run of perf takes half a second, and may take ten.
    """
    return await asyncio.to_thread(_search, host)


def _search(host: Host) -> EventSearch | None:
    # imported on use: most runs read no table
    from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415
    from turbotui.events.event_tables.searching import EventSearch  # noqa: PLC0415

    try:
        return EventSearch(host, open_vendor_tables(host))
    except UsageError:  # adding an event by the table's name reports the reason
        return None


class FieldWindow(ListWindow):
    """A window with a field, a sentence and a list, whose current line can be put into the field."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "take", "take over", priority=True),
                                             Binding("delete", "remove", "remove", priority=True)]

    @abstractmethod
    def action_take(self) -> None:
        """Put the current line of the list into the field."""

    def put(self, text: str) -> None:
        """Put a text into the field and continue typing after it."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def on_listing_chosen(self) -> None:
        """Put a clicked line of the list into the field."""
        self.action_take()
