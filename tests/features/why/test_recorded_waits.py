"""`why --replay` of a recording with waits says who waited and behind whom, as the live one does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from watched_machines import frames_of_machine

from turbotui.cli import main
from turbotui.diagnosis.wait_tails import UNRECORDED
from turbotui.features.tasks.applications import EVERYTHING
from turbotui.features.tasks.recorded_tasks import RECORDED_BY, TaskRecord
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.waits import Waits
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import HostKind
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.quantities.histograms import bucket_bounds, bucket_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.recorder import Recorder

COLUMNS = ("Load%", "RunQ", "PSIcpu%")
MS = 1_000_000


def row(pid: int, name: str, lengths: dict[int, int], behind: tuple[tuple[str, int], ...], *, lost: int = 0,
        why: Unavailable | None = None) -> TaskRow:
    waited = WaitSums(queued=sum(length * count for length, count in lengths.items()), times=sum(lengths.values()),
                      lengths={bucket_of(length): count for length, count in lengths.items()})
    return TaskRow(pid, pid, name, 1, (0,), 0, {"switches": 1, "run": 5}, 0, {0: 5}, 5, incomplete=False,
                   application="all", waits=Waits(waited, behind=behind, lost=lost, why_no_wakeups=why))


def verdict(folder: Path, capsys: pytest.CaptureFixture[str], shape: str, *, lost: int = 0,
            why: Unavailable | None = None) -> str:
    """The first line of `why --replay`, the mark of the recording apart."""
    machine, frames = frames_of_machine(shape, 3, columns=COLUMNS, small=True)
    path = str(folder / "run.ttj")
    recorder = Recorder(path, machine, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
        rows = (row(10, "web", {1 * MS: 98, 8 * MS: 4}, (("batch", 71 * MS), ("cron", 29 * MS)), lost=lost, why=why),
                row(11, "once", {50 * MS: 1}, (("web", MS),), lost=lost, why=why))
        report = Report(EVERYTHING[0], seconds=1.0, names=("switches", "run"), rows=rows)
        recorder.rows(TaskRecord(*frame.clocks, dict.fromkeys(RECORDED_BY, (report,))))
    recorder.close()
    assert main(["why", "--replay", path]) in {0, 6, 7}
    return capsys.readouterr().out.splitlines()[1]


def test_who_ran_meanwhile_is_named_where_cpus_are_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ms = bucket_bounds(bucket_of(8 * MS))[1] / MS
    assert f"; p99 of web's waits for a CPU is {ms:,.1f} ms; 71 % of it behind batch (" in verdict(
        tmp_path, capsys, "guest+overload")


def test_waits_after_wake_ups_are_not_promised_where_they_are_unknown(tmp_path: Path,
                                                                      capsys: pytest.CaptureFixture[str]) -> None:
    why = Unavailable(Reason.NOT_PERMITTED, "tracepoints")
    assert "p99 of web's waits after losing a CPU is" in verdict(tmp_path, capsys, "guest+overload", why=why)


def test_lost_records_say_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = verdict(tmp_path, capsys, "guest+overload", lost=3)
    assert "p99" not in said
    assert UNRECORDED not in said


def test_nothing_is_read_where_nobody_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "p99" not in verdict(tmp_path, capsys, "guest")


@pytest.mark.parametrize("was", [HostKind.REAL, HostKind.SIMULATED])
def test_a_recording_of_a_real_machine_without_waits_says_how_to_have_them(
        was: HostKind, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine, frames = frames_of_machine("guest+overload", 3, columns=COLUMNS, small=True)

    class NamedHost(DelegatingHost):
        kind = was

    here = replace(machine, host=NamedHost(machine.host))
    recorder = Recorder(str(tmp_path / "run.ttj"), here, sync_seconds=0.0)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    assert main(["why", "--replay", str(tmp_path / "run.ttj")]) in {0, 6, 7}
    assert (UNRECORDED in capsys.readouterr().out) is (was is HostKind.REAL)
