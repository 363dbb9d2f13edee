"""`turbotui stat`: the table as text, one block an interval."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType

from turbotui.commands.arguments import add_watching_arguments
from turbotui.commands.watching import label, open_session
from turbotui.errors import InternalError, TurbotuiError, UsageError
from turbotui.output.text import frame_lines
from turbotui.quantities.columns import Column
from turbotui.sampling.bus import Every
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session

_INTERVAL = 5.0  # turbostat's default, so that a script which names none gets what it knows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_watching_arguments(parser, _INTERVAL)
    parser.add_argument("-n", "--num_iterations", metavar="N", help="stop after N intervals")
    parser.add_argument("-S", "--Summary", action="store_true", help="one line an interval: the whole machine")


def run(arguments: argparse.Namespace) -> int:
    """Print until the intervals are over, `q`, or SIGINT."""
    if sys.stdout is None:
        raise TurbotuiError("there is no stdout to print on: it was closed before turbotui started")
    intervals = _count(arguments.num_iterations)
    session, columns = open_session(arguments, extras=False)
    topology = session.machine.topology
    absent = [column.id for column in columns if why_absent(column, session.census, topology) is not None]
    if absent and arguments.choices:
        print(f"turbotui: not available here: {', '.join(absent)} (turbotui columns says why)", file=sys.stderr)
    columns = tuple(column for column in columns if column.id not in absent)
    simulated = label(session.machine.host)
    frames: Every[Frame] = Every()
    with _signals(session):
        session.start(frames.put, intervals=intervals, on_end=frames.close)
        _watch_stdin(session)
        try:
            for frame in frames:
                if frame.older is None:
                    continue
                _print(frame, columns, simulated, summary_only=arguments.Summary)
        finally:
            session.stop()
    if isinstance(session.failure, TurbotuiError):
        raise session.failure
    if session.failure is not None:
        raise InternalError(f"the sampler stopped: {session.failure!r}") from session.failure
    if frames.lost:
        print(f"turbotui: {frames.lost} intervals were lost: stdout is too slow", file=sys.stderr)
    return 0


def _print(frame: Frame, columns: Sequence[Column], simulated: str, *, summary_only: bool) -> None:
    """Write one interval.

    Raises:
        TurbotuiError: stdout takes no more, for another reason than that its reader has left.
    """
    try:
        if simulated:
            print(f"# {simulated}: no number below was measured")
        for line in frame_lines(frame, columns, summary_only=summary_only):
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is buffered would be tried again, and fail again, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise TurbotuiError(f"cannot write to stdout: {error.strerror or error}") from error


def _count(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        number = int(text, 0)
    except ValueError:
        number = 0
    if number <= 0:
        raise UsageError(f'invalid iteration count "{text}": give a whole number from 1')
    return number


@contextlib.contextmanager
def _signals(session: Session) -> Iterator[None]:
    """SIGUSR1 ends the interval; SIGINT and SIGTERM end it, print it, and leave (turbostat-spec 1.11)."""

    def ending(call: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
        return lambda _number, _frame: call()

    handlers = {
        signal.SIGUSR1: ending(session.end_interval),
        signal.SIGINT: ending(lambda: session.stop(0.0)),
        signal.SIGTERM: ending(lambda: session.stop(0.0)),
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch_stdin(session: Session) -> None:
    """A newline on stdin ends the interval; a line that begins with `q` makes it the last. EOF changes nothing."""

    def watch() -> None:
        descriptor = 0
        while True:
            try:
                select.select([descriptor], [], [])
                data = os.read(descriptor, 4096)
            except (OSError, ValueError):  # stdin is closed: nobody will type
                return
            if not data:
                return
            if data.lstrip().startswith(b"q"):
                session.stop(0.0)
                return
            session.end_interval()

    threading.Thread(target=watch, name="stdin", daemon=True).start()
