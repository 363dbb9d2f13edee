"""Files of tasks that wait: /proc/pressure, schedstat, vmstat, meminfo, loadavg, and those of control groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from typing import Final

from turbotui.simulated import basis as b
from turbotui.simulated.kernel_counts import BUSY, MAJOR_FAULTS, SWITCHES
from turbotui.simulated.model import Model
from turbotui.simulated.power_files import MIGRATED, pages
from turbotui.simulated.resctrl_files import has_resctrl
from turbotui.simulated.strain import DELAY, PRESSURES
from turbotui.simulated.tree import File, Node, fixed, folder

_MICRO: Final = 1e6
_NANO: Final = 1e9
_SWAP_GIB: Final = 8
_PERIOD_US: Final = 100_000

SLICE: Final = "user.slice/user-1000.slice"
"""The control group above the program's own, which has the quota."""
OWN_GROUP: Final = f"{SLICE}/session-2.scope"
GROUPS: Final[tuple[tuple[str, float], ...]] = (
    ("init.scope", 0.0),
    ("system.slice", 0.35),
    ("system.slice/db.service", 0.25),
    ("system.slice/web.service", 0.1),
    ("user.slice", 0.6),
    (SLICE, 0.6),
    (OWN_GROUP, 0.55),
)
"""Control groups and the share of the machine's CPU time that they use, with all below them."""


MEMORY: Final = 0.4
"""The share of the machine's memory of a group that used all CPU time."""
PIDS: Final = 400
"""The number of tasks of such a group."""
DISK: Final = (50e6, 20e6)
"""Bytes per second that such a group reads and writes."""
_MOUNTS: Final = ("30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate",
                  "31 23 0:27 / /sys/fs/resctrl rw,relatime - resctrl resctrl rw")


_LOAD_SECONDS: Final = (60.0, 300.0, 900.0)


class LoadAverages:
    """Tasks that run, averaged over 1, 5 and 15 minutes with older ones damped exponentially (kernel/sched/loadavg.c).

    Before the simulation began the machine ran as it did then.
    """

    def __init__(self, model: Model) -> None:
        self._cpus = model.cpu
        self._now, self._ran = 0.0, self._seconds(0.0)
        self._averages = [running(model)] * len(_LOAD_SECONDS)

    def at(self, now: float) -> list[float]:
        """Return the averages at a machine time; between two calls all tasks count as evenly distributed."""
        if (passed := now - self._now) > 0.0:
            ran = self._seconds(now)
            mean = (ran - self._ran) / passed
            self._averages = [mean + (average - mean) * exp(-passed / over)
                              for average, over in zip(self._averages, _LOAD_SECONDS, strict=True)]
            self._now, self._ran = now, ran
        return self._averages

    def _seconds(self, now: float) -> float:
        return sum([cpu.value(BUSY, now) for cpu in self._cpus])


def running(model: Model) -> float:
    """Return how many tasks run now, as the sum of the CPUs' present utilisation."""
    return sum([sum(basis.rate[b.CPU_BUSY : b.CPU_BUSY + b.KINDS]) for basis in model.cpu])


