"""The slots of a recording: the trees of its cores, and what of them was counted then."""

from __future__ import annotations

from turbotui.features.topdown.engine import TopdownCounters
from turbotui.quantities.signals import SignalId
from turbotui.sampling.frame import Frame
from turbotui.sources.source import Source


class RecordedTopdown(TopdownCounters):
    """Counters that are read no more; a recording has them under the names that they were read by."""

    def sources(self) -> tuple[Source, ...]:
        """Give none: a recording is not read by sources."""
        return ()

    def signals(self) -> frozenset[SignalId]:
        """Give none: a recording is not read by sources."""
        return frozenset()

    def has_any(self, frame: Frame) -> bool:
        """Whether slots were read at both ends of an interval."""
        read = frame.newer.values.keys()
        return any(group.signal(name) in read for group in self.groups() for name in group.names)
