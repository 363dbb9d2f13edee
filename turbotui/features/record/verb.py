"""`turbotui record`: writes raw readings to a file, until interrupted, or while a command runs."""

from __future__ import annotations

import argparse
import signal
import sys

from turbotui.commands.arguments import add_watching_arguments, whole
from turbotui.commands.intervals import at_least_one
from turbotui.commands.recording import kept_columns, open_recorder
from turbotui.commands.sessions import label, open_session
from turbotui.errors import UsageError
from turbotui.features.record.engine import (
    RecordingResult,
    record,
)
from turbotui.installed_features import contained
from turbotui.machine.signal_guard import ending_signals, guarded_signals
from turbotui.quantities.moments import parse_duration, time_of_day
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.sentences import several
from turbotui.recording.recorded_tables import known_tables
from turbotui.recording.rotation import Retention
from turbotui.sampling.row_tables import known_kinds
from turbotui.sampling.session import Session
from turbotui.untrusted import one_line

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE",
                        help="the recording; an existing one is continued. Words after -- are a command: it is "
                        "recorded while it runs, its words are kept in FILE, and its exit status is returned")
    add_watching_arguments(parser, 1.0)
    parser.add_argument("--tables", metavar="NAMES", default="",
                        help="beside the CPUs, comma separated: "
                        + "".join(f"{word} ({what}), " for one in known_tables() for word, what in one.words.items())
                        + "and kinds of rows by the names of their verbs")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole, help="end after this many intervals")
    parser.add_argument("--keep", metavar="TIME", help="keep no more than the last 24h, 7d ...: every reading of the "
                        "last half hour, then one in 10 s for eight hours, then one in 60 s, in files beside FILE")
    parser.add_argument("--full", metavar="TIME", default="30m",
                        help="with --keep or --max-size: keep every reading for so long (default 30m)")
    parser.add_argument("--max-size", metavar="SIZE", help="keep no more than 500M, 2G ... in all these files")


def run(arguments: argparse.Namespace) -> int:
    """Record; SIGUSR1 marks the moment, and signals that end a process end the recording, or the command's.

    Raises:
        UsageError: the options contradict each other.
        RecordingError: the file cannot be written.
    """
    at_least_one(arguments.intervals)
    if arguments.command and arguments.machine is not None:
        raise UsageError("a command runs on this machine, not on a simulated one: leave --machine out")
    retention = _retention(arguments)
    tables = _tables(arguments.tables)
    marked = [word for one in known_tables() for word in one.marked if word in tables]
    if marked and not arguments.command:
        raise UsageError(f"--tables {marked[0]}: a command marks them: give one after --")
    session, columns = open_session(arguments)
    for one in known_tables():
        if one.columns is not None and any(word in tables for word in one.words):
            columns += contained(one.columns, session.catalog.columns) or ()
    kept = kept_columns(session.catalog, session.capabilities, session.machine.topology)
    columns = tuple(dict.fromkeys((*columns, *kept)))
    session.want(column.id for column in columns)
    found = (contained(one.sources, session.machine, tables) for one in known_tables() if one.sources is not None)
    beside = [one for one in found if one is not None]
    session.read_also([source for one in beside for source in one.sources],
                      frozenset().union(*(one.signals for one in beside)))
    recorder = open_recorder(arguments.file, session.machine, retention, arguments.command)
    machine = label(session.machine.host) or session.machine.host.name
    marks = _Marks()
    marking = {signal.SIGUSR1: marks.set}
    signals = guarded_signals(marking) if arguments.command else ending_signals(lambda: session.stop(0.0), marking)
    with signals as ended:
        for note in (note for one in beside for note in one.notes):
            _say(note)
        _say(f"recording {machine} to {arguments.file} every {session.interval:g} s, {len(columns)} columns; "
             + ("until the command ends" if arguments.command else "Ctrl-C ends it"))
        result = record(session, recorder, intervals=arguments.intervals, command=arguments.command,
                        take_marks=marks.take, tables=tables)
    _report(result, arguments.file, session)
    if result.failure and not arguments.command:
        return 1
    return result.status if ended is None else ended.status


def _tables(text: str) -> tuple[str, ...]:
    """Return the tables to record beside the CPUs, each once. Raises UsageError if there is no such table."""
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "cpus")]
    known = (*(word for tables in known_tables() for word in tables.words), *known_kinds())
    for name in names:
        if name not in known:
            raise UsageError(f'--tables: "{name}" cannot be recorded; there are cpus (always), {", ".join(known)}')
    for one in known_tables():
        together = [name for name in names if name in one.words]
        if one.exclusive and len(set(together)) > 1:
            raise UsageError(f"--tables {','.join(together)}: {one.exclusive}: record one of them")
    return tuple(dict.fromkeys(names))


class _Marks:
    def __init__(self) -> None:
        self._count = 0

    def set(self, _number: int) -> None:
        self._count += 1

    def take(self) -> int:
        count, self._count = self._count, 0
        return count


def _retention(arguments: argparse.Namespace) -> Retention | None:
    if arguments.keep is None and arguments.max_size is None:
        return None
    keep = float("inf") if arguments.keep is None else parse_duration(arguments.keep, "--keep")
    most = 0 if arguments.max_size is None else parse_size(arguments.max_size)
    return Retention(keep, parse_duration(arguments.full, "--full"), most)


def parse_size(text: str) -> int:
    """Parse a size as people write it: 500M, 2G. Raises UsageError if the text is no size."""
    digits, unit = text.rstrip("KMGTBkmgtb"), text[len(text.rstrip("KMGTBkmgtb")):].upper().removesuffix("B")
    number = whole_number(digits)
    if not number or unit not in _UNITS:
        raise UsageError(f'"{text}" is no size: write 500M or 2G')
    return number * _UNITS[unit]


def _report(found: RecordingResult, path: str, session: Session) -> None:
    if found.failure:
        _say(found.failure)
    for what, why in found.missing.items():
        _say(f"no {what} were recorded: {why}")
    if found.readings:
        _say(f"{path}: {found.readings:,} readings of {several(len(session.machine.topology.cpus), 'CPU')} from "
             f"{time_of_day(found.first_ns)} to {time_of_day(found.last_ns)}, {found.size / 1e6:.2f} MB")
    else:
        _say(f"{path}: nothing was recorded")


def _say(text: str) -> None:
    print(f"turbotui: {one_line(text)}", file=sys.stderr)
