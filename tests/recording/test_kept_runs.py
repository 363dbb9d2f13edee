"""The kept runs of the dashboard: bounded in count and bytes, their owner's alone, found by number and name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from made_frames import frames, machine, topology_of_cpus

from turbotui.recording.kept_runs import (
    MOST_BYTES,
    MOST_RUNS,
    RUN_BYTES,
    RecordedRun,
    find_run,
    is_run,
    kept_runs,
    new_run,
    run_facts,
    runs_folder,
)
from turbotui.recording.recorder import Recorder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path)}


def put(environment: dict[str, str], number: int, size: int = 1, part: int = 0) -> RecordedRun:
    """Put files of these sizes where a run has its recording and a part of it; holes take no room on the disk."""
    folder = runs_folder(environment)
    os.makedirs(folder, exist_ok=True)
    run = RecordedRun(f"20260101-0000{number:02}-1", os.path.join(folder, f"20260101-0000{number:02}-1.ttj"))
    for path, length in ((run.path, size), (f"{run.path}.10s.20260101T000000.000000Z", part)):
        if length:
            with open(path, "wb") as file:
                file.truncate(length)
    return run


def names(environment: dict[str, str]) -> list[str]:
    return [run.name for run in kept_runs(environment)]


def test_no_more_runs_are_kept_than_their_number_and_the_oldest_goes_with_all_of_its_parts(
        environment: dict[str, str]) -> None:
    runs = [put(environment, number, part=9) for number in range(MOST_RUNS + 3)]
    run = new_run(environment)
    assert names(environment) == [recorded_run.name for recorded_run in reversed(runs[4:])]
    assert len(os.listdir(runs_folder(environment))) == 2 * (MOST_RUNS - 1)
    assert not os.path.exists(run.path)


def test_their_bytes_leave_room_for_one_more_run(environment: dict[str, str]) -> None:
    runs = [put(environment, number, RUN_BYTES // 2, RUN_BYTES // 2) for number in range(8)]
    new_run(environment)
    assert sum(run.size for run in kept_runs(environment)) <= MOST_BYTES - RUN_BYTES
    assert names(environment) == [run.name for run in reversed(runs[-len(names(environment)):])]


def test_a_run_that_goes_on_is_not_removed_and_with_nothing_else_there_is_no_room(environment: dict[str, str]) -> None:
    here = machine(topology_of_cpus(range(2)))
    oldest = Recorder(put(environment, 0, size=0).path, here)
    for number in range(1, MOST_RUNS + 1):
        put(environment, number)
    new_run(environment)
    assert names(environment)[-1] == "20260101-000000-1"
    assert len(names(environment)) == MOST_RUNS - 1
    for run in kept_runs(environment)[:-1]:
        os.truncate(run.path, 0)
    others = [Recorder(run.path, here) for run in kept_runs(environment)[:-1]]
    others.append(Recorder(put(environment, 50, size=0).path, here))
    with pytest.raises(OSError, match="being recorded"):
        new_run(environment)
    assert len(names(environment)) == MOST_RUNS
    for recorder in (oldest, *others):
        recorder.close()


def test_nobody_but_their_owner_reads_them_whatever_the_folder_was(environment: dict[str, str]) -> None:
    os.makedirs(runs_folder(environment), 0o755)
    recorder = Recorder(new_run(environment).path, machine(topology_of_cpus(range(2))))
    recorder.close()
    assert stat.S_IMODE(os.stat(runs_folder(environment)).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(recorder.path).st_mode) == 0o600


def test_a_run_is_found_by_its_number_from_the_newest_and_by_its_name(environment: dict[str, str]) -> None:
    runs = [put(environment, number) for number in range(3)]
    Path(runs_folder(environment), "notes.txt").touch()
    assert find_run(environment, "") == find_run(environment, "1") == runs[2]
    assert find_run(environment, "3") == runs[0]
    assert find_run(environment, "4") is None
    assert find_run(environment, runs[1].name) == runs[1]
    assert find_run(environment, "20250101-000000-1") is None
    assert is_run("1")
    assert is_run(runs[0].name)
    assert not is_run("0")
    assert not is_run("run.ttj")
    assert not is_run(f"../{runs[0].name}")


def test_the_facts_of_a_run_are_its_recording_s_or_why_there_are_none(environment: dict[str, str]) -> None:
    run = put(environment, 1, size=0)
    recorder = Recorder(run.path, machine(topology_of_cpus(range(2))), command=("make", "-j2"))
    ticks = list(frames(4, topology_of_cpus(range(2))))
    for frame in ticks:
        recorder.take(frame)
    recorder.close()
    facts = run_facts(run)
    assert facts.command == ("make", "-j2")
    assert not facts.why
    assert (facts.first_ns, facts.last_ns) == (ticks[0].newer.wall_ns, ticks[-1].newer.wall_ns)
    assert "is no recording" in run_facts(put(environment, 2)).why
