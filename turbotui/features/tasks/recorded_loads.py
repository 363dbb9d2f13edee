"""Recorded samples of loads (docs/specs/journal.md 9): columns beside those of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.features.tasks.loads import SampledLoads
from turbotui.features.tasks.tables import TaskRow
from turbotui.machine.tasks.load_records import LoadCounts, Served
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from

_SUMS: Final = ("timed", "cycles", "squares")


def loads_facts(rows: Sequence[TaskRow]) -> dict[str, object] | None:
    """The sampled loads of rows as JSON; None if they were not requested or not sampled yet."""
    known = next((row.sampled for row in rows if row.sampled is not None), None)
    if known is None:
        return None
    counts = [None if row.sampled is None else row.sampled.counts for row in rows]
    return {
        "served": {one.name: [None if each is None else each.served[one] for each in counts] for one in Served},
        **{name: [None if each is None else getattr(each, name) for each in counts] for name in _SUMS},
        "why": reason_facts(known.why),
    }


def loads_from(said: JsonValue, count: int) -> list[SampledLoads | None]:
    """Read the loads of that many rows back from the JSON of `loads_facts`. Raises DamagedError if they are none."""
    columns = [said["served"][one.name].values_or_none(int) for one in Served]
    columns += [said[name].values_or_none(int) for name in _SUMS]
    said.expect_columns(count, *columns)
    why = said.get("why")
    if why is not None:
        return [SampledLoads(why=reason_from(why))] * count
    return [_loads([column[at] for column in columns]) for at in range(count)]


def _loads(numbers: Sequence[int | None]) -> SampledLoads | None:
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers):
        return None
    *served, timed, cycles, squares = known
    return SampledLoads(LoadCounts(served, timed, cycles, squares))
