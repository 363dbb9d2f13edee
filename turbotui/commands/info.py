"""`turbotui info`: the configuration of the machine, line by line, with the source of each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from turbotui.analysis.configuration import Section, configuration
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.watching import label, open_host
from turbotui.machine.machine import read_machine
from turbotui.output.envelope import envelope_now
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the configuration, with its section and its number in it from 1."""

    section: str
    number: int
    text: str
    source: str


COLUMNS: Final[tuple[Column[_Line], ...]] = (
    Column("section", "", -1, (), lambda line: line.section, help="what the line is about", identity=True),
    Column("line", "", 0, (), lambda line: line.number, help="number within the section", identity=True),
    Column("text", "", -1, (), lambda line: line.text, help="the line"),
    Column("source", "", -1, (), lambda line: line.source, help="where it was read"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_format_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="with the source of each line, and more of them")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    host = open_host(arguments)
    sections = configuration(read_machine(host), detailed=arguments.verbose)
    lines = tuple(_Line(section.title, number, line.text, line.origin)
                  for section in sections for number, line in enumerate(section.lines, 1))
    print_tables(arguments, envelope_now(host), (RowTable("configuration", "line", COLUMNS, lines),),
                 lambda: _text(sections, label(host), sources=arguments.verbose))
    return 0


def _text(sections: Sequence[Section], simulated: str, *, sources: bool) -> Iterator[str]:
    if simulated:
        yield f"# {simulated}: nothing below was read from hardware"
    for section in sections:
        yield f"{section.title}:"
        for line in section.lines:
            yield f"  {line.text}" + (f"  [{line.origin}]" if sources else "")
