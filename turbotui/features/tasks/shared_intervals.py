"""Intervals of a measurement that is taken once and shown for several applications."""

from __future__ import annotations

from collections.abc import Hashable


class SharedIntervals:
    """Shared intervals, each of which several applications end once; the first is whole if watching begins now.

    Attributes:
        known: whether the interval that ended last was watched from its beginning.
    """

    def __init__(self, *, beginning: bool) -> None:
        self.known = False
        self._beginning = beginning
        self._served: set[Hashable] = set()

    def end(self, who: Hashable) -> bool:
        """End the interval for one application; return True for the first application to end it."""
        first = who in self._served or not self._served
        if first:
            self.known = self._beginning or bool(self._served)
            self._served = set()
        self._served.add(who)
        return first
