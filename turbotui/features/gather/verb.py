"""`turbotui gather`: shows what would be written about this machine, asks, and writes it."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.elsewhere import SshSource, add_host_arguments, check_host_arguments, way_to_host
from turbotui.commands.formats import add_format_arguments, marked, print_tables, text_lines
from turbotui.commands.long_work import long_work
from turbotui.commands.sessions import GATHERED, open_host
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.gather.engine import GatheredArchive, gather, received
from turbotui.machine.gathered.archive import GZIP, LARGEST, GatheredError
from turbotui.machine.host import Host
from turbotui.machine.own_files import create_bytes
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.sentences import several
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import envelope_now

_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class GatheredPart:
    """Files, or words of devices, whose paths differ in numbers only."""

    path: str  # the path, with * for numbers that differ
    count: int  # the number of files or words
    size: int | None  # bytes of files; None for words
    scrubbed: int  # the number of removals


PART_COLUMNS: Final[tuple[Column[GatheredPart], ...]] = (
    Column("path", "", -1, (), lambda part: part.path, help="path that was read; * stands for numbers", identity=True),
    Column("count", "", 0, (), lambda part: part.count, help="files of such a path; words of a device; counters tried"),
    Column("size", "B", 0, (), lambda part: part.size, help="bytes of these files"),
    Column("scrubbed", "", 0, (), lambda part: part.scrubbed, help="names, numbers and words that were taken out"),
)


def part_table(archive: GatheredArchive) -> RowTable[GatheredPart]:
    """Make a table with a row for each kind of path."""
    machine, changed = archive.scrubbed.machine, archive.scrubbed.changed
    parts = [*_grouped((path, 1, len(data), changed.get(path, 0)) for path, data in machine.files.items()),
             *_grouped((path, len(words), None, 0) for path, words in machine.words.items())]
    if machine.counters:
        parts.append(GatheredPart("perf_event_open", len(machine.counters), None, 0))
    parts += (GatheredPart(name, 1, size, 0) for name, size in archive.documents.items() if "/" not in name)
    return RowTable("gathered", "part", PART_COLUMNS, tuple(parts))


def _grouped(entries: Iterable[tuple[str, int, int | None, int]]) -> list[GatheredPart]:
    """Group parts by path; numbers that are the same everywhere stay."""
    groups = lists_by_key((_NUMBERS.sub("*", entry[0]), entry) for entry in entries)
    return [GatheredPart(pattern if len(group) > 1 else group[0][0], sum(part[1] for part in group),
        None if group[0][2] is None else sum(part[2] or 0 for part in group), sum(part[3] for part in group))
        for pattern, group in sorted(groups.items())]


STDOUT: Final = "-"
"""In place of a file."""
_OTHER_SECONDS: Final = 120.0  # in which a large machine is read, beside those of its counters
_NOTE: Final = "note: "
_SECONDS = 10
_MOST_SECONDS = 600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", nargs="?", metavar="FILE.tar.gz", help="a new file, on which --machine FILE.tar.gz "
                        "runs; - for stdout, with --yes")
    parser.add_argument("--list", action="store_true", help="only show what would go into the file")
    parser.add_argument("-y", "--yes", action="store_true", help="write without asking")
    parser.add_argument("--seconds", metavar="N", default=str(_SECONDS),
                        help=f"seconds of readings to record, one reading a second (default {_SECONDS})")
    add_machine_arguments(parser)
    add_host_arguments(parser)
    add_format_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show, ask, write.

    Raises:
        UsageError: the file is not named or exists, or nobody can be asked.
        TurbotuiError: the file cannot be written.
    """
    path: str | None = arguments.file
    seconds = _parse_seconds(arguments.seconds)
    check_host_arguments(arguments)
    if path == STDOUT:
        return _write_to_stdout(arguments, seconds)
    if not arguments.list:
        path = _checked(path, asks=not arguments.yes)
    archive, host, status = _of_host(arguments, seconds) if arguments.host else _of_machine(arguments, seconds)
    table = part_table(archive)
    envelope = envelope_now(host, notes=archive.notes)

    def text() -> Iterator[str]:
        yield from text_lines(envelope, table)
        yield from (f"note: {note}" for note in archive.notes)
        yield from _summary(archive)

    print_tables(arguments, envelope, (table,), lambda: marked(envelope, text()))
    if arguments.list or path is None:
        return status
    if not arguments.yes and not _agreed(path):
        print("nothing was written", file=sys.stderr)
        return 1
    try:
        create_bytes(path, archive.packed)
    except OSError as error:
        raise TurbotuiError(f"{path} cannot be written: {error.strerror}") from error
    print(f"written: {path} ({len(archive.packed)} bytes). Look at it with: turbotui doctor --machine {path}",
          file=sys.stderr)
    return status


