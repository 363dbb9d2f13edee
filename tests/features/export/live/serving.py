"""An exporter in a process of its own, and clients that behave as no honest one does."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from patience import PATIENCE


class Exported:
    """An exporter that listens on loopback.

    Attributes:
        process: its process.
        port: where.
        said: its first line.
        errors: the lines of stderr so far.
        trusted: TLS by which it is asked; None for none.
    """

    trusted: ssl.SSLContext | None = None

    def __init__(self, process: subprocess.Popen[str], port: int, said: str, errors: list[str]) -> None:
        self.process = process
        self.errors = errors
        self.port = port
        self.said = said

    @property
    def place(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self.port}"

    def status(self, headers: Mapping[str, str] | None = None) -> int:
        """The status of an answer."""
        try:
            self.get(headers=headers)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        return 200

    def get(self, path: str = "/metrics", headers: Mapping[str, str] | None = None) -> tuple[str, Mapping[str, str]]:
        """Text and header fields of an answer."""
        scheme = "http" if self.trusted is None else "https"
        request = urllib.request.Request(f"{scheme}://{self.place}{path}", headers=dict(headers or {}))  # noqa: S310
        with urllib.request.urlopen(request, timeout=PATIENCE, context=self.trusted) as answer:  # noqa: S310 - ours
            return answer.read().decode(), answer.headers

    def until_counted(self) -> str:
        """A scrape with counters."""
        while True:
            text, _ = self.get()
            if "turbotui_machine_busy_seconds_total" in text:
                return text

    def raw(self, data: bytes) -> bytes:
        """Return the answer to these bytes, up to the connection's end."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            return received(client)


def _keep(lines: list[str], stream: IO[str]) -> None:
    for line in stream:
        lines.append(line)  # noqa: PERF402 - each as it comes


def received(client: socket.socket) -> bytes:
    """Return all bytes up to the connection's end."""
    result = b""
    with contextlib.suppress(ConnectionError):
        while data := client.recv(65536):
            result += data
    return result


@contextlib.contextmanager
def exported(*words: str, folder: Path | None = None) -> Iterator[Exported]:
    """An exporter, until the block ends; SIGTERM ends it."""
    command = [sys.executable, "-m", "turbotui", "export", "--listen", "127.0.0.1:0", *words]
    errors: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,  # noqa: S603 - ours
                          text=True, cwd=folder) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        stream = process.stderr
        reader = threading.Thread(target=lambda: _keep(errors, stream), daemon=True)
        reader.start()
        try:
            line = process.stdout.readline()
            match = re.search(r"http(s?)://127\.0\.0\.1:(\d+)/metrics", line)
            assert match, (line, errors)
            yield Exported(process, int(match[2]), line, errors)
            process.terminate()
            assert process.wait(PATIENCE) == 128 + signal.SIGTERM, errors
        finally:
            if process.poll() is None:
                process.kill()
            reader.join(PATIENCE)
    assert not [line for line in errors if "Traceback" in line], errors
