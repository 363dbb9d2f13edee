"""The vendor's tables on the command line: --event-tables, events encode and list, columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsontables import table

from turbotui.cli import main
from turbotui.events.libpfm.library import PfmPmu, PmuKind, knows_cpu

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")

ROWS = [
    {"EventName": "MEM_INST_RETIRED.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81",
     "BriefDescription": "Retired loads"},
    {"EventName": "UNC_M_CAS_COUNT.RD", "EventCode": "0x05", "UMask": "0xcf", "Unit": "iMC",
     "BriefDescription": "All \u001b[31mreads", "Deprecated": "1"},
    {"EventName": "UNC_X.Y", "EventCode": "0x1", "Unit": "X", "BriefDescription": "of a PMU that is not here"},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/memory.json").write_text(json.dumps(ROWS))
    (tmp_path / "mapfile.csv").write_text("h\nGenuineIntel-6-8F,v1,model,core\n")
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def test_encode_says_which_table_and_what_it_is(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    words = ("events", "encode", "mem_inst_retired.all_loads", "--machine", "sapphire-2s", "--event-tables", folder)
    _, out, _ = run(capsys, *words, "--json")
    (row,) = table(out, "encodings")["rows"]
    values = row["values"]
    assert (values["config"], values["engine"], values["description"]) == (0x81D0, "tables", "Retired loads")
    assert values["table"] == f"{folder}/model (mapfile.csv GenuineIntel-6-8F)"
    _, out, _ = run(capsys, *words)
    assert f"[tables: {values['table']}, cpu]" in out
    status, _, err = run(capsys, *words, "--engine", "own")
    assert (status, "has no event" in err) == (2, True)


def test_an_event_of_a_pmu_that_is_not_here_is_called_that(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    words = ("events", "encode", "--machine", "sapphire-2s", "--event-tables", folder)
    status, _, err = run(capsys, *words, "unc_x.y")
    assert status == 2
    assert "has no event 'unc_x.y'; its vendor's tables have it for the PMU uncore_x, which the kernel does not" in err
    _, _, err = run(capsys, *words, "mem_inst_retired.all_load")
    assert "did you mean mem_inst_retired.all_loads" in err


def test_the_list_finds_names_and_then_descriptions(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    words = ("--machine", "sapphire-2s", "--event-tables", folder, "--no-open")
    _, out, _ = run(capsys, "events", "list", "retired loads", *words, "--json")
    rows = {row["name"]: row["values"] for row in table(out, "events")["rows"]}
    assert rows["mem_inst_retired.all_loads"]["engine"] == "tables"
    assert rows["mem_inst_retired.all_loads"]["type"] == "vendor"
    _, out, _ = run(capsys, "events", "list", "unc_*", *words)
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    assert lines == ["? unc_m_cas_count.rd  All ␛[31mreads (deprecated)"]


def test_a_folder_that_cannot_be_used_is_refused_at_once(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    spy = ("spy", "--events", "cycles")
    for words in (("stat", "-q", "-n", "1"), spy, ("uncore",), ("events", "encode", "cycles")):
        status, _, err = run(capsys, *words, "--machine", "turin-2s", "--event-tables", folder)
        assert (status != 0, "has no row for the CPU AuthenticAMD-26-2-1" in err) == (True, True), words


def test_an_event_of_the_tables_is_a_column_that_says_so(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    words = ("--machine", "sapphire-2s", "--event-tables", folder, "--add", "MEM_INST_RETIRED.ALL_LOADS")
    status, out, _ = run(capsys, "columns", *words, "--json")
    assert status == 0
    assert f"perf cpu/event=0xd0,umask=0x81/, of {folder}/model (mapfile.csv GenuineIntel-6-8F)" in out


def _model(name: str, kind: PmuKind) -> PfmPmu:
    return PfmPmu(name, kind, 0, present=True)


def test_a_library_that_has_only_the_architectural_events_does_not_know_the_cpu() -> None:
    generic = [_model("perf", PmuKind.OS_GENERIC), _model("ix86arch", PmuKind.CORE), _model("rapl", PmuKind.UNCORE)]
    assert not knows_cpu(generic)
    assert knows_cpu([*generic, _model("spr", PmuKind.CORE)])


def test_an_uncore_event_of_the_tables_is_a_column_of_its_pmus(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    words = ("uncore", "--machine", "sapphire-2s", "-k", "imc", "-n", "1", "-i", "0.1", "--event-tables", folder)
    status, out, _ = run(capsys, *words, "-e", "uncore_imc/UNC_M_CAS_COUNT.RD/", "--json")
    assert status == 0
    assert '"unc_m_cas_count.rd M/s":' in out
    status, _, err = run(capsys, *words, "-e", "uncore_imc/unc_x.y/")
    assert (status, "has no event and no field 'unc_x.y'" in err) == (2, True)


def test_settings_name_a_folder_that_the_command_line_overrules(
    capsys: pytest.CaptureFixture[str], folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    settings = tmp_path / "config/turbotui/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'theme = "calm"\nevent_tables = "{folder}"\n')
    words = ("events", "encode", "mem_inst_retired.all_loads", "--machine", "sapphire-2s")
    assert run(capsys, *words)[0] == 2  # the environment of the tests says none, and comes first
    monkeypatch.delenv("TURBOTUI_EVENT_TABLES")
    _, out, _ = run(capsys, *words)
    assert f"[tables: {folder}/model" in out
    assert run(capsys, *words, "--event-tables", "none")[0] == 2
    settings.write_text("event_tables = 5\n")  # the dashboard says what is wrong in it
    monkeypatch.setenv("PATH", "")
    status, _, err = run(capsys, *words)
    assert (status, "perf is not installed" in err) == (2, True)
