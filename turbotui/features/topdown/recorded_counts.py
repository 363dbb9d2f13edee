"""Converts counts of top-down rows to and from a recording's JSON (journal.md 9): by group, then by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from turbotui.features.topdown.counter_parts import Counts, GroupKey, PartCount
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from


def group_facts(counts: Sequence[Counts]) -> list[dict[str, object]]:
    """Convert the groups of some rows to JSON."""
    keys = dict.fromkeys(key for count in counts for key in count)
    return [_group_facts(key, [count.get(key, ()) for count in counts]) for key in keys]


def _group_facts(key: GroupKey, groups: Sequence[tuple[PartCount, ...] | Unavailable]) -> dict[str, object]:
    """Convert a group over all rows: its parts by column, null for rows without the part."""
    whys = dict.fromkeys(why for group in groups for why in (
        (group,) if isinstance(group, Unavailable) else [why for part in group for why in part.refused.values()]))
    number = {why: at for at, why in enumerate(whys)}
    parts = [() if isinstance(group, Unavailable) else group for group in groups]
    columns = []
    for at in range(max(map(len, parts), default=0)):
        column = [part[at] if at < len(part) else None for part in parts]
        names = dict.fromkeys(name for count in column if count is not None for name in count.values)
        lacks = dict.fromkeys(name for count in column if count is not None for name in count.refused)
        refused = {name: [None if count is None or name not in count.refused else number[count.refused[name]]
                          for count in column] for name in lacks}
        columns.append({
            **({"refused": refused} if refused else {}),
            "enabled": [None if count is None else count.enabled for count in column],
            "running": [None if count is None else count.running for count in column],
            "values": {name: [None if count is None else count.values.get(name) for count in column] for name in names},
        })
    return {"pmu": key[0], "node": key[1], "reasons": [reason_facts(why) for why in whys],
            "why": [number[group] if isinstance(group, Unavailable) else None for group in groups], "parts": columns}


def groups_from(data: JsonValue, many: int) -> list[Counts]:
    """Restore the groups of `group_facts` for that many rows. Raises DamagedError if the document is invalid."""
    counts: list[dict[GroupKey, tuple[PartCount, ...] | Unavailable]] = [{} for _ in range(many)]
    for group in data.items():
        key = group["pmu"].text(), group["node"].text()
        for row_counts, part_counts in zip(counts, _group(group, many), strict=True):
            if part_counts:  # otherwise the row has no such group
                row_counts[key] = part_counts
    return list(counts)


def _group(data: JsonValue, many: int) -> Iterator[tuple[PartCount, ...] | Unavailable]:
    """Restore the parts of a group for each row, or the reason why it has none."""
    reasons = [reason_from(item) for item in data["reasons"].items()]
    whys = data["why"].values_or_none(int)
    parts = [(_numbers(part["enabled"], many), _numbers(part["running"], many),
              part["values"].rows(many, JsonValue.number), _refused(part.get("refused"), reasons, many))
             for part in data["parts"].items()]
    if len(whys) != many or any(why is not None and not 0 <= why < len(reasons) for why in whys):
        raise DamagedError(f"{data.where} of the recording has reasons that are none, or not for each row")
    for at, why in enumerate(whys):
        yield reasons[why] if why is not None else tuple(
            PartCount(values[at], enabled[at] or 0.0, running[at] or 0.0, refused[at])
            for enabled, running, values, refused in parts if enabled[at] is not None)


def _refused(data: JsonValue | None, reasons: Sequence[Unavailable], many: int) -> Sequence[Mapping[str, Unavailable]]:
    """Restore the reasons for single events of a part, for each row."""
    if data is None:
        return ({},) * many
    rows = data.rows(many, JsonValue.integer)
    if any(not 0 <= number < len(reasons) for row in rows for number in row.values()):
        raise DamagedError(f"{data.where} of the recording has reasons that are none")
    return [{name: reasons[number] for name, number in row.items()} for row in rows]


def _numbers(data: JsonValue, many: int) -> list[float | None]:
    values = [None if item.value is None else item.number() for item in data.items()]
    if len(values) != many:
        raise DamagedError(f"{data.where} of the recording has {len(values)} values for {many} rows")
    return values
