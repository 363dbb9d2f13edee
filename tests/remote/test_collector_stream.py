"""The stream of a collector: every reading bit by bit, lost ticks, requests."""

from __future__ import annotations

import functools
from dataclasses import fields, replace

import pytest
from scripted_links import stream_of, waiting
from watched_machines import frames_of_machine

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.recording.framing import Missing
from turbotui.recording.stream_writer import Gap
from turbotui.remote.backlog import Backlog
from turbotui.remote.incoming import Arrival, Incoming, Received
from turbotui.remote.requests import MOST_BYTES, RequestError, RequestParser, request_line
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot


@functools.cache
def watched(shape: str = "laptop") -> tuple[Machine, list[Frame]]:
    return frames_of_machine(shape, 6, small=True)


def facts_of(snapshot: Snapshot) -> dict[str, object]:
    result: dict[str, object] = {field.name: getattr(snapshot, field.name) for field in fields(snapshot)}
    for name in ("values", "stamps", "wraps"):
        result[name] = {key: list(column) for key, column in getattr(snapshot, name).items()}
    return result


def received(items: list[Arrival]) -> list[Received]:
    return [item for item in items if isinstance(item, Received)]


@pytest.mark.parametrize("shape", ["laptop", "turin-2s", "guest"])
def test_every_reading_arrives_as_it_was_however_the_stream_is_cut(shape: str) -> None:
    machine, frames = watched(shape)
    data = stream_of(machine, frames)
    incoming = Incoming()
    items = [item for at in range(0, len(data), 1000) for item in incoming.take(data[at:at + 1000])]
    assert len(received(items)) == len(frames)
    for sent, came in zip(frames, received(items), strict=True):
        assert facts_of(came.frame.newer) == facts_of(sent.newer)
        assert came.header.was is machine.host.kind
        for column in catalog_for(sent.capabilities.signals).columns:
            assert came.frame.cell(column, SYSTEM_ROW) == sent.cell(column, SYSTEM_ROW), column.id
    assert not incoming.ended


def test_skipped_ticks_are_gaps_too() -> None:
    machine, frames = watched()
    skipped = Frame(frames[0].newer, replace(frames[1].newer, overruns=4), frames[1].capabilities)
    items = list(Incoming().take(stream_of(machine, [frames[0], skipped])))
    assert [(item.reason, item.frames) for item in items if isinstance(item, Gap)] == [("missed", 4)]


def test_a_slow_reader_is_told_how_many_frames_it_lost() -> None:
    machine, frames = watched()
    items = list(Incoming().take(stream_of(machine, [*frames[:2], frames[5]], lost=frames[2:5])))
    assert [item.frames for item in items if isinstance(item, Gap)] == [3]
    last = received(items)[-1].frame
    assert last.older is not None
    assert (last.older.seq, last.newer.seq) == (1, 5)
    assert last.seconds == 4.0


def test_a_counter_that_began_again_in_a_lost_frame_has_no_difference_across_it() -> None:
    _machine, frames = watched()
    anew = Frame(frames[2].older, replace(frames[2].newer, fresh={"aperf": frozenset((0,))}), frames[2].capabilities)
    backlog = Backlog(1)
    for frame in (frames[1], anew, frames[3]):
        backlog.put(frame)
    assert backlog.take() is not None
    backlog.put(frames[4])
    last = backlog.take()
    assert last is not None
    assert (last.lost, dict(last.snapshot.fresh)) == (2, {"aperf": frozenset((0,))})
    backlog.put(frames[5])
    after = backlog.take()
    assert after is not None
    assert (after.lost, dict(after.snapshot.fresh)) == (0, {})


def test_the_numbers_of_ticks_continue_after_a_new_connection_with_a_gap_for_the_time_between() -> None:
    machine, frames = watched()
    incoming = Incoming()
    first = received(list(incoming.take(stream_of(machine, frames[:2]))))
    incoming.begin()
    second = received(list(incoming.take(stream_of(machine, frames[4:]))))
    assert [item.frame.seq for item in (*first, *second)] == [0, 1, 4, 5, 6]  # two are left out
    assert second[0].frame.older is None
    assert second[1].frame.older is second[0].frame.newer


def test_no_difference_reaches_over_what_is_missing() -> None:
    machine, frames = watched()
    data = stream_of(machine, frames[:2])
    whole = stream_of(machine, frames)
    incoming = Incoming()
    torn = bytearray(whole)
    torn[len(data) + 40] ^= 1  # in the third tick
    items = list(incoming.take(bytes(torn)))
    assert any(isinstance(item, Missing) for item in items)
    assert [item.frame.seq for item in received(items)] == [0, 1]


def test_what_is_asked_arrives_in_pieces_too() -> None:
    parser = RequestParser()
    line = request_line(["tsc", "aperf"])
    assert line == b'{"want":["aperf","tsc"]}\n'
    assert parser.feed(line[:7]) is None
    assert parser.feed(line[7:]) == frozenset(("tsc", "aperf"))
    assert parser.feed(line + request_line([])) == frozenset()  # the last one counts


@pytest.mark.parametrize("garbage", [
    b"GET / HTTP/1.1\n", b"\0\xff\xfe\n", b"[]\n", b'{"want":"tsc"}\n', b'{"want":[1]}\n', b'{"run":["sh"]}\n',
    b'{"want":[],"more":1}\n', b"[" * 5000 + b"\n", b"x" * (MOST_BYTES + 1),
    b'{"want":["' + b"x" * MOST_BYTES + b'"]}\n',
], ids=range(10))
def test_what_nobody_may_ask_is_refused(garbage: bytes) -> None:
    with pytest.raises(RequestError):
        RequestParser().feed(garbage)


def test_a_backlog_that_is_closed_is_emptied_first() -> None:
    _machine, frames = watched()
    backlog = Backlog(2)
    for frame in frames[:3]:
        backlog.put(frame)
    backlog.close()
    assert [unsent.snapshot.seq for unsent in iter(backlog.wait, None)] == [0, 1]
    assert waiting(frames[0]).lost == 0
