"""Sample a session to its end: frame by frame, or in one interval around a block."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Final

from turbotui.errors import InternalError, TurbotuiError
from turbotui.sampling.bus import EveryItem
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session

_UNBOUNDED: Final = sys.maxsize  # frames that may wait for a slow reader; losses are counted
_LAST_READING: Final = 10.0  # seconds that workers may take, twice, for the reading at an interval's end


def frames_of(session: Session, intervals: int | None = None) -> Generator[Frame, None, None]:
    """Sample a session that is not started yet, and close every counter at the end.

    Args:
        intervals: number of intervals; None until `Session.stop` is called or the iterator is closed.

    Yields:
        Every frame; the first has no deltas.

    Raises:
        TurbotuiError: the error that ended the sampling.
    """
    frames: EveryItem[Frame] = EveryItem(_UNBOUNDED)
    session.start(frames.put, intervals=intervals, on_end=frames.close)
    try:
        yield from frames
    finally:
        session.stop()
    raise_failure(session)


@contextlib.contextmanager
def one_interval(session: Session) -> Iterator[list[Frame]]:
    """Make the duration of a block one interval.

    Args:
        session: already told what to read, not started yet, and with an interval longer than the block.

    Yields:
        A list that holds the frame of the first reading and, after the block, the frame of the interval.

    Raises:
        TurbotuiError: the error that ended the sampling.
    """
    over = threading.Event()
    with frames_during(session, intervals=1, on_end=over.set) as frames:
        yield frames
        session.set_interval(min(session.interval, _LAST_READING))  # ends the interval now
        over.wait()


@contextlib.contextmanager
def frames_during(session: Session, intervals: int | None = None,
                  on_end: Callable[[], object] = lambda: None) -> Iterator[list[Frame]]:
    """Sample for the duration of a block, from the first reading on.

    Args:
        session: already told what to read, not started yet. An interval that the block's end cuts short is left out.
        intervals: the most intervals.
        on_end: called when the sampling ends.

    Yields:
        A list that grows by each frame; the first has no deltas.

    Raises:
        TurbotuiError: the error that ended the sampling.
    """
    frames: list[Frame] = []
    first = threading.Event()

    def take(frame: Frame) -> None:
        frames.append(frame)
        first.set()

    def end() -> None:
        first.set()
        on_end()

    session.start(take, intervals=intervals, on_end=end)
    try:
        first.wait()
        raise_failure(session)
        yield frames
    finally:
        session.stop()
    raise_failure(session)


def raise_failure(session: Session) -> None:
    """Raise the error that ended a session's sampling, if there is one.

    Raises:
        TurbotuiError: that error.
    """
    if isinstance(session.failure, TurbotuiError):
        raise session.failure
    if session.failure is not None:
        raise InternalError(f"the sampler stopped: {session.failure!r}") from session.failure
