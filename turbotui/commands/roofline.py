"""`turbotui roofline`: where a command, or what runs on this machine, stands below the machine's roofs."""

from __future__ import annotations

import argparse
import os
import queue
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from turbotui.analysis.roofline.export import svg_text
from turbotui.analysis.roofline.judging import Choice, core_weights, roofs_for
from turbotui.analysis.roofline.live import Spot, read_spots
from turbotui.analysis.roofline.measuring import machine_title
from turbotui.analysis.roofline.point_table import point_table
from turbotui.analysis.roofline.result import Result
from turbotui.analysis.roofline.result_tables import TABLES, result_tables
from turbotui.analysis.roofline.roof_tables import roof_notes
from turbotui.analysis.roofline.sharing import Working
from turbotui.analysis.roofline.traffic import MemoryTraffic
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.roofline_beside import NOT_READ_TWICE, Beside, energy_of
from turbotui.commands.roofline_child import TURN, follow
from turbotui.commands.roofline_text import plot_of, report_lines
from turbotui.commands.watching import named_host, parse_interval
from turbotui.errors import InternalError, MachineError, TurbotuiError, UsageError
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import Host, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.roofline_banks import Bank, banks_of
from turbotui.machine.signal_guard import guarded_signals
from turbotui.output.csv_lines import csv_text
from turbotui.output.envelope import Envelope
from turbotui.output.saving import write_new
from turbotui.quantities.catalog.roofline import measured_recipes
from turbotui.quantities.recipes import Recipe
from turbotui.quantities.roofline import NO_FLOPS, Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.sources.roofline import why_uncounted

_INTERVALS = 10
_BY = {"machine": None, "package": Scope.PACKAGE, "core": Scope.CORE, "cpu": Scope.CPU}
_INTERRUPTED = "interrupted: this is what was counted until then"
_SIGINT_STATUS = 128 + signal.SIGINT  # as shells have it, for a command that Ctrl-C ended
_ONE_CPU = 1.2  # a command that keeps more CPUs busy on average is compared with the roofs of all cores


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", default="1", help="seconds between two points (1)")
    parser.add_argument("-n", "--intervals", metavar="N", type=int,
                        help=f"end after so many; without a command {_INTERVALS}, with one when it ends")
    parser.add_argument("-c", "--cpu", metavar="SET", help="without a command: only these CPUs")
    parser.add_argument("--by", choices=list(_BY), default="machine",
                        help="without a command: rows beside the whole machine (default none)")
    parser.add_argument("--width", metavar="mix|precision|BYTES", default="mix",
                        help="bytes of a load or store where the core does not count them: the mean width of the "
                             "floating-point instructions, 4 or 8 by precision, or a number")
    parser.add_argument("--theory", action="store_true", help="roofs of the spec sheet even where some were measured")
    add_format_arguments(parser, TABLES)
    parser.add_argument("--csv", metavar="FILE", help="write every point to a new file, whatever is printed")
    parser.add_argument("--svg", metavar="FILE", help="draw roofs and points into a new file")
    parser.add_argument("--no-plot", action="store_true", help="only the tables")
    parser.add_argument("command", nargs="*", metavar="command",
                        help="after --: run this and count it and all that it starts; with --machine the name of a "
                             "simulated application (turbotui machines)")


