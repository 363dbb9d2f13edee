"""The tasks screen, which tells a test when it has drawn what its watcher published."""

from __future__ import annotations

import asyncio

from turbotui.screens.tasks import CutReady, TasksScreen
from turbotui.screens.watch import Watch


class Heard(TasksScreen):
    """Tells when a cut has been drawn."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.drawn = asyncio.Event()

    def on_cut_ready(self, _message: CutReady) -> None:
        """Textual calls the handler of every class: this one first, so what it says has to wait for the other."""
        self.call_later(self.drawn.set)
