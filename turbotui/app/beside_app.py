"""The application's handling of a command beside it: its end, its output, ways to leave."""

from __future__ import annotations

import signal
from functools import partial
from typing import TYPE_CHECKING

from textual.driver import Driver

from turbotui.app.frames import FramesApp
from turbotui.app.watch import Watch

if TYPE_CHECKING:  # most runs have no command
    from turbotui.app.beside import BesideCommand


class BesideApp(FramesApp):
    """Shows frames and knows the command that runs beside the dashboard, if there is one.

    Attributes:
        left_by: the signal that ended the program; 0 for none.
    """

    def __init__(self, watched: Watch, driver_class: type[Driver]) -> None:
        super().__init__(watched, driver_class)
        self.left_by = 0

    def request(self, what: str) -> None:
        """Request something from another thread or a signal handler."""
        raise NotImplementedError

    def set_beside(self, command: BesideCommand | None) -> None:
        """Run beside a command; called before the application runs."""
        self.watched.beside = self.watched.marked = command
        if command is not None:
            command.on_end = partial(self.request, "command ended")

    def request_leave(self, number: int) -> None:
        """Quit for a signal; may be called from any thread or a signal handler."""
        self.left_by = number
        self.request("quit")

    def leaves_with_command(self) -> bool:
        """Whether the program ends with the command, which has ended; if it stays, say so."""
        command = self.watched.beside
        if command is None or not command.stays:
            return True
        if self._base is not None:
            self._base.show_summary()
        self._say(f"The command has {command.state}: q leaves with its report")
        return False

    async def action_quit(self) -> None:
        """Leave with status 0; while a command runs beside, ask what is to happen to it."""
        command = self.watched.beside
        if command is None or command.over:
            self.exit(0)
            return
        from turbotui.app.leave_window import LeaveWindow  # noqa: PLC0415 - most watch without a command

        self.push_screen(LeaveWindow(command), partial(self._leave, command))

    def _leave(self, command: BesideCommand, choice: str | None) -> None:
        from turbotui.app.leave_window import LEAVE, SIGNALS  # noqa: PLC0415 - as above

        if choice == LEAVE or (choice is not None and command.over):
            self.exit(0)
        elif choice is not None:
            command.send(SIGNALS[choice])
            self._say(f"{signal.Signals(SIGNALS[choice]).name} was sent: the report follows when the command has ended")

    def action_interrupt(self) -> None:
        """Leave with status 0 whatever is open; while a command runs beside, interrupt it as its terminal would."""
        command = self.watched.beside
        if command is None or command.over:
            self.exit(0)
            return
        command.send(signal.SIGINT)
        self._say("SIGINT was sent to the command: the report follows when it has ended (q: what else can be done)")

    def action_output(self) -> None:
        """Show the command's output."""
        command = self.watched.beside
        if command is None:
            self._say("No command runs beside the dashboard: turbotui -- COMMAND starts one")
            return
        from turbotui.app.output_window import OutputWindow  # noqa: PLC0415 - as above

        self.push_screen(OutputWindow(command))

    def stop_beside(self) -> None:
        """Stop the command together with the program."""
        if self.watched.beside is not None:
            self.watched.beside.pause(True)

    def go_on_beside(self) -> None:
        """Continue the command together with the program."""
        if self.watched.beside is not None:
            self.watched.beside.pause(False)
