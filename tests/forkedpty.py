"""Programs in pseudo-terminals, forked from a process that has imported the dashboard: two thirds of what starts cost.

For tests of what a dashboard does once it runs. How an interpreter starts, in which locale, and what is imported when,
is for those that start one.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

_MOST = 1 << 20  # bytes of a request: words, folder and environment
_MODULES = ("turbotui.cli", "turbotui.opening", "turbotui.app.dashboard", "turbotui.app.graph", "turbotui.app.help",
            "turbotui.app.failures", "turbotui.simulated.named")
_SCREENS = ("overview", "cpus", "topology", "map")
"""Screens that most tests show."""


class ForkedProgram:
    """What `subprocess.Popen` offers of a program that is no child of ours.

    Args:
        words: an interpreter's command line with -c or `-m turbotui`.
        terminal: its standard input, output and error.
        environment: its whole environment.
        controlling: whether the terminal is the controlling one of its session.
    """

    def __init__(self, words: Sequence[str], terminal: int, environment: Mapping[str, str], *,
                 controlling: bool) -> None:
        self.returncode: int | None = None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._news = ours
        with theirs:
            request = {"words": words[1:], "env": dict(environment), "cwd": os.getcwd(), "controlling": controlling}
            socket.send_fds(_server(), [json.dumps(request).encode()], [terminal, theirs.fileno()])
        self.pid = int(ours.recv(64))

    def poll(self) -> int | None:
        """See `Popen.poll`."""
        if self.returncode is None and select.select([self._news], [], [], 0.0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """See `Popen.wait`."""
        if self.returncode is None:
            self.returncode = int(self._news.recv(64))
            self._news.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """See `Popen.send_signal`."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """See `Popen.kill`."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())],  # noqa: S603 - ourselves
                                  pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork for every request, and tell of every end, until the other end is closed."""
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        waited_for: list[Any] = [requests, *running]
        ready, _, _ = select.select(waited_for, [], [])
        for pidfd in [item for item in running if item in ready]:
            pid, news = running.pop(pidfd)
            os.close(pidfd)
            news.send(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])).encode())
            news.close()
        if requests in ready:
            request, files, _flags, _address = socket.recv_fds(requests, _MOST, 2)
            if not request:
                return
            child = os.fork()
            if child == 0:
                _become(json.loads(request), files[0])
            os.close(files[0])
            news = socket.socket(fileno=files[1])
            running[os.pidfd_open(child)] = child, news
            news.send(str(child).encode())


def _become(asked: Mapping[str, object], terminal: int) -> NoReturn:
    """Be the program."""
    os.setsid()
    for number in range(3):
        os.dup2(terminal, number)
    os.closerange(3, 1 << 10)
    # made anew for a terminal, which is no file that can be searched, and is written line by line
    for name, number, mode, errors in (("stdin", 0, "r", "strict"), ("stdout", 1, "w", "strict"),
                                       ("stderr", 2, "w", "backslashreplace")):
        stream = os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if asked["controlling"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    words, environment = asked["words"], asked["env"]
    assert isinstance(words, list)
    assert isinstance(environment, dict)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(str(asked["cwd"]))
    if words[0] == "-c":
        exec(words[1], {"__name__": "__main__"})  # noqa: S102 - the test's own program
        sys.exit()
    assert words[:2] == ["-m", "turbotui"]
    from turbotui.cli import main  # noqa: PLC0415 - no module of ours where tests are collected

    sys.argv = ["turbotui", *words[2:]]
    sys.exit(main())


def import_the_dashboard() -> None:
    """Import what every dashboard imports, and the screens that most tests show."""
    for name in _MODULES:
        importlib.import_module(name)
    from turbotui.app.screen_table import SCREENS  # noqa: PLC0415 - as above

    for spec in SCREENS:
        if spec.id in _SCREENS:
            importlib.import_module(spec.module)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import_the_dashboard()
    _serve(socket.socket(fileno=int(sys.argv[1])))
