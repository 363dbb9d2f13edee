"""`turbotui record`: writes raw readings to a file, until interrupted, or while a command runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Collection

from turbotui.commands.arguments import add_watching_arguments, whole
from turbotui.commands.elsewhere import (
    SshSource,
    add_host_arguments,
    check_host_arguments,
    copy_records,
    watching_words,
    way_to_host,
)
from turbotui.commands.intervals import at_least_one
from turbotui.commands.recording import open_recorder
from turbotui.commands.sessions import label, open_session
from turbotui.errors import UsageError
from turbotui.features.record.engine import (
    RecordingResult,
    absent_columns,
    prepare,
    record,
    refuse_marks,
    requested_tables,
)
from turbotui.machine.signal_guard import ending_signals, guarded_signals
from turbotui.quantities.moments import parse_duration, time_of_day
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.sentences import several
from turbotui.recording import read_machine
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorded_tables import known_tables
from turbotui.recording.recorder import RecordingFile
from turbotui.recording.rotation import FULL_SECONDS, Retention
from turbotui.untrusted import one_line

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE",
                        help="the recording; an existing one is continued. Words after -- are a command: it is "
                        "recorded while it runs, its words are kept in FILE, and its exit status is returned")
    add_watching_arguments(parser, 1.0)
    add_host_arguments(parser)
    parser.add_argument("--tables", metavar="NAMES", default="",
                        help="beside the CPUs, comma separated: "
                        + "".join(f"{word} ({what}), " for table in known_tables() for word,
                                  what in table.words.items())
                        + "and kinds of rows by the names of their verbs")
    parser.add_argument("-n", "--intervals", metavar="N", type=whole, help="end after this many intervals")
    parser.add_argument("--keep", metavar="TIME", help="keep no more than the last 24h, 7d ...: every reading of the "
                        "last half hour, then one in 10 s for eight hours, then one in 60 s, in files beside FILE")
    parser.add_argument("--full", metavar="TIME",
                        help="keep every reading for so long, then fewer, as with --keep and --max-size (there 30m)")
    parser.add_argument("--max-size", metavar="SIZE", help="keep no more than 500M, 2G ... in all these files")


def run(arguments: argparse.Namespace) -> int:
    """Record; SIGUSR1 marks the moment, and signals that end a process end the recording, or the command's.

    Raises:
        UsageError: the options contradict each other.
        RecordingError: the file cannot be written.
    """
    at_least_one(arguments.intervals)
    check_host_arguments(arguments)
    if arguments.file == "-" or (os.path.exists(arguments.file) and not os.path.isfile(arguments.file)):
        raise UsageError(f"{arguments.file} is no file: record writes to a file, turbotui collect to stdout")
    if arguments.command and arguments.machine is not None:
        raise UsageError("a command runs on this machine, not on a simulated one: leave --machine out")
    retention = _retention(arguments)
    tables = requested_tables(arguments.tables)
    if not arguments.command:
        refuse_marks(tables)
    if arguments.host:
        return _record_elsewhere(arguments, tables)
    session, shown = open_session(arguments)
    columns, notes = prepare(session, shown, tables)
    recorder = open_recorder(arguments.file, session.machine, retention, arguments.command)
    machine = label(session.machine.host) or session.machine.host.name
    marks = _Marks()
    marking = {signal.SIGUSR1: marks.set}
    signals = guarded_signals(marking) if arguments.command else ending_signals(lambda: session.stop(0.0), marking)
    with signals as ended:
        for note in (*absent_columns(session, shown, arguments.choices), *notes):
            _say(note)
        many = several(len(columns), "column")
        _say(f"recording {machine} to {arguments.file} every {session.interval:g} s, {many}; "
             + ("until the command ends" if arguments.command else "Ctrl-C ends it"))
        result = record(session, recorder, intervals=arguments.intervals, command=arguments.command,
                        take_marks=marks.take, tables=tables)
    _report(result, arguments.file, len(session.machine.topology.cpus))
    if result.failure and not arguments.command:
        return 1
    return result.status if ended is None else ended.status


class _Marks:
    def __init__(self) -> None:
        self._count = 0

    def set(self, _number: int) -> None:
        self._count += 1

    def take(self) -> int:
        count, self._count = self._count, 0
        return count


def _retention(arguments: argparse.Namespace) -> Retention | None:
    if arguments.keep is None and arguments.full is None and arguments.max_size is None:
        return None
    keep = float("inf") if arguments.keep is None else parse_duration(arguments.keep, "--keep")
    most = 0 if arguments.max_size is None else parse_size(arguments.max_size)
    return Retention(keep, FULL_SECONDS if arguments.full is None else parse_duration(arguments.full, "--full"), most)


def parse_size(text: str) -> int:
    """Parse a size as people write it: 500M, 2G. Raises UsageError if the text is no size."""
    digits, unit = text.rstrip("KMGTBkmgtb"), text[len(text.rstrip("KMGTBkmgtb")):].upper().removesuffix("B")
    number = whole_number(digits)
    if not number or unit not in _UNITS:
        raise UsageError(f'--max-size: "{text}" is no size: write 500M or 2G')
    return number * _UNITS[unit]


def _record_elsewhere(arguments: argparse.Namespace, tables: Collection[str]) -> int:
    """Record the machine of --host to a file here, which is whole up to the end of the connection."""
    for option, given in (("a command after --", arguments.command), ("--keep", arguments.keep),
                          ("--full", arguments.full), ("--max-size", arguments.max_size)):
        if given:
            raise UsageError(f"{option} is not for --host: turbotui record there takes it")
    words = [*watching_words(arguments), *(() if arguments.intervals is None else (f"-n{arguments.intervals}",)),
             *((f"--tables={','.join(tables)}",) if tables else ())]
    if os.path.lexists(arguments.file):
        raise RecordingError(f"{arguments.file} is there, and a recording by --host begins a file of its own: give "
                             "another name")
    source = SshSource(way_to_host(arguments, ("collect", *words)))
    files: list[RecordingFile] = []

    def write(records: bytes) -> None:
        if not files:
            files.append(RecordingFile(arguments.file))
            _say(f"recording {arguments.host} to {arguments.file}; Ctrl-C ends it")
        files[0].write(records)

    result = RecordingResult()
    with contextlib.closing(source), ending_signals(source.stop) as ended:
        try:
            copy_records(source, write)
            result.failure = source.failure()
        finally:
            for file in files:
                file.close()
    with read_machine(arguments.file) as journal:
        result.readings, result.first_ns, result.last_ns, result.size = (
            len(journal.clocks()), journal.first_ns, journal.last_ns, files[0].size)
        _report(result, arguments.file, len(journal.machine.topology.cpus))
    return 1 if result.failure else ended.status


def _report(result: RecordingResult, path: str, cpus: int) -> None:
    if result.failure:
        _say(result.failure)
    for what, why in result.missing.items():
        _say(f"no {what} were recorded: {why}")
    if result.readings:
        _say(f"{path}: {result.readings:,} readings of {several(cpus, 'CPU')} from "
             f"{time_of_day(result.first_ns)} to {time_of_day(result.last_ns)}, {result.size / 2**20:.2f} MiB")
    else:
        _say(f"{path}: nothing was recorded")


def _say(text: str) -> None:
    print(f"turbotui: {one_line(text)}", file=sys.stderr)
