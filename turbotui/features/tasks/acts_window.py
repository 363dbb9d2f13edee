"""X: command lines that a person may run for the task under the cursor. They are copied, and never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from turbotui.app.modal import Window
from turbotui.features.tasks.act_lines import ActLine
from turbotui.untrusted import guarded, one_line
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing


class ActsWindow(Window[str]):
    """Gives the line that was copied, None for none.

    Args:
        who: the task, for the title.
        lines: to choose from.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "move(-10)", "page up", show=False),
        Binding("pagedown", "move(10)", "page down", show=False),
        Binding("enter,y,space", "copy", "copy"),
        Binding("X", "close", "close", show=False),
    ]

    DEFAULT_CSS = """
    ActsWindow > .window { height: 90%; }
    ActsWindow #about { color: $foreground; border-top: solid $tui-rule; padding: 0; height: 3; }
    """

    def __init__(self, who: str, lines: Sequence[ActLine]) -> None:
        super().__init__()
        self._who = who
        self._lines = {str(at): line for at, line in enumerate(lines)}

    def compose(self) -> ComposeResult:
        """The lines, and below them what the one under the cursor does."""
        with Vertical(classes="window") as window:
            window.border_title = f"you may run, for {one_line(self._who)}".replace("[", "\\[")
            window.border_subtitle = "y Enter copy · turbotui runs nothing · Esc close"
            yield Listing()
            yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        """Fill the list."""
        items: list[Item] = []
        heading = ""
        for key, line in self._lines.items():
            if line.heading != heading:
                heading = line.heading
                items.append(Item(((f" {heading}", StyleRole.TITLE),)))
            items.append(Item(((f"   {guarded(line.words)}", StyleRole.PLAIN),), key))
        self.query_one(Listing).show(items)

    def on_listing_moved(self) -> None:
        """Say what the line under the cursor does."""
        line = self._lines.get(self.query_one(Listing).key)
        self.query_one("#about", Static).update("" if line is None else line.meaning)

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self.query_one(Listing).move(by)

    def action_copy(self) -> None:
        """Copy the line under the cursor, and close."""
        line = self._lines.get(self.query_one(Listing).key)
        if line is not None:
            self.app.copy_to_clipboard(line.words)
            self.dismiss(line.words)

    def on_listing_chosen(self) -> None:
        """Copy the clicked line."""
        self.action_copy()
