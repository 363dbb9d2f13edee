"""A session sampled to the end by whoever waits for it: frame by frame, or one interval around what a block does."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Final

from turbotui.errors import InternalError, TurbotuiError
from turbotui.sampling.bus import Every
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session

_UNBOUNDED: Final = sys.maxsize  # frames that wait for a slow reader: none is lost without a word
_LAST_READING: Final = 10.0  # seconds that workers may take, twice over, for the reading at an interval's end


def frames_of(session: Session, intervals: int | None = None) -> Iterator[Frame]:
    """Sample a session, which is not started yet, and close every counter at the end.

    Args:
        session: has what it is to read.
        intervals: how many; None until `Session.stop` is called, or the iterator is closed.

    Yields:
        Every frame; the first one has no deltas yet.

    Raises:
        TurbotuiError: what ended the sampling.
    """
    frames: Every[Frame] = Every(_UNBOUNDED)
    session.start(frames.put, intervals=intervals, on_end=frames.close)
    try:
        yield from frames
    finally:
        session.stop()
    raise_failure(session)


@contextlib.contextmanager
def one_interval(session: Session) -> Iterator[list[Frame]]:
    """Make one interval of the time that the block takes.

    Args:
        session: has what it is to read, and is not started yet; its interval is longer than the block will take.

    Yields:
        A list. It has the frame of the first reading, and after the block that of the interval.

    Raises:
        TurbotuiError: what ended the sampling.
    """
    frames: list[Frame] = []
    first, over = threading.Event(), threading.Event()

    def take(frame: Frame) -> None:
        frames.append(frame)
        first.set()

    def end() -> None:
        first.set()
        over.set()

    session.start(take, intervals=1, on_end=end)
    try:
        first.wait()
        raise_failure(session)
        yield frames
        session.set_interval(min(session.interval, _LAST_READING))  # ends it now
        over.wait()
    finally:
        session.stop()
    raise_failure(session)


def raise_failure(session: Session) -> None:
    """Hand on what ended a session's sampling, if anything did.

    Raises:
        TurbotuiError: that.
    """
    if isinstance(session.failure, TurbotuiError):
        raise session.failure
    if session.failure is not None:
        raise InternalError(f"the sampler stopped: {session.failure!r}") from session.failure
