"""Run inside a fake machine by `measure`: CPU time of a worker's sample of one CPU, printed as JSON."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.sparing import SparingHost
from turbotui.quantities.signals import Behavior
from turbotui.sampling.census import take_census
from turbotui.sampling.plan import make_plan
from turbotui.sampling.workers import Work, Worker
from turbotui.sources import SOURCES

_ROUNDS = 400


def main() -> None:
    """One argument: how many signals; a second one keeps perf away."""
    count, spare = int(sys.argv[1]), len(sys.argv) > 2
    host = LinuxHost()
    machine = read_machine(SparingHost(host, msr=True, perf=False) if spare else host)
    census = take_census(machine, SOURCES)
    per_cpu = [
        signal.id for source in census.sources if not source.shared for signal in census.signals.values()
        if census.provider[signal.id] is source and signal.behavior is not Behavior.CONSTANT
        and not signal.id.startswith(("clock.", "cpufreq.", "limit."))
    ]
    # a CPU that is not the reading one of its package reads its own and its core's signals only
    wanted = frozenset(per_cpu[:count])
    plan = make_plan(machine, census, wanted)
    work = Work(plan.tasks[0], (), machine, lambda _answer: None)
    worker = Worker("measured", ())
    worker._serve(work)
    user = resource.getrusage(resource.RUSAGE_THREAD)
    times = []
    for _ in range(_ROUNDS):
        before = time.thread_time_ns()
        worker._serve(work)
        times.append(time.thread_time_ns() - before)
    done = resource.getrusage(resource.RUSAGE_THREAD)
    json.dump({
        "signals": sum(len(task.wanted) for task in work.tasks),
        "tasks": {task.source.id: len(task.wanted) for task in work.tasks},
        "median_us": statistics.median(times) / 1e3,
        "user_us": (done.ru_utime - user.ru_utime) / _ROUNDS * 1e6,
        "system_us": (done.ru_stime - user.ru_stime) / _ROUNDS * 1e6,
        "switches": (done.ru_nvcsw - user.ru_nvcsw) / _ROUNDS,
    }, sys.stdout)


if __name__ == "__main__":
    main()
