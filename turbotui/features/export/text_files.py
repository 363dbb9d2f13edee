"""The long table as text: comma-separated values with every column in each line, or JSON, a table for each level."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from turbotui.dataclass import dataclass
from turbotui.features.export.model import LongColumn, by_level, rows_of_level
from turbotui.machine.host import HostKind
from turbotui.sampling.frame import Frame
from turbotui.tables.csv_lines import HEADER
from turbotui.tables.envelope import Envelope
from turbotui.tables.frame_table import FrameTable
from turbotui.tables.json_lines import JsonLines
from turbotui.tables.layout import PLACES, Layout, place_of


@dataclass(frozen=True)  # no slots: the name is a property of the base
class LevelTable(FrameTable):
    """The rows of one level in one interval, named by the level."""

    level: str = ""

    @property
    def name(self) -> str:
        """See `tables.Table.name`."""
        return self.level


class CsvExport:
    """Lines of comma-separated values (RFC 4180), with the columns that come first in every verb's."""

    def __init__(self, machine: str, columns: Sequence[LongColumn]) -> None:
        self._machine = machine
        self._columns = columns
        self._levels = by_level(columns)

    def begin(self) -> Iterator[str]:
        """The header."""
        yield _line([*HEADER, *(scope.value for scope in PLACES), *(one.name for one in self._columns)])

    def interval(self, frame: Frame) -> Iterator[str]:
        """The rows of an interval."""
        envelope = Envelope(self._machine, HostKind.RECORDED, frame.newer.wall_ns)
        seconds = "" if frame.seconds is None else f"{frame.seconds:.6f}"
        for level, columns in self._levels.items():
            rows = rows_of_level(frame, level)
            values = {one.name: frame.cells(one.column, rows) for one in columns}
            for at, row in enumerate(rows):
                place = place_of(frame, row)
                cells = (values[one.name][at] if one.name in values else None for one in self._columns)
                yield _line([envelope.time, seconds, self._machine, HostKind.RECORDED.value, level.value,
                             *(place.get(scope.value, "") for scope in PLACES),
                             *("" if value is None else value for value in cells)])


class JsonExport:
    """Lines of JSON: the object of every verb, one for each interval and level."""

    def __init__(self, machine: str, columns: Sequence[LongColumn]) -> None:
        self._machine = machine
        self._layouts = {
            level: Layout(tuple(one.column for one in some), machine=machine, kind=HostKind.RECORDED)
            for level, some in by_level(columns).items()
        }
        self._json = JsonLines()

    def begin(self) -> Iterator[str]:
        """Give no line: JSON lines have no header."""
        return iter(())

    def interval(self, frame: Frame) -> Iterator[str]:
        """The tables of an interval."""
        envelope = Envelope(self._machine, HostKind.RECORDED, frame.newer.wall_ns, frame.seconds)
        for level, layout in self._layouts.items():
            rows = tuple(rows_of_level(frame, level))
            yield from self._json.lines(envelope, LevelTable(frame, layout, rows, level.value))


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()
