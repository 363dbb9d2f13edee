"""The dashboard's view of a command beside it (`turbotui -- COMMAND`): its line, its output, ways to leave."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, Protocol

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from turbotui.app.list_window import MenuWindow
from turbotui.app.modal import Window
from turbotui.cell_widths import cell_count, cut, flush_left
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.untrusted import guarded, in_cell
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.painter import TextSegment


class BesideCommand(Protocol):
    """A command that runs beside the dashboard until it ends or is detached."""

    stays: bool
    """Whether the screen stays when the command has ended."""
    columns: tuple[CounterColumn, ...]
    """What is read from its first instruction to its end, on every screen."""

    on_end: Callable[[], None]
    """Called on any thread once the command has ended and the last reading is there."""

    @property
    def title(self) -> str:
        """The words of the command on one line."""

    @property
    def over(self) -> bool:
        """Whether the command has ended."""

    @property
    def state(self) -> str:
        """The process, whether it runs or how it ended, and its run time."""

    def lines(self, most: int) -> list[str]:
        """The last lines of its output, up to a number."""

    def take(self, frame: Frame) -> None:
        """Keep what the report needs of a frame; called on the sampler's thread."""

    def send(self, number: int) -> None:
        """Send a signal to every process that it started."""

    def pause(self, stopped: bool) -> None:
        """Stop the command, as Ctrl+Z stops the dashboard, or let it continue."""


def beside_line(command: BesideCommand, width: int, key: str) -> list[TextSegment]:
    """The line on top: the command, its state, and its last line of output."""
    right = f" {key} output "
    state = f" · {command.state}"
    last = next((line.strip() for line in reversed(command.lines(3)) if line.strip()), "")
    free = max(4, width - len(state) - len(right))
    title = f" {'■' if command.over else '▶'} {command.title}"
    title = cut(title, free // 2 if last else free)
    room = max(0, free - cell_count(title))
    last_line = cut(f"   {in_cell(last)}", room) if last else ""
    role = StyleRole.AMBER if command.over else StyleRole.KEY
    return [(title, role), (state, StyleRole.SUMMARY), (flush_left(last_line, room), StyleRole.DIM),
            (right, StyleRole.DIM)]


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
        self.entitle(f"{self._command.title} · {self._command.state}")

    def action_choose(self) -> None:
        """Return the choice under the cursor."""
        self.dismiss(self.query_one(Listing).key)


_MOST = 1000
"""Maximum number of lines, because a command may write millions."""


class OutputWindow(Window[None]):
    """The window with a command's last lines, which stays in place once the user scrolls back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("O", "close", "close", show=False)]

    DEFAULT_CSS = "OutputWindow > .window { width: 96%; max-width: 100%; height: 90%; }"

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
        self.entitle(f"{self._command.title} · {self._command.state}")
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
