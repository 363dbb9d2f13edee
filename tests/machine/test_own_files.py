"""turbotui's own files are complete or absent, and under sudo belong to the invoking user."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked import run_forked
from patience import PATIENCE

from turbotui.machine.own_files import (
    append_lines,
    config_folder,
    create_bytes,
    data_folder,
    new_file,
    open_output,
    passing_files,
    replace_file,
    state_folder,
)
from turbotui.untrusted import decoded

ROOT = Path(__file__).parents[2]
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can work on behalf of somebody else")


def limited(program: str, *words: str, size: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python with a limit on file sizes (the interpreter ignores SIGXFSZ, so writes fail)."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    return subprocess.run([sys.executable, "-c", limit + program, *words], check=False, capture_output=True, text=True,  # noqa: S603 - ours
                          cwd=ROOT, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"})


@pytest.mark.parametrize(("call", "argument"), [
    ("create_bytes", "b'x' * 99"), ("replace_file", "'x' * 99"), ("append_lines", "b'x' * 99"),
])
def test_a_disk_that_is_full_leaves_nothing_that_stands_in_the_way(call: str, argument: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    program = f"import sys; from turbotui.machine.own_files import {call}; {call}(sys.argv[1], {argument})"
    failed = limited(program, str(path))
    assert "OSError" in failed.stderr
    assert [file.name for file in path.parent.iterdir() if file.stat().st_size or call != "append_lines"] == []
    assert limited(program, str(path), size=1 << 20).stderr == ""
    assert path.read_text() == "x" * 99


def test_what_was_there_stays_when_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before\n")
    for call, argument in (("replace_file", "'x' * 99"), ("append_lines", "b'x' * 99")):
        assert "OSError" in limited(
            f"import sys; from turbotui.machine.own_files import {call}; {call}(sys.argv[1], {argument})", str(path),
            size=50).stderr
        assert path.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("status", "words"), [
    (1, ("score", "baseline", "--name", "a", "--unit", "b", "--value", "1", "--ratio", "0.5", "--machine", "guest")),
    (0, ("score", "run", "--machine", "laptop-old+calculix", "-i", "0.2")),  # what was measured is said all the same
])
def test_commands_say_that_the_disk_is_full(status: int, words: tuple[str, ...], tmp_path: Path) -> None:
    done = limited(f"""
