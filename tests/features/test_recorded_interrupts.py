"""Kinds of rows in recordings and scrapes: recorded where they are named, replayed in every format."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from jsontables import tables
from made_frames import machine, topology_of_cpus
from made_rows import frames_with_rows, row_ticks

from turbotui.cli import main
from turbotui.recording.recorder import Recorder


def test_a_recording_has_the_kinds_that_its_tables_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.1", "-n", "3", "--tables", "interrupts"]) == 0
    capsys.readouterr()
    assert main(["interrupts", "--replay", path, "--cpus", "--format", "json"]) == 0
    result = tables(capsys.readouterr().out)
    assert result
    assert {table["kind"] for table in result} == {"RECORDED"}
    # the interval behind a late one may be too short for a single interrupt
    assert any(row["values"]["Int/s"] > 0 for table in result for row in table["rows"] if row["irq"] == "LOC")
    assert main(["stat", "--replay", path, "-n", "1", "--show", "CPU,Busy%"]) == 0


def test_without_them_the_verb_says_how_they_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.1", "-n", "2"]) == 0
    capsys.readouterr()
    assert main(["interrupts", "--replay", path]) == 1
    assert "turbotui record --tables interrupts" in capsys.readouterr().err


def test_rows_that_no_feature_knows_are_named_and_the_rest_is_shown(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, topology = str(tmp_path / "a.ttj"), topology_of_cpus(range(2))
    recorder = Recorder(path, machine(topology), sync_seconds=0.0)
    for frame in frames_with_rows([*row_ticks(3, random.Random(1))], topology):
        recorder.take(frame)
    recorder.close()
    assert main(["stat", "--replay", path, "--show", "CPU"]) == 0
    output = capsys.readouterr()
    assert output.out
    assert "has rows of jobs, which no feature that is installed here can show" in output.err


def test_an_unknown_table_is_refused_with_the_kinds_that_there_are(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", str(tmp_path / "a.ttj"), "--tables", "planets"]) == 2
    text = capsys.readouterr().err
    assert '"planets"' in text
    assert "interrupts" in text


def test_a_recording_gives_every_interval_and_their_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = str(tmp_path / "a.ttj")
    assert main(["record", recording, "--machine", "laptop", "-i", "0.4", "-n", "3", "--tables", "interrupts"]) == 0
    capsys.readouterr()
    assert main(["interrupts", "--replay", recording, "--json", "--cpus"]) == 0
    each = tables(capsys.readouterr().out)
    assert len(each) == 3
    assert main(["interrupts", "--replay", recording, "--json", "--cpus", "--every", "3650d"]) == 0
    (whole,) = tables(capsys.readouterr().out)
    totals, last = ({(row["irq"], row.get("cpu")): row["values"]["Total"] for row in table["rows"]}
                    for table in (whole, each[-1]))
    assert totals == last
    assert any(cpu is not None for _irq, cpu in totals)
    counted = [sum(row["values"]["Int/s"] * table["seconds"] for row in table["rows"] if row["irq"] == "LOC")
               for table in (*each, whole)]
    assert sum(counted[:-1]) == pytest.approx(counted[-1], rel=0.2)  # by the time between readings, not between ticks
    assert counted[-1] > 0
    loc = next(row for row in whole["rows"] if row["irq"] == "LOC" and row.get("cpu") is None)
    assert loc["values"]["Device"] == "Local timer interrupts"


def test_a_scrape_has_totals_of_the_busiest_sources_and_counts_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--rows", "interrupts", "--most", "5", "--machine", "laptop"]) == 0
    text = capsys.readouterr().out
    result = re.findall(r'turbotui_interrupt_count_total\{irq="(\w+)",simulated="true"\} ([\d.]+)', text)
    assert len(result) == 5
    assert result[0][0] == "LOC"
    assert all(float(value) >= 0 for _irq, value in result)
    assert re.search(r'turbotui_export_left_out\{part="interrupts",simulated="true"\} \d\d', text)


def test_an_unknown_kind_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--rows", "nosuch", "--machine", "laptop"]) == 2
    assert "interrupts" in capsys.readouterr().err


def test_the_interrupts_of_some_cpus_are_theirs_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["interrupts", "--machine", "guest", "-i", "0.1", "-n", "1", "-c", "1"]
    assert main([*words, "--cpus", "--format", "json"]) == 0
    (table,) = tables(capsys.readouterr().out)
    assert {row["cpu"] for row in table["rows"] if "cpu" in row} == {1}
    assert main(words) == 0
    assert "# of CPUs 1 only" in capsys.readouterr().out
    assert main(["interrupts", "-c", "1", "--replay", str(tmp_path / "a.ttj")]) == 2
    assert "leave -i (--every) and -c out" in capsys.readouterr().err
    assert main(["interrupts", "-c", "x"]) == 2
    assert "--cpu 'x'" in capsys.readouterr().err
