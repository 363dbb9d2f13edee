"""Rows that come and go, and their readings at one tick, stored by column.

A row keeps its slot, its position in every column, while it lives. `Columns` is where a reader puts what it reads;
`tick` copies the columns into a `RowTick`, which does not change any more.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import ClockId, Form, KindId, Quantity, QuantityId, RowKind
from turbotui.quantities.unavailable import Reason, Unavailable

RowSlot: TypeAlias = int
"""Position of a row in the columns of its kind."""

RowIdentity: TypeAlias = tuple[str, int]
"""Key and serial of a row: no other row of the kind ever has both."""

RawColumn: TypeAlias = "array[int] | array[float] | tuple[str, ...]"
"""Raw values by slot: words, doubles or texts; 0 or "" where a slot is free or the value is in `RowTick.absent`."""

_FIRST_CAPACITY: Final = 16
_SELDOM: Final = 5  # ticks between two readings of `Cost.SELDOM`
_NEVER_PUT: Final = Unavailable(Reason.NOT_READ, "not read for this row yet")
_CODES: Final = {Form.WORD: "Q", Form.DOUBLE: "d"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a kind: a control group, a thread, a source of interrupts."""

    key: str  # the words by which the kind names it: "57", "/system.slice/ssh.service"
    # what tells rows apart that have the same key one after the other: the start time of a thread, the inode of a
    # group; 0 if keys are never reused
    serial: int = 0
    # key of the row of the parent kind that contains this row; "" for none. Of a nested kind: the key of the row above.
    parent: str = ""
    name: str = ""  # for people; a name that can change is a TEXT quantity instead
    # `RowTick.started_ns` of the tick at which the row was found, if its counters began with it, at 0, after the tick
    # before; 0 for a row that was there before, or of which nobody knows
    born_ns: int = 0

    @property
    def identity(self) -> RowIdentity:
        """Key and serial."""
        return self.key, self.serial


@dataclass(frozen=True, eq=False)  # no slots: `slots` is computed on first use
class Roster:
    """The rows of a kind by slot; the same object as long as no row comes or goes."""

    # in the order in which they came; slots that are missing are free
    rows: Mapping[RowSlot, Row] = field(default_factory=dict)
    capacity: int = 0  # the length of every column

    @cached_property
    def slots(self) -> Mapping[RowIdentity, RowSlot]:
        """The slot of every row."""
        return {row.identity: slot for slot, row in self.rows.items()}


@dataclass(frozen=True, slots=True, eq=False)
class RowTick:
    """The readings of a kind's rows at one tick.

    It knows its kind and quantities, so that a recording needs nothing else to write or restore it.
    """

    kind: RowKind
    # those that were wanted, by id; the same object as long as these are the same
    quantities: Mapping[QuantityId, Quantity]
    wall_ns: int  # wall clock when the tick began at which these rows were read
    # the same on the clock of `Snapshot.started_ns`. A reader that was late has an earlier tick's times.
    started_ns: int
    roster: Roster  # the rows, with those in `died`
    values: Mapping[QuantityId, RawColumn]  # quantity -> raw values by slot
    # clock -> ns of each slot's last reading on the clock of `started_ns`; 0 without one. A quantity that was not read
    # at this tick keeps its value and its stamp.
    stamps: Mapping[ClockId, Sequence[int]]
    # quantity -> slots of rows without a value, with the reason
    absent: Mapping[QuantityId, Mapping[RowSlot, Unavailable]] = field(default_factory=dict)
    # slots of rows that ended since the tick before. Their last readings are in this tick, and the next tick has
    # neither the rows nor, perhaps, the slots free.
    died: frozenset[RowSlot] = frozenset()
    omitted: int = 0  # rows that exist and have no slot because the kind is full
    notes: tuple[str, ...] = ()  # what the reader says of all rows, a sentence each; the same object while it stays

    @property
    def born(self) -> frozenset[RowSlot]:
        """Slots of rows whose counters began with them since the tick before."""
        return frozenset(slot for slot, row in self.roster.rows.items() if row.born_ns == self.started_ns > 0)


