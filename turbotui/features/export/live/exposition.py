"""What one scrape tells: metrics with their samples, made of a frame and the totals, within a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.levels import CORE_TYPE, DIE, L3, PACKAGE, MetricLevel

MOST_SERIES: Final = 300
MOST_BYTES: Final = 30_000
"""Of a scrape whose levels nobody asked for."""
_LEFT_OUT: Final = "turbotui_export_left_out"


@dataclass(frozen=True, slots=True)
class Exposed:
    """A metric with its samples.

    Attributes:
        name: without `_total` and `_info`.
        kind: "counter", "gauge" or "info".
        text: HELP.
        samples: labels and value of each.
        level: that it is of; None for what is about the machine's facts and the collector.
        spread: whether its samples are least, 95th percentile and greatest.
    """

    name: str
    kind: str
    text: str
    samples: Sequence[tuple[Mapping[str, str], float]]
    level: MetricLevel | None = None
    spread: bool = False

    @property
    def size(self) -> int:
        """About how many bytes it takes as text: names, labels, numbers, HELP and TYPE."""
        head = 2 * len(self.name) + len(self.text) + 40
        lines = sum(sum(len(name) + len(value) + 4 for name, value in labels.items()) for labels, _ in self.samples)
        return head + lines + len(self.samples) * (len(self.name) + 24)


@dataclass(frozen=True, slots=True)
class LeftOutPart:
    """What is left out at once: a level, or its spreads alone."""

    level: MetricLevel
    spreads_alone: bool = False

    def has(self, metric: Exposed) -> bool:
        """Whether a metric belongs to it."""
        return metric.level is self.level and (metric.spread or not self.spreads_alone)

    @property
    def word(self) -> str:
        """The metric's name."""
        return f"{self.level.word} spreads" if self.spreads_alone else self.level.word


LEFT_OUT_FIRST: Final = (
    LeftOutPart(L3), LeftOutPart(DIE), LeftOutPart(CORE_TYPE), LeftOutPart(PACKAGE, spreads_alone=True),
    LeftOutPart(PACKAGE))
"""The order in which parts are left out that would go beyond the limits; the machine itself never is."""


def within(metrics: Sequence[Exposed], asked: Iterable[MetricLevel], common: int, *, series: int = MOST_SERIES,
           size: int = MOST_BYTES, others: Mapping[str, int] | None = None) -> Sequence[Exposed]:
    """The metrics without the parts that would go beyond the limits, and with one that says what was left out.

    Args:
        metrics: all of them.
        asked: levels that a person asked for: they count for nothing and stay.
        common: bytes of the labels that every sample has beside its own.
        series: most samples.
        size: most bytes.
        others: of what else how many were left out.
    """
    named = frozenset(asked)
    gone: list[tuple[Mapping[str, str], float]] = [
        ({"part": word}, float(number)) for word, number in (others or {}).items() if number]
    kept = list(metrics)
    for part in LEFT_OUT_FIRST:
        counted = [one for one in kept if one.level not in named]
        samples = sum(len(one.samples) for one in counted) + len(gone)
        if samples <= series and sum(one.size for one in counted) + common * samples <= size:
            break
        dropped = [one for one in kept if part.has(one)]
        if dropped:
            gone.append(({"part": part.word}, float(sum(len(one.samples) for one in dropped))))
            kept = [one for one in kept if not part.has(one)]
    if gone:
        kept.append(Exposed(_LEFT_OUT, "gauge", "Series, groups, tasks left out to keep a scrape small (--series, "
                            "--size, --most)", gone))
    return kept


def with_labels(metrics: Iterable[Exposed], labels: Mapping[str, str]) -> Iterator[Exposed]:
    """The metrics with labels that every sample has: simulated="true"."""
    for one in metrics:
        samples = [({**own, **labels}, value) for own, value in one.samples] if labels else one.samples
        yield replace(one, samples=samples)
