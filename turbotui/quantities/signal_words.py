"""Explanations of the signals that formulas name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

SIGNAL_WORDS: Final[Mapping[str, str]] = {
    "tsc": "ticks of the time stamp counter, which always runs at the same clock",
    "mperf": "ticks at base clock while the CPU executes",
    "aperf": "ticks at the actual clock while the CPU executes",
    "tsc_tweak": "base clock / clock of the time stamp counter: brings its ticks to those at base clock",
    "moment.error": "√(spread² / moments + 0.003²); the spread is 0.024 until ten moments are known",
    "moment.spread": "relative standard deviation of the last ten moments",
    "tj_max": "temperature at which the processor slows itself down",
}
"""Explanation by signal id. Intel SDM vol. 3, Hardware Feedback and Time-Stamp Counter; turbostat(8) for tsc_tweak."""


def legend(formulas: str) -> Iterator[str]:
    """A line for each explained signal in some formulas, and one for the formulas' signs."""
    if "Δ" in formulas:
        yield "Δ: how much a counter grew over the interval"
    yield from (f"{signal}: {words}" for signal, words in SIGNAL_WORDS.items() if signal in formulas)
