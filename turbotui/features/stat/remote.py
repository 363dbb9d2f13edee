"""`turbotui stat --host`, `--connect`: the table of a machine that a collector reads, in every format."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

from turbotui.features.stat.options import StatOptions, StatTask
from turbotui.features.stat.printing import FramePrinter, chosen_layout, is_absent
from turbotui.features.stat.streams import Streams, warn
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.linux import LinuxHost
from turbotui.machine.signal_guard import ending_signals
from turbotui.quantities.sentences import several
from turbotui.quantities.signals import Behavior, SignalId
from turbotui.remote.links import Connector
from turbotui.remote.session import RemoteSession
from turbotui.remote.ssh import connector_to
from turbotui.sampling.bus import EveryItem
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import signals_of
from turbotui.tables.layout import Layout

_LOOK: Final = 0.5  # seconds after which a session without readings is asked for the reason
_MOST_WITHOUT: Final = 3
"""Intervals that are skipped while the collector does not yet read the requested signals."""


def connector_of(options: StatOptions) -> Connector:
    """Return the way to the collector that the command line names."""
    return connector_to(options.connect, options.host, options.remote, {
        "--machine": options.machine, "--interval": f"{options.interval:g}",
        "--cpu": None if options.cpus is None else format_cpulist(options.cpus),
        "--TCC": None if options.tcc is None else str(options.tcc),
        "--sysroot": None if options.sysroot == "/" else options.sysroot,
    }, sudo=options.sudo)


def watch_remote(options: StatOptions, streams: Streams) -> int:
    """Print what a collector reads until the intervals are over, or a signal; returns the exit status.

    Raises:
        LinkError: there is no connection, or no reading came.
        RecordingError: the collector is of a later version.
        StatError: there is no such column.
    """
    session = RemoteSession(connector_of(options), LinuxHost(), moments=options.moments)
    frames: EveryItem[Frame] = EveryItem()
    try:
        layout = _layout(options, session)
        if options.task is StatTask.LIST:
            streams.rows([",".join(column.id for column in layout.columns)])
            return 0
        if not options.quiet:
            streams.notes([f"# read by {session.way}", *([f"# {layout.label}"] if layout.label else [])])
        streams.configuration(session.machine, options)
        session.want(column.id for column in layout.columns)
        with ending_signals(frames.close) as ended:
            printer = FramePrinter(options, streams, layout, options.intervals)
            needed = frozenset(name for name in signals_of(layout.columns, session.capabilities)
                               if session.capabilities.signals[name].behavior is not Behavior.CONSTANT)
            for count, frame in enumerate(_intervals(session, needed, frames), 1):
                printer.take(frame)
                if count == options.intervals:
                    break
            printer.end()
    finally:
        session.stop()
    lost = session.lost + frames.lost
    slow = f"{several(lost, 'interval')} lost: the output is too slow"
    for sentence in (*session.missing, *((slow,) if lost else ())):
        warn(sentence)
    return ended.status


def _layout(options: StatOptions, session: RemoteSession) -> Layout:
    capabilities, machine = session.capabilities, session.machine
    return chosen_layout(options, session.catalog, machine.host,
                         lambda column: is_absent(column, capabilities, machine.topology), "not available there: {}")


def _intervals(session: RemoteSession, needed: frozenset[SignalId], frames: EveryItem[Frame]) -> Iterator[Frame]:
    """Yield each interval from the first complete one on, until the frames are closed.

    The reason of missing readings is printed on stderr once, and again after readings resumed.
    """
    session.start(frames.put)
    troubled, without = False, 0
    while not frames.over:
        frame = frames.take(_LOOK)
        if frame is None:
            if session.failure is not None:
                raise session.failure
            if session.trouble and not troubled:
                troubled = True
                warn(session.trouble)
            continue
        troubled = False
        if frame.older is None:
            continue
        if without < _MOST_WITHOUT and not needed <= frame.older.values.keys():
            without += 1
            continue
        without = sys.maxsize
        yield frame
