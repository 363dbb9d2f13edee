"""The columns of a screen are read for five minutes after the user leaves it; free columns are always read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pytest
from dashboard_driver import until_read
from scripted_machine import FakeSession
from simulated_session import SimulatedSession

from turbotui.app.column_requests import KEEP_READING, ColumnRequests, RecentScreens
from turbotui.app.dashboard import TurbotuiApp
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sources.source import Source


class Asked(FakeSession):
    """A session that notes what it is asked to read."""

    def __init__(self) -> None:
        super().__init__()
        self.beside: tuple[tuple[str, ...], frozenset[SignalId]] = ((), frozenset())

    def want(self, columns: Iterable[ColumnId]) -> None:
        self.wanted = frozenset(columns)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        self.beside = tuple(source.id for source in sources), signals


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Named:
    id: str


def frame_of(session: FakeSession, missing: dict[SignalId, Unavailable] | None = None) -> Frame:
    session.tick()
    assert session.latest is not None
    frame = session.latest
    return Frame(frame.older, frame.newer, replace(frame.capabilities, missing=missing or {}))


def test_a_column_lingers_for_five_minutes_unless_it_was_hidden() -> None:
    session, clock = Asked(), Clock()
    session.start(lambda _frame: None)
    requests = ColumnRequests(session, clock)
    c6, c1, tmp = (session.catalog.by_id[name] for name in ("CPU%c6", "CPU%c1", "PkgTmp"))
    requests.want([c6, c1])
    assert {"CPU%c6", "CPU%c1", tmp.id, "PkgWatt"} <= session.wanted
    clock.now = 10.0
    requests.want([], hidden=["CPU%c1"])
    assert "CPU%c6" in session.wanted
    assert "CPU%c1" not in session.wanted
    clock.now += KEEP_READING - 1.0
    requests.look(frame_of(session))
    assert "CPU%c6" in session.wanted
    clock.now += 1.0
    requests.look(frame_of(session))
    assert "CPU%c6" not in session.wanted
    assert "PkgWatt" in session.wanted, "what costs nothing is read always"


def test_nothing_lingers_where_descriptors_are_short() -> None:
    session, clock = Asked(), Clock()
    session.start(lambda _frame: None)
    requests = ColumnRequests(session, clock)
    requests.want([session.catalog.by_id["CPU%c6"]])
    requests.want([])
    assert "CPU%c6" in session.wanted
    requests.look(frame_of(session, {"x": Unavailable(Reason.NO_DESCRIPTORS, "none left")}))
    assert "CPU%c6" not in session.wanted


def test_sources_beside_linger_and_give_way_to_those_that_are_shown() -> None:
    session, clock = Asked(), Clock()
    session.start(lambda _frame: None)
    requests = ColumnRequests(session, clock)
    uncore, roofline, table = object(), object(), object()
    requests.read_also(uncore, [Named("imc"), Named("upi")], frozenset({"a"}))  # type: ignore[list-item]  # a name will do
    requests.read_also(roofline, [Named("imc")], frozenset({"b"}))  # type: ignore[list-item]  # as above
    assert sorted(session.beside[0]) == ["imc", "upi"]
    assert session.beside[1] == {"a", "b"}
    clock.now = 100.0
    requests.read_also(table, [], frozenset())
    clock.now = KEEP_READING
    requests.look(frame_of(session))
    assert session.beside == (("imc",), frozenset({"b"}))
    clock.now = KEEP_READING + 100.0
    requests.look(frame_of(session))
    assert not session.beside[0]


def test_screens_that_were_left_are_known_for_five_minutes() -> None:
    clock = Clock()
    recent: RecentScreens[str] = RecentScreens(clock)
    assert recent.beside("cpus") == ()
    clock.now = 1.0
    assert recent.beside("power") == ("cpus",)
    clock.now = KEEP_READING
    assert recent.beside("map") == ("power",)


@pytest.mark.parametrize("way", ["4", "8", "5"])
async def test_on_return_every_number_is_there_and_no_history_has_a_hole(way: str) -> None:
    session = SimulatedSession("laptop-old")
    app = TurbotuiApp(session)
    async with app.run_test(size=(200, 60)) as pilot:
        while not session.started:  # a busy machine shows the first screen later
            await pilot.pause()
        for _ in range(3):
            session.tick()
            await pilot.pause()
        screen = app.screen_stack[0]
        before = screen.shown  # type: ignore[attr-defined]  # the table's
        await pilot.press(way)
        await pilot.pause()
        for _ in range(4):
            session.tick()
            await pilot.pause()
        await pilot.press("1")
        await pilot.pause()
        session.tick()
        await pilot.pause()
        await until_read(app, pilot)
        frame, history = app.watched.frame, app.watched.history
        assert frame is not None
        columns, rows = before
        known = 0
        for column in columns:
            for row in (*rows, SYSTEM_ROW):
                ring = history.ring(column.id, frame.home(column, row) or row)
                if ring is None or column.decimals < 0 or row.scope not in {Scope.CPU, Scope.SYSTEM}:
                    continue
                if frame.cell(column, row) is not None:
                    known += 1
                    assert not any(map(math.isnan, ring.values(6))), (column.id, row)
        assert known > 80
        assert app.watched.interrupts is not None
        assert frame.cell(app.watched.interrupts, SYSTEM_ROW) is not None
