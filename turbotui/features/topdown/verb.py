"""`turbotui topdown`: the use of pipeline slots by CPUs, threads, a command, or the machine."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments, whole
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, add_output_argument, to_output
from turbotui.commands.intervals import IntervalOutput, add_interval_arguments, at_least_one, intervals_of, open_output
from turbotui.commands.recorded import (
    add_span_arguments,
    open_replay,
    recorded_ones,
    refuse_span,
    replayed_frames,
    report_missing,
)
from turbotui.commands.regions import add_regions_argument, open_given_pipe
from turbotui.commands.sessions import open_host
from turbotui.errors import MachineError, UsageError
from turbotui.features.topdown.engine import RECORDED_LEVELS, Drill, RecordedTopdown, TopdownCounters
from turbotui.features.topdown.followed import FollowRequest, run_followed
from turbotui.features.topdown.places import MOVING, RowLevel
from turbotui.features.topdown.printing import TopdownPrinter
from turbotui.features.topdown.recorded_regions import region_slots_of
from turbotui.features.topdown.recorded_threads import threads_of
from turbotui.features.topdown.region_interval_rows import interval_rows, region_interval_notes
from turbotui.features.topdown.region_slots import RegionInterval
from turbotui.features.topdown.tables import TABLES
from turbotui.features.topdown.thread_rows import interval_notes, thread_rows
from turbotui.features.topdown.thread_search import MOST
from turbotui.features.topdown.trees import LEVELS
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.observing import observe
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of, one_interval
from turbotui.sampling.session import Session

if TYPE_CHECKING:  # few runs read a recording: its modules are loaded then
    from turbotui.recording.journal import Journal

_LONG: Final = 10.0**7  # seconds, longer than any run, because a command ends its interval
WHOLE_MACHINE: Final = ("these cores count slots for both of their CPUs together, and not for what runs on one: this "
                        "is the whole machine while the command ran")
ONLY_CORES: Final = ("--regions: these cores count slots for both of their CPUs together, and not for what runs on "
                     "one: turbotui roofline --regions and tasks --regions count regions here")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_host_arguments(parser)
    add_event_tables_argument(parser)
    add_interval_arguments(parser)
    parser.add_argument("--level", metavar="L", type=whole, default=1,
                        help=f"down to this level of the tree, 1 to {LEVELS} (default 1); deeper levels are "
                             f"multiplexed")
    parser.add_argument("--per", choices=[level.value for level in RowLevel if level is not RowLevel.REGION],
                        help="a row for each (default machine; for a command, or one whose slots of regions were "
                        "recorded, the command itself and all that it starts, with a table of the regions that it "
                        "marks; with --pid each thread)")
    parser.add_argument("--threads", action="store_true", help="the same as --per thread")
    parser.add_argument("--pid", metavar="N", type=whole, action="append", default=[],
                        help="the threads of this process; may be given several times (without it and a command: "
                        f"the {MOST} busiest threads of the machine)")
    parser.add_argument("-c", "--cpu", "--cpus", metavar="SET", help="only these CPUs: 0-3,8 or 0..3,8")
    add_regions_argument(parser)
    add_span_arguments(parser)
    add_format_arguments(parser, TABLES)
    add_output_argument(parser)


@to_output
def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals are over, the command or the recording is, or SIGINT comes.

    Raises:
        UsageError: the options contradict each other.
        TurbotuiError: the recording holds no slots.
    """
    at_least_one(arguments.intervals)
    if not 1 <= arguments.level <= LEVELS:
        raise UsageError(f"--level {arguments.level}: a tree has levels 1 to {LEVELS}")
    check_host_arguments(arguments)
    level = _level(arguments)
    regions = open_given_pipe(arguments)
    if arguments.replay:
        return _replay(arguments, level)
    refuse_span(arguments)
    if arguments.host:
        return _replay(arguments, level, *intervals_of(arguments))
    command = arguments.command
    if command and (arguments.machine is not None or arguments.interval or arguments.intervals is not None):
        raise UsageError("a command runs on this machine, and its run is the interval: leave --machine, -i and -n out")
    endless = command or (regions is not None and not arguments.interval)
    seconds, intervals = intervals_of(arguments)
    seconds = _LONG if endless else seconds
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    machine = read_machine(open_host(arguments), cpus)
    counters = TopdownCounters(machine)
    if (why := counters.why_none) is not None:
        raise MachineError(f"{'the command was not run: ' if command else ''}{why.sentence()}")
    counters.drill = Drill(counters.below(arguments.level))
    notes: tuple[str, ...] = ()
    if regions is not None and counters.only_cores:
        raise MachineError(ONLY_CORES)
    if level is RowLevel.COMMAND and arguments.per is None and counters.only_cores:
        level, notes = RowLevel.MACHINE, (WHOLE_MACHINE,)
    if level in MOVING:
        printer = TopdownPrinter(counters, level, arguments.level, open_output(arguments, intervals))
        return run_followed(machine, counters, printer,
                            FollowRequest(command, tuple(arguments.pid), seconds, intervals, regions))
    session = Session(machine, (), seconds, LinuxHost(), cpus)
    session.read_also(counters.sources(), counters.signals())
    printer = TopdownPrinter(counters, level, arguments.level, open_output(arguments, intervals), notes)
    if command:
        return run_beside(session, command, printer)
    printer.all(machine, (frame for frame in frames_of(session, intervals) if frame.older is not None))
    return 0


