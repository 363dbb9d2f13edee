"""O: the output of the command beside the dashboard, following its end."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.app.beside import BesideCommand
from turbotui.app.modal import Window
from turbotui.untrusted import guarded

_MOST = 1000
"""Maximum number of lines, because a command may write millions."""


class OutputWindow(Window[None]):
    """The window with a command's last lines, which stays in place once the user scrolls back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("O", "close", "close", show=False)]

    DEFAULT_CSS = """
    OutputWindow > .window { width: 96%; max-width: 100%; height: 90%; }
    """

    def __init__(self, command: BesideCommand) -> None:
        super().__init__()
        self._command = command
        self._shown: list[str] | None = None

    def compose(self) -> ComposeResult:
        """One text that scrolls."""
        with VerticalScroll(classes="window", can_focus=True) as window:
            window.border_subtitle = "↑↓ PgUp PgDn scroll · Esc close"
            yield Static("", id="text", markup=False)

    def on_mount(self) -> None:
        """Show the newest lines."""
        self.show_frame()
        self.call_after_refresh(self._to_the_end)

    def show_frame(self) -> None:
        """Show the lines since the last frame."""
        window = self.query_one(".window", VerticalScroll)
        window.border_title = f"{self._command.title} · {self._command.state}".replace("[", "\\[")
        lines = self._command.lines(_MOST)
        if lines == self._shown:
            return
        at_end = window.scroll_offset.y >= window.max_scroll_y
        self._shown = lines
        self.query_one("#text", Static).update(guarded("\n".join(lines)) or "nothing was written yet")
        if at_end:
            self.call_after_refresh(self._to_the_end)

    def _to_the_end(self) -> None:
        self.query_one(".window", VerticalScroll).scroll_end(animate=False)
