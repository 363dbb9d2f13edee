"""Reads what --format json writes: one object a line, checked against the schema of docs."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema

from turbotui.quantities.marks import MARKS

SCHEMA = Path(__file__).parents[1] / "docs" / "table.schema.json"


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def tables(text: str) -> list[dict[str, Any]]:
    """Every object, in the order they were written.

    Raises:
        jsonschema.ValidationError: one is not as the schema says.
    """
    found: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line.strip()]
    for one in found:
        _validator().validate(one)
        ids = {column["id"] for column in one["columns"]}
        for row in one["rows"]:
            assert row["values"].keys() == ids, one["table"]
            unknown = {name for name, value in row["values"].items() if value is None}
            assert unknown <= row.get("why", {}).keys() <= unknown | {*row.get("partial", ())}, (one["table"], row)
            for mark in MARKS:
                assert {*row.get(mark.name, ())} <= ids - unknown, (one["table"], mark.name)
    return found


def table(text: str, name: str) -> dict[str, Any]:
    """The only object of that table."""
    (found,) = (one for one in tables(text) if one["table"] == name)
    return found


def by(report: dict[str, Any], key: str) -> dict[Any, dict[str, Any]]:
    """The values of each row, by one of the words that name it."""
    return {row[key]: row["values"] for row in report["rows"]}
