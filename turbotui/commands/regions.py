"""--regions: a FIFO made by the user, for marks of programs that turbotui does not start."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from turbotui.errors import UsageError
from turbotui.region_marks import VARIABLE

if TYPE_CHECKING:  # few runs name one
    from turbotui.machine.region_pipes import GivenPipe


def add_regions_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --regions."""
    parser.add_argument("--regions", metavar="FIFO",
                        help="count regions marked by programs that turbotui does not start: make a FIFO (mkfifo), "
                        f"and start them with {VARIABLE}=FIFO; a command after -- gets a FIFO of its own")


def open_given_pipe(arguments: argparse.Namespace) -> GivenPipe | None:
    """Open the FIFO that the command line names; None if it names none.

    Raises:
        UsageError: nothing that marks regions would be counted.
        MachineError: there is no such FIFO.
    """
    if arguments.regions is None:
        return None
    if getattr(arguments, "command", None):
        raise UsageError("a command after -- is given a FIFO of its own: leave --regions out")
    for option in ("machine", "replay", "host", "connect"):
        if getattr(arguments, option, None) is not None:
            raise UsageError(f"--regions counts programs that run on this machine: leave --{option} out")
    if getattr(arguments, "sysroot", "/") != "/":
        raise UsageError("--regions counts programs that run on this machine: leave --sysroot out")
    from turbotui.machine.region_pipes import GivenPipe  # noqa: PLC0415 - as above

    return GivenPipe(arguments.regions)
