"""`turbotui fleet`: which of many nodes are slow, hot or unlike the others, read by Prometheus's API."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from turbotui.app.settings import read_settings
from turbotui.commands.arguments import whole
from turbotui.commands.formats import add_format_arguments, print_tables, terminal_room, text_lines
from turbotui.commands.intervals import at_least_one, open_output
from turbotui.commands.recorded import add_replay_argument
from turbotui.commands.row_choice import RowChoice, row_choice
from turbotui.commands.screens import add_screen_arguments, screen_abilities
from turbotui.commands.sessions import parse_interval
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.fleet.check import CheckLimits, failing, why_unsure
from turbotui.features.fleet.columns import COLUMNS, NODE
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.grouping import BY_LABEL, by_label, group_table
from turbotui.features.fleet.model import FleetNode, FleetReading
from turbotui.features.fleet.opening import USUAL, NodeOpener, checked
from turbotui.features.fleet.server import Server, ServerError
from turbotui.features.fleet.server_options import VARIABLE, access_of, add_server_arguments, positive, question_of
from turbotui.features.fleet.settings import FleetSettings, filled, fleet_settings
from turbotui.features.fleet.tables import FLEET, fleet_table
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Value
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT
from turbotui.widgets.table_view import TableView

if TYPE_CHECKING:  # imported for types only: text needs no screens
    from turbotui.app.player import Player
    from turbotui.features.fleet.replaying import ReplayedFleet
    from turbotui.features.fleet.session import FleetSession

FOUND: Final = 7
"""The exit status of a check that found a node."""
UNSURE: Final = 6
"""The exit status of a check without a sure answer."""
_CHECK: Final = "check"
_CHECKS: Final = (
    ("--slower", "PERCENT", "find clocks below the model's median, or nodes below their baselines, by more than this"),
    ("--hotter", "DEGREES", "find nodes whose hottest core is above the median of the model by more than this"),
    ("--watts", "PERCENT", "find nodes whose power differs from the median of the model by more than this"),
    ("--throttled", "PERCENT", "find nodes that heat holds back for more than this share of the time"),
    ("--stale", "MINUTES", "find nodes without samples for longer than this"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.epilog = (
        f"Exit status of check: 0 no node was found, {FOUND} some were, {UNSURE} no sure answer (too few nodes to "
        "compare, or only a part of them answered), 3 the server did not answer. docs/fleet.md goes from a bare "
        "machine to the slow node.")
    parser.add_argument("action", nargs="?", choices=(_CHECK,), metavar=_CHECK,
                        help="look once, print the findings, and set the exit status accordingly")
    add_server_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="seconds between two readings (15)")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole, help="print this many readings, then end")
    parser.add_argument("-s", "--show", metavar="NAMES", default="",
                        help="these columns, comma separated (all: every column; csv, json and openmetrics have all)")
    parser.add_argument("--filter", metavar="TEXT", default="",
                        help='only nodes that pass: words, or comparisons such as "CoreTmp>80 or rack7"')
    parser.add_argument("--sort", metavar="COLUMN",
                        help="sort by this column, the greatest first, instead of the oddest first")
    parser.add_argument("--top", metavar="N", type=whole, help="the first N nodes only")
    parser.add_argument("--group", metavar="LABEL", default="", help="a table of nodes by this label too")
    checks = parser.add_argument_group("limits of check (by default those of the screen)")
    for option, unit, text in _CHECKS:
        checks.add_argument(option, metavar=unit, help=text)
    screen = parser.add_argument_group("the screen (without -n and --format, in a terminal)")
    screen.add_argument("--open", metavar="COMMAND",
                        help=f"what Enter on a node runs: {{address}} is its target without the port, {{LABEL}} a "
                        f"label of it ({USUAL})")
    screen.add_argument("--recordings", metavar="DIR", help="Enter replays DIR/NODE.ttj instead (turbotui record)")
    add_screen_arguments(parser)
    add_replay_argument(parser)
    add_format_arguments(parser, (FLEET, BY_LABEL))


def run(arguments: argparse.Namespace) -> int:
    """Print nodes until the readings are over, or SIGINT comes; or check them once.

    Raises:
        UsageError: the options contradict each other.
        ServerError: the server did not answer the first time.
    """
    at_least_one(arguments.intervals, what=" reading")
    at_least_one(arguments.top, "--top", " node")
    limits = _limits(arguments)
    is_check = arguments.action == _CHECK
    if limits.given and not is_check:
        raise UsageError("limits are for turbotui fleet check: write check behind fleet")
    if arguments.replay and arguments.prometheus:
        raise UsageError("--replay tells of what was recorded: leave --prometheus out")
    own = fleet_settings(read_settings(os.environ))
    filled(arguments, own, server=os.environ.get(VARIABLE, ""), is_text=arguments.format == TEXT and not is_check)
    choice = _choice(arguments)
    seconds = parse_interval(arguments.interval)
    question = question_of(arguments, limits.limits() if limits.given else own.limits)
    if is_check:
        question = replace(question, rules=limits.rules())
    on_screen = not is_check and arguments.intervals is None and arguments.format == TEXT and sys.stdout.isatty() and (
        not arguments.group)
    if not on_screen:
        for problem in own.problems:
            print(f"turbotui: {problem}", file=sys.stderr)
    if arguments.replay:
        return _replay(arguments, question, limits, own, on_screen=on_screen)
    reader = FleetReader(Server(access_of(arguments)), question)
    if is_check:
        return _check(arguments, reader.read(), limits)
    if on_screen:
        from turbotui.features.fleet.session import FleetSession  # noqa: PLC0415 - text needs no screens

        session = FleetSession(reader, seconds)
        if choice.by is not None:
            session.view = TableView(tuple(column for column in COLUMNS if column.default), choice.by, reverse=True)
        session.begin()
        return _show(arguments, own, session)
    many = arguments.intervals or 1
    _print(arguments, _readings(reader, seconds, many), many)
    return 0


def _replay(arguments: argparse.Namespace, question: FleetQuestion, limits: CheckLimits, own: FleetSettings, *,
            on_screen: bool) -> int:
    """Show, print or check a recording: the last reading, or the first ones with -n.

    Raises:
        RecordingError: the file is no recording, or cannot be read.
        TurbotuiError: the recording holds no fleet.
    """
    from turbotui.features.fleet.recorded import recorded_readings  # noqa: PLC0415 - few replay
    from turbotui.recording import read  # noqa: PLC0415 - as above

    with read(arguments.replay) as journal:
        if on_screen:
            from turbotui.features.fleet.replaying import replayed_fleet  # noqa: PLC0415 - as above

            return _show(arguments, own, *replayed_fleet(journal, question))
        frames = journal.frames()
        if arguments.intervals is None:
            last = journal.frame_at(journal.last_ns)
            frames = iter(() if last is None else (last,))
        readings = list(itertools.islice(recorded_readings(journal.rows, frames, question), arguments.intervals or 1))
        if not readings:
            raise TurbotuiError(f"{arguments.replay} holds no fleet: Ctrl+R in turbotui fleet records one")
        if arguments.action == _CHECK:
            return _check(arguments, readings[-1], limits)
        _print(arguments, readings, len(readings))
    return 0


def _show(arguments: argparse.Namespace, own: FleetSettings, session: FleetSession | ReplayedFleet,
          player: Player | None = None) -> int:
    opener = NodeOpener(checked(arguments.open), arguments.recordings)
    abilities = screen_abilities(ascii_alone=arguments.ascii, instead=": -n 1 prints instead")
    from turbotui.features.fleet.fleet_app import show_fleet  # noqa: PLC0415 - text needs no screens

    return show_fleet(session, opener, abilities, arguments.theme, player, problems=own.problems)


def _limits(arguments: argparse.Namespace) -> CheckLimits:
    given = {option: getattr(arguments, option.removeprefix("--")) for option, _unit, _text in _CHECKS}
    return CheckLimits(**{option.removeprefix("--"): None if text is None else positive(text, option)
                          for option, text in given.items()})


def _readings(reader: FleetReader, seconds: float, many: int) -> Iterator[FleetReading]:
    """Yield readings; a failure after the first is reported, and the next reading is tried."""
    yield reader.read()
    waiting = threading.Event()
    due = time.monotonic()
    for _ in range(many - 1):
        due += seconds
        waiting.wait(max(0.0, due - time.monotonic()))
        try:
            yield reader.read()
        except ServerError as error:
            print(f"turbotui: {error}", file=sys.stderr)


def _check(arguments: argparse.Namespace, reading: FleetReading, limits: CheckLimits) -> int:
    nodes = failing(reading.nodes, limits)
    why = why_unsure(reading.nodes, limits) or next(iter(reading.notes), "")
    status = FOUND if nodes else UNSURE if why else 0
    word = {FOUND: "found", UNSURE: "unsure", 0: "fine"}[status]
    envelope = replace(_envelope(reading), facts={
        "check": word, "why": why or None, "nodes": len(reading.nodes), "found": len(nodes)})
    choice = _choice(arguments)
    table = choice.of(replace(fleet_table(reading, choice.columns), rows=tuple(nodes)))
    summary = {FOUND: f"{len(nodes)} of {len(reading.nodes)} nodes", UNSURE: f"no sure answer: {why}",
               0: f"fine: {several(len(reading.nodes), 'node')}"}[status]
    print_tables(arguments, envelope, (table,), lambda: (*(f"{node.name}: {node.why}" for node in table.rows),
                                                         f"# {reading.server}: {summary}{_marked(envelope)}"))
    return status


def _print(arguments: argparse.Namespace, readings: Iterable[FleetReading], many: int) -> None:
    choice = _choice(arguments)
    with open_output(arguments, many, marks=False).until_interrupted() as output:
        for reading in readings:
            envelope = _envelope(reading)
            table = choice.of(fleet_table(reading, choice.columns))
            groups = group_table(by_label(reading.nodes, arguments.group)) if arguments.group else None
            text = [] if arguments.table == BY_LABEL else [_text(envelope, reading, table)]
            if groups is not None and arguments.table != FLEET:
                text.append(iter((f"# by {arguments.group}",
                                  *text_lines(envelope, groups, room=terminal_room()), "")))
            output.write(envelope, (table, *([] if groups is None else [groups])), partial(itertools.chain, *text))


def _envelope(reading: FleetReading) -> Envelope:
    kind = HostKind.RECORDED if reading.recorded else HostKind.REAL
    if any(node.simulated for node in reading.nodes):
        kind = HostKind.SIMULATED
    cost = reading.cost
    facts: dict[str, Value] = {"queries": cost.queries, "bytes": cost.sent, "unpacked_bytes": cost.unpacked,
                               "nodes": len(reading.nodes), "odd": reading.odd}
    return Envelope(reading.server, kind, reading.wall_ns, reading.window, facts=facts, notes=reading.notes)


def _marked(envelope: Envelope) -> str:
    return f" ({envelope.label})" if envelope.label else ""


def _text(envelope: Envelope, reading: FleetReading, table: RowTable[FleetNode]) -> Iterator[str]:
    """Format the nodes, without columns whose values are all unknown."""
    odd = f"{reading.odd} odd" if reading.odd else "none odd"
    many = several(len(reading.nodes), "node")
    yield f"# {FLEET}, {envelope.time}, {reading.server}, {many}, {odd}{_marked(envelope)}"
    if table.rows:
        yield from text_lines(envelope, replace(table, columns=table.known_columns), room=terminal_room())
    else:
        yield "# no node passes"
    yield from (f"# {note}" for note in envelope.notes)
    yield ""


def _choice(arguments: argparse.Namespace) -> RowChoice[FleetNode]:
    """Return the command line's choice of columns and rows.

    Raises:
        UsageError: there is no such column, or the filter is invalid.
    """
    return row_choice(arguments, COLUMNS, "nodes", _words, always=(NODE,))


def _words(node: FleetNode) -> str:
    """Return the texts for --filter: the name and all labels."""
    return " ".join((node.name, *node.labels.values())).lower()
