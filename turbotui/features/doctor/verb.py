"""`turbotui doctor`: which sources and signals work on this machine, why others do not, and remedies."""

from __future__ import annotations

import argparse
import sys
import time
from typing import NoReturn

from rich.console import Console
from rich.table import Table
from rich.text import Text

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer
from turbotui.commands.recorded import add_replay_argument, open_replay
from turbotui.commands.sessions import open_host
from turbotui.features.doctor.model import Diagnosis, SourceReport, State, diagnose
from turbotui.features.doctor.tables import signal_table, source_table
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.perf_errors import OR
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sources import SOURCES
from turbotui.tables.envelope import Envelope

_STYLES = {State.READY: "green", State.PARTIAL: "yellow", State.ABSENT: "red"}
_MARKS = {State.READY: "✓", State.PARTIAL: "◐", State.ABSENT: "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_replay_argument(parser)
    add_format_arguments(parser, ("sources", "signals"))
    parser.add_argument("-v", "--verbose", action="store_true", help="list every signal of every source")


def run(arguments: argparse.Namespace) -> int:
    """Print the report, without changing anything on the machine."""
    if arguments.replay:
        with open_replay(arguments) as journal:
            return _tell(arguments, journal.machine, journal.capabilities, journal.header.wall_ns)
    machine = read_machine(open_host(arguments))
    return _tell(arguments, machine, probe_sources(machine, SOURCES), time.time_ns())


def _tell(arguments: argparse.Namespace, machine: Machine, capabilities: Capabilities, wall_ns: int) -> int:
    diagnosis = diagnose(machine, capabilities)
    writer = make_writer(arguments)
    if writer is not None:
        host = machine.host
        envelope = Envelope(host.name, host.kind, wall_ns, facts=dict(diagnosis.facts), notes=diagnosis.notes)
        writer.write(envelope, (source_table(diagnosis), signal_table(diagnosis)))
        writer.end()
        return 0
    # not a terminal: no colours and no line breaks, so that grep finds whole sentences
    console = _Console() if sys.stdout.isatty() else _Console(width=240, no_color=True, highlight=False)
    _print(console, diagnosis, verbose=arguments.verbose)
    return 0


class _Console(Console):
    """A console that leaves a closed pipe to the command line, as every other verb does; Rich ends with status 1."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error again."""
        raise BrokenPipeError


def _print(console: Console, diagnosis: Diagnosis, *, verbose: bool) -> None:
    if diagnosis.simulated:
        console.print(Text(f" {diagnosis.simulated}: nothing below is about the machine in front of you ",
                           style="black on yellow"))
    facts = Table.grid(padding=(0, 2))
    for what, value in diagnosis.facts:
        facts.add_row(Text(what, style="bold"), Text(value))
    console.print(facts)
    for note in diagnosis.notes:
        console.print(Text(f"note: {note}"))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("source", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("what it gives", max_width=34)
    table.add_column("why, and what to do", overflow="fold")
    for source in diagnosis.sources:
        state = Text(f"{_MARKS[source.state]} {source.state.value}", style=_STYLES[source.state])
        table.add_row(Text(source.title), state, Text(source.gives), _advice(source))
        if verbose:
            for signal in source.signals:
                text = signal.origin if signal.usable else f"{signal.reason}: {signal.detail}"
                other = " (read from another source)" if signal.usable and not signal.chosen else ""
                if signal.compared:
                    other = " (another source is read, and compared with this one)"
                table.add_row(Text(f"  {signal.id}", style="dim"), Text("✓" if signal.usable else "✗"), Text(""),
                              Text(text + other, style="dim"))
    console.print(table)
    _print_remedies(console, diagnosis)


def _print_remedies(console: Console, diagnosis: Diagnosis) -> None:
    """Print each remedy once and unbroken, because the table wraps long commands, which cannot be copied."""
    helped: dict[str, list[str]] = {}
    for source in diagnosis.sources:
        if source.remedy:
            helped.setdefault(source.remedy, []).append(source.title)
    if helped:
        console.print("\nTo have more (nothing of this was run):", style="bold")
    for remedy, titles in helped.items():
        console.print(Text(f"{', '.join(titles)}:"))
        for way in remedy.split(OR):
            console.print(Text(f"  {way}"), soft_wrap=True)


def _advice(source: SourceReport) -> Text:
    text = Text(source.detail)
    if source.remedy:
        first, *others = source.remedy.split(OR)
        text.append(f"\n→ {first}{'; other ways are below' if others else ''}", style="bold")
    return text
