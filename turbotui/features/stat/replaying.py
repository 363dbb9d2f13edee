"""`turbotui stat --replay`: the table of a recording, in every format, with this version's columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

from turbotui.errors import UsageError
from turbotui.features.stat.options import StatError, StatOptions, StatTask
from turbotui.features.stat.printing import FramePrinter, chosen_layout, is_absent
from turbotui.features.stat.streams import Streams, warn
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.moments import parse_span
from turbotui.quantities.signals import Behavior
from turbotui.recording import read_machine
from turbotui.recording.journal import Journal
from turbotui.tables.envelope import timestamp
from turbotui.tables.formats import SEVERAL
from turbotui.tables.layout import Layout

_MOST_TOLD: Final = 5  # most sentences about missing parts, of which a damaged disk can leave thousands


def replay(options: StatOptions, streams: Streams) -> int:
    """Print a recording, and report unreadable parts on stderr.

    Returns:
        The exit status.

    Raises:
        StatError: there is no such time or column.
        RecordingError: the file is no recording, or cannot be read.
    """
    with read_machine(options.replay) as journal:
        start, end = _times(options, journal)
        layout = _layout(options, journal)
        if options.task is StatTask.LIST:
            streams.rows([",".join(column.id for column in layout.columns)])
            return 0
        if not options.quiet:
            first, last = timestamp(journal.first_ns), timestamp(journal.last_ns)
            streams.notes([f"# {layout.label}, recorded {first} to {last}: nothing below was measured now"])
        streams.configuration(journal.machine, options)
        _print(options, streams, journal, layout, (start, end))
        for one in journal.missing[:_MOST_TOLD]:
            warn(f"{options.replay}: {one.text}")
        if len(journal.missing) > _MOST_TOLD:
            warn(f"{options.replay}: {len(journal.missing) - _MOST_TOLD:,} more parts cannot be read")
    return 0


def _print(options: StatOptions, streams: Streams, journal: Journal, layout: Layout,
           times: tuple[int | None, int | None]) -> None:
    printer = FramePrinter(options, streams, layout, options.intervals or SEVERAL)
    count = 0
    known = (frame for frame in journal.frames(*times, options.every) if frame.older is not None)
    for frame in itertools.islice(known, options.intervals):
        printer.take(frame)
        count += 1
    printer.end()
    if not count:
        warn(f"{options.replay} has no interval in this time")


def _times(options: StatOptions, journal: Journal) -> tuple[int | None, int | None]:
    """Return the wall clocks between which intervals end; None if not given."""
    try:
        start, end = parse_span(options.start, options.end, journal.first_ns, journal.last_ns)
    except UsageError as error:
        raise StatError(str(error), 1) from None
    return start if options.start else None, end if options.end else None


def _layout(options: StatOptions, journal: Journal) -> Layout:
    return chosen_layout(options, journal.catalog, journal.machine.host, _absent(journal), "not recorded: {}")


def _absent(journal: Journal) -> Callable[[CounterColumn], bool]:
    """Return a test whether a column is unavailable: absent on that machine, or its signals were not read."""
    capabilities, topology = journal.capabilities, journal.machine.topology
    read_signals = journal.signals
    signals = capabilities.signals

    def absent(column: CounterColumn) -> bool:
        return is_absent(column, capabilities, topology) or any(
            signals[name].behavior is not Behavior.CONSTANT and name not in read_signals for name in column.needs)

    return absent


