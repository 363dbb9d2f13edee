"""`turbotui score`: baselines, the performance ratio under load, and the score that it predicts."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from turbotui.analysis import score_baselines
from turbotui.analysis.score import Baseline, CpuRatio, Prediction, Run, differences, judge, predict
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.watching import label, open_host, parse_interval
from turbotui.errors import MachineError, TurbotuiError, UsageError
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import cpu_row
from turbotui.sampling.census import take_census
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.sources import SOURCES

SLOWER = 5
"""Exit status of a fleet check: the node is slower than its baseline by more than was allowed."""
_FOREVER = 1e6  # nominal interval in seconds: the command's end ends it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs and their options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="baseline|run|list")
    store = verbs.add_parser("baseline", help="store a score that was measured, for this hardware configuration")
    add_machine_arguments(store)
    store.add_argument("--name", required=True, help="of the benchmark")
    store.add_argument("--unit", required=True, help="of the score, GFLOPS")
    store.add_argument("--value", required=True, metavar="X", help="the score; more is better")
    store.add_argument("--ratio", metavar="R", default="1", help="the lowest ratio while it ran (default 1: turbo off)")
    measure = verbs.add_parser("run", help="measure the ratio under load")
    add_machine_arguments(measure)
    measure.add_argument("--baseline", metavar="NAME", help="predict the score of this baseline")
    measure.add_argument("-i", "--interval", metavar="SECONDS", default="5", help="length without a command (5)")
    measure.add_argument("--runs", metavar="N", type=int, default=1, help="measure so often: mean and median")
    measure.add_argument("--slower", metavar="PERCENT",
                         help=f"fleet check: exit status {SLOWER} when the predicted score is lower by more than this")
    measure.add_argument("--json", action="store_true", help="as JSON")
    measure.add_argument("command", nargs="*", metavar="command", help="after --: the load, run once for each run")
    listing = verbs.add_parser("list", help="the stored baselines")
    listing.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Store, measure or list."""
    path = score_baselines.path_of(os.environ)
    if arguments.verb == "baseline":
        return _store(arguments, path)
    return _list(arguments, path) if arguments.verb == "list" else _measure(arguments, path)


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f'{what} "{text}" is not a positive number')
    return value


def _store(arguments: argparse.Namespace, path: str) -> int:
    value, ratio = _number(arguments.value, "--value"), _number(arguments.ratio, "--ratio")
    machine = read_machine(open_host(arguments))
    baseline = Baseline(arguments.name, arguments.unit, value, ratio, score_baselines.configuration(machine),
                        label(machine.host))
    score_baselines.store(path, baseline)
    print(_line(baseline))
    return 0


def _line(one: Baseline) -> str:
    facts = ", ".join(f"{key} {value}" for key, value in one.configuration.items())
    mark = f" [{one.simulated}]" if one.simulated else ""
    return f"{one.name}: {one.value:g} {one.unit} at ratio {one.ratio:g} ({facts}){mark}"


def _list(arguments: argparse.Namespace, path: str) -> int:
    known = score_baselines.load(path)
    if arguments.json:
        print(json.dumps([{"name": one.name, "unit": one.unit, "value": one.value, "ratio": one.ratio,
                           "configuration": dict(one.configuration), "simulated": one.simulated}
                          for one in known.values()], indent=1))
        return 0
    for one in known.values():
        print(_line(one))
    if not known:
        print(f"no baseline is stored in {path}")
    return 0


def _measure(arguments: argparse.Namespace, path: str) -> int:
    seconds = parse_interval(arguments.interval)
    if arguments.runs < 1:
        raise UsageError(f"--runs {arguments.runs}: at least one")
    allowed = None if arguments.slower is None else _number(arguments.slower, "--slower")
    baseline = None
    if arguments.baseline is not None:
        known = score_baselines.load(path)
        if arguments.baseline not in known:
            raise UsageError(f'no baseline "{arguments.baseline}"; there are: {", ".join(known) or "none"}')
        baseline = known[arguments.baseline]
    if allowed is not None and baseline is None:
        raise UsageError("--slower compares with a baseline: give --baseline NAME")
    machine = read_machine(open_host(arguments))
    if arguments.command and machine.host.kind is not HostKind.REAL:
        raise UsageError("a command loads this machine, not a simulated or recorded one: leave one of them out")
    runs = [measure(machine, seconds, arguments.command) for _ in range(arguments.runs)]
    ratios = [one.ratio for one in runs if one.ratio is not None]
    warnings = list(dict.fromkeys(warning for one in runs for warning in one.warnings))
    prediction = None
    if baseline is not None:
        warnings += differences(baseline, score_baselines.configuration(machine))
        if baseline.simulated != label(machine.host):
            warnings.append(f"the baseline is of {baseline.simulated or 'a real machine'}")
        prediction = predict(baseline, statistics.median(ratios), ratios) if ratios else None
    report = _Report(label(machine.host), runs, warnings, baseline, prediction)
    (_print_json if arguments.json else _print)(report)
    if allowed is None:
        return 0
    if report.slower is None:
        raise TurbotuiError("the fleet check has no answer: no CPU was busy, so there is no ratio")
    return SLOWER if report.slower > allowed else 0


