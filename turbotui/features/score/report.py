"""One use of `turbotui score run`: measurements, what they predict, and the answer of the fleet check."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from turbotui.dataclass import dataclass
from turbotui.features.score.model import Baseline, Prediction, Run


@dataclass(frozen=True, slots=True)
class ScoreReport:
    """One use of `score run`.

    Attributes:
        runs: the measurements.
        measured: the score that the load printed in each, None where it printed none.
        warnings: what is doubtful about them, and about the comparison.
        baseline: what is predicted from; None: nothing is predicted.
        prediction: of the median of all runs.
        allowed: per cent by which the predicted score may be lower; None: nobody asked.
        notes: what went wrong beside it.
        comparable: whether as many CPUs were as busy as for the baseline; without that nothing is concluded.
        ended: when each of the runs did.
    """

    runs: Sequence[Run]
    measured: Sequence[float | None] = ()
    warnings: Sequence[str] = ()
    baseline: Baseline | None = None
    prediction: Prediction | None = None
    allowed: float | None = None
    notes: Sequence[str] = ()
    comparable: bool = True
    ended: Sequence[datetime] = ()

    @property
    def ratios(self) -> list[float]:
        """The ratios of the runs in which a CPU was busy."""
        return [one.ratio for one in self.runs if one.ratio is not None]

    @property
    def scores(self) -> list[float]:
        """The scores that were measured."""
        return [one for one in self.measured if one is not None]

    @property
    def slower(self) -> float | None:
        """Per cent by which the predicted score is below the baseline; negative where it is above."""
        if self.baseline is None or self.prediction is None:
            return None
        return 100.0 * (1.0 - self.prediction.value / self.baseline.value)

    @property
    def verdict(self) -> str:
        """Verdict of the fleet check: "slower", "ok", "doubtful"; "" where it was not asked for."""
        if self.allowed is None:
            return ""
        if self.slower is None or not self.comparable:
            return "doubtful"
        if self.slower > self.allowed:
            return "slower"
        return "doubtful" if self.warnings else "ok"
