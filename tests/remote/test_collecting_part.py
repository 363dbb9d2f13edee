"""The collecting part: what is sent to a machine that has python3 and no turbotui, and how it runs there."""

from __future__ import annotations

import io
import itertools
import os
import shutil
import subprocess
import threading
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

import pytest
from bare_node import PYTHON, Node
from patience import PATIENCE
from pythons import pythons

from turbotui.machine.linux import LinuxHost
from turbotui.remote import bootstrap
from turbotui.remote.bootstrap import MOST_BYTES, MOST_UNPACKED, READY
from turbotui.remote.collecting_part import COLLECTING, RECORDING, ProgramPart, bootstrap_code, packed_part
from turbotui.remote.session import RemoteSession
from turbotui.remote.ssh import SshConnector
from turbotui.sampling.frame import Frame

OLDEST = (3, 9)
MOST_COLLECTING, MOST_RECORDING = 700_000, 1_200_000
"""Bytes, so that what is imported by chance is noticed: 576,000 and 1,094,000 when this was written."""
EVERY_MODULE = """
import importlib, sys, zipfile
exec(sys.argv[2])
_add_newer_names()
sys.path.insert(0, sys.argv[1])
names = [name[:-3].removesuffix("/__init__").replace("/", ".") for name in zipfile.ZipFile(sys.argv[1]).namelist()
         if name.endswith(".py")]
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if error.name != "libzstd":
            raise
loaded = {name.partition(".")[0] for name in sys.modules}
print(len(names), *sorted(loaded & {"textual", "rich", "plotext"}))
"""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("version", [OLDEST, (3, 10)])
def test_a_collector_runs_on_old_pythons(node: Node, version: tuple[int, int]) -> None:
    python = next(pythons(version), "")
    if not python:
        pytest.skip("there is no Python {}.{} here".format(*version))
    node.program("python3", f'exec {python} "$@"')
    frames: list[Frame] = []
    session = RemoteSession(SshConnector("node7", ["--interval", "0.1"], program=node.ssh), LinuxHost())
    session.start(frames.append)
    try:
        wait = threading.Event()
        while len(frames) < 3:
            assert ": " not in session.trouble  # a reason; silence alone is that of a loaded machine
            wait.wait(0.01)
    finally:
        session.stop(PATIENCE)


def started(words: list[str], sent: bytes) -> subprocess.CompletedProcess[bytes]:
    """What the bootstrap does with these bytes on its stdin."""
    return subprocess.run([PYTHON, "-ISc", bootstrap_code(), *words], input=sent, capture_output=True,  # noqa: S603 - ours
                          timeout=PATIENCE, check=False)


@pytest.mark.parametrize(("part", "most"), [(COLLECTING, MOST_COLLECTING), (RECORDING, MOST_RECORDING)],
                         ids=lambda part: part.title if isinstance(part, ProgramPart) else "")
