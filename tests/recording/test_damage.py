# ruff: noqa: S603 - programs are run with words of these tests
"""Truncated, changed or growing files: whole parts are read, and missing parts are named."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from made_frames import NOON, SECOND, decoded, frames, machine, said, topology_of_cpus

from turbotui import recording
from turbotui.errors import TurbotuiError
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostKind
from turbotui.recording.framing import Damage, Record, RecordingError, RecordKind, RecordParser
from turbotui.recording.recorder import Recorder
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.recording.tiers import KEY_EVERY

TOPOLOGY = topology_of_cpus(range(2))
TICKS = KEY_EVERY + 5


def written(path: Path, ticks: int = TICKS, first: int = 0) -> Path:
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(ticks, TOPOLOGY, first=first):
        recorder.take(frame)
    recorder.close()
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("whole") / "a.ttj").read_bytes()


LIVE = {frame.seq: said(frame)[6:10] for frame in frames(TICKS, TOPOLOGY)}
"""Values, stamps and differences by the number of the tick."""


def right(path: Path) -> tuple[int, int]:
    """Return the number of correct frames of a file, and the number of reported missing parts."""
    try:
        journal = recording.read(str(path))
    except RecordingError:
        return 0, 1
    with journal:
        count = 0
        for frame in journal.frames():
            values, stamps, wraps, moved = said(frame)[6:10]
            live = LIVE[frame.seq]
            assert (values, stamps, wraps) == live[:3]
            if frame.older is not None and frame.older.seq == frame.seq - 1:
                assert moved == live[3]
            count += 1
        return count, len(journal.check())


def test_every_bit_of_a_file_flipped_is_detected_or_harmless(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "flipped.ttj"
    bits = range(8 * len(whole))
    chosen = random.Random(5)
    lost = []
    for bit in sorted(chosen.sample(bits, 150)):
        data = bytearray(whole)
        data[bit >> 3] ^= 1 << (bit & 7)
        path.write_bytes(data)
        count, missing = right(path)
        assert count == TICKS or missing
        lost.append(TICKS - count)
    assert max(lost) <= KEY_EVERY  # no layout was lost: each is there twice
    assert sum(lost) > 0


def test_a_file_cut_off_anywhere_gives_every_whole_tick(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.ttj"
    chosen = random.Random(6)
    counts = []
    for size in sorted({*chosen.sample(range(len(whole)), 60), *range(len(whole) - 40, len(whole) + 1)}):
        path.write_bytes(whole[:size])
        counts.append(right(path)[0])
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == TICKS


SMALL = 5
"""Ticks of a small file: a key tick, its index and others, behind the header and both copies of the layout."""


def found_in(data: bytes) -> tuple[tuple[Record, ...], int]:
    """Return the records of a file without their offsets, and the number of damaged parts."""
    parser = RecordParser()
    result = [*parser.feed(data), parser.finish()]
    records = tuple(replace(item, offset=0) for item in result if isinstance(item, Record))
    return records, sum(isinstance(item, Damage) for item in result)


def test_every_bit_of_a_small_file_flipped_in_turn_loses_its_record_and_no_other(tmp_path: Path) -> None:
    """All of them by the parser of records; what it leaves of the file is read once for each case that there is."""
    path = written(tmp_path / "small.ttj", SMALL)
    data = bytearray(path.read_bytes())
    whole, none = found_in(bytes(data))
    assert not none
    cases: dict[tuple[Record, ...], bytes] = {}
    for bit in range(8 * len(data)):
        data[bit >> 3] ^= 1 << (bit & 7)
        left, damaged = found_in(bytes(data))
        assert damaged
        assert len(left) == len(whole) - 1
        assert all(record in whole for record in left)
        cases.setdefault(left, bytes(data))
        data[bit >> 3] ^= 1 << (bit & 7)
    assert len(cases) == len(whole)
    for case in cases.values():
        path.write_bytes(case)
        count, missing = right(path)
        assert missing
        assert count <= SMALL


def test_a_small_file_cut_off_at_every_byte_gives_every_whole_tick(tmp_path: Path) -> None:
    path = written(tmp_path / "small.ttj", SMALL)
    data = path.read_bytes()
    whole, _none = found_in(data)
    counts: dict[int, int] = {}
    for size in range(len(data) + 1):
        left, damaged = found_in(data[:size])
        assert left == whole[:len(left)]
        assert damaged == (size != 0 and sum(28 + len(record.payload) for record in left) != size)
        if len(left) not in counts or not size % 97:  # a torn record is the same wherever it was torn
            path.write_bytes(data[:size])
            counts[len(left)] = right(path)[0]
            assert counts[len(left)] == sum(record.kind in {RecordKind.KEY, RecordKind.DELTA} for record in left)
    assert list(counts) == list(range(len(whole) + 1))
    assert counts[len(whole)] == SMALL


def test_what_is_missing_is_named_with_its_place(whole: bytes, tmp_path: Path) -> None:
    at = whole.rindex(b"\xabTTJ", 0, len(whole) - 800) + 40
    (tmp_path / "hole.ttj").write_bytes(whole[: at] + bytes(60) + whole[at + 60 :])
    with recording.read(str(tmp_path / "hole.ttj")) as journal:
        assert len(list(journal.frames())) < TICKS
        missings = journal.check()
    assert missings
    assert all(missing.text for missing in missings)
    assert any(missing.offset <= at <= missing.offset + missing.length for missing in missings)


def test_damage_is_reported_with_the_records_it_held_where_their_number_is_known(whole: bytes, tmp_path: Path) -> None:
    at = whole.index(b"\xabTTJ", 10)
    for name, data, sentence in (
        ("hole", whole[:at + 4] + bytes(8) + whole[at + 12 :], "they held 1 record"),
        ("beheaded", whole[10:], "they held an unknown number of records"),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        with recording.read(str(path)) as journal:
            assert next(missing.text.partition(" damaged: ")[2] for missing in journal.check()) == sentence


def test_a_reader_sees_what_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "grows.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    live = list(frames(KEY_EVERY * 2 + 3, TOPOLOGY))
    recorder.take(live[0])
    with recording.read(str(path)) as journal:
        for number, frame in enumerate(live[1:], 1):
            recorder.take(frame)
            if number % 17 == 0 or number > KEY_EVERY * 2:
                assert journal.last_ns == frame.newer.wall_ns
                newest = journal.frame_at(frame.newer.wall_ns)
                assert newest is not None
                assert said(newest)[6:] == said(frame)[6:]
        recorder.close()
        assert [frame.seq for frame in journal.frames()] == list(range(len(live)))
        assert journal.check() == ()


def test_any_moment_is_found(tmp_path: Path) -> None:
    path = written(tmp_path / "moments.ttj", 5 * KEY_EVERY)
    with recording.read(str(path)) as journal:
        assert (journal.first_ns, journal.last_ns) == (NOON, NOON + (5 * KEY_EVERY - 1) * SECOND)
        for seq in (0, 1, KEY_EVERY - 1, KEY_EVERY, KEY_EVERY + 1, 5 * KEY_EVERY - 1):
            frame = journal.frame_at(NOON + seq * SECOND + SECOND // 3)
            assert frame is not None
            assert frame.seq == seq
            assert (frame.older is None) is (seq == 0)
        assert journal.frame_at(NOON - 1) is None
        some = list(journal.frames(NOON + 70 * SECOND, NOON + 90 * SECOND))
        assert [frame.seq for frame in some] == list(range(70, 91))
        assert all(frame.seconds == 1.0 for frame in some)
        longer = list(journal.frames(NOON + 100 * SECOND, NOON + 160 * SECOND, every=20.0))
        assert [(frame.seq, frame.seconds) for frame in longer] == [(100, 20.0), (120, 20.0), (140, 20.0), (160, 20.0)]


def test_a_recording_of_many_files_is_opened_without_decoding_them(tmp_path: Path) -> None:
    """A day of 256 CPUs has 40 of them: what each covers is in the heads of its ticks."""
    path = str(tmp_path / "day.ttj")
    recorder = RotatingRecorder(path, machine(TOPOLOGY), Retention(3600.0, 600.0))
    for frame in frames(1200, TOPOLOGY):
        recorder.take(frame)
    recorder.close()
    assert len(list(tmp_path.iterdir())) > 12
    result = []

    def jump() -> None:
        with recording.read(path) as journal:
            result.append((journal.first_ns, journal.last_ns, journal.frame_at(NOON + 1000 * SECOND)))

    assert decoded(jump) <= 1 + 2 * KEY_EVERY
    ((first_ns, last_ns, shown),) = result
    assert (first_ns, last_ns) == (NOON, NOON + 1199 * SECOND)
    assert shown is not None
    assert (shown.seq, shown.seconds) == (1000, 1.0)


def test_two_writers_are_refused_and_a_second_session_is_appended(tmp_path: Path) -> None:
    path = str(tmp_path / "one.ttj")
    first = Recorder(path, machine(TOPOLOGY), sync_seconds=0.0)
    with pytest.raises(RecordingError, match="another process"):
        Recorder(path, machine(TOPOLOGY), sync_seconds=0.0)
    for frame in frames(3, TOPOLOGY):
        first.take(frame)
    first.close()
    written(tmp_path / "one.ttj", 3, first=10)
    with recording.read(path) as journal:
        result = list(journal.frames())
        assert [(frame.seq, frame.older is None) for frame in result] == [
            (0, True), (1, False), (2, False), (10, True), (11, False), (12, False)]
        assert journal.check() == ()


class ForwardedHost(DelegatingHost):
    """A host with the same files under another machine name, or of another kind (real, simulated)."""

    def __init__(self, host: Host, name: str, kind: HostKind) -> None:
        super().__init__(host)
        self._said = name, kind

    @property
    def name(self) -> str:
        return self._said[0]

    @property
    def kind(self) -> HostKind:
        return self._said[1]


@pytest.mark.parametrize(("name", "kind", "model"), [
    ("elsewhere", HostKind.RECORDED, "made"), ("made (SIMULATED)", HostKind.REAL, "made"),
    ("made (SIMULATED)", HostKind.RECORDED, "another processor"),
])
def test_a_recording_is_not_continued_by_another_machine(
    name: str, kind: HostKind, model: str, tmp_path: Path
) -> None:
    """Readers are told of the machine that a file begins with: simulated numbers behind real ones would be real."""
    path = written(tmp_path / "one.ttj", 3)
    before, own = path.read_bytes(), machine(TOPOLOGY)
    other = replace(own, host=ForwardedHost(own.host, name, kind), model=replace(own.model, name=model))
    for attempt in (lambda: Recorder(str(path), other), lambda: RotatingRecorder(str(path), other, Retention())):
        with pytest.raises(RecordingError, match=r"holds a recording of the RECORDED machine made .*name another file"):
            attempt()
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["one.ttj"]


def test_what_is_no_recording_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir\n" * 50, "utf-8")
    with pytest.raises(RecordingError, match="no recording"):
        recording.read(str(path))
    with pytest.raises(RecordingError, match="name another file"):
        Recorder(str(path), machine(TOPOLOGY))
    assert path.read_text("utf-8") == "Dear Sir\n" * 50


def test_nothing_that_a_file_claims_makes_the_reader_fall_or_fill_the_memory(whole: bytes, tmp_path: Path) -> None:
    path, chosen = tmp_path / "fuzzed.ttj", random.Random(8)
    tracemalloc.start()
    try:
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(chosen.randrange(1, 40)):
                at = chosen.randrange(len(data))
                data[at : at + chosen.randrange(9)] = chosen.randbytes(chosen.randrange(9))
            path.write_bytes(data)
            right(path)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 << 20


def test_a_full_disk_ends_the_recording_and_leaves_it_whole(tmp_path: Path) -> None:
    mount, unmount = shutil.which("mount"), shutil.which("umount")
    words = [str(mount), "-t", "tmpfs", "-o", "size=64k", "small", str(tmp_path)]
    if os.geteuid() or not mount or not unmount or subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here: it takes root, and mount of the package mount")
    try:
        recorder = Recorder(str(tmp_path / "full.ttj"), machine(TOPOLOGY), sync_seconds=0.0)
        taken: list[int] = []
        with pytest.raises(RecordingError, match="the disk is full"):
            _take_all(recorder, taken)
        recorder.close()
        with recording.read(str(tmp_path / "full.ttj")) as journal:
            assert [frame.seq for frame in journal.frames()] == taken
            assert journal.check() == ()
    finally:
        subprocess.run([str(unmount), str(tmp_path)], check=True)


@pytest.mark.parametrize(("harm", "why"), [
    (Path.unlink, "the file was removed, and what it held is gone"),
    (lambda path: os.truncate(path, 100), "another program cut it"),
], ids=["removed", "cut"])
def test_a_file_that_is_taken_away_ends_the_recording(harm: Callable[[Path], object], why: str, tmp_path: Path) -> None:
    path = tmp_path / "taken.ttj"
    recorder = Recorder(str(path), machine(TOPOLOGY), sync_seconds=0.0)
    first, second, third = frames(3, TOPOLOGY)
    recorder.take(first)
    path.rename(tmp_path / "renamed.ttj")
    recorder.take(second)  # a new name takes nothing away
    harm(tmp_path / "renamed.ttj")
    with pytest.raises(RecordingError, match=why):
        recorder.take(third)
    recorder.close()


def _take_all(recorder: Recorder, taken: list[int]) -> None:
    for frame in frames(10_000, TOPOLOGY):
        recorder.take(frame)
        taken.append(frame.seq)


_WRITERS = """
import os, random, signal, sys
from made_frames import frames, machine, topology_of_cpus
from turbotui.recording.recorder import Recorder
topology, chance = topology_of_cpus(range(2)), random.Random(11)
ready, box = list(frames(200, topology)), machine(topology)
for number in range(int(sys.argv[2])):
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        recorder = Recorder(f"{sys.argv[1]}/{number}.ttj", box, sync_seconds=0.0)
        for frame in ready:
            recorder.take(frame)
            os.write(theirs, bytes([frame.seq]))
        signal.pause()
    os.close(theirs)
    enough, last = chance.randrange(1, 150), -1
    while last < enough:
        last = os.read(ours, 1 + chance.randrange(40))[-1]
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    rest = os.read(ours, 1000)
    os.close(ours)
    print(rest[-1] if rest else last)
