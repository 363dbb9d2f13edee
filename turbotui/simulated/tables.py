"""Tables of values by utilisation, made once for every core type to keep the model's steps cheap."""

from __future__ import annotations

import functools
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.simulated.load import LEVELS
from turbotui.simulated.shapes import CoreType, IdleState, MachineShape
from turbotui.simulated.workloads import LINE, WORKLOADS

SMT_SHARE = 0.38
WRITE_SHARE = 0.45  # bytes written to memory for each byte read
_FILLED = 0.92  # of memory's theoretical peak, at most: refreshes and turnarounds of the bus take the rest
"""The share of its throughput that a thread loses to a busy sibling."""


@dataclass(frozen=True, slots=True)
class IdleRow:
    """A CPU's time at one utilisation: shares of each cpuidle state, of POLL, and of core-idle depths."""

    states: tuple[float, ...]
    poll: float
    at_least_c3: float
    at_least_c6: float
    at_least_c7: float


@dataclass(frozen=True, slots=True)
class CoreTable:
    """Constants of a core type in the units of the model."""

    idle: tuple[IdleRow, ...]
    turbo: tuple[float, ...]
    activity: tuple[float, ...]
    bytes_per_work: tuple[float, ...]


@functools.cache  # of a few kinds of core for hundreds of machines, whose workloads alone differ
def _idle_rows(states: tuple[IdleState, ...]) -> tuple[IdleRow, ...]:
    return tuple(_idle_row(states, level) for level in range(LEVELS + 1))


def _idle_row(states: tuple[IdleState, ...], level: int) -> IdleRow:
    """Split the idle time into states, which are shallower at higher utilisation."""
    busy = level / LEVELS
    idle = 1.0 - busy
    polls = states[0].depth == 0
    poll = 0.004 * idle * busy if polls else 0.0
    rest = idle - poll
    deep_states = [n for n, state in enumerate(states) if state.depth >= 3]
    shallow_states = [n for n, state in enumerate(states) if state.depth == 1]
    shares = [0.0] * len(states)
    if polls:
        shares[0] = poll
    deep = rest * 0.965 * (1.0 - busy) ** 1.5 if deep_states else 0.0
    for position, number in enumerate(reversed(deep_states)):
        last = position == len(deep_states) - 1
        shares[number] = deep if last else deep * 0.8
        deep -= shares[number]
    shallow = rest - sum(shares[number] for number in deep_states)
    for position, number in enumerate(shallow_states):
        last = position == len(shallow_states) - 1
        shares[number] = shallow if last else shallow * 0.55
        shallow -= shares[number]
    return IdleRow(states=tuple(shares), poll=poll, at_least_c3=sum(shares[number] for number in deep_states),
                   at_least_c6=sum(shares[number] for number in deep_states if states[number].depth >= 6),
                   at_least_c7=sum(shares[number] for number in deep_states if states[number].depth >= 7))


def core_table(kind: CoreType, cores: int) -> CoreTable:
    """The tables of one core type in a package of `cores` cores."""
    turbo = [float(kind.max_mhz)]
    turbo.extend(float(next((mhz for limit, mhz in kind.bins if active <= limit), kind.bins[-1][1]))
                 for active in range(1, cores + 1))
    return CoreTable(idle=_idle_rows(kind.idle), turbo=tuple(turbo),
                     activity=tuple(workload.activity for workload in kind.works),
                     bytes_per_work=tuple(work.ipc * kind.ipc * work.llc_misses * LINE for work in kind.works))


def within_memory(shape: MachineShape) -> MachineShape:
    """Slow down work that moves more than the memory of a package can where all CPUs do it at their all-core clock."""
    moved = [0.0] * len(WORKLOADS)  # bytes per second of a package, of each kind of work
    for block in shape.blocks:
        kind = shape.core_types[block.type]
        table = core_table(kind, shape.cores_per_package)
        cycles = block.cores * kind.threads * (1.0 - SMT_SHARE * (kind.threads - 1)) * table.turbo[-1] * 1e6
        moved = [sofar + cycles * size * (1.0 + WRITE_SHARE)
                 for sofar, size in zip(moved, table.bytes_per_work, strict=True)]
    most = _FILLED * shape.memory_channels * 8 * shape.memory_mts * 1e6
    if not most or max(moved) <= most:
        return shape
    slowed = (tuple(replace(work, ipc=work.ipc * min(1.0, most / each)) if each else work
                    for work, each in zip(kind.works, moved, strict=True)) for kind in shape.core_types)
    return replace(shape, core_types=tuple(
        replace(kind, works=works) for kind, works in zip(shape.core_types, slowed, strict=True)))
