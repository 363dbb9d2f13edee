"""SI units of raw signals; columns convert to what people read."""

from __future__ import annotations

from enum import Enum

from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import integer


class Unit(Enum):
    """The SI unit of a signal after `Signal.scale`, by its symbol."""

    COUNT = "count"
    CYCLE = "cycle"
    RATIO = "1"
    SECOND = "s"
    HERTZ = "Hz"
    JOULE = "J"
    WATT = "W"
    VOLT = "V"
    AMPERE = "A"
    COULOMB = "C"
    CELSIUS = "°C"
    BYTE = "B"
    FLOP = "flop"
    BITS = "bits"
    TEXT = "text"


def parse_celsius(text: str) -> int:
    """Parse a temperature as a user types it. Raises UsageError if the text is not a whole number of °C."""
    try:
        degrees = integer(text)
    except ValueError:
        degrees = 0
    if degrees <= 0:
        raise UsageError(f'TCC "{text}" is not a temperature in whole °C, such as 95')
    return degrees
