"""The program in a process of its own that begins with its modules imported: most of what a short command costs.

A server imports turbotui once for all tests of a worker, and forks for each command line. For tests of what a command
says, and what it returns; how an interpreter starts, and what it imports, is for those that start one.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from patience import PATIENCE

_MOST = 1 << 20  # bytes of a request: words, folder and environment
_FIRST = ("stat", "--machine", "guest", "-q", "-i", "0.01", "-n", "1")
"""A command line that is run once, so that the server knows which modules to import."""


def run_forked(*words: str, stdin: int | None = None, env: Mapping[str, str] | None = None,
               cwd: str | Path | None = None) -> subprocess.CompletedProcess[str]:
    """Return output and status of `python -m turbotui WORDS`; stdin is empty unless a descriptor is given."""
    return _server().run(words, stdin, os.environ if env is None else env, os.getcwd() if cwd is None else str(cwd))


@functools.cache
def _server() -> ForkServer:
    return ForkServer()


class ForkServer:
    """Another process, which ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen([sys.executable, __file__, str(theirs.fileno())],  # noqa: S603 - ourselves
                                             pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self._socket.settimeout(PATIENCE)
        atexit.register(self.close)

    def run(self, words: tuple[str, ...], stdin: int | None, env: Mapping[str, str],
            cwd: str) -> subprocess.CompletedProcess[str]:
        """Run one command line, and wait for its end."""
        request = json.dumps({"words": words, "env": dict(env), "cwd": cwd}).encode()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as nothing:
            socket.send_fds(self._socket, [request], [nothing.fileno() if stdin is None or stdin < 0 else stdin,
                                                      out.fileno(), err.fileno()])
            status = int(self._socket.recv(64))
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(list(words), status, *texts)

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.wait()


def _serve(descriptor: int) -> None:
    """Fork for every request until the other end is closed."""
    with socket.socket(fileno=descriptor) as requests:
        _import_what_a_command_imports()
        while True:
            request, files, _flags, _address = socket.recv_fds(requests, _MOST, 3)
            if not request:
                return
            child = os.fork()
            if child == 0:
                requests.close()
                _become(request, files)
            for file in files:
                os.close(file)
            _child, status = os.waitpid(child, 0)
            requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def _import_what_a_command_imports() -> None:
    """Learn from a forked command which modules of ours it loads, and load them here, where no thread is started."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        from turbotui.cli import main  # noqa: PLC0415 - no module before it is asked for

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main(_FIRST)
        os.write(theirs, "\n".join(name for name in sys.modules if name.startswith("turbotui.")).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as file:
        names = file.read().split()
    os.waitpid(child, 0)
    for name in names:
        __import__(name)


def _become(request: bytes, files: list[int]) -> NoReturn:
    """Be the program."""
    asked = json.loads(request)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    from turbotui.cli import main  # noqa: PLC0415 - as above

    sys.argv = ["turbotui", *asked["words"]]
    sys.exit(main())


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    _serve(int(sys.argv[1]))
