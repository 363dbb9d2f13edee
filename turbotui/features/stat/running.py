"""Runs `turbotui stat`: lists, dumps, watches a machine, or counts over the run of a command."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turbotui.errors import signal_status
from turbotui.features.stat.opening import OpenedSession, open_stat
from turbotui.features.stat.options import StatOptions, StatTask
from turbotui.features.stat.printing import FramePrinter
from turbotui.features.stat.streams import Streams, warn
from turbotui.machine.signal_guard import ending_signals
from turbotui.machine.view import CONTAINER_NOTE
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import missed_words
from turbotui.sampling.sampled import frames_of, one_interval
from turbotui.sampling.session import Session
from turbotui.tables.frame_formats import make_frame_format
from turbotui.threads import NamedThread

if TYPE_CHECKING:
    from turbotui.machine.observing import Observation

_EVERY_SOURCE = 2  # --debug twice: the source of each number


def run(options: StatOptions, streams: Streams) -> int:
    """Open the machine, and do the task that the options name; returns the exit status.

    Raises:
        TurbotuiError: the task failed, with this exit status.
    """
    opened = open_stat(options)
    if options.drop_privileges:
        opened.session.give_up_privileges()
    if options.debug >= _EVERY_SOURCE:
        streams.notes(_where_read(opened))
    if options.task is StatTask.LIST:
        streams.rows([",".join(column.id for column in opened.layout.columns)])
        return 0
    if (label := opened.layout.label) and not options.quiet:
        streams.notes([f"# {label}: nothing below was {opened.layout.kind.measured}"])
    if opened.session.machine.privileges.renumbered:
        warn(CONTAINER_NOTE)
    streams.configuration(opened.session.machine, options)
    if options.task is StatTask.DUMP:
        from turbotui.features.stat.dump import dump_lines  # noqa: PLC0415 - most runs print columns

        for frame in frames_of(opened.session, 0):
            streams.rows(dump_lines(frame, opened.layout, options.format))
        return 0
    if options.command:
        return _run_command(opened, options, streams)
    return _watch(opened, options, streams)


def _where_read(opened: OpenedSession) -> Iterator[str]:
    """Yield lines with the counters behind each column, and their sources."""
    capabilities = opened.session.capabilities
    for column in opened.layout.columns:
        for name in dict.fromkeys((*column.needs, *column.wants)):
            if (signal := capabilities.signals.get(name)) is not None:
                yield f"{column.id}: {name} by {capabilities.provider[name].title}: {signal.origin}"


def _run_command(opened: OpenedSession, options: StatOptions, streams: Streams) -> int:
    """Measure one interval from the command's start to its end, and return its exit status."""
    from turbotui.machine.identity import without_root  # noqa: PLC0415 - most runs have no command
    from turbotui.machine.observing import observe  # noqa: PLC0415 - as above

    with observe(options.command, prepare=without_root if options.drop_privileges else None) as seen:
        with one_interval(opened.session) as frames:
            status = _run(seen)
        shown = make_frame_format(options.format, opened.layout)
        for frame in frames[1:]:
            lines = [f"{seen.seconds:.6f} sec"] if options.for_people else []  # in other formats the interval has it
            streams.rows([*lines, *shown.lines(frame), *shown.end()])
    return status


def _run(seen: Observation) -> int:
    """Run the command, and return as turbostat: its exit status, its signal's number, or exec(2)'s errno.

    A signal that was passed on to the command would have ended turbostat itself.
    """
    from turbotui.machine.launching import NotRunError  # noqa: PLC0415 - as above
    from turbotui.machine.observing import PASSED_ON  # noqa: PLC0415 - as above

    try:
        seen.run()
    except NotRunError as error:
        warn(f"{seen.commands[0].name}: {os.strerror(error.number)}")
        return error.number
    seen.wait()
    number = -seen.commands[0].wait()
    return signal_status(number) if number in PASSED_ON and number in seen.signals else abs(number)


def _watch(opened: OpenedSession, options: StatOptions, streams: Streams) -> int:
    """Print until the intervals are over, `q`, or a signal."""
    session = opened.session
    printer = FramePrinter(options, streams, opened.layout, options.intervals)

    def take(frame: Frame) -> None:
        if frame.older is not None:
            printer.take(frame)
            return
        _watch_stdin(session)
        dropped = lists_by_key((why.sentence(), column.id) for column in opened.layout.columns
                               if (why := frame.why(column, SYSTEM_ROW)) is not None
                               and why.reason is Reason.NO_DESCRIPTORS)
        for sentence, names in dropped.items():
            warn(f"{', '.join(names)} cannot be read: {sentence}")

    # SIGINT is how one leaves turbostat, with status 0 (turbostat.md 1.11)
    with ending_signals(lambda: session.stop(0.0), {signal.SIGUSR1: lambda _number: session.end_interval()}) as ended:
        session.run(take, options.intervals)
    printer.end()
    if missed := missed_words(session.latest, session.interval):
        warn(missed)
    return ended.status


def _watch_stdin(session: Session) -> None:
    """Watch stdin: a newline ends the interval, a line beginning with `q` also the program; EOF does nothing."""

    def watch() -> None:
        descriptor = 0
        while True:
            try:
                select.select([descriptor], [], [])
                data = os.read(descriptor, 4096)
            except (OSError, ValueError):  # stdin is closed, so nothing can be typed
                return
            if not data:
                return
            if data.lstrip().startswith(b"q"):
                session.stop(0.0)
                return
            session.end_interval()

    NamedThread(target=watch, name="stdin", daemon=True).start()
