"""e on the tasks screen: every number of one row, how it was sampled, and what cannot be had and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.screens.modal import Window


class ExplainTask(Window[None]):
    """Explains a row, and goes on explaining it while samples come.

    Args:
        tell: gives the title and the lines for a width.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "close", "close", show=False)]

    def __init__(self, tell: Callable[[int], tuple[str, list[str]]]) -> None:
        super().__init__()
        self._tell = tell

    def compose(self) -> ComposeResult:
        """The text in a window."""
        with VerticalScroll(classes="window", can_focus=True) as window:
            window.border_subtitle = "Esc close"
            yield Static("", id="text", markup=False)

    def on_mount(self) -> None:
        """Show it."""
        self.show_frame()

    def on_resize(self) -> None:
        """Lay the lines out anew."""
        self.show_frame()

    def show_frame(self) -> None:
        """Show the newest numbers."""
        width = min(100, self.app.size.width * 9 // 10) - 6  # of the window, without frame, padding and scrollbar
        title, lines = self._tell(max(20, width))
        self.query_one(".window", VerticalScroll).border_title = title.replace("[", "\\[")
        self.query_one("#text", Static).update("\n".join(lines))
