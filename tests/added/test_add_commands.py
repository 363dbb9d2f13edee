"""--add, --events and `events sets` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsontables import by, table

from turbotui.cli import main

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")

MINE = """
[mine]
title = "my own"
[[mine.column]]
name = "SwPs"
formula = "cs / dt"
unit = "/s"
"""


def out(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    said = capsys.readouterr()
    return status, said.out, said.err


def stat(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return out(capsys, "stat", "--machine", "sapphire-2s", "-c", "0-1", "-q", "-n", "1", "-i", "0.05", "--show", "CPU",
               *words)


def test_stat_adds_events_groups_formulas_and_sets(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _said = stat(capsys, "--add", "cycles:u,name=UCYC", "--add", "{branches,branch-misses}",
                               "--add", "CPI=cycles/instructions", "--add", "set:ipc")
    assert status == 0
    titles = text.splitlines()[1].split("\t")
    assert titles[0] == "CPU"
    assert {"UCYC", "branches", "branch-misses", "CPI", "uIPC", "kIPC", "kIns%", "IPC"} == set(titles[1:])
    for line in text.splitlines()[2:]:
        assert all(cell for cell in line.split("\t"))


def test_a_set_is_known_by_its_prefix_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    titles = [stat(capsys, "--add", f"{prefix}ipc")[1].splitlines()[1] for prefix in ("set:", "SET:", " Set: ")]
    assert "uIPC" in titles[0]
    assert len(set(titles)) == 1
    assert groups(capsys, "SET:ipc") == groups(capsys, "set:ipc")


def groups(capsys: pytest.CaptureFixture[str], text: str) -> str:
    """The titles of groups with added columns."""
    return out(capsys, "groups", "--machine", "laptop", "-n", "1", "-i", "0.1", "--format", "csv", "--add",
               text)[1].splitlines()[0]


def test_stat_leaves_out_what_the_machine_lacks_and_ends_where_the_text_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text, said = stat(capsys, "--add", "uncore_gone/clockticks/", "--add", "cycles")
    assert status == 0
    assert "clockticks is not added: no hardware: This machine has no PMU 'uncore_gone'" in said
    assert text.splitlines()[1] == "CPU\tcycles"
    for words, part in ((("--add", "instrctions"), "did you mean instructions"),
                        (("--add", "X=1+"), "is wrong at position"), (("--add", "set:ipx"), "did you mean ipc"),
                        (("--add", "CPI=cycles/instructions", "--add", "CPI=cycles/branches"), "CPI already")):
        status, _text, said = stat(capsys, *words)
        assert status == 1
        assert part in said
        assert said.count("\n") == 1


def test_a_file_of_sets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINE)
    status, text, _said = stat(capsys, "--events", str(file), "--add", "set:mine")
    assert (status, text.splitlines()[1]) == (0, "CPU\tSwPs")
    file.write_text(MINE.replace("cs / dt", "cs /"))
    status, _text, said = stat(capsys, "--events", str(file), "--add", "set:mine")
    assert status == 2, "the file is refused before anything is added"
    assert "mine.toml, line 6: " in said


def test_sets_are_listed_with_what_is_used_and_why_not_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _said = out(capsys, "events", "sets", "--machine", "vera-2s")
    assert status == 0
    assert text.startswith("# SIMULATED machine vera-2s")
    assert "  MemRdGBs  package  GB/s    'nvidia_ucf_pmu/mem_bytes_rd/' / dt / 1e9" in text.splitlines()
    assert "a column that is there anyway" in text
    assert "not here: no hardware: " in text
    status, text, _said = out(capsys, "events", "sets", "memory", "--machine", "vera-2s", "--json")
    rows = by(table(text, "sets"), "column")
    assert list(rows) == ["MemRdGBs", "MemWrGBs", "MemGBs"]
    assert {row["available"] for row in rows.values()} == {"yes"}
    assert rows["MemRdGBs"]["formula"] == "'nvidia_ucf_pmu/mem_bytes_rd/' / dt / 1e9"
    refused = table(text, "refused")["rows"][0]
    assert (refused["set"], refused["column"], refused["number"]) == ("memory", "MemRdGBs", 0)
    assert "no PMU 'uncore_imc'" in refused["values"]["reason"]
    _status, text, _said = out(capsys, "events", "sets", "memory", "--machine", "vera-2s")
    assert "  not 'uncore_imc/cas_count_read/' / dt / 1e9" in text.splitlines()
    status, _text, said = out(capsys, "events", "sets", "nothing", "--machine", "vera-2s")
    assert status != 0
    assert "there are branches, caches" in said


def test_columns_tell_how_an_added_one_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    _status, text, _said = out(capsys, "columns", "--machine", "guest", "--json", "--add", "set:branches",
                               "--add", "Sw=cs/dt")
    rows = by(table(text, "columns"), "id")
    assert rows["Sw"]["available"] == "yes"
    assert rows["Sw"]["unit"] == "/s"
    assert rows["BrMiss%"]["available"] == "no"
    assert "no core PMU" in rows["BrMiss%"]["reason"]
