"""The layout of a kind's rows in a journal: the kind, its quantities, and their columns (docs/specs/journal.md 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import partial
from typing import Any, Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.quantities.row_kinds import ROWS_LIMIT, ClockId, Cost, Form, Quantity, QuantityId, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.units import Unit
from turbotui.recording.codec import CLOCK_OF_TICK, MOST_CELLS, NO_COLUMN, ColumnLayout, LaneLayout
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue
from turbotui.sampling.rows import RowTick

T = TypeVar("T")
MOST_QUANTITIES: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class RowLayout:
    """The layout of a kind's rows, valid while the same quantities are read.

    Columns of a tick are its clocks, then the values of its quantities; each has a lane for every slot.
    """

    kind: RowKind
    quantities: Mapping[QuantityId, Quantity]  # by id, in the order of their columns
    clocks: tuple[ClockId, ...]  # of the quantities, in the order of their columns

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.clocks) + len(self.quantities)

    def fits(self, tick: RowTick) -> bool:
        """Tell whether a tick has this layout."""
        return (tick.kind == self.kind and tick.values.keys() == self.quantities.keys()
                and tick.stamps.keys() == set(self.clocks)
                and (tick.quantities is self.quantities
                     or all(tick.quantities[name] == quantity for name, quantity in self.quantities.items())))

    def lanes(self, capacity: int, most_cells: int = MOST_CELLS) -> LaneLayout:
        """Return the lanes of a tick with that many slots.

        Raises:
            DamagedError: they are more than a recording may have.
        """
        if not 0 <= capacity <= ROWS_LIMIT or capacity * self.columns > most_cells:
            raise DamagedError(f"{capacity:,} rows of {self.columns:,} columns are more than a recording may have")
        first = len(self.clocks)
        columns = [ColumnLayout(capacity, clock - 1 if clock else CLOCK_OF_TICK) for clock in range(first)]
        numbers = {quantity.id: first + at for at, quantity in enumerate(self.quantities.values())}
        # Both are nearly always equal.
        enabled = {quantity.running: quantity.enabled for quantity in self.quantities.values() if quantity.running}
        for at, quantity in enumerate(self.quantities.values()):
            partner = numbers.get(enabled.get(quantity.id, ""), NO_COLUMN)
            columns.append(ColumnLayout(capacity, partner if partner < first + at else NO_COLUMN))
        return LaneLayout(columns)


def layout_of_rows(tick: RowTick) -> RowLayout:
    """Make the layout of a tick."""
    read = {name: tick.quantities[name] for name in tick.values}
    return RowLayout(tick.kind, tick.quantities if len(read) == len(tick.quantities) else read, tuple(tick.stamps))


def row_layout_facts(layout: RowLayout, number: int) -> dict[str, object]:
    """Convert a layout to JSON, with the number by which ticks refer to it."""
    return {"number": number, "kind": _facts(layout.kind), "clocks": list(layout.clocks),
            "quantities": [_facts(quantity) for quantity in layout.quantities.values()]}


def row_layout_from(stored: JsonValue) -> tuple[int, RowLayout]:
    """Restore the number and the layout of `row_layout_facts`.

    Raises:
        DamagedError: it is none.
    """
    kind = _restored(stored["kind"], "kind of row", RowKind, _KIND_FIELDS)
    items = stored["quantities"].items()
    clocks = tuple(dict.fromkeys(stored["clocks"].texts()))
    if len(items) + len(clocks) > MOST_QUANTITIES:
        raise DamagedError(f"{kind.title} of the recording have {len(items):,} quantities, which cannot be")
    read = [_restored(value, "quantity", partial(Quantity, kind=kind.id), _QUANTITY_FIELDS) for value in items]
    quantities = {quantity.id: quantity for quantity in read}
    for quantity in read:
        if quantity.clock not in clocks or not quantity.aids <= quantities.keys():
            raise DamagedError(f"{quantity.id!r} of {kind.title} in the recording refers to what is not there")
        if set("{}") & set(quantity.origin.replace("{row}", "")):  # the row is filled in when the origin is shown
            raise DamagedError(f"the origin of {quantity.id!r} in the recording cannot be: {quantity.origin[:80]!r}")
    if len(read) != len(quantities):
        raise DamagedError(f"{kind.title} of the recording have a quantity twice")
    return stored["number"].integer(), RowLayout(kind, quantities, clocks)


def _restored(stored: JsonValue, what: str, make: Callable[..., T],
              readers: Mapping[str, Callable[[JsonValue], Any]]) -> T:
    """Restore what `_facts` made. Raises DamagedError if it is none."""
    fields_read = {name: read(value) for name, read in readers.items() if (value := stored.get(name)) is not None}
    try:
        return make(**fields_read)
    except (TypeError, ValueError) as error:
        raise DamagedError(f"{stored.where} of the recording is no {what}: {error}") from error


def _facts(described: RowKind | Quantity) -> dict[str, object]:
    """Convert the fields of a kind or a quantity that differ from their defaults."""
    facts = {}
    for item in fields(described):
        value = getattr(described, item.name)
        if item.default is MISSING or value != item.default:
            facts[item.name] = getattr(value, "value", value)
    facts.pop("kind", None)  # of a quantity: that of the layout
    return facts


_KIND_FIELDS: Final[Mapping[str, Callable[[JsonValue], Any]]] = {
    "id": JsonValue.text, "title": JsonValue.text, "parent": JsonValue.text, "nested": JsonValue.flag,
    "most": JsonValue.integer,
}
_QUANTITY_FIELDS: Final[Mapping[str, Callable[[JsonValue], Any]]] = {
    "id": JsonValue.text, "unit": lambda word: word.one_of(Unit, Unit.COUNT),
    "behavior": lambda word: word.one_of(Behavior), "reduce": lambda word: word.one_of(Reduce),
    "origin": JsonValue.text, "document": JsonValue.text, "scale": JsonValue.number, "clock": JsonValue.text,
    "form": lambda word: word.one_of(Form), "cost": lambda word: word.one_of(Cost, Cost.TICK),
    "enabled": JsonValue.text,
    "running": JsonValue.text, "gaps": JsonValue.text, "lacks": JsonValue.text, "unsure": JsonValue.text,
}
