"""`turbotui doctor`: which sources and signals work on this machine, why others do not, and remedies."""

from __future__ import annotations

import argparse
import sys
import time

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.recorded import AT_ONCE, add_replay_argument, open_replay
from turbotui.commands.sessions import open_host
from turbotui.features.doctor.model import diagnose
from turbotui.features.doctor.plain_text import plain_lines
from turbotui.features.doctor.tables import signal_table, source_table
from turbotui.machine.machine import Machine, read_machine
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sources import SOURCES
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_replay_argument(parser)
    add_host_arguments(parser)
    add_format_arguments(parser, ("sources", "signals"))
    parser.add_argument("-v", "--verbose", action="store_true", help="list every signal of every source")


def run(arguments: argparse.Namespace) -> int:
    """Print the report, without changing anything on the machine."""
    check_host_arguments(arguments)
    if arguments.replay or arguments.host:
        with open_replay(arguments, intervals=1, seconds=AT_ONCE) as journal:
            return _tell(arguments, journal.machine, journal.capabilities, journal.header.wall_ns)
    machine = read_machine(open_host(arguments))
    return _tell(arguments, machine, probe_sources(machine, SOURCES), time.time_ns())


def _tell(arguments: argparse.Namespace, machine: Machine, capabilities: Capabilities, wall_ns: int) -> int:
    diagnosis, host = diagnose(machine, capabilities), machine.host
    if arguments.format == TEXT and sys.stdout.isatty():
        from turbotui.features.doctor.terminal_text import print_report  # noqa: PLC0415 - Rich: 26 ms and 2.2 MB

        print_report(diagnosis, verbose=arguments.verbose)
        return 0
    envelope = Envelope(host.name, host.kind, wall_ns, facts=dict(diagnosis.facts), notes=diagnosis.notes)
    print_tables(arguments, envelope, (source_table(diagnosis), signal_table(diagnosis)),
                 lambda: plain_lines(diagnosis, verbose=arguments.verbose))
    return 0
