"""Names of the vendor's tables wherever an event is typed: search, the form, spies, the uncore screen, --add perf/."""

from __future__ import annotations

from pathlib import Path

import pytest
from named_events import event_folder
from patience import but_for_missed_deadlines, least_disturbed

from turbotui.cli import main
from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.events.event_tables.searching import EventSearch
from turbotui.events.set_files import shipped_sets
from turbotui.sampling.event_completion import complete_events
from turbotui.simulated import ManualClock, simulated_host

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EventSearch:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("TURBOTUI_EVENT_TABLES", event_folder(tmp_path / "tables"))
    host = simulated_host("sapphire-2s", ManualClock())
    return EventSearch(host, open_vendor_tables(host))


@pytest.mark.parametrize(("typed", "expected"), [
    ("mem_inst", ["mem_inst_retired.all_loads", "mem_inst_retired.all_stores", "old.mem_inst"]),
    ("MEM_INST_RETIRED.ALL_S", ["mem_inst_retired.all_stores"]),
    ("retired load", ["mem_inst_retired.all_loads"]),
    ("{cycles,mem_inst_retired.all_l", ["{cycles,mem_inst_retired.all_loads"]),
    ("L=mem_inst_retired.all_l", ["L=mem_inst_retired.all_loads"]),
    ("uncore_imc/unc", ["uncore_imc/unc_m_cas_count.rd/"]),
    ("older", ["old.mem_inst"]),
    ("unc_x", []),
    ("zzz", []),
])
def test_completions_by_name_and_by_words(search: EventSearch, typed: str, expected: list[str]) -> None:
    host = simulated_host("sapphire-2s", ManualClock())
    assert [completion.text for completion in complete_events(host, typed, shipped_sets(), search=search)] == expected


def test_a_completion_has_the_vendors_words(search: EventSearch) -> None:
    host = simulated_host("sapphire-2s", ManualClock())
    (completion,) = complete_events(host, "uncore_imc/unc", shipped_sets(), search=search)
    assert completion.note == "Reads by the memory's columns"


def test_no_more_than_asked_for(search: EventSearch) -> None:
    assert [row.name for row in search.find("mem", 1)] == ["mem_inst_retired.all_loads"]
    assert [row.name for row in search.find("", 9, "uncore_imc_0")] == ["unc_m_cas_count.rd"]
    assert search.find("", 9) == ()


@least_disturbed
def test_turbostats_form_of_an_event_takes_the_names_too(
    capsys: pytest.CaptureFixture[str], search: EventSearch
) -> None:
    assert search.tables.event("unc_m_cas_count.rd")
    words = ("stat", "-q", "-S", "-n", "1", "-i", "1", "--machine", "sapphire-2s", "-s", "loads,rd,same,bytes")
    added = ("--add", "perf/cpu/MEM_INST_RETIRED.ALL_LOADS,u64,delta,loads",
             "--add", "perf/uncore_imc_0/unc_m_cas_count.rd,package,delta,rd",
             "--add", "perf/uncore_imc_0/event=0x05,umask=0xcf,package,delta,same",
             "--add", "perf/uncore_imc_0/cas_count_read,package,delta,bytes")
    assert main([*words, *added]) == 0
    out, err = capsys.readouterr()
    assert but_for_missed_deadlines(err) == []
    names, values = (line.split() for line in out.splitlines() if not line.startswith("#"))
    result = {name: float(value) for name, value in zip(names, values, strict=True)}
    assert result["loads"] > 0
    assert result["rd"] == pytest.approx(result["same"], rel=0.02)  # read one after the other
    assert result["rd"] > 0


def test_uncore_takes_a_name_alone(capsys: pytest.CaptureFixture[str], search: EventSearch) -> None:
    assert search.tables.source
    words = ("uncore", "--machine", "sapphire-2s", "-k", "imc", "-n", "1", "-i", "0.1", "--json")
    assert main([*words, "-e", "Unc_M_Cas_Count.Rd"]) == 0
    assert '"unc_m_cas_count.rd M/s":' in capsys.readouterr().out
    assert main([*words, "-e", "unc_x.y"]) == 2
    assert "write PMU/.../" in capsys.readouterr().err
