"""A recording of several files: what is whole is read, whatever became of the others, and what is left out is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from killed_recorder import IDLE, RETENTION, TICKS, TOPOLOGY
from made_frames import NOON, frames, machine
from patience import PATIENCE

from turbotui import recording
from turbotui.recording.framing import RecordingError, framed
from turbotui.recording.journal_file import JournalFile
from turbotui.recording.json_values import packed, unpacked
from turbotui.recording.parts import part_path
from turbotui.recording.rotation import RotatingRecorder
from turbotui.recording.tiers import TEN_SECONDS

ROOT = Path(__file__).parents[2]
COUNT = 50
"""More system calls of a name than the recorder makes."""


def recorded(path: Path, ticks: int = TICKS, first: int = 0) -> list[Path]:
    """Record ticks, and return the files of the recording."""
    recorder = RotatingRecorder(str(path), machine(TOPOLOGY), RETENTION)
    for frame in frames(ticks, TOPOLOGY, first=first):
        recorder.take(frame)
    recorder.close()
    return sorted(path.parent.glob(f"{path.name}*"))


def ticks_of(path: Path) -> list[int]:
    with recording.read(str(path)) as journal:
        return [frame.seq for frame in journal.frames()]


def left_out(path: Path) -> str:
    with recording.read(str(path)) as journal:
        return "\n".join(missing.text for missing in journal.missing)


@pytest.mark.parametrize("kept", [0, 3, 40])
def test_a_file_that_is_torn_or_empty_is_left_out_and_named(kept: int, tmp_path: Path) -> None:
    files = recorded(tmp_path / "a.ttj")
    assert len(files) == 4
    for file in files:
        before = file.read_bytes()
        os.truncate(file, kept)
        result = ticks_of(tmp_path / "a.ttj")
        assert len(result) >= TICKS - 2
        assert str(file) in left_out(tmp_path / "a.ttj")
        file.write_bytes(before)
    assert left_out(tmp_path / "a.ttj") == ""


@pytest.mark.parametrize("kept", [0.4, 0.6, 0.9])
def test_what_a_torn_file_lacks_is_named_whether_it_has_a_tick_or_none(kept: float, tmp_path: Path) -> None:
    for file in recorded(tmp_path / "a.ttj"):
        before = file.read_bytes()
        os.truncate(file, int(kept * len(before)))
        with recording.read(str(tmp_path / "a.ttj")) as journal:
            assert list(journal.frames())
            (missing,) = journal.missing
            assert missing.text.startswith("" if file.name == "a.ttj" else f"{file}: ")
            assert missing.text.endswith("no whole record")
        file.write_bytes(before)


def test_a_file_that_is_gone_or_something_else_is_left_out(tmp_path: Path) -> None:
    first, *parts = recorded(tmp_path / "a.ttj")
    parts[0].write_text("Dear Sir\n" * 9)
    first.unlink()
    assert len(ticks_of(first)) >= 2
    assert f"{first} cannot be read: No such file or directory; it is left out" in left_out(first)
    assert f"{parts[0]} is no recording of turbotui; it is left out" in left_out(first)


def test_where_nothing_is_whole_the_file_that_was_asked_for_is_named(tmp_path: Path) -> None:
    for file in recorded(tmp_path / "a.ttj"):
        os.truncate(file, 3)
    with pytest.raises(RecordingError, match=r"a\.ttj was cut off within its first record"):
        recording.read(str(tmp_path / "a.ttj"))


def test_recording_on_heals_and_keeps_the_identity(tmp_path: Path) -> None:
    path = tmp_path / "a.ttj"
    files = recorded(path)
    os.truncate(path, 3)
    os.truncate(files[1], 0)
    before = ticks_of(path)
    recorded(path, 3, first=20)
    assert ticks_of(path) == [*before, 20, 21, 22]


def test_a_part_of_another_recording_is_left_out_whatever_its_name(tmp_path: Path) -> None:
    path, other = tmp_path / "a.ttj", tmp_path / "b.ttj"
    files = recorded(path)
    whole = ticks_of(path)
    for more, file in enumerate(recorded(other, 9, first=40)[1:]):
        strange = file.rename(tmp_path / file.name.replace("b.ttj", "a.ttj"))
        assert strange not in files
        assert ticks_of(path) == whole
        are = f"and {more} more file{'s' * (more > 1)} belong" if more else f"{strange} belongs"
        assert f"{are} to another recording, of the" in left_out(path)
        assert left_out(path).endswith("left out")


def test_a_newest_file_of_another_recording_hides_the_parts_and_says_so(tmp_path: Path) -> None:
    path, other = tmp_path / "a.ttj", tmp_path / "b.ttj"
    files = recorded(path)
    recorded(other, 9, first=40)
    path.unlink()
    other.rename(path)
    assert ticks_of(path)[-1] == 48
    assert f" and {len(files) - 2} more files belong to another recording, of the" in left_out(path)
    assert left_out(path).endswith(f"they are left out; where {path} is moved away, they are read")
    path.unlink()
    assert ticks_of(path)
    assert "another recording" not in left_out(path)


def test_files_of_version_0_4_are_of_one_recording_if_of_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "a.ttj"
    for file in recorded(path):
        _without_identity(file)
    recorded(path, 3, first=20)  # goes on in the present version
    assert ticks_of(path) == [*range(TICKS), 20, 21, 22]
    assert left_out(path) == ""


def test_a_tier_that_cannot_be_written_does_not_end_the_full_resolution(tmp_path: Path) -> None:
    path = tmp_path / "a.ttj"
    (tmp_path / Path(part_path(str(path), TEN_SECONDS, NOON)).name).mkdir()
    recorder = RotatingRecorder(str(path), machine(TOPOLOGY), RETENTION)
    for frame in frames(TICKS, TOPOLOGY):
        recorder.take(frame)
    recorder.close()
    assert list(recorder.failures) == ["more readings of one in 10s"]
    assert "Is a directory" in recorder.failures["more readings of one in 10s"]
    assert ticks_of(path) == list(range(TICKS))


def test_the_limit_of_a_file_s_size_is_not_called_a_full_disk(tmp_path: Path) -> None:
    program = f"""
