"""Rows of kinds from a collector: asked for by the kind's name, and the same cells as on the machine."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Collection
from dataclasses import replace

import pytest
from made_frames import frames_of, machine, topology_of_cpus
from made_rows import DEFINITION, KIND, Jobs, frames_with_rows, row_ticks
from patience import PATIENCE
from scripted_links import Clock, ScriptedLink, ScriptedWay, stream_of
from smallmachines import small_host

from turbotui.app.sessions import RowReadingSession
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.clock_moments import CLOCK
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.tables import Cell
from turbotui.remote import requests
from turbotui.remote.requests import MOMENTS, WantedSignals, rows_word
from turbotui.remote.session import RemoteSession
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import row_table
from turbotui.sampling.session import Session
from turbotui.simulated.clock import ManualClock
from turbotui.sources.core_clock import CoreClock

TOPOLOGY = topology_of_cpus(range(2))
FRAMES = frames_with_rows([*row_ticks(9, random.Random(4))], TOPOLOGY)


def cells_of(frame: Frame) -> dict[object, Cell]:
    result = frame.kind(KIND.id)
    assert isinstance(result, RowDifferences)
    table = row_table(DEFINITION, result, parts=True)
    return {(row.identity, column.id): table.cell(column, row) for row in table.rows for column in table.columns}


def received(data: bytes) -> tuple[RemoteSession, ScriptedLink, list[Frame]]:
    clock = Clock()
    link = ScriptedLink([data], clock)
    session = RemoteSession(ScriptedWay([link]), LinuxHost(), clock=clock, pause=clock.pause)
    session.read_rows("a screen", [Jobs()])
    frames: list[Frame] = []
    session.start(frames.append)
    assert link.drained.wait(PATIENCE)
    session.stop(PATIENCE)
    return session, link, frames


def test_rows_arrive_with_their_frame_and_have_the_cells_of_the_machine() -> None:
    session, link, frames = received(stream_of(machine(TOPOLOGY), FRAMES))
    assert isinstance(session, RowReadingSession)
    assert json.loads(link.asked[-1]) == {"want": [rows_word(KIND.id)]}
    assert len(frames) == len(FRAMES)
    for live, there in zip(FRAMES, frames, strict=True):
        assert cells_of(there) == cells_of(live)
    session.read_rows("a screen", ())


def test_rows_that_ended_in_lost_frames_come_with_the_next() -> None:
    _session, _link, frames = received(stream_of(machine(TOPOLOGY), FRAMES, lost=FRAMES[2:6]))
    last = frames[-1].kind(KIND.id)
    assert isinstance(last, RowDifferences)
    ended = {frame.newer.rows[KIND.id].roster.rows[slot].identity for frame in FRAMES[2:6]
             for slot in frame.newer.rows[KIND.id].died}
    assert ended
    assert ended <= last.newer.roster.slots.keys()


def test_a_collector_that_goes_on_without_rows_is_no_reason_to_wait_for_ever() -> None:
    clock = Clock()
    bare = frames_of([replace(frame.newer, rows={}) for frame in FRAMES])
    for frames, without in ((bare, True), (FRAMES, False)):
        whole = stream_of(machine(TOPOLOGY), frames)
        first = len(stream_of(machine(TOPOLOGY), frames[:1])) + 64  # not every session's layout has as many bytes
        link = ScriptedLink([whole[:first], whole[first:]], clock)
        session = RemoteSession(ScriptedWay([link]), LinuxHost(), clock=clock, pause=clock.pause)
        session.read_rows("a screen", [Jobs()])
        session.start(lambda _frame: None)
        assert link.drained.wait(PATIENCE)
        session.stop(PATIENCE)
        assert session.why_no_rows(KIND.id) is None, "it may still come"
        clock.pause(threading.Event(), 60.0)
        assert (session.why_no_rows(KIND.id) is not None) is without
        session.read_rows("a screen", ())


class _CountedRequests(Session):
    """A session that notes which rows it reads."""

    kinds: list[KindId]

    def read_rows(self, owner: object, sources: object) -> None:
        assert isinstance(sources, list)
        self.kinds = [source.kind.id for source in sources]
        super().read_rows(owner, sources)


def test_a_collector_reads_the_kinds_that_it_knows_and_some_reader_names() -> None:
    session = _CountedRequests(read_machine(small_host("guest", ManualClock(1))), (), 1.0, LinuxHost())
    session.kinds = []
    wanted = WantedSignals(session, (), [Jobs()])
    wanted.take([{"tsc"}, {rows_word("planets"), "(screen)"}])
    assert session.kinds == []
    wanted.take([{"tsc"}, {rows_word(KIND.id)}])
    assert session.kinds == [KIND.id]
    session.kinds.clear()
    wanted.take([{"tsc", "aperf"}, {rows_word(KIND.id)}])
    assert session.kinds == []  # nothing new is asked for


class _CountedLooks(Session):
    """A session that notes on which CPUs its clocks are timed more often."""

    looks: list[Collection[int] | None]

    def look_often(self, cpus: Collection[int] | None) -> None:
        self.looks.append(cpus)
        super().look_often(cpus)


def test_a_collector_times_more_moments_while_some_reader_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    session = _CountedLooks(read_machine(small_host("guest", ManualClock(1))), (CoreClock(),), 1.0, LinuxHost())
    session.looks = []
    wanted = WantedSignals(session, ())
    (clock,) = session.capabilities.sources
    assert isinstance(clock, CoreClock)
    wanted.take([{CLOCK}])
    assert session.looks == []
    wanted.take([{CLOCK}, {CLOCK, MOMENTS}])
    wanted.take([{CLOCK}, {CLOCK, MOMENTS}])
    assert session.looks == [session.machine.topology.cpus]
    assert clock.looks_often_at(0)
    monkeypatch.setattr(requests, "LINGER", -1.0)  # of the reader that asked nothing is left
    wanted.take([{CLOCK}])
    assert session.looks[1:] == [()]
    assert not clock.looks_often_at(0)
