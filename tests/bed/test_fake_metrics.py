"""Metrics of the vendor's tables against perf's own arithmetic on the same counts, in a fake machine.

`perf stat -j -M` prints the counts beside the metric and says whether it is past its threshold. The core PMU of the
machine counts whatever code it is given, each at a rate of its own, so that every event of the tables is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from fake_machine import FakeMachine, shape_of, why_not

from turbotui.errors import UsageError
from turbotui.events.event_tables.cpuid import cpuid_of
from turbotui.events.event_tables.model import VendorTables
from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.event_columns import EventColumn
from turbotui.sampling.adding_metrics import metric_requests
from turbotui.simulated import SimulatedHost
from turbotui.simulated.pmu import Context, SimulatedCounter, SimulatedPmu

PERF: Final = shutil.which("perf") or ""
METRICS: Final = {
    "sapphire-2s": ("TopdownL1", "tma_memory_bound", "tma_l1_bound", "tma_info_system_dram_bw_use",
                    "tma_info_system_mem_read_latency", "tma_info_system_uncore_frequency"),
    "turin-2s": ("PipelineL1", "l2_cache_hits_from_l2_hwpf"),
}


@cache
def absent() -> str:
    if why_not():
        return why_not()
    if not PERF:
        return "perf is not installed (Debian: linux-perf)"
    told = subprocess.run([PERF, "list", "-j", "metric"], capture_output=True, check=False, text=True,  # noqa: S603 - perf itself
                          env=os.environ | {"PERF_CPUID": "GenuineIntel-6-8F-8"})  # fmt: skip
    return "" if "tma_memory_bound" in told.stdout else "perf list -j tells no metrics (Debian: linux-perf from 6.2 on)"


def counting(name: str) -> SimulatedHost:
    """A machine of two cores a package whose cores count any event."""
    host = shape_of(name, cores=2, packages=2)
    perf = host._perf
    perf.pmus = tuple(_of_any_event(pmu) if pmu.context is Context.CORE else pmu for pmu in perf.pmus)
    perf._by_type = {pmu.type: pmu for pmu in perf.pmus}
    perf._cores = [pmu for pmu in perf.pmus if pmu.context is Context.CORE]
    return host


def _of_any_event(pmu: SimulatedPmu) -> SimulatedPmu:
    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        result = pmu.resolve(attr, cpu)
        if not isinstance(result, int):
            return replace(result, slots=0)
        rate = 1e5 * (1 + (attr.config * 2654435761 + attr.config1 * 97 + cpu * 7) % 997)
        return SimulatedCounter(lambda now: rate * now)

    return replace(pmu, resolve=resolve)


def told_by_perf(host: SimulatedHost, metric: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    with monkeypatch.context() as here:
        here.setenv("PERF_CPUID", cpuid_of(host))
        with FakeMachine(host).started([PERF, "stat", "-a", "-j", "-M", metric, "sleep", "0.05"]) as running:
            errors = running.ended().errors
    return [json.loads(line) for line in errors.splitlines() if line.startswith("{")]


def column_of(machine: Machine, tables: VendorTables, metric: str) -> EventColumn:
    (planned,) = metric_requests(machine, tables, f"metric:{metric}")
    return planned.request.columns[0]


@pytest.mark.parametrize("name", METRICS)
def test_values_and_thresholds_are_perfs_on_the_same_counts(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if absent():
        pytest.skip(absent())
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", "")  # those of this perf
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    host = counting(name)
    machine = read_machine(host)
    try:
        tables = open_vendor_tables(host)
    except UsageError as error:
        pytest.skip(str(error))
    wanted = [metric for each in METRICS[name] for metric in (*tables.group(each), *tables.metric(each))]
    assert len(wanted) >= 4
    compared = 0
    for metric in dict.fromkeys(vendor_metric.name for vendor_metric in wanted):
        column = column_of(machine, tables, metric)
        rows = told_by_perf(host, metric, monkeypatch)
        counts = {row["event"]: float(row["counter-value"]) for row in rows if row.get("event")}
        values: dict[str, float | None] = {**counts, "dt": counts.get("duration_time", 0.0) * 1e-9}
        (theirs,) = (row for row in rows if row.get("metric-unit", "").split()[-1:] == [metric])
        assert set(column.names) <= values.keys(), metric
        assert column.value(values) == pytest.approx(float(theirs["metric-value"]), rel=1e-6, abs=2e-6), metric
        if theirs.get("metric-threshold", "unknown") != "unknown":
            assert (column.stands_out(values) == 1.0) is (theirs["metric-threshold"] == "bad"), metric
        compared += 1
    assert compared >= 4
