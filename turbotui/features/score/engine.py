"""Measures the performance ratio: APERF and MPERF of every CPU from the start of a load to its end.

`measure` makes one measurement, `check` several and the prediction of a score, `keep` stores them for the history of
the node. None of them prints; what a load prints goes to stderr.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from turbotui.commands.sessions import label
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, SignalledError, TurbotuiError, UsageError
from turbotui.features.score import baselines, history
from turbotui.features.score.model import (
    CLOCK,
    COUNTED,
    SAMPLED,
    Baseline,
    ConfigurationError,
    CpuRatio,
    Run,
    Throttling,
    differences,
    judge,
    load_differences,
    percent,
    predict,
    property_of,
    uncompared,
)
from turbotui.features.score.report import ScoreReport
from turbotui.machine.host import HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.observing import observe
from turbotui.quantities import clock_moments
from turbotui.quantities.catalog.frequency import BUSY
from turbotui.quantities.clock_moments import FLOOR, moment_error
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.plain_numbers import decimal
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_during, frames_of, one_interval
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

_FOREVER = 1e6  # nominal interval in seconds, which the command's end ends
_RATIO = ("Ratio", "Busy%")
_HOLDING = ("CoreThr", "PkgThr", "PKG_%", "Throttle")  # columns of what holds cores back, if the machine counts it
_MOMENTS = ("NowMHz", "NowErr%", "TSC_MHz", "Load%", "steal%")
_TICK = 0.5  # seconds between two readings where moments are timed, ten in each
_SAMPLED_NOTE = (
    "APERF and MPERF cannot be had here: the ratio is the clock at moments over that of the time stamp counter, ± {} "
    "(rms); compare it with a baseline of the same way, and of the same host")
_NOTHING = "none"  # the value of Throttle when nothing does


@dataclass(frozen=True, slots=True)
class Load:
    """The command that is run while the ratio is measured, and how its score is found."""

    command: tuple[str, ...] = ()  # the words of the command; empty for everything that runs on the machine
    # finds the score in the command's output: the first group, or the whole match; the last matching line counts. None
    # for no score.
    pattern: re.Pattern[str] | None = None


_NO_LOAD: Final = Load()


def check(machine: Machine, *, seconds: float = 5.0, runs: int = 1, load: Load = _NO_LOAD,
          baseline: Baseline | None = None, allowed: float | None = None, anyway: bool = False) -> ScoreReport:
    """Measure several times, and predict a benchmark's score from the ratio.

    Args:
        baseline: the baseline of the prediction; None for no prediction.
        allowed: per cent by which the predicted score may be lower than the baseline's; None for no check.
        anyway: whether to compare, with a warning, although the hardware is not configured as the baseline's was.

    Raises:
        ConfigurationError: it is not.
        MachineError: there is no APERF and MPERF.
        TurbotuiError: the command cannot be run, or failed.
        UsageError: a command for a machine that is not this one.
    """
    if load.command and machine.host.kind is not HostKind.REAL:
        raise UsageError("a command loads this machine, not a simulated or recorded one: leave one of them out")
    unlike_hardware = [] if baseline is None else _unlike_hardware(baseline, machine)
    if unlike_hardware and not anyway:
        raise ConfigurationError(f"{'; '.join(unlike_hardware)}: nothing was measured; --anyway compares all the same, "
                                 "with a warning")
    checked_runs: list[Run] = []
    scores: list[float | None] = []
    ended: list[datetime] = []
    for _ in range(runs):
        run, score = measure(machine, seconds, load)
        checked_runs.append(run)
        scores.append(score)
        ended.append(datetime.now(UTC))
    report = ScoreReport(checked_runs, scores,
                         list(dict.fromkeys(warning for run in checked_runs for warning in run.warnings)),
                         baseline, None, allowed, ended=ended)
    if any(run.error for run in checked_runs):
        report = replace(report, notes=(_SAMPLED_NOTE.format(percent(max(run.error for run in checked_runs), ".1f")),))
    if load.pattern is not None and None in scores:
        report = replace(report, notes=(
            *report.notes,
            f"no line that {load.command[0]} printed has a score by the pattern {load.pattern.pattern}"))
    if baseline is None:
        return report
    unlike = load_differences(baseline, checked_runs)
    doubts = [*unlike_hardware, *_unlike_clock(baseline, checked_runs)]
    beside = uncompared(baseline, baselines.configuration(machine))
    ratios, error = report.ratios, max(run.error for run in checked_runs)
    return replace(
        report, warnings=(*report.warnings, *unlike, *doubts), notes=(*report.notes, *beside), comparable=not unlike,
        prediction=predict(baseline, statistics.median(ratios), ratios, error) if ratios else None)


def _unlike_hardware(baseline: Baseline, machine: Machine) -> list[str]:
    """Return a sentence for each difference of this machine from the baseline's, for which nothing need be measured."""
    hardware = {key: value for key, value in baseline.configuration.items() if key != CLOCK}
    unlike = differences(replace(baseline, configuration=hardware), baselines.configuration(machine))
    if baseline.simulated != label(machine.host):
        unlike.append(f"the baseline is of {baseline.simulated or 'a real machine'}")
    return unlike


