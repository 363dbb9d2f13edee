"""A collector on another machine: a sentence for each failure of ssh, and the command that is run there."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from patience import PATIENCE
from watched_machines import frames_of_machine

from turbotui.errors import UsageError
from turbotui.machine.linux import LinuxHost
from turbotui.recording.framing import Record, RecordingError, RecordKind, framed
from turbotui.recording.json_values import packed
from turbotui.recording.machine_facts import header_facts, header_of
from turbotui.remote.links import LinkError
from turbotui.remote.session import RemoteSession
from turbotui.remote.ssh import SshConnector, failure_of
from turbotui.sampling.frame import Frame

ROOT = Path(__file__).parents[2]
CHANGED = """@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
Host key verification failed."""
FAILURES = {
    "unknown host": (255, "ssh: Could not resolve hostname node7: Name or service not known", "node7 is not known"),
    "host key changed": (255, CHANGED, "the host key of node7 is not the one that is known"),
    "permission denied": (255, "user@node7: Permission denied (publickey,password).", "does not let this user in"),
    "refused": (255, "ssh: connect to host node7 port 22: Connection refused", "node7 refuses the connection"),
    "timeout": (255, "ssh: connect to host node7 port 22: Connection timed out", "node7 does not answer"),
    "no route": (255, "ssh: connect to host node7 port 22: No route to host", "there is no way to node7"),
    "lost": (255, "client_loop: send disconnect: Broken pipe", "the connection to node7 was lost"),
    "server gone": (255, "Timeout, server node7 not responding.", "node7 does not answer"),
    "something new": (255, "line one\nsomething new happened", "could not connect to node7: something new happened"),
    "no turbotui": (127, "bash: line 1: turbotui: command not found", "there is no turbotui on node7"),
    "too old": (2, 'turbotui: unknown command "collect"; there are: stat', "the turbotui on node7 is too old"),
    "cannot read": (3, "turbotui: the machine cannot be read", "ended with exit status 3: turbotui: the"),
    "ended": (0, "", "the collector on node7 has ended"),
    "hostile": (255, "\x1b]0;owned\x07\x1b[2J", "could not connect to node7: ␛]0;owned␇␛[2J"),
}


def stub(folder: Path, script: str) -> str:
    """An ssh of our own, given as the words of a shell script."""
    path = folder / "ssh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def failing(folder: Path, status: int, said: str) -> str:
    (folder / "said").write_text(said)
    return stub(folder, f"cat {folder}/said >&2; exit {status}")


@pytest.mark.parametrize("case", FAILURES)
def test_each_failure_is_a_sentence(case: str, tmp_path: Path) -> None:
    status, said, sentence = FAILURES[case]
    with pytest.raises(LinkError) as caught:
        RemoteSession(SshConnector("node7", program=failing(tmp_path, status, said)), LinuxHost())
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_ssh(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"there is no .*/ssh on this machine: install OpenSSH's client"):
        SshConnector("node7", program=str(tmp_path / "ssh")).open()


def test_an_ssh_that_never_answers_is_given_up(tmp_path: Path) -> None:
    seconds = itertools.count(0, 5)
    with pytest.raises(LinkError, match="no collector's stream came in 20 s"):
        RemoteSession(SshConnector("node7", program=stub(tmp_path, "exec sleep 1000")), LinuxHost(),
                      clock=lambda: float(next(seconds)))


def test_a_turbotui_of_another_version_there_is_named(tmp_path: Path) -> None:
    machine, _frames = frames_of_machine("guest", 1)
    facts = {**header_facts(header_of(machine)), "format": 99, "version": "9.1"}
    (tmp_path / "stream").write_bytes(framed(Record(RecordKind.HEADER, 0, 0, packed(facts))))
    with pytest.raises(RecordingError, match=r"turbotui 9\.1 in version 99 of the format; this turbotui, .*, reads"):
        RemoteSession(SshConnector("node7", program=stub(tmp_path, f"cat {tmp_path}/stream; exec sleep 1000")),
                      LinuxHost())


@pytest.mark.parametrize("host", ["-oProxyCommand=touch owned", "", "-l"])
def test_a_host_is_no_option(host: str) -> None:
    with pytest.raises(UsageError, match="is no host"):
        SshConnector(host)


def test_words_reach_the_shell_there_as_they_were_typed(tmp_path: Path) -> None:
    """As sshd does it, the stub gives the last word to a shell; no shell here sees any."""
    nasty = ["--cpu", "0; touch owned", "$(touch owned)", "`touch owned`", "a'b\"c", "two\nlines", "*"]
    (tmp_path / "turbotui").write_text('#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done > "$OUT/words"\n')
    (tmp_path / "turbotui").chmod(0o755)
    program = stub(tmp_path, f'cd {tmp_path}; printf "%s\\0" "$@" > argv; export OUT={tmp_path}\n'
                             f'for last; do :; done; PATH={tmp_path}:$PATH exec sh -c "$last"')
    link = SshConnector("user@node7", nasty, program=program).open()
    while link.read(PATIENCE):
        pass
    link.why_ended()
    link.close()
    argv = (tmp_path / "argv").read_text().split("\0")
    assert argv[argv.index("--") + 1] == "user@node7"
    assert argv[:2] == ["-o", "BatchMode=yes"]
    assert (tmp_path / "words").read_text().split("\0")[:-1] == ["collect", "--requests", *nasty]
    assert not (tmp_path / "owned").exists()


def test_the_program_there_may_have_words_before_it() -> None:
    way = SshConnector("node7", ["--interval", "1"], remote="sudo -n '/opt/my tools/turbotui'")
    assert way.words[-1] == "sudo -n '/opt/my tools/turbotui' collect --requests --interval 1"
    with pytest.raises(UsageError, match="is no command"):
        SshConnector("node7", remote="'unfinished")


def test_a_machine_is_watched_lost_and_found_again(tmp_path: Path) -> None:
    (tmp_path / "turbotui").write_text(
        f'#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec {sys.executable} -m turbotui "$@"\n')
    (tmp_path / "turbotui").chmod(0o755)
    program = stub(tmp_path, f"for last; do :; done; export PYTHONPATH={ROOT}; PATH={tmp_path}:$PATH\n"
                             'sh -c "$last" && exit; echo "client_loop: send disconnect: Broken pipe" >&2; exit 255')
    troubles: list[str] = []
    frames: list[Frame] = []
    again = threading.Event()

    def pause(stopped: threading.Event, _seconds: float) -> bool:
        troubles.append(session.trouble)
        return stopped.is_set()

    way = SshConnector("user@node7", ["--machine", "laptop-old", "--interval", "0.1", "--show", "Busy%"],
                       program=program)
    session = RemoteSession(way, LinuxHost(), pause=pause)
    session.want(["IRQ"])
    session.start(frames.append)
    while not frames or "irq.total" not in frames[-1].newer.values:
        again.wait(0.01)  # what is asked for goes there through stdin
    os.kill(int((tmp_path / "pids").read_text().split()[0]), signal.SIGKILL)
    while not troubles:
        again.wait(0.01)
    count = len(frames)
    assert troubles[0].endswith(": the connection to user@node7 was lost; again in 1 s")
    while len(frames) < count + 3 or "irq.total" not in frames[-1].newer.values:
        again.wait(0.01)  # it asks again
    assert session.trouble == ""
    session.stop(PATIENCE)
    last = int((tmp_path / "pids").read_text().split()[-1])
    while Path(f"/proc/{last}").exists():  # its stdin was closed
        again.wait(0.01)


def test_a_sentence_for_every_status() -> None:
    assert failure_of("node7", None, "") == "the collector on node7 has ended"
    assert failure_of("node7", 126, "sh: no\n").startswith("there is no turbotui on node7 (sh: no)")


@pytest.mark.parametrize(("words", "sentence"), [
    (("--host", "node7", "--connect", "/run/x"), "--host and --connect name two collectors"),
    (("--host", "node7", "--spy", "file"), "--spy is not for --host"),
    (("--connect", "/run/x", "--interval", "2"), "--interval is not for --connect"),
    (("--host=-oProxyCommand=x",), "is no host"),
    (("--remote", "x"), "--remote is for --host"),
])
def test_the_command_line_says_what_does_not_go_together(words: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run(["script", "-qec", f"{sys.executable} -m turbotui {' '.join(words)}", "/dev/null"],  # noqa: S603, S607 - ours
                          check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 2
    assert sentence in " ".join(done.stdout.split())
