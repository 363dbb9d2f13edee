"""Opens machine, CPUs, added counters and columns as a command line of `turbotui stat` names them."""

from __future__ import annotations

import functools
from dataclasses import replace

from turbotui.commands.sessions import known_event_sets, named_host
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.stat.options import StatError, StatOptions, StatTask
from turbotui.features.stat.printing import chosen_layout, is_absent
from turbotui.features.stat.streams import warn
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.delegating_host import RestrictedHost
from turbotui.machine.host import Host
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.small_files import cpus_in
from turbotui.quantities.added import EventAt, RegisterAt, is_turbostats, parse_added
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.event_columns import SET, joined_metrics, usual_prefix
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.tables.layout import Layout

_ONLINE = "/sys/devices/system/cpu/online"
_NO_CPU_LEFT = 237  # exit status (docs/specs/turbostat.md 1.12)
_COMMAND_SECONDS = 1e9  # seconds, longer than any command, whose end ends its interval


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A session that is not started yet, with the columns to print."""

    session: Session
    layout: Layout


def open_stat(options: StatOptions, given: Host | None = None) -> OpenedSession:
    """Open machine, sources and columns as the options ask.

    Args:
        given: a machine in place of the one that the command line names.

    Raises:
        StatError: with turbostat's exit status for what was wrong.
        UsageError: no such simulated machine.
        MachineError: the machine cannot be read.
    """
    host = given or named_host(options.machine, options.sysroot, options.event_tables)
    if options.no_msr or options.no_perf:
        host = RestrictedHost(host, msr=not options.no_msr, perf=not options.no_perf)
    cpus = None if options.cpus is None else _effective(host, options.cpus)
    machine = replace(read_machine(host, cpus), tcc=options.tcc)
    interval = _COMMAND_SECONDS if options.command else options.interval
    session = Session(machine, SOURCES, interval, LinuxHost(), options.cpus)  # an offline CPU may come online
    session.find_sets = functools.cache(functools.partial(known_event_sets, options.events))
    if options.events:
        session.find_sets()  # an invalid file is refused now, even if none of its sets is requested
    refused = frozenset(name for text in joined_metrics(options.added) for name in _add(session, text, options))

    sets = [text for text in map(usual_prefix, options.added) if text.startswith(SET)]
    shown = [column.id for text in sets for column in session.add_all(text)
             if "added" not in column.groups]  # added columns are always shown
    if shown:
        options = replace(options, choices=(*options.choices, ("enable", ",".join(shown))))

    def absent(column: CounterColumn) -> bool:
        return column.id in refused or is_absent(column, session.capabilities, session.machine.topology)

    layout = chosen_layout(options, session.catalog, host, absent, "not available here: {} (turbotui columns says why)")
    if options.task is not StatTask.LIST:
        session.want(column.id for column in layout.columns)
    if options.moments:
        session.look_often(None)
    return OpenedSession(session, layout)


def _effective(host: Host, asked: frozenset[int]) -> frozenset[int]:
    """Return the CPUs of a --cpu set that can be measured (docs/specs/turbostat.md 1.5)."""
    if not (online := cpus_in(host, _ONLINE)):
        return asked  # the topology decides, and reports what is missing
    for cpu in sorted(asked - online):
        raise StatError(f"cpu{cpu} not present: the online CPUs are {format_cpulist(online)}", 1)
    if (usable := host.usable_cpus()) is None:
        return asked
    for cpu in sorted(asked - usable):
        warn(f"cpu{cpu} not effective: it is outside the CPUs that this process may use")
    if not asked & usable:
        raise StatError("No valid cpus found: this process may use none of those given", _NO_CPU_LEFT)
    return asked & usable


def _add(session: Session, text: str, options: StatOptions) -> frozenset[str]:
    """Add the counters of one --add, and return columns that are not available, for a warning.

    Raises:
        StatError: the text is no counter, or its file or region is missing (turbostat.md 1.12: exit status 1).
    """
    try:
        if is_turbostats(text):
            return _add_counter(session, text, options)
        columns = session.add_all(text)
    except UsageError as error:
        if isinstance(error, StatError):
            raise
        raise StatError(str(error), 1) from error
    refused = set()
    for column in columns:
        if (why := why_absent(column, session.capabilities, session.machine.topology)) is not None:
            warn(f"{column.id} is not added: {why.sentence()}")
            refused.add(column.id)
    return frozenset(refused)


def _add_counter(session: Session, text: str, options: StatOptions) -> frozenset[str]:
    """Add a counter in turbostat's grammar, as turbostat does.

    Raises:
        StatError: as `_add`.
    """
    counter = parse_added(text)
    if isinstance(counter.place, RegisterAt) and options.no_msr:
        raise StatError(f"Requested MSR counter {counter.place.address:#x}, but in --no-msr mode", 1)
    column = session.add(text)
    if (why := session.capabilities.missing.get(counter.signal)) is None:
        return frozenset()
    if isinstance(counter.place, RegisterAt | EventAt):
        warn(f"{column.id} is not added: {why.sentence()}")
        return frozenset((column.id,))
    raise StatError(f"{column.id} cannot be added: {why.sentence()}", 1)
