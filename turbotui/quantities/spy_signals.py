"""The signals of one event that spies count."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import SignalId


@dataclass(frozen=True, slots=True)
class SpySignals:
    """Ids of the signals of one event of one configuration of spies.

    All are per CPU. Counts go on over changes of set: what was counted before is never lost from them.
    """

    event: str

    @property
    def count(self) -> SignalId:
        """Total count while the event's set was scheduled."""
        return f"spy.{self.event}"

    @property
    def enabled(self) -> SignalId:
        """Id of the signal with the nanoseconds in which an event ought to have been counted."""
        return f"spy.{self.event}:enabled"

    @property
    def running(self) -> SignalId:
        """Id of the signal with the nanoseconds in which an event was counted."""
        return f"spy.{self.event}:running"

    @property
    def beside(self) -> SignalId:
        """The reference event on the CPUs that count this one, whether its set was on or not."""
        return f"spy.{self.event}:beside"

    @property
    def last(self) -> SignalId:
        """Count in the newest interval in which the event's set was scheduled."""
        return f"spy.{self.event}:last"

    @property
    def along(self) -> SignalId:
        """Count of the reference event in that interval."""
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
"""How often a CPU's spy has been read since it began."""
SETS = "spy.sets"
"""How many sets are multiplexed on a CPU."""
