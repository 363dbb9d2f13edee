"""The dashboard of a machine that a collector reads."""

from __future__ import annotations

import os
import sys

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.running import collect_garbage, freeze_objects, run_app
from turbotui.app.settings import read_settings
from turbotui.machine.linux import LinuxHost
from turbotui.remote.links import Connector
from turbotui.remote.session import RemoteSession
from turbotui.repertoire import Abilities


def show_remote(way: Connector, abilities: Abilities, *, theme: str | None = None, screen: str = "",
                moments: bool = False) -> int:
    """Connect, and show readings until the user leaves; returns the exit status.

    Args:
        moments: whether the clocks of virtual CPUs are to be timed at ten moments of an interval.

    Raises:
        LinkError: there is no connection, or no reading arrived.
        RecordingError: the collector is of a later version.
        InternalError: a fault of turbotui; the terminal is restored first.
    """
    session = RemoteSession(way, LinuxHost(), screen=True, moments=moments)
    app = TurbotuiApp(session, abilities=abilities, theme=theme, screen=screen,
                      settings=read_settings(os.environ), on_shown=freeze_objects, on_rest=collect_garbage)
    status = run_app(app, lambda: session.stop(1.0), lambda: session.failure)
    for sentence in session.missing:
        print(f"turbotui: {sentence}", file=sys.stderr)
    return status
