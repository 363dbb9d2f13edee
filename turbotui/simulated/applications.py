"""Simulated applications: two behaviours that alternate on every CPU, or a single known behaviour.

Those with known floating-point work are named after the applications of Antao et al. in whose rooflines such phases are
seen, the others after their bound in a top-down analysis; the figures are turbotui's own. Every access is as wide as
the floating-point instructions beside it, so that the model of access widths is exact.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.simulated.shapes import LoadPhase, LoadSchedule, MachineShape, Role
from turbotui.simulated.workloads import COMPUTE, INTEGER, MEMORY, WORKLOADS, Workload

_BASE_LEVEL: Final = 0.96  # a phase takes over a CPU whose own load is lower
_FOR_EVER: Final = 1e9


@dataclass(frozen=True, slots=True)
class SimulatedApplication:
    """An application of two alternating behaviours.

    Attributes:
        name: the word after "+" or "--".
        summary: one line for people.
        first, second: the two behaviours.
        seconds: length of the first and of the second behaviour.
    """

    name: str
    summary: str
    first: Workload
    second: Workload
    seconds: tuple[float, float]


def _bound(name: str, summary: str, work: Workload) -> SimulatedApplication:
    """Make an application with one behaviour."""
    return SimulatedApplication(name, summary, work, work, (5.0, 5.0))


def _numerical(name: str, ipc: float, memory: tuple[float, float, float], scalar: float, wide: float) -> Workload:
    """Make double-precision work; `memory` is loads, stores and last-level cache misses per instruction."""
    loads, stores, misses = memory
    return replace(
        WORKLOADS[COMPUTE], name=name, ipc=ipc, loads=loads, stores=stores, llc_misses=misses, scalar=scalar, wide=wide,
        single=0.0, activity=0.9 if wide else 0.6,
    )


APPLICATIONS: Final[Mapping[str, SimulatedApplication]] = MappingProxyType(
    {
        one.name: one
        for one in (
            SimulatedApplication(
                "calculix", "two behaviours of one width: low and high arithmetic intensity, scalar double",
                _numerical("calculix, matrix set-up", 1.4, (0.42, 0.13, 0.002), scalar=0.20, wide=0.0),
                _numerical("calculix, solver", 2.2, (0.17, 0.02, 0.0002), scalar=0.50, wide=0.0),
                (6.0, 4.0),
            ),
            SimulatedApplication(
                "tonto", "two widths of one intensity: scalar double, then full vectors",
                _numerical("tonto, scalar integrals", 1.8, (0.30, 0.10, 0.0004), scalar=0.30, wide=0.0),
                _numerical("tonto, vector integrals", 1.6, (0.30, 0.10, 0.0008), scalar=0.0, wide=0.30),
                (5.0, 5.0),
            ),
            _bound("memory-bound", "chases pointers through more memory than the caches hold",
                   replace(WORKLOADS[MEMORY], name="pointers", ipc=0.35, loads=0.45, stores=0.05, branch_misses=0.0005,
                           wide=0.0, scalar=0.0, front_stall=0.01, back_stall=0.8)),
            _bound("front-end-bound", "interprets a program larger than the instruction caches",
                   replace(WORKLOADS[INTEGER], name="interpreter", ipc=0.9, branch_misses=0.001, front_stall=0.55,
                           back_stall=0.05)),
            _bound("core-bound", "divides in long chains",
                   replace(WORKLOADS[COMPUTE], name="divisions", ipc=0.6, loads=0.05, stores=0.02, wide=0.0,
                           front_stall=0.01, back_stall=0.02)),
            _bound("mispredicting", "sorts random numbers, whose branches nobody can foresee",
                   replace(WORKLOADS[INTEGER], name="sorting", ipc=0.6, branches=0.2, branch_misses=0.08,
                           front_stall=0.05, back_stall=0.02)),
        )
    }
)
"""The applications that simulated machines can run instead of their own load."""


def running(shape: MachineShape, application: str) -> MachineShape:
    """Return the machine with an application running on every CPU.

    Raises:
        UsageError: there is no such application.
    """
    found = APPLICATIONS.get(application)
    if found is None:
        alike = difflib.get_close_matches(application, APPLICATIONS, n=len(APPLICATIONS), cutoff=0.0)
        raise UsageError(f"simulated machines cannot run {application!r}; there are {', '.join(alike)}")
    works = tuple(
        found.first if kind == COMPUTE else found.second if kind == MEMORY else work
        for kind, work in enumerate(WORKLOADS)
    )
    first, second = found.seconds
    level = (_BASE_LEVEL, _BASE_LEVEL)
    schedule = LoadSchedule(
        roles=(Role(COMPUTE, level, (_FOR_EVER, _FOR_EVER), level, (0.0, 0.0), both=True, share=1.1),),
        phases=(LoadPhase(MEMORY, 1.0, first=first, every=first + second, length=second, stagger=0.0),),
        hot_kind=COMPUTE,
        hot_stay=(0.0, 0.0),
    )
    return replace(
        shape,
        name=f"{shape.name}+{application}",
        summary=f"{shape.summary}, running {application}",
        schedule=schedule,
        core_types=tuple(replace(kind, works=works) for kind in shape.core_types),
    )
