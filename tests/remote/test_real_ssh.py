# ruff: noqa: S603, S607 - programs are run with words of these tests
"""A machine through a real ssh server: watched, lost, found again, and each failure of OpenSSH itself."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from watched_machines import frames_of_machine

from turbotui.cli import main
from turbotui.machine.linux import LinuxHost
from turbotui.recording.framing import Record, RecordingError, RecordKind, framed
from turbotui.recording.json_values import packed
from turbotui.recording.machine_facts import header_facts, header_of
from turbotui.remote.links import LinkError
from turbotui.remote.session import RemoteSession
from turbotui.remote.ssh import SshConnector
from turbotui.sampling.frame import Frame

ROOT = Path(__file__).parents[2]
SEPARATION = Path("/run/sshd")
"""Where sshd of root keeps an empty folder (sshd(8), FILES); a system without a running one has none."""
WORDS = ("--machine", "laptop-old", "--interval", "0.1")


class Server:
    """An sshd of this user on a port of its own, with keys made for the test, and a client that knows it."""

    def __init__(self, folder: Path) -> None:
        sshd, keygen = shutil.which("sshd", path="/usr/sbin:/usr/bin:/sbin"), shutil.which("ssh-keygen")
        if sshd is None or keygen is None or not all(map(shutil.which, ("ssh", "ps", "unshare"))):
            pytest.skip("there is no ssh server here: apt-get install openssh-server procps util-linux")
        self.folder = folder
        for name in ("host", "user", "other"):
            subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        shutil.copy(folder / "user.pub", folder / "authorized")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        (folder / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\n"
            f"AuthorizedKeysFile {folder}/authorized\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\n")
        self._words = [sshd, "-D", "-e", "-f", str(folder / "sshd_config")]
        if not os.geteuid() and not SEPARATION.is_dir():
            inside = f'mount -t tmpfs none {SEPARATION.parent} && mkdir -m 755 {SEPARATION} && exec "$@"'
            self._words = ["unshare", "-m", "sh", "-c", inside, "sh", *self._words]
        self._process: subprocess.Popen[str] | None = None
        self.start()
        self.know("host")

    def start(self) -> None:
        self._process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            if "Server listening" in line:
                return
        pytest.skip(f"no ssh server can run here: {' '.join(said)}")

    def know(self, key: str) -> None:
        """Have the client know this key as the host's."""
        public = (self.folder / f"{key}.pub").read_text()
        (self.folder / "known").write_text(f"[127.0.0.1]:{self.port} {public}")

    def ssh(self, key: str = "user") -> str:
        """A client that finds the server as node7, with one key."""
        path = self.folder / f"ssh-{key}"
        path.write_text(
            f"#!/bin/sh\nexec {shutil.which('ssh')} -F none -o HostName=127.0.0.1 -o Port={self.port} "
            f"-o User={getpass.getuser()} -o IdentityFile={self.folder}/{key} -o IdentitiesOnly=yes "
            f"-o IdentityAgent=none -o UserKnownHostsFile={self.folder}/known -o GlobalKnownHostsFile=none "
            f'-o StrictHostKeyChecking=yes "$@"\n')
        path.chmod(0o755)
        return str(path)

    def end(self, *, sessions: bool = False) -> None:
        """End the server; sessions go on, unless they are to be cut off without a word."""
        if self._process is None:
            return
        if sessions:
            for pid in _children(self._process.pid):
                os.kill(pid, signal.SIGKILL)
        self._process.terminate()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        self._process = None

    def cut(self) -> None:
        """Kill the processes of connections, as a reboot does."""
        assert self._process is not None
        for pid in _children(self._process.pid):
            os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> Sequence[int]:
    process = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], check=False, capture_output=True, text=True)
    return [int(pid) for pid in process.stdout.split()]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    result = Server(tmp_path)
    yield result
    result.end(sessions=True)


@pytest.fixture
def remote(tmp_path: Path) -> str:
    """turbotui as the login shell there finds it."""
    path = tmp_path / "there"
    path.write_text(f'#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec {sys.executable} -m turbotui "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_machine_is_watched_lost_and_found_again(server: Server, remote: str) -> None:
    troubles: list[str] = []
    frames: list[Frame] = []
    again = threading.Event()

    def pause(stopped: threading.Event, _seconds: float) -> bool:
        troubles.append(session.trouble)
        return stopped.is_set()

    session = RemoteSession(SshConnector("node7", WORDS, remote=remote, program=server.ssh()), LinuxHost(), pause=pause)
    assert session.machine.host.name == "laptop-old"
    session.want(["Busy%"])
    session.start(frames.append)
    try:
        while len(frames) < 3:
            again.wait(0.01)
        server.cut()
        while not troubles:
            again.wait(0.01)
        count = len(frames)
        while len(frames) < count + 3:
            again.wait(0.01)
    finally:
        session.stop(5.0)
    assert re.search(r"the connection to node7 was lost|the collector on node7 has ended", troubles[0])
    numbers = [frame.seq for frame in frames]
    assert numbers == sorted(set(numbers)), "they go on where they were"
    assert any(frame.older is None for frame in frames[count:]), "no difference reaches over the gap"


def test_what_openssh_says_is_understood(server: Server, remote: str) -> None:
    """Not the texts of a stub: those of the ssh that is installed here."""

    def sentence(key: str = "user", program: str = remote) -> str:
        with pytest.raises(LinkError) as caught:
            RemoteSession(SshConnector("node7", WORDS, remote=program, program=server.ssh(key)), LinuxHost())
        return str(caught.value)

    assert "does not let this user in without a password" in sentence("other")
    assert "there is no turbotui on node7" in sentence(program="/nowhere/turbotui")
    server.know("other")
    assert "the host key of node7 is not the one that is known" in sentence()
    server.end()
    assert "node7 refuses the connection" in sentence()


def test_a_later_version_there_is_named(server: Server, tmp_path: Path) -> None:
    machine, _frames = frames_of_machine("guest", 1)
    facts = {**header_facts(header_of(machine)), "format": 99, "version": "9.1"}
    (tmp_path / "stream").write_bytes(framed(Record(RecordKind.HEADER, 0, 0, packed(facts))))
    (tmp_path / "later").write_text(f"#!/bin/sh\ncat {tmp_path}/stream\nexec sleep 1000\n")
    (tmp_path / "later").chmod(0o755)
    with pytest.raises(RecordingError, match=r"turbotui 9\.1 in version 99 of the format"):
        RemoteSession(SshConnector("node7", remote=str(tmp_path / "later"), program=server.ssh()), LinuxHost())


def test_the_verb_prints_what_is_read_there(
    server: Server, remote: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    folder = server.folder / "bin"
    folder.mkdir()
    shutil.copy(server.ssh(), folder / "ssh")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    assert main(["stat", "--host", "node7", "--remote", remote, "--machine", "laptop-old", "-i", "0.2", "-n", "1",
                 "-q", "--show", "Busy%"]) == 0
    out = capsys.readouterr().out
    assert "SIMULATED machine laptop-old" in out
    assert len(out.splitlines()) == 2 + 1 + 8, "a label, a header, the machine and eight CPUs"