def measure(machine: Machine, seconds: float, command: Sequence[str] = ()) -> Run:
    """One measurement: the difference of two readings of APERF and MPERF on every CPU.

    Args:
        machine: to measure.
        seconds: the interval, where there is no command.
        command: the load; the interval is its run.

    Raises:
        MachineError: there is no APERF and MPERF.
        TurbotuiError: the command cannot be run.
    """
    census = take_census(machine, SOURCES)
    catalog = catalog_for(census.signals)
    ratio, busy = (catalog.by_id.get(name) for name in ("Ratio", "Busy%"))
    signals = signals_of([one for one in (ratio, busy) if one is not None], census)
    if ratio is None or not {"aperf", "mperf"} <= signals:
        raise MachineError("this machine offers no APERF and MPERF to this user: turbotui doctor says why")
    frames = asyncio.run(_sampled(Sampler(machine, census, signals, _FOREVER if command else seconds), command))
    frame = frames[-1]
    found = []
    for cpu in machine.topology.cpus:
        value = frame.cell(ratio, cpu_row(cpu))
        share = None if busy is None else frame.cell(busy, cpu_row(cpu))
        found.append(CpuRatio(cpu, value if isinstance(value, float) else None,
                              share / 100.0 if isinstance(share, int | float) else None))
    return judge(frame.seconds or 0.0, found)


async def _sampled(sampler: Sampler, command: Sequence[str]) -> list[Frame]:
    frames: list[Frame] = []
    loop = asyncio.get_running_loop()
    first = asyncio.Event()

    class Box:
        """Keeps frames, and says when the first reading is done."""

        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            loop.call_soon_threadsafe(first.set)

    sampler.bus.attach(Box())
    sampling = asyncio.create_task(sampler.run(1))
    if command:
        await first.wait()
        try:
            await asyncio.to_thread(_load, command)
        finally:
            sampler.end_interval()
    await sampling
    return frames


def _load(command: Sequence[str]) -> None:
    """Run the load; its output goes to stderr, for stdout is the report's."""
    try:
        started = time.monotonic()
        code = subprocess.run(command, check=False, stdout=sys.stderr).returncode  # noqa: S603 - asked for
    except OSError as error:
        raise TurbotuiError(f"{command[0]} cannot be run: {error.strerror}") from error
    if code:
        raise TurbotuiError(f"the load {command[0]} failed with status {code} after "
                            f"{time.monotonic() - started:.1f} s: nothing is concluded from it")


@dataclass(frozen=True, slots=True)
class _Report:
    """What is printed."""

    simulated: str
    runs: Sequence[Run]
    warnings: Sequence[str]
    baseline: Baseline | None
    prediction: Prediction | None

    @property
    def ratios(self) -> list[float]:
        return [one.ratio for one in self.runs if one.ratio is not None]

    @property
    def slower(self) -> float | None:
        """By how many per cent the predicted score is below the baseline; negative where it is above."""
        if self.baseline is None or self.prediction is None:
            return None
        return 100.0 * (1.0 - self.prediction.value / self.baseline.value)


def _print(report: _Report) -> None:
    if report.simulated:
        print(f"# {report.simulated}: nothing below was read from hardware")
    for number, one in enumerate(report.runs, 1):
        where = "no CPU was busy" if one.lowest is None else f"lowest ratio {one.ratio:.5f}, on CPU {one.lowest.cpu}"
        print(f"run {number}: {one.seconds:.2f} s, {where}; {one.state}")
    ratios = report.ratios
    if len(ratios) > 1:
        mean, median = statistics.fmean(ratios), statistics.median(ratios)
        print(f"ratio of {len(ratios)} runs: mean {mean:.5f}, median {median:.5f}")
    baseline, prediction, slower = report.baseline, report.prediction, report.slower
    if baseline is not None and prediction is not None and slower is not None:
        print(f"predicted {baseline.name}: {prediction.value:.1f} ± {prediction.error:.1f} {baseline.unit} "
              f"(baseline {baseline.value:g} at ratio {baseline.ratio:g}: {abs(slower):.1f} % "
              f"{'slower' if slower > 0 else 'faster'})")
    for warning in report.warnings:
        print(f"warning: {warning}")


def _print_json(report: _Report) -> None:
    ratios = report.ratios
    print(json.dumps({
        "simulated": report.simulated,
        "runs": [{"seconds": one.seconds, "ratio": one.ratio, "state": one.state,
                  "lowest_cpu": None if one.lowest is None else one.lowest.cpu,
                  "cpus": [{"cpu": cpu.cpu, "ratio": cpu.ratio, "busy": cpu.busy} for cpu in one.cpus]}
                 for one in report.runs],
        "mean": statistics.fmean(ratios) if ratios else None,
        "median": statistics.median(ratios) if ratios else None,
        "baseline": None if report.baseline is None else report.baseline.name,
        "unit": None if report.baseline is None else report.baseline.unit,
        "predicted": None if report.prediction is None else report.prediction.value,
        "error": None if report.prediction is None else report.prediction.error,
        "slower_percent": report.slower,
        "warnings": list(report.warnings),
    }, indent=1))
