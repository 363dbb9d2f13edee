"""A task's share of the energy: an estimate. The package's counted joules are split by who used its cores.

A package's energy of an interval, idle power and uncore included, is divided by unhalted cycles over all that its CPUs
did; where cycles are not counted, by time, the CPUs' idle time included. Where whole CPUs are watched, the rows and
what is in no row (the idle task, tasks that may not be seen) are the whole, by the same counter, and add up to the
package's energy. Work that burns more per cycle than other work gets too little, so no digit beyond the second means
anything.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from turbotui.features.tasks.report import Report
from turbotui.machine.topology import Topology
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import Energy

METHOD: Final = "estimate: the package's energy, by the task's share of {unit}"
_CYCLES, _TIME = "all cycles of its CPUs", "the time of its CPUs"
UNITS: Final = f"{_CYCLES} or, where they are not counted, {_TIME}"


def method(report: Report) -> str:
    """How the energy of the rows of a report is estimated, in words."""
    return METHOD.format(unit=_CYCLES if _by_cycles(report) else _TIME)


def why_not(report: Report, energy: Energy) -> Unavailable | None:
    """The reason why `share_out` gives no result; None if it gives one."""
    if energy.why is not None or energy.part is not None:
        return energy.why or energy.part
    if report.application.everything or energy.cycles or not _by_cycles(report):
        return None
    return Unavailable(Reason.NOT_READ, "the CPUs' unhalted cycles (aperf) cannot be read, so a task's share of them "
                       "is not known", "watch everything: then all tasks together are the whole")


def share_out(report: Report, energy: Energy, topology: Topology) -> dict[str, float]:
    """Divide the packages' joules among what was counted; empty if the shares are unknown.

    Returns:
        Joules by the key of a row, and by the word for what is in no row.
    """
    if why_not(report, energy) is not None:
        return {}
    energy = energy.over(report.seconds)
    package = {cpu: topology.index(Scope.PACKAGE, cpu) for cpu in topology.cpus}
    loads: dict[str, Mapping[int, int]] = {
        **{row.key: row.loads for row in report.rows}, **{what: part.loads for what, part in report.apart.items()}}
    shares = sums_by_key((package[cpu], used) for load in loads.values()
                         for cpu, used in load.items() if cpu in package)
    total: Mapping[int, float] = {}
    if not any(part.loads for part in report.apart.values()):  # rows are not all that the CPUs did
        every = energy.cycles if _by_cycles(report) else dict.fromkeys(topology.cpus, 1e9 * report.seconds)
        torn = {package[cpu] for cpu in energy.unread if cpu in package} if _by_cycles(report) else set()
        total = sums_by_key((package[cpu], counted) for cpu, counted in every.items() if package[cpu] not in torn)
        energy = replace(energy, joules={at: used for at, used in energy.joules.items() if at not in torn})
    # Two readers never stop at the same instant: the parts must not exceed the whole.
    price = {number: joules / most for number, joules in energy.joules.items()
             if (most := max(total.get(number, 0), shares.get(number, 0))) > 0}
    return {key: math.fsum(used * price[package[cpu]] for cpu, used in load.items() if package.get(cpu) in price)
            for key, load in loads.items() if all(package[cpu] in price for cpu in load if cpu in package)}


def _by_cycles(report: Report) -> bool:
    return "cycles" in report.names
