"""Runs inside a guest: `turbotui` of its commands, forked from one process that has loaded what they load.

An emulated CPU imports turbotui for 15 s. The word `turbotui` is a shell script (debianguest.py) that says its process
id through a FIFO and waits; the child that is forked for it takes command line, working folder, stdout and stderr of it
from /proc. What a command has loaded is loaded here when it is done, so the next finds it.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from turbotui.cli import main as turbotui
from turbotui.feature_list import COMMANDS


def main() -> None:
    """Serve until the guest ends."""
    for command in COMMANDS:
        if command.name in sys.argv[2:]:
            importlib.import_module(command.module)
    with open(os.open(sys.argv[1], os.O_RDWR)) as requests:  # a FIFO with a writer of its own has no end
        for line in requests:
            text, tell = os.pipe()
            if os.fork() == 0:
                os.close(text)
                _command(int(line), tell)
            os.close(tell)
            with open(text) as loaded:  # its end is the child's
                for name in loaded.read().split():
                    _load(name)
            os.wait()


def _command(client: int, tell: int) -> None:
    """Be the command of a client."""
    status = 1
    try:
        os.chdir(f"/proc/{client}/cwd")
        for number in (1, 2):
            os.dup2(os.open(f"/proc/{client}/fd/{number}", os.O_WRONLY | os.O_APPEND), number)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the process ends with it
        words = Path(f"/proc/{client}/cmdline").read_bytes().decode().split("\0")[:-1]
        status = turbotui(words[words.index("/bin/turbotui") + 1:])
        sys.stdout.flush()
    finally:
        os.write(tell, "\n".join(sys.modules).encode())
        Path(f"/tmp/status.{client}").write_text(f"{status}\n")  # noqa: S108 - a guest's own
        os._exit(status)


def _load(name: str) -> None:
    if name not in sys.modules and not name.startswith("__"):
        importlib.import_module(name)


main()
