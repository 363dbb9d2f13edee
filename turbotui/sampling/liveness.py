"""Measure for how long a counter has stood still that cannot stand still.

A processor that runs this program uses energy, and so do its memory and the platform around it. An energy counter of
theirs that does not move is not counting, whatever its unit and driver. Sleeping cores and idle graphics may use none,
so their counters are not in the table. The time-stamp counter never stops.

The files of a recorded machine are usually of one instant: then no counter moves at all, and an increase of 0 would be
a number that nobody measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import Raw, SignalId

MUST_MOVE: Mapping[SignalId, str] = {
    "tsc": "the time-stamp counter counts on while a CPU sleeps",
    "energy.pkg": "a package that runs this program uses energy",
    "energy.ram": "memory is refreshed all the time",
    "energy.psys": "the platform holds a processor that runs this program",
}
"""Counters that move whenever they count at all, with the reason (Intel SDM vol. 3, RAPL: updated each millisecond;
17.17, invariant TSC)."""

STILL_SECONDS = 0.95
"""A second, less the amount by which a reading may come early; a counter that moved before may stand still for less."""


@dataclass(slots=True)
class _Counter:
    """The last raw value of one instance's counter, since when (ns) it is unchanged, and whether it ever changed."""

    raw: int
    since_ns: int
    moved: bool = False


class OneInstant:
    """Tells whether no counter of a recorded machine has moved yet, as of files that were copied once.

    A tree of files may also be that of a running machine, whose counters move.
    """

    def __init__(self) -> None:
        self._first: dict[SignalId, tuple[Raw, ...]] = {}
        self._since_ns = 0
        self._moved = False

    def seconds(self, counters: Mapping[SignalId, Sequence[Raw]], now_ns: int) -> float | None:
        """Note a reading of all counters.

        Returns:
            For how long they have all stood still; None at the first reading, and once one has moved.
        """
        if self._moved:
            return None
        begins = not self._first
        for name, column in counters.items():
            known = self._first.get(name)
            if known is None or len(known) != len(column):
                self._first[name] = tuple(column)
                continue
            # a CPU that answered late has no reading, which is no movement
            pairs = [(new if old is None else old, new) for old, new in zip(known, column, strict=True)]
            self._moved |= any(old != new for old, new in pairs if new is not None)
            self._first[name] = tuple(old for old, _new in pairs)
        if begins:
            self._since_ns = now_ns
        return None if self._moved or begins else (now_ns - self._since_ns) * 1e-9


class Liveness:
    """Watches the counters of `MUST_MOVE` by row, so that hot-plug and changes of the plan do not disturb it."""

    def __init__(self, *, recorded: bool = False) -> None:
        self._counters: dict[tuple[SignalId, RowId], _Counter] = {}
        self.instant = OneInstant() if recorded else None

    def see(self, name: SignalId, rows: Sequence[RowId], raws: Sequence[Raw], stamps: Sequence[int],
            fresh: frozenset[int]) -> dict[int, float]:
        """Record a reading of all instances.

        Args:
            stamps: host monotonic ns of each reading.
            fresh: positions whose counter was restarted, so that a new value is no movement.

        Returns:
            The positions that do not count, with the seconds for which they have stood still. A counter that was never
            seen to move is among them from its second reading on.
        """
        dead: dict[int, float] = {}
        for position, (row, raw, stamp) in enumerate(zip(rows, raws, stamps, strict=True)):
            if not isinstance(raw, int):
                continue
            if (known := self._counters.get((name, row))) is None:
                self._counters[name, row] = _Counter(raw, stamp)
            elif raw != known.raw:
                known.moved |= position not in fresh
                known.raw, known.since_ns = raw, stamp
            elif (still := (stamp - known.since_ns) * 1e-9) >= STILL_SECONDS or not known.moved:
                dead[position] = still
        return dead
