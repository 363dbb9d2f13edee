"""`turbotui power`: text, JSON, and a recording of the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsontables import tables

from turbotui.cli import main

pytestmark = pytest.mark.usefixtures("moved_time")

LAPTOP = ("--machine", "laptop-gpu")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["power", *words]) == 0
    return capsys.readouterr().out


def test_text_says_the_balance_and_what_contradicts_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "-i", "0.1", "-n", "1", "--machine", "server-psu")
    lines = text.splitlines()
    assert "SIMULATED" in lines[0]
    assert " W by power supplies: package " in lines[1]
    assert any(line.startswith("# ! the parts, ") and "exceed psys" in line for line in lines)


def test_json_has_a_row_for_each_consumer_and_says_where_it_lies(capsys: pytest.CaptureFixture[str]) -> None:
    result = {table["table"]: table for table in tables(run(capsys, "-i", "0.1", "-n", "1", *LAPTOP, "--json"))}
    assert result.keys() == {"power", "batteries", "fans"}
    rows = {row["consumer"]: row for row in result["power"]["rows"]}
    assert rows["cores"]["values"]["Inside"] == "package"
    assert rows["GPU0"]["role"] == "counted"
    assert rows["NPU0"]["values"]["Watt"] is None
    assert "no watts" in json.dumps(rows["NPU0"]["why"])
    parts = [row["values"]["Watt"] for row in rows.values() if row["role"] == "counted"]
    assert rows["sum"]["values"]["Watt"] == pytest.approx(sum(parts), abs=0.03)
    assert result["batteries"]["rows"][0]["values"]["State"] == "Discharging"
    assert [row["fan"] for row in result["fans"]["rows"]] == ["Fan0", "Fan1"]


def test_a_recording_has_the_raw_readings_and_gives_the_balance_again(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "laptop.ttr"
    assert main(["record", str(path), "-i", "0.1", "-n", "2", *LAPTOP, "--show", "Busy%", "--tables", "power"]) == 0
    capsys.readouterr()
    result = tables(run(capsys, "--replay", str(path), "-n", "1", "--json"))
    assert [row["battery"] for row in result[1]["rows"]] == ["BAT0", "BAT1", "hidpp_battery_0"]
    rows = {row["consumer"]: row["values"] for row in result[0]["rows"]}
    assert rows["GPU0"]["Watt"] == pytest.approx(34.0, rel=0.05)
    assert rows["GPU0"]["Device"] == "xe 0000:03:00.0"
    assert rows["elsewhere"]["Watt"] == pytest.approx(
        rows["psys"]["Watt"] - sum(rows[name]["Watt"] for name in ("package", "memory", "GPU0")), abs=0.05)


def test_it_is_one_of_several_tables_in_openmetrics(capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "-i", "0.1", "-n", "1", *LAPTOP, "--format", "openmetrics")
    assert re.search(r'consumer="GPU0"[^}]*role="counted"', text), "what may be added up says so"
    assert 'battery="BAT0"' in text


def test_its_table_of_batteries_is_that_of_the_verb_batteries(capsys: pytest.CaptureFixture[str]) -> None:
    """Column by column and cell by cell, but for what changes with the second."""
    (ours,) = tables(run(capsys, "-i", "0.1", "-n", "1", *LAPTOP, "--table", "batteries", "--json"))
    assert main(["batteries", "-i", "0.1", "-n", "1", *LAPTOP, "--json"]) == 0
    (theirs,) = tables(capsys.readouterr().out)
    assert (ours["table"], ours["columns"]) == (theirs["table"], theirs["columns"])
    for row, other in zip(ours["rows"], theirs["rows"], strict=True):
        still = row["values"].keys() - {"Age", "Charge%", "Energy", "Left", "Watt", "Charge"}
        assert {name: row["values"][name] for name in still} == {name: other["values"][name] for name in still}
        assert row["why"] == other["why"]


def test_a_recording_of_meters_without_rows_of_batteries_says_so(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "laptop.ttr"
    assert main(["record", str(path), "-i", "0.1", "-n", "2", *LAPTOP, "--show", "Bat0Watt"]) == 0
    capsys.readouterr()
    text = run(capsys, "--replay", str(path), "-n", "1")
    assert "# no table of batteries: not read: batteries were not read in this interval; record --tables power" in text
    assert "Charge%" not in text


def test_info_lists_what_tells_of_power(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", *LAPTOP]) == 0
    lines = {line.strip() for line in capsys.readouterr().out.splitlines()}
    assert {"graphics card: xe 0000:03:00.0", "battery: BAT0 SIM 5B10W13930, 80.0 of 87.9 Wh when new",
            "neural processor: accel0", "fans: 2 at thinkpad"} <= lines


@pytest.mark.parametrize("form", ["text", "json", "csv", "openmetrics"])
def test_a_machine_that_is_shown_no_power_says_why_and_ends_with_3(
        form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["power", "-i", "0.1", "-n", "1", "--machine", "guest", "--format", form]) == 3
    output = capsys.readouterr()
    assert not output.out
    assert "nothing here tells of power: virtual machine: perf power: this virtual machine is not given" in output.err


def test_a_recording_without_power_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "guest.ttr"
    assert main(["record", str(path), "-i", "0.1", "-n", "2", "--machine", "guest"]) == 0
    capsys.readouterr()
    assert main(["power", "--replay", str(path)]) == 1
    output = capsys.readouterr()
    assert not output.out
    assert "guest.ttr holds no readings of power" in output.err
