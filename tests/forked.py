"""The program in a process of its own that begins with its modules imported: most of what a short command costs.

A server forks for each command line of a worker's tests, and imports what of turbotui the command has imported. For
tests of what a command says, and what it returns; how an interpreter starts, and what it imports, is for those that
start one.
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
from typing import NoReturn, TextIO

from patience import PATIENCE

_MOST = 1 << 20  # bytes of a request: words, folder and environment


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
    """Fork for every request until the other end is closed, and load what the child has loaded for the next."""
    with socket.socket(fileno=descriptor) as requests:
        while True:
            request, files, _flags, _address = socket.recv_fds(requests, _MOST, 3)
            if not request:
                return
            with open(os.memfd_create("modules"), "r+", encoding="utf-8") as loaded:
                child = os.fork()
                if child == 0:
                    requests.close()
                    _become(request, files, loaded)
                for file in files:
                    os.close(file)
                _child, status = os.waitpid(child, 0)
                requests.send(str(os.waitstatus_to_exitcode(status)).encode())
                loaded.seek(0)
                for name in loaded.read().split():
                    __import__(name)


def _become(request: bytes, files: list[int], loaded: TextIO) -> NoReturn:
    """Be the program, and at its end say which modules of ours it has loaded."""
    known = set(sys.modules)
    asked = json.loads(request)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    from turbotui.cli import main  # noqa: PLC0415 - no module before it is asked for

    sys.argv = ["turbotui", *asked["words"]]
    try:
        sys.exit(main())
    finally:
        names = (name for name in sys.modules if name.startswith("turbotui.") and name not in known)
        print(*names, file=loaded, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    _serve(int(sys.argv[1]))
