"""What `turbotui score` prints: reports of measurements, baselines, and what was kept, as text and as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from turbotui.analysis.score import Baseline, Prediction, Run, percent
from turbotui.analysis.score_history import Kept, Past, run_json
from turbotui.analysis.score_trend import Change, Group, Trend, sentences
from turbotui.untrusted import json_text


@dataclass(frozen=True, slots=True)
class Report:
    """One use of `score run`.

    Attributes:
        simulated: the label of a machine that is not this one, "" for this one.
        runs: the measurements.
        measured: the score that the load printed in each, None where it printed none.
        warnings: what is doubtful about them, and about the comparison.
        baseline: what is predicted from; None: nothing is predicted.
        prediction: of the median of all runs.
        allowed: per cent by which the predicted score may be lower; None: nobody asked.
        notes: what went wrong beside it.
        comparable: whether as many CPUs were as busy as for the baseline; without that nothing is concluded.
    """

    simulated: str
    runs: Sequence[Run]
    measured: Sequence[float | None] = ()
    warnings: Sequence[str] = ()
    baseline: Baseline | None = None
    prediction: Prediction | None = None
    allowed: float | None = None
    notes: Sequence[str] = field(default=())
    comparable: bool = True

    @property
    def ratios(self) -> list[float]:
        """Of the runs in which a CPU was busy."""
        return [one.ratio for one in self.runs if one.ratio is not None]

    @property
    def scores(self) -> list[float]:
        """That were measured."""
        return [one for one in self.measured if one is not None]

    @property
    def slower(self) -> float | None:
        """By how many per cent the predicted score is below the baseline; negative where it is above."""
        if self.baseline is None or self.prediction is None:
            return None
        return 100.0 * (1.0 - self.prediction.value / self.baseline.value)

    @property
    def verdict(self) -> str:
        """Of the fleet check: "slower", "ok", "doubtful"; "" where nobody asked."""
        if self.allowed is None:
            return ""
        if self.slower is None or not self.comparable:
            return "doubtful"
        if self.slower > self.allowed:
            return "slower"
        return "doubtful" if self.warnings else "ok"


def report_text(report: Report) -> list[str]:
    """The report in lines."""
    lines = [f"# {report.simulated}: nothing below was read from hardware"] if report.simulated else []
    lines += [f"run {number}: {_run_text(one)}" for number, one in enumerate(report.runs, 1)]
    ratios = report.ratios
    if len(ratios) > 1:
        mean, median = statistics.fmean(ratios), statistics.median(ratios)
        lines.append(f"ratio of {len(ratios)} runs: mean {mean:.5f}, median {median:.5f}, "
                     f"from {min(ratios):.5f} to {max(ratios):.5f}")
    baseline, prediction, slower = report.baseline, report.prediction, report.slower
    if baseline is not None and prediction is not None and slower is not None:
        lines.append(f"predicted {baseline.name}: {with_error(prediction.value, prediction.error)} {baseline.unit} "
                     f"(baseline {baseline.value:g} at ratio {baseline.ratio:g}: {abs(slower):.1f} % "
                     f"{'slower' if slower > 0 else 'faster'})")
    lines += _measured_text(report)
    lines += [f"warning: {warning}" for warning in report.warnings]
    if report.verdict and baseline is not None:
        answer = {"ok": f"not slower than {baseline.name} by more than {report.allowed:g} %",
                  "slower": f"SLOWER than {baseline.name} by more than {report.allowed:g} %",
                  "doubtful": "no sure answer: see the warnings"}[report.verdict]
        lines.append(f"fleet check: {answer}")
    return lines


def _run_text(one: Run) -> str:
    if one.lowest is None or one.ratio is None or one.load is None:
        return f"{one.seconds:.2f} s, no CPU was busy; {one.throttling.sentence()}"
    kind = f" ({one.lowest.kind})" if one.lowest.kind else ""
    busy = "1 CPU" if one.busy_cpus == 1 else f"{one.busy_cpus} CPUs"
    return (f"{one.seconds:.2f} s, {busy} busy for {percent(one.load)}; lowest ratio {one.ratio:.5f} on CPU "
            f"{one.lowest.cpu}{kind}: {one.state}; {one.throttling.sentence()}")


def _measured_text(report: Report) -> list[str]:
    """What the load itself said, beside what was predicted of it."""
    scores, prediction = report.scores, report.prediction
    if not scores:
        return []
    median = statistics.median(scores)
    unit = "" if report.baseline is None else f" {report.baseline.unit}"
    several = f", median of {len(scores)} runs" if len(scores) > 1 else ""
    if prediction is None:
        return [f"measured: {median:g}{unit}{several}"]
    return [f"measured: {median:g}{unit}{several}: {against(median, prediction.value, prediction.error)}"]


def with_error(value: float, error: float) -> str:
    """A value and its error bar, with as many decimals as the error has two digits: "121.5 ± 1.3"."""
    decimals = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 6
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def against(measured: float, predicted: float, error: float) -> str:
    """A measured score beside the predicted one."""
    off = measured / predicted - 1.0
    if abs(measured - predicted) <= error:
        return f"{percent(off, '+.1f')} from the prediction, within its error bar"
    why = "something besides the clock is slow" if off < 0 else "the baseline is too low, or not of this load"
    return f"{percent(off, '+.1f')} from the prediction, outside its error bar: {why}"


def report_json(report: Report) -> str:
    """The report as one JSON object; ratios are plain, scores in `unit`."""
    ratios, scores = report.ratios, report.scores
    return json_text({
        "simulated": report.simulated,
        "runs": [{"seconds": one.seconds, "ratio": one.ratio, "state": one.state,
                  "lowest_cpu": None if one.lowest is None else one.lowest.cpu,
                  "busy_cpus": one.busy_cpus, "busy": one.load,
                  "throttling": {"active": one.throttling.active, "heat": one.throttling.heat,
                                 "limited": one.throttling.limited,
                                 "reasons": None if one.throttling.reasons is None else list(one.throttling.reasons)},
                  "cpus": [{"cpu": cpu.cpu, "type": cpu.kind, "ratio": cpu.ratio, "busy": cpu.busy}
                           for cpu in one.cpus]}
                 for one in report.runs],
        "mean": statistics.fmean(ratios) if ratios else None,
        "median": statistics.median(ratios) if ratios else None,
        "lowest": min(ratios, default=None),
        "highest": max(ratios, default=None),
        "baseline": None if report.baseline is None else report.baseline.name,
        "unit": None if report.baseline is None else report.baseline.unit,
        "predicted": None if report.prediction is None else report.prediction.value,
        "error": None if report.prediction is None else report.prediction.error,
        "measured": statistics.median(scores) if scores else None,
        "slower_percent": report.slower,
        "verdict": report.verdict or None,
        "warnings": list(report.warnings),
        "notes": list(report.notes),
    }, indent=1)


def baseline_text(one: Baseline) -> str:
    """A baseline in one line."""
    facts = ", ".join(f"{key} {value}" for key, value in one.configuration.items())
    mark = f" [{one.simulated}]" if one.simulated else ""
    share = "" if one.busy is None else f" for {percent(one.busy)} of the time"
    load = "" if one.cpus is None else f" with {one.cpus} CPU{'s' * (one.cpus != 1)} busy{share}"
    return f"{one.name}: {one.value:g} {one.unit} at ratio {one.ratio:g}{load} ({facts}){mark}"


def baselines_json(known: Sequence[Baseline]) -> str:
    """Baselines as a JSON list."""
    return json_text([{"name": one.name, "unit": one.unit, "value": one.value, "ratio": one.ratio,
                        "configuration": dict(one.configuration), "simulated": one.simulated,
                        "busy_cpus": one.cpus, "busy": one.busy}
                       for one in known], indent=1)


_HEADINGS = ("when (UTC)", "ratio", "CPUs", "busy", "clock", "throttled", "predicted", "measured", "baseline", "load")
_RIGHT = {1, 2, 3, 6, 7}


def past_text(node: str, past: Past, found: Sequence[Trend], most: int) -> list[str]:
    """What was kept of a node: the newest runs in a table, then what became of it.

    Args:
        node: its name.
        past: what its file holds.
        found: the trends.
        most: runs in the table.
    """
    runs = past.runs
    shown = runs[-most:]
    simulated = runs[-1].simulated
    lines = [f"# {simulated}: nothing below was read from hardware"] if simulated else []
    lines.append(f"{node}: {len(runs)} run{'s' if len(runs) > 1 else ''} kept, {runs[0].when:%Y-%m-%d} to "
                 f"{runs[-1].when:%Y-%m-%d}" + (f"; the newest {len(shown)}:" if len(shown) < len(runs) else ""))
    cells = [_HEADINGS, *map(_cells, shown)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(_HEADINGS))]
    lines += ["  ".join(text.rjust(width) if at in _RIGHT else text.ljust(width)
                        for at, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip() for row in cells]
    if any(one.warnings for one in shown):
        lines.append("? doubtful: " + "; ".join(dict.fromkeys(text for one in shown for text in one.warnings)))
    for trend in found:
        lines += sentences(trend)
    return lines + damage_text(past)


def _cells(one: Kept) -> tuple[str, ...]:
    throttled = {True: "yes", False: "no", None: "unknown"}[one.throttling.active]
    predicted = "-"
    if one.predicted is not None:
        predicted = with_error(one.predicted, one.error or 0.0)
    return (
        f"{one.when:%Y-%m-%d %H:%M:%S}", ("-" if one.ratio is None else f"{one.ratio:.5f}") + "?" * bool(one.warnings),
        str(one.busy_cpus), "-" if one.busy is None else percent(one.busy), one.state, throttled, predicted,
        "-" if one.measured is None else f"{one.measured:g}", f"{one.baseline} {one.unit}".strip() or "-",
        one.load or "-",
    )


def damage_text(past: Past) -> list[str]:
    """Lines of the file that were passed over."""
    lines = []
    if past.damaged:
        numbers = ", ".join(map(str, past.damaged[:5])) + (" and more" if len(past.damaged) > 5 else "")
        lines.append(f"warning: {len(past.damaged)} damaged line{'s' if len(past.damaged) > 1 else ''} passed over "
                     f"(line {numbers})")
    if past.later:
        lines.append(f"warning: {past.later} of a later version of turbotui passed over")
    return lines


def past_json(node: str, past: Past, found: Sequence[Trend]) -> dict[str, object]:
    """The same for a program."""
    return {
        "node": node,
        "runs": [run_json(one) for one in past.runs],
        "trends": [
            {"baseline": trend.baseline, "load": trend.load, "unit": trend.unit, "days": trend.days,
             "left_out": {"doubtful": trend.doubtful, "other_configuration": trend.otherwise,
                          "differing": list(trend.differing), "other_load": trend.unlike},
             "changes": [_change_json(change) for change in trend.changes]}
            for trend in found
        ],
        "damaged_lines": list(past.damaged),
        "later_version_lines": past.later,
    }


def _change_json(change: Change) -> dict[str, object]:
    return {
        "quantity": change.quantity, "verdict": change.verdict, "relative": change.relative, "chance": change.chance,
        "now": _group_json(change.now), "before": None if change.before is None else _group_json(change.before),
        "before_is_the_month_before": change.month,
    }


def _group_json(group: Group) -> dict[str, object]:
    return {"median": group.median, "runs": group.count, "throttled": group.throttled,
            "first": f"{group.first:%Y-%m-%dT%H:%M:%SZ}", "last": f"{group.last:%Y-%m-%dT%H:%M:%SZ}"}
