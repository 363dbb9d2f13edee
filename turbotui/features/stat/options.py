"""The options of `turbotui stat`: turbostat's, spelled and counted as turbostat does, and a few of turbotui's own.

Facts: docs/specs/turbostat.md 1.1 to 1.6 and 1.12. Defects of turbostat are not copied; DIFFERENCES.md lists them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest_or_all
from turbotui.features.stat.getopt import Option, OptionError, read_options
from turbotui.machine.cpulist import parse_cpu_set
from turbotui.quantities.plain_numbers import decimal_number, whole_number
from turbotui.quantities.units import parse_celsius
from turbotui.sampling.limits import LONGEST_INTERVAL
from turbotui.tables.formats import NAMES, TEXT, two_formats

SHORTEST = 0.001
"""Seconds: the shortest interval (docs/specs/turbostat.md 1.1)."""

DEFAULT_INTERVAL = 5.0
"""Seconds (docs/specs/turbostat.md 1.1)."""

_FOR_PEOPLE = (TEXT, "table")


class StatError(UsageError):
    """A word that turbostat refuses, with turbostat's exit status (docs/specs/turbostat.md 1.12)."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_status = status


class Rows(Enum):
    """The rows that are printed below the summary."""

    ALL = "every CPU"
    CORES = "the first CPU of each core"
    PACKAGES = "the first CPU of each package"


class StatTask(Enum):
    """The task of `turbotui stat`: watch, list, dump, help or version."""

    WATCH = "watch"
    LIST = "list"
    DUMP = "dump"
    HELP = "help"
    VERSION = "version"


@dataclass(frozen=True, slots=True)
class StatOptions:
    """A parsed command line of `turbotui stat`."""

    task: StatTask = StatTask.WATCH
    choices: tuple[tuple[str, str], ...] = ()  # ("show" | "hide" | "enable", comma-separated words) in the order given
    added: tuple[str, ...] = ()  # texts of --add, in the order given
    events: str = ""  # file of --events
    event_tables: str = ""  # directory of --event-tables
    cpus: frozenset[int] | None = None  # the set that --cpu restricts measuring to; None for every CPU
    rows: Rows = Rows.ALL
    debug: int = 0  # how often --debug was given
    moments: bool = False  # whether the clock is timed at ten moments of an interval
    extremes: bool = False  # whether to print minimum, mean and maximum at the end
    header_every: int | None = None  # --header_iterations; None to never repeat the header
    interval: float = DEFAULT_INTERVAL
    intervals: int | None = None
    joules: bool = False
    no_msr: bool = False
    no_perf: bool = False
    out: str = ""
    quiet: bool = False
    summary_only: bool = False
    tcc: int | None = None  # --TCC in °C; None if not given
    format: str = "text"
    machine: str | None = None
    sysroot: str = "/"
    drop_privileges: bool = False  # whether to give up root once the counters are open
    replay: str = ""  # a recording to print; "" for none
    # start, end: --from and --to; "" if not given
    start: str = ""
    end: str = ""
    every: float = 0.0  # seconds of an interval of a replay; 0 for the recorded intervals
    connect: str = ""  # socket of a collector; "" for none
    host: str = ""  # a machine that ssh reaches; "" for none
    sudo: bool = False  # whether root collects on that machine
    remote: str = ""  # the command of turbotui on that machine; "" for its name
    command: tuple[str, ...] = ()  # words of the command to run; empty in interval mode

    @property
    def for_people(self) -> bool:
        """Whether the format is one for people, who also want what is around the table."""
        return self.format in _FOR_PEOPLE


