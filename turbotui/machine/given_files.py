"""Reads files named by the user: only regular ones, up to a size, and within a time.

Opening a FIFO waits for a writer, opening a device may do something (a tape rewinds), /dev/zero has no end, and a file
on an unreachable server may never answer. Each of these is a `GivenFileError` here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.threads import NamedThread
from turbotui.untrusted import original

LARGEST: Final = 1 << 20
"""The most bytes of a file written by people; a configuration of a thousand CPUs has a hundredth."""
PATIENCE: Final = 5.0
"""Seconds after which reading a file is given up."""
REFUSED: Final = errno.ENOTSUP
"""errno for a file that is not a regular one."""
_CHUNK = 1 << 16
_KINDS: Final = {
    stat.S_IFIFO: "a FIFO", stat.S_IFCHR: "a character device", stat.S_IFBLK: "a block device",
    stat.S_IFDIR: "a directory", stat.S_IFSOCK: "a socket",
}
T = TypeVar("T")


class GivenFileError(Exception):
    """A file cannot be read.

    Attributes:
        why: the reason without the file's name.
    """

    def __init__(self, why: str, *, missing: bool = False) -> None:
        super().__init__(why)
        self.why = why
        self.missing = missing


@dataclass(frozen=True, slots=True)
class GivenFile:
    """The content of a file, and its status when it was opened."""

    data: bytes
    status: os.stat_result

    def text(self) -> str:
        """The content as UTF-8, with or without a byte order mark. Raises GivenFileError if it is not UTF-8."""
        try:
            return self.data.decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise GivenFileError(f"it is not UTF-8, at byte {error.start + 1}") from error


def read_given(path: str, largest: int = LARGEST, seconds: float = PATIENCE) -> GivenFile:
    """Read a whole regular file, following links.

    Args:
        seconds: the longest wait.

    Raises:
        GivenFileError: the file is missing, unreadable, not regular, too large, or does not answer in time.
    """
    return within(seconds, lambda: _read(path, largest))


def within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of a call that may wait for ever; a thread that still waits is left behind.

    Raises:
        GivenFileError: the call did not return in time.
        Exception: whatever the call raises.
    """
    outcome = _Outcome[T]()

    def run() -> None:
        try:
            outcome.answers.append(call())
        except Exception as error:  # noqa: BLE001 - raised again by the caller's thread
            outcome.failed.append(error)

    thread = NamedThread(target=run, name="given-file", daemon=True)
    thread.start()
    thread.join(seconds)
    if outcome.failed:
        raise outcome.failed[0]
    if not outcome.answers:
        raise GivenFileError(f"it did not answer within {seconds:g} s")
    return outcome.answers[0]


class _Outcome(Generic[T]):
    def __init__(self) -> None:
        self.answers: list[T] = []
        self.failed: list[Exception] = []


def unsuitable(mode: int) -> str:
    """Return why a file of this mode is not read, "it is a FIFO, not a regular file"; "" for a regular one."""
    return "" if stat.S_ISREG(mode) else f"it is {kind_of(mode)}, not a regular file"


def kind_of(mode: int) -> str:
    """Name the kind of a file of this mode: "a FIFO"."""
    return "a file" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "of an unknown kind")


def _read(path: str, largest: int) -> GivenFile:
    try:
        path = original(path)
        _refuse(os.stat(path))  # checked before opening, because opening a device may do something
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise GivenFileError(os.strerror(error.errno or errno.ENOENT), missing=True) from error
    except (OSError, ValueError) as error:  # ValueError: the name has a NUL
        raise GivenFileError(_words(error)) from error
    try:
        status = os.fstat(descriptor)
        _refuse(status)  # the file may have been replaced in between
        parts: list[bytes] = []
        size = 0
        while size <= largest and (part := os.read(descriptor, min(_CHUNK, largest + 1 - size))):
            parts.append(part)
            size += len(part)
    except OSError as error:
        raise GivenFileError(_words(error)) from error
    finally:
        os.close(descriptor)
    if size > largest:
        raise GivenFileError(f"it is larger than {largest} bytes")
    return GivenFile(b"".join(parts), status)


def _refuse(status: os.stat_result) -> None:
    if why := unsuitable(status.st_mode):
        raise GivenFileError(why)


def _words(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
