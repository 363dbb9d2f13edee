"""The scope and unit of an event's values on a machine, and the SI meaning of a PMU's .unit file."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.quantities.expressions import Dimension
from turbotui.quantities.scope import Scope
from turbotui.quantities.units import Unit


@dataclass(frozen=True, slots=True)
class EventTraits:
    """Facts about an event, found when it was encoded for a machine."""

    scope: Scope = Scope.CPU  # of its values
    unit: str = ""  # as its PMU says, "MiB"; "" for a plain count
    level: bool = False  # whether the value is a level and not a count
    scaled: bool = False  # whether its PMU gives a scale, so that its values are not whole numbers


@dataclass(frozen=True, slots=True)
class KnownUnit:
    """A unit in a PMU's .unit file."""

    si: Unit = Unit.COUNT  # the SI unit of the signal
    symbol: str = ""  # the unit's symbol in a dimension
    factor: float = 1.0  # SI units in one of this unit


_UNITS: Mapping[str, KnownUnit] = {
    # kernel drivers' .unit files: arch/x86/events/{rapl,intel/uncore*}.c, drivers/perf
    "": KnownUnit(),
    "Joules": KnownUnit(Unit.JOULE, "J"),
    "Watts": KnownUnit(Unit.WATT, "W"),
    "Bytes": KnownUnit(Unit.BYTE, "B"),
    "bytes": KnownUnit(Unit.BYTE, "B"),
    "B": KnownUnit(Unit.BYTE, "B"),
    "KiB": KnownUnit(Unit.BYTE, "B", 2.0**10),
    "MiB": KnownUnit(Unit.BYTE, "B", 2.0**20),
    "GiB": KnownUnit(Unit.BYTE, "B", 2.0**30),
    "MB": KnownUnit(Unit.BYTE, "B", 1e6),
    "ns": KnownUnit(Unit.SECOND, "s", 1e-9),
    "Cycles": KnownUnit(),
    "C": KnownUnit(Unit.CELSIUS, "°C"),
}


def known_unit(text: str) -> KnownUnit:
    """Translate a PMU's unit to SI; an unknown unit is kept."""
    return _UNITS.get(text) or KnownUnit(symbol=text)


def dimension_of(traits: EventTraits) -> Dimension:
    """The dimension of an event's count."""
    symbol = known_unit(traits.unit).symbol
    return {symbol: 1} if symbol else {}