def parse_options(words: Sequence[str]) -> StatOptions:
    """Parse a command line; --help and --version end the parsing where they stand.

    Raises:
        OptionError: an option is unknown or ambiguous (exit status 1).
        StatError: turbostat refuses an argument, with this exit status.
    """
    options = StatOptions(format="")
    for given in read_options(words, OPTIONS):
        if isinstance(given, tuple):
            options = replace(options, command=given)
        else:
            option = given.option
            if option.refused:  # turbostat only prints its help and ends with 1 (docs/specs/turbostat.md 1.1)
                raise OptionError(f"option '{option.spelling}' is {option.help}")
            field = option.name.replace("-", "_")
            change = option.change or (_sets(field) if option.argument else _switches(**{field: True}))
            options = change(options, given.argument)
            if options.task in (StatTask.HELP, StatTask.VERSION):
                return replace(options, format=options.format or TEXT)
    options = replace(options, format=options.format or TEXT)
    if options.replay:
        _check_replay(options)
    elif options.start or options.end or options.every:
        raise StatError("--from, --to and --every go with --replay", 1)
    if options.host or options.connect or options.remote or options.sudo:
        _check_remote_options(options)
    if options.machine is not None and options.sysroot != "/":
        raise StatError("--machine and --sysroot name two machines: give one of them", 1)
    if options.task is StatTask.LIST and options.format != TEXT:
        raise StatError(f"--list prints names as text: turbotui columns --format {options.format} has them all", 1)
    if options.extremes and (options.command or not options.for_people):
        raise StatError("--extremes goes with intervals and with --format text or table: other formats are for "
                        "programs, which can work it out of every interval", 1)
    return options


def _check_replay(options: StatOptions) -> None:
    """Refuse options that a recording cannot satisfy."""
    others = {
        "--machine": options.machine is not None, "--sysroot": options.sysroot != "/", "--add": bool(options.added),
        "--cpu": options.cpus is not None, "--TCC": options.tcc is not None, "--Dump": options.task is StatTask.DUMP,
        "a command": bool(options.command), "--host": bool(options.host), "--connect": bool(options.connect),
        "--interval (--every joins intervals)": options.interval != DEFAULT_INTERVAL,
    }
    given = [name for name, is_given in others.items() if is_given]
    if given:
        raise StatError(f"--replay prints what was recorded as it was: leave {', '.join(given)} out", 1)


def _check_remote_options(options: StatOptions) -> None:
    """Refuse options that a collector cannot satisfy."""
    if options.sudo and not options.host:
        raise StatError("--sudo is for --host: it says who collects there", 1)
    if not options.host and not options.connect:
        raise StatError("--remote is for --host: it says how turbotui is called there", 1)
    if options.remote and not options.host:
        raise StatError("--remote is for --host: a socket's collector runs already", 1)
    option = "--host" if options.host else "--connect"
    own = {
        "--connect": bool(options.host and options.connect), "--replay": bool(options.replay),
        "--add": bool(options.added), "--events": bool(options.events),
        "--event-tables": bool(options.event_tables), "--Dump": options.task is StatTask.DUMP,
        "--no-msr": options.no_msr, "--no-perf": options.no_perf, "--drop-privileges": options.drop_privileges,
        "a command": bool(options.command),
    }
    handed_on = {
        "--machine": options.machine is not None, "--sysroot": options.sysroot != "/", "--TCC": options.tcc is not None,
        "--interval": options.interval != DEFAULT_INTERVAL, "--cpu": options.cpus is not None,
    }
    given = [name for name, is_given in (own if options.host else own | handed_on).items() if is_given]
    if given:
        raise StatError(f"{', '.join(given)} cannot be had with {option}: give it to the collector (turbotui collect)",
                        1)


def _choice(word: str) -> Callable[[StatOptions, str], StatOptions]:
    return lambda options, names: replace(options, choices=(*options.choices, (word, names)))


def _format(options: StatOptions, name: str) -> StatOptions:
    if name not in NAMES:
        raise StatError(f'unknown format "{name}"{nearest_or_all(name, NAMES)}', 1)
    if options.format not in ("", name):
        raise StatError(two_formats(options.format, name), 1)
    return replace(options, format=name)


def _restrict(options: StatOptions, argument: str) -> StatOptions:
    """Apply --cpu: a later set replaces an earlier one; sets and words exclude each other (turbostat.md 1.5)."""
    word = {"core": Rows.CORES, "package": Rows.PACKAGES}.get(argument)
    if word is not None and options.cpus is None:
        return replace(options, rows=word)
    if word is not None or options.rows is not Rows.ALL:
        raise StatError(f'"--cpu {argument}" malformed: a set of CPUs and core or package cannot be combined', 255)
    try:
        return replace(options, cpus=parse_cpu_set(argument))
    except UsageError as error:
        raise StatError(f'"--cpu {argument}" malformed: {error}', 255) from None


