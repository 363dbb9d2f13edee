"""`turbotui info`: the configuration of the machine, line by line, with the source of each."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.elsewhere import add_host_arguments, check_host_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.recorded import AT_ONCE, add_replay_argument, open_replay
from turbotui.commands.sessions import label, open_host
from turbotui.features.info.machine_facts import HeaderLine
from turbotui.features.info.model import Section, configuration, configuration_table
from turbotui.machine.host import Host, HostKind
from turbotui.machine.machine import Machine, read_machine
from turbotui.tables.envelope import Envelope, timestamp
from turbotui.untrusted import one_line

if TYPE_CHECKING:  # imported here, because few runs read a recording
    from turbotui.recording.journal import Journal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_replay_argument(parser)
    add_host_arguments(parser)
    add_format_arguments(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print more lines, and the source of each")


def run(arguments: argparse.Namespace) -> int:
    """Print the configuration."""
    check_host_arguments(arguments)
    if arguments.replay or arguments.host:
        with open_replay(arguments, intervals=1, seconds=AT_ONCE) as journal:
            return _print(arguments, journal.machine, journal.header.wall_ns,
                          (recording_section(journal),) if arguments.replay else ())
    return _print(arguments, read_machine(open_host(arguments)), time.time_ns())


def recording_section(journal: Journal) -> Section:
    """Return the section about a recording: its time, its command, and added columns."""
    first, last = journal.header, journal.header_at(journal.last_ns)
    lines = [f"Recorded {timestamp(journal.first_ns)} to {timestamp(journal.last_ns)} by turbotui {first.version}"]
    commands = dict.fromkeys(one_line(shlex.join(header.command)) for header in (first, last) if header.command)
    lines += [f"Recorded command: {command}" for command in commands]
    added = [column.id for column in journal.catalog.columns if {"added", "spies"} & {*column.groups}]
    if added:
        lines.append(f"Columns that were added: {', '.join(added)}")
    return Section("recording", tuple(HeaderLine(one_line(line), "the recording") for line in lines))


def _print(arguments: argparse.Namespace, machine: Machine, wall_ns: int, before: Sequence[Section] = ()) -> int:
    host = machine.host
    sections = (*before, *configuration(machine, detailed=arguments.verbose))
    print_tables(arguments, Envelope(host.name, host.kind, wall_ns), (configuration_table(sections),),
                 lambda: _text(sections, host, sources=arguments.verbose))
    return 0


def _text(sections: Sequence[Section], host: Host, *, sources: bool) -> Iterator[str]:
    if label(host):
        yield f"# {label(host)}: nothing below was read {'now' if host.kind is HostKind.RECORDED else 'from hardware'}"
    for section in sections:
        yield f"{section.title}:"
        yield from (f"  {line.text}" + (f"  [{line.origin}]" if sources else "") for line in section.lines)
