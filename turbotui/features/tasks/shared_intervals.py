"""Intervals of something that is watched once and shown for several applications."""

from __future__ import annotations

from collections.abc import Hashable


class SharedIntervals:
    """Intervals that several applications end, each of them once.

    Args:
        beginning: whether what is watched begins now: then the first interval is whole.

    Attributes:
        known: whether the interval that ended last was watched from its beginning.
    """

    def __init__(self, *, beginning: bool) -> None:
        self.known = False
        self._beginning = beginning
        self._served: set[Hashable] = set()

    def end(self, who: Hashable) -> bool:
        """End the interval of one application; true for the first one that does, false for those that follow."""
        first = who in self._served or not self._served
        if first:
            self.known = self._beginning or bool(self._served)
            self._served = set()
        self._served.add(who)
        return first
