"""e on the uncore screen: where one number comes from, down to the words that perf_event_open gets."""

from __future__ import annotations

from turbotui.analysis.uncore.board import Board
from turbotui.analysis.uncore.explaining import explanation, said
from turbotui.analysis.uncore.panels import At
from turbotui.analysis.uncore.ports import PortMap
from turbotui.screens.text_window import TextWindow
from turbotui.screens.watch import Watch


class ExplainUncore(TextWindow):
    """Explains one cell, and goes on explaining it while frames come."""

    def __init__(self, watch: Watch, board: Board, ports: PortMap, at: At) -> None:
        super().__init__(self.told)
        self._watch = watch
        self._board = board
        self._ports = ports
        self._at = at

    def told(self, width: int) -> tuple[str, list[str]]:  # noqa: ARG002 - the window wraps these lines
        """The numbers of the newest frame; its lines are as long as the words that the kernel gets."""
        frame, at = self._watch.frame, self._at
        name = f"{at.panel.kind.title} {at.row.label}"
        if frame is None:
            return name, []
        reading = self._board.reading(frame, at.panel, at.row, at.metric)
        title = f"{at.metric.what} · {name} · {said(at.metric, reading)}"
        return title, explanation(self._board, self._ports, frame, at)
