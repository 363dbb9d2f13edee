"""Constants of a machine that a test makes up, for metric expressions."""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.events.metrics.errors import MetricError


@dataclass(frozen=True)
class KnownConstants:
    literals: Mapping[str, float]
    known: frozenset[str] = frozenset()
    cpu: str = "GenuineIntel-6-8F"

    def literal(self, name: str) -> float:
        if name not in self.literals:
            raise MetricError(f"it asks for {name}")
        return self.literals[name]

    def has_event(self, event: str) -> bool:
        return event in self.known

    def named(self, name: str) -> str:
        return name

    def of_kind(self, pmu: str) -> KnownConstants:
        return self

    def is_cpu(self, pattern: str) -> bool:
        return pattern == self.cpu


PLAIN = KnownConstants({"#smt_on": 1.0, "#core_wide": 1.0, "#num_packages": 2.0, "#num_cpus_online": 8.0})
