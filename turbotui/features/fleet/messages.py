"""Messages of the fleet screen."""

from __future__ import annotations

from textual.message import Message

from turbotui.features.fleet.model import FleetNode


class NodeChosen(Message):
    """A person wants to look into a node."""

    def __init__(self, node: FleetNode) -> None:
        super().__init__()
        self.node = node


class TrendsReady(Message, bubble=False):
    """The server has answered what the last hour of some nodes was."""
