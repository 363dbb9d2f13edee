"""`turbotui uncore`: what memory controllers, fabrics and links do: a panel for each kind of uncore PMU."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer, print_lines, print_tables, text_lines
from turbotui.commands.watching import open_host, parse_interval
from turbotui.errors import UsageError
from turbotui.events.uncore.fields import fields_of, read_value
from turbotui.events.uncore.filters import check
from turbotui.features.uncore.absence import why_none
from turbotui.features.uncore.board import Board
from turbotui.features.uncore.panels import UncoreUnits, typed_metric
from turbotui.features.uncore.tables import UncoreTable, no_units, uncore_table
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.tables.envelope import Envelope, envelope_now
from turbotui.tables.formats import Writer

_INTERVAL = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="panels for every interval, not only once")
    parser.add_argument("-n", "--intervals", metavar="N", type=int, help="end after so many (default interval: 1 s)")
    parser.add_argument("-k", "--kind", metavar="WORD", action="append", default=[],
                        help="only kinds of PMU whose name has this in it; may be given several times (csv: the first)")
    parser.add_argument("-e", "--event", metavar="PMU/EVENT/", action="append", default=[],
                        help="show this event too, on every PMU of its kind; an event is a name or terms")
    parser.add_argument("-f", "--filter", metavar="PMU/FIELD=VALUE,.../", action="append", default=[],
                        help="count only what passes, on this PMU or on all of a kind; src_bdf takes 27:01.1 too")
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over or SIGINT comes."""
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    seconds = parse_interval(arguments.interval or str(_INTERVAL))
    once = arguments.interval is None and arguments.intervals is None
    machine = read_machine(open_host(arguments))
    board = Board(machine)
    if not board.panels:
        why = why_none(machine).sentence()
        print_tables(arguments, envelope_now(machine.host, notes=(why,)), (no_units(),), lambda: (why,))
        return 0
    panels = _chosen(board, arguments.kind)
    for text in arguments.event:
        panel, _pmus, event = _aimed(board, text)
        board.show(panel, (*board.shown(panel), typed_metric(panel, event)))
    for text in arguments.filter:
        _filter(board, text)
    board.keep(panels)
    intervals = 1 if once else arguments.intervals
    _watch(machine, board, seconds, intervals, make_writer(arguments, intervals, marks=True))
    return 0


def _watch(machine: Machine, board: Board, seconds: float, intervals: int | None, writer: Writer | None) -> None:
    session = Session(machine, (), seconds, LinuxHost())
    session.read_also(board.sources(), board.signals())
    facts = {panel.kind.id: panel.kind.described for panel in board.panels}
    try:
        for frame in frames_of(session, intervals):
            if frame.older is None:
                continue
            envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds,
                                facts=facts)
            tables = [uncore_table(board, panel, frame) for panel in board.panels]
            if writer is None:
                print_lines(_text(envelope, tables))
            else:
                writer.write(envelope, tables)
    except KeyboardInterrupt:
        pass  # that is how a person ends it
    finally:
        if writer is not None:
            writer.end()


def _text(envelope: Envelope, tables: Sequence[UncoreTable]) -> Iterator[str]:
    """Each table below its title, and above the reasons of what is unknown in it."""
    if envelope.label:
        yield f"# {envelope.label}"
    for table in tables:
        yield f"{table.units.kind.described} ({len(table.units.units)} x {table.name})"
        yield from text_lines(envelope, table, indent="  ")
        yield from (f"  - {reason}" for reason in table.reasons())
        yield ""


def _chosen(board: Board, words: list[str]) -> tuple[UncoreUnits, ...]:
    if not words:
        return board.panels
    found = tuple(
        panel for panel in board.panels
        if any(word.lower() in (panel.kind.id + " " + panel.kind.title).lower() for word in words)
    )  # fmt: skip
    if not found:
        kinds = ", ".join(panel.kind.id for panel in board.panels)
        raise UsageError(f"--kind {' '.join(words)}: no kind of uncore PMU here has that name; there are {kinds}")
    return found


def _aimed(board: Board, text: str) -> tuple[UncoreUnits, tuple[str, ...], str]:
    """The panel, the PMUs and the rest of PMU/REST/."""
    name, slash, rest = text.rstrip("/").partition("/")
    if not slash or not rest:
        raise UsageError(f"{text!r}: write PMU/.../, such as {board.panels[0].pmu.name}/.../")
    for panel in board.panels:
        names = tuple(dict.fromkeys(unit.pmu.name for unit in panel.units))
        if name in names:
            return panel, (name,), rest
        if name == panel.kind.id:
            return panel, names, rest
    kinds = ", ".join(panel.kind.id for panel in board.panels)
    raise UsageError(f"{text!r}: there is no uncore PMU {name!r} here, and no kind of that name; there are {kinds}")


def _filter(board: Board, text: str) -> None:
    panel, pmus, rest = _aimed(board, text)
    fields = {field.name: field for field in fields_of(panel.pmu)}
    settings: dict[str, int] = dict(board.settings(pmus[0]))
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        if name not in fields:
            raise UsageError(f"{text!r}: {pmus[0]} has no filter {name!r}; it has {', '.join(fields) or 'none'}")
        settings[name] = read_value(panel.pmu, fields[name], value if equals else "1")
    check(panel.pmu, settings)
    board.set_filters(pmus, settings)
