"""Lines of the tables and timelines of tasks, as pieces. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui.analysis.tasks.columns import TaskColumn, TaskInputs, had_no_turn, is_estimate
from turbotui.analysis.tasks.live import Lane
from turbotui.analysis.tasks.timeline import place_texts, place_width
from turbotui.quantities.columns import Value
from turbotui.widgets.cells import UNKNOWN, Tone, number
from turbotui.widgets.painter import Piece

THIN: Final = tuple(Tone[f"LANE_{lane}"] for lane in range(8))
FULL: Final = tuple(Tone[f"LANE_{lane}_FULL"] for lane in range(8))
"""Colours of CPUs 0 to 7; further ones begin again, and the number tells them apart."""
FILLED: Final = 0.5  # share of a place from which it is drawn filled
_NAME: Final = 15  # characters that the kernel keeps of a name (proc(5), comm)


class TaskLine:
    """A row, each cell of which is computed when it is first asked for: of a thousand rows few are drawn.

    Attributes:
        row: whose.
        key: the row's, in any interval.
    """

    __slots__ = ("_cells", "_inputs", "key", "row")

    def __init__(self, inputs: TaskInputs) -> None:
        self._inputs = inputs
        self._cells: dict[str, Value] = {}
        self.row = inputs.row
        self.key = inputs.row.key

    def cell(self, column: TaskColumn) -> Value:
        """One of its cells; None where it is unknown."""
        if column.id not in self._cells:
            self._cells[column.id] = column.compute(self._inputs)
        return self._cells[column.id]

    def estimated(self, column: TaskColumn) -> bool:
        """Whether a cell is made of counts of sets that took turns."""
        return is_estimate(column, self._inputs)

    def had_no_turn(self, column: TaskColumn) -> bool:
        """Whether a cell is unknown because the row did not run while it was counted."""
        return had_no_turn(column, self._inputs)

    @property
    def said(self) -> str:
        """Which row it is, for people."""
        row = self.row
        parts = [row.application, row.name or "(no name)", "" if row.pid is None else f"PID {row.pid}",
                 "" if row.tid is None else f"TID {row.tid}", "" if row.threads == 1 else f"{row.threads} threads"]
        return " · ".join(part for part in parts if part)

    @property
    def words(self) -> str:
        """What search and filter look into, in lower case."""
        row = self.row
        return f"{row.application} {row.pid} {row.tid} {row.name}".lower()


class DrawnLine:
    """A line of the listing whose pieces are made when it comes into sight.

    Args:
        key: of its row.
        make: gives the pieces.
    """

    __slots__ = ("_make", "key")

    def __init__(self, key: str, make: Callable[[], tuple[Piece, ...]]) -> None:
        self.key = key
        self._make = make

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """As it is drawn."""
        return self._make()


def in_order(lines: Iterable[TaskLine], sort: TaskColumn | None, *, reverse: bool) -> list[TaskLine]:
    """Lines by one column, unknown cells last whatever the direction, equal ones by their numbers."""
    known: list[TaskLine] = []
    unknown: list[TaskLine] = []
    for line in sorted(lines, key=lambda line: (line.row.pid or 0, line.row.tid or 0, line.row.name)):
        (unknown if sort is None or line.cell(sort) is None else known).append(line)
    if sort is None:
        return unknown

    def by(line: TaskLine) -> tuple[bool, float, str]:
        cell = line.cell(sort)
        return (True, 0.0, cell.lower()) if isinstance(cell, str) else (False, cell or 0.0, "")

    return [*sorted(known, key=by, reverse=reverse), *unknown]


def that_fit(columns: Sequence[TaskColumn], width: int) -> tuple[TaskColumn, ...]:
    """The columns that fit into a width, those of lowest priority number first, in print order."""
    kept: set[str] = set()
    room = width - 1
    for column in sorted(columns, key=lambda column: column.priority):
        size = _wide(column) + 1
        if size <= room:
            kept.add(column.id)
            room -= size
    return tuple(column for column in columns if column.id in kept)


def titles(columns: Sequence[TaskColumn], sort: str, *, reverse: bool) -> list[Piece]:
    """The line above a table."""
    pieces: list[Piece] = []
    for column in columns:
        text = column.title
        if column.id == sort:
            arrow = "▼" if reverse else "▲"
            text = f"{arrow}{text}" if column.decimals >= 0 else f"{text}{arrow}"
        aligned = text.rjust(_wide(column)) if column.decimals >= 0 else text.ljust(_wide(column))
        pieces.append((f" {aligned}", Tone.SORTED if column.id == sort else Tone.TITLE))
    return pieces


def places_of(columns: Sequence[TaskColumn]) -> list[tuple[int, int, TaskColumn]]:
    """Where each title stands: start, end, column."""
    found, at = [], 0
    for column in columns:
        found.append((at, at + _wide(column) + 1, column))
        at += _wide(column) + 1
    return found


def pieces_of(line: TaskLine, columns: Sequence[TaskColumn]) -> tuple[Piece, ...]:
    """A row as it is drawn; counts that are too low are marked with `>`, those of sets that took turns with `~`."""
    pieces: list[Piece] = []
    for column in columns:
        value = line.cell(column)
        wide = _wide(column)
        mark = ">" if line.row.incomplete and not column.identity and value is not None else " "
        if value is None:
            text, tone = UNKNOWN.rjust(wide) if column.decimals >= 0 else UNKNOWN.ljust(wide), Tone.DIM
        elif isinstance(value, str):
            text, tone = value[:wide].ljust(wide), Tone.PLAIN
        else:
            text, tone = number(value, column.decimals, wide), Tone.PLAIN
            tone = Tone.DIM if not value and not column.identity else tone
            if line.estimated(column):
                pieces += [(f"{mark}{' ' * (wide - len(text) - 1)}", Tone.AMBER), ("~", Tone.AMBER), (text, tone)]
                continue
            text = text.rjust(wide)
        pieces += [(mark, Tone.AMBER), (text, tone)]
    return tuple(pieces)


def _wide(column: TaskColumn) -> int:
    return max(column.width, len(column.title) + 1)  # the arrow of the sorted one never moves the table


def lane_head(window: float, places: int, cell: int) -> list[Piece]:
    """The time scale above a timeline: seconds before the last sample, at the quarters."""
    text = [" "] * (places * cell)
    for quarter in range(4):
        word = f"|-{window * (4 - quarter) / 4:g} s"
        at = places * cell * quarter // 4
        text[at : at + len(word)] = word
    line = "".join(text)[: places * cell]
    head = f" {'TID':>7} {'Command':<{_NAME}} CPU%  "
    return [(head, Tone.TITLE), (line, Tone.TITLE)]


LANE_LEFT: Final = 8 + 1 + _NAME + 1 + 6
"""Characters before the lanes."""


def lane_cell(cpus: Iterable[int]) -> int:
    """Characters of one place: as wide as the largest CPU's number, so that no two CPUs look alike."""
    return place_width(max(cpus, default=0))


