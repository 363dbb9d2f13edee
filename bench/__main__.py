"""`python -m bench`: prints in one run every figure that the project claims, and those of its peers."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys

from bench.beside_peers import SLEEPING, TASKS, TURBOTUI, beside_peers, megabytes_after_screens
from bench.beside_turbostat import text_costs
from bench.dashboard import (
    PEERS,
    Cost,
    cost_of_dashboard,
    cost_of_program,
    cost_without_model,
    key_cost,
    key_to_paint,
)
from bench.events import STRINGS, encoding_seconds
from bench.model_memory import model_megabytes
from bench.recording import print_recording
from bench.roofline import redraw_seconds
from bench.sampling import register_cost, sample_costs
from bench.spying import INTERVAL, spy_cost
from bench.start import COUNTING, print_start
from bench.tasks import print_costs

_KEYS = 150


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0, help="length of each measurement (default 15)")
    parser.add_argument("--quick", action="store_true", help="3 seconds each, no peers")
    arguments = parser.parse_args()
    seconds = 3.0 if arguments.quick else arguments.seconds
    print(f"{os.cpu_count()} CPUs, Python {sys.version.split()[0]}, terminal 200x60, 1 Hz, {seconds:g} s a figure")

    print("\ncost of one sample (CPU time of the reading thread; every default column)")
    for cost in sample_costs(ticks=40 if arguments.quick else 200):
        print(f"  {cost.name:<34} {cost.microseconds:8.0f} us a CPU and sample")
    rounds = 500 if arguments.quick else 4000
    print("one CPU's registers, one pread each from files in place of the MSR device (to reach: 60 us for 20)")
    for registers in (8, 20):
        print(f"  {registers:<34} {register_cost(registers, rounds):8.0f} us a sample")

    each, count = (1.0, 3) if arguments.quick else (5.0, 5)
    print(f"\ntext at {each:g} s intervals (ms of CPU time; to reach: 5 times that of turbostat on the same machine)")
    for text in text_costs(each, count):
        cost_of_it = text.refused or f"{text.start_ms:8.1f} to start and end {text.interval_ms:8.2f} an interval"
        print(f"  {text.name:<34} {cost_of_it}")

    spied = spy_cost(seconds)
    print(f"\nspies: {spied.events} events on {spied.cpus} CPUs every {INTERVAL * 1e3:g} ms (to reach: 2 % of one CPU)")
    print(f"  {spied.samples:<34} {spied.percent:8.2f} %   {spied.microseconds:.0f} us a sample, "
          f"{spied.reads:.1f} group reads, {spied.span:.2f} ms from first to last")
    print("\nsampling tasks at their switches: ", end="")
    print_costs(rounds=3 if arguments.quick else 7, trips=20_000, seconds=seconds)

    print("\nrecording 256 CPUs x 43 counters of noise (to reach: 2 ms of CPU time a tick, 200 ms to open and jump)")
    print_recording(ticks=120 if arguments.quick else 600)

    print("\nevent strings (CPU time; to reach: 1 s)")
    seconds_of_encoding = min(encoding_seconds() for _ in range(3))
    print(f"  {STRINGS:,} parsed and encoded           {seconds_of_encoding:8.2f} s")

    print("\nroofline, 2,000 points and 224 CPUs, CPU time of one redraw (to reach: 30 ms)")
    for size in ((120, 36), (200, 60)):
        median, late = redraw_seconds(size)
        print(f"  {size[0]}x{size[1]:<30} median {median * 1e3:6.1f} ms   p95 {late * 1e3:6.1f} ms")

    print("\ncost of the dashboard (% of one CPU; to reach: the screen of 1,024 CPUs 1 %)")
    print("  simulation, in all and reading, is paid by nobody on a real machine")
    print(f"  {'':<34} {'all':>7} {'screen':>7} {'sampler':>8} {'reading':>8} {'RSS MB':>7} {'kB/s':>6}")
    rows = _dashboards(seconds, quick=arguments.quick)
    for row in rows:
        parts = [f"{value:7.2f}" if value is not None else f"{'-':>7}" for value in (row.all, row.screen)]
        parts += [f"{value:8.2f}" if value is not None else f"{'-':>8}" for value in (row.sampler, row.reading)]
        print(f"  {row.name:<34} {' '.join(parts)} {row.rss_mb:7.0f} {row.kb_per_second:6.1f}")

    for title, watched in (("256 CPUs", "0-255"), ("1,024 CPUs", "")):
        print(f"  {'of it the model of ' + title:<34} {'':>31} {model_megabytes('big-8s', watched):7.0f}")

    _print_beside_peers(seconds)

    print("\nstart, medians of runs in turn (to reach: 60 and 120 ms of CPU time; 100 ms to paint, 300 to obey)")
    print_start(3 if arguments.quick else 11)

    print(f"\nkey to paint (ms, {_KEYS} cursor keys; to reach: p95 4, 8 with CPUs busy)")
    print("  the model's arithmetic delays keys of a simulated machine")
    busy = os.cpu_count() or 1
    for name, words, burners in (
        ("this machine", ["--screen", "cpus"], 0),
        ("this machine, every CPU busy", ["--screen", "cpus"], busy),
        ("256 rows (SIMULATED)", ["--screen", "cpus", "--machine", "big-8s", "--cpu", "0-255"], 0),
        ("256 rows (SIMULATED), CPUs busy", ["--screen", "cpus", "--machine", "big-8s", "--cpu", "0-255"], busy),
    ):
        times = sorted(key_to_paint(words, _KEYS, burners))
        p95 = times[int(len(times) * 0.95)]
        print(f"  {name:<34} median {statistics.median(times):6.1f}   p95 {p95:6.1f}   max {times[-1]:6.1f}")
    print(f"\nCPU time of the main thread for one of {_KEYS} cursor keys (ms; to reach: 2)")
    table = (sys.executable, "-m", "turbotui", "--machine", "sapphire-2s", "--screen", "cpus", "-i", "60")
    for name, program in (("table of 224 CPUs (SIMULATED)", table),
                          ("Textual's Hello that counts", (sys.executable, "-c", COUNTING))):
        print(f"  {name:<34} {key_cost(program, _KEYS):8.2f}")
    return 0


def _dashboards(seconds: float, *, quick: bool) -> list[Cost]:
    rows: list[Cost] = [
        cost_of_dashboard("this machine, overview", ["--screen", "overview"], seconds),
        cost_of_dashboard("256 CPUs (SIMULATED)", ["--machine", "big-8s", "--cpu", "0-255"], seconds),
        cost_of_dashboard("1,024 CPUs (SIMULATED)", ["--machine", "big-8s"], seconds),
        cost_of_dashboard("1,024 CPUs (SIMULATED), 120x36", ["--machine", "big-8s"], seconds, (120, 36)),
    ]
    ticks = 5 if quick else 12
    rows += [cost_without_model(f"{cpus} CPUs, {screen}, no model",
                                ["--machine", "big-8s", *chosen, "--screen", screen], ticks)
             for cpus, chosen in (("256", ["--cpu", "0-255"]), ("1,024", []))
             for screen in ("overview", "cpus", "interrupts")]
    rows.append(cost_of_dashboard("this machine, cpus", ["--screen", "cpus"], seconds))
    if not quick:
        rows += [cost_of_program(name, words, seconds) for name, words in PEERS if shutil.which(words[0])]
    return rows


def _print_beside_peers(seconds: float) -> None:
    print(f"\nbeside each other at one time, {SLEEPING} sleeping processes (to reach: a peer's CPU time, and 0.45 %)")
    for program, size in ((TURBOTUI, (200, 50)), (TURBOTUI, (200, 60)), (TASKS, (120, 36)), (TASKS, (200, 50))):
        for share in beside_peers(seconds, size, program):
            ratio = "" if share.ratio == 1 else f"   turbotui {share.ratio:.2f} times as much"
            print(f"  {size[0]}x{size[1]}  {share.name:<26} {share.percent:7.2f} % {share.kb_per_second:6.1f} kB/s"
                  f"{ratio}")
    print("\nmemory after every screen was shown, this machine, 200x60 (to reach: 45 MB)")
    print(f"  {megabytes_after_screens((200, 60)):7.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
