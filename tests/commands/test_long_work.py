"""Long work says how far it is and what is left, and keeps what there is when a signal comes."""

from __future__ import annotations

import io
import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO, cast

import pytest
from made_frames import NOON, SECOND, frames
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.commands.long_work import LongWork, long_work
from turbotui.errors import StoppedError, signal_status
from turbotui.features.export.model import RecordedTime, named_columns
from turbotui.features.export.verb import CsvExport
from turbotui.features.gather.engine import gather
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import RealClock
from turbotui.tables.terminal_text import TerminalText


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def told(*, is_terminal: bool) -> list[str]:
    """What is written of 100 steps that take a second each."""
    written, clock = io.BytesIO(), Clock()
    output = cast("TextIO", TerminalText(io.TextIOWrapper(written, "utf-8", newline="\n")))  # as stderr is
    work = LongWork("measuring", output, is_terminal=is_terminal, clock=clock)
    for step in range(100):
        work.show(step, 100, f"step {step}")
        clock.now += 1.0
    work.end()
    output.flush()
    return written.getvalue().decode().replace("\r", "\n").splitlines()


def test_where_stderr_is_piped_a_line_comes_now_and_then_with_what_is_left() -> None:
    lines = told(is_terminal=False)
    assert lines[0] == "turbotui: measuring: 10%, about 1 min 30 s left · step 10"
    assert lines[1] == "turbotui: measuring: 20%, about 1 min 20 s left · step 20"
    assert len(lines) == 9


def test_on_a_terminal_one_line_is_drawn_again_and_taken_away() -> None:
    lines = told(is_terminal=True)
    assert len(lines) > 90
    assert lines[1].startswith("turbotui: measuring: 2%")
    assert not lines[-1].strip(), "it ends blank"
    assert all(len(line) < 80 for line in lines)


def test_short_work_says_nothing() -> None:
    output, clock = io.StringIO(), Clock()
    work = LongWork("reading", output, is_terminal=False, clock=clock)
    for step in range(10):
        work.show(step, 10)
        clock.now += 0.1
    assert output.getvalue() == ""


def test_nothing_is_left_of_work_that_is_done() -> None:
    output, clock = io.StringIO(), Clock()
    work = LongWork("reading the machine", output, is_terminal=False, clock=clock)
    clock.now += 11.0
    work.show(10, 10)
    assert output.getvalue() == "turbotui: reading the machine: 100%\n"


def test_what_is_left_of_a_second_look_is_told_by_that_look() -> None:
    """A first look at 500 of a recording's frames is quicker than their export."""
    output, clock = io.StringIO(), Clock()
    work = LongWork("exporting", output, is_terminal=False, clock=clock)

    def taking(seconds: float) -> Iterator[Frame]:
        for frame in frames(500):
            clock.now += seconds
            yield frame

    for seconds, what in ((0.03, "first, which columns there are"), (0.3, "")):
        for _ in work.frames(taking(seconds), NOON, NOON + 500 * SECOND, what):
            pass
    first, second = output.getvalue().splitlines()[:2]
    assert re.fullmatch(r"turbotui: exporting: 6\d%, about \d s left · first, which columns there are", first)
    assert re.fullmatch(r"turbotui: exporting: \d%, about 2 min \d+ s left", second)


def interrupted(count: int, at: int) -> Iterator[Frame]:
    """Frames, while one of which Ctrl-C is pressed."""
    for number, frame in enumerate(frames(count)):
        if number == at:
            signal.raise_signal(signal.SIGINT)
        yield frame


def test_ctrl_c_keeps_the_frames_until_then() -> None:
    with long_work("reading") as work:
        kept = list(work.frames(interrupted(10, 3), NOON, NOON + 10 * SECOND))
    assert [frame.newer.seq for frame in kept] == [0, 1, 2, 3]
    assert work.status == signal_status(signal.SIGINT)
    assert work.stopped.startswith("stopped: whole until ")


def test_a_signal_ends_the_interval_that_is_measured_meanwhile() -> None:
    def measured() -> Iterator[Frame]:
        first, second, _third = frames(3)
        yield first
        signal.raise_signal(signal.SIGINT)
        assert ended == [True]  # or its deadline would be waited for
        yield second

    ended = list[bool]()
    with long_work("watching") as work:
        kept = list(work.frames(measured(), NOON, NOON + SECOND, interrupt=lambda: ended.append(True)))
    assert len(kept) == 2


def test_before_the_first_interval_is_over_there_is_nothing_to_keep() -> None:
    with long_work("watching") as work, pytest.raises(StoppedError):
        list(work.frames(interrupted(3, 0), NOON, NOON + SECOND))


def test_before_the_first_frame_there_is_nothing_to_keep() -> None:
    with long_work("reading") as work:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(StoppedError) as error:
            list(work.frames(frames(3), NOON, NOON + SECOND))
    assert error.value.exit_status == signal_status(signal.SIGINT)


def test_without_a_signal_all_frames_come_and_the_status_is_0() -> None:
    with long_work("reading") as work:
        assert len(list(work.frames(frames(5), NOON, NOON + 5 * SECOND))) == 5
    assert (work.status, work.stopped) == (0, "")


def test_a_stopped_export_has_whole_lines(tmp_path: Path) -> None:
    machine, result = frames_of_machine("laptop-old", 6, columns=["Busy%"])
    path = str(tmp_path / "kept.ttj")
    recorder = Recorder(path, machine)
    for frame in result:
        recorder.take(frame)
    recorder.close()
    with recording.read_machine(path) as journal, long_work("exporting") as work:
        def watched(frames: Iterator[Frame], begin: int, end: int, what: str) -> Iterator[Frame]:
            for number, frame in enumerate(work.frames(frames, begin, end, what)):
                if number == 1:
                    signal.raise_signal(signal.SIGINT)
                yield frame

        time = replace(RecordedTime(journal, journal.first_ns, journal.last_ns, 0.0), watched=watched)
        export = CsvExport("m", named_columns(journal, ["Busy%"], None))
        texts = [*export.begin(), *(text for frame in time.frames() for text in export.interval(frame))]
    lines = [line for text in texts for line in text.split("\n")]
    assert {line.count(",") for line in lines} == {lines[0].count(",")}
    assert len({line.split(",")[0] for line in lines[1:]}) == 2, "two intervals"
    assert work.number == signal.SIGINT


def test_a_stopped_gathering_has_the_intervals_until_then_and_says_so() -> None:
    archive = gather(simulated_host("guest", RealClock(), 1), {}, 0.05, 50, lambda done, _total: done < 2)
    assert "stopped: 2 of 50 intervals were recorded" in archive.notes
    assert archive.packed
