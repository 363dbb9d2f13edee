"""The last runs of the dashboard as recordings in the user's folder of state, bounded in count and bytes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.own_files import is_recorded_to, own_folder, remove_recording, state_folder
from turbotui.quantities.plain_numbers import whole_number
from turbotui.recording import read
from turbotui.recording.framing import RecordingError
from turbotui.recording.parts import paths_of
from turbotui.recording.rotation import Retention

MOST_RUNS: Final = 20
MOST_BYTES: Final = 256 << 20
"""Bytes of all kept runs."""
RUN_BYTES: Final = 48 << 20
"""Bytes of one run: beyond them its oldest readings are removed, at full resolution first."""
RETENTION: Final = Retention(most_bytes=RUN_BYTES, sync_seconds=0.0)
"""Nobody asked for the recording: no disk is woken for it, and what a crash of the machine takes is no loss."""

_NAME: Final = re.compile(r"\d{8}-\d{6}-\d{1,10}\Z", re.ASCII)
_NUMBER: Final = re.compile(r"[1-9]\d?\Z", re.ASCII)
_SUFFIX: Final = ".ttj"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run of the dashboard that can be replayed.

    Attributes:
        name: its beginning in local time, and the process: 20261128-150102-4711.
        path: of its recording, which may have parts beside it.
    """

    name: str
    path: str

    @property
    def size(self) -> int:
        """Bytes of all of its files."""
        return sum(_size(path) for path in paths_of(self.path))

    def remove(self) -> None:
        """Remove its files, the first one last, so that what is left has its name. Raises OSError if it cannot."""
        for path in reversed(paths_of(self.path)):
            remove_recording(path)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a recording tells of its run.

    Attributes:
        command: the words of the command that ran beside the dashboard; () for none.
        why: why the recording cannot be read; "" if it can.
    """

    machine: str = ""
    command: tuple[str, ...] = ()
    first_ns: int = 0
    last_ns: int = 0
    why: str = ""


def runs_folder(environment: Mapping[str, str]) -> str:
    """The folder of the kept runs."""
    return os.path.join(state_folder(environment), "runs")


def kept_runs(environment: Mapping[str, str]) -> list[RecordedRun]:
    """The kept runs, the newest first; none if there is no folder, or none that can be read."""
    folder = runs_folder(environment)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    stems = {name.partition(_SUFFIX)[0] for name in names if _SUFFIX in name}
    return [RecordedRun(name, os.path.join(folder, name + _SUFFIX)) for name in sorted(stems, reverse=True)
            if _NAME.match(name)]


def run_facts(run: RecordedRun) -> RunFacts:
    """Read the header, the first and the last moment of a run."""
    try:
        with read(run.path) as journal:
            header = journal.header
            return RunFacts(header.name, header.command, journal.first_ns, journal.last_ns)
    except RecordingError as error:
        return RunFacts(why=str(error))


def new_run(environment: Mapping[str, str]) -> RecordedRun:
    """Make room for one more run, and name it.

    Runs that are still being recorded stay, so that as many dashboards can be open at a time as are kept.

    Raises:
        OSError: the folder cannot be made or written, or all runs in it are being recorded.
    """
    folder = own_folder(runs_folder(environment))
    runs = [(run, run.size) for run in kept_runs(environment)]
    while runs and (len(runs) >= MOST_RUNS or sum(size for _, size in runs) > MOST_BYTES - RUN_BYTES):
        oldest = next((at for at in reversed(range(len(runs))) if not is_recorded_to(runs[at][0].path)), None)
        if oldest is None:
            raise BlockingIOError(0, f"{len(runs)} dashboards are being recorded at this moment")
        runs.pop(oldest)[0].remove()
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    return RecordedRun(name, os.path.join(folder, name + _SUFFIX))


def is_run(text: str) -> bool:
    """Whether a text has the form of a run's name, or of its number."""
    return bool(_NAME.match(text) or _NUMBER.match(text))


def find_run(environment: Mapping[str, str], wanted: str) -> RecordedRun | None:
    """The kept run of a name, or of its number from the newest (1); "" is the newest. None if there is none."""
    runs = kept_runs(environment)
    if _NAME.match(wanted):
        return next((run for run in runs if run.name == wanted), None)
    at = whole_number(wanted or "1") or 0
    return runs[at - 1] if 0 < at <= len(runs) else None


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
