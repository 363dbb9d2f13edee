"""`turbotui runs`: the kept runs as a table, with the reason where one cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsontables import tables
from made_frames import frames, machine, topology_of_cpus

from turbotui.cli import main
from turbotui.recording.recorder import Recorder

CPUS = topology_of_cpus(range(2))


def test_runs_are_listed_with_their_commands_and_what_cannot_be_read_says_why(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["runs"]) == 0
    assert f"no run of the dashboard is kept in {tmp_path}" in capsys.readouterr().out
    folder = tmp_path / "turbotui" / "runs"
    folder.mkdir(parents=True)
    recorder = Recorder(str(folder / "20260101-000001-7.ttj"), machine(CPUS), command=("make", "-j\x1b2"))
    for frame in frames(4, CPUS):
        recorder.take(frame)
    recorder.close()
    (folder / "20260101-000002-7.ttj").write_text("Dear Sir\n" * 9)
    assert main(["runs", "--json"]) == 0
    (table,) = tables(capsys.readouterr().out)
    newest, older = table["rows"]
    assert newest["values"]["lasted"] is None
    assert "is no recording of turbotui" in newest["why"]["lasted"]
    assert older["values"]["lasted"] == 3.0
    assert older["values"]["what"] == "make '-j\x1b2'"
    assert main(["runs"]) == 0
    text = capsys.readouterr().out
    assert "make '-j␛2'" in text
    assert "turbotui replay shows run 1" in text
    assert " MiB " in text
    assert "MB" not in text.split("turbotui replay")[0]
