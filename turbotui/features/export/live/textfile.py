"""The file of `turbotui export --textfile`, for node_exporter's textfile collector."""

from __future__ import annotations

import errno
import os
import sys
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.machine.own_files import publish_file, withdraw_file
from turbotui.untrusted import one_line

_PASSING: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ESTALE, errno.ETIMEDOUT))
"""Failures of a disk, or of the server that it is on, that a file may meet at the first try and not at the next; a disk
that the kernel made read-only is mounted anew. A mistyped folder is missing, is none, or is another user's."""


class TextFile:
    """A file that is written anew after each interval, once its disk lets it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._written = False
        self._failing = False

    def publish(self, data: bytes, *, again: bool) -> None:
        """Replace the file; one that cannot be replaced is removed first, because its age would not be seen.

        Args:
            again: whether there will be another try, so that a passing failure is only reported, and once.

        Raises:
            TurbotuiError: it cannot be written, and no later try will change that.
        """
        try:
            self._replace(data)
        except OSError as error:
            why = f"{self._path} cannot be written: {os.strerror(error.errno or 0)}"
            if not again or not (self._written or error.errno in _PASSING):
                raise TurbotuiError(why) from error
            if not self._failing:
                _say(f"{why}; it is tried again after each interval")
            self._failing = True
        else:
            if self._failing:
                _say(f"{self._path} is written again")
            self._written, self._failing = True, False

    def _replace(self, data: bytes) -> None:
        try:
            publish_file(self._path, data)
        except OSError:
            if not self._written:
                raise
            self.withdraw()
            publish_file(self._path, data)  # a full disk may have room for one file where it had none for two

    def withdraw(self) -> None:
        """Remove the file."""
        withdraw_file(self._path)


def _say(sentence: str) -> None:
    print(f"turbotui: {one_line(sentence)}", file=sys.stderr, flush=True)
