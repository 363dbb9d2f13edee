"""The file of a recording as it is written: locked, appended to record by record, brought to the disk now and then."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from typing import Final

from turbotui.machine.own_files import open_recording
from turbotui.recording.framing import RecordingError

SYNC_SECONDS: Final = 10.0
"""What was written survives this program in any case, and a loss of power after this time at the latest."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class RecordingFile:
    """One file that this process alone appends to.

    Args:
        path: made where it is not there.
        sync_seconds: between two calls of fdatasync(2), on a thread of their own; 0: none but at the end.

    Attributes:
        size: bytes so far.
        failed: something could not be written; what is there is whole.

    Raises:
        RecordingError: it cannot be opened, or another process records to it.
    """

    def __init__(self, path: str, sync_seconds: float = SYNC_SECONDS) -> None:
        self.path = path
        self.failed = False
        try:
            self._descriptor = open_recording(path)
        except BlockingIOError as error:
            raise RecordingError(f"{path} is being recorded to by another process") from error
        except OSError as error:
            raise RecordingError(f"{path} cannot be recorded to: {error.strerror}") from error
        self.size = os.fstat(self._descriptor).st_size
        self._synced = self.size
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        if sync_seconds:
            self._thread = threading.Thread(target=self._sync_now_and_then, args=(sync_seconds,), name="fdatasync",
                                            daemon=True)
            self._thread.start()

    @property
    def descriptor(self) -> int:
        """Descriptor of the open file."""
        return self._descriptor

    def write(self, data: bytes) -> None:
        """Append whole records. What was written before stays as it is, whatever goes wrong.

        Raises:
            RecordingError: the disk is full, or the file cannot be written; nothing of the records is there.
        """
        try:
            done = os.write(self._descriptor, data)
            while done < len(data):
                done += os.write(self._descriptor, data[done:])
        except OSError as error:
            self.failed = True
            with contextlib.suppress(OSError):  # then a torn record stands at the end, which readers know
                os.ftruncate(self._descriptor, self.size)
            why = "the disk is full" if error.errno in _FULL else error.strerror
            raise RecordingError(f"the recording to {self.path} ends here: {why}") from error
        self.size += len(data)

    def close(self) -> None:
        """Bring everything to the disk and give the lock back."""
        if self._descriptor < 0:
            return
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        self._sync()
        os.close(self._descriptor)
        self._descriptor = -1

    def _sync_now_and_then(self, seconds: float) -> None:
        while not self._closing.wait(seconds):
            self._sync()

    def _sync(self) -> None:
        size = self.size
        if size != self._synced:
            with contextlib.suppress(OSError):  # a disk that fails says so to write(2) too
                os.fdatasync(self._descriptor)
            self._synced = size