def _level(arguments: argparse.Namespace) -> RowLevel:
    """Return the level of the requested rows. Raises UsageError if the options exclude each other."""
    if arguments.threads and arguments.per not in (None, RowLevel.THREAD.value):
        raise UsageError(f"--threads is --per thread: leave --per {arguments.per} out")
    if arguments.regions is not None:
        if arguments.per or arguments.threads or arguments.pid or arguments.cpu or arguments.intervals is not None:
            raise UsageError("--regions counts the programs that mark regions, wherever they run, until they end: "
                             "leave --per, --threads, --pid, --cpu and -n out (-i SECONDS ends it before)")
        level = RowLevel.COMMAND
    elif arguments.per is not None:
        level = RowLevel(arguments.per)
    elif arguments.threads or arguments.pid:
        level = RowLevel.THREAD
    else:
        level = RowLevel.COMMAND if arguments.command and not arguments.cpu else RowLevel.MACHINE
    if arguments.pid and (level is not RowLevel.THREAD or arguments.command):
        raise UsageError("--pid shows threads of processes that run: leave --per and a command out")
    if level is RowLevel.COMMAND and not arguments.command and arguments.regions is None and not arguments.replay:
        raise UsageError("--per command needs a command after --")
    if level in MOVING and arguments.cpu:
        raise UsageError(f"--per {level.value} counts on whichever CPU it runs: leave --cpu out")
    return level


def run_beside(session: Session, command: Sequence[str], printer: TopdownPrinter) -> int:
    """Measure one interval around a command, and return its exit status."""
    with observe(command) as seen:
        with one_interval(session) as frames:
            seen.run()
            seen.wait()
        printer.all(session.machine, frames[-1:] if len(frames) > 1 else ())
        return seen.commands[0].status or 0


def _replay(arguments: argparse.Namespace, level: RowLevel, seconds: float = 1.0, intervals: int | None = None) -> int:
    """Print the tables of a recording, or of the machine of --host.

    Raises:
        UsageError: an option needs a live machine.
        TurbotuiError: no slots were recorded in that time.
    """
    tables = "threads" if level is RowLevel.THREAD else "topdown"
    if arguments.host:
        if (arguments.command or arguments.pid or arguments.regions is not None or arguments.event_tables
                or arguments.level > RECORDED_LEVELS):
            raise UsageError(f"a command, --pid, --regions, --event-tables and levels below {RECORDED_LEVELS} are not "
                             "for --host: run turbotui topdown there")
    elif arguments.interval or arguments.cpu or arguments.command or arguments.regions is not None:
        raise UsageError("--replay shows what was recorded: leave -i (--every), --cpu, --regions and a command out")
    with open_replay(arguments, intervals=intervals, seconds=seconds, tables=tables) as journal:
        counters = RecordedTopdown(journal.machine)
        counters.drill = Drill(counters.below(arguments.level))
        output = open_output(arguments, intervals or arguments.intervals)
        if arguments.per is None and not arguments.host:
            level = _recorded_level(arguments, journal, counters, level)
        if level is RowLevel.COMMAND:
            _replay_regions(arguments, journal, counters, output, level)
        elif level is RowLevel.THREAD:
            frames = recorded_ones(arguments, replayed_frames(arguments, journal),
                                   lambda frame: frame if threads_of(journal.rows, frame) else None, "slots of threads",
                                   "threads")
            printer = TopdownPrinter(counters, level, arguments.level, output)
            _replay_threads(journal, counters, printer, frames, frozenset(arguments.pid))
        else:
            frames = recorded_ones(arguments, replayed_frames(arguments, journal),
                                   lambda frame: frame if counters.has_any(frame) else None, "slots of pipelines",
                                   "topdown")
            TopdownPrinter(counters, level, arguments.level, output).all(journal.machine, frames)
        report_missing(journal)
    return 0


def _recorded_level(arguments: argparse.Namespace, journal: Journal, counters: RecordedTopdown,
                    level: RowLevel) -> RowLevel:
    """Return the default level of a recording: the whole machine if recorded, else regions, else threads."""
    if level is not RowLevel.MACHINE:
        return level
    for frame in replayed_frames(arguments, journal, named=False):
        if counters.has_any(frame):
            return level
        if region_slots_of(journal.rows, frame) is not None:
            return RowLevel.COMMAND
        if threads_of(journal.rows, frame) is not None:
            return RowLevel.THREAD
    return level


def _replay_regions(arguments: argparse.Namespace, journal: Journal, counters: TopdownCounters, output: IntervalOutput,
                    level: RowLevel) -> None:
    """Print the recorded regions as they were at the end, or with --every or -n at the end of each interval."""
    def read(frame: Frame) -> tuple[Frame, RegionInterval] | None:
        slots = region_slots_of(journal.rows, frame)
        return None if slots is None else (frame, slots)

    every = recorded_ones(arguments, replayed_frames(arguments, journal), read, "slots of regions", "region-slots")
    printer = TopdownPrinter(counters, level, arguments.level, output)
    for frame, slots in every if arguments.every or arguments.intervals else deque(every, maxlen=1):
        rows = interval_rows(counters.branches, slots)
        printer.rows(journal.machine, [row for row in rows if row.place.level is level], slots.first.seconds,
                     regions=[row for row in rows if row.place.level is not level],
                     notes=region_interval_notes(slots), wall_ns=frame.newer.wall_ns)
    printer.end()


def _replay_threads(journal: Journal, counters: TopdownCounters, printer: TopdownPrinter, frames: Iterable[Frame],
                    pids: frozenset[int]) -> None:
    """Print the recorded threads of intervals, only those of the named processes if any."""
    for frame in frames:
        if (interval := threads_of(journal.rows, frame)) is None:
            continue
        rows = [row for row in thread_rows(counters.branches, interval) if not pids or row.place.pid in pids]
        printer.rows(journal.machine, rows, interval.seconds, notes=interval_notes(interval),
                     wall_ns=frame.newer.wall_ns)
    printer.end()
