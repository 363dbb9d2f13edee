"""Runs the dashboard as `turbotui` does, with a clock for every thread, which tells the simulation's cost apart.

A simulated machine is computed by the threads that read it (the workers); nobody pays for that on a real machine.
"""

from __future__ import annotations

import json
import sys
import threading
import time

from turbotui.cli import main


def thread_seconds() -> dict[str, float]:
    """Return the CPU seconds of every running thread, by name."""
    seconds: dict[str, float] = {}
    for thread in threading.enumerate():
        if thread.ident is not None:
            clock = time.pthread_getcpuclockid(thread.ident)
            seconds[thread.name] = seconds.get(thread.name, 0.0) + time.clock_gettime(clock)
    return seconds


def report_shares(path: str, warm_up: float, seconds: float) -> None:
    """Write the percent of a CPU that each thread takes, by name, over some seconds after a warm-up, as JSON."""
    time.sleep(warm_up)
    before, start = thread_seconds(), time.monotonic()
    time.sleep(seconds)
    after, end = thread_seconds(), time.monotonic()
    shares = {name: 100.0 * (value - before.get(name, 0.0)) / (end - start) for name, value in after.items()}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(shares, file)


if __name__ == "__main__":
    report, warm, window, *words = sys.argv[1:]
    threading.Thread(target=report_shares, args=(report, float(warm), float(window)), name="clock", daemon=True).start()
    sys.exit(main(words))
