"""Options of commands with a screen, and the check whether the terminal can show one."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from turbotui.errors import TerminalError
from turbotui.repertoire import ASCII, Abilities, abilities_of, initial_environment


def add_screen_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for drawing the screen."""
    parser.add_argument("--theme", metavar="NAME", help="colours: calm, contrast, light, or ansi for 16 colours")
    parser.add_argument("--ascii", action="store_true",
                        help="draw with ASCII alone, as where the locale or the terminal has nothing else")


def screen_abilities(*, ascii_alone: bool, instead: str = "") -> Abilities:
    """The characters and colours that the terminal can show.

    Args:
        instead: what to do without a terminal, as the end of the sentence.

    Raises:
        TerminalError: stdin, stdout or stderr (where Textual draws) is not a terminal, or it cannot move its cursor.
    """
    streams = {"stdin": sys.stdin, "stdout": sys.stdout, "stderr": sys.__stderr__ or sys.stdout}
    others = [name for name, stream in streams.items() if not stream.isatty()]
    if others:
        none = "none of stdin, stdout and stderr is one" if len(others) == len(streams) else (
            f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} none")
        raise TerminalError(f"the dashboard needs a terminal, and {none}{instead}")
    environment = initial_environment()
    if environment.get("TERM") == "dumb":
        raise TerminalError("the dashboard needs a terminal that can move its cursor, and this one cannot, by "
                            f"TERM=dumb{instead}")
    abilities = abilities_of(environment)
    return replace(abilities, encoding=ASCII) if ascii_alone else abilities
