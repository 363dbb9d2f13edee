"""A cell of a panel for the windows that explain it and draw its past."""

from __future__ import annotations

from typing import TypeAlias

from turbotui.app.one_cell import OneCell
from turbotui.app.watch import Watch
from turbotui.features.uncore.board import Board
from turbotui.features.uncore.explaining import explanation, said
from turbotui.features.uncore.panels import At
from turbotui.features.uncore.ports import PortMap
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import HistoryRing
from turbotui.widgets.explanation import past_lines

_LENGTH = 300
"""Intervals kept of a cell."""

Key: TypeAlias = tuple[str, str, str]
"""Panel, row and metric."""


def key_of(at: At) -> Key:
    """The same cell in every frame."""
    return at.panel.kind.id, at.row.key, at.metric.id


class UncoreHistory:
    """Rings of the cells that somebody looked into."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._kept: dict[Key, tuple[At, HistoryRing]] = {}

    def keep(self, at: At, frame: Frame | None) -> HistoryRing:
        """The past of a cell, kept from now on."""
        if key_of(at) not in self._kept:
            self._kept[key_of(at)] = at, HistoryRing(_LENGTH)
            if frame is not None:
                self.push(frame)
        return self._kept[key_of(at)][1]

    def push(self, frame: Frame) -> None:
        """Keep what the cells are in a frame, once."""
        for at, ring in self._kept.values():
            if ring.last != frame.seq:
                ring.last = frame.seq
                ring.push(self._board.reading(frame, at.panel, at.row, at.metric).value)


class UncoreCell(OneCell):
    """A cell of a panel."""

    top = 0.0

    def __init__(self, watch: Watch, board: Board, ports: PortMap, history: UncoreHistory, at: At) -> None:
        self.column = at.metric
        self.seconds = watch.interval
        self._watch = watch
        self._board = board
        self._ports = ports
        self._at = at
        self._ring = history.keep(at, watch.frame)

    @property
    def title(self) -> str:
        """See `OneCell.title`."""
        frame, at = self._watch.frame, self._at
        name = f"{at.panel.kind.title} {at.row.label}"
        if frame is None:
            return name
        return f"{at.metric.what} · {name} · {said(at.metric, self._board.reading(frame, at.panel, at.row, at.metric))}"

    @property
    def ring(self) -> HistoryRing:
        """See `OneCell.ring`."""
        return self._ring

    def lines(self, width: int) -> list[str]:
        """See `OneCell.lines`; the window wraps those that are as long as the words that the kernel gets."""
        del width
        frame = self._watch.frame
        if frame is None:
            return []
        found = explanation(self._board, self._ports, frame, self._at)
        at = found.index("")
        return [*found[:at], *past_lines(self.column, self._ring, None, frame.seq), *found[at:]]
