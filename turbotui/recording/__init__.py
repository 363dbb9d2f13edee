"""Recordings: raw readings of a machine in a file, a pipe or memory, and frames computed from them again.

    read(path)                    a `Journal`: frames of any time, events, gaps, what is missing
    recorder.Recorder             writes the frames of a session to a file
    stream_writer, stream_reader  write to and read from a pipe or a socket

The format is that of docs/specs/journal.md 1 to 8. This package imports no feature, table or screen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turbotui.recording.framing import RecordingError

if TYPE_CHECKING:  # many verbs import a module of this package, and few runs read a recording
    from turbotui.recording.journal import Journal

GATHERED = (".tar.gz", ".tgz")
"""The suffix of the files of `turbotui gather`."""


def read(path: str) -> Journal:
    """Open a recording with its parts of lower resolution, that in a file of turbotui gather, or for "-" that on stdin.

    Raises:
        RecordingError: the file is no recording, cannot be read, or has a later format.
    """
    if path.endswith(GATHERED):
        from turbotui.recording.streamed_recording import read_gathered  # noqa: PLC0415 - few are packed

        return read_gathered(path)
    if path == "-":
        from turbotui.recording.streamed_recording import read_stream  # noqa: PLC0415 - as above

        return read_stream()
    from turbotui.recording.journal import Journal  # noqa: PLC0415 - as above
    from turbotui.recording.parts import paths_of  # noqa: PLC0415 - as above

    return Journal(paths_of(path))


def read_machine(path: str) -> Journal:
    """Open a recording of a machine, as `read` does.

    Raises:
        RecordingError: as `read`; or the recording holds the nodes of a fleet, which have no counters.
    """
    from turbotui.recording.rows import FLEET_STREAM  # noqa: PLC0415 - as above

    journal = read(path)
    if not journal.signals and any(journal.rows(FLEET_STREAM, journal.first_ns - 1, journal.last_ns)):
        journal.close()
        raise RecordingError(f"{path} holds the nodes of a fleet, and no counters of a machine: turbotui fleet "
                             f"--replay {path} tells of it")
    return journal


__all__ = ["RecordingError", "read", "read_machine"]
