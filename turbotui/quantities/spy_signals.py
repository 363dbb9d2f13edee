"""Ids of the signals of an event that spies count."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import SignalId


@dataclass(frozen=True, slots=True)
class SpySignals:
    """Ids of the signals of one event in one configuration of spies.

    All signals are per CPU. Counts continue across changes of set; no earlier count is lost.
    """

    event: str

    @property
    def count(self) -> SignalId:
        """Total count while the event's set was scheduled."""
        return f"spy.{self.event}"

    @property
    def enabled(self) -> SignalId:
        """Nanoseconds in which the event should have been counted."""
        return f"spy.{self.event}:enabled"

    @property
    def running(self) -> SignalId:
        """Nanoseconds in which the event was counted."""
        return f"spy.{self.event}:running"

    @property
    def beside(self) -> SignalId:
        """The reference event on the CPUs that count this event, whether its set was scheduled or not."""
        return f"spy.{self.event}:beside"

    @property
    def last(self) -> SignalId:
        """Count in the newest interval in which the event's set was scheduled."""
        return f"spy.{self.event}:last"

    @property
    def along(self) -> SignalId:
        """Count of the reference event in the interval of `last`."""
        return f"spy.{self.event}:along"

    @property
    def measured(self) -> tuple[SignalId, ...]:
        """Signals of an event that is never multiplexed."""
        return self.count, self.enabled, self.running

    @property
    def joined(self) -> tuple[SignalId, ...]:
        """Signals that estimate the event in intervals in which another set was counted."""
        return self.beside, self.last, self.along


SAMPLES = "spy.samples"
"""How often a CPU's spy has been read since it started."""
SETS = "spy.sets"
"""How many sets are multiplexed on a CPU."""
