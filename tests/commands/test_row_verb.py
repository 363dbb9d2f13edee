"""A verb that prints the rows of a kind: rows inside others are indented while they stand in their tree."""

from __future__ import annotations

import json

import pytest

from turbotui.cli import main

pytestmark = pytest.mark.usefixtures("moved_time")

MEMORY = ("memory", "--machine", "icelake-2s", "-n", "1", "-i", "0.1")


def levels(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """The first 12 characters of each row of the text."""
    assert main([*MEMORY, *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    title = next(at for at, line in enumerate(lines) if line.startswith("Level"))
    return [line[:12].rstrip() for line in lines[title + 1:] if line and not line.startswith("#")]


def test_rows_inside_others_are_indented_in_text_and_named_plainly_elsewhere(
        capsys: pytest.CaptureFixture[str]) -> None:
    assert levels(capsys) == ["machine", "· node 0", "· · L3 00", "· node 1", "· · L3 01"]
    assert main([*MEMORY, "--format", "json"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert [row["level"] for row in json.loads(line)["rows"]] == ["machine", "node 0", "L3 00", "node 1", "L3 01"]


def test_rows_that_are_sorted_or_chosen_stand_in_no_tree(capsys: pytest.CaptureFixture[str]) -> None:
    assert levels(capsys, "--filter", "L3") == ["L3 00", "L3 01"]
    assert set(levels(capsys, "--sort", "MemBW")) == {"machine", "node 0", "L3 00", "node 1", "L3 01"}