def run(arguments: argparse.Namespace) -> int:
    """Count, then print."""
    interval = parse_interval(arguments.interval)
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    sizing = parse_width(arguments.width)
    for path in (arguments.csv, arguments.svg):
        if path is not None and os.path.exists(path):
            raise UsageError(f"{path} exists already, and is not written over: give another name")
    host = _host(arguments)
    here = host.kind is HostKind.REAL
    if arguments.command and host.kind is HostKind.RECORDED:
        raise UsageError("a command runs on this machine, not on a recorded one: leave one of them out")
    if arguments.command and here:
        if arguments.cpu is not None or arguments.by != "machine" or arguments.intervals is not None:
            raise UsageError("--cpu, --by and -n are for whole machines: a command is counted wherever it runs, "
                             "until it ends")
        machine = read_machine(host)
        why = why_uncounted(machine)
        if why is not None:
            raise MachineError(f"the command was not run: {why.sentence()}")
        banks = tuple(bank for bank in banks_of(machine) if bank.recipe.flops)
        result = count_command(machine, banks, arguments.command, interval, sizing=sizing, theory=arguments.theory)
    else:
        cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
        session = Session(read_machine(host, cpus), SOURCES, interval, LinuxHost(), cpus)
        result = _watched(session, arguments, sizing)
    envelope = Envelope(result.host, result.kind, time.time_ns(), result.seconds,
                        facts={"processor": result.title, "counted": result.counted}, notes=result.notes)
    if arguments.csv is not None:
        write_new(arguments.csv, csv_text(envelope, point_table(result.spots)))
    if arguments.svg is not None:
        _write_svg(arguments.svg, result)

    def text() -> Iterator[str]:
        width = min(120, os.get_terminal_size().columns) if sys.stdout.isatty() else 100
        return report_lines(envelope, result, plot=not arguments.no_plot, width=width, coloured=sys.stdout.isatty())

    print_tables(arguments, envelope, result_tables(result), text, marks=True)
    return result.status


def parse_width(text: str) -> Sizing:
    """What --width says.

    Raises:
        UsageError: neither a model nor a positive number of bytes.
    """
    if text in ("mix", "precision"):
        return Sizing(WidthModel.MIX if text == "mix" else WidthModel.PRECISION)
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size <= 256:
        raise UsageError(f'--width "{text}" is neither mix nor precision nor a number of bytes up to 256')
    return Sizing(WidthModel.GIVEN, size)


def _host(arguments: argparse.Namespace) -> Host:
    """The machine that is named; with a simulated one the command is one of its applications."""
    if arguments.machine is not None and arguments.command:
        if len(arguments.command) != 1:
            raise UsageError("a simulated machine runs no commands but simulated applications: one word after --")
        return named_host(f"{arguments.machine}+{arguments.command[0]}", arguments.sysroot)
    return named_host(arguments.machine, arguments.sysroot)


def _write_svg(path: str, result: Result) -> None:
    spots = result.main
    roofs = result.drawn(spots) if spots else None
    if roofs is None:
        source = next(iter(result.roofs.values())).source if result.roofs else "nothing was counted"
        raise MachineError(f"there is nothing to draw in {path}: {source}")
    simulated = "" if result.kind is HostKind.REAL else f"{result.kind.value} machine {result.host}: "
    title = f"{simulated}{result.title}, {spots[0].name}"
    write_new(path, svg_text(plot_of(roofs, spots), spots, title=title, notes=result.notes))


# A command