import os, sys
os.environ.update(XDG_DATA_HOME={str(tmp_path)!r})
from turbotui.cli import main
sys.exit(main({list(words)!r}))""")
    assert done.returncode == status
    assert "File too large; set XDG_DATA_HOME" in done.stderr
    assert "Traceback" not in done.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size] == []
    assert list(tmp_path.rglob("*.new")) == []


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (package strace)")
@pytest.mark.parametrize(("call", "argument"), [
    ("create_bytes", "b'x' * 99"), ("replace_file", "'x' * 99"), ("append_lines", "b'x' * 99"),
])
def test_a_disk_that_reports_at_the_end_that_it_is_full(call: str, argument: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if call != "create_bytes":
        path.write_text("before\n")
    program = f"import sys; from turbotui.machine.own_files import {call}; {call}(sys.argv[1], {argument})"
    # NFS and delayed allocation report ENOSPC when the data is written back, not when write(2) takes it
    done = subprocess.run(  # noqa: S603 - ours
        ["strace", "-qq", "-o", "/dev/null", "-e", "inject=fsync,fdatasync:error=ENOSPC",  # noqa: S607 - found above
         sys.executable, "-c", program, str(path)],
        check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"})
    assert "No space left on device" in done.stderr
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == (
        {} if call == "create_bytes" else {"file": "before\n"})


def test_a_line_that_was_cut_off_ends_before_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    append_lines(str(path), b"one\ntw")
    append_lines(str(path), b"three\n")
    assert path.read_bytes() == b"one\ntw\nthree\n"


def test_a_program_gets_the_bytes_that_the_machine_has() -> None:
    hostile = b"model name\t: \x1b[2J\x9b \xff\xfe\n"
    with passing_files({f"proc/{decoded(hostile[-4:-1])}": decoded(hostile)}) as folder:
        (made,) = (Path(folder) / "proc").iterdir()
        assert made.read_bytes() == hostile
        assert os.fsencode(made.name) == hostile[-4:-1]


def test_a_stream_is_written_to_and_a_file_behind_a_link_is_not(tmp_path: Path) -> None:
    kept, link, pipe = (tmp_path / name for name in ("kept", "link", "pipe"))
    kept.write_bytes(b"old")
    link.symlink_to(kept)
    with pytest.raises(FileExistsError), new_file(str(link)):
        pass
    assert kept.read_bytes() == b"old"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with new_file(str(pipe)) as stream:
        stream.write(b"new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create_bytes(str(path), b"a")
    with pytest.raises(FileExistsError):
        create_bytes(str(path), b"b")
    assert path.read_text() == "a"


def test_places_follow_the_specification() -> None:
    assert config_folder({"XDG_CONFIG_HOME": "/c"}) == "/c/turbotui"
    assert data_folder({"HOME": "/h", "XDG_DATA_HOME": "relative"}) == "/h/.local/share/turbotui"
    assert state_folder({"HOME": "/h"}) == "/h/.local/state/turbotui"


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user nobody, as if that user had started the test through sudo."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    yield folder
    shutil.rmtree(folder)


def owner(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_gid


@needs_root
def test_files_and_their_folders_belong_to_who_called_sudo(theirs: Path) -> None:
    gid = os.stat(theirs).st_gid
    replace_file(str(theirs / "a" / "b" / "replaced"), "x")
    append_lines(str(theirs / "c" / "appended"), b"x\n")
    create_bytes(str(theirs / "created"), b"x")
    with open_output(str(theirs / "output")) as file:
        file.write("x")
    assert {owner(path) for path in theirs.rglob("*")} == {(NOBODY, gid)}
    assert len(list(theirs.rglob("*"))) == 7
    assert os.geteuid() == 0
    with tempfile.NamedTemporaryFile() as ours:  # and root is root again
        assert os.fstat(ours.fileno()).st_uid == 0


@needs_root
def test_a_link_of_theirs_leads_root_nowhere(theirs: Path) -> None:
    ours = Path(tempfile.mkdtemp())
    ours.chmod(0o755)
    secret = ours / "secret"
    secret.write_text("secret")
    for name in ("output", "appended"):
        (theirs / name).symlink_to(secret)
    (theirs / "folder").symlink_to(ours)
    for call in (lambda: open_output(str(theirs / "output")), lambda: append_lines(str(theirs / "appended"), b"x\n"),
                 lambda: create_bytes(str(theirs / "folder" / "new"), b"x"),
                 lambda: replace_file(str(theirs / "folder" / "secret"), "x")):
        with pytest.raises(PermissionError):
            call()
    assert secret.read_text() == "secret"
    assert list(ours.iterdir()) == [secret]
    shutil.rmtree(ours)


@needs_root
def test_groups_of_root_do_not_open_a_file(theirs: Path) -> None:
    shared = theirs / "shared"
    shared.write_text("roots")
    os.chown(shared, 0, 0)
    shared.chmod(0o664)
    before = os.getgroups()
    os.setgroups([0])
    try:
        with pytest.raises(PermissionError):
            append_lines(str(shared), b"x\n")
        assert os.getgroups() == [0]
    finally:
        os.setgroups(before)


@needs_root
def test_where_only_root_can_write_root_does_and_the_file_is_theirs(theirs: Path, tmp_path: Path) -> None:
    with open_output(str(tmp_path / "log")) as file:
        file.write("x")
    assert owner(tmp_path / "log")[0] == NOBODY
    tmp_path.chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "log")
    os.chown(tmp_path / "log", 0, 0)
    with pytest.raises(PermissionError):  # a folder where others can put links
        open_output(str(tmp_path / "link"))


@needs_root
def test_root_follows_no_link_that_the_user_could_not_open(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    secret.chmod(0o600)
    (tmp_path / "link").symlink_to(secret)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):  # O_NOFOLLOW: open(2), ELOOP
        open_output(str(tmp_path / "link"))
    assert secret.read_text() == "secret"


@needs_root
def test_places_are_those_of_who_called_sudo(theirs: Path) -> None:
    import pwd  # noqa: PLC0415 - only here

    home = pwd.getpwuid(NOBODY).pw_dir
    assert data_folder({"HOME": "/root", "SUDO_UID": str(NOBODY)}) == f"{home}/.local/share/turbotui"
    assert data_folder({"HOME": "/root", "SUDO_UID": "0"}) == "/root/.local/share/turbotui"
    for odd in ("", "x", "-1", "99999999999999999999", "٣"):
        assert data_folder({"HOME": "/root", "SUDO_UID": odd}) == "/root/.local/share/turbotui"


@needs_root
@pytest.mark.parametrize("uid", [NOBODY, 3_999_999_999])  # the latter has no name here, as in many a container
def test_where_home_is_somebody_elses_its_owner_decides(uid: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with su -m, doas and run0, which set no SUDO_UID."""
    home, ours = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    try:
        os.chown(home, uid, uid)
        home.chmod(0o755)
        monkeypatch.delenv("SUDO_UID", raising=False)
        monkeypatch.setenv("HOME", str(home))
        place = data_folder({"HOME": str(home)})
        assert place == f"{home}/.local/share/turbotui"
        replace_file(f"{place}/file", "x")
        assert {owner(path)[0] for path in home.rglob("*")} == {uid}
        (home / "link").symlink_to(ours)
        with pytest.raises(PermissionError):
            replace_file(str(home / "link" / "file"), "x")
        monkeypatch.setenv("HOME", str(ours))  # root's own
        replace_file(str(ours / "file"), "x")
        assert owner(ours / "file")[0] == 0
    finally:
        shutil.rmtree(home)
        shutil.rmtree(ours)


@needs_root
def test_a_kept_score_is_theirs(theirs: Path) -> None:
    run_forked("score", "baseline", "--name", "a", "--unit", "b", "--value", "1", "--ratio", "0.5", "--machine",
               "laptop-old", env={**os.environ, "XDG_DATA_HOME": str(theirs / "data")}).check_returncode()
    files = list((theirs / "data").rglob("*"))
    assert {owner(path)[0] for path in files} == {NOBODY}
    assert [stat.S_ISREG(path.lstat().st_mode) for path in files].count(True) >= 1
