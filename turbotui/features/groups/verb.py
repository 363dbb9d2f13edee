"""`turbotui groups`: the resource use of containers, jobs and services, by control and resctrl groups."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments, whole
from turbotui.commands.elsewhere import add_host_arguments
from turbotui.commands.formats import add_format_arguments, terminal_room, text_lines
from turbotui.commands.intervals import add_interval_arguments, open_output
from turbotui.commands.recorded import (
    add_span_arguments,
    open_replay,
    recorded_ones,
    replayed_frames,
    report_missing,
    watched_intervals,
)
from turbotui.commands.row_choice import RowChoice, indented, row_choice
from turbotui.commands.sessions import open_host
from turbotui.errors import UsageError
from turbotui.features.groups.columns import COLUMNS, GROUP, PATH, GroupColumn, needed
from turbotui.features.groups.engine import GroupInterval, GroupWatch
from turbotui.features.groups.event_columns import event_columns
from turbotui.features.groups.model import NODE, WHOLE, Group, GroupRow
from turbotui.features.groups.resctrl_reader import events_in
from turbotui.features.groups.resctrl_table import (
    RESCTRL,
    ResctrlTable,
    has_many_domains,
    resctrl_columns,
    resctrl_table,
)
from turbotui.features.groups.tables import GROUPS, group_table, sum_held_against_package
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.resctrl import ResctrlInfo, why_no_resctrl
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.scope import Scope
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT

_BUSIEST: Final = "CPU%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_host_arguments(parser)
    add_interval_arguments(parser)
    parser.add_argument("-s", "--show", metavar="NAMES", default="",
                        help="these columns, comma separated (all: every column; csv, json and openmetrics have all)")
    parser.add_argument("--filter", metavar="TEXT", default="",
                        help='only groups that pass: words, or comparisons such as "Throttled%%>5 or docker"')
    parser.add_argument("--sort", metavar="COLUMN", default="",
                        help="the greatest of this column first, instead of the tree's order")
    parser.add_argument("--top", metavar="N", type=whole, help="the first N rows only, by CPU%% unless --sort")
    parser.add_argument("-a", "--add", metavar="SPEC", action="append", default=[],
                        help="count perf events for each group, as perf's -G does: instructions, context-switches, "
                             "IPC=instructions/cycles, set:NAME; if there are too many groups, for the busiest ones")
    add_event_tables_argument(parser)
    add_span_arguments(parser)
    add_format_arguments(parser, (GROUPS, RESCTRL))


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over, or SIGINT comes.

    Raises:
        UsageError: the options contradict each other.
        MachineError: there are no control groups here.
    """
    seconds, intervals = watched_intervals(arguments)
    if arguments.replay or arguments.host:
        return _replay(arguments, seconds, intervals)
    machine = read_machine(open_host(arguments))
    watch = GroupWatch(machine, seconds, arguments.add)
    choice = _choice(arguments, watch.counted)
    may_pass = choice.passing.may_pass
    with closing(watch.intervals(intervals, needed(choice.used), lambda group: may_pass(_words(group)))) as watched:
        _print(arguments, machine, watched, intervals)
    return 0


def _replay(arguments: argparse.Namespace, seconds: float, intervals: int | None) -> int:
    """Print the tables of a recording, or of the machine of --host.

    Raises:
        UsageError: an option needs a live machine.
        TurbotuiError: no group was recorded in that time.
    """
    if arguments.host and arguments.add:
        raise UsageError("--add is not for --host: run turbotui groups --add there")
    if not arguments.host and (arguments.interval or arguments.add):
        raise UsageError("--replay shows what was recorded: leave -i (--every) and --add out")
    from turbotui.features.groups.recorded_groups import replayed_interval  # noqa: PLC0415 - and what packs records

    with open_replay(arguments, intervals=intervals, seconds=seconds, tables="groups") as journal:
        group_intervals = recorded_ones(arguments, replayed_frames(arguments, journal),
                                        partial(replayed_interval, journal.rows), "groups", "groups")
        _print(arguments, journal.machine, group_intervals, intervals)
        report_missing(journal)
    return 0