def count_command(machine: Machine, banks: tuple[Bank, ...], words: Sequence[str], interval: float, *, sizing: Sizing,
                  theory: bool) -> Result:
    """Run a command and count it.

    Args:
        machine: this one.
        banks: kinds of core, each with a recipe that counts operations.
        words: the command.
        interval: seconds between two points.
        sizing: how accesses become bytes.
        theory: whether measured roofs are passed over.

    Raises:
        MachineError: the events cannot be counted for this user; the command was not run.
        TurbotuiError: the command cannot be run.
    """
    beside = Beside(machine, interval)
    try:
        followed = follow(machine, banks, words, interval, sizing=sizing, ready=beside.start)
    finally:
        beside.stop()
    joules = beside.joules
    many = followed.busy > _ONE_CPU
    row = SYSTEM_ROW if many else cpu_row(machine.topology.cpus[0])
    choice = roofs_for(machine, row, os.environ, theory=theory)
    working = _working(machine, followed.busy if many else 1.0, beside.traffic)
    cores = f"{working.cores:.1f} cores" if many else "one core"
    notes = [_INTERRUPTED] if followed.interrupted else []
    notes.append(f"the command kept {followed.busy:.1f} CPUs busy: compared with the roofs of {cores}, and with all of "
                 "the memory's, whatever else ran")
    if followed.user_only:
        notes.append("only user mode is counted: kernel.perf_event_paranoid hides the kernel's part from this user")
    if joules is not None:
        notes.append("energy is that of the packages, with everything else that ran")
    if followed.sets > 1:
        notes.append(f"~ more events than counters: {followed.sets} sets took turns, every {1e3 * TURN:.0f} ms; what a "
                     "set did not count is joined from its neighbouring turns by instructions")
    if not followed.spots:
        notes.append("it ended before every set of events had its turn" if followed.sets > 1 else
                     "it ended before anything was counted")
    seconds = followed.spots[-1].seconds if followed.spots else 0.0
    recipes = tuple(dict.fromkeys(bank.recipe for bank in banks))
    spots = tuple(replace(spot, working=working) for spot in followed.spots)
    notes += _notes(recipes, spots, [choice], scaled=followed.sets == 1)
    return Result(machine.host.name, machine.host.kind, machine_title(machine), spots,
                  {spot.name: choice for spot in spots}, _counted(recipes, sizing, spots), tuple(notes),
                  joules, beside.why, seconds,
                  followed.status or (_SIGINT_STATUS if followed.interrupted else 0))


def _working(machine: Machine, busy: float, traffic: float | None) -> Working:
    """What a command has of the machine while it keeps so many CPUs busy; which ones, nobody noted."""
    cores = len(machine.topology.instances(Scope.CORE))
    used = min(float(cores), busy)
    return Working(used, used / cores if busy > 1 else 1.0, beside=used, traffic=traffic)


# A machine


def _watched(session: Session, arguments: argparse.Namespace, sizing: Sizing) -> Result:
    machine = session.machine
    recipes = measured_recipes(session.census.signals)
    if not recipes:
        raise MachineError(f"nothing to place on the roofline: {session.census.why_missing(NO_FLOPS).sentence()}")
    columns = [column.id for column in session.catalog.columns
               if "roofline" in column.groups and why_absent(column, session.census, machine.topology) is None]
    known_energy, absent = energy_of(session)
    session.want([*columns, *([known_energy.id] if known_energy is not None else [])])
    traffic = MemoryTraffic(machine)
    session.read_also(traffic.sources(), traffic.signals())
    weights = core_weights(machine)
    rows = _rows(machine, _BY[arguments.by])
    flops = session.catalog.get("GFLOP/s")
    spots: list[Spot] = []
    joules, passed, counted, missed = 0.0, 0.0, 0.0, 0
    interrupts: list[int] = []
    for frame in _frames(session, arguments.intervals or _INTERVALS, interrupts):
        if frame.older is None or flops is None:
            continue
        passed += frame.seconds or 0.0
        estimated = frame.estimated(flops, SYSTEM_ROW)
        reading = read_spots(frame, rows, recipes, sizing, seconds=passed, estimated=estimated, weights=weights,
                             traffic=traffic.read(frame))
        spots += reading.spots
        value = None if known_energy is None else frame.cell(known_energy, SYSTEM_ROW)
        if not any(spot.row == SYSTEM_ROW for spot in reading.spots):
            missed += 1  # its energy belongs to work that is not known
        elif isinstance(value, int | float):
            joules += value
            counted += frame.seconds or 0.0
    seen = {spot.name for spot in spots}
    silent = [name for _, name in rows if name not in seen]
    notes = [f"not counted, and left out: {', '.join(silent[:8])}{' ...' if len(silent) > 8 else ''}"] if silent else []
    if interrupts:
        notes.insert(0, _INTERRUPTED)
    if missed:
        notes.append(f"{missed} intervals could not be read and are left out")
    choices = _choices(machine, rows, theory=arguments.theory)
    return Result(
        machine.host.name, machine.host.kind, machine_title(machine), tuple(spots), choices,
        _counted(recipes, sizing, spots), (*notes, *_notes(recipes, spots, list(choices.values()))),
        joules if counted else None, None if counted else absent or NOT_READ_TWICE, counted or passed,
        _SIGINT_STATUS if interrupts and arguments.command else 0,
    )


