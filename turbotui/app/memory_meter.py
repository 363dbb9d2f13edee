"""The meter of memory traffic for the diagnosis, which one of the features provides."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Protocol

from turbotui.diagnosis.rules import MemoryShare
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


def watch_memory(machine: Machine, definitions: Sequence[Definition] | None = None) -> MemoryTrafficMeter | None:
    """The reader of memory traffic and its peak; None if no feature has one.

    It reads files of a live machine: call it on a thread.

    Args:
        machine: real, simulated or recorded.
    """
    module = next((feature.memory for feature in FEATURES if feature.memory), "")
    if not module:
        return None
    made: MemoryTrafficMeter = importlib.import_module(module).MemoryWatch(machine, definitions)
    return made
