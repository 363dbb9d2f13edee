"""What goes into the file, as a table: a row for each kind of path, with how much there is of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.gather.engine import Parcel
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable

_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class GatheredPart:
    """Files, or words of devices, whose paths differ in numbers only.

    Attributes:
        path: with * for numbers that differ.
        count: how many.
        size: of files, in bytes; None for words.
        scrubbed: what was taken out of them.
    """

    path: str
    count: int
    size: int | None
    scrubbed: int


PART_COLUMNS: Final[tuple[Column[GatheredPart], ...]] = (
    Column("path", "", -1, (), lambda one: one.path, help="what was read; * stands for numbers", identity=True),
    Column("count", "", 0, (), lambda one: one.count, help="files of such a path; words of a device; counters tried"),
    Column("size", "B", 0, (), lambda one: one.size, help="bytes of these files"),
    Column("scrubbed", "", 0, (), lambda one: one.scrubbed, help="names, numbers and words that were taken out"),
)


def part_table(parcel: Parcel) -> RowTable[GatheredPart]:
    """A row for each kind of path."""
    machine, changed = parcel.scrubbed.machine, parcel.scrubbed.changed
    parts = [
        *_grouped((path, 1, len(data), changed.get(path, 0)) for path, data in machine.files.items()),
        *_grouped((path, len(words), None, 0) for path, words in machine.words.items()),
    ]
    if machine.counters:
        parts.append(GatheredPart("perf_event_open", len(machine.counters), None, 0))
    parts += (GatheredPart(name, 1, size, 0) for name, size in parcel.documents.items() if "/" not in name)
    return RowTable("gathered", "part", PART_COLUMNS, tuple(parts))


def _grouped(entries: Iterable[tuple[str, int, int | None, int]]) -> list[GatheredPart]:
    """Parts by path, one with the same numbers everywhere as it is."""
    groups: dict[str, list[tuple[str, int, int | None, int]]] = {}
    for entry in entries:
        groups.setdefault(_NUMBERS.sub("*", entry[0]), []).append(entry)
    return [
        GatheredPart(
            pattern if len(group) > 1 else group[0][0],
            sum(one[1] for one in group),
            None if group[0][2] is None else sum(one[2] or 0 for one in group),
            sum(one[3] for one in group),
        )
        for pattern, group in sorted(groups.items())
    ]
