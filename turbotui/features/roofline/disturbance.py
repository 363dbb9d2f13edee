"""Detects other work during the measurement of a roof, and rounds that disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.machine.caches import read_caches
from turbotui.machine.code.kernel_threads import AGREEING, Rounds
from turbotui.machine.cpu_times import busy_between, read_cpu_times, stolen_between
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope

ENOUGH: Final = 3
"""The number of rounds that must agree."""
_SIBLINGS: Final = 0.1  # average busy sibling CPUs, for roofs of a core's units
_OTHERS: Final = 0.25  # average busy CPUs that share a cache or memory
_OF_MANY: Final = 0.05  # share of the CPUs that share it: one busy CPU in a hundred takes no bandwidth from the others
_STOLEN: Final = 0.03


class Disturbance:
    """Watches for other work on the CPUs of a measurement, from now on until `found`.

    Args:
        level: the measured level, "L1" to "L3" or "DRAM"; "" for arithmetic.
    """

    def __init__(self, machine: Machine, cpus: Sequence[int], level: str) -> None:
        self._host = machine.host
        self._cpus = frozenset(cpus)
        self._level = level
        self._sharing = _sharing(machine, self._cpus, level) - self._cpus
        self._before = read_cpu_times(self._host)

    def clauses(self, rounds: Rounds) -> tuple[str, ...]:
        """Return why these rounds are no valid measurement, as clauses; none if they are."""
        after = read_cpu_times(self._host)
        words = []
        if rounds.best.disturbed:
            words.append("its threads never all ran at the same time, since other work had their CPUs")
        elif rounds.agreeing < ENOUGH:
            words.append(f"fewer than {ENOUGH} rounds agree within {AGREEING:.0%}")
        busy = busy_between(self._before, after, self._sharing)
        limit = max(_OTHERS, _OF_MANY * len(self._sharing)) if self._level in ("L3", "DRAM") else _SIBLINGS
        if busy > limit:
            what = self._level or "the cores"
            words.append(f"other work was on CPUs that share {what}")
        if stolen_between(self._before, after, self._cpus) > _STOLEN:
            words.append("the hypervisor ran others on these CPUs")
        return tuple(words)


def _sharing(machine: Machine, cpus: frozenset[int], level: str) -> frozenset[int]:
    """Return the CPUs that compete for the measured resource: siblings, or those of the cache or the package."""
    topology = machine.topology
    sharing: set[int] = set()
    for cpu in cpus:
        instance = topology.instance(topology.row(Scope.PACKAGE if level == "DRAM" else Scope.CORE, cpu))
        sharing |= set(() if instance is None else instance.cpus)
        if level.startswith("L"):
            sharing |= {other for cache in read_caches(machine.host, cpu) if f"L{cache.level}" == level
                        for other in cache.cpus}
    return frozenset(sharing)