def _of_machine(arguments: argparse.Namespace, seconds: int) -> tuple[GatheredArchive, Host, int]:
    """Gather the machine; also returns its host, and the exit status."""
    host = open_host(arguments)
    with long_work("reading the machine") as work:

        def goes_on(done: int, total: int) -> bool:
            work.show(done, total)
            return not work.number

        archive = gather(host, os.environ, intervals=seconds, goes_on=goes_on)
    return archive, host, work.status


def _write_to_stdout(arguments: argparse.Namespace, seconds: int) -> int:
    """Write the archive for another machine's `gather --host`, where it is shown before it is kept."""
    if not arguments.yes or sys.stdout.isatty():
        raise UsageError("gather - writes bytes for a program, and without asking: give --yes and a pipe, or a name")
    archive, _host, status = _of_machine(arguments, seconds)
    for note in archive.notes:
        print(f"{_NOTE}{note}", file=sys.stderr)
    sys.stdout.buffer.write(archive.packed)
    return status


def _of_host(arguments: argparse.Namespace, seconds: int) -> tuple[GatheredArchive, Host, int]:
    """Have the machine of --host gathered there, in memory; see `_of_machine`.

    Raises:
        TurbotuiError: it was not gathered, or what came is no gathered machine.
    """
    from turbotui.machine.gathered.host import GatheredHost  # noqa: PLC0415 - the part that is sent has none

    source = SshSource(way_to_host(arguments, ("gather", STDOUT, "--yes", f"--seconds={seconds}")), GZIP,
                       relays=False, patience=_OTHER_SECONDS + seconds)
    packed = bytearray()
    with contextlib.closing(source):
        while data := source.read():
            packed += data
            if len(packed) > LARGEST:
                raise TurbotuiError(f"{source.name} sent more than the {LARGEST:,} bytes of the largest machine")
        failure = source.failure()
    if failure:
        raise TurbotuiError(failure)
    try:
        archive = received(bytes(packed))
    except GatheredError as error:
        raise TurbotuiError(f"{source.name} sent no gathered machine: {error}") from error
    notes = tuple(line.removeprefix(_NOTE) for line in source.remarks() if line.startswith(_NOTE))
    return replace(archive, notes=notes), GatheredHost(archive.scrubbed.machine, arguments.host), 0


def _checked(path: str | None, *, asks: bool) -> str:
    if path is None:
        raise UsageError("give the file to write, such as machine.tar.gz, or --list to see what would go into it")
    if not path.endswith(GATHERED):
        raise UsageError(f"{path} does not end in .tar.gz, by which --machine tells a file from a simulated machine")
    if os.path.lexists(path):
        raise UsageError(f"{path} is there already, and is not written over: give another name")
    if asks and not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on: --list shows what would be written, --yes writes it")
    return path


def _parse_seconds(text: str) -> int:
    seconds = whole_number(text)
    if seconds is None or not 0 < seconds <= _MOST_SECONDS:
        raise UsageError(f"--seconds {text} is no whole number from 1 to {_MOST_SECONDS}")
    return seconds


def _summary(archive: GatheredArchive) -> Iterator[str]:
    machine = archive.scrubbed.machine
    taken = sum(archive.scrubbed.changed.values())
    yield (f"{several(len(machine.files), 'file')}, {sum(map(len, machine.words.values()))} words of devices, "
           f"{several(len(machine.counters), 'counter')} tried; {len(archive.packed):,} bytes packed")
    yield (f"scrubbed {several(taken, 'time')}: names of host and users, serial numbers and identifiers, IP and MAC "
           "addresses, the kernel's command line but for words that decide what can be counted")
    if machine.left_out:
        yield f"left out: {', '.join(sorted(machine.left_out))}"


def _agreed(path: str) -> bool:
    sys.stdout.write(f"Write this to {path}? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
