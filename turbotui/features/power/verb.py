"""`turbotui power`: where the machine's watts go, held against what the platform says; batteries and fans."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer, print_lines, text_lines
from turbotui.commands.recorded import add_span_arguments, open_replay, refuse_span, replayed_frames, tell_missing
from turbotui.commands.watching import open_host, parse_interval
from turbotui.errors import UsageError
from turbotui.features.power.balance import Balance, balance_of, sentence
from turbotui.features.power.tables import BATTERIES, FANS, POWER, battery_table, fan_table, power_table
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.meters import power_columns
from turbotui.quantities.tables import RowTable
from turbotui.sampling.energy import ENERGY_SOURCES
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sources import METER_SOURCES, SOURCES
from turbotui.tables.envelope import Envelope

_INTERVAL: Final = "1"
_OWN_SOURCES: Final = ENERGY_SOURCES | METER_SOURCES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="a table for every interval, not only once")
    parser.add_argument("-n", "--intervals", metavar="N", type=int, help="end after so many (default interval: 1 s)")
    add_span_arguments(parser)
    add_format_arguments(parser, (POWER, BATTERIES, FANS))


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over, the recording is, or SIGINT comes.

    Raises:
        UsageError: options that cannot be meant.
    """
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    if arguments.replay:
        if arguments.interval:
            raise UsageError("--replay shows what was recorded: leave -i (--every) out")
        with open_replay(arguments) as journal:
            frames = itertools.islice(replayed_frames(arguments, journal), arguments.intervals)
            _print(arguments, journal.machine, frames, arguments.intervals)
            tell_missing(journal)
        return 0
    refuse_span(arguments)
    seconds = parse_interval(arguments.interval or _INTERVAL)
    once = arguments.interval is None and arguments.intervals is None
    intervals = 1 if once else arguments.intervals
    machine = read_machine(open_host(arguments))
    session = Session(machine, [source for source in SOURCES if source.id in _OWN_SOURCES], seconds, LinuxHost())
    session.want(column.id for column in power_columns(session.catalog.columns))
    _print(arguments, machine, (frame for frame in frames_of(session, intervals) if frame.older is not None), intervals)
    return 0


def _print(arguments: argparse.Namespace, machine: Machine, frames: Iterable[Frame], many: int | None) -> None:
    writer = make_writer(arguments, many, marks=True)
    model = machine.model.family, machine.model.model
    try:
        for frame in frames:
            catalog = catalog_for(frame.capabilities.signals)
            found = balance_of(frame, catalog, model)
            tables = _tables(found, frame, catalog)
            envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds,
                                facts={"balance": sentence(found)}, notes=found.contradictions)
            if writer is not None:
                writer.write(envelope, tables)
            else:
                print_lines(_text(envelope, found, [one for one in tables if arguments.table in {"", one.name}]))
    except KeyboardInterrupt:
        pass  # that is how a person ends it
    finally:
        if writer is not None:
            writer.end()


def _tables(found: Balance, frame: Frame, catalog: Catalog) -> Sequence[RowTable[Any]]:
    beside = [table for table in (battery_table(frame, catalog), fan_table(frame, catalog)) if table.rows]
    return (power_table(found, frame), *beside)


def _text(envelope: Envelope, found: Balance, tables: Sequence[RowTable[Any]]) -> Iterator[str]:
    """The balance in one sentence, the tables without columns that say nothing, contradictions, and reasons."""
    yield f"# {', '.join([POWER, envelope.time, *filter(None, [envelope.label])])}"
    yield sentence(found)
    for table in tables:
        if table.name == POWER and not found.consumers:
            continue
        yield ""
        known = tuple(column for column in table.columns
                      if any(value is not None for value in table.values(column, table.rows)))
        yield from text_lines(envelope, replace(table, columns=known))
    yield from (f"# ! {text}" for text in found.contradictions)
    yield from (f"# no watts of {one.name}: {one.why.sentence()}" for one in found.unknown if one.why is not None)
    if found.why is not None:
        yield f"# elsewhere is unknown: {found.why.sentence()}"
    yield ""
