"""A recording gives the same digits under every Python that is here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from bare_node import PYTHON
from patience import PATIENCE
from pythons import pythons

ROOT = Path(__file__).parents[2]
NEWER = tuple((3, minor) for minor in range(12, 20))
WORDS = (
    ("stat", "--format", "csv", "--show", "all"),
    ("stat", "--format", "json", "--every", "1s"),
    ("why", "--json"),
    ("memory", "--format", "csv", "--show", "all"),
    ("info", "--json"),
)


def output(python: str | Path, *words: str) -> bytes:
    """What turbotui writes, without any package beside it."""
    done = subprocess.run([python, "-m", "turbotui", *words], capture_output=True, timeout=PATIENCE, check=False,  # noqa: S603 - ours
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert b"Traceback" not in done.stderr
    assert done.stdout, done.stderr.decode()
    return done.stdout


def test_the_same_recording_has_the_same_digits(tmp_path: Path) -> None:
    others = [*pythons(*NEWER)]
    if not others:
        pytest.skip("there is no Python newer than 3.11 here")
    recording = tmp_path / "run.ttj"
    recording.write_bytes(output(PYTHON, "collect", "--machine", "icelake-2s+quota", "--tables", "memory", "-i", "0.5",
                                 "-n", "3"))
    for words in WORDS:
        own = output(PYTHON, *words, "--replay", str(recording))
        for python in others:
            assert output(python, *words, "--replay", str(recording)) == own, (python, words)
