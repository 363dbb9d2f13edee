"""A window with a text that is computed again with every frame and laid out for its width."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.app.modal import Window
from turbotui.untrusted import guarded

_COPIED = 100
"""Width of a copied line."""


class TextWindow(Window[None]):
    """A window whose text is computed again for every frame: `tell` returns the title, and the lines for a width."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "close", "close", show=False)]
    KEYS: ClassVar[str] = "y copy · Esc close"
    """The text about keys on the frame."""

    def __init__(self, tell: Callable[[int], tuple[str, list[str]]]) -> None:
        super().__init__()
        self.tell = tell

    def compose(self) -> ComposeResult:
        """Lay out the text: the part before the first empty line, and the rest."""
        with VerticalScroll(classes="window", can_focus=True) as window:
            window.border_subtitle = self.KEYS
            yield Static("", id="text", markup=False)
            yield Static("", id="readings", markup=False)

    def copied(self) -> str:
        """The whole text, for the clipboard."""
        title, lines = self.tell(_COPIED)
        return guarded("\n".join([title, "", *lines]))

    def on_mount(self) -> None:
        """Show the text."""
        self.show_frame()

    def on_resize(self) -> None:
        """Lay the lines out again."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the newest numbers."""
        if not self.query("#readings"):  # opened a moment ago, and laid out soon: `on_mount` shows them
            return
        width = min(100, self.app.size.width * 9 // 10) - 6  # of the window, without frame, padding and scrollbar
        title, lines = self.tell(max(20, width))
        self.entitle(title)
        at = lines.index("") if "" in lines else len(lines)
        self.query_one("#text", Static).update(guarded("\n".join(lines[:at])))
        self.query_one("#readings", Static).update(guarded("\n".join(lines[at:])))
