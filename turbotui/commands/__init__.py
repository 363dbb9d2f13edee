"""One module a verb. `COMMANDS` is the one list; a module is imported only when its verb is used.

A command module has `add_arguments(parser)` and `run(arguments) -> exit status`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line.

    Attributes:
        name: the word; "" is what runs without a word.
        module: where it is.
        summary: its line in --help.
    """

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("", "turbotui.commands.dashboard", "the interactive dashboard"),
    Command("stat", "turbotui.commands.stat", "the table as text, interval by interval, on any stdout"),
    Command("doctor", "turbotui.commands.doctor", "which sources and signals work here, why not, and what to do"),
    Command("machines", "turbotui.commands.machines", "the simulated machines for --machine"),
    Command("columns", "turbotui.commands.columns", "every column: formula, source, and whether it can be had here"),
)
