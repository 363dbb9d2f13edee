"""`c` followed by a letter: show or hide a category of columns."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult

from turbotui.app.actions import CATEGORY_KEYS
from turbotui.app.modal import Window
from turbotui.app.watch import Watch
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines


class CategoryKeys(Window[str]):
    """A window that waits for one letter; it returns a sentence, "" to open the picker, or None for nothing."""

    DEFAULT_CSS = """
    CategoryKeys { align: left bottom; background: transparent; }
    CategoryKeys > SegmentLines { width: 100%; }
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch

    def compose(self) -> ComposeResult:
        """Lay out the list of letters."""
        yield SegmentLines(base=StyleRole.CURSOR)

    def on_mount(self) -> None:
        """Show the letters."""
        segments: list[TextSegment] = [(" ", StyleRole.PLAIN)]
        hot: list[ClickableSegment] = []
        at = 1
        gap = 2 if self.app.size.width >= 100 else 1  # all of them fit into 80 characters
        for letter, word, _ in (*CATEGORY_KEYS, ("c", "picker", ())):
            segments += [(letter, StyleRole.KEY), (f" {word}" + " " * gap, StyleRole.PLAIN)]
            hot.append(ClickableSegment(0, at, at + len(word) + 2, f"screen.category('{letter}')"))
            at += len(word) + 2 + gap
        self.query_one(SegmentLines).show([segments], hot)

    def on_key(self, event: events.Key) -> None:
        """Take the letter; any other key closes."""
        event.stop()
        event.prevent_default()
        self.action_category(event.character or "")

    def action_category(self, letter: str) -> None:
        """Toggle the category of a letter."""
        if letter == "c":
            self.dismiss("")
            return
        for key, word, names in CATEGORY_KEYS:
            if key != letter:
                continue
            count, shown = self._watch.toggle_group(names)
            if count:
                noun = "column" if count == 1 else "columns"
                self.dismiss(f"{word}: {count} {noun} {'shown' if shown else 'hidden'}")
            else:
                self.dismiss(f"{word}: this machine offers no such column; C lists them all with the reasons")
            return
        self.dismiss(None)
