"""`turbotui events sets`: the sets that --add set:NAME takes, and how this machine counts each of their columns."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from itertools import groupby

from turbotui.commands.formats import print_tables, text_lines
from turbotui.events.set_files import known_sets
from turbotui.features.events.set_tables import CountedColumn, count_sets, refused_table, set_table, shown_table
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.sampling.adding import named_set
from turbotui.sampling.capabilities import probe_sources
from turbotui.sources import SOURCES
from turbotui.tables.envelope import Envelope, envelope_now


def list_sets(arguments: argparse.Namespace, host: Host) -> int:
    """List all sets, or one set with every alternative.

    Raises:
        UsageError: there is no such set, or a file of sets cannot be used.
    """
    sets = known_sets(os.environ, arguments.events)
    named = [named_set(sets, arguments.name)] if arguments.name else [sets[name] for name in sorted(sets)]
    machine = read_machine(host)
    counted = tuple(count_sets(machine, probe_sources(machine, SOURCES), named))
    envelope = envelope_now(host)
    print_tables(arguments, envelope, (set_table(counted), refused_table(counted)),
                 lambda: _text(envelope, counted, whole=bool(arguments.name)))
    return 0


def _text(envelope: Envelope, counted: Sequence[CountedColumn], *, whole: bool) -> Iterator[str]:
    if envelope.label:
        yield f"# {envelope.label}"
    for one, columns in groupby(counted, lambda column: column.set):
        yield f"{one.name}: {one.title} ({one.origin})"
        rows = tuple(columns)
        yield from text_lines(envelope, shown_table(rows), indent="  ")
        if whole:
            for row in rows:
                yield from _in_full(row)


def _in_full(row: CountedColumn) -> Iterator[str]:
    """The text of a column in full, with every alternative that is not used here."""
    yield f"{row.chosen.name}: {' '.join(filter(None, (row.shown.help, row.document)))}"
    for alternative, why in row.chosen.refused:
        yield f"  not {alternative.formula}"
        yield f"      {why.sentence()}"
