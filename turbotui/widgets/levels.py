"""Levels: how much of the possible range a value takes, in nine colour steps. Nothing here knows Textual.

A step stands for the same share everywhere: in cells, sparklines, bars, graphs and on the map.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.widgets.cells import StyleRole

STEPS: Final = 9
LEVELS: Final = tuple(StyleRole[f"LEVEL_{step}"] for step in range(STEPS))
"""Roles from little to much: cool and dim to warm and bright."""
FULL_LEVELS: Final = tuple(StyleRole[f"LEVEL_{step}_FULL"] for step in range(STEPS))
"""Roles of text that lies on an area of a level."""
CALM: Final = 5
"""Steps of cells that look like any other text, so that the eye goes to the other cells."""
HIGH: Final = 7
"""The step from which cells are bold, for terminals without colours."""

IN_A_CELL: Final = (*(StyleRole.PLAIN,) * CALM, *LEVELS[CALM:])
"""Roles of numbers in tables."""

OF_A_WHOLE: Final = (*(StyleRole.SUMMARY,) * CALM, *LEVELS[CALM:])
"""Roles of numbers of a whole machine or package, which stay bright while they are low."""

MARKS: Final = "·░░▒▒▓▓██"
"""A mark for each step, for pictures that must be readable without colours."""


def step_of(share: float) -> int:
    """The step of a share of 0 to 1; values outside get the first or last."""
    return max(0, min(STEPS - 1, int(share * STEPS)))


def share_of(value: float | None, limit: float | None) -> float | None:
    """A value as a share of its limit, 0 to 1; None if either is unknown."""
    return None if value is None or not limit else max(0.0, min(1.0, value / limit))


def role_of(share: float) -> StyleRole:
    """The role of a mark, bar or curve of this share."""
    return LEVELS[step_of(share)]


LevelSegment: TypeAlias = tuple[str, StyleRole]

_FILLED: Final = "■"
_TRACK: Final = "·"


def level_bar(share: float | None, width: int) -> tuple[LevelSegment, ...]:
    """Draw a horizontal bar, each mark in the colour of the level at which it stands, and dots up to the end.

    Rows of marks stay apart, where blocks would grow together to a wall. What is not 0 has at least one mark.

    Args:
        share: 0 to 1; None for what is not known.
    """
    if width < 1:
        return ()
    return _bar(max(1, min(width, round(share * width))) if share is not None and share > 0 else 0, width)


@functools.lru_cache(256)
def _bar(filled: int, width: int) -> tuple[LevelSegment, ...]:
    roles = [role_of((at + 0.5) / width) for at in range(filled)]
    counts = [(role, roles.count(role)) for role in LEVELS]
    rest = ((_TRACK * (width - filled), StyleRole.RULE),) if width > filled else ()
    return (*((_FILLED * count, role) for role, count in counts if count), *rest)


def flat_bar(share: float, width: int, role: StyleRole) -> tuple[LevelSegment, ...]:
    """Draw a bar as `level_bar`, but in one colour, because its scale is the greatest value, not what is possible."""
    filled = sum(len(text) for text, _ in level_bar(share, width) if text[0] == _FILLED)
    return (_FILLED * filled, role), (_TRACK * (width - filled), StyleRole.RULE)


def cell_role_of(share: float) -> StyleRole:
    """The role of a number of this share: plain text unless the share is high."""
    return IN_A_CELL[step_of(share)]


def whole_role_of(share: float | None) -> StyleRole:
    """The role of a number of a whole machine or package; None if the share is unknown."""
    return StyleRole.SUMMARY if share is None else OF_A_WHOLE[step_of(share)]


Ends: TypeAlias = tuple[float, float]
"""The lower and the upper end of a scale."""


@dataclass()
class FrameLevels:
    """How much of the possible range cells take, frame by frame.

    The ends of a scale are computed once for each kind of core behind an L3 cache, not for each CPU.
    """

    find: Callable[[ColumnId], CounterColumn | None]
    _topology: Topology | None = None
    _seq: int = -1  # of the frame that the ends are of
    _likes: dict[RowId, RowId] = field(default_factory=dict)
    _firsts: dict[tuple[RowId, str | None], RowId] = field(default_factory=dict)
    _inside: dict[RowId, Sequence[RowId]] = field(default_factory=dict)
    _ends: dict[tuple[ColumnId, RowId], Ends] = field(default_factory=dict)

    def share(self, frame: Frame, column: CounterColumn, row: RowId, value: Value) -> float | None:
        """The position of a row's value in its scale, 0 to 1; None if the scale is unknown."""
        if column.scale is None or not isinstance(value, (int, float)):
            return None
        ends = self.ends(frame, column, row)
        return None if ends is None else max(0.0, min(1.0, (value - ends[0]) / (ends[1] - ends[0])))

    def roles(self, frame: Frame, column: CounterColumn, rows: Sequence[RowId],
              values: Sequence[Value]) -> Sequence[StyleRole]:
        """`cell_role_of` of many cells; plain if the share is unknown."""
        if column.scale is None:
            return (StyleRole.PLAIN,) * len(rows)
        self._renew(frame)
        likes, roles = self._likes, list[StyleRole]()
        known: dict[RowId, Ends | None] = {}
        for row, value in zip(rows, values, strict=True):
            like = likes.get(row) or self._like(row)
            ends = known[like] if like in known else known.setdefault(like, self.ends(frame, column, row))
            if ends is None or value is None or isinstance(value, str):
                roles.append(StyleRole.PLAIN)
            else:
                low, high = ends
                roles.append(IN_A_CELL[max(0, min(STEPS - 1, int((value - low) / (high - low) * STEPS)))])
        return roles

    def ends(self, frame: Frame, column: CounterColumn, row: RowId) -> Ends | None:
        """Both ends of a column's scale in a row; None if it has no scale, or an unknown one."""
        if (scale := column.scale) is None:
            return None
        self._renew(frame)
        like = self._likes.get(row) or self._like(row)
        ends = self._ends.get((column.id, like))
        if ends is None:
            ends = scale.ends(lambda name: self._value(frame, name, like))
            if ends is not None:
                self._ends[column.id, like] = ends
        return ends

    def _value(self, frame: Frame, name: ColumnId, row: RowId) -> Value:
        """The value of a column in a row; for a group without a single value, the greatest of its kinds of core."""
        column = self.find(name)
        if column is None or not frame.can(column):
            return None
        value = frame.cell(column, row)
        instance = None if value is not None or row.scope is Scope.CPU else frame.topology.instance(row)
        if instance is None:
            return value
        if (likes := self._inside.get(row)) is None:  # once per topology: a thousand CPUs are of few kinds
            likes = self._inside[row] = tuple({self._like(cpu_row(cpu)): None for cpu in instance.cpus})
        return max((each for like in likes if isinstance(each := frame.cell(column, like), (int, float))), default=None)

    def _renew(self, frame: Frame) -> None:
        if frame.topology is not self._topology:
            self._topology = frame.topology
            self._likes.clear()
            self._firsts.clear()
            self._inside.clear()
            self._ends.clear()
        if frame.seq != self._seq:
            self._seq = frame.seq
            self._ends.clear()

    def _like(self, row: RowId) -> RowId:
        """The row that represents a row: within a package, one CPU of the same kind and cache."""
        topology = self._topology
        instance = None if topology is None or row.scope.rank >= Scope.PACKAGE.rank else topology.instance(row)
        like = row
        if topology is not None and instance is not None and instance.cpus:
            cpu = instance.cpus[0]
            kind = topology.row(Scope.L3, cpu), topology.places[cpu].core_type
            like = self._firsts.setdefault(kind, cpu_row(cpu))
        self._likes[row] = like
        return like
