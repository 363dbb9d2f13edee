"""`turbotui topdown`: where the slots of the pipelines went, for every CPU, core, kind, package, or the machine."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer, print_lines, print_tables, text_lines
from turbotui.commands.recorded import add_span_arguments, open_replay, refuse_span, replayed_frames, tell_missing
from turbotui.commands.watching import open_host, parse_interval
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.model import CpuSet, RowLevel, TopdownRow, places
from turbotui.features.topdown.recorded import RecordedTopdown
from turbotui.features.topdown.tables import BAR, HOTTEST, NAME, RAN, TOPDOWN, TOTAL, topdown_table
from turbotui.features.topdown.trees import LEVELS
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.observing import observe
from turbotui.quantities.tables import RowTable
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of, one_interval
from turbotui.sampling.session import Session
from turbotui.tables.envelope import Envelope, envelope_now
from turbotui.tables.formats import Writer

_INTERVAL: Final = "1"
_LONG: Final = 10.0**7  # seconds: a command ends its interval


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="a table for every interval, not only once")
    parser.add_argument("-n", "--intervals", metavar="N", type=int, help="end after so many (default interval: 1 s)")
    parser.add_argument("--level", metavar="L", type=int, default=1,
                        help=f"down to this level of the tree, 1 to {LEVELS} (default 1); deeper ones take turns "
                        "on the counters")
    parser.add_argument("--per", choices=[level.value for level in RowLevel], default=RowLevel.MACHINE.value,
                        help="a row for each (default machine)")
    parser.add_argument("-c", "--cpu", "--cpus", metavar="SET", help="only these CPUs: 0-3,8 or 0..3,8")
    add_span_arguments(parser)
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over, the command or the recording is, or SIGINT comes.

    Raises:
        UsageError: options that cannot be meant.
        TurbotuiError: a recording holds no slots.
    """
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    if not 1 <= arguments.level <= LEVELS:
        raise UsageError(f"--level {arguments.level}: a tree has levels 1 to {LEVELS}")
    level = RowLevel(arguments.per)
    if arguments.replay:
        return _replay(arguments, level)
    refuse_span(arguments)
    command = arguments.command
    if command and (arguments.machine is not None or arguments.interval or arguments.intervals is not None):
        raise UsageError("a command runs on this machine, and its run is the interval: leave --machine, -i and -n out")
    seconds = _LONG if command else parse_interval(arguments.interval or _INTERVAL)
    once = arguments.interval is None and arguments.intervals is None
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    machine = read_machine(open_host(arguments), cpus)
    counters = TopdownCounters(machine)
    why = counters.why_none
    if why is not None:
        sentence = why.sentence()
        table = replace(topdown_table(counters, None, level, ()), rows=())
        print_tables(arguments, envelope_now(machine.host, notes=(sentence,)), (table,), lambda: (sentence,))
        return 1 if command else 0
    counters.drill = Drill(counters.below(arguments.level))
    session = Session(machine, (), seconds, LinuxHost(), cpus)
    session.read_also(counters.sources(), counters.signals())
    intervals = 1 if once else arguments.intervals
    writer = make_writer(arguments, intervals, marks=True)
    printer = TopdownPrinter(counters, level, arguments.level, writer)
    if command:
        return run_beside(session, command, printer)
    printer.all(machine, (frame for frame in frames_of(session, intervals) if frame.older is not None))
    return 0


def run_beside(session: Session, command: Sequence[str], printer: TopdownPrinter) -> int:
    """One interval around a command; its exit status."""
    with observe(command) as seen:
        with one_interval(session) as frames:
            seen.run()
            seen.wait()
        printer.all(session.machine, frames[-1:] if len(frames) > 1 else ())
        return seen.commands[0].status or 0


def _replay(arguments: argparse.Namespace, level: RowLevel) -> int:
    if arguments.interval or arguments.cpu or arguments.command:
        raise UsageError("--replay shows what was recorded: leave -i (--every), --cpu and a command out")
    with open_replay(arguments) as journal:
        counters = RecordedTopdown(journal.machine)
        counters.drill = Drill(counters.below(arguments.level))
        frames = (frame for frame in replayed_frames(arguments, journal) if counters.has_any(frame))
        first = next(frames, None)
        if first is None:
            raise TurbotuiError(f"{arguments.replay} holds no slots of pipelines"
                                f"{' in that time' if arguments.start or arguments.end else ''}: "
                                "turbotui record --tables topdown records them")
        chosen = itertools.islice(itertools.chain((first,), frames), arguments.intervals)
        writer = make_writer(arguments, arguments.intervals, marks=True)
        TopdownPrinter(counters, level, arguments.level, writer).all(journal.machine, chosen)
        tell_missing(journal)
    return 0


class TopdownPrinter:
    """Prints the table of every interval.

    Args:
        counters: what is counted.
        level: of the rows.
        levels: of the tree.
        writer: None for text.
    """

    def __init__(self, counters: TopdownCounters, level: RowLevel, levels: int, writer: Writer | None) -> None:
        self._counters = counters
        self._level = level
        self._levels = levels
        self._writer = writer

    def all(self, machine: Machine, frames: Iterable[Frame]) -> None:
        """Print until there are no more intervals, or SIGINT comes."""
        try:
            for frame in frames:
                self._one(machine, frame)
        except KeyboardInterrupt:
            pass  # that is how a person ends it
        finally:
            if self._writer is not None:
                self._writer.end()

    def _one(self, machine: Machine, frame: Frame) -> None:
        rows: Sequence[CpuSet] = places(frame.topology, self._level)
        table = topdown_table(self._counters, frame, self._level, rows, self._levels)
        facts = {branch.pmu: branch.tree.title for branch in self._counters.branches}
        envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds, facts=facts,
                            notes=tuple(dict.fromkeys(row.fault() for row in table.rows if row.fault())))
        if self._writer is not None:
            self._writer.write(envelope, (table,))
        else:
            print_lines(_text(envelope, table, facts.values()))


def _text(envelope: Envelope, table: RowTable[TopdownRow], trees: Iterable[str]) -> Iterator[str]:
    """The table with bars in place of ids, and what to try where most is lost."""
    yield f"# {', '.join([TOPDOWN, envelope.time, *filter(None, [envelope.label])])}"
    yield f"# {'; '.join(dict.fromkeys(trees))}"
    apart = {HOTTEST.id, TOTAL.id, RAN.id}
    measured = [column for column in table.columns if not column.identity and column.id not in apart]
    shown = [column for column in measured if any(table.cell(column, row).value is not None for row in table.rows)]
    ran = next(column for column in table.columns if column.id == RAN.id)
    shared = any((ran.compute(row) or 100.0) != 100.0 for row in table.rows)
    kept = (NAME, BAR, *shown, *((ran,) if shared else ()), HOTTEST)
    yield from text_lines(envelope, replace(table, columns=kept))
    yield from (f"# ! {text}" for text in envelope.notes)
    hottest = {node.id: node for row in table.rows if not row.fault() for node in row.hottest_path()}
    for node in hottest.values():
        yield f"# {node.words.title}: {node.words.sentence} Try: {node.words.advice}."
    whys = dict.fromkeys(cell.why.sentence() for row in table.rows for column in shown or measured
                         for cell in [table.cell(column, row)] if cell.why is not None)
    yield from (f"# - {why}" for why in whys)
    yield ""