def lane_pieces(lane: Lane, cell: int) -> tuple[Piece, ...]:
    """A thread's line: a CPU's number where it ran there, filled where it ran at least half of the time.

    A point where it did not run, blank where nobody watched yet.
    """
    row = lane.row
    head = f" {row.tid if row.tid is not None else UNKNOWN:>7} {row.name[:_NAME]:<{_NAME}} {100 * lane.busy:4.0f}  "
    pieces: list[Piece] = [(head, Tone.DIM if row.ended else Tone.PLAIN)]
    text, tone = "", Tone.PLAIN
    for at, (one, word) in enumerate(zip(lane.stretches, place_texts(lane.stretches, cell), strict=True)):
        mine = (" " * cell if at < lane.unwatched else word, Tone.DIM) if one is None else (
            word, (FULL if one.share >= FILLED else THIN)[one.cpu % len(THIN)])
        if mine[1] is not tone and text:
            pieces.append((text, tone))
            text = ""
        text, tone = text + mine[0], mine[1]
    return (*pieces, (text, tone))


def matching(lines: Sequence[TaskLine], text: str, start: int) -> int | None:
    """The first line from `start` on and around whose words hold a text."""
    wanted = text.lower()
    order = [(start + step) % len(lines) for step in range(len(lines))]
    return next((at for at in order if wanted in lines[at].words), None)


