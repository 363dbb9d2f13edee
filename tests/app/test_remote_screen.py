"""The dashboard of a machine that a collector reads: the machine's name, and whether readings still arrive."""

from __future__ import annotations

import asyncio

import pytest
from dashboard_driver import dashboard, text_of
from patience import PATIENCE
from scripted_machine import FakeSession

from turbotui.machine.host import HostKind
from turbotui.widgets.summary import remote_banner


class FakeRemoteSession(FakeSession):
    """A session of a machine that a collector reads, whose connection a test cuts."""

    way = "ssh user@node7"
    trouble = ""
    remarks: tuple[str, ...] = ()

    @property
    def collector(self) -> FakeRemoteSession:
        """This session."""
        return self


async def test_a_real_machine_elsewhere_has_a_banner() -> None:
    session = FakeRemoteSession(kind=HostKind.REAL)
    async with dashboard(session) as (app, _pilot):
        assert "read through ssh user@node7" in text_of(app, "banner")
        assert "REAL" not in text_of(app, "banner")
    async with dashboard(FakeSession(kind=HostKind.REAL)) as (app, _pilot):
        assert not app.screen.query("#banner")


async def test_a_lost_connection_is_reported_though_no_frame_comes() -> None:
    session = FakeRemoteSession()
    async with asyncio.timeout(PATIENCE), dashboard(session) as (app, pilot):
        session.trouble = "NO READING FOR 2 s: the connection to node7 was lost; again in 4 s"
        while "the connection to node7 was lost" not in text_of(app, "banner"):
            await pilot.pause(0.05)
        session.trouble = ""
        while "NO READING" in text_of(app, "banner"):
            await pilot.pause(0.05)


async def test_nothing_is_drawn_on_a_screen_that_is_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = False
    async with dashboard(FakeRemoteSession()) as (app, _pilot):
        close = app._close_all

        async def closed_while_the_timer_ends() -> None:
            nonlocal looked
            await app._prune(*app.screen.query("#status"))
            app._show_trouble()
            looked = True
            await close()

        monkeypatch.setattr(app, "_close_all", closed_while_the_timer_ends)
    assert looked


async def test_what_was_lost_stands_on_the_status_line() -> None:
    session = FakeRemoteSession()
    session.remarks = ("12 FRAMES LOST: THIS SCREEN IS TOO SLOW",)
    async with dashboard(session) as (app, _pilot):
        assert "12 FRAMES LOST" in text_of(app, "status")


async def test_the_interval_is_not_ours() -> None:
    session = FakeRemoteSession()
    async with dashboard(session) as (app, pilot):
        await pilot.press("+")
        assert "The interval is the collector's" in text_of(app, "status")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("trouble", ["", "NO READING FOR 2 s: the connection to node7 was lost; again in 4 s"])
@pytest.mark.parametrize("kind", HostKind)
def test_a_banner_fits_and_says_what_matters(width: int, trouble: str, kind: HostKind) -> None:
    text = remote_banner(kind, "node7", "ssh user@node7.example.org", trouble, width)
    assert len(text) == width
    assert ("NO READING FOR 2 s" if trouble else "node7") in text
    if kind is not HostKind.REAL and not trouble:
        assert kind.value in text
