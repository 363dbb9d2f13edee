"""Tasks, CPUs, run queue and load of a simulated machine agree: what ran is what the CPUs were busy with."""

from __future__ import annotations

import pytest
from host_readers import machine
from smallmachines import small_host

from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import WORKLOADS

pytestmark = pytest.mark.usefixtures("few_cores")

IDLE = (3, 4)  # columns of /proc/stat: idle, iowait
PROCESSES = [process_of(kind) for kind in range(len(WORKLOADS))]
ROUNDED = len(PROCESSES) + 8
"""Ticks by which sums of rounded times may differ: a process's, and each field's of a CPU."""


def busy(host: SimulatedHost) -> dict[int, int]:
    """Ticks for which each CPU was busy."""
    return busy_of(host.read_text("/proc/stat"))


def busy_of(text: str) -> dict[int, int]:
    rows = (line.split() for line in text.splitlines() if line[3:4].isdigit())
    return {int(row[0][3:]): sum(int(word) for at, word in enumerate(row[1:9]) if at not in IDLE) for row in rows}


def stat(host: SimulatedHost, path: str) -> list[str]:
    return host.read_text(f"{path}/stat").rpartition(") ")[2].split()


def ran(host: SimulatedHost) -> dict[int, int]:
    """Ticks for which threads ran, by the CPU that each of them ran on last."""
    result: dict[int, int] = {}
    for pid in PROCESSES:
        for tid in host.list_dir(f"/proc/{pid}/task"):
            words = stat(host, f"/proc/{pid}/task/{tid}")
            result[int(words[36])] = result.get(int(words[36]), 0) + int(words[11])
    return result


def differences(older: dict[int, int], newer: dict[int, int]) -> dict[int, int]:
    return {cpu: newer[cpu] - older[cpu] for cpu in newer}


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape.cpus <= 160])
def test_the_threads_of_a_cpu_ran_for_as_long_as_it_was_busy(name: str) -> None:
    host, clock = machine(name)
    before = busy(host), ran(host)
    clock.advance(7.0)
    busy_ticks, ran_ticks = differences(before[0], busy(host)), differences(before[1], ran(host))
    assert sum(busy_ticks.values()) > 0
    for cpu, ticks in busy_ticks.items():
        assert ran_ticks[cpu] == pytest.approx(ticks, abs=ROUNDED)


@pytest.mark.parametrize("name", SHAPES)
def test_processes_together_ran_for_as_long_as_all_cpus_were_busy(name: str) -> None:
    host, clock = machine(name)

    def total() -> int:
        return sum(int(stat(host, f"/proc/{pid}")[11]) for pid in PROCESSES)

    before = sum(busy(host).values()), total()
    clock.advance(7.0)
    cpus = sum(busy(host).values()) - before[0]
    assert total() - before[1] == pytest.approx(cpus, abs=ROUNDED * SHAPES[name].cpus)


@pytest.mark.parametrize("name", SHAPES)
def test_load_averages_damp_what_ran_and_the_run_queue_is_of_the_instant(name: str) -> None:
    """What runs is damped alike on few cores, and this looks at forty instants."""
    clock = ManualClock(5_000_000_000)
    host = small_host(name, clock)
    loads, ticks = [], sum(busy(host).values())
    for _ in range(40):
        clock.advance(3.0)
        text = host.read_text("/proc/stat")
        now = sum(busy_of(text).values())
        averages = host.read_text("/proc/loadavg").split()
        loads.append(((now - ticks) / 300, *map(float, averages[:3])))
        ticks = now
        queue = next(line for line in text.splitlines() if line.startswith("procs_running"))
        assert averages[3].partition("/")[0] == queue.split()[1]
    spread = [max(column) - min(column) for column in zip(*loads, strict=True)]
    # a phase of ten seconds on all cores is a step of a sixth in a minute's average, and of less in the others
    assert spread[0] >= spread[1] >= spread[2] >= spread[3]
    assert min(load[0] for load in loads) - 0.1 <= loads[-1][1] <= max(load[0] for load in loads) + 0.1
