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
    result: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines() if line.strip()]
    for item in result:
        _validator().validate(item)
        ids = {column["id"] for column in item["columns"]}
        for row in item["rows"]:
            assert row["values"].keys() == ids, item["table"]
            unknown = {name for name, value in row["values"].items() if value is None}
            assert unknown <= row.get("why", {}).keys() <= unknown | {*row.get("partial", ())}, (item["table"], row)
            for mark in MARKS:
                assert {*row.get(mark.name, ())} <= ids - unknown, (item["table"], mark.name)
    return result


def table(text: str, name: str) -> dict[str, Any]:
    """The only object of that table."""
    (result,) = (item for item in tables(text) if item["table"] == name)
    return result


def by(report: dict[str, Any], key: str) -> dict[Any, dict[str, Any]]:
    """The values of each row, by one of the words that name it."""
    return {row[key]: row["values"] for row in report["rows"]}
