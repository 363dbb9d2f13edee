"""The load of a simulated machine over time: each CPU's utilisation and kind of work, deterministic by seed."""

from __future__ import annotations

import heapq
import random
from typing import Final

from turbotui.simulated.layout import CpuLayout
from turbotui.simulated.shapes import LoadPhase, MachineShape, Role
from turbotui.simulated.workloads import LIGHT

LEVELS: Final = 512
"""Utilisation is a multiple of 1/LEVELS, so that its consequences can be tabulated."""


class SimulatedLoad:
    """The load of every CPU. `advance` returns the CPUs whose load changed.

    Attributes:
        level: utilisation of each CPU in 1/LEVELS.
        kind: index of its workload.
        arrivals: CPUs the wandering thread came to during the last `advance`.
    """

    def __init__(self, shape: MachineShape, layout: CpuLayout, seed: int) -> None:
        self.level = [0] * len(layout.places)
        self.kind = [LIGHT] * len(layout.places)
        self.arrivals: list[int] = []
        self._layout = layout
        self._schedule = shape.schedule
        self._random = random.Random(seed)
        self._streams = [random.Random(seed << 16 | place.cpu) for place in layout.places]
        self._roles = self._deal()
        self._own = [(0, LIGHT)] * len(layout.places)
        # The first change reverses this state, so that as many CPUs start working as work on average.
        self._on = [stream.random() * (sum(role.on) + sum(role.rest)) >= sum(role.on)
                    for role, stream in zip(self._roles, self._streams, strict=True)]
        self._phase: list[LoadPhase | None] = [None] * len(layout.package_cores)
        self._hot = -1
        self._queue: list[tuple[float, int, int, int]] = []  # when, what, which, ordinal of the phase
        self._queue.extend((-stream.random(), _OWN, cpu, 0) for cpu, stream in enumerate(self._streams))
        for ordinal, phase in enumerate(self._schedule.phases):
            for package in range(len(layout.package_cores)):
                self._queue.append((phase.first + package * phase.stagger, _PHASE_ON, package, ordinal))
        if self._schedule.hot_stay[1] > 0:
            self._queue.append((-1.0, _HOT, 0, 0))
        heapq.heapify(self._queue)

    @property
    def migrating(self) -> tuple[int, int] | None:
        """CPU and kind of work of the busy thread that moves from core to core; None if there is none."""
        return (self._hot, self._schedule.hot_kind) if self._hot >= 0 else None

    def _deal(self) -> list[Role]:
        """Give each CPU a role; the second sibling of a core gets the quiet role unless the role is for both."""
        quiet = Role(LIGHT, (0.004, 0.02), (0.5, 2.0), (0.001, 0.006), (4.0, 12.0), both=False, share=0.0)
        roles = self._schedule.roles
        cores = list(range(len(self._layout.core_cpus)))
        self._random.shuffle(cores)
        result = [quiet] * len(self._layout.places)
        edges: list[float] = []
        for role in roles:
            edges.append((edges[-1] if edges else 0.0) + role.share * len(cores))
        for position, core in enumerate(cores):
            role = next((role for role, edge in zip(roles, edges, strict=True) if position < edge), roles[0])
            cpus = self._layout.core_cpus[core]
            for cpu in cpus if role.both else cpus[:1]:
                result[cpu] = role
        return result

    def advance(self, now: float, patience: float) -> list[int]:
        """Take every decision that is due.

        Args:
            now: machine time in seconds.
            patience: decisions older than this are not replayed one by one (a long pause costs no more than a short).

        Returns:
            CPUs whose level or kind changed.
        """
        self.arrivals.clear()
        touched: set[int] = set()
        queue = self._queue
        while queue and queue[0][0] <= now:
            due, what, which, ordinal = heapq.heappop(queue)
            due = max(due, now - patience)
            if what == _OWN:
                touched.add(which)
                again = due + self._turn(which)
            elif what == _HOT:
                again = due + self._wander(touched)
            else:
                again = due + self._phase_turn(what, which, ordinal, touched)
                what = _PHASE_OFF if what == _PHASE_ON else _PHASE_ON
            heapq.heappush(queue, (again, what, which, ordinal))
        return [cpu for cpu in sorted(touched) if self._settle(cpu)]

    def _turn(self, cpu: int) -> float:
        """Change a CPU from working to resting or back, and return how long that lasts."""
        role, draw = self._roles[cpu], self._streams[cpu].random
        on = self._on[cpu] = not self._on[cpu]
        low, high = role.level if on else role.rest_level
        shortest, longest = role.on if on else role.rest
        self._own[cpu] = (max(1, round((low + (high - low) * draw()) * LEVELS)), role.kind if on else LIGHT)
        return shortest + (longest - shortest) * draw()

    def _wander(self, touched: set[int]) -> float:
        """Move the busy thread to another core, and return how long it stays there."""
        cores = self._layout.core_cpus
        if self._hot >= 0:
            touched.add(self._hot)
        self._hot = cores[self._random.randrange(len(cores))][0]
        self.arrivals.append(self._hot)
        touched.add(self._hot)
        shortest, longest = self._schedule.hot_stay
        return shortest + (longest - shortest) * self._random.random()

    def _phase_turn(self, what: int, package: int, ordinal: int, touched: set[int]) -> float:
        """Start or end an all-core phase of one package, and return the time until the opposite."""
        phase = self._schedule.phases[ordinal]
        starting = what == _PHASE_ON
        self._phase[package] = phase if starting else None
        touched.update(self._layout.package_cpus[package])
        return phase.length if starting else phase.every - phase.length

    def _settle(self, cpu: int) -> bool:
        """Combine the CPU's own role, the package's phase and the wandering thread."""
        place = self._layout.places[cpu]
        level, kind = self._own[cpu]
        phase = self._phase[place.package]
        if phase is not None and phase.slow_only and place.type == 0:
            phase = None
        if phase is not None:
            wanted = round(phase.level * LEVELS)
            if phase.kind == LIGHT:
                level, kind = min(level, wanted), LIGHT  # a quiet phase
            elif wanted > level:
                level, kind = wanted, phase.kind
        if cpu == self._hot and not (phase is not None and phase.kind == LIGHT):
            level, kind = LEVELS, self._schedule.hot_kind
        changed = level != self.level[cpu] or kind != self.kind[cpu]
        self.level[cpu], self.kind[cpu] = level, kind
        return changed


_OWN = 0
_HOT = 1
_PHASE_ON = 2
_PHASE_OFF = 3
