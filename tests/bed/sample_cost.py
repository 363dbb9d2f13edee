"""Run inside a fake machine by `measure`: CPU time of a worker's sample of one CPU, printed as JSON."""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import time

from turbotui.machine.delegating_host import RestrictedHost
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.signals import Behavior
from turbotui.sampling.answers import ReadRequest
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.plan import make_plan
from turbotui.sampling.workers import Worker
from turbotui.sources import SOURCES

_ROUNDS = 400
_READS = 20


def _served_us(path: str) -> float:
    """Return the CPU time that one pread of a served file takes beyond that of a device of the kernel."""
    medians = []
    for name in (path, "/dev/zero"):
        descriptor = os.open(name, os.O_RDONLY)
        times = []
        for _ in range(_ROUNDS):
            before = time.thread_time_ns()
            for _ in range(_READS):
                os.pread(descriptor, 8, 0x10)
            times.append(time.thread_time_ns() - before)
        medians.append(statistics.median(times) / _READS / 1e3)
        os.close(descriptor)
    return medians[0] - medians[1]


def main() -> None:
    """One argument: how many signals; a second one keeps perf away."""
    count, spare = int(sys.argv[1]), len(sys.argv) > 2
    host = LinuxHost()
    machine = read_machine(RestrictedHost(host, msr=True, perf=False) if spare else host)
    capabilities = probe_sources(machine, SOURCES)
    per_cpu = [
        signal.id for source in capabilities.sources if not source.shared for signal in capabilities.signals.values()
        if capabilities.provider[signal.id] is source and signal.behavior is not Behavior.CONSTANT
        and not signal.id.startswith(("clock.", "cpufreq.", "limit."))
    ]
    # a CPU that is not the reading one of its package reads its own and its core's signals only
    wanted = frozenset(per_cpu[:count])
    plan = make_plan(machine, capabilities, wanted)
    work = ReadRequest(plan.tasks[0], (), machine, lambda _answer: None)
    worker = Worker("measured")
    worker._serve(work)
    user = resource.getrusage(resource.RUSAGE_THREAD)
    times = []
    for _ in range(_ROUNDS):
        before = time.thread_time_ns()
        worker._serve(work)
        times.append(time.thread_time_ns() - before)
    done = resource.getrusage(resource.RUSAGE_THREAD)
    switches = (done.ru_nvcsw - user.ru_nvcsw) / _ROUNDS
    median = statistics.median(times) / 1e3
    # a read of a served file is the only thing that waits here
    bed = switches * _served_us("/dev/cpu/0/msr")
    json.dump({
        "signals": sum(len(task.wanted) for task in work.tasks),
        "tasks": {task.source.id: len(task.wanted) for task in work.tasks},
        "median_us": round(median, 1),
        "of it the bed's": round(bed, 1),
        "ours": round(median - bed, 1),
        "switches": switches,
    }, sys.stdout)


if __name__ == "__main__":
    main()
