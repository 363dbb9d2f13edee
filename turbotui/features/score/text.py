"""Text of `turbotui score`: tables of measurements and of the history, and sentences about them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from turbotui.commands.formats import text_lines
from turbotui.features.score.history import RunHistory
from turbotui.features.score.model import percent
from turbotui.features.score.past_tables import history_table
from turbotui.features.score.report import ScoreReport
from turbotui.features.score.tables import run_table
from turbotui.features.score.trend import Trend, sentences
from turbotui.tables.envelope import Envelope


def report_lines(envelope: Envelope, report: ScoreReport) -> Iterator[str]:
    """Format the report as lines."""
    yield from text_lines(envelope, run_table(report))
    ratios = report.ratios
    if len(ratios) > 1:
        mean, median = statistics.fmean(ratios), statistics.median(ratios)
        yield (f"ratio of {len(ratios)} runs: mean {mean:.5f}, median {median:.5f}, "
               f"from {min(ratios):.5f} to {max(ratios):.5f}")
    baseline, prediction, slower = report.baseline, report.prediction, report.slower
    if baseline is not None and prediction is not None and slower is not None:
        yield (f"predicted {baseline.name}: {with_error(prediction.value, prediction.error)} {baseline.unit} "
               f"(baseline {baseline.value:g} at ratio {baseline.ratio:g}: {abs(slower):.1f} % "
               f"{'slower' if slower > 0 else 'faster'})")
    yield from _measured_text(report)
    yield from (f"warning: {warning}" for warning in report.warnings)
    if report.verdict and baseline is not None:
        answer = {"ok": f"not slower than {baseline.name} by more than {report.allowed:g} %",
                  "slower": f"SLOWER than {baseline.name} by more than {report.allowed:g} %",
                  "doubtful": "no sure answer: see the warnings"}[report.verdict]
        yield f"fleet check: {answer}"


def _measured_text(report: ScoreReport) -> list[str]:
    """Describe the score that the load itself printed, beside the predicted one."""
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
    """Format a value and its error, with decimals for two digits of the error: "121.5 ± 1.3"."""
    decimals = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 6
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def against(measured: float, predicted: float, error: float) -> str:
    """Compare a measured score with the predicted one."""
    off = measured / predicted - 1.0
    if abs(measured - predicted) <= error:
        return f"{percent(off, '+.1f')} from the prediction, within its error bar"
    why = "something besides the clock is slow" if off < 0 else "the baseline is too low, or not of this load"
    return f"{percent(off, '+.1f')} from the prediction, outside its error bar: {why}"


def past_lines(envelope: Envelope, past: RunHistory, trends: Sequence[Trend], most: int) -> Iterator[str]:
    """Format the history of a node: the newest runs in a table, then the trends."""
    runs = past.runs
    shown = runs[-most:]
    yield (f"{envelope.machine}: {len(runs)} run{'s' if len(runs) > 1 else ''} kept, {runs[0].when:%Y-%m-%d} to "
           f"{runs[-1].when:%Y-%m-%d}" + (f"; the newest {len(shown)}:" if len(shown) < len(runs) else ""))
    yield from text_lines(envelope, history_table(runs, most))
    if any(run.warnings for run in shown):
        yield "? doubtful: " + "; ".join(dict.fromkeys(text for run in shown for text in run.warnings))
    for trend in trends:
        yield from sentences(trend)
    yield from damage_text(past)


def damage_text(past: RunHistory) -> list[str]:
    """Describe the lines of the file that were skipped."""
    lines = []
    if past.damaged:
        numbers = ", ".join(map(str, past.damaged[:5])) + (" and more" if len(past.damaged) > 5 else "")
        lines.append(f"warning: {len(past.damaged)} damaged line{'s' if len(past.damaged) > 1 else ''} passed over "
                     f"(line {numbers})")
    if past.later:
        lines.append(f"warning: {past.later} of a later version of turbotui passed over")
    return lines
