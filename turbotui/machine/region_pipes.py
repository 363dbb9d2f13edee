"""The FIFOs of regions' marks: one that is created for a command, or one that the user names."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Final, Protocol, Self

from turbotui.errors import MachineError
from turbotui.machine.host import Host
from turbotui.machine.regions import LONGEST_LINE, RegionMark, parse_mark
from turbotui.machine.tasks.processes import has_ended
from turbotui.region_marks import VARIABLE
from turbotui.untrusted import original, visible

_ROOM: Final = 1 << 20  # bytes of the FIFO: /proc/sys/fs/pipe-max-size of an unprivileged user (pipe(7))
_BLOCK: Final = 1 << 16
_REST_BETWEEN: Final = 10
"""Marks wait for this multiple of a reading's duration, so that readings take at most a tenth of a CPU."""
_SHORTEST_REST: Final = 0.001
_MOST_STRANGERS: Final = 1_000  # most processes that marks may name, because numbers may be made up
MOST_PROCESSES: Final = 64
"""The most counted processes of a named FIFO, because each thread needs a descriptor for every event."""
_GONE: Final = 0.5  # seconds between two checks whether a marking process still exists
_FLAGS: Final = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
"""Also opened for writing, so that the last writer's end is not the end of the file (fifo(7))."""


class MarkPipe:
    """The reading end of a FIFO of marks; a context manager that closes it.

    Args:
        descriptor: the FIFO, open for reading and writing.

    Attributes:
        unread: lines that were no marks.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self.unread = 0
        self.descriptor = descriptor
        self._rest = b""
        self._began = 0.0
        with contextlib.suppress(OSError):  # more than this user may have; the present size stays
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _ROOM)

    def take(self) -> Sequence[RegionMark]:
        """Return all new marks, in the order of writing."""
        self._began = time.monotonic()
        data = [self._rest]
        try:
            while block := os.read(self.descriptor, _BLOCK):
                data.append(block)
                if len(data) > _ROOM // _BLOCK:
                    break  # the program marks faster than marks are read
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise MachineError(f"marks of regions cannot be read: {error.strerror}") from error
        *lines, self._rest = b"".join(data).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]  # a line without an end
        return self._marks(lines)

    def _marks(self, lines: Iterable[bytes]) -> Sequence[RegionMark]:
        marks = []
        for line in lines:
            if (mark := parse_mark(line)) is None:
                self.unread += 1
            else:
                marks.append(mark)
        return marks

    @property
    def strangers(self) -> int:
        """The number of processes whose marks are left out."""
        return 0

    def rest(self) -> float:
        """Return the seconds for which marks wait after a reading that began with `take` and ends now."""
        return max(_SHORTEST_REST, _REST_BETWEEN * (time.monotonic() - self._began))

    def close(self) -> None:
        """Close it."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()


class RegionPipe(MarkPipe):
    """A FIFO that is created for a command, and removed at the end, so that later marks have no effect.

    Raises:
        MachineError: the FIFO cannot be created.
    """

    def __init__(self) -> None:
        try:
            self._folder = tempfile.mkdtemp(prefix="turbotui-regions-")  # mode 0700: nobody else writes marks
            path = os.path.join(self._folder, "marks")
            os.mkfifo(path, 0o600)
            descriptor = os.open(path, _FLAGS)
        except OSError as error:
            raise MachineError(f"no FIFO for marks of regions below {tempfile.gettempdir()}: {error.strerror}: set "
                               "TMPDIR to a directory that can be written") from error
        super().__init__(path, descriptor)

    def announce(self) -> None:
        """Name the FIFO in the command's environment, in the child before its exec."""
        os.environ[VARIABLE] = self.path

    def give_to(self, uid: int, gid: int) -> None:
        """Give the FIFO to the user that a root process becomes, who must be able to mark and to remove it.

        Raises:
            MachineError: this process is not allowed to.
        """
        try:
            os.chown(self.path, uid, gid)
            os.chown(self._folder, uid, gid)
        except OSError as error:
            raise MachineError(f"the FIFO for marks cannot be given to user {uid}: {error.strerror}") from error

    def close(self) -> None:
        """Remove it."""
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)


