"""What the dashboard keeps of a run, and that it never fails because of it."""

from __future__ import annotations

import errno
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import frames, machine, topology_of_cpus
from patience import ENDED_BY_THE_TEST, PATIENCE

from turbotui.features.dashboard import run_keeper
from turbotui.features.dashboard.run_keeper import RunKeeper
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.recording import kept_runs as kept_runs_of_the_user
from turbotui.recording import read
from turbotui.recording.framing import RecordingError
from turbotui.recording.kept_runs import kept_runs

CPUS = topology_of_cpus(range(2))


@pytest.fixture
def here() -> Machine:
    return replace(machine(CPUS), host=LinuxHost())


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_every_frame_of_a_command_s_run_is_kept_with_its_marks_however_short_it_was(here: Machine) -> None:
    with RunKeeper(("make", "-j2")) as keeper:
        assert keeper.begin(here)
        for frame in frames(5, CPUS):
            keeper.take(frame)
            keeper.take(frame)  # the newest one comes again when the screens exist
        keeper.mark("built")
    assert not keeper.failure
    (run,) = kept_runs(os.environ)
    with read(run.path) as journal:
        assert [frame.seq for frame in journal.frames()] == list(range(5))
        assert [event.text for event in journal.events()] == ["built"]
        assert journal.header.command == ("make", "-j2")


def test_more_frames_than_may_wait_together_are_written_before_they_are_lost(
        here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_keeper, "_TOGETHER", ENDED_BY_THE_TEST)
    ahead = run_keeper._QUEUE // 2
    with RunKeeper(("make",)) as keeper:
        assert keeper.begin(here)
        for frame in frames(3 * ahead, CPUS):
            keeper.take(frame)
            if (frame.seq + 1) % ahead == 0:
                _wait_for(keeper, frame.seq)
    assert not keeper.failure
    (run,) = kept_runs(os.environ)
    with read(run.path) as journal:
        assert [frame.seq for frame in journal.frames()] == list(range(3 * ahead))
        assert not journal.gaps()


def _wait_for(keeper: RunKeeper, seq: int) -> None:
    """Wait until a frame and all before it are in the recording, which nothing ends."""
    end = time.monotonic() + PATIENCE
    while not keeper.path or not os.path.exists(keeper.path) or _last_in(keeper.path) < seq:
        assert time.monotonic() < end, f"frame {seq} waits for the end"
        time.sleep(0.01)


def _last_in(path: str) -> int:
    try:
        with read(path) as journal:
            return max((frame.seq for frame in journal.frames()), default=-1)
    except RecordingError:  # it has just begun
        return -1


def test_a_look_of_a_moment_is_not_kept(here: Machine) -> None:
    with RunKeeper() as keeper:
        assert keeper.begin(here)
        for frame in frames(2, CPUS):
            keeper.take(frame)
    assert not keeper.failure
    assert kept_runs(os.environ) == []


def test_nothing_is_kept_of_a_machine_that_is_not_this_one() -> None:
    with RunKeeper(("make",)) as keeper:
        assert not keeper.begin(machine(CPUS))
        for frame in frames(3, CPUS):
            keeper.take(frame)
    assert kept_runs(os.environ) == []


def test_where_nothing_can_be_written_the_run_goes_on_and_its_end_says_why(
        here: Machine, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state.write_text("no folder")
    with RunKeeper(("make",)) as keeper:
        assert keeper.begin(here)
        for frame in frames(3, CPUS):
            keeper.take(frame)
    assert keeper.failure == "Not a directory"
    assert capsys.readouterr().err == "turbotui: this run is not kept for turbotui replay: Not a directory\n"


def test_a_disk_that_hangs_keeps_nobody_in_the_dashboard(
        here: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    hangs, opened = threading.Event(), threading.Event()

    def run_on_a_disk_that_hangs(_environ: object) -> None:
        opened.set()
        hangs.wait()
        raise OSError(errno.EIO, "given up")

    monkeypatch.setattr(run_keeper, "_LAST_WRITES", 0.01)
    monkeypatch.setattr(kept_runs_of_the_user, "new_run", run_on_a_disk_that_hangs)
    try:
        with RunKeeper(("make",)) as keeper:
            assert keeper.begin(here)
        assert opened.wait(PATIENCE)
    finally:
        hangs.set()
    assert "the disk takes longer than" in capsys.readouterr().err
