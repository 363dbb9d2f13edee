"""Signals: raw integers from hardware and kernel, with the facts needed to subtract, scale and sum them.

A recording keeps the raw values and recomputes everything else, so a corrected scale also corrects old recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit

SignalId: TypeAlias = str
"""Dotted lower-case name: `aperf`, `energy.pkg`, `cpuidle.state1.time`, `stat.user`."""

STEP_BACK = 1 << 63
"""The increase of a 64-bit counter from which it counts as a step back: no counter advances so far in an interval, but
one that falls below its reference value does (perf's count of MPERF after a reset of the register)."""

Raw: TypeAlias = "int | str | None"
"""A raw reading: an integer, a text (governor, driver), or None if this instance could not be read."""


class Behavior(Enum):
    """How a signal moves.

    A COUNTER is subtracted, a GAUGE is taken at the end of the interval, and a CONSTANT is known from the probe and
    never read again.
    """

    COUNTER = "counter"
    GAUGE = "gauge"
    CONSTANT = "constant"


class Reduce(Enum):
    """How the values of several instances combine to the value of a coarser row.

    The rule belongs to the signal: ratios are never averaged, they are recomputed from reduced signals.
    """

    SUM = "sum"
    MEAN = "mean"
    MAX = "max"
    MIN = "min"
    UNION = "union"  # bits: set if any instance has the bit set
    SAME = "same"  # the common value, or unknown if instances differ
    NONE = "none"  # no meaning above its own scope

    __hash__ = object.__hash__  # Enum hashes the name in Python, and every number of a row needs the hash


@dataclass(frozen=True, slots=True)
class Signal:
    """A raw quantity that one source provides on this machine.

    Value = `offset + scale * bits(raw)`, where bits() takes `width_bits` bits from `low_bit` up. A COUNTER narrower
    than 64 bits has wrapped if it goes down by more than half of its range. If it goes down by less, it was reset and
    has no delta; a 64-bit counter that goes down at all was reset.
    """

    id: SignalId  # several sources may provide the same id; the first usable source in source order is read
    scope: Scope  # one value for each instance of this topology level
    unit: Unit  # SI unit of the value
    behavior: Behavior
    reduce: Reduce
    # what is read, in words that an operator can type or open: "perf msr/aperf/", "MSR 0xE8",
    # "/sys/devices/system/cpu/cpu{cpu}/cpuidle/state1/time". `{cpu}` stands for the reading CPU.
    origin: str
    document: str = ""  # where the meaning is written down: "Intel SDM vol. 4", "kernel Documentation/..."
    width_bits: int = 64
    low_bit: int = 0
    scale: float = 1.0
    offset: float = 0.0
    # CPUs that must do the reading (a PMU's cpumask); empty: the first CPU of each instance
    readers: tuple[int, ...] = ()
    constant: Raw = None  # the raw value of a CONSTANT
    # enabled, running: ids of the signals with perf's time_enabled and time_running of this counter's group, in ns;
    # empty if multiplexing cannot happen
    enabled: SignalId = ""
    running: SignalId = ""
    # the shortest time in which this counter can wrap at full rate; 0 if that does not matter. A counter that is read
    # is read more often than that, however long the interval.
    wrap_seconds: float = 0.0
    # how many values a counter of fewer than 64 bits has, where that is no power of two; 0: 2**width_bits
    values: int = 0
    # the counters from whose increases the sampler makes this one, which is not read itself
    made_of: tuple[SignalId, ...] = ()
    # reading CPUs whose instance has no such counter, with the reason: another socket than that of the only PMU, or
    # another kind of core. They are not read, and a sum is complete without them.
    absent: Mapping[int, Unavailable] = field(default_factory=dict, hash=False)

    @property
    def read_as(self) -> SignalId:
        """The counter whose readings it shares: itself, unless it is made of others."""
        return self.made_of[0] if self.made_of else self.id

    @property
    def size(self) -> int:
        """The number of values that the field can have; a counter that wraps loses so much."""
        return self.values or 1 << self.width_bits

    def bits(self, raw: int) -> int:
        """The field of the raw word, unscaled."""
        return (raw >> self.low_bit) & ((1 << self.width_bits) - 1)

    @property
    def saturates(self) -> bool:
        """Whether all ones are no value, as of degrees below tj_max (Intel SDM vol. 3, digital thermal sensors)."""
        return self.unit is Unit.CELSIUS and self.scale < 0

    def value(self, raw: Raw) -> float | None:
        """The value in SI units of one raw reading; None for None and for texts."""
        if raw is None or isinstance(raw, str):
            return None
        if self.width_bits >= 64 and self.low_bit == 0:
            return self.offset + self.scale * raw
        field_of_word = self.bits(raw)
        if self.saturates and field_of_word == (1 << self.width_bits) - 1:
            return None
        return self.offset + self.scale * field_of_word

    def delta(self, older: Raw, newer: Raw, wraps: int | None = None) -> float | None:
        """The increase between two raw readings in SI units; None if unknown or if the counter was reset.

        Args:
            older: the reading at the start of the interval.
            newer: the reading at its end.
            wraps: how often a counter narrower than 64 bits passed zero between the two; None: at most once, and not at
                all if it went down by half of its range or less.
        """
        if older is None or newer is None or isinstance(older, str) or isinstance(newer, str):
            return None
        if self.width_bits >= 64:
            difference = newer - older
            return difference * self.scale if 0 <= difference < STEP_BACK else None
        difference = self.bits(newer) - self.bits(older)
        if wraps is None:
            return difference % self.size * self.scale if -difference > self.size >> 1 or difference >= 0 else None
        return (difference + wraps * self.size) * self.scale
