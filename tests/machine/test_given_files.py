"""Files that the user names: regular files up to a size are read, anything else is refused with a reason."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from turbotui.machine.given_files import GivenFileError, read_given, within
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.added import parse_added
from turbotui.quantities.unavailable import Unavailable
from turbotui.sources.added import added_source


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder with one file of each kind that is not read."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "endless").touch()
    os.truncate(tmp_path / "endless", 1 << 40)
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "null").symlink_to("/dev/null")
    (tmp_path / "link").symlink_to("fifo")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as item:
        item.bind(str(tmp_path / "socket"))
    return tmp_path


STRANGE = (
    ("fifo", "a FIFO"), ("link", "a FIFO"), ("folder", "a directory"), ("zero", "a character device"),
    ("null", "a character device"), ("socket", "a socket"), ("endless", "larger than"), ("loop", "symbolic links"),
    ("none", "No such file"), ("nul\0", "null"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "why"), STRANGE)
def test_what_has_no_end_or_would_wait_is_refused_with_its_kind(strange: Path, name: str, why: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(GivenFileError) as caught:
        read_given(f"{strange}/{name}")
    assert why in caught.value.why
    assert caught.value.missing == (name == "none")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_regular_file_is_read_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100_000)
    file = read_given(str(path), largest=100_000)
    assert file.data == b"x" * 100_000
    assert file.status.st_ino == path.stat().st_ino
    with pytest.raises(GivenFileError, match="larger than 99999 bytes"):
        read_given(str(path), largest=99_999)
    path.write_bytes(b"ab\xff")
    with pytest.raises(GivenFileError, match="not UTF-8, at byte 3"):
        read_given(str(path)).text()


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b'\xef\xbb\xbftheme = "light"\n')
    assert read_given(str(path)).text() == 'theme = "light"\n'


def test_what_never_answers_is_given_up() -> None:
    never = threading.Event()
    try:
        with pytest.raises(GivenFileError, match=r"did not answer within 0\.05 s"):
            within(0.05, never.wait)
    finally:
        never.set()
    with pytest.raises(ZeroDivisionError):
        within(5.0, lambda: 1 // 0)


@pytest.mark.parametrize("name", ["fifo", "link", "zero", "null", "socket", "endless", "folder"])
def test_a_host_opens_nothing_that_would_wait(strange: Path, name: str) -> None:
    """A recorded tree is anybody's work, and --add takes any path of this machine."""
    for host, path in ((LinuxHost(), f"{strange}/{name}"), (LinuxHost(str(strange)), f"/{name}")):
        with pytest.raises(HostError):
            host.read_text(path)
        if name not in ("endless", "folder"):
            with pytest.raises(HostError, match="not a regular file"):
                host.open_file(path)


@pytest.mark.parametrize("path", ["/sys/../dev/zero", "/proc/self/root/dev/zero", "/proc/self/cwd/../../dev/zero"])
def test_paths_that_lead_out_of_the_kernels_files_are_looked_at_first(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/usr/bin")
    with pytest.raises(HostError, match="a character device"):
        LinuxHost().open_file(path)


@pytest.mark.parametrize("name", ["fifo", "zero", "endless", "folder", "socket"])
def test_a_strange_file_that_is_added_has_a_reason(strange: Path, name: str) -> None:
    counter = parse_added(f"{strange}/{name},X")
    result = added_source(counter).probe(read_machine(LinuxHost())).signals[counter.signal]
    assert isinstance(result, Unavailable)
    assert str(strange / name) in result.sentence()