"""
KILLS = 60


def test_killed_writers_have_lost_nothing_that_they_wrote(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _WRITERS, str(tmp_path), str(KILLS)], capture_output=True, text=True,
                          check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    written_last = [int(line) for line in done.stdout.split()]
    assert len(written_last) == KILLS
    assert len(set(written_last)) > 20, "they were killed at different ticks"
    for number, last in enumerate(written_last):
        path = tmp_path / f"{number}.ttj"
        with recording.read(str(path)) as journal:
            result = [frame.seq for frame in journal.frames()]
            assert result == list(range(len(result)))
            assert result[-1] in {last, last + 1}, "at most the tick that it had no time to tell of is more"
            assert not journal.check() or result[-1] == last
    written(tmp_path / "0.ttj", 3)  # the lock went with the process
    with recording.read(str(tmp_path / "0.ttj")) as journal:
        assert len(list(journal.frames())) - written_last[0] in {1 + 3, 2 + 3}


def test_a_later_version_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.recording.machine_facts.FORMAT", 3)
    path = written(tmp_path / "later.ttj", 2)
    monkeypatch.undo()
    with pytest.raises(TurbotuiError, match="version 3 of the format"):
        recording.read(str(path))


def test_a_layout_is_parsed_once_however_often_somebody_jumps(tmp_path: Path) -> None:
    """That of 256 CPUs takes as long as all ticks of a minute."""
    path = written(tmp_path / "jumps.ttj", 3 * KEY_EVERY)
    with recording.read(str(path)) as journal:
        result = [journal.frame_at(NOON + seq * SECOND) for seq in (5, 70, 130, 8)]
        assert [None if frame is None else frame.seq for frame in result] == [5, 70, 130, 8]
        assert len({id(frame.topology) for frame in result if frame is not None}) == 1
        assert len({id(frame.capabilities) for frame in result if frame is not None}) == 1
