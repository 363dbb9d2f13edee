"""--replay of verbs that tell of a machine at one moment: a recording instead of the machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from turbotui.errors import UsageError

if TYPE_CHECKING:  # few read a recording: its modules are loaded then
    from turbotui.recording import Journal


def add_replay_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --replay."""
    parser.add_argument("--replay", metavar="FILE", help="tell of a recording (turbotui record) instead of a machine")


def open_replay(arguments: argparse.Namespace) -> Journal:
    """The recording that --replay names.

    Raises:
        UsageError: another machine is named, too.
        RecordingError: it is none, or cannot be read.
    """
    if arguments.machine is not None or arguments.sysroot != "/":
        raise UsageError("--replay tells of the machine that was recorded: leave --machine and --sysroot out")
    from turbotui.recording import read  # noqa: PLC0415 - as above

    return read(arguments.replay)
