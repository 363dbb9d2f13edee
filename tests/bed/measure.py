"""`python tests/bed/measure.py`: what sampling costs with real system calls and a worker thread for each CPU.

Printed, not asserted. The time a worker waits for the served tree is not its own CPU time; what the system calls cost
is, and a served file costs more of it than one of sysfs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # it is a script, which no conftest.py prepares
import instruction_tracer
from fake_machine import FakeMachine, shape_of, why_not

from turbotui.simulated import SimulatedHost

_DASHBOARD = """
import json, sys
from bench.dashboard import cost_of_dashboard
cost = cost_of_dashboard("", sys.argv[2:], float(sys.argv[1]))
json.dump({name: getattr(cost, name) for name in ("all", "screen", "sampler", "reading", "rss_mb")}, sys.stdout)
"""

_TEXT = """
import json, sys
from bench.beside_turbostat import text_costs
json.dump({one.name: one.refused or [round(one.start_ms, 1), round(one.interval_ms, 2)]
           for one in text_costs(float(sys.argv[1]), int(sys.argv[2]))}, sys.stdout)
"""

_BARE = """
import json, sys
from bench.bare_stat import interval_ms
json.dump({"bare Python": round(interval_ms(int(sys.argv[1])), 2)}, sys.stdout)
"""


def _inside(host: SimulatedHost, words: Sequence[str], *, lenient: bool = False) -> dict[str, object]:
    with FakeMachine(host, lenient=lenient).started([sys.executable, *words]) as running:
        output, errors = running.process.communicate(timeout=240.0)
    if running.process.returncode:
        raise RuntimeError(errors)
    result: dict[str, object] = json.loads(output)
    return result


_SHOWN = {
    "16 columns": "Avg_MHz,Busy%,Bzy_MHz,TSC_MHz,IPC,IRQ,POLL%,C1%,C1E%,C6%,CPU%c1,CPU%c6,CoreTmp,PkgTmp,"
                  "PkgWatt,RAMWatt",
    "3 columns": "Avg_MHz,Busy%,Bzy_MHz",
}


def _steady_ms(host: SimulatedHost, words: Sequence[str], seconds: float, intervals: int) -> tuple[float, int]:
    """The CPU time of an interval in ms, of a program that has run for a while, and the number of its threads."""
    traced = words[0] != sys.executable  # turbostat asks the processor, and not files, what it is
    with FakeMachine(host, lenient=True, traced=traced).started([*words, "-q", "-i", str(seconds)]) as running:
        process = running.process
        threading.Thread(target=lambda: process.stdout and process.stdout.read(), daemon=True).start()
        clock = ~process.pid << 3 | 2  # of the process: MAKE_PROCESS_CPUCLOCK, include/linux/posix-timers.h
        time.sleep(4 + 2 * seconds + len(host.model.layout.places) / 200)
        before = time.clock_gettime(clock)
        time.sleep(seconds * intervals)
        spent = time.clock_gettime(clock) - before
        return 1e3 * spent / intervals, len(os.listdir(f"/proc/{process.pid}/task"))


def _beside_turbostat() -> None:
    sites = instruction_tracer.instruction_sites  # a signal for each RDTSC would be counted as turbostat's
    instruction_tracer.instruction_sites = lambda program: {
        place: name for place, name in sites(program).items() if name == "cpuid"}
    programs = {"turbotui": (sys.executable, "-m", "turbotui", "stat"), "turbostat": (shutil.which("turbostat") or "",)}
    for cores, packages, seconds in ((1, 1, 0.5), (16, 2, 1), (64, 2, 1), (128, 16, 5)):
        for columns, shown in _SHOWN.items():
            measured = {name: _steady_ms(shape_of("sapphire-2s", cores=cores, packages=packages),
                                         (*words, "--show", shown), seconds, 5) for name, words in programs.items()}
            print(f"  {cores * packages * 2} CPUs, {columns}: " + ", ".join(
                f"{name} {spent:.2f} ms, {threads} threads" for name, (spent, threads) in measured.items()), flush=True)


def main() -> None:
    """Measure and print."""
    missing = why_not()
    if missing:
        sys.exit(missing)
    child = str(Path(__file__).with_name("sample_cost.py"))
    print("one sample of one CPU, CPU time of the worker's thread (to reach: 60 us for 20 signals)")
    for what, words in (("perf first", ()), ("registers", ("no-perf",))):
        for count in (8, 20):
            result = _inside(shape_of("sapphire-2s", cores=1, packages=1), (child, str(count), *words))
            print(f"  {what}: {json.dumps(result)}")
    print("an interval of text at 0.2 s on 2 CPUs (ms of CPU time), and the same reads in bare Python")
    host = shape_of("sapphire-2s", cores=1, packages=1)
    print(f"  {json.dumps(_inside(host, ('-c', _TEXT, '0.2', '150'), lenient=True))}")
    print(f"  {json.dumps(_inside(host, ('-c', _BARE, '150'), lenient=True))}", flush=True)
    print("an interval of text by --show, as long as the program runs (ms of CPU time; to reach: 3 times turbostat's)")
    if shutil.which("turbostat"):
        _beside_turbostat()
    else:
        print("  turbostat is not installed (Debian: apt install linux-cpupower)")
    print("the dashboard (% of one CPU; RSS)")
    for cpus, packages in ((256, 2), (1024, 8)):
        result = _inside(shape_of("big-8s", packages=packages), ("-c", _DASHBOARD, "8"))
        print(f"  {cpus} CPUs: {json.dumps(result)}")


if __name__ == "__main__":
    main()
