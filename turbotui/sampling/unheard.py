"""Answers that came after their tick: none is lost, and above all not that counters began with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.sampling.answers import Answer, Answering


class Unheard:
    """The newest late answer of each worker, until the worker is heard again.

    On a machine where every answer takes longer than a tick waits, they are all there is.
    """

    def __init__(self) -> None:
        self._answers: dict[Answering, Answer] = {}

    def take(self, answer: Answer) -> None:
        """Keep an answer that came too late; on the worker's thread, which is not asked meanwhile."""
        began = answer.began.union(*(tick.began for tick in answer.ticks.values()))
        before = self._answers.get(answer.worker)
        if before is not None:
            began |= before.began
        kept = Answer(answer.worker) if answer.ticks else answer
        self._answers[answer.worker] = replace(kept, began=began, late=True)

    def forget_readings(self) -> None:
        """Drop readings kept so far, after a change of the plan or of the CPUs; keep which counters began."""
        for worker, answer in list(self._answers.items()):
            self._answers[worker] = Answer(worker, began=answer.began, late=True)

    def with_answers(self, answers: Sequence[Answer], *, ticks: bool) -> list[Answer]:
        """The answers to a tick, with what was not heard of earlier ones.

        Args:
            answers: that came in time.
            ticks: they are to several ticks, none of which an earlier answer can stand in for.
        """
        if not self._answers:
            return list(answers)
        found = []
        for answer in answers:
            missed = self._answers.pop(answer.worker, None)
            found.append(answer if missed is None else _began_too(answer, missed.began))
        for worker, answer in list(self._answers.items()):
            if not ticks and (answer.readings.cpus or answer.shared):
                found.append(self._answers.pop(worker))
        return found


def _began_too(answer: Answer, began: frozenset[tuple[str, int]]) -> Answer:
    """An answer from whose readings on no difference reaches back before what began unheard."""
    if not began:
        return answer
    if not answer.ticks:
        return replace(answer, began=answer.began | began)
    first = min(answer.ticks)
    return replace(answer, ticks={**answer.ticks, first: _began_too(answer.ticks[first], began)})
