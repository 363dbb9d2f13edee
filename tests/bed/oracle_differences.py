"""The table of DIFFERENCES.md that the comparison reads: what may differ, on which machines, by how much."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_DOCUMENT = Path(__file__).parents[2] / "DIFFERENCES.md"
_TITLE = "## Compared cell by cell and line by line"
_WITHIN = re.compile(r"([0-9.]+) %")


@dataclass
class Difference:
    """One row of the table.

    Attributes:
        where: `column`, `absent` (a column that turbotui does not have), `order` of rows, or `line` of the header.
        what: the column's name, or a regular expression that matches the whole of a line of either program.
        machines: names of cases, with wildcards.
        within: largest relative difference of a cell, infinite where none is given.
        used: whether a comparison has met it.
    """

    where: str
    what: str
    machines: tuple[str, ...]
    within: float
    used: bool = field(default=False, compare=False)

    def covers(self, where: str, what: str, machine: str, relative: float = 0.0) -> bool:
        """Whether this is the difference that was met."""
        fits = re.fullmatch(self.what, what) if self.where == "line" else self.what == what
        found = (self.where == where and bool(fits) and relative <= self.within
                 and any(fnmatch.fnmatchcase(machine, pattern) for pattern in self.machines))
        self.used = self.used or found
        return found


def read_differences() -> Sequence[Difference]:
    """The rows of the table."""
    text = _DOCUMENT.read_text(encoding="utf-8")
    section = text.split(_TITLE, 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ") and "`" in line]
    found = []
    for row in rows:
        where, what, machines, size = (cell.strip() for cell in row[:4])
        match = _WITHIN.fullmatch(size)
        within = float(match[1]) / 100 if match else float("inf")
        found.append(Difference(where, what.strip("`"), tuple(machines.split("; ")), within))
    return found
