"""The README's command lines do what it says, on any machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_the_lines_that_lead_to_sql_work_as_they_are_written(tmp_path: Path) -> None:
    for name in ("duckdb", "pyarrow"):
        pytest.importorskip(name, reason=f"pip install {name}")
    lines = re.findall(r"^    \$ (.*(?:run\.ttj|run\.parquet).*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    block = lines[next(at for at, line in enumerate(lines) if line.startswith("turbotui record run.ttj -i")):][:3]
    assert [line.split()[0] for line in block] == ["turbotui", "turbotui", "python3"]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-e", "-c", "\n".join(block)], cwd=tmp_path, env={**os.environ, "PATH": path},  # noqa: S603, S607 - our own README
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"│ +(\d+) │ +(-?[\d.]+) │", done.stdout)
    assert rows, done.stdout
    assert {int(cpu) for cpu, _busy in rows} <= set(range(os.sysconf("SC_NPROCESSORS_CONF")))
    assert all(-50.0 <= float(busy) <= 150.0 for _cpu, busy in rows)


def test_extras_are_named_as_this_checkout_has_them() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    documents = (README, ROOT / "docs/export.md", ROOT / "docs/fleet.md")
    text = "".join(path.read_text(encoding="utf-8") for path in documents)
    named = re.findall(r"'(\S*)\[([a-z,]+)\]'", text)
    assert len(named) >= 6
    for way, names in named:
        assert way == ".", "turbotui is on no index: extras are those of the checkout"
        assert {*names.split(",")} <= extras.keys()
    (of_image,) = re.findall(r"/src\[([a-z,]+)\]", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    assert {*of_image.split(",")} <= extras.keys()
