"""The content of one scrape: metrics with samples from a frame and the totals, within a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.export.live.levels import CORE_TYPE, DIE, L3, PACKAGE, MetricLevel

MOST_SERIES: Final = 300
MOST_BYTES: Final = 30_000
"""The limits of a scrape whose levels were not requested."""
_LEFT_OUT: Final = "turbotui_export_left_out"


@dataclass(frozen=True, slots=True)
class ExposedMetric:
    """A metric with its samples."""

    name: str  # without `_total` and `_info`
    kind: str  # "counter", "gauge", "info" or "histogram"
    text: str  # HELP
    samples: Sequence[tuple[Mapping[str, str], float]]  # labels and value of each
    level: MetricLevel | None = None  # the metric's level; None for facts of the machine and the collector
    spread: bool = False  # whether the samples are minimum, 95th percentile and maximum
    endings: Sequence[str] = ()  # of a histogram: what the name of each sample ends with

    @property
    def size(self) -> int:
        """The approximate bytes of the metric as text: names, labels, numbers, HELP and TYPE."""
        head = 2 * len(self.name) + len(self.text) + 40
        lines = sum(sum(len(name) + len(value) + 4 for name, value in labels.items()) for labels, _ in self.samples)
        return head + lines + len(self.samples) * (len(self.name) + 24)


@dataclass(frozen=True, slots=True)
class LeftOutPart:
    """A part that is left out as a whole: a level, or only its spreads."""

    level: MetricLevel
    spreads_alone: bool = False

    def has(self, metric: ExposedMetric) -> bool:
        """Tell whether a metric belongs to the part."""
        return metric.level is self.level and (metric.spread or not self.spreads_alone)

    @property
    def word(self) -> str:
        """The metric's name."""
        return f"{self.level.word} spreads" if self.spreads_alone else self.level.word


LEFT_OUT_FIRST: Final = (
    LeftOutPart(L3), LeftOutPart(DIE), LeftOutPart(CORE_TYPE), LeftOutPart(PACKAGE, spreads_alone=True),
    LeftOutPart(PACKAGE))
"""The order in which parts are left out to stay within the limits; the machine's level never is."""


def within(metrics: Sequence[ExposedMetric], asked: Iterable[MetricLevel], common: int, *, series: int = MOST_SERIES,
           size: int = MOST_BYTES, others: Mapping[str, int] | None = None) -> Sequence[ExposedMetric]:
    """Leave out the parts that exceed the limits, and add a metric that tells what was left out.

    Args:
        asked: levels that the user requested, which always stay and do not count.
        common: bytes of the labels that all samples share.
    """
    named = frozenset(asked)
    gone: list[tuple[Mapping[str, str], float]] = [
        ({"part": word}, float(number)) for word, number in (others or {}).items() if number]
    kept = list(metrics)
    for part in LEFT_OUT_FIRST:
        counted = [metric for metric in kept if metric.level not in named]
        samples = sum(len(metric.samples) for metric in counted) + len(gone)
        if samples <= series and sum(metric.size for metric in counted) + common * samples <= size:
            break
        dropped = [metric for metric in kept if part.has(metric)]
        if dropped:
            gone.append(({"part": part.word}, float(sum(len(metric.samples) for metric in dropped))))
            kept = [metric for metric in kept if not part.has(metric)]
    if gone:
        kept.append(ExposedMetric(_LEFT_OUT, "gauge",
                                  "Series, groups, tasks left out to keep a scrape small (--series, "
                                  "--size, --most)", gone))
    return kept


def with_labels(metrics: Iterable[ExposedMetric], labels: Mapping[str, str]) -> Iterator[ExposedMetric]:
    """Add labels to every sample, such as simulated="true"."""
    for metric in metrics:
        samples = [({**own, **labels}, value) for own, value in metric.samples] if labels else metric.samples
        yield replace(metric, samples=samples)
