"""A history is a cache of what frames say: whatever was pushed, left out and read later, in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_machine import FakeSession

from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History, HistoryRing

_LENGTH = 5
_STEPS = st.lists(st.tuples(st.sampled_from(("push", "turn", "lengthen")), st.integers(1, 12)), max_size=20)


def _truth(seq: int) -> float:
    """The value of an interval; every fifth is unknown."""
    return math.nan if seq % 5 == 0 else float(seq)


@given(_STEPS)
def test_what_a_ring_lacks_is_unread_and_once_it_was_read_the_ring_is_what_the_frames_say(
        steps: Sequence[tuple[str, int]]) -> None:
    ring = HistoryRing(_LENGTH)
    for what, by in steps:
        if what == "push":
            seq = max(1, ring.last + by)
            ring.leave(seq)
            ring.last = seq
            ring.push(None if math.isnan(_truth(seq)) else _truth(seq))
        elif what == "turn":
            ring.turn(max(1, ring.last + by - 6))
        else:
            ring.lengthen(by)
    for seq in ring.unread:
        if not math.isnan(_truth(seq)):
            ring.put(seq, _truth(seq), counts=False)
    values = ring.values()
    for ago, value in enumerate(reversed(values)):
        seq = ring.last - ago
        assert value == _truth(seq) if seq >= 1 and not math.isnan(_truth(seq)) else math.isnan(value)
    ring.recount()
    known = [value for value in values if not math.isnan(value)]
    assert (ring.count, ring.low) == (len(known), min(known, default=math.inf))
    assert ring.high == max(known, default=-math.inf)


@pytest.fixture
def frames() -> tuple[CounterColumn, Sequence[Frame]]:
    session = FakeSession()
    busy = session.catalog.get("Busy%")
    assert busy is not None
    return busy, [session.frame() for _ in range(12)]


def _values(history: History, column: CounterColumn, count: int) -> list[float | None]:
    return [None if math.isnan(value) else value for value in history.series(column, SYSTEM_ROW, count)]


def _read(history: History, column: CounterColumn, frames: Sequence[Frame]) -> None:
    cells = {cell: ring.unread for cell, ring in history.wanted.items()}
    for frame in frames:
        history.fill(frame, column, (SYSTEM_ROW,))
    history.filled(cells)


def test_asking_makes_what_is_missing_wanted_once_and_reading_fills_it(
        frames: tuple[CounterColumn, Sequence[Frame]]) -> None:
    column, all_frames = frames
    asked: list[None] = []
    history = History(wanting=lambda: asked.append(None))
    for seq in (2, 3, 7, 8):
        history.push(all_frames[seq], (column,), (SYSTEM_ROW,))
    assert _values(history, column, 8)[3:6] == [None] * 3
    history.series(column, SYSTEM_ROW, 8)
    assert len(asked) == len(history.wanted) == 1
    _read(history, column, all_frames[:9])
    assert _values(history, column, 8) == pytest.approx([frame.cell(column, SYSTEM_ROW) for frame in all_frames[1:9]])
    assert not history.wanted
    ring = history.ring(column.id, SYSTEM_ROW)
    assert ring is not None
    assert ring.count == 8
    assert history.peak(column.id, SYSTEM_ROW.scope) == pytest.approx(ring.high)


def test_what_cannot_be_read_stays_a_gap_and_is_not_asked_for_again(
        frames: tuple[CounterColumn, Sequence[Frame]]) -> None:
    column, all_frames = frames
    history = History()
    history.push(all_frames[4], (column,), (SYSTEM_ROW,))
    _values(history, column, 4)
    _read(history, column, all_frames[3:4])
    assert _values(history, column, 4)[:2] == [None, None]
    assert not history.wanted


def test_values_from_before_a_reset_are_in_the_picture_and_not_in_the_extremes(
        frames: tuple[CounterColumn, Sequence[Frame]]) -> None:
    column, all_frames = frames
    history = History()
    for seq in (1, 6):
        history.push(all_frames[seq], (column,), (SYSTEM_ROW,))
    history.reset()
    history.push(all_frames[8], (column,), (SYSTEM_ROW,))
    _values(history, column, 8)
    _read(history, column, all_frames[:9])
    assert None not in _values(history, column, 8)
    ring = history.ring(column.id, SYSTEM_ROW)
    assert ring is not None
    assert ring.count == 2


def test_the_value_of_a_longer_interval_is_that_of_all_that_it_spans(
        frames: tuple[CounterColumn, Sequence[Frame]]) -> None:
    column, all_frames = frames
    coarse = [Frame(all_frames[at - 3].newer, all_frames[at].newer, all_frames[at].capabilities) for at in (4, 7, 10)]
    history = History.until(coarse[-1], lambda: None)
    _values(history, column, 9)
    _read(history, column, coarse)
    each = [frame.cell(column, SYSTEM_ROW) for frame in coarse for _ in range(3)]
    assert _values(history, column, 9) == pytest.approx(each)


def test_a_step_in_the_past_keeps_what_both_pictures_have(frames: tuple[CounterColumn, Sequence[Frame]]) -> None:
    column, all_frames = frames
    history = History.until(all_frames[9], lambda: None)
    _values(history, column, 5)
    _read(history, column, all_frames[:10])
    for at in (8, 9, 10):
        history.turn(all_frames[at])
        kept = _values(history, column, 5)
        assert [item for item in kept if item is not None] != []
        _read(history, column, all_frames[at:at + 1])
        wanted = [frame.cell(column, SYSTEM_ROW) for frame in all_frames[at - 4:at + 1]]
        assert _values(history, column, 5) == pytest.approx(wanted)


def test_cells_that_nobody_shows_any_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.sampling.history._MOST_CELLS", 8)
    session, history = FakeSession(), History(length=_LENGTH)
    columns = [column for column in session.catalog.columns if column.decimals >= 0 and not column.identity][:40]
    kept = columns[0]
    for column in columns:
        history.push(session.frame(), (kept, column), (SYSTEM_ROW,))
    with_history = [column for column in columns if history.ring(column.id, SYSTEM_ROW) is not None]
    assert len(with_history) <= 8
    assert with_history[0] is kept
    assert with_history[-1] is columns[-1]
    assert len(history.series(columns[1], SYSTEM_ROW, _LENGTH)) == _LENGTH
    assert (columns[1].id, SYSTEM_ROW) in history.wanted, "it is read again from the frames that are kept"


def test_cells_that_are_shown_stay_however_many_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.sampling.history._MOST_CELLS", 8)
    session, history = FakeSession(), History(length=_LENGTH)
    columns = [column for column in session.catalog.columns if column.decimals >= 0 and not column.identity][:40]
    for _interval in range(3):
        history.push(session.frame(), columns, (SYSTEM_ROW,))
    assert all(history.ring(column.id, SYSTEM_ROW) is not None for column in columns)
