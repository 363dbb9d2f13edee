"""Each promise in SECURITY.md names an existing test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_has_its_test() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8").partition("## What is promised")[2].partition("\n## ")[0]
    promises = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert len(promises) > 10
    for promise in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)
        assert named, promise
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text("utf-8"), f"{file}::{test}"
