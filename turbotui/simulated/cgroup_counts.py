"""Counters of control groups on a simulated machine: a group's share of the work that each CPU does.

A counter of perf_event_open(2)'s PERF_FLAG_PID_CGROUP runs while a task of the group is on its CPU, and so does its
time_enabled (kernel/events/core.c, perf_cgroup_event_time); the outermost group has the idle task, too.
"""

from __future__ import annotations

import errno
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turbotui.machine.host import HostError
from turbotui.simulated.basis import CPU_BUSY, CPU_CYCLES, CPU_ONLINE, CPU_WORK, KINDS, Form, form_of
from turbotui.simulated.kernel_counts import BUSY
from turbotui.simulated.pmu import SimulatedCounter, Value
from turbotui.simulated.strain_files import GROUPS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

MOUNT: Final = "/sys/fs/cgroup"
EVERYTHING: Final = "/"
"""The path of the outermost group."""
_SHARES: Final = {f"/{path}": share for path, share in GROUPS}
_WORK: Final = frozenset(first + kind for first in (CPU_BUSY, CPU_CYCLES, CPU_WORK) for kind in range(KINDS))


def cgroup_of(directory: str) -> str:
    """Return the control group of a directory.

    Raises:
        HostError: EBADF if the directory belongs to no control group.
    """
    path = directory.removeprefix(MOUNT).rstrip("/") or EVERYTHING
    if not directory.startswith(MOUNT) or (path != EVERYTHING and path not in _SHARES):
        raise HostError(errno.EBADF, f"{directory} is no control group")
    return path


def is_beside(first: str, other: str) -> bool:
    """Tell whether two groups are never on a CPU together; "" stands for counters of a whole CPU."""
    if first == other or not first or not other or EVERYTHING in (first, other):
        return False
    inner, outer = (first, other) if len(first) > len(other) else (other, first)
    return not inner.startswith(f"{outer}/")


def part_of(counter: SimulatedCounter, cgroup: str, model: Model, cpu: int) -> SimulatedCounter:
    """Convert a CPU's counter to one of a control group."""
    if cgroup == EVERYTHING or counter.absolute:
        return counter
    share = _SHARES[cgroup]
    form: Form = tuple((index, weight) for index, weight in counter.form if index in _WORK)
    if counter.form and all(index == CPU_ONLINE for index, _weight in counter.form):  # a clock
        form = form_of({CPU_BUSY + kind: counter.form[0][1] for kind in range(KINDS)})
    basis = model.cpu[cpu]
    return replace(counter, value=lambda now: share * basis.value(form, now), form=())


def time_of(cgroup: str, model: Model, cpu: int) -> Value:
    """Return the seconds for which a group was on a CPU."""
    if cgroup in ("", EVERYTHING):
        return lambda now: now
    share, basis = _SHARES[cgroup], model.cpu[cpu]
    return lambda now: share * basis.value(BUSY, now)
