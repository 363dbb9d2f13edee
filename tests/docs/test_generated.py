"""Generated parts of docs/ equal what the code generates."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_generated_parts_are_what_the_code_says() -> None:
    done = subprocess.run([sys.executable, str(ROOT / ".ci" / "docs"), "--check"], capture_output=True, text=True,  # noqa: S603 - our own script
                          check=False)
    assert done.returncode == 0, done.stderr


def test_every_picture_and_file_that_the_readme_names_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
