"""If stdout accepts no more bytes, a command says so and exits with status 1; without a reader, with 141."""

from __future__ import annotations

import os
import signal
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


@pytest.mark.parametrize("unbuffered", ["", "1"])  # many images of containers have PYTHONUNBUFFERED
@pytest.mark.parametrize("words", [("columns",), ("gather", "--machine", "guest", "--yes", "-")])
def test_a_disk_with_room_for_a_part_is_as_full(unbuffered: str, words: tuple[str, ...], tmp_path: Path) -> None:
    limit = 4096  # as a disk that has so much room: the first write(2) is a short one, and the second fails
    shell = ["sh", "-c", f'ulimit -f {limit // 512}; exec "$0" -m turbotui "$@"']
    with (tmp_path / "made").open("wb") as made:
        done = subprocess.run([*shell, sys.executable, *words], stdout=made, stderr=subprocess.PIPE, text=True,  # noqa: S603 - ours
                              check=False, timeout=PATIENCE, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered,
                                   "PYTHONDONTWRITEBYTECODE": "1"})  # Python keeps a short one of those, too
    assert done.stderr.splitlines()[-1] == "turbotui: cannot write to stdout: File too large"
    assert (done.returncode, (tmp_path / "made").stat().st_size) == (1, limit)


@pytest.mark.parametrize("words", [
    ("machines",), ("doctor", "--machine", "laptop-old"), ("info", "--machine", "guest")])
def test_without_a_reader_a_command_ends_as_by_sigpipe(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run([sys.executable, "-m", "turbotui", *words], stdout=writer, stderr=subprocess.PIPE,  # noqa: S603 - ours
                              text=True, check=False, timeout=PATIENCE, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT)})
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")
