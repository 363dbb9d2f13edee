"""The result of `turbotui score run`: measurements, prediction, and the verdict of the check."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from turbotui.dataclass import dataclass
from turbotui.features.score.model import Baseline, Prediction, Run


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """The result of one `score run`."""

    runs: Sequence[Run]  # the measurements
    measured: Sequence[float | None] = ()  # the score that the load printed in each; None if it printed none
    warnings: Sequence[str] = ()  # doubts about the runs and the comparison
    baseline: Baseline | None = None  # the baseline of the prediction; None for no prediction
    prediction: Prediction | None = None  # the prediction from the median of all runs
    allowed: float | None = None  # per cent by which the predicted score may be lower; None for no check
    notes: Sequence[str] = ()  # other errors
    comparable: bool = True  # whether as many CPUs were as busy as for the baseline; otherwise nothing is concluded
    ended: Sequence[datetime] = ()  # the end of each run

    @property
    def ratios(self) -> list[float]:
        """The ratios of runs in which a CPU was busy."""
        return [run.ratio for run in self.runs if run.ratio is not None]

    @property
    def scores(self) -> list[float]:
        """The measured scores."""
        return [number for number in self.measured if number is not None]

    @property
    def slower(self) -> float | None:
        """Per cent by which the predicted score is below the baseline; negative if above."""
        if self.baseline is None or self.prediction is None:
            return None
        return 100.0 * (1.0 - self.prediction.value / self.baseline.value)

    @property
    def verdict(self) -> str:
        """The verdict of the check: "slower", "ok", "doubtful"; "" without a check."""
        if self.allowed is None:
            return ""
        if self.slower is None or not self.comparable:
            return "doubtful"
        if self.slower > self.allowed:
            return "slower"
        return "doubtful" if self.warnings else "ok"