class StrainFiles:
    """The kernel's files about waiting tasks, computed from the model's integrals."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._load = LoadAverages(model)

    def proc(self) -> dict[str, Node]:
        """Files below /proc."""
        resources = dict.fromkeys(resource for resource, _ in PRESSURES)
        return {
            "pressure": folder({resource: File(self._pressure(resource)) for resource in resources}),
            "schedstat": File(self._schedstat),
            "vmstat": File(self._vmstat),
            "meminfo": File(self._meminfo),
            "loadavg": File(self._loadavg),
            "self": folder({
                "cgroup": fixed(f"0::/{OWN_GROUP}"),
                "mountinfo": fixed("\n".join(_MOUNTS if has_resctrl(self._model.shape) else _MOUNTS[:1])),
            }),
        }

    def groups(self) -> Mapping[str, Node]:
        """Files below /sys/fs/cgroup, by path."""
        memory = self._model.shape.memory_gib << 30
        files: dict[str, Node] = {"cgroup.controllers": fixed("cpuset cpu io memory pids"),
                                  "cgroup.stat": fixed(f"nr_descendants {len(GROUPS)}\nnr_dying_descendants 0"),
                                  "cpu.stat": File(self._usage(1.0))}
        for path, share in GROUPS:
            files[f"{path}/cpu.stat"] = File(self._group_stat(share, limited=path == SLICE))
            files[f"{path}/cpu.max"] = File(self._quota if path == SLICE else lambda _now: f"max {_PERIOD_US}\n")
            used = int(memory * share * MEMORY)
            for name, number in (("memory.current", used), ("memory.peak", 2 * used), ("memory.high", "max"),
                                 ("memory.max", memory // 2 if path == SLICE else "max"), ("memory.swap.current", 0),
                                 ("pids.current", int(share * PIDS)), ("pids.max", "max"), ("pids.events", "max 0"),
                                 ("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0")):
                files[f"{path}/{name}"] = fixed(number)
            files[f"{path}/memory.stat"] = File(self._memory(share, used))
            files[f"{path}/io.stat"] = File(self._traffic(share))
            for resource in ("cpu", "memory", "io"):
                files[f"{path}/{resource}.pressure"] = File(self._pressure(resource))
        return files

    def stalled(self, resource: str, line: str, now: float) -> float:
        """Return the seconds of pressure of a resource."""
        form, index = PRESSURES[resource, line]
        cpus = self._model.cpu
        own = sum([cpu.value(form, now) for cpu in cpus]) / len(cpus) if form else 0.0
        return own + self._model.system.at(index, now)

    def _pressure(self, resource: str) -> Callable[[float], str]:
        """Kernel Documentation/accounting/psi.rst; the averages are those of this instant."""
        lines = [line for line in ("some", "full") if (resource, line) in PRESSURES]

        def content(now: float) -> str:
            text = ""
            for line in lines:
                share = 100.0 * min(1.0, self._model.system.rate[PRESSURES[resource, line][1]])
                averages = " ".join(f"avg{seconds}={share:.2f}" for seconds in (10, 60, 300))
                text += f"{line} {averages} total={int(self.stalled(resource, line, now) * _MICRO)}\n"
            if resource == "cpu":
                text += "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
            return text

        return content

    def _schedstat(self, now: float) -> str:
        """Kernel Documentation/scheduler/sched-stats.rst, version 17."""
        lines = ["version 17", f"timestamp {int(now * 250) + 4_294_667_296}"]
        strained = self._model.system.at(b.SYS_WAITED, now)
        for cpu, basis in enumerate(self._model.cpu):
            if self._model.online[cpu]:
                ran, slices = basis.value(BUSY, now), int(basis.value(SWITCHES, now))
                waited = basis.value(DELAY, now) + strained
                lines.append(f"cpu{cpu} 0 0 0 0 0 0 {int(ran * _NANO)} {int(waited * _NANO)} {slices}")
                lines.append(f"domain0 PKG {1 << min(cpu, 31):08x} 0 0 0 0 0 0 0 0")
        return "\n".join(lines) + "\n"

    def _vmstat(self, now: float) -> str:
        system = self._model.system
        values = {
            "nr_free_pages": self._model.shape.memory_gib << 17,
            "pswpin": system.at(b.SYS_SWAPPED_IN, now),
            "pswpout": system.at(b.SYS_SWAPPED_OUT, now),
            "allocstall_dma": 0,
            "allocstall_normal": system.at(b.SYS_DIRECT_RECLAIMS, now),
            "allocstall_movable": 0,
            "pgmajfault": self._major_faults(now),
            "oom_kill": system.at(b.SYS_OOM_KILLS, now),
            "numa_pages_migrated": MIGRATED * sum(pages(self._model, node, now) for node in range(nodes))
            if (nodes := len(self._model.layout.node_cpus)) > 1 else 0,
        }
        return "".join(f"{name} {int(value)}\n" for name, value in values.items())

    def _major_faults(self, now: float) -> float:
        return sum([basis.value(MAJOR_FAULTS, now) for basis in self._model.cpu]) + self._model.system.at(
            b.SYS_MAJOR_FAULTS, now)

    def _meminfo(self, _now: float) -> str:
        total, swap = self._model.shape.memory_gib << 20, _SWAP_GIB << 20
        strain = self._model.strain
        rows = {"MemTotal": total, "MemFree": int(total * strain.available * 2 / 3),
                "MemAvailable": int(total * strain.available), "SwapTotal": swap,
                "SwapFree": int(swap * strain.swap_free)}
        return "".join(f"{name + ':':<16}{value} kB\n" for name, value in rows.items())

    def _loadavg(self, now: float) -> str:
        model = self._model
        waiting = model.strain.waiting * len(model.cpu)
        averages = " ".join(f"{load + waiting + model.strain.blocked:.2f}" for load in self._load.at(now))
        runnable = round(running(model) + waiting)  # of this instant, and the reading process
        return f"{averages} {runnable + 1}/{len(model.cpu) * 12 + runnable} 4711\n"

    def _usage(self, share: float) -> Callable[[float], str]:
        def content(now: float) -> str:
            used = share * sum([basis.value(BUSY, now) for basis in self._model.cpu])
            return f"usage_usec {int(used * _MICRO)}\nuser_usec {int(used * _MICRO)}\nsystem_usec 0\n"

        return content

    def _group_stat(self, share: float, *, limited: bool) -> Callable[[float], str]:
        usage = self._usage(share)

        def content(now: float) -> str:
            system = self._model.system
            periods = int(system.at(b.SYS_PERIODS, now)) if limited else 0
            throttled = int(system.at(b.SYS_THROTTLED, now)) if limited else 0
            return f"{usage(now)}nr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {throttled * 50_000}\n"

        return content

    def _memory(self, share: float, used: int) -> Callable[[float], str]:
        """Kernel Documentation/admin-guide/cgroup-v2.rst, memory.stat: a quarter is page cache."""
        return lambda now: (f"anon {used - used // 4}\nfile {used // 4}\n"
                            f"pgmajfault {int(share * self._major_faults(now))}\n")

    def _traffic(self, share: float) -> Callable[[float], str]:
        def content(now: float) -> str:
            read, written = (int(share * now * rate) for rate in DISK)
            return f"259:0 rbytes={read} wbytes={written} rios={read >> 14} wios={written >> 14} dbytes=0 dios=0\n"

        return content

    def _quota(self, _now: float) -> str:
        quota = self._model.strain.quota
        return f"{'max' if quota is None else round(quota * _PERIOD_US)} {_PERIOD_US}\n"
