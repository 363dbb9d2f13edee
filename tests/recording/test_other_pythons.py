"""A recording gives the same digits under every Python that is here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bare_node import PYTHON
from forked import run_forked
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


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd itself")
def test_what_is_packed_by_zstd_names_the_package_that_a_python_lacks(tmp_path: Path) -> None:
    recording = str(tmp_path / "run.ttj")
    assert run_forked("record", "--machine", "guest", "-i", "0.05", "-n", "1", recording).returncode == 0
    done = subprocess.run([PYTHON, "-m", "turbotui", "stat", "--replay", recording], capture_output=True, text=True,  # noqa: S603 - ours
                          timeout=PATIENCE, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 1
    assert done.stderr.endswith("packed by zstd: install the package zstandard\n")
