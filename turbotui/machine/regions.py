"""Regions that a program marks itself (`region_marks`, share/turbotui): the lines of marks, and the regions' times.

A program is counted as a whole, so counts between two readings are apportioned by time: a region gets the share of the
time in which it was open in at least one thread. Counters are also read at the marks, so that most of the time of a
region of some milliseconds lies between readings of its own.

Verbs that count a command use regions like this:

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

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.region_marks import LONGEST_NAME, VARIABLE
from turbotui.untrusted import decoded, one_line

_T = TypeVar("_T")
_LINE: Final = re.compile(rb"([BE]) ([0-9]{1,19}) ([0-9]{1,10}) ([0-9]{1,10}) ([0-9]{1,10}) ([^\n]+)\Z")
LONGEST_LINE: Final = 256
"""The most bytes of a mark: the buffer of C's header; POSIX's PIPE_BUF is 512 or more."""
MOST_NAMES: Final = 200
"""The most regions with rows of their own: those with the most time."""
_MOST_KEPT: Final = 4_000  # most regions that are counted separately, so that late ones can still have the most time
_MOST_SEEN: Final = 50_000  # most names that are kept
_MOST_OPEN: Final = 10_000
OTHERS: Final = "(other regions)"
_WHOLE: Final = 0.95  # share of the time between two readings; the rest is the delay from mark to reading


@dataclass(frozen=True, slots=True)
class RegionMark:
    """One mark as received."""

    begins: bool  # whether it begins a region, or ends one
    ns: int  # CLOCK_MONOTONIC, by the program
    thread: tuple[int, int]  # process and thread
    lost: int  # marks before this one for which the FIFO had no room
    name: str  # the region's name, with control characters made visible


def parse_mark(line: bytes) -> RegionMark | None:
    """Parse a line of the FIFO, without its end; None if it is no mark."""
    match = _LINE.match(line) if len(line) <= LONGEST_LINE else None
    if match is None:
        return None
    kind, ns, pid, tid, lost, raw = match.groups()
    name = one_line(decoded(raw[:LONGEST_NAME])).strip()
    return RegionMark(kind == b"B", int(ns), (int(pid), int(tid)), int(lost), name) if name else None


@dataclass(frozen=True, slots=True)
class RegionShare:
    """A region's part of the time between two readings."""

    name: str  # the region's name
    seconds: float  # time for which it was open in at least one thread
    share: float  # the share of the time between the readings, at most 1
    # whether its counts are apportioned by time, because the readings cover other work as well
    apportioned: bool = False


@dataclass(frozen=True, slots=True)
class RegionExtent:
    """The extent of a region, or of all other regions together, within its program."""

    name: str  # the name of the row
    entries: int  # how often threads entered it
    seconds: float  # time for which it was open in at least one thread; for the others, the sum
    apportioned: float  # the part of these seconds whose counts were apportioned by time


