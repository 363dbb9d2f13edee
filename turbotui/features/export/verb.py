"""`turbotui export`: a recording as a long table, or the counters of a machine as metrics."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import add
from typing import Final

from turbotui import __version__, recording
from turbotui.commands.formats import OneFormat, print_lines
from turbotui.commands.long_work import LongWork, long_work
from turbotui.commands.recorded import named_intervals, report_missing
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.export.live.verb import PRINTED, add_live_arguments, print_file, run_live
from turbotui.features.export.model import (
    LongColumn,
    RecordedTime,
    by_level,
    named_columns,
    rows_of_level,
    signal_columns,
)
from turbotui.features.export.trace_export import TraceExport, default_columns, thinned
from turbotui.machine.host import HostKind
from turbotui.machine.own_program import needing_packages
from turbotui.machine.topology import Topology
from turbotui.quantities.moments import parse_duration, parse_span
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.tables import RowTable
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.tables.csv_lines import HEADER, csv_line, csv_lines
from turbotui.tables.envelope import Envelope, timestamp
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.json_lines import JsonLines
from turbotui.tables.layout import PLACES, Layout, place_of
from turbotui.tables.saving import writing_new
from turbotui.untrusted import json_text


@dataclass(frozen=True)  # without slots, because the base has a property called name
class LevelTable(FrameTable):
    """The rows of one level in one interval, named by the level."""

    level: str = ""

    @property
    def name(self) -> str:
        return self.level


class CsvExport:
    """Writes comma-separated values (RFC 4180), beginning with the columns common to all verbs."""

    def __init__(self, machine: str, columns: Sequence[LongColumn]) -> None:
        self._machine = machine
        self._columns = columns
        self._levels = by_level(columns)
        self._newest: Envelope | None = None
        self._topology: Topology | None = None
        self._places: dict[Scope, Sequence[str]] = {}  # written, of the rows of each level in that topology

    def begin(self) -> Iterator[str]:
        """Return the header."""
        yield csv_line([*HEADER, *(scope.value for scope in PLACES), *(column.name for column in self._columns)])

    def end(self, stopped: str) -> Iterator[str]:
        """Return no line, or a last row that says what is missing: RFC 4180 has no comments."""
        if stopped and self._newest is not None:
            yield csv_line([self._newest.time, "", self._machine, HostKind.RECORDED.value, stopped,
                            *[""] * (len(PLACES) + len(self._columns))])

    def interval(self, frame: Frame) -> Iterator[str]:
        """Return the rows of an interval, those of a level as one text of many lines."""
        self._newest = envelope = Envelope(self._machine, HostKind.RECORDED, frame.newer.wall_ns)
        seconds = "" if frame.seconds is None else f"{frame.seconds:.6f}"
        for level, columns in self._levels.items():
            rows = rows_of_level(frame, level)
            nothing = (None,) * len(rows)
            own = {column.name for column in columns}
            # an empty cell first: a line of values alone would quote a single one that is unknown
            cells = zip(nothing, *(frame.bare_cells(column.column, rows) if column.name in own else nothing
                                   for column in self._columns), strict=True)
            before = csv_line((envelope.time, seconds, self._machine, HostKind.RECORDED.value, level.value, ""))
            lines = map(add, self._places_of(frame, level, rows), csv_lines(cells))
            yield before + f"\n{before}".join(lines)

    def _places_of(self, frame: Frame, level: Scope, rows: Sequence[RowId]) -> Sequence[str]:
        if frame.topology is not self._topology:
            self._topology = frame.topology
            self._places.clear()
        if level not in self._places:
            places = (place_of(frame, row) for row in rows)
            self._places[level] = [csv_line([place.get(scope.value) for scope in PLACES]) for place in places]
        return self._places[level]


class JsonExport:
    """Writes lines of JSON: the common object of all verbs, one for each interval and level."""

    def __init__(self, machine: str, columns: Sequence[LongColumn]) -> None:
        self._machine = machine
        self._layouts = {level: Layout(tuple(column.column for column in some), machine=machine, kind=HostKind.RECORDED)
                         for level, some in by_level(columns).items()}
        self._json = JsonLines()
        self._newest: Envelope | None = None

    def begin(self) -> Iterator[str]:
        """Return no line, because JSON lines have no header."""
        return iter(())

    def end(self, stopped: str) -> Iterator[str]:
        """Return no line, because every line is complete, or a last table without rows that says what is missing."""
        if stopped and self._newest is not None:
            empty: RowTable[None] = RowTable(_STOPPED, _STOPPED, (), ())
            yield from self._json.lines(replace(self._newest, seconds=None, notes=(stopped,)), empty)

    def interval(self, frame: Frame) -> Iterator[str]:
        """Return the tables of an interval."""
        self._newest = envelope = Envelope(self._machine, HostKind.RECORDED, frame.newer.wall_ns, frame.seconds)
        for level, layout in self._layouts.items():
            rows = tuple(rows_of_level(frame, level))
            yield from self._json.lines(envelope, LevelTable(frame, layout, rows, level.value))


_TRACE: Final = "trace"
_STOPPED: Final = "stopped"
FORMATS: Final = ("csv", "json", "parquet", _TRACE)
_KEPT: Final = (
    "Stopped by Ctrl-C, what was written until then is kept, and says itself that the rest is missing: in the last "
    "row, whose `row` begins with `stopped` (csv), in the notes of the table `stopped` (json), in `stopped` of the "
    "file's metadata (parquet) or of otherData (trace).")
_LEVELS: Final = {"machine": Scope.SYSTEM, "package": Scope.PACKAGE, "core": Scope.CORE, "cpu": Scope.CPU}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--from", dest="file", metavar="FILE", help="a recording as a long table; - for the one on stdin")
    what.add_argument("--listen", metavar="ADDRESS:PORT", default="",
                      help="metrics for Prometheus at this address, usually 127.0.0.1:9177")
    what.add_argument("--print", choices=PRINTED, dest="printed",
                      help="a file for Prometheus (rules, alerts), Grafana (dashboard), systemd (unit) or PCP (pcp)")
    what.add_argument("--textfile", metavar="FOLDER", default="",
                      help="the same metrics as FOLDER/turbotui.prom after each interval, for node_exporter; a disk "
                           "that is full, failing or read-only is tried again")
    common = {"columns", *_declared(parser)}
    parser.add_argument("--once", action="store_true",
                        help="the same metrics of one interval: on stdout, or with --textfile in the file")
    add_live_arguments(parser)
    of_machine = _declared(parser, common)
    _add_table_arguments(parser.add_argument_group("tables of a recording", _KEPT))
    parser.set_defaults(of_machine=of_machine, of_recording=_declared(parser, {*common, *of_machine}))


def _declared(parser: argparse.ArgumentParser, known: Container[str] = ()) -> dict[str, object]:
    """The attributes of options that are not among the known ones, with their values where nobody gives them."""
    return {name: value for name, value in vars(parser.parse_args([])).items() if name not in known}


def _add_table_arguments(parser: argparse._ArgumentGroup) -> None:
    parser.add_argument("--format", choices=FORMATS, default="", action=OneFormat,
                        help="csv, json (docs/table.schema.json, an object a line) or parquet; default: what the name "
                        "of --output ends with, else csv")
    parser.add_argument("-o", "--output", metavar="FILE", default="", help="write to this new file instead of stdout")
    parser.add_argument("--columns", metavar="NAMES", default="",
                        help="export these columns or categories, comma separated, instead of signals (increases of "
                             "counters "
                        "and values of gauges, in SI units; of a trace the dashboard's default columns); with metrics: "
                        "export them too, as gauges in base units")
    parser.add_argument("--by", choices=tuple(_LEVELS), default="",
                        help="all values in rows of this level (default: each in rows of its own level)")
    parser.add_argument("--elapsed", action="store_true",
                        help="with signals: also NAME.seconds, the time between the two readings of each counter")
    parser.add_argument("--every", metavar="TIME", default="",
                        help="intervals of this length (10s, 1m) instead of the recorded ones")
    parser.add_argument("--from-time", metavar="TIME", default="",
                        help="the start: 14:03, 2026-11-22 14:03, +5m after the beginning, -5m before the end")
    parser.add_argument("--to-time", metavar="TIME", default="", help="the end; +5m counts from --from-time")


def run(arguments: argparse.Namespace) -> int:
    """Export."""
    if arguments.printed is not None:
        _refuse(arguments, arguments.of_machine | arguments.of_recording, "changes no file of --print")
        return print_file(arguments.printed)
    if arguments.file is not None:
        _refuse(arguments, arguments.of_machine, "is for the metrics of a machine, and --from is for a recording")
        return _run_table(arguments)
    if not (arguments.listen or arguments.textfile or arguments.once):
        raise UsageError("what is to be exported? A recording (--from FILE), or a machine's metrics (--listen "
                         "127.0.0.1:9177, --textfile FOLDER, --once)")
    _refuse(arguments, arguments.of_recording, "is for tables of a recording: name one with --from FILE")
    if arguments.listen and arguments.once:
        raise UsageError("--listen answers until it is ended: leave --once out")
    return run_live(arguments)


def _refuse(arguments: argparse.Namespace, usual: Mapping[str, object], why: str) -> None:
    for name, value in usual.items():
        if getattr(arguments, name) != value:
            raise UsageError(f"--{name.replace('_', '-')} {why}")


def _run_table(arguments: argparse.Namespace) -> int:
    form = _format_of(arguments)
    every = parse_duration(arguments.every, "--every") if arguments.every else 0.0
    if arguments.columns and arguments.elapsed:
        raise UsageError("--elapsed is of signals: leave --columns out")
    if form == _TRACE and arguments.elapsed:
        raise UsageError("--elapsed is of signals, and a trace has columns: leave one of them out")
    with recording.read_machine(arguments.file) as journal, long_work("exporting") as work:
        begin, end = parse_span(arguments.from_time, arguments.to_time, journal.first_ns, journal.last_ns)
        time = RecordedTime(journal, begin, end, every, work.frames)
        level = _LEVELS[arguments.by] if arguments.by else None
        words = [word.strip() for word in arguments.columns.split(",")]
        columns = (named_columns(journal, words, level) if arguments.columns
                   else default_columns(journal, level) if form == _TRACE
                   else signal_columns(time, level, elapsed=arguments.elapsed))
        if form == "parquet":
            intervals, rows = _parquet(arguments.output, time, columns, work)
            print(f"{rows:,} rows of {intervals:,} intervals with {len(columns)} columns, RECORDED machine "
                  f"{journal.machine.host.name}: {arguments.output}")
        else:
            _text(form, arguments.output, time, columns, work)
        report_missing(journal)
    if work.stopped:
        print(f"turbotui: {arguments.output or 'the export'}: {work.stopped}", file=sys.stderr)
    return work.status


def _format_of(arguments: argparse.Namespace) -> str:
    form: str = arguments.format or arguments.output.rpartition(".")[2]
    if form not in FORMATS:
        form = "csv"
    if form == "parquet" and not arguments.output:
        raise UsageError("--format parquet is no text: name a file with --output")
    return form


def _named(time: RecordedTime) -> Iterator[Frame]:
    return named_intervals(time.journal.paths[0], time.frames(), time.every)


def _stopped(work: LongWork) -> str:
    """Return what a file says that a signal ended; "" if none did."""
    return f"stopped: whole until {timestamp(work.until_ns)}, what follows is missing" if work.until_ns else ""


def _parquet(path: str, time: RecordedTime, columns: Sequence[LongColumn], work: LongWork) -> tuple[int, int]:
    with needing_packages("Parquet", {"pyarrow": "pyarrow"}, "pyarrow"):
        from turbotui.features.export.parquet_file import write_parquet  # noqa: PLC0415 - 43 MB, and not always there
    with writing_new(path) as file:
        return write_parquet(file, _named(time), columns, _facts(time.journal),
                             lambda: {_STOPPED: words} if (words := _stopped(work)) else {})


def _text(form: str, path: str, time: RecordedTime, columns: Sequence[LongColumn], work: LongWork) -> None:
    machine = time.journal.machine.host.name
    export: CsvExport | JsonExport | TraceExport
    if form == _TRACE:
        limits = thinned(time, columns)
        time = replace(time, every=limits.seconds)
        export = TraceExport(machine, columns, time, limits)
    else:
        export = CsvExport(machine, columns) if form == "csv" else JsonExport(machine, columns)
    if not path:
        _write(export, time, work, print_lines)
        return
    with writing_new(path) as file:
        _write(export, time, work, lambda lines: file.write("".join(f"{line}\n" for line in lines).encode()))


def _write(export: CsvExport | JsonExport | TraceExport, time: RecordedTime, work: LongWork,
           put: Callable[[Iterator[str]], object]) -> None:
    put(export.begin())
    for frame in _named(time):
        put(export.interval(frame))
    put(export.end(_stopped(work)))


def _facts(journal: Journal) -> dict[str, str]:
    """Return the facts of the whole file, which mark its numbers as recorded."""
    machine, header = journal.machine, journal.header
    return {
        "turbotui": __version__, "machine": machine.host.name, "kind": HostKind.RECORDED.value, "was": header.was.value,
        "processor": machine.model.name, "recorded by": f"turbotui {header.version}", "boot_id": header.boot_id,
        "events": json_text([[event.wall_ns, event.kind, event.text] for event in journal.events()], compact=True),
    }
