"""Opens the recording in a file of `turbotui gather` without writing anything to the disk."""

from __future__ import annotations

import os
from typing import Final

from turbotui.machine.gathered.archive import LARGEST, GatheredError, unpack
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.recording.framing import RecordingError
from turbotui.recording.journal import Journal

MEMBER: Final = "recording"
"""The name, within the archive, of the file with ten seconds of readings."""


def read_gathered(path: str) -> Journal:
    """Open the recording of a gathered machine.

    Raises:
        RecordingError: the file holds no gathered machine, is damaged, or has no recording.
    """
    try:
        files = unpack(read_given(path, LARGEST).data)
    except (GatheredError, GivenFileError) as error:
        raise RecordingError(f"{path} is no file of turbotui gather: {error}") from error
    if MEMBER not in files:
        raise RecordingError(f"{path} is of a gathered machine without a recording")
    memory = os.memfd_create(MEMBER, os.MFD_CLOEXEC)
    try:
        data = memoryview(files[MEMBER])
        while data:
            data = data[os.write(memory, data):]
        journal = Journal((f"/proc/self/fd/{memory}",))
    except RecordingError as error:
        raise RecordingError(f"the recording in {path} cannot be read, or is empty") from error
    finally:
        os.close(memory)
    journal.paths = (path,)
    return journal