def test_every_module_of_it_needs_python_alone(part: ProgramPart, most: int, tmp_path: Path) -> None:
    packed = packed_part(part)
    assert len(packed) < most < MOST_BYTES
    archive = zlib.decompress(packed[4:])
    assert len(archive) < MOST_UNPACKED
    (tmp_path / "part.zip").write_bytes(archive)
    for python in (str(PYTHON), *pythons(OLDEST)):
        done = subprocess.run([python, "-ISc", EVERY_MODULE, str(tmp_path / "part.zip"),  # noqa: S603 - ours
                               Path(bootstrap.__file__).read_text()],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.stderr == ""
        assert done.stdout.split()[1:] == []
    names = zipfile.ZipFile(io.BytesIO(archive)).namelist()
    assert len(names) == len(set(names))
    assert "turbotui/machine/data/intel.toml" in names


def test_a_machine_without_turbotui_is_watched_and_nothing_stays_there(node: Node) -> None:
    node.python()
    (node.home / "argparse.py").write_text("raise SystemExit('a module of the working folder was imported')")
    text: list[str] = []
    frames: list[Frame] = []
    way = SshConnector("node7", ["--interval", "0.1", "--show", "CPU"], program=node.ssh, tell=text.append)
    session = RemoteSession(way, LinuxHost())
    session.want(["IRQ"])
    session.start(frames.append)
    try:
        wait = threading.Event()
        while not frames or "irq.total" not in frames[-1].newer.values:
            assert ": " not in session.trouble  # a reason; silence alone is that of a loaded machine
            wait.wait(0.01)  # what is asked for goes there behind the archive
    finally:
        session.stop(PATIENCE)
    (sentence,) = text
    assert sentence.startswith("there is no turbotui on node7: its collecting part (")
    assert [path.name for path in node.home.iterdir()] == ["argparse.py"]
    assert session.machine.host.name == os.uname().nodename


def test_it_is_told_of_once_and_sent_again(node: Node) -> None:
    node.python()
    text: list[str] = []
    way = SshConnector("node7", ["--interval", "0.1"], program=node.ssh, tell=text.append)
    for _ in range(2):
        RemoteSession(way, LinuxHost()).stop()
    assert len(text) == 1


def test_an_installed_turbotui_is_preferred(node: Node) -> None:
    node.python()
    node.program("turbotui", 'echo "this one: $1" >&2; exit 1')
    assert node.refusal() == "the collector on node7 ended with exit status 1: this one: collect"


@pytest.mark.parametrize(("versions", "sentence"), [
    ({"python3": "3.7.3"}, "3.9 or newer is wanted, and there is python3 3.7.3"),
    ({"python3": "3.7.3", "python3.12": "0"}, "3.9 or newer is wanted, and there is python3 3.7.3 python3.12 0"),
    ({}, "3.9 or newer is wanted, and there is no python3"),
])
def test_a_python_that_is_too_old_is_named(node: Node, versions: dict[str, str], sentence: str) -> None:
    for name, version in versions.items():
        node.program(name, f"echo {version}; exit 1")
    assert sentence in node.refusal()


def test_a_newer_python_beside_an_old_one_is_taken(node: Node) -> None:
    node.program("python3", "echo 3.7.3; exit 1")
    node.python("python3.12")
    RemoteSession(SshConnector("node7", program=node.ssh), LinuxHost()).stop()


def test_root_collects_by_a_sudo_that_asks_nothing(node: Node) -> None:
    node.python()
    node.program("sudo", 'echo "$1 $2" >> ../sudo; shift 2; exec "$@"')
    RemoteSession(SshConnector("node7", program=node.ssh, sudo=True), LinuxHost()).stop()
    assert (node.folder / "sudo").read_text() == "-n --\n"


@pytest.mark.parametrize(("said", "sentence"), [
    ("sudo: a password is required", "sudo on node7 asks for a password, which nobody can type there"),
    ("sudo: sorry, you must have a tty to run sudo", "sudo on node7 asks for a password"),
    ("ann is not in the sudoers file.", "sudo on node7 does not let this user do that"),
    ("sh: 1: sudo: not found", "there is no sudo on node7"),
    ("bash: line 1: sudo: command not found", "there is no sudo on node7"),
])
def test_why_sudo_starts_nothing(node: Node, said: str, sentence: str) -> None:
    node.program("sudo", f'echo "{said}" >&2; exit {127 if "not found" in said else 1}')
    assert sentence in node.refusal(sudo=True)


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "fish", "tcsh", "csh", "ksh"])
def test_any_login_shell_takes_the_command(node: Node, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"there is no {shell} here")
    node.python()
    node.program("ssh", f'for last; do :; done; exec env -i PATH={node.bin} {path} -c "$last"', node.folder)
    RemoteSession(SshConnector("node7", program=node.ssh), LinuxHost()).stop()


def test_no_character_of_the_command_means_something_else_to_another_shell() -> None:
    command = SshConnector("node7").words[-1]
    assert not set(command) & set("!\n\t")
    assert "\\\\" not in command
    assert "\\'" not in command


def test_what_is_no_archive_is_refused() -> None:
    for sent, sentence in (
        (b"", "ended before the collecting part had come"),
        ((100).to_bytes(4, "big") + b"x" * 99, "ended before the collecting part had come"),
        ((MOST_BYTES + 1).to_bytes(4, "big"), "what came is no collecting part"),
    ):
        done = started(["collect"], sent)
        assert done.stdout == READY
        assert sentence in done.stderr.decode()
        assert b"Traceback" not in done.stderr
        assert done.returncode == 1


def test_lines_of_a_login_before_the_stream_are_skipped(node: Node) -> None:
    node.python()
    node.program("ssh", f'echo Welcome to node7; for last; do :; done; exec env -i PATH={node.bin} sh -c "$last"',
                 node.folder)
    session = RemoteSession(SshConnector("node7", program=node.ssh), LinuxHost())
    session.stop()
    assert session.missing == session.remarks == ()


@pytest.mark.parametrize("parts", [(), ([1, 2],), ([1, 2], "ab"), ([1], "ab"), ([1], range(2), "ab")])
def test_newer_builtins_are_made_up_for(parts: tuple[Sequence[object], ...]) -> None:
    parts = tuple(tuple(part) for part in parts)
    assert [*bootstrap._strict_zip(*parts)] == [*zip(*parts, strict=False)]
    try:
        rows = [*zip(*parts, strict=True)]
    except ValueError:
        with pytest.raises(ValueError, match="shorter or longer"):
            bootstrap._strict_zip(*parts, strict=True)
    else:
        assert [*bootstrap._strict_zip(*parts, strict=True)] == rows
    for values in parts:
        assert [*bootstrap._pairs(values)] == [*itertools.pairwise(values)]


def test_a_place_by_key_is_made_up_for() -> None:
    values = [(1, "b"), (2, "a"), (2, "c"), (4, "d")]
    for at in range(6):
        assert bootstrap._keyed_place(values, at, key=lambda value: value[0]) == bisect_right(
            values, at, key=lambda value: value[0])
        for low in range(5):
            assert bootstrap._keyed_place(values, (at, "c"), low, 4) == bisect_right(values, (at, "c"), low, 4)
