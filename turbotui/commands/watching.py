"""What every command that watches a machine shares: which machine, which CPUs, which columns, how often."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import Any

from turbotui.errors import UsageError
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import Host, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.columns import Column
from turbotui.sampling.selection import choose_columns, default_columns
from turbotui.sampling.session import SHORTEST_INTERVAL, Session
from turbotui.sources import SOURCES


class _Choice(argparse.Action):
    """Keeps --show, --hide and --enable in the order they were given."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: str | Sequence[Any] | None, option_string: str | None = None) -> None:
        del parser, option_string
        namespace.choices = [*namespace.choices, (self.const, values)]


def add_machine_arguments(parser: argparse.ArgumentParser) -> None:
    """Which machine to look at."""
    parser.add_argument("--machine", metavar="NAME",
                        help="watch a simulated machine (turbotui machines lists them); every output says SIMULATED")
    parser.add_argument("--sysroot", metavar="DIR", default="/",
                        help="read the files of a recorded machine below DIR instead of /")


def add_watching_arguments(parser: argparse.ArgumentParser, interval: float) -> None:
    """Which machine, CPUs and columns, and how often."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", default=str(interval),
                        help=f"seconds between two readings, from {SHORTEST_INTERVAL} (default {interval:g})")
    parser.add_argument("-c", "--cpu", metavar="SET", help="only these CPUs: 0-3,8 or 0..3,8")
    parser.set_defaults(choices=[])
    parser.add_argument("-s", "--show", metavar="NAMES", action=_Choice, const="show",
                        help="only these columns or categories, comma separated; more --show add")
    parser.add_argument("--hide", metavar="NAMES", action=_Choice, const="hide", help="without these")
    parser.add_argument("-e", "--enable", metavar="NAMES", action=_Choice, const="enable",
                        help="these as well as the default ones")


def parse_interval(text: str) -> float:
    """Seconds from the command line.

    Raises:
        UsageError: not a number, or shorter than `SHORTEST_INTERVAL`.
    """
    try:
        seconds = float(text)
    except ValueError:
        raise UsageError(f'interval "{text}" is not a number of seconds') from None
    if not math.isfinite(seconds) or seconds < SHORTEST_INTERVAL:
        raise UsageError(f"interval {text} is too short: the shortest is {SHORTEST_INTERVAL} seconds"
                         if math.isfinite(seconds) else f'interval "{text}" is not a number of seconds')
    return seconds


def open_host(arguments: argparse.Namespace) -> Host:
    """The host that the command line names.

    Raises:
        UsageError: no such simulated machine, or both a machine and a sysroot.
        MachineError: the sysroot is not there.
    """
    if arguments.machine is not None:
        if arguments.sysroot != "/":
            raise UsageError("--machine and --sysroot name two machines: give one of them")
        from turbotui.machine.simulated import simulated_host  # noqa: PLC0415 - the model is large and seldom used

        return simulated_host(arguments.machine)
    return LinuxHost(arguments.sysroot)


def open_session(arguments: argparse.Namespace, *, extras: bool) -> tuple[Session, tuple[Column, ...]]:
    """A session that is not started yet, and the columns to show.

    Args:
        arguments: as `add_watching_arguments` defines them.
        extras: whether columns beyond turbostat are among the defaults.
    """
    interval = parse_interval(arguments.interval)
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    machine = read_machine(open_host(arguments), cpus)
    session = Session(machine, SOURCES, interval, LinuxHost(), cpus)
    start = default_columns(session.catalog, session.census, machine.topology, extras=extras)
    columns = choose_columns(session.catalog, start, arguments.choices)
    session.want(column.id for column in columns)
    return session, columns


def label(host: Host) -> str:
    """The word that goes with every number of a machine that is not this one; empty for the real one."""
    return "" if host.kind is HostKind.REAL else f"{host.kind.value} machine {host.name}"
