"""The application of a fleet, with one screen, from which nodes are opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from textual.binding import BindingType

from turbotui.app.actions import bindings_for
from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.player import Player
from turbotui.app.running import collect_garbage, freeze_objects, run_app
from turbotui.app.settings import read_settings
from turbotui.errors import UsageError
from turbotui.feature import EVERYWHERE, ScreenSpec
from turbotui.features.fleet import opening
from turbotui.features.fleet.recorded import FleetRecord
from turbotui.features.fleet.replaying import ReplayedFleet
from turbotui.features.fleet.screen import NodeChosen
from turbotui.features.fleet.session import FleetSession
from turbotui.repertoire import Abilities
from turbotui.sampling.frame import Frame

_ONE: Final = ScreenSpec("fleet", "1", "fleet", "turbotui.features.fleet.screen", "FleetScreen")
_OF_MACHINES: Final = frozenset({"why", "alerts", "tcc", "tour", "tour_end", "next_screen", "previous_screen", "output",
                                 "remember"})
"""Actions of all screens that apply to a single machine only."""


_OPEN: Final = "Open the node under the cursor: its own dashboard, or its recording; fold or unfold a group."


class FleetApp(TurbotuiApp, inherit_bindings=False):
    """The application that shows the nodes of a server.

    Attributes:
        chosen: the command of the node that the user wants to open; None if the user quit.
    """

    screens: ClassVar[Sequence[ScreenSpec]] = (_ONE,)
    BINDINGS: ClassVar[list[BindingType]] = [
        binding for binding in bindings_for(EVERYWHERE) if getattr(binding, "id", "") not in _OF_MACHINES]

    def __init__(self, session: FleetSession | ReplayedFleet, opener: opening.NodeOpener, *,
                 abilities: Abilities | None = None, theme: str | None = None, notice: str = "",
                 player: Player | None = None, problems: Sequence[str] = ()) -> None:
        settings = read_settings(os.environ)
        settings = replace(settings, alerts=(), screen="", columns=(), units={}, thresholds={},
                           problems=(*settings.problems, *problems))
        super().__init__(session, abilities=abilities or Abilities(), theme=theme, screen=_ONE.id, settings=settings,
                         player=player, on_shown=freeze_objects, on_rest=collect_garbage)
        self.actions = tuple(
            replace(action, label="open", rank=0, help=_OPEN) if action.id == "open" else action
            for action in self.actions if action.id not in _OF_MACHINES)
        self.chosen: Sequence[str] | None = None
        self._opener, self._notice, self._fleet = opener, notice, session

    def on_mount(self) -> None:
        super().on_mount()
        if self._notice:
            self.call_after_refresh(self.say, self._notice)

    def _taken(self, frame: Frame) -> None:
        """Take a frame on the session's thread, and record its nodes."""
        super()._taken(frame)
        reading = self._fleet.reading(frame)
        if self.watched.recorders and reading is not None:
            self.watched.record_rows(FleetRecord(*frame.clocks, reading))

    def on_node_chosen(self, message: NodeChosen) -> None:
        """Leave for a node's own dashboard."""
        try:
            self.chosen = self._opener.words(message.node)
        except UsageError as error:
            self.say(str(error))
        else:
            self.exit(0)

    def action_step_interval(self, by: int) -> None:
        """Change how often the server is queried, or the speed of a recording."""
        if self.watched.player is not None:
            self.step_speed(self.watched.player, by)
            return
        seconds = self.watched.step_interval(by)
        self.say(f"The server is asked every {seconds:g} s")


def show_fleet(session: FleetSession | ReplayedFleet, opener: opening.NodeOpener, abilities: Abilities,
               theme: str | None, player: Player | None = None, *, problems: Sequence[str] = ()) -> int:
    """Show the fleet until the user quits; a node that is opened returns to it.

    Args:
        theme: the theme's name; None for that of the settings.

    Returns:
        The exit status.

    Raises:
        InternalError: turbotui itself failed; the terminal is restored first.
    """
    notice = ""
    while True:
        app = FleetApp(session, opener, abilities=abilities, theme=theme, notice=notice, player=player,
                       problems=problems)
        status = run_app(app, session.stop, lambda: session.failure)
        if app.chosen is None or status:
            return status
        notice = opening.run(app.chosen)
        if notice:
            opening.wait_for_enter(f"turbotui: {notice}. Enter returns to the fleet. ")