class Columns:
    """The columns of a kind, which its reader fills at every tick.

    Calls between `begin` and `tick` belong to that tick. What is not put keeps its last value. Only one thread at a
    time may use it.

    Args:
        quantities: all that a reader may put.
    """

    def __init__(self, kind: RowKind, quantities: Iterable[Quantity]) -> None:
        self.kind = kind
        self.quantities: Mapping[QuantityId, Quantity] = {quantity.id: quantity for quantity in quantities}
        strangers = [quantity.id for quantity in self.quantities.values() if quantity.kind != kind.id]
        if strangers:
            raise ValueError(f"{kind.id}: quantities of another kind: {', '.join(strangers)}")
        self._read = self.quantities  # those that ticks have
        self._widened = False  # whether this tick has quantities that those before it had not
        self._roster = Roster()
        self._rows: dict[RowSlot, Row] = {}
        self._changed = False
        self._free: list[RowSlot] = []
        self._capacity = 0
        self._values: dict[QuantityId, array[int] | array[float] | list[str]] = {
            quantity.id: [] if quantity.form is Form.TEXT else array(_CODES[quantity.form])
            for quantity in self.quantities.values()}
        self._texts: dict[QuantityId, tuple[str, ...]] = {}
        self._stamps: dict[ClockId, array[int]] = {
            clock: array("Q") for clock in dict.fromkeys(quantity.clock for quantity in self.quantities.values())}
        self._unsure: dict[ClockId, Any] = {
            quantity.clock: self._values[quantity.unsure] for quantity in self.quantities.values() if quantity.unsure}
        self._noted = {quantity.unsure for quantity in self.quantities.values()}  # by `read_at`, for every row
        self._absent: dict[QuantityId, dict[RowSlot, Unavailable]] = {name: {} for name in self.quantities}
        self._reasons: dict[QuantityId, Mapping[RowSlot, Unavailable]] = {}
        self._died: set[RowSlot] = set()
        self._omitted = 0
        self._notes: tuple[str, ...] = ()
        self._wall_ns = self._started_ns = self._slept_ns = 0
        self._seq = 0
        self._newest: set[RowSlot] = set()

    @property
    def rows(self) -> Mapping[RowSlot, Row]:
        """The rows that have not died, by slot."""
        return {slot: row for slot, row in self._rows.items() if slot not in self._died}

    def want(self, wanted: frozenset[QuantityId] | None) -> None:
        """Have these quantities, and what explains them, in ticks from the next one on; None for all."""
        names = set(self.quantities) if wanted is None else set(wanted) & self.quantities.keys()
        for name in [*names]:
            names |= self.quantities[name].aids
        if names != self._read.keys():
            self._widened = bool(names - self._read.keys())
            self._read = {name: quantity for name, quantity in self.quantities.items() if name in names}

    def wants(self, quantity: QuantityId) -> bool:
        """Whether anybody wants a quantity; what costs a file of its own is read only then."""
        return quantity in self._read

    def begin(self, wall_ns: int, started_ns: int, slept_ns: int = 0, *, lost: bool = False) -> None:
        """Begin a tick; the slots of rows that died at the tick before become free.

        Args:
            wall_ns: see `RowTick`.
            started_ns: see `RowTick`.
            slept_ns: the time that the machine slept, which `started_ns` includes and stamps of readings lack.
            lost: whether nobody has seen the tick before, which came too late: rows that died at it are in this one.
        """
        self._wall_ns, self._started_ns, self._slept_ns = wall_ns, started_ns, slept_ns
        self._omitted = 0
        self._seq += 1
        self._newest.clear()
        if lost:
            return
        for slot in sorted(self._died, reverse=True):
            del self._rows[slot]
            self._clear(slot)
            self._free.append(slot)
        self._changed |= bool(self._died)
        self._died.clear()

    def birth(self, row: Row, *, began: bool = False) -> RowSlot | None:
        """Give a row a slot.

        Args:
            row: no row that lives has its identity.
            began: whether its counters began with it, at 0, since the tick before.

        Returns:
            None if the kind has as many rows as it may have; the row is then counted as omitted.
        """
        if len(self._rows) >= self.kind.most:
            self._omitted += 1
            return None
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._newest.add(slot)
        self._rows[slot] = replace(row, born_ns=self._started_ns) if began else row
        for name, absent in self._absent.items():
            if name not in self._noted:
                absent[slot] = _NEVER_PUT
        self._reasons.clear()
        self._changed = True
        return slot

    def due(self, slot: RowSlot) -> bool:
        """Whether quantities of `Cost.SELDOM` are to be read for a row at this tick."""
        return self._widened or slot in self._newest or (self._seq + slot) % _SELDOM == 0

    def death(self, slot: RowSlot) -> None:
        """Note that a row has ended. What was read of it after its end may still be put at this tick."""
        if slot not in self._rows:
            raise KeyError(f"{self.kind.id}: no row has slot {slot}")
        self._died.add(slot)

    def note(self, *sentences: str) -> None:
        """Say this of all rows, in this tick and in later ones, in place of what was said before."""
        if sentences != self._notes:
            self._notes = sentences

    def put(self, slot: RowSlot, quantity: QuantityId, value: float | str | Unavailable) -> None:
        """Put one raw value, or the reason why there is none."""
        column: Any = self._values[quantity]  # an array refuses what is not of the quantity's form
        absent = self._absent[quantity]
        if isinstance(value, Unavailable):
            if absent.get(slot) != value:
                absent[slot] = value
                self._reasons.pop(quantity, None)
            value = _blank(column)
        elif absent.pop(slot, None) is not None:
            self._reasons.pop(quantity, None)
        if column[slot] != value:
            column[slot] = value
            self._texts.pop(quantity, None)

    def put_all(self, quantity: QuantityId, slots: Sequence[RowSlot], values: Iterable[float]) -> None:
        """Put the raw numbers of many rows."""
        column: Any = self._values[quantity]
        absent = self._absent[quantity]
        for slot, value in zip(slots, values, strict=True):
            column[slot] = value
        if absent:
            for slot in slots:
                if absent.pop(slot, None) is not None:
                    self._reasons.pop(quantity, None)

    def read_at(self, slots: Iterable[RowSlot], at_ns: int, clock: ClockId = "", unsure_ns: int = 0) -> None:
        """Note when the quantities of a clock were read for these rows.

        Args:
            at_ns: on the host's monotonic clock.
            unsure_ns: how far that may be off; a clock whose quantities name no such gauge is taken at its word.
        """
        stamps, at, unsure = self._stamps[clock], at_ns + self._slept_ns, self._unsure.get(clock)
        if unsure is None:
            for slot in slots:
                stamps[slot] = at
            return
        for slot in slots:
            stamps[slot] = at
            unsure[slot] = unsure_ns

    def tick(self) -> RowTick:
        """End the tick that `begin` began."""
        if self._changed:
            self._roster = Roster(dict(self._rows), self._capacity)
            self._changed = False
        self._widened = False
        values: dict[QuantityId, RawColumn] = {}
        for name in self._read:
            column = self._values[name]
            if isinstance(column, list):
                texts = self._texts.get(name)
                if texts is None:  # few texts change: ticks share them
                    texts = self._texts[name] = tuple(column)
                values[name] = texts
            else:
                values[name] = column[:]
        clocks = dict.fromkeys(quantity.clock for quantity in self._read.values())
        return RowTick(self.kind, self._read, self._wall_ns, self._started_ns, self._roster, values,
            {clock: self._stamps[clock][:] for clock in clocks}, self._shared_reasons(), frozenset(self._died),
            self._omitted, self._notes)

    def _shared_reasons(self) -> Mapping[QuantityId, Mapping[RowSlot, Unavailable]]:
        """The reasons by quantity; ticks share those that did not change, as they share texts."""
        for name, absent in self._absent.items():
            if absent and name not in self._reasons:
                self._reasons[name] = dict(absent)
        return {name: self._reasons[name] for name, absent in self._absent.items() if absent}

    def _grow(self) -> None:
        before = self._capacity
        self._capacity = min(max(_FIRST_CAPACITY, before * 2), self.kind.most)
        more = self._capacity - before
        for column in (*self._values.values(), *self._stamps.values()):
            column.extend([_blank(column)] * more)
        self._texts.clear()
        self._free.extend(range(self._capacity - 1, before - 1, -1))

    def _clear(self, slot: RowSlot) -> None:
        for column in (*self._values.values(), *self._stamps.values()):
            column[slot] = _blank(column)
        for absent in self._absent.values():
            absent.pop(slot, None)
        self._reasons.clear()
        self._texts.clear()


def _blank(column: object) -> Any:
    """The item of a free slot."""
    return "" if isinstance(column, list) else 0


RowTicks: TypeAlias = Mapping[KindId, RowTick]
"""The rows of a snapshot by kind, without the kinds that nobody wants or whose reader was late."""


def sum_of(parts: Mapping[str, float | Unavailable]) -> float | Unavailable:
    """The sum of the numbers of named parts; if one has none, its reason, with its name unless all have the same."""
    missing = {name: value for name, value in parts.items() if isinstance(value, Unavailable)}
    if not missing:
        numbers = [value for value in parts.values() if not isinstance(value, Unavailable)]
        # whole numbers stay whole: a counter of bytes has more digits than a float
        return sum(numbers) if all(isinstance(number, int) for number in numbers) else math.fsum(numbers)
    name, why = next(iter(missing.items()))
    if len(missing) == len(parts) and all(other == why for other in missing.values()):
        return why
    return replace(why, detail=f"{name}: {why.detail}")
