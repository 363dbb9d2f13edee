"""The file that says what spies count, looked at between intervals: other programs may write it."""

from __future__ import annotations

import os

from turbotui.quantities.spies import SpyError, SpyPlan, parse_plan

_LARGEST = 1 << 20  # bytes; a plan of a thousand CPUs takes a hundredth


class SpyFile:
    """A configuration on disk. It has changed when its time or size has.

    Args:
        path: as given.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> SpyPlan:
        """What it says now.

        Raises:
            SpyError: it cannot be read, or not understood; one sentence that names it.
        """
        try:
            with open(self.path, "rb") as file:
                self._seen = _mark(os.fstat(file.fileno()))
                data = file.read(_LARGEST + 1)
        except OSError as error:
            raise SpyError(f"{self.path} cannot be read: {error.strerror}") from error
        if len(data) > _LARGEST:
            raise SpyError(f"{self.path} is larger than {_LARGEST} bytes: it is no configuration of spies")
        try:
            return parse_plan(data.decode())
        except UnicodeDecodeError as error:
            raise SpyError(f"{self.path} is not UTF-8, at byte {error.start}") from error
        except SpyError as error:
            raise SpyError(f"{self.path}: {error}") from error

    def changed(self) -> SpyPlan | None:
        """What it says if it has changed since the last look, else None.

        Raises:
            SpyError: it has changed to something that cannot be followed; said once for each change.
        """
        try:
            mark = _mark(os.stat(self.path))
        except OSError as error:
            if self._seen is None:
                return None
            self._seen = None
            raise SpyError(f"{self.path} is gone ({error.strerror}): its last content is followed") from error
        return None if mark == self._seen else self.read()


def _mark(status: os.stat_result) -> tuple[int, int, int]:
    """A file that was replaced has another inode, though it may have the same time and size."""
    return status.st_mtime_ns, status.st_size, status.st_ino
