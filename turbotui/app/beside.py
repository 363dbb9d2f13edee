"""The dashboard's view of a command that runs beside it (`turbotui -- COMMAND`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from turbotui.cell_widths import cell_count, cut, flush_left
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.untrusted import in_cell
from turbotui.widgets.cells import StyleRole
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
    said = cut(f"   {in_cell(last)}", room) if last else ""
    role = StyleRole.AMBER if command.over else StyleRole.KEY
    return [(title, role), (state, StyleRole.SUMMARY), (flush_left(said, room), StyleRole.DIM),
            (right, StyleRole.DIM)]
