"""Write to the terminal on a thread of its own, so that the drawing thread never waits.

A terminal may accept no bytes (a stopped pager, a lost connection, a master that does not read), may refuse a single
write, and may be gone. The drawing thread hands its bytes over and continues. When too much is pending, whole updates
are dropped, and the screen is redrawn once the terminal has caught up: the newest picture wins.
"""

from __future__ import annotations

import os
import select
import termios
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from turbotui.threads import NamedThread

_MOST_WAITING: Final = 200_000  # bytes: some colour screens of 200 by 60 characters
_CHUNK: Final = 4096
_TRIES: Final = 5
_REST: Final = 0.1  # seconds between two attempts of a failed write
_LONGEST: Final = 3.0  # seconds that `settle` waits, however slowly the terminal accepts bytes
_FLUSHED: Final = 0.3  # seconds for the last bytes, after pending output was discarded
_CANCEL: Final = b"\x18"  # CAN ends a control sequence that was cut off (ECMA-48, 8.3.6; DEC STD 070)


class TerminalWriter:
    """Writes to a terminal on a thread of its own.

    Args:
        lost: called once on the writer's thread, with the error of a write that failed repeatedly.
        caught_up: called on the writer's thread when updates were dropped and the terminal accepts bytes again.
        name: of the thread.
    """

    def __init__(self, descriptor: int, lost: Callable[[OSError], None], caught_up: Callable[[], None],
                 name: str = "screen") -> None:
        self._descriptor, self._own = _never_waiting(descriptor)
        self._lost_now = lost
        self._caught_up = caught_up
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._behind = False
        self._busy = False
        self._cut = False
        self._closed = False
        self._lost = False
        self._written = 0
        self._wake, self._waker = os.pipe()
        self._thread = NamedThread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def write(self, data: bytes, *, must: bool = False) -> bool:
        """Queue the bytes of a whole update without waiting; the update may be dropped unless it must not be.

        Returns:
            Whether this update and those that wait before it are to be written.
        """
        with self._changed:
            if self._closed or self._lost or (self._behind and not must):
                return False
            self._waiting.append(data)
            self._size += len(data)
            if self._size > _MOST_WAITING:
                self._behind = True
                self._waiting.clear()
                self._size = 0
            self._changed.notify_all()
            return not self._behind

    def settle(self, data: bytes, patience: float) -> bool:
        """Write pending bytes and then these, and wait until they are written.

        Args:
            data: bytes that restore the terminal; if it accepts nothing, its pending output is discarded to make room.
            patience: seconds to wait while the terminal accepts nothing.

        Returns:
            Whether the terminal has accepted them.
        """
        with self._changed:
            self._behind = False
            self._waiting.append(data)
            self._changed.notify_all()
            if self._wait_for_all(patience):
                return True
            if self._lost:
                return False
            self._cut = True
            self._waiting.clear()
            self._waiting.append(_CANCEL + data)
        os.write(self._waker, b"x")
        try:
            termios.tcflush(self._descriptor, termios.TCOFLUSH)
            termios.tcflow(self._descriptor, termios.TCOON)  # a user may have paused the output
        except termios.error:
            return False  # the terminal is gone, which its writer is about to find out
        with self._changed:
            self._changed.notify_all()
            return self._wait_for_all(_FLUSHED)

    def close(self) -> None:
        """End the thread; bytes that it could not write are lost."""
        with self._changed:
            self._closed = self._cut = True
            self._waiting.clear()
            self._changed.notify_all()
        os.write(self._waker, b"x")
        if self._thread.is_alive():
            self._thread.join(_FLUSHED)
        if self._thread.is_alive():
            return  # the thread is stuck in a write; the descriptors stay open for it until the end
        os.close(self._wake)
        os.close(self._waker)
        if self._own:
            os.close(self._descriptor)

    def _wait_for_all(self, patience: float) -> bool:
        """Wait until nothing is left to write; the caller holds the lock."""
        start = since = time.monotonic()
        written = self._written
        while (self._waiting or self._busy) and not self._lost:
            now = time.monotonic()
            if self._written != written:
                written, since = self._written, now
            if now - since > patience or now - start > _LONGEST:
                return False
            self._changed.wait(0.02)
        return not self._lost

    # On the writer's thread

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self._behind or self._closed):
                    self._changed.wait()
                if self._closed:
                    return
                data = b"".join(self._waiting)
                self._waiting.clear()
                self._size = 0
                self._busy, self._cut = True, False
            failed = self._send(memoryview(data))
            with self._changed:
                self._busy = False
                behind, self._behind = self._behind, False
                if failed is not None:
                    self._lost = True
                self._changed.notify_all()
            if failed is not None:
                self._lost_now(failed)
                return
            if behind:
                self._caught_up()

    def _send(self, data: memoryview) -> OSError | None:
        """Write all bytes; returns the error of a write that failed in every attempt."""
        tries = 0
        while data and not self._cut:
            try:
                written = os.write(self._descriptor, data[:_CHUNK])
            except BlockingIOError:
                self._rest(None)
            except OSError as error:
                tries += 1
                if tries == _TRIES:
                    return error
                self._rest(_REST)
            else:
                tries = 0
                self._written += written
                data = data[written:]
        return None

    def _rest(self, seconds: float | None) -> None:
        """Wait for a time or until the terminal accepts bytes, or less if the other thread has work."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if seconds is None:
            poll.register(self._descriptor, select.POLLOUT)
        ready = poll.poll(None if seconds is None else seconds * 1e3)
        if any(descriptor == self._wake for descriptor, _ in ready):
            os.read(self._wake, 64)


def _never_waiting(descriptor: int) -> tuple[int, bool]:
    """Open the same terminal again for writes that never block, and return whether that was possible."""
    if not os.isatty(descriptor):
        return descriptor, False
    # O_NONBLOCK belongs to an opening, which the shell and others share with us: on theirs it must not be set
    try:
        return os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), True
    except OSError:
        # another user's terminal (after su) cannot be opened: a write may wait, on a thread that nobody waits for
        return descriptor, False
