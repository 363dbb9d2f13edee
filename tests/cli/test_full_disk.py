"""If stdout accepts no more bytes, every command prints one sentence and exits with status 1."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", [
    ("machines",), ("columns",), ("--help",), ("--version",), ("stat", "--help"),
    ("tasks", "--help"), ("spy", "--help"), ("tasks", "--machine", "laptop-old", "--all", "-n", "1", "-i", "0.1",
                                           "--json")])
def test_a_full_disk_is_reported_in_one_sentence(words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "turbotui", *words], stdout=full, stderr=subprocess.PIPE,  # noqa: S603 - ours
                              text=True, check=False, timeout=PATIENCE, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stderr == "turbotui: cannot write to stdout: No space left on device\n"
    assert done.returncode == 1