def _rows(machine: Machine, scope: Scope | None) -> list[tuple[RowId, str]]:
    topology = machine.topology
    found = [] if scope is None else [
        (one.row, f"cpu {one.cpus[0]}" if scope is Scope.CPU else f"{scope.value} {one.label}"
         if scope is Scope.PACKAGE else f"core of cpu {one.cpus[0]}")
        for one in topology.instances(scope) if one.cpus
    ]
    return [*found, (SYSTEM_ROW, "machine")]


def _choices(machine: Machine, rows: Sequence[tuple[RowId, str]], *, theory: bool) -> dict[str, Choice]:
    """Roofs of each row; equal ones are made once."""
    known: dict[tuple[object, ...], Choice] = {}
    found = {}
    for row, name in rows:
        instance = machine.topology.instance(row)
        cpu = instance.cpus[0] if instance is not None and instance.cpus else -1
        small = row.scope.rank < Scope.PACKAGE.rank
        place = machine.topology.row(Scope.PACKAGE, cpu) if small and cpu >= 0 else row
        key = (row.scope, machine.topology.places[cpu].core_type if cpu >= 0 else None, place)
        if key not in known:
            known[key] = roofs_for(machine, row, os.environ, theory=theory)
        found[name] = known[key]
    return found


def _frames(session: Session, intervals: int, interrupts: list[int]) -> Iterator[Frame]:
    """Frames until there are enough, or SIGINT, which is put into `interrupts`."""
    frames: queue.Queue[Frame | None] = queue.Queue()
    with _interruptible(session, interrupts):
        session.start(frames.put, intervals=intervals, on_end=lambda: frames.put(None))
        try:
            if interrupts:  # before there was anything to stop
                session.stop(wait_seconds=0.0)
            while (frame := frames.get()) is not None:
                yield frame
        finally:
            session.stop()
    if session.failure is not None:
        if isinstance(session.failure, TurbotuiError):
            raise session.failure
        raise InternalError(f"sampling ended: {session.failure!r}") from session.failure


def _interruptible(session: Session, interrupts: list[int]) -> AbstractContextManager[None]:
    """SIGINT and SIGTERM end the sampling, and what was counted is printed."""

    def end(number: int) -> None:
        interrupts.append(number)
        session.stop(wait_seconds=0.0)

    return guarded_signals({signal.SIGINT: end, signal.SIGTERM: end})


def _counted(recipes: Sequence[Recipe], sizing: Sizing, spots: Sequence[Spot]) -> str:
    models = {spot.width for spot in spots if spot.width is not None} or {sizing.model}
    words = " and ".join(sorted(f"{model.value}{f' ({sizing.given:g})' if model is WidthModel.GIVEN else ''}"
                                for model in models))
    return f"counted as on {', '.join(recipe.name for recipe in recipes)}; bytes: {words}"


def _notes(recipes: Sequence[Recipe], spots: Sequence[Spot], choices: Sequence[Choice], *,
           scaled: bool = True) -> list[str]:
    found = [f"{recipe.name}: {recipe.note}" for recipe in recipes]
    found += [f"{recipe.name}: {recipe.unverified}" for recipe in recipes if recipe.unverified]
    if scaled and any(spot.estimated for spot in spots):
        found.append("~ more events than counters: the kernel let them take turns, and each count is scaled by the "
                     "time in which it was on")
    sets = list(dict.fromkeys(one.roofs for one in choices if one.roofs is not None))
    found += [f"roofs: {note}" for note in roof_notes(sets)]
    if spots and all(spot.gbytes is None for spot in spots):
        found.append("bytes are not known, so points have no intensity: --width BYTES gives the width of an access")
    return found
