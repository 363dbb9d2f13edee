"""What columns says is available is what stat prints, and what is not has a reason."""

from __future__ import annotations

import pytest
from jsontables import table

from turbotui.cli import main


@pytest.mark.parametrize("machine", ["laptop", "guest"])
def test_what_is_available_is_what_stat_lists(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["columns", "--machine", machine, "--format", "json"]) == 0
    rows = table(capsys.readouterr().out, "columns")["rows"]
    assert all(bool(row["values"]["reason"]) == (row["values"]["available"] == "no") for row in rows)
    listed: set[str] = set()
    for energy in ((), ("--Joules",)):
        assert main(["stat", "--machine", machine, *energy, "--show", "all,extra", "--list"]) == 0
        listed |= set(capsys.readouterr().out.strip().split(","))
    assert {row["id"] for row in rows if row["values"]["available"] == "yes"} == listed
    assert main(["columns", "--machine", machine, "--add", "Mine=tsc/1e6", "--format", "json"]) == 0
    assert "Mine" in {row["id"] for row in table(capsys.readouterr().out, "columns")["rows"]}
