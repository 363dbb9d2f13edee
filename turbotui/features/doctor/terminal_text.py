"""The text of `turbotui doctor` on a terminal: coloured, and wrapped to its width."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from turbotui.features.doctor.model import Diagnosis, State
from turbotui.features.doctor.plain_text import MARKS, TO_HAVE_MORE, advice, remedies, signal_text
from turbotui.machine.perf_errors import OR

_STYLES = {State.READY: "green", State.PARTIAL: "yellow", State.ABSENT: "red"}


def print_report(diagnosis: Diagnosis, *, verbose: bool) -> None:
    """Print a diagnosis, with every signal if `verbose`."""
    console = Console()
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
        state = Text(f"{MARKS[source.state]} {source.state.value}", style=_STYLES[source.state])
        words = Text(source.detail)
        if source.remedy:
            words.append(f"\n{advice(source)}", style="bold")
        table.add_row(Text(source.title), state, Text(source.gives), words)
        if verbose:
            for signal in source.signals:
                table.add_row(Text(f"  {signal.id}", style="dim"), Text("✓" if signal.usable else "✗"), Text(""),
                              Text(signal_text(signal), style="dim"))
    console.print(table)
    # each remedy once and unbroken, because the table wraps long commands, which cannot be copied
    helped = remedies(diagnosis)
    if helped:
        console.print(f"\n{TO_HAVE_MORE}", style="bold")
    for remedy, titles in helped.items():
        console.print(Text(f"{', '.join(titles)}:"))
        for way in remedy.split(OR):
            console.print(Text(f"  {way}"), soft_wrap=True)
