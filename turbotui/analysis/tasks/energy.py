"""A task's share of the energy: an estimate. The package's counted joules are split by who used its cores.

A package's energy of an interval, idle power and uncore included, is divided over its CPUs by their unhalted cycles
(by busy time where cycles are not counted), and a CPU's part over its tasks by theirs. Both steps together: a task gets
its share of all cycles of the package. Work that burns more per cycle than other work gets too little, so no
digit beyond the second means anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from turbotui.analysis.tasks.tables import TaskRow
from turbotui.machine.topology import Topology
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.census import Census
from turbotui.sampling.frame import Frame

METHOD: Final = "estimate: the package's energy, by the task's share of its {unit}"
_ENERGY: Final = "energy.pkg"
_CYCLES: Final = "aperf"
_TIMES: Final = ("stat.user", "stat.nice", "stat.system", "stat.irq", "stat.softirq")
"""Fields of /proc/stat in which a CPU runs something (proc(5))."""


@dataclass(frozen=True, slots=True)
class Energy:
    """What there is to share out.

    Attributes:
        joules: by package (position in the topology).
        cycles: unhalted ones by CPU; empty where they are not counted.
        busy_ns: ns that each CPU ran something.
        seconds: over which.
        why: the reason where there is no energy.
    """

    joules: Mapping[int, float]
    cycles: Mapping[int, float]
    busy_ns: Mapping[int, float]
    seconds: float = 0.0
    why: Unavailable | None = None

    def over(self, seconds: float) -> Energy:
        """As much as at this power there would be in another time: two readers never cut at the same instant."""
        if self.seconds <= _CLOSE:
            return self
        factor = seconds / self.seconds

        def scaled(values: Mapping[int, float]) -> dict[int, float]:
            return {key: value * factor for key, value in values.items()}

        return Energy(scaled(self.joules), scaled(self.cycles), scaled(self.busy_ns), seconds, self.why)

    def plus(self, other: Energy) -> Energy:
        """Both together; what has no energy adds nothing to what has."""
        joules = _plus(self.joules, other.joules)
        return Energy(joules, _plus(self.cycles, other.cycles), _plus(self.busy_ns, other.busy_ns),
                      self.seconds + other.seconds, None if joules else other.why)


_CLOSE: Final = 1e-9  # seconds


class EnergyMeter:
    """Adds up frames until somebody takes the sum; frames and takers may be on different threads."""

    def __init__(self, census: Census) -> None:
        self._lock = threading.Lock()
        self._why = None if _ENERGY in census.signals else census.why_missing(_ENERGY)
        self._energy = self._empty()

    def feed(self, frame: Frame) -> None:
        """Add an interval."""
        if frame.older is None or self._why is not None:
            return
        known = frame.census.signals
        if _ENERGY not in known:
            self._why = frame.census.why_missing(_ENERGY)
            return
        packages = _known(enumerate(frame.deltas(_ENERGY)))
        cycles = _known(zip(frame.topology.cpus, frame.deltas(_CYCLES), strict=True)) if _CYCLES in known else {}
        busy: dict[int, float] = {}
        for name in _TIMES:
            if name in known:
                for cpu, spent in zip(frame.topology.cpus, frame.deltas(name), strict=True):
                    busy[cpu] = busy.get(cpu, 0.0) + (spent or 0.0) * 1e9
        with self._lock:
            self._energy = self._energy.plus(Energy(packages, cycles, busy, frame.seconds or 0.0))

    def take(self) -> Energy:
        """What came together since the last time."""
        with self._lock:
            found, self._energy = self._energy, self._empty()
        if not found.joules and found.why is None:
            return Energy({}, {}, {}, why=Unavailable(Reason.FIRST_TICK, "energy is known after the first interval"))
        return found

    def _empty(self) -> Energy:
        return Energy({}, {}, {}, why=self._why)


def _known(pairs: Iterable[tuple[int, float | None]]) -> dict[int, float]:
    return {key: value for key, value in pairs if value is not None}


def _plus(old: Mapping[int, float], more: Mapping[int, float]) -> dict[int, float]:
    return {**old, **{key: old.get(key, 0.0) + value for key, value in more.items()}}


ENERGY_SOURCES: Final = frozenset({
    "clock-start", "perf-msr", "perf-power", "platform-constants", "msr", "amd-energy", "powercap", "proc-stat",
    "clock-end",
})
"""Ids of the sources that can give what energy is shared out by: who wants nothing else need not ask the others."""


def energy_signals(census: Census) -> frozenset[SignalId]:
    """The signals that `EnergyMeter` reads; empty where there is no energy."""
    if _ENERGY not in census.signals:
        return frozenset()
    return frozenset(name for name in (_ENERGY, _CYCLES, *_TIMES) if name in census.signals)


def energy_columns(catalog: Catalog, census: Census) -> tuple[CounterColumn, ...]:
    """Columns by which the signals for `EnergyMeter` are read; empty where there is no energy."""
    if _ENERGY not in census.signals:
        return ()
    found = (_reading(catalog, census, name) for name in (_ENERGY, _CYCLES, *_TIMES))
    return tuple({column.id: column for column in found if column is not None}.values())


def _reading(catalog: Catalog, census: Census, name: SignalId) -> CounterColumn | None:
    found = (column for column in catalog.columns
             if name in column.needs and all(need in census.signals for need in column.needs))
    return min(found, key=lambda column: len(column.needs), default=None)


def why_not(energy: Energy, *, by_cycles: bool, everything: bool) -> Unavailable | None:
    """Why `share_out` has nothing to say; None when it has."""
    if energy.why is not None:
        return energy.why
    if everything or (energy.cycles if by_cycles else energy.busy_ns):
        return None
    what = "unhalted cycles (aperf)" if by_cycles else "busy time (/proc/stat)"
    return Unavailable(Reason.NOT_READ, f"the CPUs' {what} cannot be read, so a task's share of them is not known",
                       "watch everything: then all tasks together are the whole")


def share_out(rows: Iterable[TaskRow], energy: Energy, topology: Topology, *, by_cycles: bool,
              everything: bool) -> dict[str, float]:
    """Joules of each row by its key; empty where nothing can be said.

    Args:
        rows: of one interval, of one application.
        energy: of the same interval.
        topology: says which package a CPU is in.
        by_cycles: whether the rows' loads are cycles; else ns of run time.
        everything: whether the rows are all there is: then they make the total where CPUs do not tell theirs.
    """
    rows = list(rows)
    if why_not(energy, by_cycles=by_cycles, everything=everything) is not None:
        return {}
    package = {cpu: topology.index(Scope.PACKAGE, cpu) for cpu in topology.cpus}
    mine: dict[int, float] = {}
    for row in rows:
        for cpu, load in row.loads.items():
            if cpu in package:
                mine[package[cpu]] = mine.get(package[cpu], 0.0) + load
    total: dict[int, float] = {}
    for cpu, used in (energy.cycles if by_cycles else energy.busy_ns).items():
        if cpu in package:
            total[package[cpu]] = total.get(package[cpu], 0.0) + used
    # Two readers never stop at the same instant: nobody gets more than there was.
    price = {number: joules / most for number, joules in energy.joules.items()
             if (most := max(total.get(number, 0.0), mine.get(number, 0.0))) > 0}
    return {row.key: sum(load * price[package[cpu]] for cpu, load in row.loads.items()
                         if cpu in package and package[cpu] in price)
            for row in rows if all(package.get(cpu) in price for cpu in row.loads if cpu in package)}
