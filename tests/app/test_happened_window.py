"""The list of what happened: alerts, findings and marks with their times, and the way to the moment of each."""

from __future__ import annotations

from dashboard_driver import dashboard
from scripted_machine import FakeSession, Script, build_topology
from simulated_session import SimulatedSession

from turbotui.app.happened_window import HappenedWindow, happened
from turbotui.app.settings import parse_settings
from turbotui.recording.rows import IntervalRows
from turbotui.sampling.frame import Frame
from turbotui.widgets.listing import Listing


def busy_at(first: int, last: int) -> FakeSession:
    """A machine whose CPU 2 is busy in these intervals, and idle in others."""
    topology = build_topology()
    return FakeSession(topology, script=Script(topology, lambda cpu, tick: (
        0.95 if cpu == 2 and first <= tick <= last else 0.1)))


async def test_enter_goes_to_the_moment_of_an_alert_that_is_over_and_of_a_mark() -> None:
    session = busy_at(3, 6)
    settings = parse_settings('[[alert]]\nwhen = "Busy%>90 for 2s"\nlog = false\nbell = false\n', "s.toml")
    async with dashboard(session, ticks=9, screen="cpus", settings=settings) as (app, pilot):
        await pilot.press("M")
        for _ in range(3):
            session.tick()
            await pilot.pause()
        newest, *others = happened(app.watched)
        assert newest.text == "Mark 1"
        assert [event.text.partition(":")[0] for event in others] == ["Alert Busy%>90 for 2s"] * 2
        assert "ended after" in others[0].text
        assert others[0].time_ns > others[1].time_ns
        await pilot.press("exclamation_mark")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, HappenedWindow)
        assert window.query_one(Listing).text.count("Alert Busy%>90 for 2s") == 2
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert app.watched.cursor is not None
        assert app.watched.cursor.at == others[1].time_ns
        assert app.watched.in_past


async def test_findings_are_noted_when_another_cause_is_the_worst_and_not_at_every_interval() -> None:
    session = SimulatedSession("laptop+heat")
    async with dashboard(session, ticks=8, screen="overview") as (app, _pilot):  # type: ignore[arg-type]
        (noted,) = app.watched.judge.noted
        assert noted.text.startswith("Finding: ")
        assert noted in happened(app.watched)


async def test_a_kept_run_has_the_findings_as_marks() -> None:
    marks: list[str] = []
    session = SimulatedSession("laptop+heat")
    async with dashboard(session, ticks=0, screen="overview") as (app, pilot):  # type: ignore[arg-type]
        app.watched.keeper = Marks(marks)
        for _ in range(8):
            session.tick()
            await pilot.pause()
        assert marks == [event.text for event in app.watched.judge.noted]
        assert len(marks) == 1


class Marks:
    """A recording of which only the marks are kept."""

    def __init__(self, marks: list[str]) -> None:
        self.mark = marks.append

    def take(self, frame: Frame) -> None:
        """Leave the frame."""

    def rows(self, rows: IntervalRows) -> None:
        """Leave the rows."""
