"""`turbotui spy`: its output on simulated machines, and its message if nothing can be counted."""

from __future__ import annotations

import csv
import io
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsontables import tables
from patience import but_for_missed_deadlines

from turbotui.cli import main

QUICK = ("spy", "--machine", "laptop-old", "-i", "0.05", "-n", "4")
TURNS = (*QUICK, "--events", "cycles,branches;cache-misses", "--on", "core 1")


def test_comma_separated_values_name_what_is_estimated(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TURNS, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    spied = [row for row in rows if row["cpu"] in {"1", "5"}]
    assert len(spied) == 4 * 2
    marks = [row["estimated"] for row in spied]
    assert set(marks) >= {"cycles;branches", "cache-misses"}
    for row, mark in zip(spied, marks, strict=True):
        assert mark in {"cycles;branches", "cache-misses", ""}, "nothing else waits for its time slice"
        unknown = [name for name in ("cycles", "branches", "cache-misses") if not row[name]]
        assert mark or unknown, "what was not counted and cannot be joined yet is empty, never 0"
        assert float(row["instructions"]) > 0
    assert all(row["kind"] == "SIMULATED" for row in rows)
    assert {row["instructions"] for row in rows if row["cpu"] == "0"} == {""}, "nobody spies on CPU 0"


def test_json_names_what_is_estimated_and_why_the_rest_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TURNS, "--format", "json"]) == 0
    frames = tables(capsys.readouterr().out)
    assert [frame["kind"] for frame in frames] == ["SIMULATED"] * 4
    rows = {row.get("cpu"): row for row in frames[-1]["rows"]}
    assert rows[1]["estimated"] in (["cycles", "branches"], ["cache-misses"])
    assert rows[0]["why"]["cycles"].startswith("not read: ")
    assert all(0.0 < frame["seconds"] < 5.0 for frame in frames), "the interval that really was"


def test_one_spy_on_one_cpu_with_power_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--on", "2", "-c", "2"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.split()[:1] == ["2"]]
    assert [row[3] for row in rows] == ["1", "2", "3", "4"], "the number of samples"
    assert "PkgWatt" in out
    heads = [line for line in out.splitlines() if line.startswith("# ")]
    assert len(heads) == 4
    assert all(" s, events per second, SIMULATED" in line for line in heads)
    assert all(float(row[-2]) > 0 for row in rows)


def test_the_cost_is_reported_beside_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TURNS, "--cost"]) == 0
    text = [line for line in capsys.readouterr().err.splitlines() if line.startswith("# cost: ")]
    assert len(text) == 4
    for words in ("group reads", "wake-ups", "us of CPU time", "function-call interrupts"):
        assert words in text[-1]


