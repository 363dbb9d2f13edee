"""`turbotui uncore`: the activity of memory controllers, fabrics and links, a table for each kind of PMU."""

from __future__ import annotations

import argparse
import contextlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, marked, print_tables, text_lines
from turbotui.commands.intervals import IntervalOutput, add_interval_arguments, at_least_one, intervals_of, open_output
from turbotui.commands.recorded import (
    add_span_arguments,
    open_replay,
    recorded_ones,
    refuse_span,
    replayed_frames,
    report_missing,
)
from turbotui.commands.sessions import open_host
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.events.devices import names_instance
from turbotui.events.uncore.fields import fields_of, read_value
from turbotui.events.uncore.filters import check
from turbotui.features.uncore.absence import unnamed, why_none
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.features.uncore.map_picture import draw_map
from turbotui.features.uncore.ports import ports_table, reasons_of
from turbotui.features.uncore.tables import UncoreTable, uncore_table
from turbotui.features.uncore.traffic import (
    NO_EDGES,
    TrafficTable,
    find_edges,
    metrics_by_kind,
    traffic_of,
    traffic_table,
)
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.pmus import EventError
from turbotui.quantities.tables import RowTable
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.tables.envelope import Envelope, envelope_now

_NO_PORTS = "no root port of NVIDIA's is on this machine's PCI bus"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_host_arguments(parser)
    add_interval_arguments(parser, "seconds of an interval; print tables for every interval, not only one")
    parser.add_argument("-k", "--kind", metavar="WORD", action="append", default=[],
                        help="only kinds of PMU whose name has this in it, and what -e and -f name; may be given "
                        "several times (csv: the first)")
    parser.add_argument("-e", "--event", metavar="PMU/EVENT/", action="append", default=[],
                        help="show this event too, on every PMU of its kind: a name, terms, both, or a derived "
                        "value (amd_umc/row hits/); a name of the vendor's tables may stand alone")
    parser.add_argument("--all", dest="all_values", action="store_true",
                        help="every derived value, not only the default ones")
    parser.add_argument("-f", "--filter", metavar="PMU/FIELD=VALUE,.../", action="append", default=[],
                        help="count only matching requests, on this PMU or on all of a kind; src_bdf takes 27:01.1 too")
    add_event_tables_argument(parser)
    parser.add_argument("--map", action="store_true",
                        help="the map of traffic between packages, memory, links and devices; other formats: its edges")
    parser.add_argument("--ports", action="store_true",
                        help="every NVIDIA root port: PCI address, segment, numbers of port, root complex and socket, "
                        "and the PMUs that count it; nothing is counted")
    add_span_arguments(parser)
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over, the recording is, or SIGINT comes.

    Raises:
        MachineError: the machine has no uncore PMU, or gives it to nobody here.
    """
    at_least_one(arguments.intervals)
    check_host_arguments(arguments)
    if arguments.ports:
        return _ports(arguments)
    if arguments.replay:
        return _replay(arguments)
    refuse_span(arguments)
    seconds, intervals = intervals_of(arguments)
    if arguments.host:
        return _replay(arguments, seconds, intervals)
    machine = read_machine(open_host(arguments))
    counters = UncoreCounters(machine)
    if not counters.kinds:
        raise MachineError(why_none(machine).sentence())
    kinds = _chosen(counters, arguments.kind)
    if arguments.all_values:
        for each in kinds:
            counters.show(each, each.metrics or counters.shown(each))
    named = {units.kind.id for text in arguments.event for units in (_show_event(counters, text, kinds),)}
    named |= {_filter(counters, text).kind.id for text in arguments.filter}
    counters.keep([units for units in counters.kinds if units in kinds or units.kind.id in named])
    tell = _map_of(machine, counters) if arguments.map else _tables_of(counters)
    session = Session(machine, (), seconds, LinuxHost())
    session.read_also(counters.sources(), counters.signals())
    _print(machine, counters, tell, (frame for frame in frames_of(session, intervals) if frame.older is not None),
           open_output(arguments, intervals))
    return 0


def _ports(arguments: argparse.Namespace) -> int:
    """Print the root ports.

    Raises:
        UsageError: an option counts something, or reads a recording.
    """
    if arguments.replay or arguments.host or arguments.map or arguments.event or arguments.filter or arguments.kind:
        raise UsageError("--ports lists the root ports of a machine and counts nothing: leave --replay, --host, "
                         "--map, -k, -e and -f out")
    refuse_span(arguments)
    host = open_host(arguments)
    table = ports_table(host)
    notes = reasons_of(table) if table.rows else (_NO_PORTS,)
    envelope = envelope_now(host, notes=notes)
    print_tables(arguments, envelope, (table,), lambda: marked(envelope, (
        *(text_lines(envelope, table) if table.rows else ()), *notes)))
    return 0


def _replay(arguments: argparse.Namespace, seconds: float = 1.0, intervals: int | None = None) -> int:
    """Print the tables of a recording, or of the machine of --host.

    Raises:
        UsageError: an option needs a live machine.
        TurbotuiError: no uncore counter was recorded in that time.
    """
    from turbotui.features.uncore.recorded import RecordedCounters  # noqa: PLC0415 - most runs watch a machine

    if arguments.host and (arguments.event or arguments.filter or arguments.event_tables):
        raise UsageError("-e, -f and --event-tables are not for --host: run turbotui uncore there")
    if not arguments.host and (arguments.interval or arguments.event or arguments.filter):
        raise UsageError("--replay shows what was recorded: leave -i (--every), -e and -f out")
    with open_replay(arguments, intervals=intervals, seconds=seconds, tables="uncore") as journal:
        counters = RecordedCounters(journal.machine, journal.definitions())
        chosen = recorded_ones(arguments, replayed_frames(arguments, journal) if counters.kinds else iter(()),
                               lambda frame: frame if counters.has_any(frame) else None, "uncore counters", "uncore")
        counters.keep(_chosen(counters, arguments.kind))
        if arguments.all_values:
            counters.show_all()
        tell = _map_of(journal.machine, counters) if arguments.map else _tables_of(counters)
        _print(journal.machine, counters, tell, chosen, open_output(arguments, intervals or arguments.intervals))
        report_missing(journal)
    return 0


@dataclass(frozen=True, slots=True)
class _IntervalOutput:
    tables: Callable[[Frame], Sequence[RowTable[Any]]]  # makes the tables of every format
    text: Callable[[Envelope, Sequence[Any]], Iterator[str]]  # formats an envelope and the tables for people


def _tables_of(counters: UncoreCounters) -> _IntervalOutput:
    return _IntervalOutput(lambda frame: [uncore_table(counters, units, frame) for units in counters.kinds], _text)


def _map_of(machine: Machine, counters: UncoreCounters) -> _IntervalOutput:
    """Make the output of the map of traffic, for which only edges are counted."""
    edges = find_edges(machine, counters.kinds)
    for units in counters.kinds:
        counters.show(units, ())
    counters.count_beside(metrics_by_kind(edges))
    return _IntervalOutput(lambda frame: [traffic_table(counters, traffic_of(counters, frame, edges))], _map_text)


def _map_text(_envelope: Envelope, tables: Sequence[TrafficTable]) -> Iterator[str]:
    """Format the picture, and the reasons of its unknown values."""
    width, height = shutil.get_terminal_size((120, 36))
    (table,) = tables
    what = "GB/s into and out of packages; shares of the peak, of edges added up the fullest one's"
    yield what if table.rows else NO_EDGES
    yield from ("".join(text for text, _role in line).rstrip() for line in draw_map(table.rows, width, height))
    yield from (f"  - {reason}" for reason in table.reasons())


def _print(machine: Machine, counters: UncoreCounters, tell: _IntervalOutput, frames: Iterable[Frame],
           output: IntervalOutput) -> None:
    facts = {units.kind.id: units.kind.described + _no_peak(units) for units in counters.kinds}
    notes = tuple(f"{units.kind.title}: {unnamed(units.kind.id)}" for units in counters.kinds
                  if not (units.starting or counters.shown(units)))
    with output.until_interrupted():
        for frame in frames:
            tables = tell.tables(frame)
            beside = [f"{table.name}: {reason}" for table in tables if isinstance(table, UncoreTable)
                      for reason in table.unfiltered()]
            envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds,
                                facts=facts, notes=(*notes, *beside))
            output.write(envelope, tables, partial(marked, envelope, tell.text(envelope, tables)))


def _text(envelope: Envelope, tables: Sequence[UncoreTable]) -> Iterator[str]:
    """Format tables: title, rows, and the reasons of unknown values."""
    for table in tables:
        fullest = table.fullest()
        nearest = _no_peak(table.units) if fullest is None else f"; nearest to its peak: {fullest.words}"
        yield f"{table.units.kind.described} ({len(table.units.units)} x {table.name}){nearest}"
        if table.counts:
            yield from text_lines(envelope, table, indent="  ")
        yield from (f"  - {reason}" for reason in (*table.reasons(), *table.unfiltered()))
        yield ""


def _no_peak(units: UncoreUnits) -> str:
    return f"; no share of a peak: {units.no_peak}" if units.no_peak else ""


def _chosen(counters: UncoreCounters, words: list[str]) -> tuple[UncoreUnits, ...]:
    if not words:
        return counters.kinds
    chosen = tuple(units for units in counters.kinds
                   if any(word.lower() in f"{units.kind.id} {units.kind.title}".lower() for word in words))
    if not chosen:
        kinds = ", ".join(units.kind.id for units in counters.kinds)
        raise UsageError(f"--kind {' '.join(words)}: no kind of uncore PMU here has that name; there are {kinds}")
    return chosen


def _aimed(counters: UncoreCounters, text: str) -> tuple[UncoreUnits, tuple[str, ...], str]:
    """Split PMU/REST/ into the kind, its PMUs and the rest."""
    name, slash, rest = text.rstrip("/").partition("/")
    if not slash and "=" not in text:
        return _named(counters, text)
    if not slash or not rest:
        raise UsageError(f"{text!r}: write PMU/.../, such as {counters.kinds[0].pmu.name}/.../")
    for units in counters.kinds:
        names = tuple(dict.fromkeys(unit.pmu.name for unit in units.units))
        if name in names:
            return units, (name,), rest
        fitting = names if name == units.kind.id else tuple(name_of
                                                            for name_of in names if names_instance(name, name_of))
        if fitting:  # as in perf, imc means uncore_imc_0 and its siblings
            return units, fitting, rest
    kinds = ", ".join(units.kind.id for units in counters.kinds)
    raise UsageError(f"{text!r}: there is no uncore PMU {name!r} here, and no kind of that name; there are {kinds}")


def _named(counters: UncoreCounters, name: str) -> tuple[UncoreUnits, tuple[str, ...], str]:
    """Return the kind and the PMUs of an event by its name.

    Raises:
        UsageError: no kind of PMU has the event, or several have.
    """
    named = []
    for units in counters.kinds:
        with contextlib.suppress(EventError):
            counters.typed(units, name)
            named.append(units)
    if len(named) == 1:
        return named[0], tuple(dict.fromkeys(unit.pmu.name for unit in named[0].units)), name
    several = f"{', '.join(units.kind.id for units in named)} have it" if named else "no uncore PMU here has it"
    raise UsageError(f"{name!r}: {several}; write PMU/.../, such as {(named or counters.kinds)[0].pmu.name}/.../")


def _show_event(counters: UncoreCounters, text: str, kinds: Sequence[UncoreUnits]) -> UncoreUnits:
    """Show an event; a kind that --kind leaves out shows only its requested events.

    Raises:
        UsageError, EventError: no kind of PMU has the event.
    """
    units, _pmus, event = _aimed(counters, text)
    derived = [metric for metric in units.metrics if metric.what == event.strip().lower()]
    shown = counters.shown(units)
    others = shown if units in kinds or shown != units.starting else ()
    counters.show(units, (*others, *(derived or (counters.typed(units, event),))))
    return units


def _filter(counters: UncoreCounters, text: str) -> UncoreUnits:
    """Set filters of PMUs, and return their kind.

    Raises:
        UsageError, EventError: there is no such PMU or field, or the filters exclude each other.
    """
    units, pmus, rest = _aimed(counters, text)
    fields = {field.name: field for field in fields_of(units.pmu)}
    settings: dict[str, int] = dict(counters.settings(pmus[0]))
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        if name not in fields:
            raise UsageError(f"{text!r}: {pmus[0]} has no filter {name!r}; it has {', '.join(fields) or 'none'}")
        settings[name] = read_value(units.pmu, fields[name], value if equals else "1")
    check(units.pmu, settings)
    counters.set_filters(pmus, settings)
    return units
