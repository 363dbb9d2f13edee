"""A machine's configuration as a table: a row a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.info.model import Section
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import CellEvidence, RowTable


@dataclass(frozen=True, slots=True)
class ConfigurationLine:
    """A line of the configuration, with its section and its number in it from 1."""

    section: str
    number: int
    text: str
    source: str


COLUMNS: Final[tuple[Column[ConfigurationLine], ...]] = (
    Column("section", "", -1, (), lambda line: line.section, help="what the line is about", priority=0, identity=True),
    Column("line", "", 0, (), lambda line: line.number, help="number within the section", identity=True, default=False),
    Column("text", "", -1, (), lambda line: line.text, help="the line", priority=0),
    Column("source", "", -1, (), lambda line: line.source, help="where it was read"),
)


def configuration_table(sections: Sequence[Section]) -> RowTable[ConfigurationLine]:
    """A row for each line."""
    lines = tuple(ConfigurationLine(section.title, number, line.text, line.origin)
                  for section in sections for number, line in enumerate(section.lines, 1))
    return RowTable("configuration", "line", COLUMNS, lines,
                    basis=lambda _, line: CellEvidence(remarks=(f"read from {line.source}",)))
