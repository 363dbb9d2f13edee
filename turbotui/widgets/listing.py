"""A scrolling list of prepared lines with a cursor, used by the picker, the sort menu, the doctor and the help."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from turbotui.dataclass import dataclass
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment, shortened
from turbotui.widgets.styled_scroll import StyledScroll


@dataclass(frozen=True, slots=True)
class Item:
    """One line; `key` is empty for headings, which the cursor skips."""

    segments: tuple[TextSegment, ...]
    key: str = ""


class Listing(StyledScroll):
    """Lines of text of which those with a key can be chosen."""

    class Moved(Message):
        """The cursor moved to another item."""

    class Resized(Message):
        """The width of the list changed, so that wrapped lines have to be wrapped again."""

    class Chosen(Message):
        """An item was clicked."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.items: tuple[Item, ...] = ()
        self.at = -1

    @property
    def key(self) -> str:
        """The key of the item under the cursor, "" if there is none."""
        return self.items[self.at].key if 0 <= self.at < len(self.items) else ""

    @property
    def text(self) -> str:
        """The drawn text, without colours."""
        return "\n".join("".join(text for text, _ in item.segments) for item in self.items)

    def show(self, items: Sequence[Item]) -> None:
        """Show these lines; the cursor stays on its key."""
        key = self.key
        self.items = tuple(items)
        places = [at for at, item in enumerate(self.items) if item.key]
        same = next((at for at in places if key and self.items[at].key == key), None)
        self.at = same if same is not None else places[0] if places else -1
        self.hold(Size(self.size.width, len(self.items)))
        self.refresh()
        self._reveal()
        self.post_message(self.Moved())

    def select(self, key: str) -> None:
        """Put the cursor on a key."""
        for at, item in enumerate(self.items):
            if item.key == key:
                self._go(at)

    def move(self, by: int) -> None:
        """Move the cursor by items; without selectable items, scroll."""
        places = [at for at, item in enumerate(self.items) if item.key]
        if not places:
            self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)
            return
        here = places.index(self.at) if self.at in places else 0
        self._go(places[max(0, min(len(places) - 1, here + by))])

    def _go(self, at: int) -> None:
        self.at = at
        self._reveal()
        self.refresh()
        self.post_message(self.Moved())

    def _reveal(self) -> None:
        if self.at >= 0:
            heading = self.at and not self.items[self.at - 1].key
            self.reveal(self.at - 1 if heading else self.at, self.at)

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        at = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if at >= len(self.items):
            return self._palette.strip((), width)
        return self._palette.strip(shortened(self.items[at].segments, width), width,
                                   StyleRole.CURSOR if at == self.at else StyleRole.PLAIN)

    def on_resize(self) -> None:
        """Keep the cursor visible."""
        self.hold(Size(self.size.width, len(self.items)))
        self._reveal()
        self.post_message(self.Resized())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked line, and post `Chosen`."""
        if (at := event.y + self.scroll_offset.y) < len(self.items) and self.items[at].key:
            self._go(at)
            self.post_message(self.Chosen())
