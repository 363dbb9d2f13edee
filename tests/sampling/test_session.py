"""A session: its start, its stop, its errors, and its cost."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from dataclasses import replace

import pytest
from patience import PATIENCE
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.errors import InternalError
from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.collector import loop_here
from turbotui.sampling.frame import Frame
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.session import Session
from turbotui.sampling.workers import Worker
from turbotui.sources.source import Source
from turbotui.threads import NamedThread


def session_of(*sources: Source, interval: float = 3600.0) -> Session:
    host = FakeHost()
    return Session(machine_of(host), sources, interval, host)


class Listener:
    """Keeps frames, and reports the end."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.first = threading.Event()
        self.ended = threading.Event()

    def frame(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.first.set()


@pytest.mark.parametrize("on_loop", [True, False])
def test_it_samples_on_an_asyncio_loop_where_it_is_told_to(on_loop: bool) -> None:
    session, heard, loops = session_of(), Listener(), []

    def take(frame: Frame) -> None:
        loops.append(loop_here() is not None)
        heard.frame(frame)

    session.start(take, on_end=heard.ended.set, on_loop=on_loop)
    assert heard.first.wait(PATIENCE)
    session.stop()
    assert heard.ended.wait(PATIENCE)
    assert set(loops) == {on_loop}


def test_who_takes_a_session_over_gets_its_frames_in_order() -> None:
    session, heard, newer = session_of(), Listener(), threading.Event()
    session.start(heard.frame)
    assert heard.first.wait(PATIENCE)
    taken: list[int] = []

    def take(frame: Frame) -> None:
        if not taken and frame.newer.seq == 0:
            session.end_interval()
            newer.wait(0.1)  # while the latest frame is handed over the next one comes, where nothing holds it
        taken.append(frame.newer.seq)
        if frame.newer.seq:
            newer.set()

    session.start(take)
    assert newer.wait(PATIENCE)
    session.stop()
    assert taken[:2] == [0, 1]


def test_stop_is_prompt_and_may_be_called_again() -> None:
    session, heard = session_of(), Listener()
    session.start(heard.frame, on_end=heard.ended.set)
    assert heard.first.wait(PATIENCE)
    session.stop()
    assert heard.ended.is_set(), "stop returns when sampling has ended"
    session.stop()
    session.end_interval()
    assert session.failure is None
    assert session.latest is heard.frames[-1]


def test_it_samples_on_the_thread_that_runs_it() -> None:
    session, heard = session_of(), Listener()

    def take(frame: Frame) -> None:
        assert threading.current_thread() is threading.main_thread()
        heard.frame(frame)
        session.end_interval()

    session.run(take, 2)
    assert [frame.seq for frame in heard.frames] == [0, 1, 2]
    assert session.latest is heard.frames[-1]
    assert not [thread for thread in threading.enumerate() if thread.name == "sampler"]


def test_what_a_listener_raises_on_the_running_thread_ends_the_session_there() -> None:
    session = session_of(FakeSource((counter("tsc"),), lambda _cpu, _name: 1))
    session.want(["TSC_MHz"])

    def broken(_frame: Frame) -> None:
        raise BrokenPipeError("nobody reads")

    with pytest.raises(BrokenPipeError, match="nobody reads"):
        session.run(broken)
    assert not [thread for thread in threading.enumerate() if isinstance(thread, Worker)]


def test_a_session_stops_that_runs_on_the_first_thread() -> None:
    session, heard = session_of(), Listener()

    def take(frame: Frame) -> None:
        heard.frame(frame)
        NamedThread(target=session.stop, args=(0.0,), name="stop").start()

    session.run(take)
    assert [frame.seq for frame in heard.frames] == [*range(len(heard.frames))]


def test_stop_before_the_start_means_that_nothing_is_sampled() -> None:
    session, heard = session_of(), Listener()
    session.stop()
    session.start(heard.frame, on_end=heard.ended.set)
    assert heard.ended.wait(PATIENCE)
    assert heard.frames == []
    assert session.latest is None


def test_stop_without_a_start_does_nothing() -> None:
    session_of().stop()


def test_an_interval_ends_when_asked() -> None:
    session, heard = session_of(), Listener()
    session.start(heard.frame, intervals=1, on_end=heard.ended.set)
    assert heard.first.wait(PATIENCE)
    session.end_interval()
    assert heard.ended.wait(PATIENCE)
    assert [frame.seq for frame in heard.frames] == [0, 1]
    cost = session.own_cost()
    assert cost.cpu_percent is not None
    assert cost.cpu_percent >= 0
    assert cost.rss_bytes is None, "this machine has no /proc/self/statm"


def test_a_shorter_interval_than_the_shortest_is_not_set() -> None:
    session = session_of()
    session.set_interval(0.0)
    assert session.interval == SHORTEST_INTERVAL


def test_what_ended_the_sampler_is_kept() -> None:
    def value(_cpu: int, _name: SignalId) -> Raw:
        raise ZeroDivisionError("a source is wrong")

    session, heard = session_of(FakeSource((counter("tsc"),), value)), Listener()
    session.want(["TSC_MHz"])
    session.start(heard.frame, on_end=heard.ended.set)
    assert heard.ended.wait(PATIENCE)
    assert isinstance(session.failure, InternalError)
    assert "a source is wrong" in str(session.failure)
    assert heard.frames == []


def test_a_listener_that_raises_ends_the_session_with_its_error() -> None:
    session, heard = session_of(), Listener()

    def broken(_frame: Frame) -> None:
        raise KeyError("in the view")

    session.start(broken, on_end=heard.ended.set)
    assert heard.ended.wait(PATIENCE)
    assert isinstance(session.failure, KeyError)


class Near(FakeSource):
    """A source that looks at some CPUs more often."""

    def __init__(self, name: str) -> None:
        super().__init__([counter(name)], lambda _cpu, _signal: 0)
        self.cpus: list[Collection[int] | None] = []

    def own(self) -> Source:
        return self

    def look_often(self, cpus: Collection[int] | None) -> None:
        self.cpus.append(cpus)


class Walked(tuple[Source, ...]):
    """Sources that count how often somebody goes through them."""

    __slots__ = ()
    times = 0

    def __iter__(self) -> Iterator[Source]:
        Walked.times += 1
        return super().__iter__()


def test_sources_that_look_often_are_looked_for_once_for_each_set_of_sources() -> None:
    first, later = Near("a"), Near("b")
    session = session_of(first)
    session.capabilities = replace(session.capabilities, sources=Walked(session.capabilities.sources))
    Walked.times = 0
    for cpu in range(3):
        session.look_often({cpu})
    assert (first.cpus, Walked.times) == ([{0}, {1}, {2}], 1)
    session.capabilities = replace(session.capabilities, sources=(later,))
    session.look_often({3})
    assert (len(first.cpus), later.cpus) == (3, [{3}])


def test_who_looks_often_everywhere_does_so_for_good() -> None:
    source = Near("a")
    session = session_of(source)
    for cpus in ({1}, None, {2}, ()):
        session.look_often(cpus)
    assert source.cpus == [{1}, None, None, None]