def _unlike_clock(baseline: Baseline, runs: Sequence[Run]) -> list[str]:
    """Return a sentence if the clock was measured in another way than the baseline's."""
    clock = {CLOCK: SAMPLED if any(run.error for run in runs) else COUNTED}
    return differences(replace(baseline, configuration={CLOCK: property_of(baseline.configuration, CLOCK)}), clock)


def keep(machine: Machine, report: ScoreReport, load: Load) -> ScoreReport:
    """Store every run for `score history`, and return the report, with a note if that failed."""
    host, baseline = machine.host, report.baseline
    configuration = baselines.configuration(machine) | (
        {CLOCK: SAMPLED} if any(run.error for run in report.runs) else {})
    command = os.path.basename(load.command[0]) if load.command else ""  # its other words may contain secrets
    kept = []
    for run, when, score in zip(report.runs, report.ended, report.measured, strict=True):
        expected = (None if baseline is None or run.ratio is None else predict(baseline, run.ratio, error=run.error))
        kept.append(history.kept_run(
            run, when, node=host.name, simulated=label(host), configuration=configuration, load=command,
            baseline=baseline, prediction=expected, measured=score))
    try:
        history.store(history.path_of(os.environ, host.name, label(host)), kept)
    except TurbotuiError as error:
        return replace(report, notes=(str(error), *report.notes))
    return report


def measure(machine: Machine, seconds: float, load: Load = _NO_LOAD) -> tuple[Run, float | None]:
    """Measure once: the difference of two readings of APERF and MPERF on every CPU, or the clock at moments.

    Returns:
        The measurement, and the score that the command printed.

    Raises:
        MachineError: there is no APERF and MPERF, and no clock at moments.
        TurbotuiError: the command cannot be run, or failed.
    """
    with _started(load) as run:
        session = Session(machine, SOURCES, _FOREVER if load.command else seconds, LinuxHost())
        capabilities = session.capabilities
        missing = [name for name in ("aperf", "mperf", "tsc") if name not in capabilities.signals]
        if missing and "tsc" not in missing and clock_moments.CLOCK in capabilities.signals:
            return _sample(Session(machine, SOURCES, min(_TICK, seconds), LinuxHost()), seconds, run)
        for name in missing:
            why = capabilities.why_missing(name).sentence()
            other = capabilities.missing.get(clock_moments.CLOCK)
            beside = "" if other is None else f"; nor can the clock be timed: {other.sentence()}"
            raise MachineError("the performance ratio is APERF over MPERF of each CPU, and "
                               f"{name.upper()} cannot be had here ({why}{beside}): turbotui doctor says more")
        session.want((*_RATIO, *_HOLDING))
        if run is None:
            *_, frame = frames_of(session, 1)
            printed = None
        else:
            with one_interval(session) as frames:
                printed = run()
            frame = frames[-1]
    ratios = [_ratio_of(session, frame, cpu) for cpu in machine.topology.cpus]
    return judge(frame.seconds or 0.0, ratios, _throttling(session, (frame,))), printed


def _sample(session: Session, seconds: float, run: Callable[[], float | None] | None) -> tuple[Run, float | None]:
    """Measure once where cycles are not counted: the mean of the clock's moments over the time stamp counter's."""
    session.look_often(None)
    session.want((*_MOMENTS, *_HOLDING))
    printed = None
    if run is None:
        frames = list(frames_of(session, max(1, round(seconds / session.interval))))
    else:
        with frames_during(session) as frames:
            printed = run()
    frames = [frame for frame in frames if frame.seconds is not None]
    if not frames:
        raise MachineError(f"the load ended before the clock was timed, which takes {session.interval:g} s")
    length = math.fsum(frame.seconds or 0.0 for frame in frames)
    cpus = [_moments_of(session, frames, cpu) for cpu in session.machine.topology.cpus]
    stolen, wanted = (_mean(session, frames, name, SYSTEM_ROW) or 0.0 for name in ("steal%", "Load%"))
    busy = [error for ratio, error in cpus if (ratio.busy or 0.0) >= BUSY and ratio.ratio is not None]
    return judge(length, [ratio for ratio, _error in cpus], _throttling(session, frames),
                 error=max(busy, default=FLOOR), stolen=stolen / wanted if wanted else 0.0), printed


