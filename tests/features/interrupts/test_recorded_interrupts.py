"""Kinds of rows in recordings by the commands: recorded where they are named, replayed in every format."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsontables import tables

from turbotui.cli import main


def test_a_recording_has_the_kinds_that_its_tables_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.1", "-n", "3", "--tables", "interrupts"]) == 0
    capsys.readouterr()
    assert main(["interrupts", "--replay", path, "--cpus", "--format", "json"]) == 0
    found = tables(capsys.readouterr().out)
    assert found
    assert {table["kind"] for table in found} == {"RECORDED"}
    rows = {row["irq"]: row["values"] for row in found[-1]["rows"]}
    assert rows["LOC"]["Int/s"] > 0
    assert main(["stat", "--replay", path, "-n", "1", "--show", "CPU,Busy%"]) == 0


def test_without_them_the_verb_says_how_they_are_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "a.ttj")
    assert main(["record", path, "--machine", "guest", "-i", "0.1", "-n", "2"]) == 0
    capsys.readouterr()
    assert main(["interrupts", "--replay", path]) == 1
    assert "turbotui record --tables interrupts" in capsys.readouterr().err


def test_an_unknown_table_is_refused_with_the_kinds_that_there_are(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["record", str(tmp_path / "a.ttj"), "--tables", "planets"]) == 2
    told = capsys.readouterr().err
    assert '"planets"' in told
    assert "interrupts" in told
