"""Spies in a recording: the counts and columns of each CPU's own event sets, as they were live."""

from __future__ import annotations

from pathlib import Path

import jsontables
import pytest
from spiedmachine import SpiedMachine

from turbotui import recording
from turbotui.cli import main
from turbotui.quantities.scope import Scope
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.recording.recorder import Recorder

PLAN = SpyPlan((typed_spy("0-1", "cycles,branches"), typed_spy("2", "cache-misses")))


def test_the_columns_of_spies_are_the_live_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "spied.ttj")
    spied = SpiedMachine("laptop-old", PLAN)
    live = spied.frames(1.0, 4)
    recorder = Recorder(path, spied.machine, sync_seconds=0.0)
    for frame in live:
        recorder.take(frame)
    recorder.close()
    columns = spied.session.spied
    assert columns
    with recording.read(path) as journal:
        assert PLAN in journal.definitions()
        frames = list(journal.frames())[1:]
        for then, now in zip(live[1:], frames, strict=True):
            rows = then.rows(Scope.CPU)
            for column in columns:
                counter_column = journal.catalog.by_id[column.id]
                assert (counter_column.unit, counter_column.help) == (column.unit, column.help)
                assert now.cells(counter_column, rows) == then.cells(column, rows)
        assert any(value for value in frames[-1].cells(journal.catalog.by_id["branches"], frames[-1].rows(Scope.CPU)))
    assert main(["stat", "--replay", path, "-q", "-s", "CPU,branches,cache-misses", "--format", "json"]) == 0
    last = jsontables.tables(capsys.readouterr().out)[-1]
    values = {row["cpu"]: row["values"] for row in last["rows"] if row["row"] == "cpu"}
    assert values[0]["branches"] > 0
    assert values[2]["branches"] is None
    assert values[2]["cache-misses"] > 0