_NUMBER = re.compile(r"\s*\+?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)\s*\Z", re.ASCII)


def _count(text: str, what: str) -> int:
    """Parse a number from 1 as strtoul with base 0 does (docs/specs/turbostat.md 1.1)."""
    match = _NUMBER.match(text)
    digits = "" if match is None else match[1]
    number = 0
    if digits:
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        number = int(digits, base) if base != 10 else whole_number(digits) or 0
    if number <= 0:
        raise StatError(f"invalid {what} count: {text}", 255)
    return number


_BEGINS_AS_NUMBER = re.compile(r"\s*(?:[+-]?\.?[0-9]|[+-]?(?:nan|inf))", re.ASCII | re.IGNORECASE)
"""A number as strtod finds it, whatever follows."""


def _interval(text: str) -> float:
    if _BEGINS_AS_NUMBER.match(text) is None:
        seconds: float | None = 0.0  # as strtod returns for a text
    else:
        seconds = decimal_number(text.strip().removesuffix("s"))
    if seconds is None:
        raise StatError(f'interval "{text}" is not a number of seconds', 2)
    if seconds < SHORTEST:
        raise StatError(f"interval {seconds:f} seconds is too small", 2)
    if seconds > LONGEST_INTERVAL:
        raise StatError(f"interval {seconds:g} seconds is too large: the largest is {LONGEST_INTERVAL:,.0f}", 2)
    return seconds


def _file(text: str) -> str:
    if not text:
        raise StatError('--out "": an empty word names no file', 1)
    return text


def _every(text: str) -> float:
    from turbotui.quantities.moments import parse_duration  # noqa: PLC0415 - --replay alone takes it

    try:
        return parse_duration(text, "--every")
    except UsageError as error:
        raise StatError(str(error), 1) from None


def _celsius(text: str) -> int | None:
    if text.strip().lstrip("+-").strip("0") == "" and "0" in text:
        return None  # turbostat's value for "not given", which means the machine's own
    try:
        return parse_celsius(text)
    except UsageError as error:
        raise StatError(f"--{error}", 1) from None


def _sets(field: str, read: Callable[[str], Any] = str) -> Callable[[StatOptions, str], StatOptions]:
    """Return the change of a field to the option's argument as `read` understands it."""
    return lambda options, text: replace(options, **{field: read(text)})


def _switches(**values: Any) -> Callable[[StatOptions, str], StatOptions]:
    """Return the change of an option without an argument."""
    return lambda options, _text: replace(options, **values)


