"""Starts a command that waits before exec(2), so that its counters are open before its first instruction."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from turbotui.errors import TurbotuiError

_NOT_RUN: Final = 127  # what a shell answers for a command that it cannot run


class Held:
    """A child that waits for `go`, then becomes the command.

    Args:
        words: the command and its arguments, looked up in PATH.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self.name = self._words[0]
        gate, self._open = os.pipe()
        self._told, tell = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._become(gate, tell)
        os.close(gate)
        os.close(tell)
        self.descriptor = os.pidfd_open(self.pid)
        """Readable once the command has ended (pidfd_open(2))."""

    def go(self) -> None:
        """Let it run.

        Raises:
            TurbotuiError: it cannot be run.
        """
        os.write(self._open, b"g")
        os.close(self._open)
        answer = os.read(self._told, 4)  # ends empty when exec closes the other end
        os.close(self._told)
        if answer:
            os.waitpid(self.pid, 0)
            raise TurbotuiError(f"{self._words[0]} cannot be run: {os.strerror(int.from_bytes(answer, 'little'))}")

    def status(self) -> int | None:
        """None while it runs; then its exit status, or 128 and the number of the signal that ended it."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        os.close(self.descriptor)
        code = os.waitstatus_to_exitcode(status)
        return 128 - code if code < 0 else code

    def send(self, number: int) -> None:
        """Send it a signal; only while `status` gives None, for then its number cannot be another's yet."""
        os.kill(self.pid, number)

    def give_up(self) -> None:
        """End the child without running the command."""
        os.close(self._open)
        os.close(self._told)
        os.close(self.descriptor)
        os.waitpid(self.pid, 0)

    def _become(self, gate: int, tell: int) -> None:
        try:
            os.close(self._open)
            if os.read(gate, 1):
                os.execvp(self._words[0], self._words)  # noqa: S606 - running it is what was asked for
        except OSError as error:
            os.write(tell, (error.errno or 1).to_bytes(4, "little"))
        finally:
            os._exit(_NOT_RUN)
