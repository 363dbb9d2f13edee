"""Count how often counters have wrapped, from every reading, published or not.

A 32-bit energy counter may wrap within a minute (docs/specs/turbostat.md 2.5). At longer intervals the sampler reads
such counters in between; the wrap count carries the result into the next snapshot.
"""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import Raw, Signal, SignalId

_BEYOND: Final = 4
"""Times the highest plausible rate of a counter; a larger increase means that it was reset or misread."""
_ROUGH_NS: Final = 20_000_000  # registers update once a ms or later: a short interval may hold an older increase


@dataclass(slots=True)
class _Counter:
    """The last reading of one instance and its wraps so far."""

    bits: int  # the field of the raw word
    at_ns: int  # time of the reading, `slept_ns` included
    slept_ns: int = 0  # time for which the machine had been suspended
    wraps: int = 0  # number of wraps seen so far
    unsure: bool = False  # whether it was unread for longer than a wrap takes since the last snapshot, or was reset


class WrapCounter:
    """Counts wraps by row, so that hot-plug and changes of the plan do not disturb the counts."""

    def __init__(self) -> None:
        self._counters: dict[tuple[SignalId, RowId], _Counter] = {}

    def see(self, signal: Signal, row: RowId, raw: Raw, at_ns: int, slept_ns: int = 0) -> None:
        """Record one reading of one instance.

        A reopened counter may look as if it had wrapped. No difference is taken across its opening, so the surplus wrap
        has no effect.

        Args:
            raw: as read; None is ignored.
            at_ns: time of the reading, `slept_ns` included.
            slept_ns: time for which the machine was suspended since sampling began.
        """
        if not isinstance(raw, int):
            return
        bits = signal.bits(raw)
        known = self._counters.get((signal.id, row))
        if known is None:
            self._counters[signal.id, row] = _Counter(bits, at_ns, slept_ns)
            return
        passed, fell = at_ns - known.at_ns, bits < known.bits
        known.wraps += fell
        known.unsure |= passed > signal.wrap_seconds * 1e9
        turned = (bits - known.bits) / signal.size + fell
        known.unsure |= turned * signal.wrap_seconds * 1e9 > _BEYOND * passed + _ROUGH_NS
        known.unsure |= fell and slept_ns != known.slept_ns  # firmware resets counters when a machine wakes (S3)
        known.bits, known.at_ns, known.slept_ns = bits, at_ns, slept_ns

    def take(self, signal: SignalId, row: RowId) -> tuple[int, bool]:
        """Wraps of an instance so far, and whether one may have been missed since the last `take`."""
        if (known := self._counters.get((signal, row))) is None:
            return 0, False
        unsure, known.unsure = known.unsure, False
        return known.wraps, unsure