class GivenPipe(MarkPipe):
    """A FIFO that the user created for programs started elsewhere; it is not removed.

    Attributes:
        writers: processes whose marks have arrived.

    Raises:
        MachineError: there is no readable FIFO, or another turbotui reads it.
    """

    def __init__(self, path: str) -> None:
        descriptor = _opened(path)
        status = os.fstat(descriptor)
        self._file = status.st_dev, status.st_ino
        self.writers: set[int] = set()
        self._strangers: set[int] = set()
        super().__init__(path, descriptor)
        # earlier marks: it is unknown which of their regions are still open
        while super().take():
            pass
        self.unread, self._rest = 0, b""

    def take(self) -> Sequence[RegionMark]:
        """Take marks, without those of processes that do not have the FIFO open."""
        marks = super().take()
        for pid in dict.fromkeys(mark.thread[0] for mark in marks):
            if pid not in self.writers and pid not in self._strangers and len(self._strangers) < _MOST_STRANGERS:
                (self.writers if self._has_it_open(pid) else self._strangers).add(pid)
        return [mark for mark in marks if mark.thread[0] in self.writers]

    @property
    def strangers(self) -> int:
        return len(self._strangers)

    def _has_it_open(self, pid: int) -> bool:
        """Tell whether a process has the FIFO open; otherwise its marks are of another PID namespace, or made up.

        Also False if this user may not inspect the process (ptrace(2), PTRACE_MODE_READ), and so may not count it.
        """
        folder = f"/proc/{pid}/fd"
        with contextlib.suppress(OSError):  # the process has ended, or may not be inspected
            for name in os.listdir(folder):
                with contextlib.suppress(OSError):  # closed meanwhile
                    status = os.stat(f"{folder}/{name}")
                    if (status.st_dev, status.st_ino) == self._file:
                        return True
        return False


class OpenRegions(Protocol):
    """The regions that have begun and not ended, by process."""

    def processes(self) -> frozenset[int]:
        """Return the processes with open regions."""

    def end_process(self, pid: int, ns: int) -> None:
        """Close the open regions of an ended process, at a time of CLOCK_MONOTONIC."""


class RegionProcesses:
    """Tracks the processes that mark regions in a FIFO: which are new, and which have ended."""

    def __init__(self, host: Host, pipe: MarkPipe) -> None:
        self._host = host
        self._pipe = pipe
        self._counted: set[int] = set()
        self._looked = 0.0

    def take(self) -> tuple[Sequence[RegionMark], Sequence[int]]:
        """Return the new marks of counted processes, and processes of a named FIFO that mark for the first time."""
        marks = self._pipe.take()
        if not isinstance(self._pipe, GivenPipe):  # a command, which is counted with its descendants
            return marks, ()
        fresh = [pid for pid in dict.fromkeys(mark.thread[0] for mark in marks) if pid not in self._counted]
        fresh = fresh[: MOST_PROCESSES - len(self._counted)]
        self._counted.update(fresh)
        return [mark for mark in marks if mark.thread[0] in self._counted], fresh

    def close_ended(self, regions: OpenRegions) -> None:
        """End the open regions of processes that have ended, checking twice a second."""
        now = time.monotonic()
        if now - self._looked >= _GONE:
            self._looked = now
            for pid in regions.processes():
                if has_ended(self._host, pid):
                    regions.end_process(pid, time.monotonic_ns())

    @property
    def counted(self) -> Sequence[int]:
        """The counted processes of a named FIFO."""
        return sorted(self._counted)

    @property
    def over(self) -> bool:
        """Tell whether a named FIFO had processes, and all have ended."""
        return bool(self._counted) and all(has_ended(self._host, pid) for pid in self._counted)


def _opened(path: str) -> int:
    """Open a FIFO named by the user."""
    file, word = original(path), visible(shlex.quote(original(path)))
    descriptor = -1
    try:
        if stat.S_ISFIFO(os.stat(file).st_mode):  # checked before opening, because opening a device may do something
            descriptor = os.open(file, _FLAGS)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError as error:
        raise MachineError(f"there is no FIFO {path}: make it (mkfifo {word}), and name it to the program that marks "
                           f"its regions, too ({VARIABLE}={word})") from error
    except BlockingIOError as error:
        os.close(descriptor)
        raise MachineError(f"another turbotui reads the FIFO {path}, and a mark goes to one of them only: make a FIFO "
                           "for each") from error
    except OSError as error:
        raise MachineError(f"the FIFO {path} cannot be opened: {error.strerror}: you have to be allowed to read and to "
                           "write it") from error
    if descriptor < 0 or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        raise MachineError(f"{path} is no FIFO: make one with another name (mkfifo), and name it to the program that "
                           f"marks its regions, too ({VARIABLE})")
    return descriptor
