"""The last guard of printed text: no character that a terminal would obey passes.

The dashboard does not use it, because Textual writes to the terminal itself.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

from turbotui.repertoire import Repertoire, initial_environment, text_encoding
from turbotui.untrusted import guarded

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NAMES = ("stdin", "stdout", "stderr")


class _WholeWrites(io.RawIOBase):
    """The bytes of a stream without a buffer (PYTHONUNBUFFERED), of which Python drops what a short write leaves."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self.name = getattr(raw, "name", "")

    def write(self, data: ReadableBuffer) -> int:
        """Write all of it. Raises OSError where that is not possible: a full disk first takes what it has room for."""
        rest = memoryview(data).cast("B")
        while rest:
            if (written := self._raw.write(rest)) is None:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            rest = rest[written:]
        return memoryview(data).nbytes

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw.isatty()

    def fileno(self) -> int:
        return self._raw.fileno()


class TerminalText(io.TextIOBase):
    """A text stream that escapes unsafe text and replaces characters that the underlying stream cannot show.

    Closing it does not close the underlying stream.
    """

    def __init__(self, stream: TextIO) -> None:
        if isinstance(stream, io.TextIOWrapper):
            if isinstance(stream.buffer, io.RawIOBase):
                stream = io.TextIOWrapper(cast("BinaryIO", _WholeWrites(stream.buffer)), stream.encoding, newline="\n",
                                          write_through=True)
            stream.reconfigure(errors="backslashreplace")
        self._stream = stream
        encoding = text_encoding(initial_environment(), stream.encoding or "utf-8", terminal=stream.isatty())
        self._repertoire = None if encoding is None else Repertoire(encoding, escaping=True)

    def write(self, text: str) -> int:
        text_out = guarded(text)
        self._stream.write(text_out if self._repertoire is None else self._repertoire.shown(text_out))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Write what is buffered; the stream itself stays open."""
        if not self._stream.closed:
            self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def writable(self) -> bool:
        """Whether output has somewhere to go, which it does not if the program was started without the stream."""
        try:
            return fcntl.fcntl(self._stream.fileno(), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        except OSError:  # a stream that is not a file, as in tests
            return True

    @property
    def narrow(self) -> bool:
        """Whether there are characters that the stream cannot show."""
        return self._repertoire is not None

    @property
    def closed(self) -> bool:
        return self._stream.closed

    @property
    def name(self) -> str:
        """The name of the stream, "<stdout>"."""
        return self._stream.name

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a stream that is written to has one
        return self._stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The stream's bytes, which are not guarded."""
        return self._stream.buffer


@contextlib.contextmanager
def terminal_texts() -> Iterator[None]:
    """Guard stdout and stderr, and open all three standard streams, however the program was started."""
    open_closed_streams()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", TerminalText(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def open_closed_streams() -> None:
    """Open the standard streams that the program was started without (`<&-`, `>&-`).

    The next opened file would get the stream's number, and a counter would be written to as if it were stdout.
    """
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            # stdin is at its end, stdout refuses writes, so that nothing is lost silently, and stderr discards
            # everything, because there is nobody to tell
            mode = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            opened = os.open(os.devnull, mode | os.O_CLOEXEC)  # open uses the lowest free number, which is this one
            if opened != number:
                os.dup2(opened, number, inheritable=False)
                os.close(opened)
        if getattr(sys, name) is None:
            made = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)
