"""The examples of docs/library.md run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "library.md").read_text("utf-8")
EXAMPLES = dict(re.findall(r"^## ([^\n]+)\n\n```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("title", EXAMPLES)
def test_an_example_runs_and_prints_on_stdout_alone(title: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-W", "error", "-c", EXAMPLES[title]], cwd=ROOT, capture_output=True,  # noqa: S603 - ours
                          text=True, timeout=PATIENCE, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout
    assert not list(tmp_path.iterdir()), "nothing is stored unless that is asked for"


def test_there_is_no_example_that_is_not_run() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") == 6
