"""Units of raw signals, SI at rest; columns choose what people read."""

from __future__ import annotations

from enum import Enum

from turbotui.errors import UsageError


class Unit(Enum):
    """The SI unit of a signal after `Signal.scale` has been applied. The value is the symbol."""

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
    """A temperature as people type it.

    Raises:
        UsageError: it is none in whole °C.
    """
    try:
        degrees = int(text)
    except ValueError:
        degrees = 0
    if degrees <= 0:
        raise UsageError(f'TCC "{text}" is not a temperature in whole °C, such as 95')
    return degrees
