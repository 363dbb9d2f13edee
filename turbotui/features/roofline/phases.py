"""Phases: parts of a run in which an application stays at one point of the roofline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass

NEAR_INTENSITY: Final = 0.05
"""The relative deviation of intensity within a phase."""
NEAR_PERFORMANCE: Final = 0.15
"""The relative deviation of performance within a phase; performance also varies with the clock."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One interval of a run."""

    seconds: float  # its length
    flops: float  # floating-point operations in it
    bytes: float  # loaded and stored in it
    dominant: str = ""  # the width of most floating-point instructions


@dataclass(frozen=True, slots=True)
class Phase:
    """Adjacent similar intervals, as sums, so that ratios are those of the whole phase."""

    start: float  # seconds from the start of the run
    seconds: float  # length
    flops: float  # floating-point operations
    bytes: float  # loaded and stored
    dominant: str  # the width of most floating-point instructions
    intervals: int  # the number of intervals

    @property
    def intensity(self) -> float | None:
        """Arithmetic intensity in flop/byte; None without bytes."""
        return self.flops / self.bytes if self.bytes > 0 else None

    @property
    def gflops(self) -> float:
        """Performance in GFLOP/s."""
        return self.flops / self.seconds / 1e9 if self.seconds > 0 else 0.0


def find_phases(moments: Sequence[Moment]) -> tuple[Phase, ...]:
    """Divide a run into phases."""
    phases: list[Phase] = []
    at = 0.0
    for moment in moments:
        last = phases[-1] if phases else None
        if last is not None and _near(last, moment):
            phases[-1] = Phase(last.start, last.seconds + moment.seconds, last.flops + moment.flops,
                               last.bytes + moment.bytes, last.dominant, last.intervals + 1)
        else:
            # an interval that fits neither neighbour has the change between them, and stays alone: it would shift their
            # means
            phases.append(Phase(at, moment.seconds, moment.flops, moment.bytes, moment.dominant, 1))
        at += moment.seconds
    return tuple(phases)


def kinds_of(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """Join phases at the same point to behaviours, in the order of their first appearance.

    Single intervals are changes between behaviours, and are left out unless there is nothing else.
    """
    steady = [phase for phase in phases if phase.intervals > 1] or list(phases)
    kinds: list[Phase] = []
    for phase in steady:
        whole = Moment(phase.seconds, phase.flops, phase.bytes, phase.dominant)
        at = next((at for at, kind in enumerate(kinds) if _near(kind, whole)), None)
        if at is None:
            kinds.append(phase)
        else:
            kind = kinds[at]
            kinds[at] = Phase(kind.start, kind.seconds + phase.seconds, kind.flops + phase.flops,
                              kind.bytes + phase.bytes, kind.dominant, kind.intervals + phase.intervals)
    return tuple(kinds)


def _near(phase: Phase, moment: Moment) -> bool:
    """Tell whether a phase and an interval have the same width and similar intensity and performance."""
    if phase.dominant != moment.dominant:
        return False
    return (_alike(phase.flops * moment.bytes, moment.flops * phase.bytes, NEAR_INTENSITY)
            and _alike(phase.flops * moment.seconds, moment.flops * phase.seconds, NEAR_PERFORMANCE))


def _alike(length: float, other: float, share: float) -> bool:
    if length <= 0 or other <= 0:
        return length <= 0 and other <= 0
    return abs(math.log(length / other)) <= math.log1p(share)
