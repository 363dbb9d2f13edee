"""Fuzzes every grammar that a user can type or put into a file: any exception other than its own error is a fault.

`python -m bench.fuzz_grammars --count 1000000 --seed 1` takes the grammars in turn. Half of the texts are made of a
grammar's pieces, half are examples with some characters changed. Each text has a number, from which alone it can be
made again (`--only NUMBER`). A fault is printed once for each place in the program; a text that takes more than 2 s of
CPU time is one. Recordings have a program of their own, bench.fuzz. Exit status: how many faults there were.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Final

from turbotui.app.settings import parse_settings
from turbotui.commands.addresses import parse_address
from turbotui.commands.sessions import parse_interval
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.encoder import EventEncoder
from turbotui.events.event_tables.cpuid import matches
from turbotui.events.event_tables.perf_list import parse_list
from turbotui.events.metrics.syntax import parse_metric
from turbotui.events.set_files import parse_sets
from turbotui.features.export.live.requests import RefusedError, parse_request
from turbotui.machine.caches import parse_size
from turbotui.machine.cpulist import parse_cpu_set, parse_cpulist, parse_cpumask
from turbotui.machine.cpumodel import parse_cpu_model
from turbotui.machine.memory import parse_module
from turbotui.machine.pmus import EventError
from turbotui.machine.regions import parse_mark
from turbotui.quantities.added import parse_added
from turbotui.quantities.alerts import AlertRequest, parse_alert
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.event_columns import parse_requests
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.filters import FilterError, parse_filter
from turbotui.quantities.moments import parse_duration, parse_moment, parse_span
from turbotui.quantities.spies import parse_events, parse_plan, parse_target
from turbotui.quantities.units import parse_celsius
from turbotui.simulated import simulated_host

SECONDS: Final = 2.0
_COMMON: Final = (
    "0", "1", "9" * 30, "0x1f", "-", ",", ":", "=", "/", "*", "?", "(", ")", "{", "}", "[", "]", "'", '"', " ",
    "\t", "\n", "\0", "\x1b[31m", "é", "٣", "²", "\ud800", "..", "%", "@", "#", "a", "_", "<", ">", "&", "|", "!",
    "\\", "~",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grammar:
    """A kind of text.

    Attributes:
        pieces: words of it, beside those of all.
        examples: whole texts.
        read: what is asked of it.
        refusals: how it says no.
    """

    name: str
    pieces: Sequence[str]
    examples: Sequence[str]
    read: Callable[[str], object]
    refusals: tuple[type[Exception], ...] = (UsageError,)


def _column(name: str) -> CounterColumn | None:
    return _BY_NAME.get(name.lower())


_BY_NAME: Final = {column.id.lower(): column for column in STATIC_COLUMNS}
_EVENTS: Final = (
    "cycles",
    "cpu",
    "cpu_core",
    "cpu_atom",
    "u",
    "ppp",
    "event",
    "umask",
    "r1a8",
    "r0x1a8",
    "mem:",
    "sched:sched_wakeup",
    "uncore_imc",
    "imc",
    "period",
    "freq",
    "name",
    "config4",
    "L1-dcache-loads",
    "W",
    "X",
    "energy-pkg",
    "4:1",
    "cpu=",
    "ratio-to-prev=2",
    "aux-action=pause",
    "legacy-cache-config=1",
    "tool/user_time/",
    "hwmon_x/temp1/",
    "drm_x/y/",
    "duration_time",
    "slots",
    "percore",
)
_EVENT_TEXTS: Final = (
    "cycles:u",
    "cpu/event=0x3c,umask=0x1,name='a:b'/ukp",
    "{cycles,instructions/period=200,ratio-to-prev=2.0/}:S",
    "uncore_imc_*/cas_count_read/",
    "mem:0x1000/8:rw/name=x/u",
    "4:0x1a8/period=5/u",
    "software/r0x1a/",
    "r1a8:k",
    "cpu_core/L1-dcache-loads,cpu=0-3/",
    "msr/tsc/",
    "sched:sched_wak*",
    "power/energy-pkg/",
)
_TOML: Final = ('title = "T"\n', "[[column]]\n", 'event = "cycles"\n', "[a.b]\n", "rate = true\n", "x = 1e400\n", "[")


def _encoded(machine: str) -> Callable[[str], object]:
    encoder = EventEncoder(simulated_host(machine))
    return encoder.encode


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _span(text: str) -> tuple[int, int]:
    begin, _, end = text.partition("..")
    return parse_span(begin, end, 0, 10**12)


def grammars() -> tuple[Grammar, ...]:
    """Return every grammar except that of recordings."""
    return (
        Grammar("events", _EVENTS, _EVENT_TEXTS, _encoded("sapphire-2s"), (EventError,)),
        Grammar("events of several kinds of core", _EVENTS, _EVENT_TEXTS, _encoded("laptop"), (EventError,)),
        Grammar("events of Arm", _EVENTS, _EVENT_TEXTS, _encoded("vera-2s"), (EventError,)),
        Grammar(
            "--add of events",
            (*_EVENTS, "rate", "set:", "dt", "min(", "unit=", "decimals="),
            (*_EVENT_TEXTS, "ipc=instructions/cycles,unit=x,decimals=2", "user_time", "a=user_time/duration_time"),
            parse_requests,
        ),
        Grammar(
            "--add of counters",
            ("msr0x10", "perf/", "/sys/x", "pmt,", "u64", "core", "raw", "delta", "guid=", "lsb="),
            (
                "msr0x10,u64,cpu,delta,name",
                "perf/power/energy-pkg,package",
                "pmt,name=X,domain=package0,offset=8,lsb=0,msb=31,guid=0x1a067102",
            ),
            parse_added,
        ),
        Grammar(
            "formulas",
            ("min(", "max(", "cycles", "dt", "1e308", "tsc", "'a-b'", "+", "energy.pkg"),
            ("(instructions + 2 * 'cpu/event=1/') / max(cycles, 1) - -dt",),
            parse_expression,
        ),
        Grammar(
            "filters",
            ("Busy%", "PkgWatt", "and", "or", "not", ">=", "Bzy_MHz", "min("),
            ("Busy%>50 and (PkgTmp>=90 or not IPC<1)", "python"),
            lambda text: parse_filter(text, _column),
            (FilterError,),
        ),
        Grammar(
            "alerts",
            ("PkgTmp", ">95", " for 10s", "and", "Busy%"),
            ("PkgTmp>95 for 10s", "Busy%>2*PkgWatt for 5"),
            lambda text: parse_alert(AlertRequest(when=text), _column),
        ),
        Grammar(
            "metric expressions",
            (
                "if",
                "else",
                "#num_cpus",
                "d_ratio(",
                "min(",
                "max(",
                "has_event(",
                "strcmp_cpuid_str(",
                "cpu@event\\=1@",
                "source_count(",
            ),
            (
                "100 * (a.b / (c - d) if #smt_on else d_ratio(e, 2)) | 1 & has_event(x)",
                "cpu_core@INST\\,cmask\\=0x1@ / duration_time",
            ),
            parse_metric,
        ),
        Grammar(
            "set files",
            _TOML,
            ('[x]\ntitle = "T"\n[[x.columns]]\nname = "A"\nformula = "cycles/dt"\nhelp = "h"\n',),
            lambda text: parse_sets(text, "f"),
        ),
        Grammar(
            "settings",
            (*_TOML, "theme = ", "interval = 1\n", "[limits]\n", "[[alert]]\n"),
            ('theme = "x"\ninterval = 2\n[[alerts]]\nwhen = "PkgTmp>9"\n',),
            lambda text: parse_settings(text, "f"),
        ),
        Grammar("sizes", ("K", "M", "G", "32"), ("48K", "32M"), parse_size, (ValueError,)),
        Grammar(
            "CPU lists", ("0-3", ":1/4", "8191", "all", "N"), ("0-3,8-11", "0-31:2/4"), parse_cpulist, (ValueError,)
        ),
        Grammar("CPU masks", ("ffffffff", ",00000001"), ("00000000,0000ffff",), parse_cpumask, (ValueError,)),
        Grammar("sets of CPUs", ("0..3", "core", "package", "8"), ("0-3,8", "0..7"), parse_cpu_set),
        Grammar(
            "moments",
            ("last", "first", "-5m", "+1h", "12:30", "2026-11-23", "T", "%"),
            ("2026-11-23 12:30:05", "+5m", "last-10s", "12:30"),
            lambda text: parse_moment(text, 5, 0, 10**12),
        ),
        Grammar(
            "spans",
            ("last", "first", "+1h", "..", "%"),
            ("first..last", "+1m..+2m"),
            _span,
        ),
        Grammar("durations", ("ms", "s", "m", "h", "1.5"), ("1.5s", "10m"), parse_duration),
        Grammar("intervals", ("ms", "us", "s", "0.1", "nan", "inf"), ("0.5", "250ms"), parse_interval),
        Grammar(
            "spies' targets",
            ("core", "cpu", "P", "E", "L3", "package", "first"),
            ("cpu 3", "cores 0-3", "P"),
            parse_target,
        ),
        Grammar("spies' events", _EVENTS, ("cycles,instructions;LLC-loads,LLC-load-misses",), parse_events),
        Grammar(
            "spies' plans",
            (*_TOML, "[[spy]]\n", 'on = "cpu 0"\n'),
            ('[[spy]]\non = "cpu 0"\nevents = ["cycles"]\n',),
            parse_plan,
        ),
        Grammar("temperatures", ("C", "°"), ("100",), parse_celsius),
        Grammar("addresses", ("[::1]", "localhost", "127.0.0.1", "80"), ("[::1]:8000", "127.0.0.1:80"), parse_address),
        Grammar(
            "requests of HTTP",
            ("GET ", "/metrics", " HTTP/1.1\r\n", "Host: x\r\n", "\r\n"),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip;q=0\r\n\r\n",),
            lambda text: parse_request(_bytes(text)),
            (RefusedError,),
        ),
        Grammar(
            "vendors' tables",
            (
                '{"EventName": "a", "Encoding": "cpu/event=1/"}',
                '{"MetricName": "m", "MetricExpr": "a"}',
                '"Unit": ',
                "null",
                "1e999",
                "[[[",
            ),
            (
                '[{"Unit": "cpu", "EventName": "a.b", "Encoding": "cpu/event=1/"}]',
            ),
            lambda text: parse_list(_bytes(text), "perf"),
        ),
        Grammar(
            "CPUs of vendors' tables",
            ("GenuineIntel", "-6-8F", "[[:xdigit:]]+", "[0-", "(", "+", "0x00000000410fd490"),
            ("GenuineIntel-6-(CC|D5)", "AuthenticAMD-26-[[:xdigit:]]+"),
            lambda text: matches(text, "GenuineIntel-6-8F-8"),
        ),
        Grammar(
            "marks of regions",
            ("B ", "E ", " 1", " 2 3", " name"),
            ("B 123 4 5 0 stream", "E 123 4 5 0 stream"),
            lambda text: parse_mark(_bytes(text)),
        ),
        Grammar(
            "/proc/cpuinfo",
            ("processor\t: 0\n", "vendor_id\t: GenuineIntel\n", "cpu family\t: ", "CPU part\t: 0xd4f\n"),
            ("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 80\nflags\t: a b\n",),
            parse_cpu_model,
        ),
        Grammar(
            "SMBIOS",
            ("\x11\x54", "\0", "DIMM 0\0"),
            ("\x11\x28" + "\1" * 38 + "P0 CHANNEL A\0B\0\0",),
            lambda text: parse_module(_bytes(text)),
        ),
    )


def text_of(grammar: Grammar, chance: random.Random) -> str:
    """Make a text of pieces, or change an example."""
    words = (*grammar.pieces, *_COMMON)
    if chance.random() < 0.5:
        pieces = chance.choices((grammar.pieces, words), k=1)[0]
        return "".join(chance.choices(pieces, k=chance.randrange(12)))
    text = chance.choice(grammar.examples)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        at = chance.randrange(len(text) + 1)
        length = chance.choice((0, 0, 1, 1, 2, 8))
        text = text[:at] + chance.choice(("", *words, chr(chance.randrange(1, 0x250)))) + text[at + length :]
    return text if chance.random() < 0.995 else text * chance.choice((40, 400))


def _too_long(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"more than {SECONDS} s of CPU time")


def run(count: int, seed: int, first: int = 0) -> tuple[dict[str, str], Counter[str]]:
    """Parse this many texts, grammar by grammar.

    Returns:
        By the place in the program the text and traceback of what was raised there and is no refusal of that grammar;
        and how many texts each grammar took for good.
    """
    rows = grammars()
    faults: dict[str, str] = {}
    taken: Counter[str] = Counter()
    for number in range(first, first + count):
        grammar = rows[number % len(rows)]
        text = text_of(grammar, random.Random(seed << 40 | number))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            grammar.read(text)
            taken[grammar.name] += 1
        except grammar.refusals:
            pass
        except Exception as error:  # noqa: BLE001 - whichever it is
            frames = traceback.extract_tb(error.__traceback__)
            place = next((summary for summary in reversed(frames) if summary.filename != __file__), frames[-1])
            key = f"{type(error).__name__} at {place.filename}:{place.lineno}"
            if key not in faults:
                faults[key] = f"{grammar.name}, text {number}: {text[:400]!r}\n{traceback.format_exc()}"
                print(f"{key}\n{faults[key]}", flush=True)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return faults, taken


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz_grammars", description=__doc__)
    parser.add_argument("--count", type=int, default=31_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="this text alone")
    arguments = parser.parse_args()
    signal.signal(signal.SIGVTALRM, _too_long)
    began = time.process_time()
    if arguments.only is not None:
        return len(run(1, arguments.seed, arguments.only)[0])
    faults, taken = run(arguments.count, arguments.seed, arguments.first)
    each = arguments.count // len(grammars())
    for grammar in grammars():
        print(f"{grammar.name:32} {taken[grammar.name] / max(each, 1):6.1%} of {each:,} were taken")
    print(f"{arguments.count:,} texts: {len(faults)} faults, {time.process_time() - began:.0f} s of CPU time")
    return min(len(faults), 100)


if __name__ == "__main__":
    sys.exit(main())
