"""A task's share of the energy: an estimate. The package's counted joules are split by who used its cores.

A package's energy of an interval, idle power and uncore included, is divided over its CPUs by their unhalted cycles
(by busy time where cycles are not counted), and a CPU's part over its tasks by theirs. Both steps together: a task gets
its share of all cycles of the package. Work that burns more per cycle than other work gets too little, so no
digit beyond the second means anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from turbotui.features.tasks.tables import TaskRow
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy

METHOD: Final = "estimate: the package's energy, by the task's share of its {unit}"


def why_not(energy: Energy, *, by_cycles: bool, everything: bool) -> Unavailable | None:
    """The reason why `share_out` gives no result; None if it gives one."""
    if energy.why is not None:
        return energy.why
    if everything or (energy.cycles if by_cycles else energy.busy_ns):
        return None
    what = "unhalted cycles (aperf)" if by_cycles else "busy time (/proc/stat)"
    return Unavailable(Reason.NOT_READ, f"the CPUs' {what} cannot be read, so a task's share of them is not known",
                       "watch everything: then all tasks together are the whole")


def share_out(rows: Iterable[TaskRow], energy: Energy, topology: Topology, *, by_cycles: bool,
              everything: bool) -> dict[str, float]:
    """Divide the package's joules among rows, by their keys; empty if the shares are unknown.

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
    # Two readers never stop at the same instant: the parts must not exceed the whole.
    price = {number: joules / most for number, joules in energy.joules.items()
             if (most := max(total.get(number, 0.0), mine.get(number, 0.0))) > 0}
    return {row.key: sum(load * price[package[cpu]] for cpu, load in row.loads.items()
                         if cpu in package and package[cpu] in price)
            for row in rows if all(package.get(cpu) in price for cpu in row.loads if cpu in package)}
