"""Levels of memory in recordings, alerts and exports, which know no kind of row by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsontables import tables

from turbotui.cli import main

pytestmark = pytest.mark.usefixtures("moved_time", "few_cores")


def test_a_recording_gives_every_interval_and_their_sum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = str(tmp_path / "a.ttj")
    assert main(["record", recording, "--machine", "icelake-2s", "-i", "0.3", "-n", "3", "--tables", "memory"]) == 0
    capsys.readouterr()
    assert main(["memory", "--replay", recording, "--json"]) == 0
    each = tables(capsys.readouterr().out)
    assert len(each) == 3
    assert {table["kind"] for table in each} == {"RECORDED"}
    assert [row["level"] for row in each[0]["rows"]] == ["machine", "node 0", "L3 00", "node 1", "L3 01"]
    assert main(["memory", "--replay", recording, "--json", "--every", "3650d"]) == 0
    (whole,) = tables(capsys.readouterr().out)
    for at, row in enumerate(whole["rows"]):
        moved = [table["rows"][at]["values"]["MemBW"] * table["seconds"] for table in each]
        assert row["values"]["MemBW"] * whole["seconds"] == pytest.approx(sum(moved), rel=0.05)


@pytest.mark.parametrize("form", ["csv", "openmetrics", "text"])
def test_other_formats_have_every_level(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--machine", "icelake-2s", "-i", "0.1", "-n", "1", "--format", form]) == 0
    text = capsys.readouterr().out
    assert all(level in text for level in ("machine", "node 1", "L3 01"))


def test_without_resctrl_the_columns_are_told_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--machine", "laptop", "-i", "0.1", "-n", "1"]) == 0
    text = capsys.readouterr().out
    assert "# MemBW, LocalBW" in text
    assert "no resctrl" in text


def test_a_scrape_has_the_bytes_of_every_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--rows", "memory", "--machine", "icelake-2s", "-i", "0.2"]) == 0
    text = capsys.readouterr().out
    for level in ("machine", "node 1", "L3 01"):
        assert f'turbotui_memory_total_bytes_total{{level="{level}"' in text
    assert 'turbotui_memory_peak_bytes_per_second{level="node 1"' in text
    assert "gaps" not in text
