"""FLOPs, loads and stores per second by the cores' definitions, for one row of the roofline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Inputs
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import (
    VECTOR_BITS,
    Sizing,
    WidthModel,
    counted,
    half_together,
    levels_together,
    single_together,
)
from turbotui.quantities.scope import Scope
from turbotui.quantities.traced import added


@dataclass(frozen=True, slots=True)
class Speed:
    """FLOPs and bytes per second of the CPUs of a row."""

    flops: float  # floating-point operations per second
    bytes: float | None  # per second, of the CPUs whose bytes are known; None without any
    sized_flops: float  # operations per second of those same CPUs, so that an intensity divides like by like
    dominant: str  # the width of the CPU with the most operations
    width: WidthModel | None  # the model behind `bytes`; None without bytes, or with several models
    single: float | None = None  # share of the operations in single precision; None if a CPU's share is unknown
    half: float = 0.0  # share in half precision, operations of a matrix unit included
    # bytes per second between two memory levels, by the outer level's name, of the known levels
    levels: tuple[tuple[str, float], ...] = ()

    @property
    def intensity(self) -> float | None:
        """FLOP per byte; None without bytes."""
        return self.sized_flops / self.bytes if self.bytes else None


def cpu_speed(row: Inputs, definitions: Sequence[MetricDefinition], sizing: Sizing) -> Speed | None:
    """FLOPs and bytes per second of one CPU; None if its operations are not counted."""
    bits = row.value(VECTOR_BITS)
    how = sizing if not bits else Sizing(sizing.model, sizing.given, round(float(bits)))
    for definition in definitions:
        rates = {key: rate for key, signal in definition.signals if (rate := row.rate(signal)) is not None}
        counts = counted(definition, rates, how) if rates else None
        if counts is not None:
            sized = counts.flops if counts.bytes is not None else 0.0
            return Speed(counts.flops, counts.bytes, sized, counts.dominant, counts.width, counts.single,
                         counts.half, counts.levels)
    return None


def sum_speeds(speeds: Iterable[Speed | None]) -> Speed | None:
    """The speed of CPUs together; None if none is known."""
    known = [speed for speed in speeds if speed is not None]
    if not known:
        return None
    sized = [speed for speed in known if speed.bytes is not None]
    models = {speed.width for speed in sized}
    busiest = max(known, key=lambda speed: speed.flops)
    return Speed(
        flops=added(speed.flops for speed in known),
        # not recomputed from summed counts: the mean width of an access belongs to a CPU's own instructions
        bytes=added(speed.bytes or 0.0 for speed in sized) if sized else None,
        sized_flops=added(speed.flops for speed in sized),
        dominant=busiest.dominant if busiest.flops > 0 else "",
        width=models.pop() if len(models) == 1 else None,
        single=single_together((speed.single, speed.flops) for speed in known),
        half=half_together((speed.half, speed.flops) for speed in known),
        levels=levels_together(speed.levels for speed in known),
    )


def row_speed(row: Inputs, definitions: Sequence[MetricDefinition], sizing: Sizing) -> Speed | None:
    """FLOPs and bytes per second of a row's CPUs; None if none is counted."""
    return sum_speeds(cpu_speed(inputs, definitions, sizing) for inputs in row.each(Scope.CPU))
