"""A session whose readings come from a collector: its messages if they do not, and how it recovers."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from patience import PATIENCE
from scripted_links import Clock, ScriptedLink, ScriptedWay, stream_of
from watched_machines import frames_of_machine

from turbotui.errors import UsageError
from turbotui.features.info.model import configuration
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.recording.framing import Record, RecordingError, RecordKind, framed
from turbotui.recording.json_values import packed
from turbotui.recording.machine_facts import header_facts, header_of
from turbotui.remote.links import LinkError
from turbotui.remote.session import RemoteSession
from turbotui.sampling.frame import Frame


@functools.cache
def watched() -> tuple[Machine, list[Frame]]:
    return frames_of_machine("laptop", 6)


class Renamed(DelegatingHost):
    """A machine that calls itself something else."""

    def __init__(self, host: Host, name: str) -> None:
        super().__init__(host)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


def part(first: int, last: int) -> bytes:
    machine, frames = watched()
    return stream_of(machine, frames[first:last])


def session_of(links: Sequence[ScriptedLink | str], clock: Clock, *, again: bool = True) -> RemoteSession:
    return RemoteSession(ScriptedWay(links, again=again), LinuxHost(), clock=clock, pause=clock.pause)


def drained(session: RemoteSession, link: ScriptedLink) -> list[Frame]:
    """The frames that come until the link has nothing more."""
    frames: list[Frame] = []
    session.start(frames.append)
    assert link.drained.wait(PATIENCE)
    session.stop(PATIENCE)
    return frames


def test_it_is_what_the_header_says() -> None:
    clock = Clock()
    link = ScriptedLink([part(0, 3)], clock)
    session = session_of([link], clock)
    machine, frames = watched()
    assert session.machine.host.kind is HostKind.SIMULATED
    assert session.machine.host.name == machine.host.name == "laptop"
    assert session.capabilities.signals.keys() == frames[0].capabilities.signals.keys()
    assert [frame.seq for frame in drained(session, link)] == [0, 1, 2]
    assert link.closed
    assert session.trouble == ""
    assert session.interval == 1.0


def test_no_text_that_is_sent_has_a_second_line() -> None:
    machine, frames = watched()
    evil = "node\nrm -rf ~\t\x1b[2J\u2028"
    hostile = replace(machine, host=Renamed(machine.host, evil),
                      model=replace(machine.model, name=evil, microcode=evil))
    session = session_of([ScriptedLink([stream_of(hostile, frames[:3])], Clock())], Clock())
    model = session.machine.model
    assert {session.machine.host.name, model.name, model.microcode} == {"node␊rm -rf ~␉␛[2J⟪2028⟫"}
    assert "\n" not in session.why_fixed


def test_of_files_that_were_not_sent_nothing_is_reported() -> None:
    clock = Clock()
    session = session_of([ScriptedLink([part(0, 3)], clock)], clock)
    lines = [line.text for section in configuration(session.machine) for line in section.lines]
    assert "laptop is read by a collector, which sends no files: turbotui info --host, or run there, has them" in lines
    assert not any("not loaded" in line or "NSFOD" in line for line in lines)
    assert any(line.startswith("CPUID(1)") for line in lines)


def test_it_asks_for_what_is_shown_and_for_nothing_else() -> None:
    clock = Clock()
    link = ScriptedLink([part(0, 3), None], clock)
    session = session_of([link], clock)
    session.want(["Busy%", "IRQ", "no such column"])
    drained(session, link)
    (asked,) = link.asked
    wanted = set(json.loads(asked)["want"])
    assert {"tsc", "mperf"} <= wanted <= session.capabilities.signals.keys()
    assert not any(name.startswith("energy") for name in wanted)
    for refused in (lambda: session.add_all("cycles:u"), lambda: session.set_tcc(90)):
        with pytest.raises(UsageError, match="collector"):
            refused()


def test_after_a_loss_it_connects_again_with_growing_pauses_and_says_why() -> None:
    clock = Clock()
    first = ScriptedLink([part(0, 2), b""], clock, "the connection to node7 was lost")
    last = ScriptedLink([part(3, 5)], clock)
    seen: list[str] = []
    session = session_of([first, "no route", "no route", "no route", last], clock)

    def pause(*words: object) -> bool:
        seen.append(session.trouble)
        return clock.pause(*words)  # type: ignore[arg-type]

    session._pause = pause
    frames = drained(session, last)
    assert clock.pauses == [1.0, 2.0, 4.0, 8.0]
    assert seen[0].endswith(": the connection to node7 was lost; again in 1 s")
    assert seen[-1] == "NO READING FOR 7 s: no route; again in 8 s"
    assert [frame.older is None for frame in frames] == [True, False, True, False]
    assert first.closed
    assert session.trouble == ""


def test_pauses_do_not_grow_for_ever() -> None:
    clock = Clock()
    last = ScriptedLink([part(3, 5)], clock)
    session = session_of([ScriptedLink([part(0, 2), b""], clock), *["down"] * 9, last], clock)
    drained(session, last)
    assert clock.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]


def test_a_stream_that_ended_stays_in_sight() -> None:
    clock = Clock()
    link = ScriptedLink([part(0, 2), b""], clock, "the stream has ended")
    session = session_of([link], clock, again=False)
    session.start(lambda _frame: None)
    assert session._thread is not None
    session._thread.join(PATIENCE)
    clock.now += 120
    assert session.trouble == "NO READING FOR 2 min: the stream has ended"
    assert session.latest is not None
    assert clock.pauses == []


def test_silence_is_reported() -> None:
    clock = Clock()
    session = session_of([ScriptedLink([part(0, 2)], clock)], clock)
    assert session.trouble == ""
    clock.now += 3.5
    assert session.trouble == "NO READING FOR 3 s"


def version_of_tomorrow() -> bytes:
    facts = {**header_facts(header_of(watched()[0])), "format": 99}
    return framed(Record(RecordKind.HEADER, 0, 0, packed(facts)))


@pytest.mark.parametrize(("pieces", "sentence"), [
    ([b""], "it was cut$"),
    ([b"Welcome to node7!\r\n", b""], "it was cut; what came was no stream of turbotui collect"),
    ([], "no collector's stream came in 20 s"),
    ([b"Welcome to node7!\r\n" * 9], "no collector's stream came in 20 s"),
    (["the header"], "a collector answered and sent no reading in 20 s"),
], ids=["end", "end after a greeting", "silence", "greeting", "only a header"])
def test_without_a_reading_there_is_no_screen(pieces: list[bytes | str], sentence: str) -> None:
    clock = Clock()
    read = [part(0, 1)[:2000] if isinstance(piece, str) else piece for piece in pieces]
    link = ScriptedLink(read, clock, silent=True)
    with pytest.raises(LinkError, match=sentence):
        session_of([link], clock)
    assert link.closed


def test_a_later_version_is_named() -> None:
    clock = Clock()
    link = ScriptedLink([version_of_tomorrow()], clock)
    with pytest.raises(RecordingError, match="in version 99 of the format; this turbotui"):
        session_of([link], clock)
    assert link.closed


def test_a_greeting_before_the_stream_does_no_harm() -> None:
    clock = Clock()
    session = session_of([ScriptedLink([b"Welcome to node7!\r\n" + part(0, 3)], clock)], clock)
    assert session.latest is not None


def test_lost_frames_are_counted_and_another_clock_is_reported() -> None:
    machine, frames = watched()
    clock = Clock()
    link = ScriptedLink([stream_of(machine, [frames[0], frames[5]], lost=frames[1:5])], clock)
    session = session_of([link], clock)
    drained(session, link)
    assert session.lost == 4
    words: Callable[[str], bool] = lambda word: any(word in remark for remark in session.remarks)  # noqa: E731
    assert words("4 FRAMES LOST")
    assert words("ITS CLOCK IS")
