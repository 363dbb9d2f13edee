"""A collector that the system's ssh starts on another machine, and the meaning of ssh's failures."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Final

from turbotui.errors import UsageError
from turbotui.machine.own_program import environment_of_children
from turbotui.remote.links import PIECE, Connector, LinkError, Outbox, SocketConnector
from turbotui.threads import NamedThread
from turbotui.untrusted import decoded, one_line, original

_OPTIONS: Final = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5",
                   "-o", "ServerAliveCountMax=3")
_MOST_SAID: Final = 1 << 14  # bytes of stderr that are kept, from its end
_END_SECONDS: Final = 2.0
_SSH_FAILED: Final = 255  # ssh(1), "Exit status"
_NO_COMMAND: Final = frozenset((126, 127))  # of every shell

# messages of OpenSSH (ssh.c, sshconnect.c, packet.c, clientloop.c), with their meaning for the user
_FAILURES: Final = (
    (r"Could not resolve hostname", "the name {host} is not known: nothing was connected"),
    (r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed",
     "the host key of {host} is not the one that is known: find out why before `ssh-keygen -R`"),
    (r"Permission denied", "{host} does not let this user in without a password: add a key (ssh-copy-id) or an agent"),
    (r"Connection refused", "{host} refuses the connection: no ssh server runs there, or on another port"),
    (r"timed out|Timeout, server|not responding", "{host} does not answer: it is down, or behind a firewall"),
    (r"No route to host|Network is unreachable", "there is no way to {host}: its network cannot be reached"),
    (r"Connection (reset|closed)|Broken pipe|closed by remote host", "the connection to {host} was lost"),
)
_TOO_OLD: Final = re.compile(r'unknown command "collect"|invalid choice')


class SshLink:
    """One run of ssh.

    Raises:
        LinkError: ssh cannot be started.
    """

    def __init__(self, words: Sequence[str], host: str) -> None:
        self._host = host
        self._stopping = False
        self._said = b""
        try:
            self._process = subprocess.Popen([os.fsencode(word) for word in words],  # noqa: S603 - no shell
                                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             start_new_session=True, env=environment_of_children(os.environ))
        except FileNotFoundError as error:
            raise LinkError(f"there is no {words[0]} on this machine: install OpenSSH's client") from error
        except OSError as error:
            raise LinkError(f"{words[0]} cannot be started: {error.strerror or error}") from error
        os.set_blocking(_pipe(self._process.stdin).fileno(), False)
        self._outbox = Outbox()
        self._listener = NamedThread(target=self._listen, args=(_pipe(self._process.stderr),), name="ssh",
                                          daemon=True)
        self._listener.start()

    def read(self, seconds: float) -> bytes | None:
        stream = _pipe(self._process.stdout)
        self._outbox.push(_pipe(self._process.stdin).fileno())
        if not select.select([stream], [], [], seconds)[0]:
            return None
        return os.read(stream.fileno(), PIECE)

    def ask(self, request: bytes) -> None:
        self._outbox.push(_pipe(self._process.stdin).fileno(), request)

    def why_ended(self) -> str:
        try:
            status = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        self._listener.join(_END_SECONDS)
        return failure_of(self._host, status, decoded(self._said))

    def close(self) -> None:
        """Close the connection; the remote collector finds its stdin closed and ends."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                _pipe(stream).close()
        self._process.terminate()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_END_SECONDS)

    def _listen(self, stream: IO[bytes]) -> None:
        with stream:
            while data := os.read(stream.fileno(), PIECE):
                self._said = (self._said + data)[-_MOST_SAID:]


class SshConnector:
    """A collector that is started on another machine through ssh.

    Args:
        host: in the form that ssh takes: a name of its configuration, user@node.
        options: options of `turbotui collect` there.
        remote: the program there, with its prefix ("sudo -n turbotui"), as a shell would split it.
        program: this machine's ssh.

    Raises:
        UsageError: ssh would take the host as an option, or the program is not a command.
    """

    again = True

    def __init__(self, host: str, options: Sequence[str] = (), *, remote: str = "turbotui",
                 program: str = "ssh") -> None:
        if not host or host.startswith("-"):
            raise UsageError(f'"{host}" is no host that ssh could connect to')
        try:
            command = shlex.split(remote)
        except ValueError as error:
            raise UsageError(f'"{remote}" is no command: {error}') from error
        self.name = f"ssh {host}"
        there = shlex.join(original(word) for word in (*command, "collect", "--requests", *options))
        self.words = (program, *_OPTIONS, "--", original(host), there)
        self._host = host

    def open(self) -> SshLink:
        """Fails with a LinkError if ssh cannot be started."""
        return SshLink(self.words, self._host)


def connector_to(socket: str | None, host: str | None, remote: str | None,
                 handed_on: Mapping[str, str | None]) -> Connector:
    """Make the way to the collector that a command line names.

    Args:
        socket: of a collector that runs; None for one that ssh starts.
        handed_on: options for the collector there, with None for those that were not given.
    """
    if socket:
        return SocketConnector(socket)
    options = [word for name, value in handed_on.items() if value is not None for word in (name, value)]
    return SshConnector(host or "", options, remote=remote or "turbotui")


def failure_of(host: str, status: int | None, stderr: str) -> str:
    """A sentence about why ssh ended.

    Args:
        status: its exit status, which is the remote command's unless ssh itself failed; None if it is running.
    """
    lines = [one_line(line) for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if status == _SSH_FAILED:
        for pattern, sentence in _FAILURES:
            if re.search(pattern, stderr):
                return sentence.format(host=host)
        return f"ssh could not connect to {host}" + (f": {last}" if last else "")
    if status in _NO_COMMAND:
        return (f"there is no turbotui on {host}" + (f" ({last})" if last else "")
                + ": install it there, or say where it is with --remote")
    if _TOO_OLD.search(stderr):
        return f"the turbotui on {host} is too old: it has no `collect`"
    if status:
        return f"the collector on {host} ended with exit status {status}" + (f": {last}" if last else "")
    return f"the collector on {host} has ended" + (f": {last}" if last else "")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three were asked for
    return stream
