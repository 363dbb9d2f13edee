"""!: what happened: alerts, findings, marks and gaps with their times; Enter goes to the moment of one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from turbotui.app.alerting import NO_ALERTS
from turbotui.app.list_window import MenuWindow
from turbotui.app.past import PastEvent
from turbotui.app.watch import Watch
from turbotui.quantities.moments import time_of_day
from turbotui.untrusted import guarded
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

_COPIED: Final = 1_000
"""Width of a copied line, in which no sentence is wrapped."""


class HappenedWindow(MenuWindow[int]):
    """The window with the events; it returns the moment to show, in ns since 1970, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("exclamation_mark", "close", "close", show=False)]

    heading = "what happened"
    hint = "Enter goes to that moment · y copy · Esc close"

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def copied(self) -> str:
        """The whole text, for the clipboard."""
        lines = ("".join(text for text, _ in item.segments) for item in self._items(_COPIED))
        return guarded("\n".join([self.heading, "", *lines]))

    def on_mount(self) -> None:
        """Show what happened so far."""
        self.show_frame()

    def on_listing_resized(self) -> None:
        """Wrap the sentences again."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show what has happened until now."""
        listing = self.query_one(Listing)
        listing.show([*self._items(max(20, listing.scrollable_content_region.width or self.app.size.width - 6))])

    def action_choose(self) -> None:
        """Go to the moment of the current line."""
        if key := self.query_one(Listing).key:
            self.dismiss(int(key.partition(" ")[0]))

    def _items(self, width: int) -> Iterator[Item]:
        alerts = self._watch.alerts
        if alerts is not None:
            yield from _lines(alerts.current_lines(), width)
        events = happened(self._watch)
        yield from _lines(["HAPPENED, the newest first"], width)
        for event in events:
            clock = f"  {time_of_day(event.time_ns)} "
            first, *others = textwrap.wrap(event.text, max(20, width - len(clock))) or [""]
            yield Item(((clock, StyleRole.DIM), (first, StyleRole.PLAIN)), f"{event.time_ns} {event.text}")
            yield from (Item(((f"{'':{len(clock)}}{other}", StyleRole.PLAIN),)) for other in others)
        if not events:
            yield from _lines(["  nothing that turbotui notes: no alert, no finding, no mark (M)"], width)
        yield from _lines(["", *(NO_ALERTS if alerts is None else alerts.rule_lines())], width)


def happened(watch: Watch) -> Sequence[PastEvent]:
    """What happened, the newest first: events of the past and marks, findings, and alerts that ended."""
    events = () if watch.cursor is None else watch.cursor.events
    ended = () if watch.alerts is None else watch.alerts.ended()
    return sorted({*events, *ended, *watch.judge.noted}, key=lambda event: -event.time_ns)


def _lines(lines: Sequence[str], width: int) -> Iterator[Item]:
    for line in lines:
        indent = line[:len(line) - len(line.lstrip())]
        for part in textwrap.wrap(line, width, subsequent_indent=f"{indent}  ") or [""]:
            yield Item(((part, StyleRole.SUMMARY if line[:2].isupper() else StyleRole.PLAIN),))
