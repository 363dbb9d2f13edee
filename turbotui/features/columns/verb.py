"""`turbotui columns`: every column of the catalog, and whether this machine has it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.cell_widths import cell_count, flush_left
from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments
from turbotui.commands.formats import add_format_arguments, marked, print_tables
from turbotui.commands.sessions import open_host
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.set_files import known_sets
from turbotui.machine.machine import read_machine
from turbotui.quantities.catalog import STATIC_COLUMNS, catalog_for
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.event_columns import joined_metrics
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.signal_words import legend
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.tables.envelope import envelope_now
from turbotui.tables.formats import TEXT

BEGIN, END = "<!-- columns: begin (turbotui columns --markdown) -->", "<!-- columns: end -->"


def glossary_lines() -> Iterator[str]:
    """Format a table of every column, each id once, in print order."""
    yield "| column | scope | unit | what it says | formula |"
    yield "|---|---|---|---|---|"
    seen: set[str] = set()
    formulas = ""
    for column in STATIC_COLUMNS:
        if column.id in seen:
            continue
        seen.add(column.id)
        mark = "" if column.default else " ¹"
        cells = (f"`{column.id}`{mark}", column.scope.value, column.unit, column.help, formula_of(column))
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        formulas += cells[-1]
    yield ""
    yield from (f"- {line}." for line in legend(formulas))


@dataclass(frozen=True, slots=True)
class _Listed:
    """A column of the catalog, and why it is not available; None if it is."""

    column: CounterColumn
    capabilities: Capabilities
    absent: Unavailable | None

    def sources(self) -> str:
        signals = self.capabilities.signals
        return "; ".join(f"{name}: {self.capabilities.provider[name].id}, {signals[name].origin}"
                         for name in (*self.column.needs, *self.column.wants) if name in signals)


COLUMNS: Final[tuple[Column[_Listed], ...]] = (
    Column("id", "", -1, (), lambda row: row.column.id, help="name of the column", identity=True),
    Column("available", "", -1, (), lambda row: "no" if row.absent else "yes",
           help="whether this machine has the column"),
    Column("category", "", -1, (), lambda row: row.column.category.value,
           help="heading under which the picker lists the column"),
    Column("groups", "", -1, (), lambda row: " ".join(row.column.groups),
           help="words by which --show and --hide select the column"),
    Column("scope", "", -1, (), lambda row: row.column.scope.value, help="the level of the topology that it describes"),
    Column("unit", "", -1, (), lambda row: row.column.unit, help="unit of its values"),
    Column("formula", "", -1, (), lambda row: formula_of(row.column), help="formula of its values"),
    Column("help", "", -1, (), lambda row: row.column.help, help="meaning of the column"),
    Column("document", "", -1, (), lambda row: row.column.document, help="document that defines the column"),
    Column("sources", "", -1, (), _Listed.sources, help="source of each of its signals"),
    Column("reason", "", -1, (), lambda row: "" if row.absent is None else row.absent.sentence(),
           help="reason for which this machine lacks the column"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-a", "--add", metavar="SPEC", action="append", default=[],
                        help="also list this column, given as for turbotui stat --add: an event, a formula, set:NAME")
    parser.add_argument("--events", metavar="FILE", default="", help="with the event sets of this TOML file")
    add_event_tables_argument(parser)
    add_format_arguments(parser)
    parser.add_argument("--markdown", action="store_true",
                        help="print docs/columns.md: all columns, whatever the machine")


def run(arguments: argparse.Namespace) -> int:
    """List the columns.

    Raises:
        UsageError: --markdown, and an option that would change nothing.
    """
    if arguments.markdown:
        if arguments.format != TEXT or arguments.add or arguments.machine is not None:
            raise UsageError("--markdown prints docs/columns.md, whatever the machine: leave --format, --json, --add "
                             "and --machine out")
        print("\n".join(glossary_lines()))
        return 0
    # an invalid file is refused, even if none of its sets is requested
    sets = known_sets(os.environ, arguments.events) if arguments.add or arguments.events else {}
    machine = read_machine(open_host(arguments))
    capabilities = probe_sources(machine, SOURCES)
    catalog = catalog_for(capabilities.signals)
    if arguments.add:
        session = Session(machine, SOURCES, 1.0, machine.host)
        session.find_sets = lambda: sets
        for text in joined_metrics(arguments.add):
            session.add_all(text)
        capabilities, catalog = session.capabilities, session.catalog
    envelope = envelope_now(machine.host)
    listed = tuple(_Listed(column, capabilities, why_absent(column, capabilities, machine.topology))
                   for column in catalog.columns)
    table = RowTable("columns", "column", COLUMNS, listed)
    print_tables(arguments, envelope, (table,), lambda: marked(envelope, _text(listed)))
    return 0


def _text(listed: Sequence[_Listed]) -> Iterator[str]:
    width = max(cell_count(row.column.id) for row in listed)
    for row in listed:
        column = row.column
        mark = " " if row.absent is None else "-"
        name, scope, unit = flush_left(column.id, width), flush_left(column.scope.value, 8), flush_left(column.unit, 4)
        yield f"{mark} {name}  {scope} {unit} {formula_of(column)}"
        yield f"  {'':<{width}}  {column.help if row.absent is None else row.absent.sentence()}"
    lines = tuple(legend(" ".join(formula_of(row.column) for row in listed)))
    if lines:
        yield "In formulas:"
        yield from (f"  {line}" for line in lines)
