"""The meter of memory traffic for the diagnosis, which one of the features provides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from turbotui.diagnosis.rules import MemoryShare, MemoryTotal
from turbotui.feature import part
from turbotui.feature_list import FEATURES
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import Definition
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sources.source import Source


class MemoryTrafficMeter(Protocol):
    """Measures the traffic of memory controllers beside the columns."""

    @property
    def counts(self) -> bool:
        """Whether there is something to measure."""

    def sources(self) -> Sequence[Source]:
        """Sources to read beside the columns."""

    def signals(self) -> frozenset[SignalId]:
        """The signals of these sources."""

    def share(self, frame: Frame) -> MemoryShare | Unavailable:
        """Memory traffic of the fullest package in an interval, or why it is unknown."""

    def total(self, frame: Frame) -> MemoryTotal | None:
        """Memory traffic of the whole machine in an interval; None if a package's is unknown."""

    def beside(self, rate: float, local: float | None) -> MemoryTotal:
        """Traffic that was counted elsewhere, beside the peak."""


def watch_memory(machine: Machine, definitions: Iterable[Definition] | None = None) -> MemoryTrafficMeter | None:
    """The reader of memory traffic and its peak; None if no feature has one.

    It reads files of a live machine: call it on a thread.

    Args:
        machine: real, simulated or recorded.
        definitions: what a recording counted beside its catalog; None for a live machine.
    """
    meter = next((feature.memory for feature in FEATURES if feature.memory), "")
    return cast("Callable[..., MemoryTrafficMeter]", part(meter))(machine, definitions) if meter else None
