"""Derived uncore values: on the simulated machine against what its model knows, and against hand-made counts."""

from __future__ import annotations

import struct

import pytest
from every_row import of_every
from model_truth import truth_of

from turbotui.events.encoder import EventEncoder
from turbotui.quantities.uncore import ELAPSED, Metric, kind_of, metrics_of
from turbotui.quantities.uncore.kinds import PMUS
from turbotui.quantities.uncore.names import UNNAMED_FABRIC
from turbotui.simulated import ManualClock, simulated_host

METRICS = tuple(metric for pmu in PMUS.names() for metric in metrics_of(pmu))

SECONDS = 2.0


def of(pmu: str, title: str, unit: str) -> Metric:
    (metric,) = [item for item in METRICS if (item.pmu, item.what, item.unit) == (pmu, title, unit)]
    return metric


def measured(metric: Metric, instance: str, expected_bytes: str = "") -> tuple[float | None, float]:
    """The metric from one group of counters over two seconds, and the bytes that the model says moved meanwhile."""
    clock = ManualClock()
    host = simulated_host("vera-2s", clock)
    events = EventEncoder(host).encode("{" + ",".join(f"{instance}/{name}/" for name in metric.needs) + "}")
    leader = -1
    for event in events:
        opened = host.perf_event_open(event.attr, -1, event.cpus[0], leader)
        leader = opened if leader < 0 else leader
    old = truth_of(host).package_truth(0)
    clock.advance(SECONDS)
    words = struct.unpack(f"={3 + len(events)}Q", host.read_counter(leader, 8 * (3 + len(events))))
    new = truth_of(host).package_truth(0)
    values: dict[str, float | None] = {"dt": SECONDS * 1e9, **dict(zip(metric.needs, words[3:], strict=True))}
    return metric.expression.evaluate(values), getattr(new, expected_bytes or "seconds") - getattr(
        old, expected_bytes or "seconds"
    )


@pytest.mark.parametrize(
    ("pmu", "instance", "title", "unit", "expected"),
    [
        ("nvidia_ucf_pmu", "nvidia_ucf_pmu_0", "frequency", "GHz", 2.5),
        ("nvidia_pcie_tgt_pmu", "nvidia_pcie_tgt_pmu_1_rc_2", "frequency", "GHz", 1.04),
        ("nvidia_ucf_pmu", "nvidia_ucf_pmu_0", "slc rd hits", "%", 100 * 0.8 / 1.8),
        ("nvidia_pcie_pmu", "nvidia_pcie_pmu_0_rc_1", "rd latency", "ns", 640),
        ("nvidia_cmem_latency_pmu", "nvidia_cmem_latency_pmu_1", "rd latency", "ns", 145),
        ("nvidia_cmem_latency_pmu", "nvidia_cmem_latency_pmu_1", "rd latency", "cycles", 145 * 1.2),
        ("nvidia_nvlink_c2c_pmu", "nvidia_nvlink_c2c_pmu_0", "in_wr latency", "ns", 300),
        ("nvidia_nvclink_pmu", "nvidia_nvclink_pmu_0", "out_rd latency", "ns", 520),
        ("nvidia_nvdlink_pmu", "nvidia_nvdlink_pmu_0", "in_rd latency", "ns", None),  # no request, no latency
    ],
)
def test_known_answers(pmu: str, instance: str, title: str, unit: str, expected: float | None) -> None:
    value, _ = measured(of(pmu, title, unit), instance)
    assert value == (None if expected is None else pytest.approx(expected, rel=1e-3))


@pytest.mark.parametrize(
    ("pmu", "title"), [("nvidia_ucf_pmu", "mem rd bandwidth"), ("nvidia_cmem_latency_pmu", "rd bandwidth")]
)
def test_bandwidth_is_bytes_of_the_model(pmu: str, title: str) -> None:
    value, moved = measured(of(pmu, title, "GB/s"), f"{pmu}_0", "read_bytes")
    assert value == pytest.approx(moved / (SECONDS * 1e9), rel=1e-4)


def test_requests_by_hand() -> None:
    metric = of("nvidia_pcie_pmu", "wr requests", "1/cycle")
    assert metric.needs == ("wr_req", "cycles")
    assert metric.expression.evaluate({"wr_req": 30.0, "cycles": 120.0}) == 0.25


@of_every(PMUS.names())
def test_a_table_of_a_pmu_is_whole(pmu: str) -> None:
    metrics = metrics_of(pmu)
    assert metrics or kind_of(pmu).what
    for metric in metrics:
        assert metric.needs or metric.formula in ("dram", "link"), "firmware or sysfs says a peak, no event"
        assert metric.document.startswith(("kernel ", "AMD PPR, ", "Intel perfmon, ", "selftests/resctrl, "))
        assert metric.unit in {"GB/s", "1/cycle", "cycles", "ns", "GHz", "%", "M/s", "walks"}
        if {"dram", "link"} & {*metric.expression.names}:  # a share of what is told by the second
            continue
        assert (metric.unit in ("GB/s", "M/s", "GHz")) == (ELAPSED in metric.expression.names and metric.unit != "ns")
    assert len({(metric.id, metric.formula) for metric in metrics}) == len(metrics)


def test_every_event_of_every_metric_is_one_of_the_pmu() -> None:
    encoder = EventEncoder(simulated_host("vera-2s", ManualClock()))
    for metric in (item for item in METRICS if "tegra410" in item.document):
        if metric.pmu == UNNAMED_FABRIC:
            continue
        suffix = "_0_rc_0" if "pcie" in metric.pmu else "_0"
        for name in metric.needs:
            assert len(encoder.encode(f"{metric.pmu}{suffix}/{name}/")) == 1
