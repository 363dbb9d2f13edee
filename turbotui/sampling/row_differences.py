"""Differences of a kind's counters between two of its ticks, by the arithmetic of the CPUs' counters."""

from __future__ import annotations

import functools
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from turbotui.counting.totals import scaled_columns
from turbotui.machine.timed_reads import INTERRUPTED_SHARE
from turbotui.quantities.bounds import Bounds, bounds_of_kind
from turbotui.quantities.row_kinds import ClockId, Form, Quantity, QuantityId
from turbotui.quantities.signals import Behavior, Raw
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.arithmetic import Numbers, increases, quotients, rises, seconds
from turbotui.sampling.differences import once, scaled
from turbotui.sampling.rows import Row, RowSlot, RowTick

_UNREAD = Unavailable(Reason.NOT_READ, "not read in this interval: its next difference is longer")
_NO_ROW = Unavailable(Reason.OFFLINE, "the row is gone")
_GAP = Unavailable(Reason.INTERRUPTED, "a part of the sum came, went or began anew in this interval, and what it "
                   "counted is not known")

_SURE: Final[Mapping[RowSlot, float]] = {}
_SHORTEST: Final = 0.01  # s; readings lie ms apart, so a rise is held against so much more than the interval


@functools.cache
def _bounds(quantity: Quantity) -> Bounds:
    """What a counter can rise by in a second, or the values that a gauge can have."""
    return bounds_of_kind(quantity.id, quantity.unit, quantity.behavior is Behavior.COUNTER)