import resource
from made_frames import NOON, frames, machine
from killed_recorder import TOPOLOGY
from turbotui.recording.recorder import Recorder
recorder = Recorder({str(tmp_path / "a.ttj")!r}, machine(TOPOLOGY), sync_seconds=0.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for frame in frames(9999, TOPOLOGY):
    recorder.take(frame)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True,  # noqa: S603 - ours
                          timeout=PATIENCE, env={**os.environ, "PYTHONPATH": os.pathsep.join(
                              map(str, (ROOT, ROOT / "tests", Path(__file__).parent)))})
    assert done.stderr.endswith("it has the size that a file may have here (ulimit -f, or the file system's limit)\n")


def _without_identity(path: Path) -> None:
    file = JournalFile(str(path))
    header = file.record_at(0)
    file.close()
    assert header is not None
    facts = unpacked(header.payload, "the header").value
    assert isinstance(facts, dict)
    del facts["recording"]
    facts["session"] = path.name  # each file by a run of its own
    rest = path.read_bytes()[header.end :]
    path.write_bytes(framed(replace(header, payload=packed(facts))) + rest)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (package strace)")
@pytest.mark.parametrize("call", IDLE)
def test_a_kill_at_any_system_call_costs_no_finished_tick(call: str, tmp_path: Path) -> None:
    words = [sys.executable, str(Path(__file__).with_name("killed_recorder.py")), str(tmp_path), call, str(COUNT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests"))),
                   "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as parent:  # noqa: S603 - ours
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        tracer = [shutil.which("strace") or "", "-f", "-o", os.devnull, "-p", str(parent.pid),
                  "-e", f"inject={call}:signal=KILL:when={COUNT}"]
        with subprocess.Popen(tracer, stderr=subprocess.PIPE, text=True) as strace:  # noqa: S603 - ours
            assert strace.stderr is not None
            if "attached" not in (line := strace.stderr.readline()):
                parent.kill()
                pytest.skip(f"strace may trace nothing here: {line.strip()}")
            parent.communicate(b"go\n", PATIENCE)
            strace.communicate(timeout=PATIENCE)
    folders = sorted(tmp_path.iterdir(), key=lambda folder: int(folder.name))
    assert 3 <= len(folders) < COUNT - 1, "each but the last recorder was killed"
    for folder in folders:
        path = folder / "a.ttj"
        taken = int(next(folder.glob("taken-*")).name.partition("-")[2])
        try:
            result = ticks_of(path)
        except RecordingError:
            result = []
        assert set(range(taken)) <= set(result) <= set(range(TICKS)), folder
        recorded(path, 1, first=20)
        assert ticks_of(path) == [*result, 20], folder
