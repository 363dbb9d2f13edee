"""`X`: command lines for the row under the cursor, which are copied and never run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from turbotui.app.base import WatchScreen
from turbotui.app.copying import copy_text
from turbotui.app.list_window import MenuWindow
from turbotui.app.watch import Watch
from turbotui.machine.host import HostKind
from turbotui.quantities.moments import time_of_day
from turbotui.remote.session import RemoteHost
from turbotui.untrusted import guarded, one_line
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.command_lines import CommandLine
from turbotui.widgets.listing import Item, Listing


class CommandLinesWindow(MenuWindow[str]):
    """The window with command lines for a row; it returns the copied line, or None.

    Args:
        who: the row, for the title.
        origin: another machine or moment that the row is of; "" for this machine now.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y,space", "choose", "copy"),
                                             Binding("X", "close", "close", show=False)]

    DEFAULT_CSS = """
    CommandLinesWindow > .window { height: 90%; }
    CommandLinesWindow #about { color: $foreground; border-top: solid $tui-rule; padding: 0; height: 3; }
    """

    hint = "y Enter copy · turbotui runs nothing · Esc close"

    def __init__(self, who: str, lines: Sequence[CommandLine], origin: str = "") -> None:
        super().__init__()
        self.heading = f"you may run, for {one_line(who)}{f' ({origin})' if origin else ''}"
        self._lines = {str(at): line for at, line in enumerate(lines)}

    def parts(self) -> Iterable[Widget]:
        """The lines, followed by the effect of the line under the cursor."""
        return Listing(), Static("", id="about", markup=False)

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
        """Show the effect of the line under the cursor."""
        line = self._lines.get(self.query_one(Listing).key)
        self.query_one("#about", Static).update("" if line is None else line.meaning)

    def action_choose(self) -> None:
        """Close and copy the line under the cursor."""
        if (line := self._lines.get(self.query_one(Listing).key)) is not None:
            self.dismiss(line.words)


def show_command_lines(screen: WatchScreen, who: str, lines: Sequence[CommandLine]) -> None:
    """Let the user choose a command line, copy it, and say what was copied."""
    watch = screen.watch_state
    origin = ", ".join(filter(None, (other_machine(watch), past_moment(watch))))

    def chosen(words: str | None) -> None:
        if words is not None:
            words = f"# {origin}: {words}" if origin else words
            screen.notice(copy_text(screen.app, words, words))

    screen.app.push_screen(CommandLinesWindow(who, lines, origin), chosen)


def other_machine(watch: Watch) -> str:
    """Return where a task runs if this machine's shell cannot act on it; "" for a task of this machine.

    The number of a simulated, recorded or distant process may be that of another one here, so that its command lines
    are copied as comments. A collector is distant whatever name it sends, because the name may be chosen to mislead.
    """
    host = watch.session.machine.host
    if host.kind is not HostKind.REAL:
        return f"{host.kind.value} machine {host.name}"
    return f"on {host.name}" if isinstance(host, RemoteHost) else ""


def past_moment(watch: Watch) -> str:
    """Return a warning that the picture is not of now: another process may have the same number by now; "" if it is.

    A paused picture is of now until a newer frame has come.
    """
    frame = watch.frame
    if frame is None or not watch.held:
        return ""
    moment = time_of_day(frame.newer.wall_ns)
    if watch.in_past:
        return f"PAST: {moment}"
    return f"PAUSED: {moment}" if watch.times and watch.times[-1].end > frame.newer.wall_ns else ""
