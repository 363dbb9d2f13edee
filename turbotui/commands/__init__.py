"""One module a verb. `COMMANDS` is the one list; a module is imported only when its verb is used.

A command module has `add_arguments(parser)` and `run(arguments) -> exit status`; one that reads its words itself has
`main(words) -> exit status` instead.
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
        reads_words: whether the module has `main`.
    """

    name: str
    module: str
    summary: str
    reads_words: bool = False


COMMANDS = (
    Command("", "turbotui.commands.dashboard", "the interactive dashboard"),
    Command("stat", "turbotui.commands.stat", "turbostat's drop-in: the table as text, by intervals or over a command",
            reads_words=True),
    Command("doctor", "turbotui.commands.doctor", "which sources and signals work here, why not, and what to do"),
    Command("info", "turbotui.commands.info", "the machine's configuration: clocks, limits, idle states, power"),
    Command("roofs", "turbotui.commands.roofs", "what cores and caches can reach: the roofs of the roofline model"),
    Command("uncore", "turbotui.commands.uncore", "memory controllers, fabrics, links: every uncore PMU, by kind"),
    Command("roofline", "turbotui.commands.roofline", "where a command, or the machine, stands below the roofs, why"),
    Command("tasks", "turbotui.commands.tasks", "what each thread, process or command did, sampled at its switches"),
    Command("spy", "turbotui.commands.spy", "event sets on each CPU, changed while they are counted, joined"),
    Command("score", "turbotui.commands.score", "the ratio APERF/MPERF under load, and the score that it predicts"),
    Command("machines", "turbotui.commands.machines", "the simulated machines for --machine"),
    Command("columns", "turbotui.commands.columns", "every column: formula, source, and whether it can be had here"),
    Command("events", "turbotui.commands.events", "event strings to encodings, and what this machine can count"),
)
