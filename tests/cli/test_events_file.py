"""An unusable file of event sets is refused at once, whether or not one of its sets is requested."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from forked import run_forked

MACHINE = ("--machine", "guest")
WORDS = [("stat", *MACHINE, "-q"), ("columns", *MACHINE), ("stat", *MACHINE, "--list")]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return run_forked(*words)


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("kind", ["absent", "folder", "fifo", "no TOML", "no set"])
def test_a_file_that_cannot_be_used(words: tuple[str, ...], kind: str, tmp_path: Path) -> None:
    path = tmp_path / "sets.toml"
    match kind:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "no TOML":
            path.write_text("[[[", encoding="utf-8")
        case "no set":
            path.write_text("a = 1\n", encoding="utf-8")
    done = run(*words, "--events", str(path))
    assert done.returncode in (1, 2), done
    assert done.stdout == ""
    assert done.stderr.startswith("turbotui: ")
    assert str(path) in done.stderr
    assert len(done.stderr.splitlines()) == 1
