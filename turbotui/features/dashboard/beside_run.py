"""`turbotui -- COMMAND`: the dashboard while the command runs, then its output and the report on the usual screen."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.commands.formats import terminal_room
from turbotui.errors import InternalError, signal_status
from turbotui.features.dashboard.beside import CommandBeside
from turbotui.machine.command_output import CommandOutput, text_lines
from turbotui.machine.identity import after_root
from turbotui.machine.launching import NotRunError
from turbotui.machine.observing import observe
from turbotui.machine.region_pipes import RegionPipe
from turbotui.machine.signal_guard import guarded_signals
from turbotui.opening.waiting import UserLeftError

if TYPE_CHECKING:
    from turbotui.sampling.session import Session

_NOT_FOUND: Final = 127
_NOT_EXECUTABLE: Final = 126
"""A shell's exit statuses for commands that cannot be run (POSIX.1-2024, Shell Command Language, 2.8.2)."""
_LOOK: Final = 0.1  # seconds between two polls of the output of a command whose screen was closed
_HANDED_ON: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2)


def run_beside(words: Sequence[str], show: Callable[[CommandBeside], object], *, stays: bool,
               prepare: Callable[[], None] | None) -> int:
    """Run a command with the dashboard beside it, and report on it.

    Args:
        stays: whether the dashboard stays when the command has ended.
        prepare: called in the command's process before it waits.

    Returns:
        The exit status of the command; 128 and the signal's number if a signal ended it, or ended the dashboard before
        it; 127 if there is no such command, 126 if it cannot be run.

    Raises:
        TurbotuiError: the dashboard failed; the command has ended then.
    """
    output = CommandOutput()

    def prepared() -> None:
        pipe.announce()
        if prepare is not None:
            if os.geteuid() == 0:
                pipe.give_to(*after_root(os.environ))
            prepare()

    try:
        with RegionPipe() as pipe, observe(words, output=output.write_end, prepare=prepared, apart=True) as seen:
            output.start()
            beside = CommandBeside(seen, output, tuple(words), stays=stays, pipe=pipe)
            failure: InternalError | None = None
            try:
                show(beside)
            except UserLeftError as left:
                print(f"turbotui: {beside.title} was not run: you left before its counters were open", file=sys.stderr)
                return left.exit_status or 1
            except NotRunError as error:
                print(f"turbotui: {error}", file=sys.stderr)
                return _NOT_FOUND if error.number == errno.ENOENT else _NOT_EXECUTABLE
            except InternalError as error:
                failure = error
            try:
                status = _ended(beside)
            finally:
                if beside.regions is not None:
                    beside.regions.stop()  # before the FIFO of its marks is closed
            if failure is not None:
                raise failure
            return status
    finally:
        output.close()


def _ended(beside: CommandBeside) -> int:
    """Print the command's output, wait for its end unless a signal ended the dashboard, and report."""
    if not beside.has_terminal:
        beside.left_by = beside.left_by or signal.SIGHUP  # as the kernel would have sent it
    if beside.left_by:
        beside.end(beside.left_by)
    if not beside.has_terminal:
        return signal_status(beside.left_by)
    _write(beside)
    if not beside.left_by:
        _go_on(beside)
    if beside.session is not None:
        beside.session.stop()
        print("\n".join(("", *report_of(beside, beside.session, terminal_room()))), flush=True)
    status = beside.status
    if status is None:
        print(f"turbotui: {beside.title} goes on: it did not end by {signal.Signals(beside.left_by).name}, and nobody "
              "reads its output any more", file=sys.stderr)
        return signal_status(beside.left_by)
    return status


def report_of(beside: CommandBeside, session: Session, room: int | None) -> list[str]:
    """Format the report, importing its tables only now."""
    from turbotui.features.dashboard.beside_report import report_lines  # noqa: PLC0415 - the first frame does without

    return list(report_lines(beside, session, room))


def _go_on(beside: CommandBeside) -> None:
    """Stand between terminal and command until the command ends: pass on its output, and signals to it."""
    calls = dict.fromkeys(_HANDED_ON, beside.send)
    with guarded_signals({**calls, signal.SIGTSTP: lambda _number: _stop(beside)}):
        while not beside.wait(_LOOK):
            _write(beside)
    _write(beside)


def _stop(beside: CommandBeside) -> None:
    beside.pause(True)
    os.kill(os.getpid(), signal.SIGSTOP)
    beside.pause(False)


def _write(beside: CommandBeside) -> None:
    """Print new output, without escape sequences that do more than colour."""
    output = beside.output
    lost = output.lost
    data = output.take()
    if output.lost > lost:
        print(f"# {output.lost - lost:,} bytes of output are left out here: the newest are kept")
    if data:
        print("\n".join(text_lines(data, colours=True)), flush=True)
