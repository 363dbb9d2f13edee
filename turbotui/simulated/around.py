"""Power meters around the processors of a simulated machine; their numbers follow from the model's."""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass

CARD_SECONDS: Final = (25.0, 40.0)
"""A graphics card works for so long in every so long, and sleeps the rest of the time."""
SUPPLY_SHARE: Final = 0.94
"""Of what power supplies take, what they give."""
BATTERY_SHARE: Final = 0.97
"""Of what a battery gives, what arrives at the platform."""
BATTERY_SECONDS: Final = 10.0
"""How often a battery's firmware makes new numbers."""
BATTERY_WORN: Final = 0.91
"""Of what a battery held when it was new, what it holds now."""
NPU_BUSY: Final = 0.35


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Devices beside the processors.

    Attributes:
        card_watts: of a graphics card while it works; 0: there is none.
        npu: there is a neural processor, busy for `NPU_BUSY` of the time.
        supplies: power supplies on PMBus, which share the load equally.
        meter_ms: over which an ACPI meter of the whole machine averages; 0: there is none.
        battery_joules: what the full battery holds; 0: there is none. It discharges.
        fans: how many.
        psys_share: what RAPL's psys counts of the platform: less than 1 on a board that does not wire it to all.
    """

    card_watts: float = 0.0
    npu: bool = False
    supplies: int = 0
    meter_ms: int = 0
    battery_joules: float = 0.0
    fans: int = 0
    psys_share: float = 1.0

    def card_works(self, now: float) -> bool:
        """Whether the graphics card is awake at a machine time in seconds."""
        return self.card_watts > 0 and now % CARD_SECONDS[1] < CARD_SECONDS[0]
