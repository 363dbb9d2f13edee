"""-i and -n of verbs that print a table for each interval, and the output of these tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Self

from turbotui.commands.arguments import whole
from turbotui.commands.formats import make_writer, print_lines
from turbotui.commands.sessions import parse_interval
from turbotui.errors import UsageError
from turbotui.machine.signal_guard import noticed_signals
from turbotui.quantities.tables import AnyTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import SEVERAL, Writer

_EACH: Final = "seconds of an interval; print a table for every interval, not only one"


def add_interval_arguments(parser: argparse.ArgumentParser, each: str = _EACH) -> None:
    """Declare -i and -n; `each` is the help of -i."""
    parser.add_argument("-i", "--interval", metavar="SECONDS", help=each)
    parser.add_argument("-n", "--intervals", metavar="N", type=whole,
                        help="end after this many intervals (of 1 s by default)")


def at_least_one(number: int | None, option: str = "-n", what: str = " interval") -> None:
    """Refuse a number below 1; None stands for an option that was not given.

    Raises:
        UsageError: the number is below 1.
    """
    if number is not None and number < 1:
        raise UsageError(f"{option} {number}: at least one{what}")


def intervals_of(arguments: argparse.Namespace) -> tuple[float, int | None]:
    """The seconds of an interval, and how many there are: one without -i and -n, without end (None) with -i alone.

    Raises:
        UsageError: the interval is invalid.
    """
    once = arguments.interval is None and arguments.intervals is None
    return parse_interval(arguments.interval or "1"), 1 if once else arguments.intervals


class IntervalOutput:
    """The output of a verb: text of its own (no writer), or another format."""

    def __init__(self, writer: Writer | None) -> None:
        self._writer = writer

    def write(self, envelope: Envelope, tables: Sequence[AnyTable], text: Callable[[], Iterable[str]]) -> None:
        """Write one interval; `text` returns its lines for people."""
        if self._writer is None:
            print_lines(text())
        else:
            self._writer.write(envelope, tables)

    def end(self) -> None:
        """Write what the format has after the last interval."""
        if self._writer is not None:
            self._writer.end()

    @contextmanager
    def until_interrupted(self) -> Iterator[Self]:
        """Write intervals until they are over or SIGINT comes, which is the usual end, and end the output."""
        try:
            with suppress(KeyboardInterrupt), noticed_signals():
                yield self
        finally:
            self.end()


def open_output(arguments: argparse.Namespace, intervals: int | None, *, marks: bool = True) -> IntervalOutput:
    """Open the output that a command line requests. The intervals of a recording come to an end."""
    if intervals is None and getattr(arguments, "replay", None):
        intervals = SEVERAL
    return IntervalOutput(make_writer(arguments, intervals, marks=marks))