def _spied(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main([*words, "--joined", "--format", "json"]) == 0
    result = tables(capsys.readouterr().out)
    assert {item["table"] for item in result} == {"spied_intervals"}
    return result


def test_every_interval_is_joined_in_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    result = _spied(capsys, *TURNS)
    assert all((item["kind"], item["facts"]["reference"]) == ("SIMULATED", "instructions") for item in result)
    rows = [row for item in result for row in item["rows"]]
    assert sorted((row["seq"], row["cpu"]) for row in rows) == [(seq, cpu) for seq in (1, 2, 3, 4) for cpu in (1, 5)]
    for row in rows:
        assert set(row["values"]) == {"length", "instructions", "cycles", "branches", "cache-misses"}
        assert row["estimated"] in (["cycles", "branches"], ["cache-misses"])
        length = row["values"]["length"]
        assert length == round(length, 9), "nanoseconds, and no noise behind them"
        assert 0.0 < length < 5.0
    formulas = {column["id"]: column.get("formula", "") for column in result[0]["columns"]}
    assert formulas["instructions"] == "Δinstructions", "it is counted in every set"
    assert formulas["cycles"].startswith("Δcycles; in intervals of another set Δinstructions x ")


def test_an_event_that_a_cpu_does_not_count_is_a_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    path.write_text('[[spy]]\non = "0"\nevents = ["branches"]\n[[spy]]\non = "1"\nevents = ["cycles"]\n')
    (row, *_rest) = _spied(capsys, *QUICK[:-2], "-n", "1", "--config", str(path))[0]["rows"]
    assert (row["cpu"], row["values"]["cycles"]) == (0, None)
    assert row["why"]["cycles"].startswith("not read: ")
    assert row["values"]["branches"] > 0


@pytest.mark.parametrize("words", [TURNS, (*TURNS, "--joined")], ids=["rates", "joined"])
def test_every_format_tells_the_same_rows(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main([*words, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len([row for row in rows if row["cpu"] in {"1", "5"}]) == 4 * 2
    assert main([*words]) == 0
    text = capsys.readouterr().out.splitlines()
    heads = [line for line in text if line.startswith("# ")]
    assert {head.split(",")[0] for head in heads} == {"# spied_intervals" if "--joined" in words else "# cpus"}
    assert any("~" in line for line in text if not line.startswith("#"))
    assert main([*words, "--format", "openmetrics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines.index("# EOF") == len(lines) - 1
    name = "turbotui_spied_intervals_cycles{" if "--joined" in words else "turbotui_cycles_per_second{"
    samples = [line for line in lines if line.startswith(name) and ('cpu="1"' in line or 'cpu="5"' in line)]
    assert len(samples) >= (8 if "--joined" in words else 4), "joined ones are all known"


def test_notes_are_reported_beside_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("spy", "--machine", "guest", "-i", "0.05", "-n", "2", "--events", "context-switches;page-faults")
    assert main([*words, "--json"]) == 0
    out, error = capsys.readouterr()
    (first, second) = tables(out)
    (note,) = (note for note in first["notes"] if note.startswith("instructions joins the multiplexed sets"))
    assert second["notes"] == first["notes"]
    assert error.count(note) == 1, "said once"


def test_sets_that_nothing_joins_are_reported_to_be_known_in_their_own_intervals_only(
        capsys: pytest.CaptureFixture[str]) -> None:
    words = ("spy", "--machine", "guest", "-i", "0.05", "-n", "2", "--events", "context-switches;page-faults")
    assert main([*words]) == 0
    assert "instructions joins the multiplexed sets and cannot be counted here" in capsys.readouterr().err
    assert main([*words, "--reference", "task-clock"]) == 0
    out, error = capsys.readouterr()
    assert but_for_missed_deadlines(error) == []
    assert "~" in out


class _Changing(io.StringIO):
    """Output that calls when something is in it for the first time."""

    def __init__(self, wanted: str, call: Callable[[], object]) -> None:
        super().__init__()
        self._wanted = wanted
        self._call: Callable[[], object] | None = call

    def write(self, text: str) -> int:
        count = super().write(text)
        if self._call is not None and self._wanted in self.getvalue():
            call, self._call = self._call, None
            call()
        return count


def test_notes_of_a_changed_file_are_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "spies.toml"
    entry = '[[spy]]\non = "{}"\nevents = ["cycles"]\n'
    path.write_text(entry.format("1"))
    out = _Changing("spied", lambda: path.write_text(entry.format("1") + entry.format("99")))
    error = _Changing("99: no such CPU", lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", error)
    assert main([*QUICK[:-1], "600", "--config", str(path), "--joined", "--json"]) == 0
    assert "turbotui: 99: no such CPU is measured here\n" in error.getvalue()
    result = tables(out.getvalue())
    assert "notes" not in result[0]
    assert len(result) < 600


@pytest.mark.parametrize(("words", "says"), [
    (("--machine", "guest"), "--reference task-clock --events context-switches,page-faults"),
    (("--machine", "laptop-old", "--on", "socket 1"), "names no CPUs"),
    (("--machine", "laptop-old", "--config", "/nowhere.toml"), "/nowhere.toml cannot be read"),
    (("--machine", "laptop-old", "-n", "0"), "at least one sample"),
    (("--machine", "laptop-old", "--on", "9"), "--on 9: no such CPU is measured here, only 0-7"),
    (("--machine", "laptop-old", "-c", "2,3", "--on", "0-1"), "--on 0-1: no such CPU is measured here, only 2-3"),
    (("--machine", "laptop-old", "--on", "package 3"), "--on package 3: no such CPU is measured here, only 0-7"),
    (("--machine", "laptop-old", "--reference", "bogus"), "--reference bogus: failed: This machine has no event"),
    (("--machine", "laptop-old", "--events", "bogus"), "turbotui: This machine has no event 'bogus'"),
    (("--machine", "guest", "--events", "bogus;bogus2"),
     "turbotui: This machine has no event 'bogus'; This machine has no event 'bogus2'"),
    (("--machine", "laptop-old", "-i", "0.01"), "the shortest is 0.05"),
    (("--machine", "laptop-old", "--monitor-cpu", "99999"), "CPU 99999"),
])
def test_what_cannot_be_done_is_reported(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], says: str) -> None:
    assert main(["spy", "-n", "1", *words]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert says in error.splitlines()[-1]


@pytest.mark.parametrize("words", [
    ("--machine", "laptop-old", "--on", "9"),
    ("--machine", "laptop-old", "--reference", "bogus"),
    ("--machine", "guest", "--events", "bogus", "-n", "1"),
])
def test_what_is_absent_is_one_sentence(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert main(["spy", "-n", "1", *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_file_whose_entries_name_no_cpu_is_refused_and_one_entry_that_does_is_enough(
        capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    entry = '[[spy]]\non = "{}"\nevents = ["cycles"]\n'
    path.write_text(entry.format("99") + entry.format("core 77"))
    words = ("spy", "--machine", "laptop-old", "-i", "0.05", "-n", "1", "--config", str(path))
    assert main(words) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error == (f"turbotui: {path}: 99: no such CPU is measured here, only 0-7; "
                     "core 77: no such CPU is measured here, only 0-7\n")
    path.write_text(entry.format("99") + entry.format("core 1"))
    assert main(words) == 0
    out, error = capsys.readouterr()
    assert "99: no such CPU" in error
    assert "cycles" in out


@pytest.mark.parametrize("words", [(), ("--joined", "--format", "json")])
def test_nothing_counts_on_a_recorded_machine(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    recorded = str(Path(__file__).parents[2] / "machines" / "laptop-simulated.tar.gz")
    assert main(["spy", "--machine", recorded, "-i", "0.05", "-n", "1", *words]) == 3
    said = capsys.readouterr()
    assert not said.out
    assert "is a recorded machine, on which nothing counts" in said.err
