"""A verb that prints the rows of a kind, for every interval, in every format."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from turbotui.commands.arguments import add_machine_arguments, whole
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
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import KindDefinition, KindRow, kind_notes, row_table, unknown_columns, words_of
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.tables.envelope import Envelope


class RowVerb:
    """The `add_arguments` and `run` of a verb.

    Args:
        definition: of the kind.
    """

    def __init__(self, definition: KindDefinition) -> None:
        self._definition = definition
        self._title = definition.source.kind.title

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        add_machine_arguments(parser)
        add_host_arguments(parser)
        add_interval_arguments(parser)
        option, meaning = self._definition.parts
        if option:
            parser.add_argument(option, dest="parts", action="store_true", help=meaning)
        if self._definition.of_cpus:
            parser.add_argument("-c", "--cpu", metavar="SET", help="of these CPUs only: 0-3,8 or 0..3,8")
        sort = self._definition.sort.replace("%", "%%")
        example = next(column.id for column in self._definition.columns
                       if not column.identity and column.decimals >= 0).replace("%", "%%")
        parser.add_argument("--show", metavar="COLUMNS", default="",
                            help="these columns, comma separated (all: every one, as csv, json and openmetrics have)")
        parser.add_argument("--filter", metavar="TEXT", default="",
                            help="only rows that pass: words, or comparisons of columns such as "
                            f'"{sort or example}>{20 if example.endswith("%") else 100}"')
        parser.add_argument("--sort", metavar="COLUMN", default=self._definition.sort,
                            help="the greatest of this column first" + (f" (default {sort})" if sort else ""))
        parser.add_argument("--top", metavar="N", type=whole, help="the first N rows only")
        add_span_arguments(parser)
        add_format_arguments(parser)

    def run(self, arguments: argparse.Namespace) -> int:
        """Print a table for each interval until they are over, the recording is, or SIGINT comes.

        Raises:
            UsageError: the options contradict each other.
        """
        seconds, intervals = watched_intervals(arguments)
        if arguments.replay or arguments.host:
            return self._replay(arguments, seconds, intervals)
        chosen = getattr(arguments, "cpu", None)
        cpus = None if chosen is None else parse_cpu_set(chosen)
        machine = read_machine(open_host(arguments), cpus)
        session = Session(machine, (), seconds, LinuxHost(), cpus)
        choice = self._choice(arguments)
        # a filter looks into every text
        asked = self._definition.source if choice.passing.text else self._definition.asked(choice.used)
        session.read_rows(self, (asked,))
        frames = (frame for frame in frames_of(session, intervals) if frame.older is not None)
        self._print(arguments, machine, frames, intervals)
        return 0

    def _replay(self, arguments: argparse.Namespace, seconds: float, intervals: int | None) -> int:
        kind = self._definition.source.kind
        if not arguments.host and (arguments.interval or getattr(arguments, "cpu", None) is not None):
            left_out = "-i (--every) and -c" if self._definition.of_cpus else "-i (--every)"
            raise UsageError(f"--replay shows what was recorded: leave {left_out} out")
        with open_replay(arguments, intervals=intervals, seconds=seconds, tables=kind.id) as journal:
            frames = recorded_ones(arguments, replayed_frames(arguments, journal),
                                   lambda frame: frame if kind.id in frame.newer.rows else None, kind.title, kind.id)
            self._print(arguments, journal.machine, frames, intervals)
            report_missing(journal)
        return 0

    def _print(self, arguments: argparse.Namespace, machine: Machine, frames: Iterable[Frame],
               many: int | None) -> None:
        choice = self._choice(arguments)
        parts, restricted = getattr(arguments, "parts", None), machine.topology.restricted
        with open_output(arguments, many).until_interrupted() as output:
            for frame in frames:
                differences = frame.kind(self._definition.source.kind.id)
                notes = (differences.sentence(),) if isinstance(differences, Unavailable) else kind_notes(
                    self._definition, differences, restricted)
                table = row_table(self._definition, None if isinstance(differences, Unavailable) else differences,
                                  parts=parts)
                chosen = choice.of(replace(table, columns=choice.columns))
                envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds,
                                    notes=(*notes, *unknown_columns(chosen)))
                output.write(envelope, (chosen,), partial(
                    self._text, envelope, self._in_tree(chosen) if choice.keeps_order else chosen,
                    filtered=bool(choice.passing.text and table.rows)))

    def _choice(self, arguments: argparse.Namespace) -> RowChoice[KindRow]:
        columns = self._definition.columns
        return row_choice(arguments, columns, self._title, words_of,
                          always=[column for column in columns if column.identity])

    def _in_tree(self, table: RowTable[KindRow]) -> RowTable[KindRow]:
        """The table with its first column indented by the depth of rows inside others."""
        depth: dict[str, int] = {}
        for row in table.rows:  # a row follows that which contains it
            depth[row.row.key] = depth.get(row.row.parent, -1) + 1
        name = next(column.id for column in self._definition.columns if column.identity)
        return replace(table, columns=indented(table.columns, name, lambda row: depth[row.row.key]))

    def _text(self, envelope: Envelope, table: RowTable[KindRow], *, filtered: bool) -> Iterator[str]:
        yield envelope.heading(table.name, f"{envelope.seconds or 0.0:.3f} s")
        if table.rows:
            yield from text_lines(envelope, replace(table, columns=table.known_columns), room=terminal_room())
        elif not envelope.notes:
            yield f"# no {self._title}{' pass --filter' if filtered else ''}"
        yield from (f"# {note}" for note in envelope.notes)
        yield ""
