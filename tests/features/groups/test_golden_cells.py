"""A recording of groups from when it was new: whatever reads it later has every cell as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from turbotui.cli import main

GOLDEN: Final = Path(__file__).parents[2] / "recording" / "golden"
SPANS: Final = {"each": (), "every": ("--every", "10s")}


def cells(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    """Every cell of every table: its value with its marks, or the kind of reason why there is none."""
    assert main(["groups", "--replay", str(GOLDEN / "version2.groups.ttj"), "--json", *words]) == 0
    return [{"time": table["time"], "seconds": table["seconds"], "table": table["table"],
             "rows": {" ".join(filter(None, (row["row"], row.get("path"), row.get("domain")))): _of_row(row)
                      for row in table["rows"]}}
            for table in map(json.loads, capsys.readouterr().out.splitlines())]


def _of_row(row: dict[str, Any]) -> dict[str, Any]:
    marks = {mark: names for mark, names in row.items()
             if mark not in ("row", "path", "group", "domain", "values", "why")}
    reasons = {name: why.partition(":")[0] for name, why in row.get("why", {}).items()}
    return {"values": {name: value for name, value in row["values"].items() if value is not None}, "why": reasons,
            **marks}


@pytest.mark.parametrize("span", SPANS)
def test_every_cell_of_a_recording_stays_as_it_was(span: str, capsys: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((GOLDEN / "version2.groups.json").read_text())[span]
    result = cells(capsys, *SPANS[span])
    assert [(item["time"], item["table"], [*item["rows"]]) for item in result] == [
        (item["time"], item["table"], [*item["rows"]]) for item in expected]
    for table, then in zip(result, expected, strict=True):
        assert table["seconds"] == pytest.approx(then["seconds"])
        for name, row in table["rows"].items():
            before = then["rows"][name]
            assert row["values"] == pytest.approx(before["values"], rel=1e-9, abs=1e-12), name
            # a column that came later has a reason here, and no value
            why = {column: reason for column, reason in row["why"].items() if column in before["why"]}
            assert {**row, "values": None, "why": why} == {**before, "values": None}, name
