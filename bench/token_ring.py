"""Processes that pass tokens over pipes, one ring a CPU, so that they do little but switch."""

from __future__ import annotations

import argparse
import os
import sys


def pass_tokens(processes: int, hops: int) -> list[tuple[int, float]]:
    """Run the processes until each has passed its token on so many times.

    Returns:
        The number and the CPU seconds of each process, as wait4(2) reports them at its end.
    """
    cpus = sorted(os.sched_getaffinity(0))
    each = max(2, processes // len(cpus))
    pids = [pid for cpu in cpus[: max(1, processes // each)] for pid in _ring(each, hops, cpu)]
    used = []
    for pid in pids:
        _pid, _status, usage = os.wait4(pid, 0)
        used.append((pid, usage.ru_utime + usage.ru_stime))
    return used


def _ring(processes: int, hops: int, cpu: int) -> list[int]:
    """Start the processes of one ring, each of which reads from the pipe that the one before writes to."""
    pipes = [os.pipe() for _ in range(processes)]
    pids = []
    for at in range(processes):
        pid = os.fork()
        if not pid:
            os.sched_setaffinity(0, {cpu})
            come, go = pipes[at][0], pipes[(at + 1) % processes][1]
            if at == 0:
                os.write(go, b"x")
            for _ in range(hops):
                os.write(go, os.read(come, 1))
            os._exit(0)
        pids.append(pid)
    for come, go in pipes:
        os.close(come)
        os.close(go)
    return pids


def main() -> int:
    """Run once, and print the number and the CPU seconds of each process."""
    parser = argparse.ArgumentParser(prog="python -m bench.token_ring", description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--hops", type=int, default=100_000)
    arguments = parser.parse_args()
    for pid, seconds in pass_tokens(arguments.processes, arguments.hops):
        print(pid, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
