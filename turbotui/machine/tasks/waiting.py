"""One wait for everything that several followers watch: rings that fill, threads that end, a bell that is rung."""

from __future__ import annotations

import contextlib
import os
import select


class Waiting:
    """Descriptors that end a wait."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._hung: set[int] = set()
        self._ear, self._bell = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poll.register(self._ear, select.POLLIN)

    def add(self, descriptor: int) -> None:
        """Have the wait end when this descriptor becomes readable."""
        self._poll.register(descriptor, select.POLLIN)

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor before it is closed."""
        self._hung.discard(descriptor)
        with contextlib.suppress(KeyError):  # one that hung up is not polled any more
            self._poll.unregister(descriptor)

    def has_hung_up(self, descriptor: int) -> bool:
        """Whether what the descriptor watches has ended."""
        return descriptor in self._hung

    def wait(self, seconds: float) -> None:
        """Until something is readable, ends, or rings, at most so long."""
        for descriptor, events in self._poll.poll(seconds * 1000):
            if descriptor == self._ear:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._ear, 512)
            elif events & (select.POLLHUP | select.POLLERR):  # it would end every wait at once from now on
                self._poll.unregister(descriptor)
                self._hung.add(descriptor)

    def ring(self) -> None:
        """End the wait now; from any thread."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full: it has been rung often enough
            os.write(self._bell, b"!")

    def close(self) -> None:
        """Close the bell; what was added belongs to others."""
        os.close(self._ear)
        os.close(self._bell)
