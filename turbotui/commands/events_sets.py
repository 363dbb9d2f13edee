"""`turbotui events sets`: the sets that --add set:NAME takes, and how this machine counts each of their columns."""

from __future__ import annotations

import argparse
import os

from turbotui.commands.watching import label
from turbotui.machine.events.set_files import Alternative, EventSet, known_sets
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import ColumnId
from turbotui.sampling.adding import Chosen, named_set, open_set
from turbotui.sampling.census import take_census
from turbotui.sampling.selection import why_absent
from turbotui.sources import SOURCES
from turbotui.untrusted import json_text

_NAME = 10  # columns of the longest title


def list_sets(arguments: argparse.Namespace, host: Host) -> int:
    """List them all, or one with every alternative.

    Raises:
        UsageError: there is no such set, or a file of sets cannot be used.
    """
    sets = known_sets(os.environ, arguments.events)
    if arguments.name:
        named_set(sets, arguments.name)
    machine = read_machine(host)
    census = take_census(machine, SOURCES)
    catalog = catalog_for(census.signals)
    simulated = label(host)
    if simulated and not arguments.json:
        print(f"# {simulated}")
    for name in [arguments.name] if arguments.name else sorted(sets):
        one = sets[name]
        chosen, _census = open_set(machine, census, one, catalog.by_id)
        absent = {
            column.name: "" if (why := why_absent(catalog.by_id[column.name], census, machine.topology)) is None
            else why.sentence()
            for column in chosen
            if column.added is None
        }
        if arguments.json:
            for column in chosen:
                row = _row(one, column, absent)
                print(json_text({**row, "machine": simulated} if simulated else row))
            continue
        print(f"{name}: {one.title} ({one.origin})")
        for column in chosen:
            _print(column, absent, whole=bool(arguments.name))
    return 0


def _print(column: Chosen, absent: dict[ColumnId, str], *, whole: bool) -> None:
    said = f"{column.name:<{_NAME}}"
    if column.added is None:
        missing = absent[column.name]
        print(f"- {said} not here: {missing}" if missing else f"  {said} a column that is there anyway")
        return
    shown = column.added.columns[0]
    if column.used is not None:
        print(f"  {said} {column.used.formula}  ({shown.scope.value}{', ' if shown.unit else ''}{shown.unit})")
    elif column.why is not None:
        print(f"- {said} not here: {column.why.sentence()}")
    if whole:
        print(f"  {'':<{_NAME}} {shown.help}")
        if column.used is not None and column.used.document:
            print(f"  {'':<{_NAME}} {column.used.document}")
        for alternative, why in column.refused:
            print(f"  {'':<{_NAME}} not {alternative.formula}\n  {'':<{_NAME}}     {why.sentence()}")


def _row(one: EventSet, column: Chosen, absent: dict[ColumnId, str]) -> dict[str, object]:
    shown = None if column.added is None else column.added.columns[0]
    return {
        "set": one.name,
        "title": one.title,
        "origin": one.origin,
        "column": column.name,
        "available": column.used is not None if shown is not None else not absent[column.name],
        "scope": None if shown is None else shown.scope.value,
        "unit": None if shown is None else shown.unit,
        "help": None if shown is None else shown.help,
        "used": None if column.used is None else _alternative(column.used),
        "refused": [{**_alternative(other), "reason": why.sentence()} for other, why in column.refused],
    }


def _alternative(alternative: Alternative) -> dict[str, object]:
    return {"formula": alternative.formula, "models": list(alternative.models), "document": alternative.document}
