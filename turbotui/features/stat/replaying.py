"""`turbotui stat --replay`: the table of a recording, in every format, with this version's columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from turbotui.commands.recorded import chosen_frames, missing_words, named_intervals
from turbotui.errors import UsageError
from turbotui.features.stat.options import StatError, StatOptions, StatTask
from turbotui.features.stat.printing import FramePrinter, chosen_layout, is_absent
from turbotui.features.stat.streams import Streams, warn
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.signals import Behavior
from turbotui.recording import read_machine
from turbotui.recording.journal import Journal
from turbotui.tables.envelope import timestamp
from turbotui.tables.formats import SEVERAL


def replay(options: StatOptions, streams: Streams) -> int:
    """Print a recording, and report unreadable parts on stderr; returns the exit status.

    Raises:
        StatError: there is no such time or column.
        TurbotuiError: there is no interval in the time.
        RecordingError: the file is no recording, or cannot be read.
    """
    with read_machine(options.replay) as journal:
        try:
            frames = chosen_frames(journal, options.start, options.end, options.every)
        except UsageError as error:
            raise StatError(str(error), 1) from None
        layout = chosen_layout(options, journal.catalog, journal.machine.host, _absent(journal), "not recorded: {}")
        if options.task is StatTask.LIST:
            streams.rows([",".join(column.id for column in layout.columns)])
            return 0
        if not options.quiet:
            end = f"to {timestamp(journal.last_ns)}: nothing below was measured now" if journal.ended else "on"
            streams.notes([f"# {layout.label}, recorded {timestamp(journal.first_ns)} {end}"])
        streams.configuration(journal.machine, options)
        printer = FramePrinter(options, streams, layout, options.intervals or SEVERAL)
        frames = named_intervals(journal.paths[0], frames, options.every)
        for frame in itertools.islice(frames, options.intervals):
            printer.take(frame)
        printer.end()
        for words in missing_words(journal):
            warn(words)
    return 0


def _absent(journal: Journal) -> Callable[[CounterColumn], bool]:
    """Return a test whether a column is unavailable: absent on that machine, or its signals were not read."""
    capabilities, topology = journal.capabilities, journal.machine.topology
    read_signals = journal.signals
    signals = capabilities.signals

    def absent(column: CounterColumn) -> bool:
        return is_absent(column, capabilities, topology) or any(
            signals[name].behavior is not Behavior.CONSTANT and name not in read_signals for name in column.needs)

    return absent


