"""Phases: stretches of a run in which an application stays at one place of the roofline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass

NEAR_INTENSITY: Final = 0.05
"""Intervals belong together while their intensity stays within this share of the phase's."""
NEAR_PERFORMANCE: Final = 0.15
"""Intervals belong together while their performance, which also moves with the clock, stays within this share."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One interval of a run.

    Attributes:
        seconds: its length.
        flops: floating-point operations in it.
        bytes: loaded and stored in it.
        dominant: the width of most floating-point instructions.
    """

    seconds: float
    flops: float
    bytes: float
    dominant: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    """Intervals that belong together, as sums, so that a phase's ratios are those of the whole of it.

    Attributes:
        start: seconds from the start of the run.
        seconds: length.
        flops: floating-point operations.
        bytes: loaded and stored.
        dominant: the width of most floating-point instructions.
        intervals: how many.
    """

    start: float
    seconds: float
    flops: float
    bytes: float
    dominant: str
    intervals: int

    @property
    def intensity(self) -> float | None:
        """Arithmetic intensity in flop/byte; None without bytes."""
        return self.flops / self.bytes if self.bytes > 0 else None

    @property
    def gflops(self) -> float:
        """Performance in GFLOP/s."""
        return self.flops / self.seconds / 1e9 if self.seconds > 0 else 0.0


def find_phases(moments: Sequence[Moment]) -> tuple[Phase, ...]:
    """Cut a run into phases.

    An interval between two phases that belongs to neither holds the change from one to the other: it stays an
    interval of its own (`intervals` 1), so that it spoils no phase's mean.
    """
    phases: list[Phase] = []
    at = 0.0
    for moment in moments:
        last = phases[-1] if phases else None
        if last is not None and _near(last, moment):
            phases[-1] = Phase(last.start, last.seconds + moment.seconds, last.flops + moment.flops,
                               last.bytes + moment.bytes, last.dominant, last.intervals + 1)
        else:
            phases.append(Phase(at, moment.seconds, moment.flops, moment.bytes, moment.dominant, 1))
        at += moment.seconds
    return tuple(phases)


def kinds_of(phases: Sequence[Phase]) -> tuple[Phase, ...]:
    """The behaviours that phases repeat: phases at one place become one, in the order of their first appearance.

    Single intervals are left out unless there is nothing else: they are changes from one behaviour to the next.
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
    """Whether a phase and an interval have the same width and similar intensity and performance."""
    if phase.dominant != moment.dominant:
        return False
    return (_alike(phase.flops * moment.bytes, moment.flops * phase.bytes, NEAR_INTENSITY)
            and _alike(phase.flops * moment.seconds, moment.flops * phase.seconds, NEAR_PERFORMANCE))


def _alike(one: float, other: float, share: float) -> bool:
    if one <= 0 or other <= 0:
        return one <= 0 and other <= 0
    return abs(math.log(one / other)) <= math.log1p(share)
