"""`turbotui columns`: every column of the catalog, and whether it can be had on this machine."""

from __future__ import annotations

import argparse
import os
import sys

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.watching import label, open_host
from turbotui.machine.events.set_files import known_sets
from turbotui.machine.machine import read_machine
from turbotui.output.glossary import glossary_lines
from turbotui.quantities.catalog import STATIC_COLUMNS, catalog_for
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.census import Census, take_census
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.untrusted import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-a", "--add", metavar="SPEC", action="append", default=[],
                        help="with a column as turbotui stat --add takes it: an event, a formula, set:NAME")
    parser.add_argument("--events", metavar="FILE", default="", help="with the event sets of this TOML file")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--markdown", action="store_true", help="the glossary of README.md: all columns, any machine")


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    if arguments.markdown:
        print("\n".join(glossary_lines(STATIC_COLUMNS)))
        return 0
    # a file that cannot be used is refused, whether a set of it is asked for or not
    sets = known_sets(os.environ, arguments.events) if arguments.add or arguments.events else {}
    machine = read_machine(open_host(arguments))
    census = take_census(machine, SOURCES)
    catalog = catalog_for(census.signals)
    if arguments.add:
        session = Session(machine, SOURCES, 1.0, machine.host)
        session.find_sets = lambda: sets
        for text in arguments.add:
            session.add_all(text)
        census, catalog = session.census, session.catalog
    if arguments.json:
        rows = [_row(column, census, why_absent(column, census, machine.topology)) for column in catalog.columns]
        report = {"machine": machine.host.name, "kind": machine.host.kind.value, "columns": rows}
        sys.stdout.write(json_text(report, indent=1))
        print()
        return 0
    if simulated := label(machine.host):
        print(f"# {simulated}")
    width = max(len(column.id) for column in catalog.columns)
    for column in catalog.columns:
        absent = why_absent(column, census, machine.topology)
        mark = " " if absent is None else "-"
        print(f"{mark} {column.id:<{width}}  {column.scope.value:<8} {column.unit:<4} {formula_of(column)}")
        print(f"  {'':<{width}}  {column.help}" if absent is None else f"  {'':<{width}}  {absent.sentence()}")
    return 0


def _row(column: CounterColumn, census: Census, absent: Unavailable | None) -> dict[str, object]:
    return {
        "id": column.id,
        "category": column.category.value,
        "groups": list(column.groups),
        "scope": column.scope.value,
        "unit": column.unit,
        "formula": formula_of(column),
        "help": column.help,
        "document": column.document,
        "sources": {
            name: {"source": census.provider[name].id, "origin": census.signals[name].origin}
            for name in (*column.needs, *column.wants)
            if name in census.signals
        },
        "available": absent is None,
        "reason": None if absent is None else absent.sentence(),
    }
