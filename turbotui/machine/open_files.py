"""Keep files open that are read repeatedly, as many as possible, and parse them only when they changed."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Final, NamedTuple, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.timed_reads import SLOW_READ_NS, is_interrupted, undisturbed
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.untrusted import decoded, one_line

Values: TypeAlias = Mapping[str, "int | float | Unavailable"]
"""The values in a file, by quantity; a quantity without a limit has that as its reason."""

_PIECE: Final = 4096
"""Bytes of one read; most files are shorter."""
_LARGEST: Final = 1 << 22
_GONE: Final = frozenset({errno.ENODEV, errno.ENOENT, errno.ESTALE})
"""Errors for a removed group: through an open file, through a path, and over a network."""
_REFUSED: Final = {errno.EACCES: "only its owner and root may read it", errno.EPERM: "this user may not read it"}
_SHARE: Final = 2
"""One in how many descriptors may be used for files of groups."""


class FileReading(NamedTuple):
    """Values of a file at the time of reading."""

    values: Values  # by quantity; the same object as before if the file is unchanged
    at_ns: int  # monotonic clock when it was read
    unsure_ns: int = 0  # how far `at_ns` may be off
    # whether both are running sums, whose increases are the time between two readings and how far that may be off
    summed: bool = False


class GoneError(Exception):
    """The group of a file no longer exists."""


@dataclass(slots=True)
class _Kept:
    descriptor: int
    content: bytes = b""
    values: Values | None = None
    quickest: int = 0  # ns of its quickest read so far; 0 before the first


class OpenFiles:
    """Reads files by path; a file that could not be opened is not tried again before `retry`.

    Attributes:
        read_ns: monotonic clock after the newest read.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self.read_ns = 0
        self._kept: dict[str, _Kept] = {}
        self._refused: dict[str, Unavailable] = {}

    def __len__(self) -> int:
        """How many files are open."""
        return len(self._kept)

    def read(self, path: str, parse: Callable[[bytes], Values]) -> FileReading | Unavailable:
        """Read a file's current contents; returns the reason if that is impossible. Unchanged content is not parsed.

        Raises:
            GoneError: the file was open, and no longer exists.
        """
        if (refused := self._refused.get(path)) is not None:
            return refused
        kept = self._kept.get(path)
        was_open = kept is not None
        if kept is None:
            try:
                kept = self._kept[path] = _Kept(self._host.open_file(path))
            except HostError as error:
                return self._refused.setdefault(path, _why(path, error))
        try:
            return self._reading(path, kept, parse)
        except HostError as error:
            self.forget(path)
            if error.errno in _GONE:
                raise GoneError(path) from error
            return self._refused.setdefault(path, _why(path, error))
        finally:
            if not was_open and len(self._kept) > self._most:
                self.forget(path)

    def retry(self) -> None:
        """Try files again that could not be opened or read."""
        self._refused.clear()

    def forget(self, path: str) -> None:
        """Close a file, if it is open."""
        if (kept := self._kept.pop(path, None)) is not None:
            self._host.close(kept.descriptor)

    def close(self) -> None:
        """Close every file."""
        for path in tuple(self._kept):
            self.forget(path)

    @cached_property
    def _most(self) -> int:
        return self._host.privileges().most_descriptors // _SHARE

    def _reading(self, path: str, kept: _Kept, parse: Callable[[bytes], Values]) -> FileReading | Unavailable:
        began = self.read_ns  # a clock is asked once a file: from the end of one read to the next little time passes
        content = self._content(kept.descriptor)
        ended = self._host.now_ns()
        if ended - began > kept.quickest and is_interrupted(ended - began, kept.quickest):
            began, content, ended = undisturbed(partial(self._content, kept.descriptor), kept.quickest or SLOW_READ_NS,
                                                self._host.now_ns)
        self.read_ns = ended
        if not ended - began > kept.quickest > 0:
            kept.quickest = ended - began
        if kept.values is None or content != kept.content:
            try:
                kept.values = parse(content)
            except (ValueError, IndexError, KeyError):
                shown = one_line(decoded(content[:40]))
                return Unavailable(Reason.FAILED, f"{path} says {shown!r}, which is no such value")
            kept.content = content
        return FileReading(kept.values, (began + ended) >> 1, (ended - began) >> 1)

    def _content(self, descriptor: int) -> bytes:
        content = self._host.read_at(descriptor, _PIECE)
        if len(content) < _PIECE:
            return content
        parts = [content]
        offset = _PIECE
        while offset < _LARGEST and (part := self._host.read_at(descriptor, _PIECE, offset)):
            parts.append(part)
            offset += len(part)
        return b"".join(parts)


def _why(path: str, error: HostError) -> Unavailable:
    # without the group, which the row names: a thousand groups without a file share the reason
    name = path.rpartition("/")[2]
    if error.errno in _GONE:
        return Unavailable(Reason.NO_DRIVER, f"the group has no {name}")
    if error.errno in _REFUSED:
        return Unavailable(Reason.NOT_PERMITTED, f"{name} of the group: {_REFUSED[error.errno]}", "run as root")
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return Unavailable(Reason.NO_DESCRIPTORS, f"{name} of the group: no descriptor is left", "ulimit -n 65536")
    if error.errno == errno.EOPNOTSUPP:  # pressure files of a kernel with psi=0
        return Unavailable(Reason.NOT_SET, f"{name} of the group: the kernel counts no pressure", "boot with psi=1")
    return Unavailable(Reason.FAILED, f"{path}: {error}")
