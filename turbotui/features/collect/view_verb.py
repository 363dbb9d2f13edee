"""`turbotui view -`: the dashboard of the output of turbotui collect in a pipe."""

from __future__ import annotations

import argparse
import os
import sys

from turbotui.commands.screens import add_screen_arguments, screen_abilities
from turbotui.errors import TerminalError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("stream", metavar="-", nargs="?", default="-",
                        help="stdin: ssh node turbotui collect | turbotui view -")
    add_screen_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the dashboard until the user quits; an ended stream stays visible.

    Raises:
        UsageError: the argument is not "-", or stdin is no pipe.
        TerminalError: there is no terminal.
        LinkError: no reading arrived.
        RecordingError: the collector is of a later version.
        InternalError: turbotui itself failed; the terminal is restored first.
    """
    if arguments.stream != "-":
        raise UsageError(f"view shows the stream on stdin: turbotui view -; for the file {arguments.stream} "
                         "there is turbotui replay")
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("stdin is a terminal: turbotui collect | turbotui view -")
    from turbotui.app.remote import show_remote  # noqa: PLC0415 - --help stays fast
    from turbotui.remote.links import PipeConnector  # noqa: PLC0415 - as above

    way = PipeConnector(_keyboard_for_stdin())
    return show_remote(way, screen_abilities(ascii_alone=arguments.ascii), theme=arguments.theme)


def _keyboard_for_stdin() -> int:
    """Replace stdin by the terminal's keyboard.

    Returns:
        A new descriptor of the former stdin.

    Raises:
        TerminalError: this process has no terminal.
    """
    try:
        keyboard = os.open("/dev/tty", os.O_RDONLY)
    except OSError as error:
        raise TerminalError("the dashboard needs a terminal for its keys, and this process has none") from error
    stream = os.dup(0)
    os.dup2(keyboard, 0)
    os.close(keyboard)
    return stream
