"""The tasks screen, which tells a test when it has drawn what its watcher published."""

from __future__ import annotations

import asyncio

from turbotui.app.watch import Watch
from turbotui.features.tasks.screen import SnapshotReady, TasksScreen


class DrawnTasksScreen(TasksScreen):
    """A tasks screen that reports when a snapshot has been drawn."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.drawn = asyncio.Event()

    def lines(self) -> list[str]:
        """The rows from top to bottom, including those out of sight, without the rule before the numbers."""
        canvas, content = self.table._canvas, self.table.content
        if content is None:
            return []
        painted = canvas.painter.lines(content, self.table.lines, canvas.geometry)
        return ["".join(text for text, _role in segments).replace("│", " ") for segments in painted]

    def on_snapshot_ready(self, _message: SnapshotReady) -> None:
        """Textual calls the handler of every class: this one first, so what it says has to wait for the other."""
        self.call_later(self.drawn.set)
