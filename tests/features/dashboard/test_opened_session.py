"""The session of the dashboard: a screen goes on without late CPUs."""

from __future__ import annotations

import argparse

from turbotui.app.settings import PersonalSettings
from turbotui.commands.sessions import open_session
from turbotui.features.collect.verb import add_arguments as add_collect_arguments
from turbotui.features.dashboard import verb


def test_a_screen_goes_on_without_late_cpus_and_a_collector_waits() -> None:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    session, _columns, _profile = verb._opened(parser.parse_args(["--machine", "guest"]), PersonalSettings())
    assert not session.waits
    other = argparse.ArgumentParser()
    add_collect_arguments(other)
    assert open_session(other.parse_args(["--machine", "guest"]))[0].waits
