"""Sampling a session to its end, or for the duration of a block."""

from __future__ import annotations

import pytest
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.errors import InternalError, MachineError
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of, one_interval, raise_failure
from turbotui.sampling.session import Session
from turbotui.sources.source import Source


def session_of(*sources: Source, interval: float = 3600.0) -> Session:
    host = FakeHost()
    return Session(machine_of(host), sources, interval, host)


def broken(_cpu: int, _name: SignalId) -> Raw:
    raise ZeroDivisionError("a source is wrong")


def test_frames_come_to_the_end_and_the_first_has_no_interval() -> None:
    session = session_of(interval=0.05)
    frames = list(frames_of(session, 2))
    assert [frame.older is None for frame in frames] == [True, False, False]
    assert session.latest is frames[-1]


def test_whoever_stops_asking_ends_the_sampling() -> None:
    session = session_of()
    frames = frames_of(session)
    first = next(iter(frames))
    frames.close()
    assert session.latest is not None
    assert session.latest.seq in (first.seq, first.seq + 1), "stop ends the interval that is under way"
    session.stop()


def test_an_interval_begins_before_the_block_and_ends_after_it() -> None:
    seen: list[Frame] = []
    with one_interval(session_of()) as frames:
        assert len(frames) == 1
        assert frames[0].older is None
        seen += frames
    assert len(frames) == 2
    assert frames[1].older is seen[0].newer


def test_what_a_block_raises_ends_the_sampling_and_is_handed_on() -> None:
    session = session_of()

    def fail() -> None:
        with one_interval(session):
            raise MachineError("the load failed")

    with pytest.raises(MachineError, match="the load failed"):
        fail()
    assert session.failure is None


@pytest.mark.parametrize("how", ["frames", "interval"])
def test_what_ends_the_sampler_is_raised_where_its_frames_are_awaited(how: str) -> None:
    session = session_of(FakeSource((counter("tsc"),), broken))
    session.want(["TSC_MHz"])

    def sample() -> None:
        if how == "frames":
            list(frames_of(session, 1))
        else:
            with one_interval(session):
                pass

    with pytest.raises(InternalError, match="a source is wrong"):
        sample()


def test_a_failure_that_is_no_sentence_of_ours_is_a_fault_of_ours() -> None:
    session = session_of()
    raise_failure(session)
    session.failure = KeyError("x")
    with pytest.raises(InternalError, match="the sampler stopped: KeyError"):
        raise_failure(session)
