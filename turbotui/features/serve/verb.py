"""`turbotui serve`: shows the dashboard in a browser, by default to this machine only."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from turbotui.commands.addresses import parse_address
from turbotui.errors import UsageError
from turbotui.machine.own_program import needing_packages

_ADDRESS: Final = "127.0.0.1:8000"
_NEEDED: Final = {"textual_serve": "textual-serve", "aiohttp": "aiohttp"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = ("Words after -- are options of the dashboard: turbotui serve -- --screen tasks -i 2. Whoever "
                     "opens the printed address sees the dashboard, and acts in it as this user.")
    parser.add_argument("--listen", metavar="ADDRESS:PORT", default=_ADDRESS,
                        help=f"where to wait for browsers (default {_ADDRESS}; port 0: any that is free)")
    parser.add_argument("--allow-remote", action="store_true",
                        help="let --listen name an address that other machines can reach; nothing is encrypted: ssh -L "
                        "to the loopback address is better")


def run(arguments: argparse.Namespace) -> int:
    """Serve until a signal.

    Raises:
        UsageError: the address is invalid, or reachable by others without --allow-remote, or options are invalid.
        TurbotuiError: textual-serve is not installed, or the address cannot be used.
    """
    address, port = parse_address(arguments.listen)
    if not address.is_loopback and not arguments.allow_remote:
        raise UsageError(f"other machines can reach {address}: give --allow-remote too, or listen at 127.0.0.1 and let "
                         "them come by ssh -L")
    options = check_options(arguments.command)
    with needing_packages("turbotui serve", _NEEDED, "textual-serve"):
        from turbotui.features.serve.server import serve  # noqa: PLC0415 - textual-serve is not there with every turbotui
    if not address.is_loopback:
        print(f"turbotui: everybody who reaches {address} and learns the address below sees this machine, and what is "
              "sent is not encrypted", file=sys.stderr)
    return serve(str(address), port, options)


def check_options(words: list[str]) -> list[str]:
    """Check the options of the dashboard.

    Raises:
        UsageError: the words name another verb, or a command, which every tab would run again.
    """
    if words and not words[0].startswith("-"):
        raise UsageError(f'serve shows the dashboard, and "{words[0]}" is none of its options')
    if "--" in words:
        raise UsageError("a command would be run anew for every tab: run turbotui -- COMMAND in a terminal")
    return words
