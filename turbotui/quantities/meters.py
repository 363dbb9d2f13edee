"""Power meters outside the processor: kinds of device, what each measures, and which contains which.

A meter's signal is named `meter.KIND.NUMBER.QUANTITY`: `meter.gpu.0.energy`. Its constants `label` and, if the device
averages, `interval` are known from the probe, so a recording has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.facts import FactFile, FactRows
from turbotui.quantities.rows import valued
from turbotui.quantities.signals import Signal, SignalId

PREFIX: Final = "meter."
"""Prefix of the ids of meters' signals."""
_FILE: Final = FactFile("quantities/meter_kinds.toml")


class WattPlace(Enum):
    """The role of a meter's watts in the sum of a machine."""

    PART = "part"  # added to the others
    PLATFORM = "platform"  # the whole machine, with which the sum of the parts is compared
    NOTHING = "nothing"  # no watts: fans, NPUs


@dataclass(frozen=True, slots=True)
class MeterKind:
    """A kind of device that reports power: a table of `meter_kinds.toml`, which says what its keys are."""

    id: str  # the word in the ids of its signals
    column: str
    words: str
    place: WattPlace
    document: str
    note: str
    inside: tuple[str, ...] = ()


PACKAGE: Final = "package"
"""The word in `MeterKind.inside` for the packages' energy, which has columns of its own."""

KINDS: Final = FactRows(_FILE, lambda kind: _FILE.row(
    MeterKind, kind, {"id": kind, **(_FILE.find(kind) or {})}, place=valued(WattPlace)))
"""Every kind, by its id, in the order of their columns."""

PLATFORM_RANK: Final = ("psu", "meter", "bmc", "psys", "battery", "module")
"""What a machine's sum is compared with, best first: closest to the plug, and fresh. `psys` is RAPL's own domain."""

SUSPENDED: Final = frozenset({"suspended", "suspending"})
"""Values of power/runtime_status of a device that a reading would wake (kernel Documentation/power/runtime_pm.rst)."""


@dataclass(frozen=True, slots=True)
class PowerMeter:
    """One metering device."""

    kind: MeterKind
    number: int  # among those of its kind
    label: str  # its name, made visible
    interval: float | None  # seconds over which it averages; None if it does not, or does not say
    quantities: frozenset[str]  # what it measures, by the last word of the signal

    def signal(self, quantity: str) -> SignalId:
        """The id of one of its signals."""
        return meter_signal(self.kind.id, self.number, quantity)

    @property
    def column(self) -> str:
        """Prefix of the ids of its columns."""
        return f"{self.kind.column}{self.number}"


def meter_signal(kind: str, number: int, quantity: str) -> SignalId:
    """The id of a signal of a meter."""
    return f"{PREFIX}{kind}.{number}.{quantity}"


def meters_of(signals: Mapping[SignalId, Signal]) -> tuple[PowerMeter, ...]:
    """The meters to which a machine's signals belong, kind by kind."""
    meters: dict[tuple[str, int], dict[str, Signal]] = {}
    for name, signal in signals.items():
        parts = name.split(".")
        if len(parts) == 4 and parts[0] == PREFIX[:-1] and parts[1] in KINDS and parts[2].isdecimal():
            meters.setdefault((parts[1], int(parts[2])), {})[parts[3]] = signal
    return tuple(_meter(KINDS[kind], number, meters[kind, number]) for kind, number in _ordered(meters))


def _ordered(keys: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    order = list(KINDS)
    return sorted(keys, key=lambda key: (order.index(key[0]), key[1]))


def _meter(kind: MeterKind, number: int, signals: Mapping[str, Signal]) -> PowerMeter:
    label, interval = (signals[word].constant if word in signals else None for word in ("label", "interval"))
    seconds = signals["interval"].value(interval) if interval is not None else None
    return PowerMeter(kind, number, label if isinstance(label, str) else kind.words, seconds, frozenset(signals))
