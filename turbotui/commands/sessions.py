"""Open the machine, CPUs and columns that the command line names."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turbotui.errors import UsageError
from turbotui.machine.container_host import in_container
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.machine.host import Host, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.event_columns import joined_metrics
from turbotui.quantities.plain_numbers import decimal_number
from turbotui.quantities.units import parse_celsius
from turbotui.sampling.limits import LONGEST_INTERVAL, SHORTEST_INTERVAL
from turbotui.sampling.selection import choose_columns, default_columns
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

if TYPE_CHECKING:
    import argparse

    from turbotui.events.set_files import EventSet

GATHERED: Final = (".tar.gz", ".tgz")
"""Characters by which --machine distinguishes a file of `turbotui gather` from the name of a simulated machine."""


def parse_interval(text: str) -> float:
    """Parse an interval in seconds.

    Raises:
        UsageError: it is not a number, or outside of `SHORTEST_INTERVAL` and `LONGEST_INTERVAL`.
    """
    if (seconds := decimal_number(text)) is None:
        raise UsageError(f'interval "{text}" is not a number of seconds')
    if seconds < SHORTEST_INTERVAL:
        raise UsageError(f"interval {text} is too short: the shortest is {SHORTEST_INTERVAL} seconds")
    if seconds > LONGEST_INTERVAL:
        raise UsageError(f"interval {text[:40]} is too long: the longest is {LONGEST_INTERVAL:,.0f} seconds")
    return seconds


def open_host(arguments: argparse.Namespace) -> Host:
    """Open the host that the command line names.

    Raises:
        UsageError: there is no such simulated machine, or both a machine and a sysroot are given.
        MachineError: the sysroot does not exist, or the file is no gathered machine.
    """
    return named_host(arguments.machine, arguments.sysroot, getattr(arguments, "event_tables", ""))


def named_host(machine: str | None, sysroot: str, event_tables: str = "") -> Host:
    """Open the simulated machine of that name, the gathered machine in a file, or the machine below a sysroot.

    Raises:
        UsageError: there is no such simulated machine, both a machine and a sysroot are given, or event tables are
            unusable.
        MachineError: the sysroot does not exist, or the file is no gathered machine.
    """
    host = _host_of(machine, sysroot)
    if event_tables:
        from turbotui.events.event_tables.opening import name_event_tables  # noqa: PLC0415 - seldom used

        name_event_tables(host, event_tables)
    return host


def _host_of(machine: str | None, sysroot: str) -> Host:
    if machine is not None:
        if sysroot != "/":
            raise UsageError("--machine and --sysroot name two machines: give one of them")
        if machine.endswith(GATHERED):
            from turbotui.machine.gathered.host import gathered_host  # noqa: PLC0415 - seldom used

            return gathered_host(machine)
        if os.sep in machine:
            raise UsageError(_about_path(machine))
        from turbotui.simulated import simulated_host  # noqa: PLC0415 - the model is large and seldom used

        try:
            return simulated_host(machine)
        except UsageError as error:
            if os.path.exists(machine):
                raise UsageError(_about_path(machine)) from error
            raise
    host = LinuxHost(sysroot)
    host.raise_descriptors()
    return in_container(host) if host.kind is HostKind.REAL else host


def _about_path(path: str) -> str:
    """Why a path is not a machine, and what would be."""
    if os.path.isdir(path):
        return f"--machine {path} is a folder: a recorded machine below a folder is given with --sysroot {path}"
    what = ("is no file of turbotui gather, which end in .tar.gz" if os.path.exists(path)
            else "is not there, and no name of a simulated machine")
    return f"--machine {path} {what}: turbotui machines lists the simulated ones"


def open_session(arguments: argparse.Namespace) -> tuple[Session, tuple[CounterColumn, ...]]:
    """Open a session without starting it, and choose the columns to show on a screen."""
    interval = parse_interval(arguments.interval)
    cpus = None if arguments.cpu is None else parse_cpu_set(arguments.cpu)
    tcc = None if arguments.tcc is None else parse_celsius(arguments.tcc)
    machine = replace(read_machine(open_host(arguments), cpus), tcc=tcc)
    session = Session(machine, SOURCES, interval, LinuxHost(), cpus)
    session.find_sets = functools.cache(functools.partial(known_event_sets, arguments.events))
    if arguments.events:
        session.find_sets()  # an unusable file is refused now, whether or not a set of it is used
    added = [column for text in joined_metrics(arguments.add) for column in session.add_all(text)]
    start = default_columns(session.catalog, session.capabilities, machine.topology, extras=True)
    # unlike the text of `stat`, a screen always names its rows: --show keeps columns of the topology
    named = {column.id for column in start if column.category is Category.TOPOLOGY} | {column.id for column in added}
    columns = choose_columns(session.catalog, (*start, *added), arguments.choices, kept=named)
    session.want(column.id for column in columns)
    if arguments.moments:
        session.look_often(None)
    return session, columns


def label(host: Host) -> str:
    """The word that accompanies every number of a machine other than this one; "" for this one."""
    return "" if host.kind is HostKind.REAL else f"{host.kind.value} machine {host.name}"


def kind_of(text: str) -> HostKind:
    """The kind of machine for a `label`; an unknown label is not trusted to be of a real machine."""
    if not text:
        return HostKind.REAL
    return next((kind for kind in HostKind if text.startswith(f"{kind.value} ")), HostKind.SIMULATED)


def known_event_sets(file: str) -> Mapping[str, EventSet]:
    """The sets of event columns that can be named: shipped ones, the user's, and those of a file.

    Raises:
        UsageError: a file is unusable.
    """
    from turbotui.events.set_files import known_sets  # noqa: PLC0415 - most starts ask for no set

    return known_sets(os.environ, file)
