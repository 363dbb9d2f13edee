"""A machine with sh and python3 and no turbotui, which a stand-in for ssh reaches."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from turbotui.machine.linux import LinuxHost
from turbotui.remote.links import LinkError
from turbotui.remote.session import RemoteSession
from turbotui.remote.ssh import SshConnector

PYTHON = Path(getattr(sys, "_base_executable", sys.executable))
"""An interpreter without the packages of these tests."""


class Node:
    """A machine with sh and python3 and no turbotui: a folder of programs, and an ssh that gives its sh the words."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.home = folder / "home"
        for path in (self.bin, self.home):
            path.mkdir()
        (self.bin / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
        self.ssh = str(folder / "ssh")
        self.program("ssh", f'for last; do :; done; cd {self.home}; exec env -i HOME={self.home} TMPDIR={self.home} '
                     f'PYTHONPATH={self.home} PATH={self.bin} sh -c "$last"', folder)

    def python(self, name: str = "python3") -> None:
        """Install this Python."""
        self.program(name, f'exec {PYTHON} "$@"')

    def program(self, name: str, script: str, folder: Path | None = None) -> None:
        """Install a program."""
        path = (folder or self.bin) / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def refusal(self, *, sudo: bool = False) -> str:
        """The sentence by which a connection fails."""
        with pytest.raises(LinkError) as caught:
            RemoteSession(SshConnector("node7", program=self.ssh, sudo=sudo), LinuxHost())
        return str(caught.value)
