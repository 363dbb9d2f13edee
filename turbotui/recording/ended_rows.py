"""Rows that ended in ticks that are left out: their last readings are added to the next tick, so that none is lost."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import ROWS_LIMIT, ClockId, KindId, QuantityId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.rows import RawColumn, Roster, Row, RowSlot, RowTick, RowTicks
from turbotui.sampling.snapshot import Snapshot

_NOT_WANTED: Final = Unavailable(Reason.NOT_READ, "nobody wanted it when the row ended")


@dataclass(frozen=True, slots=True)
class _EndedRow:
    """The last readings of a row."""

    row: Row
    values: Mapping[QuantityId, float | str]
    stamps: Mapping[ClockId, int]
    absent: Mapping[QuantityId, Unavailable]


class EndedRows:
    """The rows that ended since the last tick that was kept, by kind.

    Args:
        most: rows of a kind that are kept; further ones are counted as omitted.
    """

    def __init__(self, most: int = ROWS_LIMIT) -> None:
        self._most = most
        self._ended: dict[KindId, list[_EndedRow]] = {}
        self._omitted: Counter[KindId] = Counter()

    def skip(self, snapshot: Snapshot) -> None:
        """Keep the rows that ended in a tick that is left out."""
        for kind, tick in snapshot.rows.items():
            if tick.died and kind not in snapshot.no_rows:
                kept = self._ended.setdefault(kind, [])
                ending = sorted(tick.died)[:self._most - len(kept)]
                kept += (_ended_row(tick, slot) for slot in ending)
                self._omitted[kind] += len(tick.died) - len(ending)

    def added_to(self, snapshot: Snapshot) -> RowTicks:
        """Return a tick's rows with those that ended before it; kinds that were not read at the tick keep theirs."""
        if not self._ended:
            return snapshot.rows
        return {kind: tick if kind in snapshot.no_rows else _with(tick, self._ended.pop(kind, ()),
                                                                  self._omitted.pop(kind, 0))
                for kind, tick in snapshot.rows.items()}


def _ended_row(tick: RowTick, slot: RowSlot) -> _EndedRow:
    return _EndedRow(
        tick.roster.rows[slot], {name: column[slot] for name, column in tick.values.items()},
        {clock: stamps[slot] for clock, stamps in tick.stamps.items()},
        {name: absent[slot] for name, absent in tick.absent.items() if slot in absent})


def _with(tick: RowTick, ended: Sequence[_EndedRow], omitted: int) -> RowTick:
    """Add rows that ended to a tick, in free slots and behind all slots; differences find rows by their identity."""
    there = tick.roster.slots
    ended = [row for row in ended if row.row.identity not in there]  # else it went on, whatever was said of its end
    if not ended:
        return tick
    roster = tick.roster
    slots = [slot for slot in range(roster.capacity) if slot not in roster.rows][:len(ended)]
    capacity = roster.capacity
    while len(slots) < len(ended) and capacity < ROWS_LIMIT:
        more = min(2 * capacity or len(ended), ROWS_LIMIT)
        slots += range(capacity, more)[:len(ended) - len(slots)]
        capacity = more
    values = {name: _longer(column, capacity) for name, column in tick.values.items()}
    stamps = {clock: array("Q", [*column, *[0] * (capacity - len(column))]) for clock, column in tick.stamps.items()}
    absent = {name: dict(without) for name, without in tick.absent.items()}
    rows = dict(roster.rows)
    for slot, ended_row in zip(slots, ended, strict=False):
        rows[slot] = ended_row.row
        for name, column in values.items():
            why = ended_row.absent.get(name)
            if name not in ended_row.values:
                why = _NOT_WANTED
            else:
                column[slot] = ended_row.values[name]  # type: ignore[call-overload,assignment]  # of the same quantity
            if why is not None:
                absent.setdefault(name, {})[slot] = why
        for clock in stamps.keys() & ended_row.stamps.keys():
            stamps[clock][slot] = ended_row.stamps[clock]
    return replace(
        tick, roster=Roster(rows, capacity), stamps=stamps, absent=absent, died=tick.died.union(slots),
        values={name: tuple(column) if isinstance(column, list) else column for name, column in values.items()},
        omitted=tick.omitted + omitted + len(ended) - len(slots))


def _longer(column: RawColumn, capacity: int) -> array[int] | array[float] | list[str]:
    """A copy of a column with empty slots at its end, which can be changed."""
    more = capacity - len(column)
    if isinstance(column, tuple):
        return [*column, *[""] * more]
    longer = column[:]
    longer.frombytes(bytes(more * longer.itemsize))
    return longer
