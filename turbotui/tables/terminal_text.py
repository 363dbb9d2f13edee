"""The last guard of printed text: nothing that a terminal would obey passes.

The dashboard does not come this way: Textual writes to the terminal itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import sys
from collections.abc import Iterator
from typing import BinaryIO, TextIO, cast

from turbotui.repertoire import Repertoire, initial_environment, text_encoding
from turbotui.untrusted import guarded

_NAMES = ("stdin", "stdout", "stderr")


class TerminalText(io.TextIOBase):
    """A text stream in front of another one: what is unsafe is marked, and what that one cannot show replaced.

    Args:
        stream: which is written to; it is not closed with this one.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
        encoding = text_encoding(initial_environment(), stream.encoding or "utf-8", terminal=stream.isatty())
        self._repertoire = None if encoding is None else Repertoire(encoding, escaping=True)

    def write(self, text: str) -> int:
        """See `io.TextIOBase.write`."""
        text_out = guarded(text)
        self._stream.write(text_out if self._repertoire is None else self._repertoire.shown(text_out))
        return len(text)

    def flush(self) -> None:
        """See `io.IOBase.flush`."""
        self._stream.flush()

    def close(self) -> None:
        """Write what is buffered; the stream itself stays open."""
        if not self._stream.closed:
            self._stream.flush()

    def fileno(self) -> int:
        """See `io.IOBase.fileno`."""
        return self._stream.fileno()

    def isatty(self) -> bool:
        """See `io.IOBase.isatty`."""
        return self._stream.isatty()

    def writable(self) -> bool:
        """Whether what is written has a place to go: not where the program was started without the stream."""
        try:
            return fcntl.fcntl(self._stream.fileno(), fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        except OSError:  # a stream that is no file, as in tests
            return True

    @property
    def narrow(self) -> bool:
        """Whether there are characters that it cannot show."""
        return self._repertoire is not None

    @property
    def closed(self) -> bool:
        """See `io.IOBase.closed`."""
        return self._stream.closed

    @property
    def name(self) -> str:
        """The name of the stream, "<stdout>"."""
        return self._stream.name

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a stream that is written to has one
        """See `io.TextIOBase.encoding`."""
        return self._stream.encoding

    @property
    def buffer(self) -> BinaryIO:
        """The stream's bytes, which are not guarded."""
        return self._stream.buffer


@contextlib.contextmanager
def terminal_texts() -> Iterator[None]:
    """Let stdout and stderr be guarded, and let all three streams be there, whatever the program was started with."""
    open_closed_streams()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", TerminalText(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def open_closed_streams() -> None:
    """Give the program the standard streams that it was started without (`<&-`, `>&-`).

    Else the next file that it opens has their number, and a counter would be written to as if it were stdout. A stdin
    in their place ends at once, a stdout refuses to be written to, so that nothing is lost without a word, and a
    stderr takes everything: there is nobody to tell.
    """
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            opened = os.open(os.devnull, mode | os.O_CLOEXEC)  # the lowest number that is free: this one
            if opened != number:
                os.dup2(opened, number, inheritable=False)
                os.close(opened)
        if getattr(sys, name) is None:
            made = open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)
