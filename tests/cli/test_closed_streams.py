"""Commands started without stdin, stdout or stderr work, or say in a sentence what they lack."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
QUICK = ("--machine", "laptop-old", "-n", "1", "-i", "0.05")
VERBS = [
    ("stat", "-q", *QUICK), ("doctor", "--machine", "guest"), ("info", "--machine", "guest"),
    ("uncore", *QUICK), ("tasks", "--all", *QUICK), ("spy", "--on", "all", "--events", "cycles", *QUICK),
    ("machines",), ("columns", "--machine", "guest"), ("events", "sets", "--machine", "guest"),
    ("roofline", "--machine", "laptop-old+calculix", "--no-plot", "-n", "1", "-i", "0.05"),
]


def closed(words: tuple[str, ...], how: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["/bin/sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-m", "turbotui", *words],  # noqa: S603 - ours
                          check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path)})


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
def test_without_stdout(words: tuple[str, ...], tmp_path: Path) -> None:
    done = closed(words, ">&-", tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] in (
        "turbotui: cannot write to stdout: Bad file descriptor",
        "turbotui: there is no stdout to print on: it was closed before turbotui started")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", VERBS[:3], ids=lambda words: words[0])
def test_without_stdin_and_stderr(words: tuple[str, ...], tmp_path: Path) -> None:
    done = closed(words, "<&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert done.stdout == closed(words, "", tmp_path).stdout or words[0] == "stat"


def test_with_none_of_them(tmp_path: Path) -> None:
    assert closed(("info", "--machine", "guest"), "<&- >&- 2>&-", tmp_path).returncode == 1
    done = closed(("stat", "-q", *QUICK, "--out", str(tmp_path / "out")), "<&- >&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert "Busy%" in (tmp_path / "out").read_text()


def test_the_dashboard_says_what_it_lacks(tmp_path: Path) -> None:
    for how, lacking in (("<&-", "stdin"), (">&-", "stdout")):
        done = closed((), how, tmp_path)
        assert done.returncode == 4
        assert "the dashboard needs a terminal, and " in done.stderr
        assert lacking in done.stderr.partition("needs a terminal, and ")[2].partition(": use ")[0]


def test_no_counter_takes_the_place_of_a_stream(tmp_path: Path) -> None:
    # what the command writes to the stdout that it has not must not land in a file that turbotui opened
    done = closed(("stat", "-q", "-n", "1", "--", "sh", "-c", "echo lost; echo kept >&2"), "<&- >&-", tmp_path)
    assert done.returncode == 0
    assert "kept" in done.stderr
    assert "lost" not in done.stderr.replace("write error", "")
