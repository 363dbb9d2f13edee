"""Simulated applications: two behaviours that alternate on every CPU, or a single known behaviour.

`applications.toml` lists them.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.facts import FactFile, FactRows
from turbotui.quantities.rows import each, number, text
from turbotui.simulated.shapes import LoadPhase, LoadSchedule, MachineShape, Role
from turbotui.simulated.tables import within_memory
from turbotui.simulated.workloads import COMPUTE, MEMORY, WORKLOADS, Workload, workload

_BASE_LEVEL: Final = 0.96  # a phase takes over a CPU whose own load is lower
_FOR_EVER: Final = 1e9


@dataclass(frozen=True, slots=True)
class SimulatedApplication:
    """An application of two alternating behaviours."""

    name: str  # the word after "+" or "--"
    summary: str  # one line for people
    # first, second: the two behaviours
    first: Workload
    second: Workload
    seconds: tuple[float, float]  # length of the first and of the second behaviour


def _application(name: str) -> SimulatedApplication:
    return _FILE.row(SimulatedApplication, name, {"name": name, **_FILE.inherited(name)}, first=_behaviour,
                     second=_behaviour, seconds=each(number))


def _behaviour(table: object) -> Workload:
    return workload(text(table))


_FILE: Final = FactFile("simulated/applications.toml")
APPLICATIONS: Final[Mapping[str, SimulatedApplication]] = FactRows(_FILE, _application)
"""The applications that simulated machines can run instead of their own load."""


def running(shape: MachineShape, application: str) -> MachineShape:
    """Return the machine with an application running on every CPU.

    Raises:
        UsageError: there is no such application.
    """
    known = APPLICATIONS.get(application)
    if known is None:
        alike = difflib.get_close_matches(application, APPLICATIONS, n=len(APPLICATIONS), cutoff=0.0)
        raise UsageError(f"simulated machines cannot run {application!r}; there are {', '.join(alike)}")
    works = tuple(known.first if kind == COMPUTE else known.second if kind == MEMORY else work
                  for kind, work in enumerate(WORKLOADS))
    first, second = known.seconds
    level = (_BASE_LEVEL, _BASE_LEVEL)
    schedule = LoadSchedule(
        roles=(Role(COMPUTE, level, (_FOR_EVER, _FOR_EVER), level, (0.0, 0.0), both=True, share=1.1),),
        phases=(LoadPhase(MEMORY, 1.0, first=first, every=first + second, length=second, stagger=0.0),),
        hot_kind=COMPUTE,
        hot_stay=(0.0, 0.0),
    )
    return within_memory(replace(
        shape, name=f"{shape.name}+{application}", summary=f"{shape.summary}, running {application}",
        schedule=schedule, core_types=tuple(replace(kind, works=works) for kind in shape.core_types)))
