"""The frame of a whole span, made of its first and last snapshot while frames come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import SignalId
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot


class RunSpan:
    """Takes frames in their order; the difference of the first and the last one is one frame.

    What began anew between them has no difference, and wraps that were missed make theirs unknown, as in a recording.
    """

    def __init__(self) -> None:
        self._first: Snapshot | None = None
        self._last: Frame | None = None
        self._fresh: dict[SignalId, frozenset[int]] = {}
        self._unsure: dict[SignalId, frozenset[int]] = {}
        self._topology: Topology | None = None

    def begin(self, frame: Frame) -> None:
        """Begin at the end of this frame."""
        self._first, self._last = frame.newer, None
        self._topology, self._fresh, self._unsure = frame.newer.topology, {}, {}

    def take(self, frame: Frame) -> None:
        """Go on to the end of this frame."""
        newer = frame.newer
        if self._first is None:
            return
        if newer.topology is not self._topology:  # positions are others; rows that stayed are found by their names
            self._topology, self._fresh, self._unsure = newer.topology, {}, {}
        self._fresh, self._unsure = _union(self._fresh, newer.fresh), _union(self._unsure, newer.unsure)
        self._last = frame

    @property
    def frame(self) -> Frame | None:
        """The frame of the span so far; None before it has an end."""
        if self._first is None or self._last is None:
            return None
        newer = replace(self._last.newer, fresh=self._fresh, unsure=self._unsure)
        return Frame(self._first, newer, self._last.capabilities)


def _union(known: Mapping[SignalId, frozenset[int]],
           more: Mapping[SignalId, frozenset[int]]) -> dict[SignalId, frozenset[int]]:
    return {**known, **{name: known.get(name, frozenset()) | found for name, found in more.items()}}