def _moments_of(session: Session, frames: Sequence[Frame], cpu: int) -> tuple[CpuRatio, float]:
    """Return a CPU's ratio by all moments of some frames, and its error."""
    row = cpu_row(cpu)
    inputs = [frame.inputs(row) for frame in frames]
    counts = [row.value(clock_moments.COUNT) or 0.0 for row in inputs]
    clocks = [row.value(clock_moments.CLOCK) or 0.0 for row in inputs]
    number, ticks = math.fsum(counts), _mean(session, frames, "TSC_MHz", row)
    busy = _mean(session, frames, "Load%", row)
    mean = math.fsum(count * hertz for count, hertz in zip(counts, clocks, strict=True)) / number if number else 0.0
    spread = max((row.value(clock_moments.SPREAD) or 0.0 for row in inputs), default=0.0)
    error = moment_error(number, spread) if number else 1.0
    return CpuRatio(cpu, mean / (1e6 * ticks) if mean and ticks else None, None if busy is None else busy / 100.0,
                    inputs[-1].core_type() or ""), error


def _mean(session: Session, frames: Sequence[Frame], name: ColumnId, row: RowId) -> float | None:
    values = [value for frame in frames if (value := _number(session, frame, name, row)) is not None]
    return statistics.fmean(values) if values else None


@contextlib.contextmanager
def _started(load: Load) -> Iterator[Callable[[], float | None] | None]:
    """Fork the load's command before there are threads; yield a function that runs it and returns its score.

    Raises:
        TurbotuiError: by the function: the command cannot be run, or failed.
    """
    if not load.command:
        yield None
        return
    read_end, write_end = (None, sys.stderr.fileno()) if load.pattern is None else os.pipe()
    with contextlib.ExitStack() as ends:
        if read_end is not None:
            ends.callback(os.close, read_end)
        seen = observe(load.command, output=write_end)
        if read_end is not None:
            os.close(write_end)
        ends.enter_context(seen)

        def run() -> float | None:
            seen.run()
            score = None if read_end is None or load.pattern is None else _read_score(read_end, load.pattern)
            seen.wait()
            held = seen.commands[0]
            if seen.ended_by:
                raise SignalledError(seen.ended_by)
            if held.status:
                raise TurbotuiError(f"the load {held.name} failed with status {held.status} after "
                                    f"{seen.seconds:.1f} s: nothing is concluded from it")
            return score

        yield run


def _read_score(read_end: int, pattern: re.Pattern[str]) -> float | None:
    """Return the last score in a load's output, which is passed on to stderr; None if there is none."""
    score = None
    with open(read_end, encoding="utf-8", errors="replace", closefd=False) as lines:
        for line in lines:
            sys.stderr.write(line)
            number = score_in(line, pattern)
            score = score if number is None else number
    return score


def _ratio_of(session: Session, frame: Frame, cpu: int) -> CpuRatio:
    ratio, busy = (_cell(session, frame, name, cpu_row(cpu)) for name in _RATIO)
    return CpuRatio(cpu, ratio if isinstance(ratio, float) else None,
                    busy / 100.0 if isinstance(busy, int | float) else None,
                    frame.inputs(cpu_row(cpu)).core_type() or "")


def _throttling(session: Session, frames: Sequence[Frame]) -> Throttling:
    """Return what the machine counted of heat and power limits in all frames.

    Nothing if a part was not read, and the rest shows no throttling.
    """
    signals, packages = session.capabilities.signals, frames[-1].rows(Scope.PACKAGE)
    columns = {name: column for name in _HOLDING if (column := session.catalog.get(name)) is not None
               and all(need in signals for need in column.needs)}
    episodes = [_number(session, frame, name, SYSTEM_ROW)
                for name in ("CoreThr", "PkgThr") if name in columns for frame in frames]
    shares = [[_number(session, frame, "PKG_%", row) for frame in frames] for row in packages if "PKG_%" in columns]
    texts = [_cell(session, frames[-1], "Throttle", row) for row in packages if "Throttle" in columns]
    words = dict.fromkeys(word for text in texts if isinstance(text, str) for word in text.split()
                          if word != _NOTHING and ":" not in word)  # GFX: and Ring: do not limit cores
    known = Throttling(
        heat=int(sum(filter(None, episodes))) if episodes else None,
        limited=max((statistics.fmean(share or 0.0 for share in each) / 100.0 for each in shares), default=None),
        reasons=tuple(words) if texts else None,
    )
    unread = None in (*episodes, *itertools.chain.from_iterable(shares), *texts)
    return Throttling() if unread and not known.active else known


def _number(session: Session, frame: Frame, name: ColumnId, row: RowId) -> float | None:
    value = _cell(session, frame, name, row)
    return value if isinstance(value, int | float) else None


def _cell(session: Session, frame: Frame, name: ColumnId, row: RowId) -> Value:
    column = session.catalog.get(name)
    return None if column is None else frame.bare_cells(column, (row,))[0]


def score_in(line: str, pattern: re.Pattern[str]) -> float | None:
    """Return the score in a line of a benchmark's output; None if there is none."""
    if (match := pattern.search(line)) is None:
        return None
    try:
        value = decimal((match[1] if pattern.groups else match[0]) or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
