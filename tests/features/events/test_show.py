"""`turbotui events show`: every source of a name, its descriptions, events of one code, metrics."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsontables import table

from turbotui.cli import main

ROWS = [
    {"EventName": "MEM_INST_RETIRED.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81", "SampleAfterValue": "1000003",
     "BriefDescription": "Retired loads", "PublicDescription": "Counts all loads.", "Errata": "SPR1, SPR2"},
    {"EventName": "MEM_INST_RETIRED.ANY", "EventCode": "0xd0", "UMask": "0x83", "BriefDescription": "Both",
     "Deprecated": "1"},
    {"EventName": "UNC_M_READ", "EventCode": "0x05", "UMask": "0xcf", "Unit": "iMC", "ScaleUnit": "6.1e-5MiB",
     "PerPkg": "1"},
    {"EventName": "UNC_X.Y", "EventCode": "0x1", "Unit": "X", "BriefDescription": "of a PMU that is not here"},
]
METRICS = [
    {"MetricName": "loads", "MetricExpr": "cpu@mem_inst_retired.all_loads\\,umask\\=0x1@ / cycles"},
    {"MetricName": "through", "MetricExpr": "loads * 2", "MetricGroup": "One;Two"},
    {"MetricName": "farther", "MetricExpr": "through + 1"},
    {"MetricName": "ruled", "MetricExpr": "cycles / instructions",
     "MetricThreshold": "ruled > MEM_INST_RETIRED.ALL_LOADS"},
    {"MetricName": "longer", "MetricExpr": "MEM_INST_RETIRED.ALL_LOADS_NOT / cycles"},
    {"MetricName": "broken", "MetricExpr": "MEM_INST_RETIRED.ALL_LOADS + "},
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "model").mkdir()
    (tmp_path / "model/memory.json").write_text(json.dumps(ROWS))
    (tmp_path / "model/metrics.json").write_text(json.dumps(METRICS))
    (tmp_path / "mapfile.csv").write_text("h\nGenuineIntel-6-8F,v1,model,core\n")
    return str(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["events", "show", *words, "--machine", "sapphire-2s"])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.parametrize("name", ["Mem_Inst_Retired.All_Loads", "cpu/MEM_INST_RETIRED.ALL_LOADS/"])
def test_all_of_an_event_in_any_case(capsys: pytest.CaptureFixture[str], folder: str, name: str) -> None:
    _, out, _ = run(capsys, name, "--event-tables", folder, "--json")
    (row,) = table(out, "known_events")["rows"]
    values = row["values"]
    assert (values["code"], values["umask"], values["config"], values["counters"]) == (0xD0, 0x81, 0x81D0, 1)
    assert (values["brief"], values["errata"]) == ("Retired loads  Spec update: SPR1, SPR2", "SPR1, SPR2")
    assert values["description"].startswith("Counts all loads")
    assert (values["deprecated"], values["topic"]) == ("no", "memory")
    masks = {item["name"]: item["values"]["umask"] for item in table(out, "unit_masks")["rows"]}
    assert masks == {"mem_inst_retired.all_loads": 0x81, "mem_inst_retired.any": 0x83}
    uses = {item["metric"]: item["values"] for item in table(out, "event_metrics")["rows"]}
    assert {name: (item["through"], item["threshold"]) for name, item in uses.items()} == {
        "loads": ("", "no"), "through": ("loads", "no"), "farther": ("through", "no"), "ruled": ("", "yes")}


def test_for_people(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    _, out, _ = run(capsys, "mem_inst_retired.any", "--event-tables", folder)
    assert "deprecated by the vendor" in out
    _, out, _ = run(capsys, "unc_m_read", "--event-tables", folder)
    assert "PMU uncore_imc (8), on CPUs 0,56" in out
    assert "unit MiB, scale 6.1e-05; one count is of a package; topic memory" in out
    _, out, _ = run(capsys, "unc_x.y", "--event-tables", folder)
    assert "not here: This machine has no PMU uncore_x." in out
    _, out, _ = run(capsys, "mem_inst_retired.all_loads", "--event-tables", folder)
    lines = out.splitlines()
    assert "  ruled (its threshold)  " in lines
    assert "  through these: farther, through" in lines


def test_sysfs_comes_first_and_is_called_so(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    _, out, _ = run(capsys, "uncore_imc/cas_count_read/", "--event-tables", folder, "--json")
    (row,) = table(out, "known_events")["rows"]
    assert (row["values"]["source"], row["engine"], row["values"]["unit"]) == ("sysfs", "own", "MiB")
    _, out, _ = run(capsys, "page-faults", "--event-tables", "none")
    assert "page-faults  [own: the kernel's generic events]" in out


@pytest.mark.parametrize(("name", "words"), [
    ("mem_inst_retired.al_loads", "has no event 'mem_inst_retired.al_loads'; did you mean mem_inst_retired.all_loads"),
    ("through", "through is a metric and no event"),
])
def test_a_name_that_nobody_knows(capsys: pytest.CaptureFixture[str], folder: str, name: str, words: str) -> None:
    status, out, err = run(capsys, name, "--event-tables", folder)
    assert (status, out, words in err) == (2, "", True)