OPTIONS: tuple[Option, ...] = (
    Option("add", "add a column: msr0xADDR, perf/DEVICE/EVENT, /absolute/path or pmt,... with u32|u64,\n"
           "cpu|core|package, cycles|seconds|usec, raw|delta|average|percent and a name;\n"
           "or any event, a formula over events, or a set of them: see below", argument="SPEC", prefix="a",
           change=lambda options, text: replace(options, added=(*options.added, text))),
    Option("cpu", "only these CPUs (0-3,8 or 0..3); core, package: only the row of the first CPU of each",
           "c", "SET", change=_restrict),
    Option("debug", "every column, and more in the header; twice: also where each number is read", "d",
           change=lambda options, _text: replace(options, debug=options.debug + 1)),
    Option("Dump", "print the raw counters once and exit; perf is not used; with another --format than\n"
           "text a table of them, with where each was read", "D",
           change=_switches(task=StatTask.DUMP, no_perf=True)),
    Option("enable", "these columns as well as the default ones; all: every one", "e", "NAMES",
           change=_choice("enable")),
    Option("force", "accepted for scripts: no processor model is ever refused", prefix="f", change=_switches()),
    Option("header_iterations", "with --Summary: repeat the header every N lines", "N", "N",
           change=_sets("header_every", lambda text: _count(text, "header iteration"))),
    Option("help", "this text", "h", change=_switches(task=StatTask.HELP)),
    Option("hide", "without these columns or categories", "H", "NAMES", change=_choice("hide")),
    Option("interval",
           f"seconds between readings, from {SHORTEST:g} to {LONGEST_INTERVAL:,.0f} (default {DEFAULT_INTERVAL:g})",
           "i", "SECONDS", change=_sets("interval", _interval)),
    Option("IPC", "refused, as by turbostat: IPC is a column, and perf's -I is -i SECONDS", "I", refused=True),
    Option("Joules", "energy in joules instead of power in watts", "J", change=_switches(joules=True)),
    Option("list", "print the names of the columns that are available here, and exit", prefix="l",
           change=_switches(task=StatTask.LIST, quiet=True)),
    Option("no-msr", "never open the MSR driver", "M"),
    Option("no-perf", "never open a perf counter", "P"),
    Option("num_iterations", "stop after N intervals", "n", "N",
           change=_sets("intervals", lambda text: _count(text, "iteration"))),
    Option("out", "write everything to FILE", "o", "FILE", change=_sets("out", _file)),
    Option("quiet", "no configuration header", "q"),
    Option("show", "only these columns or categories; more --show add (default: all that are on by default)",
           argument="NAMES", prefix="s", change=_choice("show")),
    Option("Summary", "one line an interval: the whole machine", "S", change=_switches(summary_only=True)),
    Option("TCC", "temperature in °C from which the thermal readouts count down", "T", "CELSIUS",
           change=_sets("tcc", _celsius)),
    Option("version", "print the version and exit", "v", change=_switches(task=StatTask.VERSION)),
    Option("", "refused, as by turbostat: left over from an old option; perf's -C is -c SET", "C", "ARG", refused=True),
    Option("replay", "print a recording of turbotui record (- for the one on stdin)", argument="FILE", own=True),
    Option("event-tables", "the vendor's names of events and metrics from this folder of pmu-events JSON\n"
           "(the kernel's tools/perf/pmu-events, or Intel's perfmon) instead of perf's own;\n"
           "none: sysfs and libpfm alone",
           argument="DIR", own=True),
    Option("from", "with --replay: begin at 14:03, 2026-11-22 14:03:20, +5m (after its beginning), -1h\n"
           "(before its end)", argument="TIME", own=True, change=_sets("start")),
    Option("to", "with --replay: end here, as --from", argument="TIME", own=True, change=_sets("end")),
    Option("every", "with --replay: intervals of this length: 10s, 5m (default: as recorded)", argument="TIME",
           own=True, change=_sets("every", _every)),
    Option("connect", "print the readings of the collector behind this socket (turbotui collect --socket PATH)",
           argument="PATH", own=True),
    Option("host", "print another machine: ssh starts turbotui collect there, without asking for passwords;\n"
           "where no turbotui is, its collecting part is sent to python3", argument="USER@NODE", own=True),
    Option("sudo", "with --host: collect there as root, by a sudo that asks for no password", own=True),
    Option("remote", 'with --host: the command that starts turbotui there, such as "sudo -n turbotui"',
           argument="COMMAND", own=True),
    Option("drop-privileges", "drop root for good once the counters are open; a command never has it", own=True),
    Option("events", "a TOML file of event sets, whose names --add set:NAME takes too", argument="FILE", own=True),
    Option("extremes", "at the end: least, mean and greatest of every number (formats text and table)", own=True),
    Option("format", f"{' | '.join(NAMES)} (default text, which is turbostat's)", argument="FORMAT", own=True,
           change=_format),
    Option("moments", "time the clock of virtual CPUs (NowMHz) at ten moments of an interval instead of one", own=True,
           change=lambda options, _text: _choice("enable")(replace(options, moments=True), "NowMHz")),
    Option("machine", "watch a simulated machine (see turbotui machines), or a FILE.tar.gz of turbotui gather",
           argument="NAME", own=True),
    Option("sysroot", "read the files of a recorded machine below DIR instead of /", argument="DIR", own=True),
)
"""Every option, in the order of the help text."""
