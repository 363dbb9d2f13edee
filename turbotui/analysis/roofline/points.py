"""Points of the roofline: from differences of counters to arithmetic intensity and floating-point performance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from turbotui.analysis.roofline.event_sets import Joined
from turbotui.quantities.recipes import Recipe
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

    @property
    def performance(self) -> float | None:
        """Flop/s; None for an interval without length."""
        return self.flops / self.seconds if self.seconds > 0 else None


def points_from(recipe: Recipe, intervals: Iterable[Joined], sizing: Sizing | None = None) -> tuple[Point | None, ...]:
    """A point for each interval; None where a count that the recipe needs is missing.

    Args:
        recipe: of the cores that were counted.
        intervals: with counts by the recipe's event keys.
        sizing: how accesses become bytes.
    """
    how = Sizing() if sizing is None else sizing
    return tuple(point_from(recipe, interval, how) for interval in intervals)


def point_from(recipe: Recipe, interval: Joined, sizing: Sizing) -> Point | None:
    """The point of one interval; None where it cannot be made of what was counted."""
    found = counted(recipe, interval.counts, sizing)
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
