"""Starts commands for the user: held before exec(2), and in the state in which a shell would start them.

The interpreter ignores SIGPIPE and SIGXFSZ from its start (CPython, Python/pylifecycle.c), and turbotui raises its
limit of open files. exec(2) would pass both on, so that `while :; do echo x; done | head -1` would never end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.machine.linux import LIMITS_AT_START
from turbotui.machine.rights import resource_limit
from turbotui.untrusted import one_line, original

_NOT_RUN: Final = 127  # a shell's exit statuses for commands that it cannot run
_IGNORED_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


class NotRunError(TurbotuiError):
    """A command cannot be run.

    Args:
        number: errno of exec(2).
    """

    def __init__(self, command: str, number: int) -> None:
        super().__init__(f"{command} cannot be run: {os.strerror(number)}")
        self.number = number


class HeldCommand:
    """A child that waits for `go`, then becomes the command.

    It is a fork of this process, so it must be created before there are threads.

    Args:
        prepare: called in the child before it waits; a `TurbotuiError` from it prevents the command from running.
        apart: whether the command leads a session of its own, without a terminal and input, with errors in its output,
            and with signals for all its descendants.
    """

    def __init__(self, words: Sequence[str], stdout: int | None = None,
                 prepare: Callable[[], None] | None = None, *, apart: bool = False) -> None:
        self._words = [original(word) for word in words]
        self.name = one_line(words[0]) or "the empty command"
        self._stdout = stdout
        self._prepare = prepare
        self._apart = apart
        self._reaping = threading.Lock()
        self.used_ns: int | None = None
        """CPU time of the command and of all that it waited for (wait4(2)), once it has ended."""
        self._gone = False
        self._code: int | None = None
        gate, self._open = os.pipe()
        self._outcome, outcome_writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            self._become(gate, outcome_writer)
        os.close(gate)
        os.close(outcome_writer)
        self.descriptor = os.pidfd_open(self.pid)
        """Readable once the command has ended (pidfd_open(2)); -1 after `close`."""

    def go(self) -> None:
        """Let the held command run. Raises NotRunError if the command cannot be run."""
        self._gone = True
        os.write(self._open, b"g")
        os.close(self._open)
        answer = os.read(self._outcome, 4)  # the pipe ends without data when exec closes the other end
        os.close(self._outcome)
        if answer:
            self.wait()
            raise NotRunError(self.name, int.from_bytes(answer, "little"))

    def poll(self) -> int | None:
        """Return the command's exit status, the negative number of the signal that killed it, or None while it runs."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """Wait for the end of the command, and return what `poll` returns."""
        code = self._reap(0)
        assert code is not None, "waitpid(2) without WNOHANG returns when the child has ended"  # noqa: S101
        return code

    @property
    def status(self) -> int | None:
        """The exit status as a shell gives it, with 128 and the signal's number if killed; None while it runs."""
        code = self.poll()
        return code if code is None or code >= 0 else 128 - code

    def send(self, number: int) -> None:
        """Send the command a signal unless it has ended; may be called while a signal is handled."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.descriptor, 0 if self._apart else number)
                if self._apart:
                    os.killpg(self.pid, number)

    def close(self) -> None:
        """Close the descriptor; a command that was never started ends without having run."""
        if not self._gone:
            self._gone = True
            # killed, because a child created later may hold its pipe open, so that closing the pipe has no effect
            os.kill(self.pid, signal.SIGKILL)
            os.close(self._open)
            os.close(self._outcome)
            self.wait()
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _reap(self, flags: int) -> int | None:
        with self._reaping:  # a waiting and a polling thread must not both reap the child
            if self._code is None:
                pid, status, usage = os.wait4(self.pid, flags)
                if pid:
                    self.used_ns = round(1e9 * (usage.ru_utime + usage.ru_stime))
                    self._code = os.waitstatus_to_exitcode(status)
            return self._code

    def _become(self, gate: int, outcome_writer: int) -> None:
        try:
            os.close(self._open)
            if self._apart:
                os.setsid()
            if self._prepare is not None:
                self._prepare()
            if os.read(gate, 1):
                if self._stdout is not None:
                    os.dup2(self._stdout, 1)
                if self._apart:
                    os.dup2(1, 2)
                    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                _undo_python()
                os.execvp(self._words[0], self._words)  # noqa: S606 - running it is what was asked for
        except TurbotuiError:
            os.write(outcome_writer, errno.EPERM.to_bytes(4, "little"))
        except OSError as error:
            os.write(outcome_writer, (error.errno or 1).to_bytes(4, "little"))
        except ValueError:  # the interpreter refuses an empty word by itself; execve(2) would return ENOENT
            os.write(outcome_writer, errno.ENOENT.to_bytes(4, "little"))
        finally:
            os._exit(_NOT_RUN)


def _undo_python() -> None:
    """Restore the signals and limits that the interpreter or turbotui changed."""
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    if (limits := resource_limit(resource.RLIMIT_NOFILE)) is not None and LIMITS_AT_START is not None:
        with contextlib.suppress(ValueError, OSError):  # the hard limit was lowered since the start
            resource.setrlimit(resource.RLIMIT_NOFILE, (LIMITS_AT_START[0], limits[1]))
