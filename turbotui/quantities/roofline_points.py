"""Points of the roofline: from differences of counters to arithmetic intensity and floating-point performance."""

from __future__ import annotations

from turbotui.dataclass import dataclass
from turbotui.quantities.joined_sets import Joined
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import Sizing, WidthModel, counted


@dataclass(frozen=True, slots=True)
class Point:
    """An application's place during one interval.

    Attributes:
        seconds: length of the interval.
        instructions: retired.
        flops: floating-point operations.
        bytes: loaded and stored by the core.
        access_bytes: mean bytes of an access; None where bytes are counted.
        width: the model that made `bytes`.
        dominant: the width of most floating-point instructions, "AVX"; "" where it is not counted.
        estimated: whether part of it was counted at another time.
    """

    seconds: float
    instructions: float
    flops: float
    bytes: float
    access_bytes: float | None
    width: WidthModel
    dominant: str
    estimated: bool

    @property
    def intensity(self) -> float | None:
        """Flop/byte; None without bytes."""
        return self.flops / self.bytes if self.bytes > 0 else None


def point_from(definition: MetricDefinition, interval: Joined, sizing: Sizing) -> Point | None:
    """The point of one interval; None where it cannot be made of what was counted."""
    found = counted(definition, interval.counts, sizing)
    if found is None or found.bytes is None:
        return None
    return Point(
        seconds=interval.seconds,
        instructions=interval.instructions,
        flops=found.flops,
        bytes=found.bytes,
        access_bytes=found.access_bytes,
        width=found.width,
        dominant=found.dominant,
        estimated=bool(found.used & interval.estimated),
    )
