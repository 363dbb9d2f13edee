"""--replay of verbs: a moment or intervals of a recording in place of the machine."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from turbotui.commands.elsewhere import check_host_arguments, open_host_recording
from turbotui.commands.intervals import at_least_one, intervals_of
from turbotui.errors import TurbotuiError, UsageError
from turbotui.untrusted import one_line

if TYPE_CHECKING:  # few runs read a recording: its modules are loaded then
    from turbotui.recording.journal import Journal
    from turbotui.sampling.frame import Frame

T = TypeVar("T")
_FIRST: Final = 5  # intervals of another machine, one of which has rows if any has
_MOST_TOLD: Final = 5  # maximum number of reported gaps: a damaged disk can leave thousands
AT_ONCE: Final = 0.05
"""Seconds of an interval of --host for a verb that shows none."""
_SHORTER: Final = 0.95  # of the wanted length; clocks and ticks waver by less


def add_replay_argument(parser: argparse.ArgumentParser) -> None:
    """Declare --replay."""
    parser.add_argument("--replay", metavar="FILE", help="report on a recording (turbotui record), or - for the "
                        "one on stdin, instead of a machine")


def add_span_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --replay for a verb that reports intervals, with the options for span and interval."""
    parser.add_argument("--replay", metavar="FILE", help="report the intervals of a recording (turbotui record), or "
                        "- for the one on stdin, instead of a machine's")
    parser.add_argument("--from", dest="start", metavar="TIME", default="", help="with --replay: the start: 14:03, "
                        "2026-11-22 14:03, +5m after the beginning, -5m before the end")
    parser.add_argument("--to", dest="end", metavar="TIME", default="", help="with --replay: the end; +5m counts "
                        "from --from")
    parser.add_argument("--every", metavar="TIME", default="", help="with --replay: intervals of this length (10s, "
                        "1m); the rest is a shorter one")


def refuse_span(arguments: argparse.Namespace) -> None:
    """Refuse times without a recording. Raises UsageError if a time was given."""
    if arguments.start or arguments.end or arguments.every:
        raise UsageError("--from, --to and --every go with --replay FILE")


def watched_intervals(arguments: argparse.Namespace) -> tuple[float, int | None]:
    """The seconds of an interval and how many there are, of the machine, that of --host, or the recording of --replay.

    Raises:
        UsageError: the options contradict each other, or one of them is invalid.
    """
    at_least_one(arguments.intervals)
    at_least_one(getattr(arguments, "top", None), "--top", " row")
    check_host_arguments(arguments)
    if arguments.replay:
        return 1.0, arguments.intervals
    refuse_span(arguments)
    return intervals_of(arguments)


def replayed_frames(arguments: argparse.Namespace, journal: Journal, *, named: bool = True) -> Iterator[Frame]:
    """The intervals of a recording that a command line selects.

    Args:
        named: whether stderr names intervals that are shorter than wanted.

    Raises:
        UsageError: a time cannot be parsed, or the times lie outside the recording.
    """
    from turbotui.quantities.moments import parse_duration  # noqa: PLC0415 - as above

    every = parse_duration(arguments.every, "--every") if arguments.every else 0.0
    frames = chosen_frames(journal, arguments.start, arguments.end, every)
    return named_intervals(journal.paths[0], frames, every) if named else frames


def chosen_frames(journal: Journal, start: str, end: str, every: float) -> Iterator[Frame]:
    """The intervals between two times, as `parse_span` takes them, joined to `every` seconds (0: as recorded).

    Raises:
        UsageError: a time cannot be parsed, or the times lie outside the recording.
    """
    from turbotui.quantities.moments import parse_span  # noqa: PLC0415 - as above

    times: tuple[int | None, int | None] = (None, None)
    if start or end:  # the end of a stream is not known before it comes
        begin_ns, end_ns = parse_span(start, end, journal.first_ns, journal.last_ns)
        times = begin_ns if start else None, end_ns if end else None
    return (frame for frame in journal.frames(*times, every) if frame.older is not None)


