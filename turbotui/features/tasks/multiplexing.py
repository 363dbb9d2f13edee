"""State that the aggregators of multiplexed event sets share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from turbotui.dataclass import dataclass

if TYPE_CHECKING:
    from turbotui.features.tasks.sample_aggregator import SampleAggregator


@dataclass(slots=True)
class MultiplexedSets:
    """Entry numbers and last CPUs of threads, shared by all aggregators of one application."""

    aggregators: list[SampleAggregator] = field(default_factory=list)
    serials: Iterator[int] = field(default_factory=itertools.count)  # gives entries their numbers
    places: dict[int, int] = field(default_factory=dict)  # by thread the CPU where it was seen last

    def moved(self, tid: int, cpu: int) -> bool:
        """Record a sample's CPU; return whether the thread has migrated since its last sample."""
        last = self.places.get(tid, cpu)
        self.places[tid] = cpu
        return last != cpu
