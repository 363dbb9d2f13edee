"""`python tests/bed/measure.py`: what sampling costs with real system calls and a worker thread for each CPU.

Printed, not asserted. The time a worker waits for the served tree is not its own CPU time; what the system calls cost
is, and a served file costs more of it than one of sysfs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # it is a script, which no conftest.py prepares
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
    found: dict[str, object] = json.loads(output)
    return found


def main() -> None:
    """Measure and print."""
    missing = why_not()
    if missing:
        sys.exit(missing)
    child = str(Path(__file__).with_name("sample_cost.py"))
    print("one sample of one CPU, CPU time of the worker's thread (to reach: 60 us for 20 signals)")
    for what, words in (("perf first", ()), ("registers", ("no-perf",))):
        for count in (8, 20):
            found = _inside(shape_of("sapphire-2s", cores=1, packages=1), (child, str(count), *words))
            print(f"  {what}: {json.dumps(found)}")
    print("an interval of text at 0.2 s on 2 CPUs (ms of CPU time), and the same reads in bare Python")
    host = shape_of("sapphire-2s", cores=1, packages=1)
    print(f"  {json.dumps(_inside(host, ('-c', _TEXT, '0.2', '150'), lenient=True))}")
    print(f"  {json.dumps(_inside(host, ('-c', _BARE, '150'), lenient=True))}", flush=True)
    print("text at 5 s intervals (ms of CPU time to start and end, and for an interval; to reach: 5 times turbostat's)")
    for cores, packages in ((1, 1), (16, 2), (64, 2)):
        host = shape_of("sapphire-2s", cores=cores, packages=packages)
        found = _inside(host, ("-c", _TEXT, "5", "5"), lenient=True)
        print(f"  {cores * packages * 2} CPUs: {json.dumps(found)}", flush=True)
    print("the dashboard (% of one CPU; RSS)")
    for cpus, packages in ((256, 2), (1024, 8)):
        found = _inside(shape_of("big-8s", packages=packages), ("-c", _DASHBOARD, "8"))
        print(f"  {cpus} CPUs: {json.dumps(found)}")


if __name__ == "__main__":
    main()
