"""A recording gives the same digits under every Python that is here."""

from __future__ import annotations

import json
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


SEVERAL = """
import json, sys
from turbotui.cli import main
for words in json.loads(sys.argv[1]):
    print("->", main(words), flush=True)
"""
"""Command lines one after the other in one interpreter, each with its status behind its output."""


def output(python: str | Path, *words: str) -> bytes:
    """What a Python writes with turbotui, and without any package beside it."""
    done = subprocess.run([python, *words], capture_output=True, timeout=PATIENCE, check=False,  # noqa: S603 - ours
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert b"Traceback" not in done.stderr
    assert done.stdout, done.stderr.decode()
    return done.stdout


def test_the_same_recording_has_the_same_digits(tmp_path: Path) -> None:
    others = [*pythons(*NEWER)]
    if not others:
        pytest.skip("there is no Python newer than 3.11 here")
    recording = tmp_path / "run.ttj"
    recording.write_bytes(output(PYTHON, "-m", "turbotui", "collect", "--machine", "icelake-2s+quota", "--tables",
                                 "memory", "-i", "0.5", "-n", "3"))
    commands = json.dumps([(*words, "--replay", str(recording)) for words in WORDS])
    own = output(PYTHON, "-c", SEVERAL, commands)
    assert [len(part) > 100 for part in own.split(b"\n-> ")] == [True] * len(WORDS) + [False]
    for python in others:
        assert output(python, "-c", SEVERAL, commands) == own, python


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python has zstd itself")
def test_where_no_libzstd_is_zlib_packs_and_what_zstd_packed_names_it(tmp_path: Path) -> None:
    recording, own = str(tmp_path / "run.ttj"), str(tmp_path / "own.ttj")
    assert run_forked("record", "--machine", "guest", "-i", "0.05", "-n", "1", recording).returncode == 0
    (tmp_path / "libzstd.so.1").write_bytes(b"no library")
    for words, status, ending in (
        (("stat", "--replay", recording), 1, "packed by zstd: install libzstd (Debian: libzstd1)\n"),
        (("record", "--machine", "guest", "-i", "0.05", "-n", "1", own), 0, " MiB\n"),
        (("stat", "--replay", own), 0, "\n"),
    ):
        done = subprocess.run([PYTHON, "-m", "turbotui", *words], capture_output=True, text=True,  # noqa: S603 - ours
                              timeout=PATIENCE, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": str(tmp_path)})
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
        assert done.stderr.endswith(ending)
    assert b"\x28\xb5\x2f\xfd" in Path(recording).read_bytes()
    assert b"\x28\xb5\x2f\xfd" not in Path(own).read_bytes()
