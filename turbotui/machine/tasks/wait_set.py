"""A common wait for several tracers: for rings that fill, threads that end, and wake-ups from other threads."""

from __future__ import annotations

import contextlib
import os
import select


class WaitSet:
    """Descriptors that end a wait."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._hung: set[int] = set()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll.register(self._wake_reader, select.POLLIN)

    def add(self, descriptor: int) -> None:
        """Make the wait end when this descriptor becomes readable."""
        self._poll.register(descriptor, select.POLLIN)

    def remove(self, descriptor: int) -> None:
        """Remove a descriptor before it is closed."""
        self._hung.discard(descriptor)
        with contextlib.suppress(KeyError):  # one that hung up is not polled any more
            self._poll.unregister(descriptor)

    def has_hung_up(self, descriptor: int) -> bool:
        """Tell whether the target of a descriptor has ended."""
        return descriptor in self._hung

    def wait(self, seconds: float) -> None:
        """Wait until a descriptor is readable or hangs up, or `wake` is called, at most so long."""
        for descriptor, events in self._poll.poll(seconds * 1000):
            if descriptor == self._wake_reader:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake_reader, 512)
            elif events & (select.POLLHUP | select.POLLERR):  # otherwise it would end every further wait at once
                self._poll.unregister(descriptor)
                self._hung.add(descriptor)

    def wake(self) -> None:
        """End the wait now; callable from any thread."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full: it is readable already
            os.write(self._wake_writer, b"!")

    def close(self) -> None:
        """Close the pipe for wake-ups; added descriptors belong to others."""
        os.close(self._wake_reader)
        os.close(self._wake_writer)
