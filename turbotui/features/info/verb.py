"""`turbotui info`: the configuration of the machine, line by line, with the source of each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.watching import label, open_host
from turbotui.features.info.model import Section, configuration
from turbotui.features.info.tables import configuration_table
from turbotui.machine.machine import read_machine
from turbotui.tables.envelope import envelope_now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_format_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="with the source of each line, and more of them")


def run(arguments: argparse.Namespace) -> int:
    """Print the configuration."""
    host = open_host(arguments)
    sections = configuration(read_machine(host), detailed=arguments.verbose)
    print_tables(arguments, envelope_now(host), (configuration_table(sections),),
                 lambda: _text(sections, label(host), sources=arguments.verbose))
    return 0


def _text(sections: Sequence[Section], simulated: str, *, sources: bool) -> Iterator[str]:
    if simulated:
        yield f"# {simulated}: nothing below was read from hardware"
    for section in sections:
        yield f"{section.title}:"
        for line in section.lines:
            yield f"  {line.text}" + (f"  [{line.origin}]" if sources else "")
