"""The file with the spies' plan, checked between intervals because other programs may write it."""

from __future__ import annotations

import os

from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.quantities.spies import SpyError, SpyPlan, parse_plan


class SpyFile:
    """A configuration on disk, which has changed if its time or size has."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._reported: tuple[int, ...] | None = None  # the state that was last read, or reported as unusable

    def read(self) -> SpyPlan:
        """Read and parse the file now.

        Raises:
            SpyError: the file cannot be read or parsed; one sentence that names it.
        """
        try:
            file = read_given(self.path)
            self._reported = _mark(file.status)
            text = file.text()
        except GivenFileError as error:
            raise SpyError(f"{self.path} cannot be read: {error.why}") from error
        try:
            return parse_plan(text)
        except SpyError as error:
            raise SpyError(f"{self.path}: {error}") from error

    def changed(self) -> SpyPlan | None:
        """The plan in the file if the file has changed since the last call, else None.

        Raises:
            SpyError: the changed file is unusable; raised once for each change. An empty file counts as unusable,
                because a program that rewrites a file truncates it first.
        """
        try:
            mark = _mark(os.stat(self.path))
        except OSError as error:
            if self._reported is None:
                return None
            self._reported = None
            raise SpyError(f"{self.path} is gone ({error.strerror}): its last content is followed") from error
        if mark == self._reported:
            return None
        self._reported = mark
        plan = self.read()
        if not plan.spies:
            raise SpyError(f"{self.path} names no event ([[spy]]) any more: its last content is followed")
        return plan


def _mark(status: os.stat_result) -> tuple[int, int, int, int]:
    """The file's identity: a replaced file has another inode even with the same time and size; a mode changes ctime."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
