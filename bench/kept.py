"""Runs the dashboard on answers of earlier ticks in place of a model, to measure its own cost on a large machine.

A simulated machine is computed while it is read. Here it is read for some ticks, whose answers are kept, and then
they are given again, one a tick: what is measured begins with the second of them, for in the first counters go back.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from bench.child import report_shares
from turbotui.cli import main
from turbotui.sampling import sampler
from turbotui.sampling.answers import Answer
from turbotui.sampling.worker_pool import WorkerPool
from turbotui.simulated.model import Model

_SETTLED = 8  # ticks in which what is read still changes: the first screen, its columns, and what it looks at


class _KeptPool(WorkerPool):
    """A worker pool that reads a number of ticks, and then returns the same answers again."""

    ticks = 0
    again = threading.Event()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._kept: list[tuple[list[Answer], frozenset[int]]] = []
        self._seen = self._given = 0

    async def ask(self, *arguments: Any, **words: Any) -> tuple[list[Answer], frozenset[int]]:
        """Read, or return earlier answers."""
        self._seen += 1
        if len(self._kept) < self.ticks:
            answers = await super().ask(*arguments, **words)
            answered = {kind for answer in answers[0] for kind in answer.rows}
            # ticks in which nobody was late, no reader of rows either
            if self._seen > _SETTLED and not answers[1] and answered == self._by_kind.keys():
                self._kept.append(answers)
            return answers
        self._given += 1
        if self._given == 1:
            setattr(Model, "now", _stopped)  # noqa: B010 - looks at tasks would have it computed meanwhile
        if self._given == 2:
            self.again.set()
        return self._kept[(self._given - 1) % self.ticks]


def _stopped(_model: Model) -> float:
    """Return the time of a machine whose clock stands still."""
    return 100.0


def _as_it_is(_sampler: sampler.Sampler) -> None:
    """Skip the check of the CPU set, whose files the model would have to compute."""


def _report(path: str, seconds: float) -> None:
    _KeptPool.again.wait()
    report_shares(path, 0.5, seconds)  # from between two ticks


if __name__ == "__main__":
    report, count, *words = sys.argv[1:]
    _KeptPool.ticks = int(count)
    vars(sampler)["WorkerPool"] = _KeptPool
    vars(sampler)["_LATE_SHARE"] = 10.0  # the model may take as long as it does: nobody waits for it later
    setattr(sampler.Sampler, "_new_topology", _as_it_is)  # noqa: B010 - it is no method of the class's own
    threading.Thread(target=_report, args=(report, float(count) - 3.0), name="clock", daemon=True).start()
    sys.exit(main(words))
