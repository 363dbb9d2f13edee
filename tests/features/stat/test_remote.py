# ruff: noqa: S603 - programs are run with words of these tests
"""`turbotui stat` of a machine that a collector reads: through a stub of ssh, and through a socket."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import jsontables
import pytest
from patience import PATIENCE, until_listening

from turbotui.cli import main
from turbotui.features.stat.options import StatError, parse_options

SSH = f"""#!/bin/sh
for last; do :; done
turbotui() {{ exec {sys.executable} -m turbotui "$@"; }}
eval "$last"
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ssh"
    path.write_text(SSH)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


@pytest.mark.parametrize("form", ["text", "table", "csv", "json", "openmetrics"])
def test_another_machine_is_printed_in_every_format(ssh: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ssh.exists()
    words = ["stat", "--host", "user@node", "--machine", "laptop", "-i", "0.2", "-n", "2", "-q", "-S",
             "-s", "Busy%,PkgWatt", "--format", form]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "simulated" in out.lower()
    if form == "json":
        result = jsontables.tables(out)
        assert len(result) == 2
        assert all(0 < item["rows"][0]["values"]["Busy%"] <= 100 for item in result)
        assert all(item["seconds"] > 0.1 for item in result)


def test_the_columns_and_the_cpus_are_those_of_the_machine_there(ssh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ssh.exists()
    assert main(["stat", "--host", "node", "--machine", "laptop", "-c", "0-1", "--list"]) == 0
    assert {"Busy%", "PkgWatt"} <= {*capsys.readouterr().out.strip().split(",")}
    assert main(["stat", "--host", "node", "--machine", "laptop", "-c", "0-1", "-q", "-i", "0.2", "-n", "1",
                 "-s", "CPU,Busy%"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 1 + 1 + 2  # mark, titles, summary, two CPUs
    assert main(["stat", "--host", "node", "--machine", "guest", "-i", "0.2", "-n", "1", "-s", "Busy%"]) == 0
    output = capsys.readouterr()
    assert "# read by " in output.err
    assert "Linux" in output.err or "CPUID" in output.err or "turbotui version" in output.err
    assert "not available there: Busy%" in output.err or "Busy%" in output.out


def test_a_machine_that_cannot_be_reached_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    refusal = "ssh: connect to host n port 22: Connection refused"
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho '{refusal}' >&2\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert main(["stat", "--host", "n"]) != 0
    assert "n refuses the connection" in capsys.readouterr().err
    assert main(["stat", "--connect", str(tmp_path / "none")]) != 0
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_a_collector_behind_a_socket_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s"
    words = [sys.executable, "-m", "turbotui", "collect", "--machine", "laptop", "-i", "0.1", "--socket", str(path)]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as collector:
        try:
            until_listening(path, collector)
            assert main(["stat", "--connect", str(path), "-n", "2", "-q", "-S", "-s", "Busy%", "--format", "json"]) == 0
        finally:
            collector.send_signal(signal.SIGTERM)
            collector.wait(PATIENCE)
    result = jsontables.tables(capsys.readouterr().out)
    assert [item["kind"] for item in result] == ["SIMULATED"] * 2
    assert all(item["rows"][0]["values"]["Busy%"] is not None for item in result)


@pytest.mark.parametrize(("words", "why"), [
    ("--host n --connect p", "--connect cannot be had with --host"), ("--host n --add cycles", "--add"),
    ("--connect p --interval 2", "--interval"), ("--connect p --cpu 0", "--cpu"), ("--host n sleep 1", "a command"),
    ("--remote x", "--remote is for --host"), ("--connect p --remote x", "--remote is for --host"),
    ("--host n --replay f", "--replay"), ("--host n --Dump", "--Dump"),
])
def test_what_a_collector_cannot_be_asked_for_is_refused(words: str, why: str) -> None:
    with pytest.raises(StatError) as caught:
        parse_options(words.split())
    assert why in str(caught.value)
    assert caught.value.exit_status == 1
