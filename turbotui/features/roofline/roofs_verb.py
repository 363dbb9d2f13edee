"""`turbotui roofs`: the peaks of this machine's cores and caches, measured or from the spec sheet."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, marked, print_tables
from turbotui.commands.long_work import LongWork, long_work
from turbotui.commands.sessions import open_host
from turbotui.errors import UsageError
from turbotui.features.roofline.curve_measuring import measure_curves
from turbotui.features.roofline.curve_tables import CURVE_TABLES, curve_lines, curve_tables
from turbotui.features.roofline.engine import find_roofs, stored_roofs
from turbotui.features.roofline.measuring import ShowProgress, threads_of
from turbotui.features.roofline.roof_tables import TABLES, roof_notes, roof_tables
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.roofs_text import plot_text, report_lines
from turbotui.features.roofline.spec_sheets import CHIPS, CORES
from turbotui.features.roofline.theory import chip_roofs, machine_roofs
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine, read_machine
from turbotui.tables.envelope import Envelope, envelope_now

_HERE = "this machine"
_WORDS = ("one", "all")
_KINDS = ("P", "E", "LP")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    chips = ", ".join(CHIPS.names())
    parser.add_argument("--theory", metavar="CHIP", nargs="?", const=_HERE,
                        help=f"compute them from the spec sheet instead of measuring: of a chip ({chips}); "
                             "without CHIP of this machine, the only choice with --machine, where its "
                             f"microarchitecture is one of {', '.join(CORES.names())}")
    parser.add_argument("--threads", metavar="one|all|P|E|LP|SET",
                        help="one thread, one on every core, one on every core of a kind (hybrid machines), or one on "
                             "each CPU of a set such as 0-3,8 (default: one, of each kind of core, then all)")
    parser.add_argument("--quick", action="store_true",
                        help="a few seconds: only the widest double-precision arithmetic and loads; not stored")
    parser.add_argument("--fresh", action="store_true", help="measure again instead of using the stored roofs")
    parser.add_argument("--sweep", action="store_true",
                        help="instead of roofs the bandwidth over the size of the working set, with its plateaus: "
                             "loads, streaming stores, and loads from other NUMA nodes where there are some")
    add_format_arguments(parser, (*TABLES, *CURVE_TABLES))
    parser.add_argument("--no-plot", action="store_true", help="only the tables")


def run(arguments: argparse.Namespace) -> int:
    """Measure, compute or load the roofs, and print them."""
    status = 0
    if arguments.sweep:
        return _sweep(arguments)
    if arguments.theory not in (None, _HERE):
        words = _WORDS if arguments.threads is None else (arguments.threads,)
        if any(word not in _WORDS for word in words):
            raise UsageError("a chip of the table has no CPUs of its own: --threads one or all")
        sets = tuple(chip_roofs(arguments.theory, word) for word in words)
        envelope = Envelope(sets[0].machine, HostKind.REAL, time.time_ns())
    else:
        machine = read_machine(open_host(arguments))
        if arguments.theory is None and machine.host.kind is HostKind.REAL:
            sets, status = _measured(machine, arguments)
        else:
            stored = stored_roofs(machine) if machine.host.kind is HostKind.REAL else {}
            sets = tuple(machine_roofs(machine, *choice, measured=stored.get(choice))
                         for choice in _choices(machine, arguments.threads))
        envelope = envelope_now(machine.host)
    origins = "; ".join(dict.fromkeys(roofs.origin.words for roofs in sets))
    envelope = replace(envelope, meaning=origins, notes=roof_notes(sets))

    def text() -> Iterator[str]:
        yield from marked(envelope, report_lines(envelope, sets))
        if not arguments.no_plot and sets[-1].peaks and sets[-1].bandwidths:
            yield "\n" + plot_text(sets[-1], width=_columns(), coloured=sys.stdout.isatty())

    print_tables(arguments, envelope, roof_tables(sets), text)
    return status


def _sweep(arguments: argparse.Namespace) -> int:
    if arguments.theory is not None or arguments.quick or arguments.fresh:
        raise UsageError("--sweep measures, and stores nothing: leave --theory, --quick and --fresh out")
    machine = read_machine(open_host(arguments))
    with long_work("measuring bandwidths") as work:
        curves = measure_curves(machine, _choices(machine, arguments.threads), check=work.check,
                                progress=_progress(work))
    envelope = replace(envelope_now(machine.host), meaning="measured",
                       notes=tuple(dict.fromkeys(note for curve in curves for note in curve.notes)))
    print_tables(arguments, envelope, curve_tables(curves),
                 lambda: marked(envelope, curve_lines(envelope, curves, _columns())))
    return work.status


def _progress(work: LongWork) -> ShowProgress:
    def show(done: int, total: int, what: str) -> None:
        work.show(done, total, f"{done} of {total}, {what}", at_once=not done)

    return show


def _columns() -> int:
    return min(120, os.get_terminal_size().columns) if sys.stdout.isatty() else 100


def _choices(machine: Machine, threads: str | None) -> list[tuple[str, tuple[int, ...]]]:
    """Return the requested sets of CPUs; "one" and "all" are the same on a single core."""
    kinds = machine.topology.core_types
    if threads in kinds:
        return [(threads, _of_kind(machine, threads))]
    if threads is not None and threads not in _WORDS:
        chosen = _chosen(machine, threads)
        if missing := chosen - frozenset(machine.topology.cpus):
            raise UsageError(f"--threads {threads}: CPU {min(missing)} is not there, is offline or may not be used")
        return [(threads, threads_of(machine, threads, chosen))]
    words = _WORDS if threads is None else (threads,)
    choices = [(word, threads_of(machine, word, None)) for word in words]
    if len(kinds) > 1 and "one" in words:
        choices[:1] = [(f"one {kind}", _of_kind(machine, kind)[:1]) for kind in kinds]
    return choices[:1] if len(choices) > 1 and choices[0][1] == choices[1][1] else choices


def _chosen(machine: Machine, threads: str) -> frozenset[int]:
    """Parse the CPUs of a set after --threads. Raises UsageError if the text is no set of CPUs."""
    kinds = machine.topology.core_types
    there = ", ".join((*_WORDS, *kinds))
    if threads in _KINDS:
        of = f"only {', '.join(kinds)}" if kinds else machine.topology.kinds.sentence()
        raise UsageError(f"--threads: no {threads} cores here, {of}; there are {there}, and sets of CPUs such as 0-3,8")
    try:
        return parse_cpu_set(threads)
    except UsageError as error:
        raise UsageError(f'--threads "{threads}" is neither {there.replace(", ", " nor ")} nor a set of CPUs such as '
                         "0-3,8") from error


def _of_kind(machine: Machine, kind: str) -> tuple[int, ...]:
    """Return the first CPU of each core of a type."""
    return tuple(cpu for cpu in threads_of(machine, "all", None) if machine.topology.places[cpu].core_type == kind)


def _measured(machine: Machine, arguments: argparse.Namespace) -> tuple[tuple[RoofSet, ...], int]:
    """The roofs, and the exit status: that of the signal that ended measuring, or 0."""
    with long_work("measuring roofs") as work:
        roofs = find_roofs(machine, _choices(machine, arguments.threads), quick=arguments.quick, fresh=arguments.fresh,
                           check=work.check, progress=_progress(work))
    if roofs.unsure:
        print(f"turbotui: not stored: the roofs of {' and of '.join(f'--threads {word}' for word in roofs.unsure)}, "
              "for other work disturbed some of them (marked ?)", file=sys.stderr)
    if roofs.stored:
        print(f"stored roofs from {roofs.stored}; --fresh measures again", file=sys.stderr)
    if work.number:
        print("turbotui: stopped: what was measured until then is below, marked in the notes; only whole sets are "
              "stored", file=sys.stderr)
    return roofs.sets, work.status