class RegionNames:
    """Assigns rows to regions: those with the most time have their own, all others share the row `OTHERS`.

    A region that was moved to the others stays there, so that no row lacks a part of its region.
    """

    def __init__(self) -> None:
        self._folded: set[str] = set()

    def counted_as(self, name: str, known: Container[str]) -> str:
        """Return the name that a mark counts for: its own, as long as names can be kept."""
        if name in known or name in self._folded or len(self._folded) < _MOST_SEEN:
            return name
        return OTHERS

    def rows(self, known: Collection[str], seconds: Mapping[str, float]) -> Mapping[str, str]:
        """Return the row of each region, by the seconds of each so far."""
        own = sorted(set(known) - self._folded - {OTHERS}, key=lambda name: (-seconds.get(name, 0.0), name))
        return dict.fromkeys(known, OTHERS) | {name: name for name in own[:MOST_NAMES]}

    def fold(self, known: Collection[str], seconds: Mapping[str, float], still_open: Container[str]) -> Mapping[
            str, str]:
        """Return regions to move to the others now, because too many are counted separately."""
        if len(known) <= _MOST_KEPT:
            return {}
        ended = [name for name in known if name != OTHERS and name not in still_open]
        least = sorted(ended, key=lambda name: (name not in self._folded, seconds.get(name, 0.0), name))
        gone = least[: len(known) - _MOST_KEPT // 2]
        self._folded.update(gone)
        return dict.fromkeys(gone, OTHERS)


def by_rows(values: Mapping[str, _T], rows: Mapping[str, str], add: Callable[[_T, _T], _T]) -> dict[str, _T]:
    """Combine values of regions by their rows; a region without a row keeps its own."""
    by_row: dict[str, _T] = {}
    for name, value in values.items():
        row = rows.get(name, name)
        by_row[row] = add(by_row[row], value) if row in by_row else value
    return by_row


class RegionTimes:
    """Tracks open regions by the marks of all threads.

    A region includes nested ones. Marks that arrive after the reading that follows them count from that reading on.

    Args:
        start_ns: CLOCK_MONOTONIC of the first reading.

    Attributes:
        seconds: time for which each was open in at least one thread.
        apportioned: the part of these seconds whose counts were apportioned by time; all of them from the first lost
            mark on, which may have been an end.
        folded: regions that the last call of `until` moved to the others; other counts of them must follow.
        lost: marks for which the FIFO had no room.
        unmatched: ends of regions that were not open.
        left_open: regions that ended only with their process.
    """

    def __init__(self, start_ns: int) -> None:
        self._last = start_ns
        self._waiting: list[RegionMark] = []
        self._open: Counter[tuple[tuple[int, int], str]] = Counter()
        self._threads: Counter[str] = Counter()
        self._names = RegionNames()
        self.entries: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.apportioned: dict[str, float] = {}
        self.folded: Mapping[str, str] = {}
        self.lost = 0
        self.unmatched = 0
        self.left_open = 0

    @property
    def still_open(self) -> int:
        """The regions that have begun and not ended, in all threads."""
        return self._open.total()

    @property
    def rows(self) -> Mapping[str, str]:
        """Return the row of each region."""
        return self._names.rows(self.entries, self.seconds)

    def extents(self) -> tuple[RegionExtent, ...]:
        """Return the extent of each row of regions, longest first and the others last."""
        rows = self.rows
        entries, seconds, apportioned = (
            by_rows(self.entries, rows, int.__add__),
            *(by_rows(times, rows, float.__add__) for times in (self.seconds, self.apportioned)))
        return tuple(RegionExtent(name, entries[name], seconds.get(name, 0.0), apportioned.get(name, 0.0))
                     for name in sorted(entries, key=lambda name: (name == OTHERS, -seconds.get(name, 0.0), name)))

    def take(self, mark: RegionMark) -> None:
        """Take a mark; marks of several threads may arrive in any order."""
        self._waiting.append(mark)

    def processes(self) -> frozenset[int]:
        """Processes that have regions open."""
        return frozenset(thread[0] for thread, _name in self._open)

    def end_process(self, pid: int, ns: int) -> None:
        """Close the open regions of an ended process."""
        gone = [thread_and_name for thread_and_name in self._open.elements() if thread_and_name[0][0] == pid]
        self.left_open += len(gone)
        self._waiting += [RegionMark(False, ns, thread, 0, name) for thread, name in gone]

    def until(self, now_ns: int) -> tuple[RegionShare, ...]:
        """Return the regions that were open since the last call with their times, by name."""
        due = sorted((mark for mark in self._waiting if mark.ns <= now_ns), key=lambda mark: mark.ns)
        self._waiting = [mark for mark in self._waiting if mark.ns > now_ns]
        begin = at = min(self._last, now_ns)
        times: Counter[str] = Counter()
        for mark in due:
            here = max(at, mark.ns)
            if here > at:
                times.update(dict.fromkeys(self._threads, here - at))
            at = here
            self._apply(mark)
        times.update(dict.fromkeys(self._threads, now_ns - at))
        self._last = now_ns
        whole = now_ns - begin
        shares = tuple(RegionShare(name, ns / 1e9, min(1.0, ns / whole), bool(self.lost) or ns / whole < _WHOLE)
                       for name, ns in sorted(times.items()) if ns > 0 and whole > 0)
        for share in shares:
            self.seconds[share.name] = self.seconds.get(share.name, 0.0) + share.seconds
            if share.apportioned:
                self.apportioned[share.name] = self.apportioned.get(share.name, 0.0) + share.seconds
        self.folded = self._names.fold(self.entries, self.seconds, self._threads)
        if self.folded:
            self.entries = by_rows(self.entries, self.folded, int.__add__)
            self.seconds = by_rows(self.seconds, self.folded, float.__add__)
            self.apportioned = by_rows(self.apportioned, self.folded, float.__add__)
        return shares

    def _apply(self, mark: RegionMark) -> None:
        self.lost += mark.lost
        name = self._names.counted_as(mark.name, self.entries)
        key = (mark.thread, name)
        if mark.begins:
            self.entries[name] = self.entries.get(name, 0) + 1
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


SHARED_BY_TIME: Final = ("~ of a region: its marks came faster than counters are read, and it gets its share by time "
                         "of what was read together with other work")
"""The note on regions with apportioned counts."""


def region_notes(
    *, marked: Collection[str], estimate: str, lost: int, unmatched: int, still_open: int, unread: int,
    strangers: int = 0,
) -> tuple[str, ...]:
    """Return notes on the meaning of regions' counts, and on errors of marks.

    Args:
        estimate: the meaning of ~; "" if nothing was estimated.
        strangers: processes whose marks are left out.
    """
    meant = ("a region's counts are those of the whole program while the region was open in at least one thread, with "
             "what lies in the region") if marked else ""
    too_fast = ("marks of regions were lost: the program made them too fast, and what began or ended then is "
                "not known (~)")
    strange = ("processes marked regions that are left out: as this user sees them they have not the FIFO open (they "
               "are of another user or PID namespace, or have ended)")
    faults = ((lost, too_fast), (unmatched, "ends of regions that had not begun are left out"),
              (still_open, "regions had not ended with the program"), (unread, f"lines in {VARIABLE} were no marks"),
              (strangers, strange))
    more = (f"{OTHERS}: all but the {MOST_NAMES} with the most time, added up: what lies in another one of them counts "
            "in both") if OTHERS in marked else ""
    return (*filter(None, (meant, estimate, more)), *(f"{number} {words}" for number, words in faults if number))
