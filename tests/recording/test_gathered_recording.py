"""The recording in a file of `turbotui gather`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from turbotui import recording
from turbotui.cli import main
from turbotui.machine.gathered.archive import pack, unpack
from turbotui.machine.host import HostKind

MACHINES = Path(__file__).parents[1] / "machines"


@pytest.mark.parametrize("name", ["guest-2cpu.tar.gz", "laptop-simulated.tar.gz"])
def test_it_is_the_one_that_can_be_unpacked_by_hand(name: str, tmp_path: Path) -> None:
    alone = tmp_path / "alone.ttj"
    alone.write_bytes(unpack((MACHINES / name).read_bytes())["recording"])
    open_before = len(os.listdir("/proc/self/fd"))
    with recording.read(str(MACHINES / name)) as packed, recording.read(str(alone)) as plain:
        assert packed.paths == (str(MACHINES / name),)
        assert packed.machine.host.kind is HostKind.RECORDED
        assert packed.machine.topology == plain.machine.topology
        assert [frame.newer.values for frame in packed.frames()] == [frame.newer.values for frame in plain.frames()]
        assert packed.check() == plain.check() == ()
    assert len(os.listdir("/proc/self/fd")) == open_before


def test_verbs_take_it_and_say_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["stat", "-q", "-S"], ["info"], ["doctor"]):
        assert main([*words, "--replay", str(MACHINES / "guest-2cpu.tar.gz")]) == 0
        assert "RECORDED" in capsys.readouterr().out, words


@pytest.mark.parametrize(("files", "why"), [
    ({"files/proc/version": b"x"}, "without a recording"), ({"recording": b""}, "cannot be read, or is empty"),
    ({"recording": b"no records" * 40}, "cannot be read, or is empty"),
])
def test_an_archive_without_one_is_a_sentence(files: dict[str, bytes], why: str, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(pack(files)[0])
    with pytest.raises(recording.RecordingError, match=why):
        recording.read(str(tmp_path / "a.tar.gz"))


def test_what_is_no_archive_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "b.tgz").write_text("a letter")
    for name in ("b.tgz", "absent.tar.gz"):
        with pytest.raises(recording.RecordingError, match="no file of turbotui gather"):
            recording.read(str(tmp_path / name))