def named_intervals(name: str, frames: Iterable[Frame], every: float) -> Iterator[Frame]:
    """Yield frames, and name on stderr those that are shorter than wanted.

    Raises:
        TurbotuiError: there is no frame.
    """
    from turbotui.quantities.moments import time_of_day  # noqa: PLC0415 - as above

    count = shorter = 0
    for count, frame in enumerate(frames, 1):  # noqa: B007 - counted
        if (seconds := frame.seconds) is not None and seconds < every * _SHORTER:
            shorter += 1
            if shorter <= _MOST_TOLD:
                print(f"turbotui: {one_line(name)}: the interval that ends at {time_of_day(frame.newer.wall_ns)} is "
                      f"{seconds:.3g} s long, not {every:g} s", file=sys.stderr)
        yield frame
    if shorter > _MOST_TOLD:
        print(f"turbotui: {one_line(name)}: {shorter - _MOST_TOLD:,} more intervals are shorter", file=sys.stderr)
    if not count:
        raise TurbotuiError(f"{name} has no interval in that time: choose a longer one")


def recorded_ones(arguments: argparse.Namespace, frames: Iterator[Frame], read: Callable[[Frame], T | None], rows: str,
                  table: str) -> Iterator[T]:
    """The rows that a recording has in `table`, limited by -n.

    Args:
        frames: of the recording.
        read: returns the rows of an interval, None if it has none.

    Raises:
        TurbotuiError: there are none; another machine is not waited for beyond its first intervals.
    """
    def with_rows(some: Iterator[Frame]) -> Iterator[T]:
        return (interval for frame in some if (interval := read(frame)) is not None)

    host = getattr(arguments, "host", None)
    first = next(with_rows(itertools.islice(frames, _FIRST) if host else frames), None)
    if first is None and host:
        raise TurbotuiError(f"{host} sent no {rows}: turbotui doctor --host {host} lists what is missing there")
    if first is None:
        raise TurbotuiError(f"{arguments.replay} holds no {rows}"
                            f"{' in that time' if arguments.start or arguments.end else ''}: "
                            f"turbotui record --tables {table} records them")
    return itertools.islice(itertools.chain((first,), with_rows(frames)), arguments.intervals)


def missing_words(journal: Journal) -> Iterator[str]:
    """Say which parts of a recording could not be read, and which rows nothing here can show."""
    path = one_line(journal.paths[0])
    if journal.kinds:
        from turbotui.sampling.row_tables import known_kinds  # noqa: PLC0415 - as above

        strange = [title for kind, title in journal.kinds.items() if kind not in known_kinds()]
        yield from (f"{path} has rows of {one_line(title)}, which no feature that is installed here can show"
                    for title in strange[:_MOST_TOLD])
    yield from (f"{path}: {part.text}" for part in journal.missing[:_MOST_TOLD])
    if len(journal.missing) > _MOST_TOLD:
        yield f"{path}: {len(journal.missing) - _MOST_TOLD:,} more parts cannot be read"


def report_missing(journal: Journal) -> None:
    """Report `missing_words` on stderr."""
    for words in missing_words(journal):
        print(f"turbotui: {words}", file=sys.stderr)


def open_replay(arguments: argparse.Namespace, *, intervals: int | None = None, seconds: float = 1.0,
                tables: str = "", columns: str = "") -> Journal:
    """Open the recording that --replay names, or that the machine of --host begins now.

    Args:
        intervals: of --host, after which its recording ends; None for one without end.
        seconds: of an interval of --host.
        tables: that --host is to record beside the CPUs, as for `record --tables`.
        columns: that --host is to record beside the default ones, as for `record --enable`.

    Raises:
        UsageError: another machine is named as well.
        LinkError: ssh cannot be started.
        RecordingError: the file is no recording, or cannot be read.
    """
    if getattr(arguments, "host", None):
        if arguments.replay:
            raise UsageError("--replay tells of the machine that was recorded: leave --host out")
        return open_host_recording(arguments, intervals=intervals, seconds=seconds, tables=tables, columns=columns)
    if arguments.machine is not None or getattr(arguments, "sysroot", "/") != "/":
        raise UsageError("--replay tells of the machine that was recorded: leave --machine and --sysroot out")
    from turbotui.recording import read_machine  # noqa: PLC0415 - as above

    return read_machine(arguments.replay)