class RowDifferences:
    """What a kind's rows did between two ticks; cheap to make, computes a column when it is first asked for.

    Columns are in the order of the newer tick's slots. Numbers at free slots mean nothing.

    Attributes:
        older: None where the kind was not read before.
        newer: the tick at the end.
        quantities: those of the kind.
        missed: why the newer tick is no newer than the older one; None if it is.
    """

    __slots__ = ("_before", "_born", "_empty", "_kept", "_new", "_parts", "_texts", "missed", "newer", "older",
                 "quantities")

    def __init__(self, older: RowTick | None, newer: RowTick, missed: Unavailable | None = None) -> None:
        self.older = older
        self.missed = missed
        self.newer = newer
        self.quantities = newer.quantities
        self._before: dict[RowSlot, RowSlot] = {}
        self._born: frozenset[RowSlot] = frozenset()
        self._new: frozenset[RowSlot] = frozenset()
        self._empty: list[RowSlot] = []
        if older is not None and older.roster is not newer.roster:
            self._compare(older, newer)
        self._kept: defaultdict[Callable[..., Any], dict[Any, Any]] = defaultdict(dict)
        self._parts: dict[str, list[RowSlot]] | None = None
        self._texts: Sequence[Sequence[str]] | None = None

    def _compare(self, older: RowTick, newer: RowTick) -> None:
        """Find, once for all columns, the slots that need care: those whose row was elsewhere or not there before."""
        born, new = set(), set()
        before = older.roster.rows
        for slot, row in newer.roster.rows.items():
            known = before.get(slot)
            if known is row or (known is not None and known.identity == row.identity):
                continue
            if (place := older.roster.slots.get(row.identity)) is not None:
                self._before[slot] = place
            elif row.born_ns > older.started_ns:
                born.add(slot)
            else:
                new.add(slot)
        self._born, self._new = frozenset(born), frozenset(new)
        size = newer.roster.capacity
        self._empty = [slot for slot in before.keys() - newer.roster.rows.keys() if slot < size]

    def _aligned(self, before: RowTick, older: Sequence[int], newer: Sequence[int], born_at: int) -> Sequence[int]:
        """A column of the older tick by the newer one's slots; `born_at` for rows that were born since.

        Free slots, and rows of which nobody knows what they had, are as in the newer tick.
        """
        if before.roster is self.newer.roster:
            return older
        aligned = array("Q", older[:len(newer)])
        aligned.extend(newer[len(aligned):])
        for slot in (*self._empty, *self._new):
            aligned[slot] = newer[slot]
        for slot, place in self._before.items():
            aligned[slot] = older[place]
        for slot in self._born:
            aligned[slot] = born_at
        return aligned

    @once
    def stamps(self, clock: ClockId) -> tuple[Sequence[int], Sequence[int]]:
        """The time stamps of both readings; a born row's counters began with the interval, at the latest."""
        newer = self.newer.stamps[clock]
        older = self.older
        if older is None or clock not in older.stamps:
            return newer, newer
        return self._aligned(older, older.stamps[clock], newer, older.started_ns), newer

    @once
    def spans(self, clock: ClockId) -> Numbers:
        """Seconds between the two readings of each row; None where the newer tick did not read it."""
        return seconds(*self.stamps(clock))

    @once
    def unread(self, clock: ClockId) -> frozenset[RowSlot]:
        """The slots of rows without a span."""
        spans = self.spans(clock)
        return frozenset(slot for slot in self.newer.roster.rows if spans[slot] is None)

    def unsure(self, quantity: Quantity) -> Mapping[RowSlot, float]:
        """By how many seconds the span of a row may be off, for rows in which it may be off at all."""
        return self._find_unsure(quantity.unsure) if quantity.unsure else _SURE

    @once
    def _find_unsure(self, name: QuantityId) -> Mapping[RowSlot, float]:
        older, quantity = self.older, self.quantities.get(name)
        if older is None or quantity is None or quantity.form is not Form.WORD or not (
                name in older.values and name in self.newer.values):
            return _SURE
        end = cast("Sequence[int]", self.newer.values[name])
        begin = self._aligned(older, cast("Sequence[int]", older.values[name]), end, 0)
        return {slot: (begin[slot] + end[slot]) * quantity.scale for slot in self.newer.roster.rows
                if begin[slot] or end[slot]}

    def _uncertain(self, quantity: Quantity) -> frozenset[RowSlot]:
        """The slots of rows whose span may be off by too much for a rate."""
        return self._too_unsure((quantity.unsure, quantity.clock)) if quantity.unsure else frozenset()

    @once
    def _too_unsure(self, names: tuple[QuantityId, ClockId]) -> frozenset[RowSlot]:
        spans, unsure = self.spans(names[1]), self._find_unsure(names[0])
        return frozenset(slot for slot, seconds_off in unsure.items()
                         if (span := spans[slot]) is not None and seconds_off > INTERRUPTED_SHARE * span)

    def interrupted(self, name: QuantityId, slot: RowSlot) -> Unavailable | None:
        """Why a row's span is too uncertain for a rate; None if it is not."""
        quantity = self.quantities.get(name)
        if quantity is None or slot not in self._uncertain(quantity) or self.deltas(name)[slot] == 0:
            return None
        span, unsure = self.spans(quantity.clock)[slot], self.unsure(quantity)[slot]
        return Unavailable(
            Reason.INTERRUPTED, f"the reader of {self._origin(quantity, self.newer.roster.rows[slot])} lost its CPU: "
            f"the interval of {span:.3g} s may be off by {unsure:.3g} s",
            "use a longer interval (-i), in which it matters less")

    @staticmethod
    def _origin(quantity: Quantity, row: Row) -> str:
        return quantity.origin.replace("{row}", row.name)

    @once
    def rose(self, name: QuantityId) -> list[int] | None:
        """The raw increases of a counter of which no row's went back; None if one did."""
        columns = self._columns(name)
        return None if columns is None else rises(*columns)

    def _columns(self, name: QuantityId) -> tuple[Sequence[int], Sequence[int]] | None:
        """Both readings of a counter, with equal ones where one is missing; None without an older tick."""
        older, newer = self.older, self.newer
        if older is None or self._counter(name) is None or name not in older.values or name not in newer.values:
            return None
        after = cast("Sequence[int]", newer.values[name])
        before = self._aligned(older, cast("Sequence[int]", older.values[name]), after, 0)
        if absent := self.absent(name):
            before = array("Q", before)
            for slot in absent:
                before[slot] = after[slot]
        return before, after

    def absent(self, name: QuantityId) -> set[RowSlot]:
        """The slots of a counter of which one of the two values is missing."""
        absent = set(self.newer.absent.get(name, ()))
        missed = {} if self.older is None else self.older.absent.get(name, {})
        if missed:
            absent.update(slot for slot in self.newer.roster.rows
                          if self._before.get(slot, slot) in missed and slot not in self._born)
        return absent

    @once
    def deltas(self, name: QuantityId) -> Numbers:
        """The increase of a counter in each row, in SI units; None where it is unknown (`why`)."""
        quantity = self._counter(name)
        return self._nothing if quantity is None else self._find_deltas(quantity)

    def _counter(self, name: QuantityId) -> Quantity | None:
        """A counter; None for other quantities, and for one that an older recording does not have."""
        quantity = self.quantities.get(name)
        return quantity if quantity is not None and quantity.behavior is Behavior.COUNTER else None

    @property
    def _nothing(self) -> Numbers:
        return [None] * self.newer.roster.capacity

    def _find_deltas(self, quantity: Quantity) -> Numbers:
        if (columns := self._columns(quantity.id)) is None:
            return self._nothing
        rose, scale = self.rose(quantity.id), quantity.scale
        deltas: list[float | None] = list(
            increases(*columns, scale) if rose is None else scaled(rose, None if scale == 1.0 else scale))
        for slot in (*self.unread(quantity.clock), *self.absent(quantity.id)):
            deltas[slot] = None
        if quantity.running:
            deltas = scaled_columns(deltas, self.deltas(quantity.enabled), self.deltas(quantity.running))
        if quantity.gaps:
            deltas = [item if missed == 0 else None
                      for item, missed in zip(deltas, self.deltas(quantity.gaps), strict=True)]
        if max(filter(None, deltas), default=0) > _bounds(quantity).most * _SHORTEST:
            deltas = [None if item is not None and self._is_impossible(quantity, item, slot) else item
                      for slot, item in enumerate(deltas)]
        return deltas

    def _is_impossible(self, quantity: Quantity, increase: float, slot: RowSlot) -> bool:
        most = (self.spans(quantity.clock)[slot] or 0.0) + self.unsure(quantity).get(slot, 0.0) + _SHORTEST
        return increase > _bounds(quantity).most * most

    @once
    def rates(self, name: QuantityId) -> Numbers:
        """The increase per second of a counter in each row."""
        quantity = self._counter(name)
        if quantity is None:
            return self._nothing
        deltas = self.deltas(name)
        rates = list(quotients(deltas, self.spans(quantity.clock)))
        for slot in self._uncertain(quantity):
            if deltas[slot] != 0:
                rates[slot] = None
        return rates

    def raw(self, name: QuantityId, slot: RowSlot) -> Raw | float:
        """A raw reading of the newer tick; None if it is absent."""
        column = self.newer.values.get(name)
        return None if column is None or slot in self.newer.absent.get(name, ()) else column[slot]

    def raw_before(self, name: QuantityId, slot: RowSlot) -> int | None:
        """The raw reading of a counter at the start of the interval; None if it is unknown."""
        columns = self._columns(name)
        return None if columns is None or slot in self._new or slot in self.absent(name) else columns[0][slot]

    @property
    def parts(self) -> Mapping[str, Sequence[RowSlot]]:
        """Key of a row of a nested kind -> slots of the rows inside it."""
        if self._parts is None:
            self._parts = {}
            for slot, row in self.newer.roster.rows.items():
                if row.parent and self.newer.kind.nested:
                    self._parts.setdefault(row.parent, []).append(slot)
        return self._parts

    def level(self, name: QuantityId, slot: RowSlot) -> float | None:
        """A gauge of a row at the end of the interval, in SI units; None if no machine can have that value."""
        value = self.raw(name, slot)
        if value is None or isinstance(value, str):
            return None
        quantity = self.quantities[name]
        level = value * quantity.scale
        return level if quantity.behavior is Behavior.COUNTER or _bounds(quantity).admits(level) else None

    @property
    def texts(self) -> Sequence[Sequence[str]]:
        """The columns of all texts at the end of the interval, "" where one is absent."""
        if self._texts is None:
            self._texts = [cast("Sequence[str]", self.newer.values[name]) for name, quantity in self.quantities.items()
                           if quantity.form is Form.TEXT and name in self.newer.values]
        return self._texts

    def text(self, name: QuantityId, slot: RowSlot) -> str | None:
        """A text of a row at the end of the interval."""
        value = self.raw(name, slot)
        return value if isinstance(value, str) else None

    def lacks(self, name: QuantityId, slot: RowSlot) -> str:
        """What the value of a quantity lacks in a row, where it is the least that it can be; "" for nothing."""
        quantity = self.quantities.get(name)
        return (self.text(quantity.lacks, slot) or "") if quantity is not None and quantity.lacks else ""

    def why(self, name: QuantityId, row: Row) -> Unavailable | None:
        """Why a row has no increase, or no level, of a quantity; None if it has."""
        if (slot := self.newer.roster.slots.get(row.identity)) is None:
            return _NO_ROW
        quantity = self.quantities.get(name)
        if (known := self.newer.absent.get(name, {}).get(slot)) is not None:
            return known
        if quantity is None or name not in self.newer.values:
            return Unavailable(Reason.NOT_READ, f"{name} was not read for this interval")
        if quantity.behavior is not Behavior.COUNTER:
            raw = self.raw(name, slot)
            if isinstance(raw, (int, float)) and self.level(name, slot) is None:
                return Unavailable(Reason.OUT_OF_RANGE, f"{self._origin(quantity, row)}: "
                                   f"{raw * quantity.scale:,.10g} {quantity.unit.value}: {_bounds(quantity).because}")
            return None
        return self._why_no_increase(quantity, slot)

    def _why_no_increase(self, quantity: Quantity, slot: RowSlot) -> Unavailable | None:
        if self.older is None or quantity.id not in self.older.values:
            return Unavailable(Reason.FIRST_TICK, "a counter needs two readings, and there is one so far")
        if slot in self._new:
            return Unavailable(Reason.FIRST_TICK, "the row was found in this interval, and it was there before")
        place = self._before.get(slot, slot)
        missed = {} if slot in self._born else self.older.absent.get(quantity.id, {})
        if place in missed:
            return missed[place]
        if slot in self.unread(quantity.clock):
            if slot in self.newer.died:
                return Unavailable(Reason.NOT_READ, "the row ended before its last part could be read")
            return self.missed or _UNREAD
        if self.deltas(quantity.id)[slot] is not None:
            return None
        if quantity.gaps and (gaps := self.deltas(quantity.gaps)[slot]) != 0:
            return _GAP if gaps else self.why(quantity.gaps, self.newer.roster.rows[slot])
        return self._why_refused(quantity, slot)

    def _why_refused(self, quantity: Quantity, slot: RowSlot) -> Unavailable:
        """Why the difference of two readings is no increase."""
        rose = self.rose(quantity.id)
        if rose is not None and self._is_impossible(quantity, rose[slot] * quantity.scale, slot):
            return Unavailable(Reason.OUT_OF_RANGE, f"{quantity.origin}: {rose[slot] * quantity.scale:,.10g} more in "
                                                    f"this interval: {_bounds(quantity).because}")
        if quantity.running and not self.deltas(quantity.running)[slot]:
            return Unavailable(Reason.NEVER_RAN, "the counter was never scheduled in this interval")
        return Unavailable(Reason.WENT_BACK, f"{quantity.origin}: the counter was reset in this interval")
