"""The completions that the form offers while an event is typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.events.event_tables.searching import EventSearch
from turbotui.events.set_files import shipped_sets
from turbotui.quantities.event_columns import parse_requests
from turbotui.sampling.event_completion import complete_events
from turbotui.simulated import ManualClock, simulated_host

INTEL = simulated_host("sapphire-2s", ManualClock())
VERA = simulated_host("vera-2s", ManualClock())


def texts(machine: str, typed: str) -> list[str]:
    host = VERA if machine == "vera" else INTEL
    return [completion.text for completion in complete_events(host, typed, shipped_sets())]


@pytest.mark.parametrize(("machine", "typed", "expected"), [
    ("intel", "set:m", ["set:memory"]),
    ("intel", "SET:m", ["set:memory"]),
    ("intel", "uncore_im", ["uncore_imc/"]),
    ("intel", "uncore_imc_7", ["uncore_imc_7/"]),
    ("intel", "uncore_imc/cas", ["uncore_imc/cas_count_read/", "uncore_imc/cas_count_write/"]),
    ("intel", "{instructions,cpu-c", ["{instructions,cpu-cycles", "{instructions,cpu-clock"]),
    ("intel", "CPI=cycles/instr", ["CPI=cycles/instructions"]),
    ("intel", "X=('dTLB-l", ["X=('dTLB-loads", "X=('dTLB-load-misses"]),
    ("intel", "cycles:u,nam", ["cycles:u,name="]),
    ("intel", "cpu/event=0x3c,cm", ["cpu/event=0x3c,cmask="]),
    ("intel", "zzz", []),
    ("vera", "nvidia_pcie_pmu", ["nvidia_pcie_pmu_0_rc/", "nvidia_pcie_pmu_1_rc/"]),
    ("vera", "nvidia_ucf_pmu_0/slc_bytes_rd,src_r", ["nvidia_ucf_pmu_0/slc_bytes_rd,src_rem="]),
    ("vera", "A='nvidia_cmem_latency_pmu/rd_r", ["A='nvidia_cmem_latency_pmu/rd_req/"]),
])
def test_completions(machine: str, typed: str, expected: list[str]) -> None:
    assert texts(machine, typed) == expected


def test_metrics_and_their_groups_follow_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    assert texts("intel", "met") == ["metric:"]
    assert texts("intel", "metric:Made") == []  # no tables
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", str(Path(__file__).parents[1] / "tables" / "event_tables"))
    host = simulated_host("sapphire-2s", ManualClock())
    search = EventSearch(host, open_vendor_tables(host))
    completions = complete_events(host, "metric:work,Made", shipped_sets(), search=search)
    assert [completion.text.removeprefix("metric:work,") for completion in completions] == [
        "MadeL1", "made_absent", "made_ipc", "made_misses", "made_rate"]
    assert completions[0].note == "2 metrics"


def test_an_empty_field_offers_common_events_first_then_sets_and_the_machines_pmus() -> None:
    completions = complete_events(VERA, "", shipped_sets())
    first = [completion.text for completion in completions[:4]]
    assert first == ["instructions", "cycles", "cache-misses", "cache-references"]
    assert completions[8].text == "set:"
    notes = {completion.text: completion.note for completion in completions}
    assert notes["nvidia_ucf_pmu/"] == "2 PMUs, summed"
    assert "software/" not in notes


def test_what_is_completed_can_be_added() -> None:
    for typed in ("uncore_imc/", "cyc", "{cycles,ins", "power/"):
        for text in texts("intel", typed):
            if not text.endswith(("=", "/")) or "/e" in text or "/cas" in text:
                whole = text + ("}" if text.startswith("{") else "")
                assert parse_requests(whole)[0].events


def test_hardware_events_are_not_offered_where_no_core_counts_them() -> None:
    completions = complete_events(simulated_host("guest", ManualClock()), "", shipped_sets())
    assert [completion.text for completion in completions[:3]] == ["page-faults", "context-switches", "set:"]
