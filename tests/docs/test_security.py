"""Each promise in SECURITY.md names an existing test, and SECURITY.toml a fault that this test must notice."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def promised() -> dict[str, list[str]]:
    """The named tests of each promise."""
    text = (ROOT / "SECURITY.md").read_text("utf-8").partition("## What is promised")[2].partition("\n## ")[0]
    promises = [line for line in text.splitlines() if line.startswith("|")][2:]
    return {promise: re.findall(r"`(tests/[\w/]+\.py::\w+)`", promise) for promise in promises}


def test_every_promise_has_its_test() -> None:
    promises = promised()
    assert len(promises) > 10
    for promise, tests in promises.items():
        assert tests, promise
        for test in tests:
            file, _, name = test.partition("::")
            assert f"def {name}(" in (ROOT / file).read_text("utf-8"), test


def test_every_promise_has_a_fault_that_can_be_made() -> None:
    faults = tomllib.loads((ROOT / "SECURITY.toml").read_text("utf-8"))["mutation"]
    for fault in faults:
        text = (ROOT / fault["file"]).read_text("utf-8")
        assert text.count(fault["old"]) == 1, fault["fault"]
        changed = text.replace(fault["old"], fault["new"])
        if fault["file"].endswith(".py"):
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)), fault["fault"]
    tried = {fault["test"] for fault in faults}
    assert tried <= {test for tests in promised().values() for test in tests}
    assert [promise for promise, tests in promised().items() if not tried & set(tests)] == []
