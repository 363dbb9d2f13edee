"""Units of raw signals, SI at rest; columns choose what people read."""

from __future__ import annotations

from enum import Enum


class Unit(Enum):
    """The SI unit of a signal after `Signal.scale` has been applied. The value is the symbol."""

    COUNT = "count"
    CYCLE = "cycle"
    RATIO = "1"
    SECOND = "s"
    HERTZ = "Hz"
    JOULE = "J"
    WATT = "W"
    CELSIUS = "°C"
    BYTE = "B"
    FLOP = "flop"
    BITS = "bits"
    TEXT = "text"
