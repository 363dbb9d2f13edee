"""Histograms of waits for a CPU in a scrape, as Prometheus' own parser reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from prochost import ProcHost
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from turbotui.cli import main
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.rendering import OPENMETRICS, RenderedScrape
from turbotui.features.export.live.wait_metrics import BOUNDS, WaitMetrics
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.histograms import bucket_bounds, bucket_of, merged_buckets
from turbotui.quantities.unavailable import Reason, Unavailable

MS = 1_000_000


def waited(*lengths: int) -> WaitSums:
    return WaitSums(times=len(lengths), ended=sum(lengths),
                    lengths=merged_buckets({bucket_of(length): 1} for length in lengths))


@dataclass
class Recorded:
    """A source of waits by thread and by CPU that are known beforehand, one pair a look."""

    looks: list[tuple[Mapping[int, WaitSums], Mapping[int, WaitSums]]]
    why_no_wakeups: Unavailable | None = None
    lost: int = 0

    def take(self) -> tuple[Mapping[int, WaitSums], Mapping[int, WaitSums]]:
        return self.looks.pop(0) if self.looks else ({}, {})

    def close(self) -> None:
        """Nothing to close."""


HOST = ProcHost({"/proc/7/cgroup": "0::/batch.slice/a.service\n", "/proc/8/cgroup": "0::/web.slice/b.service\n"})


def samples(metrics: list[ExposedMetric]) -> dict[tuple[str, tuple[str, ...]], float]:
    text = RenderedScrape([metric for metric in metrics if metric.samples]).body(OPENMETRICS, packed=False).decode()
    families = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]  # the parser has no types
    assert {family.type for family in families} == {"histogram", "counter"}
    return {(item.name, tuple(item.labels.values())): item.value for family in families for item in family.samples}


def test_histograms_are_cumulative_and_only_grow() -> None:
    first = ({7: waited(MS, 40 * MS), 8: waited(3 * MS)}, {0: waited(MS, 40 * MS), 1: waited(3 * MS)})
    source = Recorded([first, ({8: waited(5), 99: waited(2 * MS)}, {1: waited(5, 2 * MS)})], lost=4)
    metrics = WaitMetrics(HOST, source, 9, per_cpu=True)
    result = samples(list(metrics.read()[0]))
    name = "turbotui_machine_run_queue_wait_seconds"
    assert result[f"{name}_count", ()] == 3
    assert result[f"{name}_sum", ()] == pytest.approx(0.044)
    assert result[f"{name}_bucket", ("0.001048576",)] == 1
    assert result[f"{name}_bucket", ("0.004194304",)] == 2
    assert result[f"{name}_bucket", ("+Inf",)] == 3
    assert result["turbotui_cpu_run_queue_wait_seconds_count", ("0",)] == 2
    assert result["turbotui_group_run_queue_wait_seconds_count", ("/web.slice/b.service",)] == 1
    assert result["turbotui_machine_switch_records_lost_total", ()] == 4
    later = samples(list(metrics.read()[0]))
    assert all(later[key] >= value for key, value in result.items())
    assert later[f"{name}_count", ()] == 5
    assert later["turbotui_group_run_queue_wait_seconds_count", ("(ended, its group was not seen)",)] == 1


def test_groups_beyond_the_greatest_number_are_counted_and_without_wake_ups_the_name_is_another() -> None:
    why = Unavailable(Reason.NO_DRIVER, "no tracefs")
    source = Recorded([({7: waited(MS, MS), 8: waited(MS)}, {0: waited(MS, MS, MS)})], why)
    metrics, left_out = WaitMetrics(HOST, source, 1, per_cpu=False).read()
    assert left_out == {"groups with waits": 1}
    assert {metric.name for metric in metrics} == {
        "turbotui_machine_preempted_wait_seconds", "turbotui_group_preempted_wait_seconds",
        "turbotui_machine_switch_records_lost"}
    assert "wake-ups are unknown" in metrics[0].text


def test_no_bucket_crosses_an_exported_bound() -> None:
    for bound in BOUNDS:
        assert bucket_bounds(bucket_of(bound))[1] == bound


def test_a_simulated_machine_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--waits", "--machine", "laptop-old"]) == 2
    assert "nobody waits for its CPUs" in capsys.readouterr().err
