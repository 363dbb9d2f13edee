"""Liveness: for how long a counter that cannot stand still has stood still.

A processor that runs this program uses energy, and so do its memory and the platform around it: a counter of theirs
that stays where it is does not count, whatever unit and driver stand behind it. Cores that sleep and graphics that are
off may well use none, so their counters are not in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import Raw, SignalId

MUST_MOVE: Mapping[SignalId, str] = {
    "energy.pkg": "a package that runs this program uses energy",
    "energy.ram": "memory is refreshed all the time",
    "energy.psys": "the platform holds a processor that runs this program",
}
"""Counters that move whenever they count at all, and why (Intel SDM vol. 3, RAPL: updated each millisecond)."""

STILL_SECONDS = 0.95
"""A second, less what a reading may come early: a counter that moved before and stands for less may have stood."""


@dataclass(slots=True)
class _Counter:
    """The raw value of one instance's counter, the time in ns since when it stands there, and whether it ever moved."""

    raw: int
    since_ns: int
    moved: bool = False


class Liveness:
    """Watches the counters of `MUST_MOVE`, by row, so that hot-plug and changes of the plan do not disturb it."""

    def __init__(self) -> None:
        self._counters: dict[tuple[SignalId, RowId], _Counter] = {}

    def see(self, name: SignalId, rows: Sequence[RowId], raws: Sequence[Raw], stamps: Sequence[int],
            fresh: frozenset[int]) -> dict[int, float]:
        """Take note of a reading of all instances.

        Args:
            name: one of `MUST_MOVE`.
            rows: its instances.
            raws: as read, None for nothing.
            stamps: host monotonic ns of each.
            fresh: positions whose counter began anew, so that another value is no movement.

        Returns:
            The positions that do not count, with the seconds for which they have stood. One that was never seen to move
            is among them from its second reading on.
        """
        dead: dict[int, float] = {}
        for position, (row, raw, stamp) in enumerate(zip(rows, raws, stamps, strict=True)):
            if not isinstance(raw, int):
                continue
            known = self._counters.get((name, row))
            if known is None:
                self._counters[name, row] = _Counter(raw, stamp)
            elif raw != known.raw:
                known.moved |= position not in fresh
                known.raw, known.since_ns = raw, stamp
            else:
                still = (stamp - known.since_ns) * 1e-9
                if still >= STILL_SECONDS or not known.moved:
                    dead[position] = still
        return dead
