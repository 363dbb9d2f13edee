"""Metrics of power meters beside the processor: graphics cards, sockets of Arm servers, supplies, batteries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from turbotui.features.export.live.exposition import Exposed
from turbotui.quantities.meters import PowerMeter, WattPlace, meters_of
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import Signal, SignalId
from turbotui.sampling.frame import Frame

_MOST: Final = 16
"""Meters that are told of: a large machine has four cards, two sockets, four supplies."""
_ENERGY, _POWER, _STATE = "energy", "power", "state"


class MeterMetrics:
    """The metrics of a machine's meters, at most 16, kind by kind.

    Args:
        signals: those that the machine offers.

    Attributes:
        signals: that have to be read.
    """

    def __init__(self, signals: Mapping[SignalId, Signal]) -> None:
        found = [meter for meter in meters_of(signals) if meter.kind.place is not WattPlace.NOTHING
                 and meter.quantities & {_ENERGY, _POWER}]
        self._meters = found[:_MOST]
        self._left_out = len(found) - len(self._meters)
        self._joules: dict[str, float] = {}
        self.signals = frozenset(meter.signal(word) for meter in self._meters
                                 for word in (_quantity(meter), _STATE) if word in meter.quantities)

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many meters are not told of."""
        return {"meters": self._left_out}

    def feed(self, frame: Frame) -> None:
        """Add the joules of an interval."""
        for meter in self._meters:
            if _quantity(meter) == _ENERGY and frame.older is not None:
                rise = frame.inputs(SYSTEM_ROW).delta(meter.signal(_ENERGY))
                if rise is not None:
                    self._joules[meter.column] = self._joules.get(meter.column, 0.0) + rise

    def metrics(self, frame: Frame | None) -> Iterator[Exposed]:
        """The metrics now.

        Args:
            frame: the newest; None before the first.
        """
        yield Exposed("turbotui_meter", "info", "A meter of power beside the processor: place is platform for all that "
                      "the machine takes, part for a part of it", [
                          ({"meter": one.column, "kind": one.kind.words, "label": one.label,
                            "place": one.kind.place.value}, 1.0) for one in self._meters])
        yield Exposed("turbotui_meter_energy_joules", "counter", "Energy of a meter that counts it", [
            ({"meter": name}, joules) for name, joules in self._joules.items()])
        if frame is not None:
            inputs = frame.inputs(SYSTEM_ROW)
            watts = {one.column: inputs.value(one.signal(_POWER)) for one in self._meters if _quantity(one) == _POWER}
            yield Exposed("turbotui_meter_watts", "gauge", "Power of a meter that counts no energy", [
                ({"meter": name}, value) for name, value in watts.items() if value is not None])


def _quantity(meter: PowerMeter) -> str:
    """What of a meter is told: energy, of which no watt is missed, or else the power of a moment."""
    return _ENERGY if _ENERGY in meter.quantities else _POWER
