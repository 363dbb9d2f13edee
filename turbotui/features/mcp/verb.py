"""`turbotui mcp`: answers an assistant's questions about this machine, by the Model Context Protocol."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from turbotui.errors import UsageError
from turbotui.machine.own_program import needing_packages
from turbotui.recording.kept_runs import RecordedRun, run_facts

_NEEDED: Final = {"mcp": "mcp", "mcp_types": "mcp", "anyio": "anyio"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = ("The program that asks starts this, writes to its stdin and reads its stdout. It can only look: "
                     "at this machine, and at the recordings named here. No question names a file, a command or an "
                     "event.")
    parser.add_argument("recordings", metavar="FILE", nargs="*", help="a recording that can be asked about, too")
    parser.add_argument("--machine", metavar="NAME", help="answer for a simulated machine (see turbotui machines) or a "
                        "FILE.tar.gz of turbotui gather, instead of this one")


def run(arguments: argparse.Namespace) -> int:
    """Answer until stdin ends.

    Raises:
        UsageError: two recordings have one name, or one cannot be read.
        TurbotuiError: the protocol's library is not installed.
    """
    recordings: dict[str, str] = {}
    for path in arguments.recordings:
        name = os.path.basename(path)
        if name in recordings:
            raise UsageError(f"two recordings are named {name}: give one of them another name")
        if why := run_facts(RecordedRun(name, path)).why:
            raise UsageError(why)
        recordings[name] = os.path.abspath(path)
    with needing_packages("turbotui mcp", _NEEDED, "mcp>=2"):
        from turbotui.features.mcp.server import serve  # noqa: PLC0415 - mcp is not there with every turbotui
    if sys.stdin.isatty():
        print("turbotui: waiting for questions on stdin, as a program writes them; Ctrl-D ends this", file=sys.stderr)
    return serve(["--machine", arguments.machine] if arguments.machine else [], recordings)
