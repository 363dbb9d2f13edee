"""`turbotui roofline`: the position of a command, or of all work on this machine, below the machine's roofs."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turbotui.commands.arguments import add_machine_arguments, whole
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, add_output_argument, marked, print_tables, to_output
from turbotui.commands.intervals import at_least_one
from turbotui.commands.recorded import (
    add_span_arguments,
    open_replay,
    refuse_span,
    replayed_frames,
    report_missing,
)
from turbotui.commands.regions import add_regions_argument, open_given_pipe
from turbotui.commands.sessions import named_host, parse_interval
from turbotui.errors import MachineError, UsageError
from turbotui.features.roofline.engine import count_command, count_machine, place_recorded
from turbotui.features.roofline.export import svg_text
from turbotui.features.roofline.point_table import point_table
from turbotui.features.roofline.result import Result
from turbotui.features.roofline.result_tables import TABLES, result_tables
from turbotui.features.roofline.text import plot_of, report_lines
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import Host, HostKind
from turbotui.machine.machine import read_machine
from turbotui.quantities.plain_numbers import decimal_number
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import Scope
from turbotui.tables.csv_lines import csv_text
from turbotui.tables.envelope import Envelope
from turbotui.tables.saving import write_new

if TYPE_CHECKING:  # imported here, because few runs read a recording
    from turbotui.recording.journal import Journal

_INTERVALS = 10
_FUNCTION = "function"
_BY = {"machine": None, "package": Scope.PACKAGE, "core": Scope.CORE, "cpu": Scope.CPU}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_host_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", default="1", help="seconds between two points (1)")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole,
                        help=f"end after this many intervals; by default {_INTERVALS}, or when the command ends")
    parser.add_argument("-c", "--cpu", metavar="SET", help="without a command: only these CPUs")
    parser.add_argument("--by", choices=[*_BY, _FUNCTION], default="machine",
                        help="without a command: rows beside the whole machine (default none); with one: function, the "
                             "command's functions by samples, their shares of time and, where counted, their intensity")
    parser.add_argument("--width", metavar="mix|precision|BYTES", default="mix",
                        help="bytes of a load or store where the core does not count them: the mean width of the "
                             "floating-point instructions, 4 or 8 by precision, or a number")
    parser.add_argument("--levels", action="store_true",
                        help="count the bytes of each memory level too (L2, L3 by events of the cores, DRAM by the "
                             "memory's controllers): a point for each, and which level binds; more events are "
                             "multiplexed")
    parser.add_argument("--theory", action="store_true", help="roofs of the spec sheet even if measured ones exist")
    add_regions_argument(parser)
    add_span_arguments(parser)
    add_format_arguments(parser, TABLES)
    add_output_argument(parser)
    parser.add_argument("--csv", metavar="FILE", help="write every point to a new file, whatever is printed")
    parser.add_argument("--svg", metavar="FILE", help="draw roofs and points into a new file")
    parser.add_argument("--no-plot", action="store_true", help="only the tables")
    parser.add_argument("command", nargs="*", metavar="-- command",
                        help="the command to run, which is counted with everything that it starts; with --machine the "
                             "name of a simulated application (turbotui machines)")


@to_output
def run(arguments: argparse.Namespace) -> int:
    """Count, then print."""
    check_host_arguments(arguments)
    if not arguments.replay:
        refuse_span(arguments)
    interval = parse_interval(arguments.interval)
    at_least_one(arguments.intervals)
    sizing = parse_width(arguments.width)
    for path in (arguments.csv, arguments.svg):
        if path is not None and os.path.exists(path):
            raise UsageError(f"{path} exists already, and is not written over: give another name")
    if arguments.replay or arguments.host:
        _refuse_functions(arguments)
        if arguments.command or arguments.regions is not None:
            raise UsageError("--replay and --host place what is recorded: leave the command and --regions out")
        if arguments.replay and arguments.cpu is not None:
            raise UsageError("--replay places what was recorded: leave --cpu out")
        with open_replay(arguments, intervals=arguments.intervals or _INTERVALS, seconds=interval, tables="uncore",
                         columns="roofline") as journal:
            result, wall_ns = _replayed(arguments, journal, sizing), journal.last_ns
            report_missing(journal)
        return _show(arguments, result, wall_ns)
    given = open_given_pipe(arguments)
    host = _host(arguments)
    here = host.kind is HostKind.REAL
    if arguments.command and host.kind is HostKind.RECORDED:
        raise UsageError("a command runs on this machine, not on a recorded one: leave one of them out")
    if arguments.command and here:
        if arguments.cpu is not None or arguments.by not in ("machine", _FUNCTION) or arguments.intervals is not None:
            raise UsageError("--cpu, --by and -n are for whole machines: a command is counted wherever it runs, "
                             "until it ends")
        result = count_command(read_machine(host), arguments.command, interval, sizing=sizing, theory=arguments.theory,
                               levels=arguments.levels, functions=arguments.by == _FUNCTION)
    else:
        _refuse_functions(arguments)
        cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
        with contextlib.nullcontext() if given is None else given:
            result = count_machine(read_machine(host, cpus), interval, arguments.intervals or _INTERVALS, cpus=cpus,
                                   by=_BY[arguments.by], sizing=sizing, theory=arguments.theory,
                                   levels=arguments.levels, regions=given)
    return _show(arguments, result, time.time_ns())


def _replayed(arguments: argparse.Namespace, journal: Journal, sizing: Sizing) -> Result:
    """Return the result of a recording.

    Raises:
        MachineError: events that a point needs were not recorded.
    """
    frames = itertools.islice(replayed_frames(arguments, journal), arguments.intervals)
    machine = journal.machine
    return place_recorded(machine, frames, journal.capabilities, journal.catalog, by=_BY[arguments.by],
                          traffic=MemoryTraffic(machine, journal.definitions()), sizing=sizing,
                          theory=arguments.theory, rows=journal.rows)


def _refuse_functions(arguments: argparse.Namespace) -> None:
    if arguments.by == _FUNCTION:
        raise UsageError("--by function samples a command that runs on this machine: give one after --")


def _show(arguments: argparse.Namespace, result: Result, wall_ns: int) -> int:
    envelope = Envelope(result.host, result.kind, wall_ns, result.seconds,
                        facts={"processor": result.title, "counted": result.counted}, notes=result.notes)
    if arguments.csv is not None:
        write_new(arguments.csv, csv_text(envelope, point_table(result.points)))
    if arguments.svg is not None:
        points = result.main
        roofs = result.drawn(points) if points else None
        if roofs is None:
            source = next(iter(result.roofs.values())).source if result.roofs else "nothing was counted"
            raise MachineError(f"there is nothing to draw in {arguments.svg}: {source}")
        simulated = "" if result.kind is HostKind.REAL else f"{result.kind.value} machine {result.host}: "
        title = f"{simulated}{result.title}, {points[0].name}"
        write_new(arguments.svg, svg_text(plot_of(roofs, points), points, title=title, notes=result.notes))

    def text() -> Iterator[str]:
        width = min(120, os.get_terminal_size().columns) if sys.stdout.isatty() else 100
        return marked(envelope, report_lines(envelope, result, plot=not arguments.no_plot, width=width,
                                             coloured=sys.stdout.isatty()))

    print_tables(arguments, envelope, result_tables(result), text, marks=True)
    return result.status


def parse_width(text: str) -> Sizing:
    """Parse --width. Raises UsageError if the text is neither a model nor a possible number of bytes."""
    if text in ("mix", "precision"):
        return Sizing(WidthModel.MIX if text == "mix" else WidthModel.PRECISION)
    size = decimal_number(text) or 0.0
    if not 1 <= size <= 256:  # near 0 the intensity would be infinite
        raise UsageError(f'--width "{text}" is neither mix nor precision nor a number of bytes from 1 to 256')
    return Sizing(WidthModel.GIVEN, size)


def _host(arguments: argparse.Namespace) -> Host:
    """Open the named machine; for a simulated one the command is one of its applications."""
    if arguments.machine is not None and arguments.command:
        if len(arguments.command) != 1:
            raise UsageError("a simulated machine runs no commands but simulated applications: one word after --")
        return named_host(f"{arguments.machine}+{arguments.command[0]}", arguments.sysroot)
    return named_host(arguments.machine, arguments.sysroot)
