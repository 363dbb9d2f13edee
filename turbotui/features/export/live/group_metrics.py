"""Metrics of control groups and resctrl groups, only on request, because there may be very many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.levels import MetricLevel
from turbotui.features.groups.totals import METRICS, MONITORED, GroupMetric, GroupTotal, GroupTotalsReader
from turbotui.machine.host import Host

GROUP: Final = MetricLevel("group", None)
RESCTRL_GROUP: Final = MetricLevel("resctrl_group", None)


class GroupMetrics:
    """The metrics of groups: of at most `most` of each kind, within a control group ("/" for all)."""

    levels: Final = (GROUP, RESCTRL_GROUP)

    def __init__(self, host: Host, within: str, most: int) -> None:
        self._reader = GroupTotalsReader(host, within, most)

    def read(self) -> tuple[Sequence[ExposedMetric], Mapping[str, int]]:
        """Return the present metrics, and how many groups were left out."""
        totals = self._reader.read()
        plain = [group for group in totals.groups if not group.is_monitored]
        monitored = [group for group in totals.groups if group.is_monitored]
        return (*_metrics(METRICS, plain, GROUP), *_metrics(MONITORED, monitored, RESCTRL_GROUP)), {
            "groups": totals.left_out}


def _metrics(metrics: Sequence[GroupMetric], groups: Sequence[GroupTotal],
             level: MetricLevel) -> Iterator[ExposedMetric]:
    for metric in metrics:
        samples = [({level.word: group.group.path}, float(group.values[metric.stem])) for group in groups
                   if metric.stem in group.values]
        yield ExposedMetric(f"turbotui_{level.word}_{metric.stem}", "counter" if metric.counter else "gauge",
                            f"{metric.text} ({metric.document})", samples, level)
