"""One frame of many: the mean interval of a time, with levels as their means over it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.recording.tiers import Thinning
from turbotui.sampling.arithmetic import Numbers
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.differences import Rises
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot

_EVER: Final = 1e9
"""Seconds that no span has."""
_LEVELS: Final = frozenset({Unit.HERTZ, Unit.WATT, Unit.VOLT, Unit.AMPERE, Unit.COULOMB, Unit.CELSIUS, Unit.BYTE})
"""Units of quantities; gauges without a unit may be codes, of which the last one stands."""
_MEANT: Final = frozenset({Reduce.SUM, Reduce.MEAN, Reduce.MAX, Reduce.MIN})
"""Rules of quantities; values of the other rules are settings and flags, of which the last one stands."""


class MeanFrame(Frame):
    """The mean interval between two snapshots: every increase and every time is the same part of the whole.

    Args:
        older, newer, capabilities: as of a frame.
        part: share of the whole that one interval is, above 0 to 1.
        levels: mean of each level, per instance of its signal's scope.

    Attributes:
        whole: seconds between the two snapshots.
    """

    __slots__ = ("_level_means", "_parts", "part", "whole")

    def __init__(self, older: Snapshot, newer: Snapshot, capabilities: Capabilities, part: float,
                 levels: Mapping[SignalId, Numbers]) -> None:
        super().__init__(older, newer, capabilities)
        self.part, self.whole = part, (newer.started_ns - older.started_ns) / 1e9
        self._level_means = levels
        self._parts: dict[int, tuple[Numbers, Numbers]] = {}  # by identity of the whole ones, kept beside

    @property
    def seconds(self) -> float | None:
        """Length of the mean interval."""
        return self.whole * self.part

    def levels_read(self, name: SignalId) -> Numbers:
        means = self._level_means.get(name)
        return super().levels_read(name) if means is None else means

    def rose(self, _name: SignalId) -> Rises | None:
        """None: a part of an increase is no whole number."""
        return None

    def _difference(self, signal: Signal) -> Numbers:
        return self._of(super()._difference(signal))

    def _spans_of(self, name: SignalId) -> Numbers:
        spans = super()._spans_of(name)
        if id(spans) not in self._parts:  # signals that are read together go on sharing theirs
            self._parts[id(spans)] = spans, self._of(spans)
        return self._parts[id(spans)][1]

    def spans_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        spans = self.spans(name)
        return [spans[position] for position in positions]

    def _of(self, numbers: Numbers) -> Numbers:
        return [None if number is None else number * self.part for number in numbers]


def averaged(frames: Sequence[Frame]) -> Frame:
    """The mean interval from the beginning of the first of consecutive frames to the end of the last one.

    A counter that began anew in between has no increase, as in an interval of a recording. Frames before a change of
    CPUs or of what is read are left out.

    Args:
        frames: oldest first, at least one.
    """
    last = frames[-1]
    chosen = [last]
    for frame in reversed(frames[:-1]):
        if frame.older is None or frame.capabilities is not last.capabilities or (
                frame.older.topology is not last.topology):
            break
        chosen.insert(0, frame)
    first = chosen[0].older
    if len(chosen) == 1 or first is None or not last.seconds:
        return last
    thinning = Thinning(_EVER)
    thinning.take(first)
    for frame in chosen:
        thinning.take(frame.newer)
    newer = thinning.rest() or last.newer
    part = last.seconds * 1e9 / (newer.started_ns - first.started_ns)
    return MeanFrame(first, newer, last.capabilities, part, _level_means(chosen))


def _level_means(frames: Sequence[Frame]) -> dict[SignalId, Numbers]:
    """The mean of each level at each position, over the readings of it that there are."""
    means: dict[SignalId, Numbers] = {}
    last = frames[-1]
    for name in last.newer.values:
        signal = last.capabilities.signals[name]
        if signal.behavior is Behavior.GAUGE and signal.unit in _LEVELS and signal.reduce in _MEANT:
            zero = signal.unit is not Unit.HERTZ
            columns = [frame.levels(name) for frame in frames if name in frame.newer.values]
            means[name] = [_mean(readings, zero=zero) for readings in zip(*columns, strict=True)]
    return means


def _mean(readings: Sequence[float | None], *, zero: bool) -> float | None:
    """The mean of the readings that there are; without `zero`, a 0 is none: no clock stands."""
    known = [value for value in readings if value is not None and (value or zero)]
    return math.fsum(known) / len(known) if known else None
