"""A collector that the system's ssh starts on another machine, and the meaning of ssh's failures."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import IO, Final

from turbotui.errors import UsageError
from turbotui.machine.own_program import environment_of_children
from turbotui.recording.framing import MARKER
from turbotui.remote.bootstrap import READY
from turbotui.remote.collecting_part import COLLECTING, ProgramPart, bootstrap_code, packed_part
from turbotui.remote.links import PIECE, Connector, LinkError, Outbox, SocketConnector
from turbotui.threads import NamedThread
from turbotui.untrusted import decoded, one_line, original

_OPTIONS: Final = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=5",
                   "-o", "ServerAliveCountMax=3")
_MOST_SAID: Final = 1 << 14  # bytes of stderr that are kept, from its end
_MOST_LINES: Final = 200  # of stderr that wait for `remarks`
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
_SUDO: Final = ("sudo", "-n", "--")
_TOO_OLD: Final = re.compile(r'unknown command "collect"|invalid choice')
# of collect -n, by turbotui up to 0.5.0 and now, and of gather -
_WORDS_TOO_NEW: Final = re.compile("unrecognized arguments: |unknown option |: - does not end in ")
_NO_PYTHON: Final = re.compile(r"turbotui: Python [\d.]+ or newer is wanted, and there is (.*)")
# messages of sudo (plugins/sudoers/auth/sudo_auth.c, logging.c, check.c) and of shells
_SUDO_FAILURES: Final = (
    (r"sudo:.*(password is required|terminal is required|must have a tty)",
     ("sudo on {host} asks for a password, which nobody can type there: allow this user the command with NOPASSWD "
      "(visudo), or leave out --sudo")),
    (r"not in the sudoers file|not allowed to (execute|run)", "sudo on {host} does not let this user do that"),
    (r"sudo:.*not found", "there is no sudo on {host}: leave out --sudo"),
)

_OLDEST: Final = (3, 9)  # for what is sent: `bootstrap` makes up for what it lacks
_WANTED: Final = ".".join(map(str, _OLDEST))
_VERSION: Final = f"import sys; print(sys.version.split()[0]); sys.exit(sys.version_info < {_OLDEST})"
_THERE: Final = " ".join((
    'command -v turbotui >/dev/null 2>&1 && exec turbotui "$@";',
    *(f"for p in python3 {' '.join(f'python3.{minor}' for minor in range(14, 8, -1))}; do",
      f"v=$($p -ISc '{_VERSION}' 2>/dev/null) && exec $p -ISc \"$0\" \"$@\";",
      'test -n "$v" && has="$has $p $v"; done;'),
    f'echo "turbotui: Python {_WANTED} or newer is wanted, and there is${{has:- no python3}}" >&2;',
    "exit 127",
))
"""Run by sh there: turbotui if it is installed, else a Python that can run the collecting part."""


class SshLink:
    """One run of ssh.

    Args:
        collector: makes the archive that is sent if it is asked for; None if turbotui is there in any case.
        begins: the first bytes of what is wanted; what a login writes before them is left out.

    Raises:
        LinkError: ssh cannot be started.
    """

    def __init__(self, words: Sequence[str], host: str, collector: Callable[[], bytes] | None = None,
                 begins: bytes = MARKER) -> None:
        self._host = host
        self._collector = collector
        self._begins = begins
        self._before: bytes | None = b""  # the end of what came before the beginning; None behind it
        self._requests = b""  # that wait until then
        self._messages = b""
        self._lines: deque[bytes] = deque(maxlen=_MOST_LINES)  # of stderr, which nobody has taken
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
        stream, requests = _pipe(self._process.stdout), _pipe(self._process.stdin)
        self._outbox.push(requests.fileno())
        if not select.select([stream], [requests] if self._outbox.full else [], [], seconds)[0]:
            return None
        data = os.read(stream.fileno(), PIECE)
        return data if self._before is None else self._first(self._before + data, more=bool(data))

    def _first(self, before: bytes, *, more: bool) -> bytes | None:
        """What a reader gets of the first bytes: not what a login says, nor that the collecting part is asked for."""
        if (collector := self._collector) is not None:
            _messages, asked, after = before.partition(READY)
            if asked or self._begins in before or not more:
                self._collector = None
                self.ask((collector() if asked else b"") + self._requests)
                before = after if asked else before
        at = before.find(self._begins)
        self._before = None if at >= 0 else before[-len(READY):]
        if at >= 0:
            return before[at:]
        return None if more else b""

    @property
    def begun(self) -> bool:
        """Whether the beginning has come."""
        return self._before is None

    @property
    def sending(self) -> bool:
        """Whether bytes wait for the connection, which may be slow."""
        return self._outbox.full

    def ask(self, request: bytes) -> None:
        if self._collector is not None:
            self._requests += request
        else:
            self._outbox.push(_pipe(self._process.stdin).fileno(), request)

    def why_ended(self) -> str:
        status = self._status()
        self._listener.join(_END_SECONDS)
        why = failure_of(self._host, status, decoded(self._messages))
        return f"{why}; what came was no stream of turbotui collect" if self._before and not status else why

    @property
    def failure(self) -> str:
        """Why the program there did not end by itself; "" if it did. Waits for its end."""
        return "" if self._status() == 0 else self.why_ended()

    def remarks(self) -> Iterator[str]:
        """Yield the lines of its stderr since the last call; all that are left, if the program has ended."""
        if self._process.poll() is not None:
            self._listener.join(_END_SECONDS)
        while self._lines:
            line = self._lines.popleft()
            if line.strip():
                yield one_line(decoded(line))

    def _status(self) -> int | None:
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

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
        rest = b""
        with stream:
            while data := os.read(stream.fileno(), PIECE):
                self._messages = (self._messages + data)[-_MOST_SAID:]
                *lines, rest = (rest + data).split(b"\n")
                self._lines.extend(lines)
                rest = rest[-_MOST_SAID:]
        self._lines.append(rest)


class SshConnector:
    """A collector that is started on another machine through ssh.

    Args:
        host: in the form that ssh takes: a name of its configuration, user@node.
        options: words behind the verb's there.
        remote: the program there, with its prefix ("sudo -n turbotui"), as a shell would split it; "" for turbotui if
            it is installed, else the collecting part, which is sent.
        sudo: whether it runs as root by a sudo that asks nothing.
        verb: the words of turbotui there.
        part: has that verb.
        program: this machine's ssh.
        tell: takes a sentence before the collecting part is sent for the first time.

    Raises:
        UsageError: ssh would take the host as an option, or the program is not a command.
    """

    again = True

    def __init__(self, host: str, options: Sequence[str] = (), *, remote: str = "", sudo: bool = False,
                 verb: Sequence[str] = ("collect", "--requests"), part: ProgramPart = COLLECTING, program: str = "ssh",
                 tell: Callable[[str], None] | None = None) -> None:
        if not host or host.startswith("-"):
            raise UsageError(f'"{host}" is no host that ssh could connect to')
        try:
            command = shlex.split(remote)
        except ValueError as error:
            raise UsageError(f'"{remote}" is no command: {error}') from error
        self.name = f"ssh {host}"
        start = command or ("sh", "-c", _THERE, bootstrap_code())
        there = shlex.join(original(word) for word in (*(_SUDO if sudo else ()), *start, *verb, *options))
        self.words = (program, *_OPTIONS, "--", original(host), there)
        self.host = host
        self._part = None if command else part
        self._tell = tell

    def open(self, begins: bytes = MARKER) -> SshLink:
        """Fails with a LinkError if ssh cannot be started; `begins` is the first of what is wanted."""
        return SshLink(self.words, self.host, None if self._part is None else partial(self._packed, self._part), begins)

    def _packed(self, part: ProgramPart) -> bytes:
        packed = packed_part(part)
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(f"there is no turbotui on {self.host}: its {part.title} ({len(packed) / 1000:,.0f} kB) is sent, "
                 "runs there from memory, and leaves no file")
        return packed


def connector_to(socket: str | None, host: str | None, remote: str | None, handed_on: Mapping[str, str | None], *,
                 sudo: bool = False) -> Connector:
    """Make the way to the collector that a screen's command line names.

    Args:
        socket: of a collector that runs; None for one that ssh starts.
        handed_on: options for the collector there, with None for those that were not given.
        sudo: whether the collector that ssh starts is root's.
    """
    if socket:
        return SocketConnector(socket)
    return connector_by_ssh(host or "", remote or "", handed_on, sudo=sudo)


def connector_by_ssh(host: str, remote: str, handed_on: Mapping[str, str | None], *, sudo: bool = False,
                     verb: Sequence[str] = ("collect", "--requests"), part: ProgramPart = COLLECTING) -> SshConnector:
    """Make the way to a turbotui that ssh starts, which says on stderr what it sends.

    Args:
        handed_on: as for `connector_to`.
        verb: see `SshConnector`.
        part: see `SshConnector`.
    """
    options = [word for name, value in handed_on.items() if value is not None for word in (name, value)]
    if not remote and handed_on.get("--machine"):
        remote = "turbotui"  # simulated machines are no part of what is sent
    return SshConnector(host, options, remote=remote, sudo=sudo, verb=verb, part=part,
                        tell=lambda sentence: print(f"turbotui: {sentence}", file=sys.stderr))


def failure_of(host: str, status: int | None, stderr: str) -> str:
    """A sentence about why ssh ended.

    Args:
        status: its exit status, which is the remote command's unless ssh itself failed; None if it is running.
    """
    # ssh ends its lines with CR LF, of which the picture of CR stands here
    lines = [one_line(line).removesuffix("\u240d") for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    if status == _SSH_FAILED:
        for pattern, sentence in _FAILURES:
            if re.search(pattern, stderr):
                return sentence.format(host=host)
        return f"ssh could not connect to {host}" + (f": {last}" if last else "")
    for pattern, sentence in _SUDO_FAILURES:
        if status and re.search(pattern, stderr):
            return sentence.format(host=host)
    if status in _NO_COMMAND and (wanted := _NO_PYTHON.search(stderr)):
        return (f"there is no turbotui on {host}, and no Python for its collecting part: {_WANTED} or newer is "
                f"wanted, and there is {one_line(wanted[1])}")
    if status in _NO_COMMAND:
        return (f"there is no turbotui on {host}" + (f" ({last})" if last else "")
                + ": install it there, or say where it is with --remote")
    if _TOO_OLD.search(stderr):
        return f"the turbotui on {host} is too old: it has no `collect`"
    if _WORDS_TOO_NEW.search(stderr):
        return f"the turbotui on {host} is too old for this: {last}"
    if status:
        return f"the collector on {host} ended with exit status {status}" + (f": {last}" if last else "")
    return f"the collector on {host} has ended" + (f": {last}" if last else "")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - all three were asked for
    return stream
