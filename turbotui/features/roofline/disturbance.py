"""Whether a roof is a measurement: what else ran while it was measured, and whether its rounds agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.machine.caches import read_caches
from turbotui.machine.code.kernel_threads import AGREEING, Rounds
from turbotui.machine.cpu_times import busy_between, read_cpu_times, stolen_between
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope

ENOUGH: Final = 3
"""Rounds that have to agree for a roof to be believed."""
_SIBLINGS: Final = 0.1  # CPUs beside that share a core's units, busy on average
_OTHERS: Final = 0.25  # CPUs beside that share a cache or memory
_OF_MANY: Final = 0.05  # of so many CPUs that share it: one busy CPU in a hundred takes no bandwidth from the others
_STOLEN: Final = 0.03


class Disturbance:
    """Watches for other work on the CPUs of a measurement, from now on until `found`.

    Args:
        machine: this one.
        cpus: those of the threads.
        level: whose roof is measured: "L1" to "L3", "DRAM"; "" for arithmetic.
    """

    def __init__(self, machine: Machine, cpus: Sequence[int], level: str) -> None:
        self._host = machine.host
        self._cpus = frozenset(cpus)
        self._level = level
        self._sharing = _sharing(machine, self._cpus, level) - self._cpus
        self._before = read_cpu_times(self._host)

    def found(self, rounds: Rounds) -> tuple[str, ...]:
        """Why these rounds are no measurement, as clauses; none where they are one."""
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
    """The CPUs whose work takes from what is measured: siblings, those below the same cache, or of the package."""
    topology = machine.topology
    found: set[int] = set()
    for cpu in cpus:
        scope = Scope.PACKAGE if level == "DRAM" else Scope.CORE
        instance = topology.instance(topology.row(scope, cpu))
        found |= set(() if instance is None else instance.cpus)
        if level.startswith("L"):
            found |= {one for cache in read_caches(machine.host, cpu) if f"L{cache.level}" == level
                      for one in cache.cpus}
    return frozenset(found)