def _print(arguments: argparse.Namespace, machine: Machine, intervals: Iterable[GroupInterval],
           many: int | None) -> None:
    packages, cpus = (machine.topology.online(scope) for scope in (Scope.PACKAGE, Scope.CPU))
    with open_output(arguments, many).until_interrupted() as output:
        for interval in intervals:
            choice = _choice(arguments, interval.counted)
            whole = group_table(interval.rows, interval.energy, packages, cpus, choice.columns)
            envelope, table = _envelope(machine, interval, whole), choice.of(whole)
            monitored = resctrl_table(interval.resctrl, resctrl_columns(events_in(interval.resctrl)))
            text = [] if arguments.table == RESCTRL else [_text(choice, envelope, table)]
            if monitored.rows and arguments.table != GROUPS:
                text.append(_monitored(envelope, monitored, interval.info))
            elif arguments.table == RESCTRL:
                text.append(iter((why_no_resctrl(machine.host).sentence(), "")))
            output.write(envelope, (table, *([monitored] if monitored.rows else [])), partial(chain, *text))


def _choice(arguments: argparse.Namespace, counted: Iterable[CountedEvents]) -> RowChoice[GroupRow]:
    """Return the command line's choice of columns and rows; columns of events are always shown.

    Raises:
        UsageError: there is no such column, or the filter is invalid.
    """
    added = event_columns(counted)
    choice = row_choice(arguments, (*COLUMNS, *added), "groups", lambda row: _words(row.group), busiest=_BUSIEST,
                        always=(GROUP,) if arguments.format == TEXT else (PATH, GROUP))
    return replace(choice, columns=tuple(dict.fromkeys((*choice.columns, *added))))


def _words(group: Group) -> str:
    return f"{group.path} {group.name}".lower()


def _envelope(machine: Machine, interval: GroupInterval, table: RowTable[GroupRow]) -> Envelope:
    notes = [] if interval.complete else [f"there are more control groups than the {len(interval.rows):,} listed"]
    note = sum_held_against_package(table, interval.energy, len(machine.topology.instances(Scope.PACKAGE)))
    return Envelope(machine.host.name, machine.host.kind, interval.wall_ns, interval.seconds,
                    notes=tuple(filter(None, (*notes, note, interval.coverage))))


def _text(choice: RowChoice[GroupRow], envelope: Envelope, table: RowTable[GroupRow]) -> Iterator[str]:
    """Format the table without columns whose values are all unknown, and below it the reasons."""
    yield envelope.heading(table.name, f"{envelope.seconds or 0.0:.3f} s")
    known = table.known_columns
    shown = indented(known, GROUP.id, _depth) if choice.keeps_order else known
    if table.rows:
        yield from text_lines(envelope, replace(table, columns=shown), room=terminal_room())
    else:
        yield "# no group passes"
    yield from (f"# {note}" for note in envelope.notes)
    missing = [column for column in table.columns if column not in known] if table.rows else []
    for reason, names in _by_reason(table, missing).items():
        yield f"# no {', '.join(names)}: {reason}"
    yield ""


def _monitored(envelope: Envelope, table: ResctrlTable, info: ResctrlInfo | None) -> Iterator[str]:
    """Format the table of resctrl, and what can be monitored; groups alone if there are many domains."""
    shown = indented([column for column in table.columns if column.default], GROUP.id, _depth_in_resctrl)
    yield envelope.heading(table.name)
    rows = [row for row in table.rows if not row.group.domain or not has_many_domains(table.rows)]
    yield from text_lines(envelope, resctrl_table(rows, shown))
    if len(rows) < len(table.rows):
        yield "# each group is the sum of its domains, which the other formats have"
    if info is not None:
        yield f"# {info.in_words(sum(not row.group.domain for row in table.rows))}"
    for reason, names in _by_reason(table, [column for column in shown if not column.identity and not any(
            value is not None for value in table.values(column, table.rows))]).items():
        yield f"# no {', '.join(names)}: {reason}"
    yield ""


def _depth_in_resctrl(row: GroupRow) -> int:
    return (row.group.domain != "") + (NODE in row.group.domain) + ("/mon_groups/" in row.group.path)


def _by_reason(table: RowTable[GroupRow], columns: Sequence[GroupColumn]) -> Mapping[str, list[str]]:
    """Group columns by why no row has a value, by the last row, as the outermost group is a special case."""
    by_reason: dict[str, list[str]] = {}
    for column in columns:
        why = table.cell(column, table.rows[-1]).why
        by_reason.setdefault("" if why is None else why.sentence(), []).append(column.id)
    return by_reason


def _depth(row: GroupRow) -> int:
    return 0 if row.group.path == WHOLE else row.group.path.count("/")
