"""The info screen: how the machine is configured, line by line, each with the place it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from turbotui.analysis.configuration import Section, configuration
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import CounterColumn
from turbotui.screens.actions import Where, bindings_for
from turbotui.screens.base import WatchScreen
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone
from turbotui.widgets.listing import Item, Listing


class InfoScreen(WatchScreen):
    """What `turbotui info` prints, with a cursor: the line under it tells its source."""

    where: ClassVar[Where] = Where.LIST
    number = "8"
    word = "info"
    BINDINGS = bindings_for(Where.LIST)

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._list = Listing(id="info")
        self._machine: Machine | None = None
        self._sections: tuple[Section, ...] = ()

    def _read(self) -> None:
        """Read when the screen is first shown, and once: configuration changes only by what a person tells (TCC)."""
        machine = self.watch_state.session.machine
        if machine is self._machine:
            return
        self._machine = machine
        self._sections = configuration(machine)
        items: list[Item] = []
        for section in self._sections:
            items.append(Item(((f" {section.title}", Tone.TITLE),)))
            for number, line in enumerate(section.lines):
                parts = line.text.splitlines() or [""]
                items += [Item(((f"   {part.expandtabs()}", Tone.PLAIN),), f"{section.title} {number} {at}")
                          for at, part in enumerate(parts)]
        self._list.show(items)

    def body(self) -> Iterable[Widget]:
        """The lines."""
        yield self._list

    @property
    def listing(self) -> Listing:
        """The lines, for tests."""
        return self._list

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The summary only: nothing else is visible."""
        return ()

    def on_mount(self) -> None:
        """Fill the list."""
        self._read()

    def show_columns(self) -> None:
        """Nothing here depends on columns but what is read; the temperature target may be another one."""
        self._read()
        self.watch_state.want(self.wanted)

    def on_listing_moved(self) -> None:
        """Tell the source of the line under the cursor."""
        self.show_status()

    def readout(self) -> str:
        """Where the line under the cursor was read."""
        title, _, place = self._list.key.partition(" ")
        if not place:
            return ""
        line = next(section for section in self._sections if section.title == title).lines[int(place.split()[0])]
        return f"from {line.origin}"

    def action_move(self, by: int) -> None:
        """Up or down."""
        self._list.move(by)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        self._list.move(by * max(1, self._list.size.height - 1))

    def action_end(self, by: int) -> None:
        """First or last line."""
        self._list.move(by * 10_000)
