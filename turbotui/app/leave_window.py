"""q while a command runs beside the dashboard: choose what happens to the command."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Final

from textual.containers import Vertical

from turbotui.app.beside import BesideCommand
from turbotui.app.list_window import MenuWindow
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

LEAVE: Final = "leave"
"""The choice that closes the screen while the command continues in the terminal's foreground."""
SIGNALS: Final[Mapping[str, int]] = {"interrupt": signal.SIGINT, "end": signal.SIGTERM, "kill": signal.SIGKILL}
"""The choices that send the command a signal; the screen closes when the command has ended."""
_CHOICES: Final = (
    ("interrupt", "Interrupt it (SIGINT), as Ctrl+C does; the report follows when it has ended"),
    ("end", "End it (SIGTERM)"),
    ("kill", "Kill it (SIGKILL)"),
    (LEAVE, "Close the screen: it goes on here with its output, and the report follows at its end"),
)


class LeaveWindow(MenuWindow[str]):
    """The window with the ways to leave; it returns the chosen one, or None to continue as before."""

    hint = "Enter choose · Esc go on"

    def __init__(self, command: BesideCommand) -> None:
        super().__init__()
        self._command = command

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one(Listing).show([Item(((f" {text}", StyleRole.PLAIN),), key) for key, text in _CHOICES])
        self.show_frame()

    def show_frame(self) -> None:
        """Update how long the command has run."""
        title = f"{self._command.title} · {self._command.state}"
        self.query_one(".window", Vertical).border_title = title.replace("[", "\\[")

    def action_choose(self) -> None:
        """Return the choice under the cursor."""
        self.dismiss(self.query_one(Listing).key)
