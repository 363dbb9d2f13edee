"""`turbotui events sets`: the sets that --add set:NAME takes, and how this machine counts each of their columns."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from turbotui.commands.formats import marked, print_tables, text_lines
from turbotui.dataclass import dataclass
from turbotui.events.set_files import Alternative, EventSet, known_sets
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import Column, CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.sentences import yes_or_no
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.adding import ChosenColumn, named_set, open_set
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sampling.selection import why_absent
from turbotui.sources import SOURCES
from turbotui.tables.envelope import Envelope, envelope_now


@dataclass(frozen=True, slots=True)
class CountedColumn:
    """A column of a set on one machine."""

    set: EventSet
    chosen: ChosenColumn  # the alternative that was chosen, with the refused ones
    shown: CounterColumn  # the column that results
    absent: Unavailable | None  # why the column is unavailable; None if it is available

    @property
    def own(self) -> bool:
        """Whether the program has this column without the set."""
        return self.chosen.added is None

    @property
    def formula(self) -> str:
        """The formula by which the column is counted here; "" if it is not counted."""
        if self.own:
            return formula_of(self.shown)
        return "" if self.chosen.used is None else self.chosen.used.formula

    @property
    def document(self) -> str:
        """The document from which the column's formula is taken."""
        if self.own:
            return self.shown.document
        return "" if self.chosen.used is None else self.chosen.used.document

    @property
    def how(self) -> str:
        """The formula by which the column is counted here, or why it is not counted."""
        if self.absent is not None:
            return f"not here: {self.absent.sentence()}"
        return "a column that is there anyway" if self.own else self.formula


@dataclass(frozen=True, slots=True)
class Refused:
    """A way to count a column that this machine cannot take."""

    of: CountedColumn
    number: int
    alternative: Alternative
    why: Unavailable


_SET: Final[Column[CountedColumn]] = Column("set", "", -1, (), lambda column: column.set.name, identity=True,
                                            help="name of the set, as in --add set:NAME")
_COLUMN: Final[Column[CountedColumn]] = Column("column", "", -1, (), lambda column: column.chosen.name,
                                               help="name of the column",
                                               identity=True)
_SCOPE: Final[Column[CountedColumn]] = Column("scope", "", -1, (), lambda column: column.shown.scope.value,
                                              help="the level of the topology that it describes")
_UNIT: Final[Column[CountedColumn]] = Column("unit", "", -1, (), lambda column: column.shown.unit,
                                             help="unit of its values")
COLUMNS: Final[tuple[Column[CountedColumn], ...]] = (
    _SET, _COLUMN,
    Column("title", "", -1, (), lambda column: column.set.title, help="purpose of the set"),
    Column("origin", "", -1, (), lambda column: column.set.origin, help="the file that the set is from"),
    Column("available", "", -1, (), lambda column: yes_or_no(column.absent is None),
           help="whether this machine can count it"),
    Column("own", "", -1, (), lambda column: yes_or_no(column.own),
           help="whether the column exists without the set"),
    _SCOPE, _UNIT,
    Column("formula", "", -1, (), lambda column: column.formula, help="formula and events on this machine"),
    Column("models", "", -1, (), lambda column: " ".join(column.chosen.used.models) if column.chosen.used else "",
           help="patterns of the processors that this formula applies to; empty for all"),
    Column("document", "", -1, (), lambda column: column.document, help="document that defines it"),
    Column("help", "", -1, (), lambda column: column.shown.help, help="meaning of the column"),
    Column("reason", "", -1, (), lambda column: "" if column.absent is None else column.absent.sentence(),
           help="reason for which this machine cannot count it"),
)
SHOWN_COLUMNS: Final[tuple[Column[CountedColumn], ...]] = (
    _COLUMN, _SCOPE, _UNIT, Column("formula", "", -1, (), lambda column: column.how,
                                   help="formula and events, or the reason for their absence"),
)
"""The columns of the table of one set, for users."""
REFUSED_COLUMNS: Final[tuple[Column[Refused], ...]] = (
    Column("set", "", -1, (), lambda refused: refused.of.set.name, help="name of the set", identity=True),
    Column("column", "", -1, (), lambda refused: refused.of.chosen.name, help="name of the column", identity=True),
    Column("number", "", 0, (), lambda refused: refused.number,
           help="number of the formula, in the order in which formulas are tried", identity=True),
    Column("formula", "", -1, (), lambda refused: refused.alternative.formula,
           help="formula and events that were tried"),
    Column("models", "", -1, (), lambda refused: " ".join(refused.alternative.models),
           help="patterns of the processors that this formula applies to; empty for all"),
    Column("document", "", -1, (), lambda refused: refused.alternative.document, help="document that defines it"),
    Column("reason", "", -1, (), lambda refused: refused.why.sentence(),
           help="reason for which this machine cannot count it"),
)


def count_sets(machine: Machine, capabilities: Capabilities, sets: Iterable[EventSet]) -> Iterator[CountedColumn]:
    """Encode every column of these sets for a machine."""
    catalog = catalog_for(capabilities.signals)
    for event_set in sets:
        chosen, _capabilities = open_set(machine, capabilities, event_set, catalog.by_id)
        for column in chosen:
            if column.added is None:
                shown = catalog.by_id[column.name]
                yield CountedColumn(event_set, column, shown, why_absent(shown, capabilities, machine.topology))
            else:
                yield CountedColumn(event_set, column, column.added.columns[0], column.why)


def refused_table(counted: tuple[CountedColumn, ...]) -> RowTable[Refused]:
    """Return a table with a row for each alternative of a column that this machine does not use."""
    rows = tuple(Refused(column, number, alternative, why)
                 for column in counted for number, (alternative, why) in enumerate(column.chosen.refused))
    return RowTable("refused", "alternative", REFUSED_COLUMNS, rows)


def list_sets(arguments: argparse.Namespace, host: Host) -> int:
    """List all sets, or one set with every alternative.

    Raises:
        UsageError: there is no such set, or a file of sets is unusable.
    """
    sets = known_sets(os.environ, arguments.events)
    named = [named_set(sets, arguments.name)] if arguments.name else [sets[name] for name in sorted(sets)]
    machine = read_machine(host)
    counted = tuple(count_sets(machine, probe_sources(machine, SOURCES), named))
    envelope = envelope_now(host)
    print_tables(arguments, envelope, (RowTable("sets", "column", COLUMNS, counted), refused_table(counted)),
                 lambda: marked(envelope, _text(envelope, counted, whole=bool(arguments.name))))
    return 0


def _text(envelope: Envelope, counted: Sequence[CountedColumn], *, whole: bool) -> Iterator[str]:
    for event_set, columns in groupby(counted, lambda column: column.set):
        yield f"{event_set.name}: {event_set.title} ({event_set.origin})"
        rows = tuple(columns)
        yield from text_lines(envelope, RowTable("sets", "column", SHOWN_COLUMNS, rows), indent="  ")
        if whole:
            for row in rows:
                yield f"{row.chosen.name}: {' '.join(filter(None, (row.shown.help, row.document)))}"
                for alternative, why in row.chosen.refused:
                    yield f"  not {alternative.formula}"
                    yield f"      {why.sentence()}"
