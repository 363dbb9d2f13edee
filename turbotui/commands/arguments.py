"""Options that several commands share; imports nothing heavy, so that --help is fast."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, Final

from turbotui.sampling.limits import INTERVAL_BOUNDS

_TOO_MANY: Final = 1 << 63
"""`itertools.islice` and the kernel take no more than 63 bits."""


class _Choice(argparse.Action):
    """Stores --show, --hide and --enable in the order in which they were given."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace,
                 values: str | Sequence[Any] | None, option_string: str | None = None) -> None:
        del parser, option_string
        namespace.choices = [*namespace.choices, (self.const, values)]


def whole(text: str) -> int:
    """Parse a whole number, as argparse's `type`: `int` also reads "1_0" and digits of other scripts.

    Raises:
        ArgumentTypeError: it is not one, or is more than anything can be counted to.
    """
    from turbotui.quantities.plain_numbers import whole_number  # noqa: PLC0415 - the first paint needs no number

    digits = text.strip()
    number = whole_number(digits)
    if number is None or number >= _TOO_MANY:
        what = "is no whole number"
        if digits.removeprefix("-").isdecimal() and digits.isascii():
            what = "is below 0" if digits.startswith("-") else "is too large"
        raise argparse.ArgumentTypeError(f'"{text[:40]}" {what}')
    return number


def add_machine_arguments(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare the options that choose a machine."""
    parser.add_argument("--machine", metavar="NAME",
                        help="watch a simulated machine (see turbotui machines) or a FILE.tar.gz of turbotui gather; "
                        "every output says SIMULATED or RECORDED")
    parser.add_argument("--sysroot", metavar="DIR", default="/",
                        help="read the files of a recorded machine below DIR instead of /")


def add_event_tables_argument(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare the option for tables of event names, for commands that take events."""
    parser.add_argument("--event-tables", metavar="DIR", default="",
                        help="the vendor's names of events and metrics from this folder of pmu-events JSON (the "
                        "kernel's tools/perf/pmu-events, or Intel's perfmon) instead of perf's own; none: sysfs and "
                        "libpfm alone")


def add_watching_arguments(parser: argparse.ArgumentParser, interval: float) -> None:
    """Declare the options for machine, CPUs, columns and interval."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", default=str(interval),
                        help=f"seconds between two readings, {INTERVAL_BOUNDS} (default {interval:g})")
    parser.add_argument("-T", "--TCC", metavar="CELSIUS", dest="tcc",
                        help="temperature from which the thermal readouts count down, if the machine reports a wrong "
                             "one")
    parser.add_argument("-c", "--cpu", metavar="SET", help="only these CPUs: 0-3,8 or 0..3,8")
    parser.add_argument("--moments", action="store_true",
                        help="time the clock of virtual CPUs (NowMHz) at ten moments of an interval instead of one")
    parser.set_defaults(choices=[])
    parser.add_argument("-s", "--show", metavar="NAMES", action=_Choice, const="show",
                        help="only these columns or categories, comma separated; further --show options add to them")
    parser.add_argument("--hide", metavar="NAMES", action=_Choice, const="hide",
                        help="hide these columns or categories")
    parser.add_argument("-e", "--enable", metavar="NAMES", action=_Choice, const="enable",
                        help="show these columns or categories in addition to the default ones")
    parser.add_argument("-a", "--add", metavar="SPEC", action="append", default=[],
                        help="add a column, as turbotui stat --add: an event (cycles:u, uncore_imc/cas_count_read/), "
                             "a formula (CPI=cycles/instructions), set:NAME, msr0xADDR, perf/PMU/EVENT, /PATH")
    parser.add_argument("--events", metavar="FILE", default="",
                        help="a TOML file of event sets, whose names --add set:NAME takes too")
    add_event_tables_argument(parser)
