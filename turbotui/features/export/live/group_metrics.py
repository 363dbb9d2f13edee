"""Metrics of control groups and resctrl groups, only on request, because there may be very many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, cast

from turbotui.feature import part
from turbotui.feature_list import FEATURES
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import MetricLevel
from turbotui.machine.host import Host

GROUP: Final = MetricLevel("group", None)
RESCTRL_GROUP: Final = MetricLevel("resctrl_group", None)


class _Totals(Protocol):
    """One reading of a reader that `Feature.totals` makes."""

    @property
    def left_out(self) -> int:
        """The number of groups that have no samples."""

    def metrics(self) -> Iterable[tuple[bool, str, bool, str, Sequence[tuple[str, float]]]]:
        """Each metric: whether it is of resctrl groups, name, whether it is a counter, HELP, paths and values."""


class _Reader(Protocol):
    def read(self) -> _Totals: ...


class GroupMetrics:
    """The metrics of groups: of at most `most` of each kind, within a control group ("/" for all)."""

    levels: Final = (GROUP, RESCTRL_GROUP)

    def __init__(self, host: Host, within: str, most: int) -> None:
        self._readers = [cast("Callable[[Host, str, int], _Reader]", part(feature.totals))(host, within, most)
                         for feature in FEATURES if feature.totals]

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """Return the present metrics, and how many groups were left out."""
        every = [reader.read() for reader in self._readers]
        return [_exposed(*metric) for totals in every for metric in totals.metrics()], {
            "groups": sum(totals.left_out for totals in every)}


def _exposed(is_monitored: bool, stem: str, is_counter: bool, text: str,
             samples: Sequence[tuple[str, float]]) -> ExposedMetric:
    level = RESCTRL_GROUP if is_monitored else GROUP
    return ExposedMetric(f"turbotui_{level.word}_{stem}", "counter" if is_counter else "gauge", text,
                         [({level.word: path}, value) for path, value in samples], level)
