"""Measures two versions in one run: `python -m bench.beside_version TREE` compares this tree with another one.

Commands and parts of a tick run in turn, one of each version after the other, at the first realtime priority where that
is allowed, so that both meet the same machine. CPUs, caches and other programs differ from minute to minute by more
than versions do: look at the ratios of one run.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from bench.start import cpu_ms
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.features.export.live.machine_metrics import ExportRequest, MachineMetrics
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sampling.selection import default_columns

HERE = Path(__file__).resolve().parents[1]
COMMANDS = (
    ("stat", "-n1", "-i0.01"), ("doctor",), ("stat", "-n1", "-i0.01", "--machine", "sapphire-2s"),
)
SIZES = (2, 256, 1024)
PARTS = ("row", "table", "diagnosis", "scrape")
"""What is worked out of two readings: the summary row, the table of CPUs, the verdict, the metrics of a scrape."""


def parts(cpus: int) -> Mapping[str, Callable[[], None]]:
    """The parts of a tick of a simulated machine, each of a new frame of the same two readings."""
    frames_of_machine = importlib.import_module("watched_machines").frames_of_machine  # of the version's own tests
    machine, frames = frames_of_machine("big-8s", 3, cpus=frozenset(range(cpus)))
    capabilities, (older, newer) = frames[-1].capabilities, (frames[-2].newer, frames[-1].newer)
    catalog = catalog_for(capabilities.signals)
    columns = default_columns(catalog, capabilities, machine.topology, extras=True)
    metrics, cost = MachineMetrics(machine, capabilities, catalog, ExportRequest()), OwnCost(0.1, 1, 1.0, 0, 0)

    def frame() -> Frame:
        return Frame(older, newer, capabilities)

    def row() -> None:
        made = frame()
        for column in columns:
            made.cell(column, SYSTEM_ROW)

    def table() -> None:
        made = frame()
        for column in columns:
            made.cells(column, made.rows(Scope.CPU))

    def diagnosis() -> None:
        judged = MachineDiagnosis(catalog)
        judged.push(frame())
        judged.findings()

    def scrape() -> None:
        made = frame()
        metrics.feed(made)
        metrics.metrics(made, cost)

    return dict(zip(PARTS, (row, table, diagnosis, scrape), strict=True))


def serve(cpus: int) -> None:
    """Run the parts whose names come on stdin, and print the nanoseconds of each."""
    known = parts(cpus)
    for part in known.values():
        part()
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        began = time.perf_counter_ns()
        known[line.strip()]()
        print(time.perf_counter_ns() - began, flush=True)


class Version:
    """A tree, and a process of it that runs parts."""

    def __init__(self, tree: Path, cpus: int) -> None:
        paths = os.pathsep.join((str(tree), str(tree / "tests"), str(HERE)))
        self.process = subprocess.Popen(  # noqa: S603 - this program
            [sys.executable, "-P", __file__, "--serve", str(cpus)], env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def milliseconds(self, part: str) -> float:
        """The time of a part, once."""
        print(part, file=cast("TextIO", self.process.stdin), flush=True)
        return int(cast("TextIO", self.process.stdout).readline()) / 1e6


def in_turn(first: Callable[[], float], second: Callable[[], float], rounds: int) -> str:
    """The least and the median of both, run in turn, and the ratio of the least."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        times[0].append(first())
        times[1].append(second())
    least = [min(some) for some in times]
    medians = [statistics.median(some) for some in times]
    return (f"{least[0]:8.2f} {least[1]:8.2f} {least[1] / least[0]:6.2f}     "
            f"{medians[0]:8.2f} {medians[1]:8.2f}")


def _command(tree: Path, words: Sequence[str]) -> Callable[[], float]:
    return lambda: cpu_ms(("env", f"PYTHONPATH={tree}", sys.executable, "-P", "-m", "turbotui", *words))


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.beside_version", description=__doc__)
    parser.add_argument("tree", type=Path, help="a checkout of the other version: git worktree add TREE COMMIT")
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    trees = (arguments.tree.resolve(), HERE)
    for tree in trees:  # whoever is not compiled yet would pay for it
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(tree / "turbotui"), str(tree / "tests")],  # noqa: S603
                       check=False, stdout=subprocess.DEVNULL)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        print("no realtime priority: other programs interrupt what is measured")
    print(f"{'ms, the other version and this version':44}{'least of both, ratio':>25}{'medians':>22}")
    for words in COMMANDS:
        print(f"{' '.join(words):44} {in_turn(_command(trees[0], words), _command(trees[1], words), arguments.rounds)}",
              flush=True)
    for cpus in SIZES:
        first, second = (Version(tree, cpus) for tree in trees)
        for part in PARTS:
            ask = partial(first.milliseconds, part), partial(second.milliseconds, part)
            ratios = in_turn(*ask, 2 * arguments.rounds)
            print(f"{part + f', {cpus:,} CPUs':44} {ratios}", flush=True)
        for version in (first, second):
            version.process.communicate()
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        sys.exit(main())
