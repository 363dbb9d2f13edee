"""Regions of a command as it marks them itself (`region_marks`, share/turbotui): the FIFO, its lines, and times.

A command is counted as a whole, so that what is counted between two readings is shared out by time: a region has the
share of it in which it was open in at least one thread. Whoever counts reads at the marks too, and most of the time of
a region of some milliseconds then lies between readings of its own.

Any verb that counts a command does so:

    with RegionPipe() as pipe, observe(words, prepare=pipe.announce) as seen:
        counters = open_counters(seen.commands[0].pid)
        seen.run()
        regions = RegionTimes(time.monotonic_ns())
        while not seen.wait(until, also=pipe.descriptor):
            for mark in pipe.take():
                regions.take(mark)
            read the counters, and share out what they say by regions.until(time.monotonic_ns())
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from types import TracebackType
from typing import Final, Self

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError
from turbotui.region_marks import LONGEST_NAME, VARIABLE
from turbotui.untrusted import decoded, one_line

_LINE: Final = re.compile(rb"([BE]) ([0-9]{1,19}) ([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([^\n]+)\Z")
_LONGEST_LINE: Final = 256  # C's buffer; POSIX' PIPE_BUF is 512 or more
_ROOM: Final = 1 << 20  # bytes of the FIFO: /proc/sys/fs/pipe-max-size of an unprivileged user (pipe(7))
_BLOCK: Final = 1 << 16
MOST_NAMES: Final = 200
"""Regions by name; what has another name is one region."""
_MOST_OPEN: Final = 10_000
OTHERS: Final = "(other regions)"
_REST_BETWEEN: Final = 10
"""Times that a reading took, for which marks wait: readings at marks take no more than a tenth of a CPU."""
_SHORTEST_REST: Final = 0.001


@dataclass(frozen=True, slots=True)
class RegionMark:
    """One mark as it came.

    Attributes:
        begins: whether it begins a region, or ends one.
        ns: CLOCK_MONOTONIC, by the program.
        thread: process and thread.
        lost: marks that did not go into the FIFO before this one.
        name: of the region, made visible.
    """

    begins: bool
    ns: int
    thread: tuple[int, int]
    lost: int
    name: str


def parse_mark(line: bytes) -> RegionMark | None:
    """One line of the FIFO, without its end; None for what is no mark."""
    found = _LINE.match(line) if len(line) <= _LONGEST_LINE else None
    if found is None:
        return None
    kind, ns, pid, tid, lost, raw = found.groups()
    name = one_line(decoded(raw[:LONGEST_NAME])).strip()
    return RegionMark(kind == b"B", int(ns), (int(pid), int(tid)), int(lost), name) if name else None


@dataclass(frozen=True, slots=True)
class RegionShare:
    """A region's part of the time between two readings.

    Attributes:
        name: of the region.
        seconds: in which it was open in at least one thread.
        share: of the time between the readings, at most 1.
    """

    name: str
    seconds: float
    share: float


class RegionTimes:
    """Which regions are open, by the marks of all threads.

    A region includes what lies in it. Marks that come later than the reading after them count from that reading on.

    Args:
        start_ns: CLOCK_MONOTONIC of the first reading.

    Attributes:
        entries: of each region, by name.
        lost: marks that the FIFO had no room for.
        unmatched: ends of regions that were not open.
    """

    def __init__(self, start_ns: int) -> None:
        self._last = start_ns
        self._waiting: list[RegionMark] = []
        self._open: Counter[tuple[tuple[int, int], str]] = Counter()
        self._threads: Counter[str] = Counter()
        self.entries: Counter[str] = Counter()
        self.lost = 0
        self.unmatched = 0

    @property
    def still_open(self) -> int:
        """Regions that have begun and not ended, in all threads."""
        return self._open.total()

    def take(self, mark: RegionMark) -> None:
        """Note a mark; marks of several threads may come in any order."""
        self._waiting.append(mark)

    def until(self, now_ns: int) -> tuple[RegionShare, ...]:
        """The regions that were open since the last call, each with its time; in the order of their names."""
        due = sorted((mark for mark in self._waiting if mark.ns <= now_ns), key=_stamp)
        self._waiting = [mark for mark in self._waiting if mark.ns > now_ns]
        begin = at = min(self._last, now_ns)
        times: Counter[str] = Counter()
        for mark in due:
            here = max(at, mark.ns)
            times.update(dict.fromkeys(self._threads, here - at))
            at = here
            self._apply(mark)
        times.update(dict.fromkeys(self._threads, now_ns - at))
        self._last = now_ns
        whole = now_ns - begin
        return tuple(RegionShare(name, ns / 1e9, min(1.0, ns / whole)) for name, ns in sorted(times.items())
                     if ns > 0 and whole > 0)

    def _apply(self, mark: RegionMark) -> None:
        self.lost += mark.lost
        name = mark.name if mark.name in self.entries or len(self.entries) < MOST_NAMES else OTHERS
        key = (mark.thread, name)
        if mark.begins:
            self.entries[name] += 1
            if key not in self._open:
                if len(self._open) >= _MOST_OPEN:
                    self.lost += 1
                    return
                self._threads[name] += 1
            self._open[key] += 1
            return
        if key not in self._open:
            self.unmatched += 1
            return
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
            self._threads[name] -= 1
            if not self._threads[name]:
                del self._threads[name]


def _stamp(mark: RegionMark) -> int:
    return mark.ns


class RegionPipe:
    """The FIFO that a command's marks come through; a context manager that removes it.

    Attributes:
        unread: lines that were no marks.
        path: of the FIFO.

    Raises:
        MachineError: no FIFO can be made.
    """

    def __init__(self) -> None:
        self.unread = 0
        self._rest = b""
        self._began = 0.0
        try:
            self._folder = tempfile.mkdtemp(prefix="turbotui-regions-")  # mode 0700: nobody else writes marks
            self.path = os.path.join(self._folder, "marks")
            os.mkfifo(self.path, 0o600)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise MachineError(f"no FIFO for marks of regions below {tempfile.gettempdir()}: {error.strerror}: set "
                               "TMPDIR to a directory that can be written") from error
        with contextlib.suppress(OSError):  # more than a user may have: what there is stays
            fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, _ROOM)

    def announce(self) -> None:
        """Name the FIFO to the command, in the child before it becomes that."""
        os.environ[VARIABLE] = self.path

    def give_to(self, uid: int, gid: int) -> None:
        """Give the FIFO to a user that a root process becomes: else nobody could mark, and nobody remove it.

        Raises:
            MachineError: this process may not.
        """
        try:
            os.chown(self.path, uid, gid)
            os.chown(self._folder, uid, gid)
        except OSError as error:
            raise MachineError(f"the FIFO for marks cannot be given to user {uid}: {error.strerror}") from error

    @property
    def descriptor(self) -> int:
        """Readable when there are marks."""
        return self._descriptor

    def take(self) -> Sequence[RegionMark]:
        """All marks that have come, in the order in which they were written."""
        self._began = time.monotonic()
        data = [self._rest]
        try:
            while block := os.read(self._descriptor, _BLOCK):
                data.append(block)
                if len(data) > _ROOM // _BLOCK:
                    break  # a program that marks faster than marks are read
        except OSError as error:
            if error.errno != errno.EAGAIN:
                raise MachineError(f"marks of regions cannot be read: {error.strerror}") from error
        *lines, self._rest = b"".join(data).split(b"\n")
        self._rest = self._rest[-_LONGEST_LINE:]  # a line without an end
        return self._marks(lines)

    def _marks(self, lines: Iterable[bytes]) -> Sequence[RegionMark]:
        found = []
        for line in lines:
            mark = parse_mark(line)
            if mark is None:
                self.unread += 1
            else:
                found.append(mark)
        return found

    def rest(self) -> float:
        """Seconds for which marks wait after a reading that began with `take` and ends now."""
        return max(_SHORTEST_REST, _REST_BETWEEN * (time.monotonic() - self._began))

    def close(self) -> None:
        """Remove it: a program that goes on marks nothing any more."""
        os.close(self._descriptor)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()


SHARED_BY_TIME: Final = ("~ of a region: its marks came faster than counters are read, and it gets its share by time "
                         "of what was read together with other work")
"""The note on regions some of whose counts are shares of a reading."""


def region_notes(
    *, marked: Collection[str], estimate: str, lost: int, unmatched: int, still_open: int, unread: int,
) -> tuple[str, ...]:
    """What the counts of regions mean, and what went wrong with marks.

    Args:
        marked: names of the regions; empty for none.
        estimate: what ~ means; "" where nothing was estimated.
        lost: marks that the FIFO had no room for.
        unmatched: ends of regions that were not open.
        still_open: regions that had not ended.
        unread: lines that were no marks.
    """
    meant = ("a region's counts are those of the whole command while the region was open in at least one thread, with "
             "what lies in the region") if marked else ""
    faults = ((lost, "marks of regions were lost: the program made them too fast"),
              (unmatched, "ends of regions that had not begun are left out"),
              (still_open, "regions had not ended with the command"), (unread, f"lines in {VARIABLE} were no marks"))
    more = f"{OTHERS}: the program has more than {MOST_NAMES} names of regions" if OTHERS in marked else ""
    return (*filter(None, (meant, estimate, more)), *(f"{number} {words}" for number, words in faults if number))
