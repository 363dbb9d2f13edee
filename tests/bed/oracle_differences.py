"""The table of DIFFERENCES.md that the comparison reads: what may differ, on which machines, by how much."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_DOCUMENT = Path(__file__).parents[2] / "DIFFERENCES.md"
_TITLE = "## Compared cell by cell and line by line"
_BOTH = "both"
_WITHIN = re.compile(r"([0-9.]+) %")


@dataclass
class Difference:
    """One row of the table.

    Attributes:
        release: the release of turbostat that differs so, or `both`.
        where: `column`, `absent` (a column that turbotui does not have), `added` (one that turbostat does not have),
            `order` of rows or columns, or `line` of the header.
        what: the column's name, or a regular expression that matches the whole of a line of either program.
        machines: names of cases, with wildcards.
        within: largest relative difference of a cell, infinite where none is given.
        used: the releases whose comparison has met it.
    """

    release: str
    where: str
    what: str
    machines: tuple[str, ...]
    within: float
    used: set[str] = field(default_factory=set, compare=False)

    def covers(self, release: str, where: str, what: str, machine: str, relative: float = 0.0) -> bool:
        """Whether this is the difference that was met."""
        if self.release not in (release, _BOTH):
            return False
        fits = re.fullmatch(self.what, what) if self.where == "line" else self.what == what
        result = (self.where == where and bool(fits) and relative <= self.within
                  and any(fnmatch.fnmatchcase(machine, pattern) for pattern in self.machines))
        if result:
            self.used.add(release)
        return result

    def unmet(self, releases: Collection[str]) -> bool:
        """Whether a release that this row is about was compared and never showed it."""
        return not self.used >= (set(releases) if self.release == _BOTH else {self.release} & set(releases))


def read_differences() -> Sequence[Difference]:
    """The rows of the table."""
    text = _DOCUMENT.read_text(encoding="utf-8")
    section = text.split(_TITLE, 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| ") and "`" in line]
    result = []
    for row in rows:
        release, where, what, machines, size = (cell.strip() for cell in row[:5])
        match = _WITHIN.fullmatch(size)
        within = float(match[1]) / 100 if match else float("inf")
        result.append(Difference(release, where, what.strip("`"), tuple(machines.split("; ")), within))
    return result
