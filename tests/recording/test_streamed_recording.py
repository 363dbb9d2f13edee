"""Recordings that come through a pipe, and the intervals that are left over at the end of any recording."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from watched_machines import frames_of_machine

from turbotui import recording
from turbotui.cli import main
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorder import Recorder
from turbotui.recording.streamed_recording import read_stream

INTERVALS = 7
PATIENCE = 60.0  # seconds, for a test that fails


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recording of seven intervals of a second."""
    machine, frames = frames_of_machine("laptop-old", INTERVALS)
    path = str(tmp_path_factory.mktemp("streamed") / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recording with tasks and groups, whose records come after their tick."""
    path = str(tmp_path_factory.mktemp("streamed") / "tasks.ttj")
    assert main(["record", path, "--machine", "laptop-old", "-n", "3", "-i", "0.1", "--tables", "tasks,groups"]) == 0
    return path


@contextlib.contextmanager
def on_stdin(path: str) -> Iterator[None]:
    """Let a recording come through stdin, at most 512 bytes a reading."""
    reader, writer = os.pipe2(os.O_DIRECT)
    before = os.dup(0)
    os.dup2(reader, 0)
    os.close(reader)

    def write() -> None:
        data = Path(path).read_bytes()
        with open(writer, "wb", buffering=0) as pipe, contextlib.suppress(BrokenPipeError):
            pipe.writelines(data[at:at + 512] for at in range(0, len(data), 512))

    writing = threading.Thread(target=write)
    writing.start()
    yield
    os.dup2(before, 0)  # which ends the writer too
    os.close(before)
    writing.join()


@pytest.mark.parametrize("words", [
    ("stat", "-q", "--show", "Busy%,PkgWatt", "--replay"),
    ("stat", "-q", "--show", "Busy%", "--from", "-3s", "--replay"),
    ("why", "--replay"), ("power", "--replay"), ("export", "--columns", "Busy%", "--from"),
], ids=lambda words: words[0])
def test_verbs_take_a_stream_as_they_take_its_file(words: tuple[str, ...], run: str,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    with on_stdin(run):
        status, streamed = main([*words, "-"]), capsys.readouterr()
    assert status == main([*words, run])
    assert streamed == capsys.readouterr()
    assert streamed.out


@pytest.mark.parametrize("verb", ["tasks", "groups"])
def test_rows_of_a_stream_are_waited_for(verb: str, tasks: str, capsys: pytest.CaptureFixture[str]) -> None:
    with on_stdin(tasks):
        assert main([verb, "--replay", "-", "--format", "csv"]) == 0
    streamed = capsys.readouterr().out
    assert main([verb, "--replay", tasks, "--format", "csv"]) == 0
    assert streamed == capsys.readouterr().out


def test_intervals_of_a_stream_come_before_its_end(run: str) -> None:
    data = Path(run).read_bytes()
    reader, writer = os.pipe()
    go_on = threading.Event()

    def write() -> None:
        with open(writer, "wb", buffering=0) as pipe:
            pipe.write(data[:len(data) * 3 // 4])
            go_on.wait(PATIENCE)
            pipe.write(data[len(data) * 3 // 4:])

    writing = threading.Thread(target=write)
    writing.start()
    with read_stream(reader) as journal:
        frames = journal.frames()
        early = [next(frames) for _ in range(3)]  # nothing more comes before this
        ended = [journal.ended]
        go_on.set()
        late = list(frames)
        assert [*ended, journal.ended] == [False, True]
        assert journal.missing == ()
    writing.join()
    os.close(reader)
    with recording.read(run) as journal:
        whole = [frame.newer.wall_ns for frame in journal.frames()]
    assert [frame.newer.wall_ns for frame in (*early, *late)] == whole


@pytest.mark.parametrize("data", [b"", b"no recording\n", b"\0" * 40_000])
def test_what_is_no_stream_is_refused(data: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    with pytest.raises(RecordingError, match="stdin holds no reading"):
        read_stream(reader)
    os.close(reader)


def test_a_stream_is_bounded(run: str) -> None:
    with (on_stdin(run),
          pytest.raises(RecordingError, match="stream on stdin has more than"),
          read_stream(0, Path(run).stat().st_size - 1) as journal):
        list(journal.frames())


@pytest.mark.parametrize("every", [2.0, 3.0, 3600.0])
def test_the_rest_of_a_recording_is_a_shorter_interval(run: str, every: float) -> None:
    with recording.read(run) as journal:
        fine = [frame for frame in journal.frames() if frame.older is not None]
        coarse = [frame for frame in journal.frames(every=every) if frame.older is not None]
    assert coarse[0].older is not None
    assert fine[0].older is not None
    assert coarse[0].older.wall_ns == fine[0].older.wall_ns
    assert coarse[-1].newer.wall_ns == fine[-1].newer.wall_ns
    assert all(one.newer is two.older for one, two in pairwise(coarse))
    assert all((frame.seconds or 0) <= every * 1.01 for frame in coarse)


def test_a_shorter_interval_is_named(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "-q", "-S", "--show", "Busy%", "--replay", run, "--every", "1h"]) == 0
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 3  # what the machine is, the column, one interval
    assert f"is {INTERVALS} s long, not 3600 s" in printed.err


def test_intervals_within_a_time_begin_with_it(run: str) -> None:
    with recording.read(run) as journal:
        start = journal.first_ns + 1_500_000_000
        first = next(frame for frame in journal.frames(start, every=4.0, within=True) if frame.older is not None)
        assert first.older is not None
        assert 0 <= first.older.wall_ns - start < 1_000_000_000


@pytest.mark.parametrize("words", [
    ("stat", "--replay", "{}", "--from", "+1h"), ("power", "--replay", "{}", "--to", "2001-01-01"),
    ("why", "--replay", "{}", "--from", "+1h"), ("export", "--from", "{}", "--from-time", "+1h"),
    ("diff", "{}", "{}@+1h.."), ("diff", "{}", "{}", "--every", "1h"), ("tasks", "--replay", "{}", "--from", "+1h"),
], ids=" ".join)
def test_a_time_outside_of_the_recording_ends_with_a_status(words: tuple[str, ...], run: str,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.format(run) for word in words]) in {1, 2}
    printed = capsys.readouterr()
    assert not printed.out
    assert len(printed.err.splitlines()) == 1
