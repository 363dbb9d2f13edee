"""The bus hands frames to views, which may skip frames, and to recorders, which may not; both count losses."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

T = TypeVar("T")
C_contra = TypeVar("C_contra", contravariant=True)


class LatestItem(Generic[T]):
    """A mailbox for one item, in which a new item replaces an unread one; for views.

    Attributes:
        skipped: number of replaced items.
    """

    def __init__(self, wake: Callable[[], object] | None = None) -> None:
        self._lock = threading.Lock()
        self._item: T | None = None
        self._wake = wake
        self.skipped = 0

    def put(self, item: T) -> None:
        """Put an item and wake the reader; never blocks."""
        with self._lock:
            if self._item is not None:
                self.skipped += 1
            self._item = item
        if self._wake is not None:
            self._wake()

    def take(self) -> T | None:
        """The newest unread item, or None."""
        with self._lock:
            item, self._item = self._item, None
        return item


class EveryItem(Generic[T]):
    """A queue that keeps every item up to a bound; for recorders and text output.

    Attributes:
        lost: number of items that were dropped because the reader was `bound` items behind.
    """

    def __init__(self, bound: int = 1024) -> None:
        self._items: deque[T] = deque()
        self._bound = bound
        self._change = threading.Condition()
        self._closed = False
        self.lost = 0

    def put(self, item: T) -> None:
        """Append an item; never blocks: beyond the bound the new item is dropped and counted."""
        with self._change:
            if len(self._items) >= self._bound:
                self.lost += 1
                return
            self._items.append(item)
            self._change.notify()

    def close(self) -> None:
        """End the iteration after the queued items; never blocks, however full the queue is."""
        with self._change:
            self._closed = True
            self._change.notify_all()

    def take(self, seconds: float) -> T | None:
        """Return the oldest item; None if none came in this time, or if none will come any more."""
        with self._change:
            self._change.wait_for(lambda: self._items or self._closed, seconds)
            return self._items.popleft() if self._items else None

    @property
    def waiting(self) -> int:
        """Number of items that were not taken yet."""
        return len(self._items)

    @property
    def over(self) -> bool:
        """Whether `close` was called and every item was taken."""
        return self._closed and not self._items

    def __iter__(self) -> Iterator[T]:
        """Yield items in order until `close`, waiting for each."""
        while True:
            with self._change:
                while not self._items and not self._closed:
                    self._change.wait()
                if not self._items:
                    return
                item = self._items.popleft()
            yield item


class Mailbox(Protocol[C_contra]):
    """A receiver of items that never blocks the publisher."""

    @property
    def put(self) -> Callable[[C_contra], None]:
        """Put an item into the mailbox."""


class Bus(Generic[T]):
    """Hands each item of one publisher to any number of mailboxes."""

    def __init__(self) -> None:
        self._boxes: tuple[Mailbox[T], ...] = ()

    def attach(self, box: Mailbox[T]) -> None:
        """Deliver every item from now on to this mailbox."""
        self._boxes = (*self._boxes, box)

    def publish(self, item: T) -> None:
        """Hand an item to every mailbox."""
        for box in self._boxes:
            box.put(item)
