"""Groups of tasks, their readings at a moment, and their increases between two moments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import Quantity, bounds_of_quantity, is_counter
from turbotui.machine.open_files import FileReading
from turbotui.machine.timed_reads import INTERRUPTED_SHARE
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.possible import READ_SECONDS

CGROUP: Final = "cgroup"
CONTROL: Final = "control"
MONITOR: Final = "monitor"
DOMAIN: Final = "domain"
SUB_NODE: Final = "node"
"""Kinds of rows: a control group; a CTRL_MON and a MON group of resctrl; one domain of such a group, and a sub-NUMA
node of that, whose sum the domain is."""
NODE: Final = " node "
"""The word between a domain's name and the number of a node in it: "L3 00 node 01"."""
WHOLE: Final = "/"
"""The path of the outermost group."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group."""

    kind: str  # one of the kinds above
    path: str  # from the root of its tree on, "/system.slice/db.service"
    name: str  # the name for people, "docker 4f1b2a9c0d3e", "db.service"
    domain: str = ""  # the domain, "L3 00", of a row that is a part of a resctrl group; else ""

    @property
    def key(self) -> str:
        """The key of the row in every interval."""
        return f"{self.path}\0{self.domain}" if self.domain else self.path

    @property
    def parent(self) -> str | None:
        """The key of the group that contains this one and includes its counts; None for an outermost group."""
        if self.kind == SUB_NODE:
            return f"{self.path}\0{self.domain.partition(NODE)[0]}"
        if self.domain:
            return self.path
        if self.kind in (CONTROL, MONITOR):
            return (self.path.rpartition("/mon_groups/")[0] or WHOLE) if self.kind == MONITOR else None
        return None if self.path == WHOLE else self.path.rpartition("/")[0] or WHOLE


class StillRow:
    """The row of a group whose readings do not change, computed once while that lasts.

    Attributes:
        parts: increases, which are all 0, values and reasons; None before they are computed.
        spans: the names of spans.
    """

    __slots__ = ("parts", "spans")

    def __init__(self) -> None:
        self.parts: tuple[Mapping[Quantity, float], Mapping[Quantity, float], Mapping[Quantity, Unavailable]] | None
        self.parts = None
        self.spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupSample:
    """The readings of a group at a moment."""

    group: Group
    serial: int  # a number that changes when a group is removed and made again with the same name
    readings: Mapping[str, FileReading]  # the quantities read, by the file's id
    absent: Mapping[str, Unavailable]  # why a file could not be read, by its id
    gives: Mapping[Quantity, str]  # the file of each quantity
    since_ns: int = 0  # monotonic time of the last change in any file; 0 if a file just changed
    at_ns: int = 0  # the time at which the readings were still valid, if later than their own times
    unsure_ns: int = 0  # how far that time may be off
    still: StillRow | None = None  # shared by consecutive samples without changes; None after a change


@dataclass(frozen=True, slots=True)
class GroupMoment:
    """Every group at one moment."""

    # wall_ns, at_ns: wall and monotonic clock when reading began
    wall_ns: int
    at_ns: int
    samples: Mapping[str, GroupSample]  # by the key of the group, parents before children
    complete: bool = True  # whether all groups of the machine were read


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group over an interval, from which columns are computed."""

    group: Group
    # of counters, except those that began anew or were unknown at one end
    increases: Mapping[Quantity, float] = field(default_factory=dict)
    values: Mapping[Quantity, float] = field(default_factory=dict)  # gauges at the interval's end
    spans: Mapping[str, float] = field(default_factory=dict)  # seconds between the two readings of a file, by "Δt FILE"
    absent: Mapping[Quantity, Unavailable] = field(default_factory=dict)  # why a quantity, or its rate, is unknown
    files: Mapping[Quantity, str] = field(default_factory=dict)  # the file of each quantity
    domains: tuple[str, ...] = ()  # the domains of a resctrl group, which begin its quantities ("L3 00 llc_occupancy")
    estimated: frozenset[Quantity] = frozenset()

    def rate(self, quantity: Quantity) -> float | None:
        """Return the increase per second; None if unknown."""
        count, span = self.increases.get(quantity), self.span(quantity)
        return None if count is None or span is None else count / span

    def span(self, quantity: Quantity) -> float | None:
        """Return the seconds between the two readings of a quantity's file."""
        return self.spans.get(f"Δt {self.files.get(quantity)}")

    def why(self, quantity: Quantity) -> Unavailable | None:
        """Return why a quantity, or its rate, is unknown; None if it is known or was not requested."""
        return self.absent.get(quantity)


FIRST: Final = Unavailable(Reason.FIRST_TICK, "the group has been read once")
MADE_ANEW: Final = Unavailable(Reason.FIRST_TICK, "the group was removed and made again: it has been read once since")
_NOT_TWICE: Final = Unavailable(Reason.FIRST_TICK, "at the beginning of the interval there was no value")
_NOT_GIVEN: Final = Unavailable(Reason.NO_DRIVER, "the file is there and does not say it; the kernel may be older, or "
                                                  "counts it for inner groups only")


def _put(quantity: Quantity, file: str, value: float, known: dict[Quantity, float],
         absent: dict[Quantity, Unavailable], *, seconds: float | None = None) -> None:
    """Note a gauge, or an increase in some seconds, among what is known, or why it cannot be true."""
    bounds = bounds_of_quantity(quantity)
    if value <= bounds.most * (1.0 if seconds is None else seconds + READ_SECONDS):
        known[quantity] = value
        return
    rose = f"says {value:,.10g}" if seconds is None else f"rose by {value:,.10g} in {seconds:.3g} s"
    absent[quantity] = Unavailable(Reason.OUT_OF_RANGE, f"{quantity} of {file} {rose}: {bounds.because}")


def row_of(older: GroupSample | None, newer: GroupSample) -> GroupRow:
    """Compute a group's row from two readings.

    A counter has an increase if both readings have it and it did not decrease.

    Args:
        older: the same group at the beginning; None if the group did not exist.
        newer: the group at the end.
    """
    if (older is not None and newer.still is not None and newer.readings is older.readings
            and newer.at_ns > older.at_ns):  # else no time has passed in which a rate could be
        return _still_row(older, newer, newer.still)
    increases: dict[Quantity, float] = {}
    values: dict[Quantity, float] = {}
    spans: dict[str, float] = {}
    absent: dict[Quantity, Unavailable] = {}
    first = FIRST if older is None else MADE_ANEW if older.serial != newer.serial else None
    last, reading, before, seconds, vague = "", None, None, 0.0, None
    for quantity, file in newer.gives.items():
        if file != last:  # quantities of one file are adjacent
            last, reading = file, newer.readings.get(file)
            before, seconds, vague = None, 0.0, None
            if older is not None and first is None and reading is not None and file in older.readings:
                before, seconds, vague = _since(older, newer, file, spans)
        value = newer.absent.get(file, _NOT_GIVEN) if reading is None else reading.values.get(quantity, _NOT_GIVEN)
        if isinstance(value, Unavailable):
            absent[quantity] = value
        elif not is_counter(quantity):
            _put(quantity, file, value, values, absent)
        elif before is not None and reading is not None and reading.values is before.values:
            increases[quantity] = 0
        else:
            then = None if before is None else before.values.get(quantity)
            if then is None or isinstance(then, Unavailable):
                absent[quantity] = first or _NOT_TWICE
            elif value < then:
                absent[quantity] = Unavailable(
                    Reason.WENT_BACK, f"{file} says less than before: it began anew, or a device is gone")
            else:
                _put(quantity, file, value - then, increases, absent, seconds=seconds)
                if vague is not None:
                    absent.setdefault(quantity, vague)
    return GroupRow(newer.group, increases, values, spans, absent, newer.gives)


def _since(older: GroupSample, newer: GroupSample, file: str, spans: dict[str, float]) -> tuple[
        FileReading | None, float, Unavailable | None]:
    """Note the seconds between two readings of a file.

    Returns:
        The first of them, the most seconds that may lie between them, and why these are too uncertain for a rate.
    """
    before, reading = older.readings[file], newer.readings[file]
    if reading.summed:
        passed, unsure = reading.at_ns - before.at_ns, reading.unsure_ns - before.unsure_ns
    else:
        begin: FileReading | GroupSample = before if before.at_ns >= older.at_ns else older
        end: FileReading | GroupSample = reading if reading.at_ns >= newer.at_ns else newer
        passed, unsure = end.at_ns - begin.at_ns, begin.unsure_ns + end.unsure_ns
    if passed <= 0:
        return None, 0.0, None
    if unsure <= INTERRUPTED_SHARE * passed or reading.values is before.values:
        spans[f"Δt {file}"] = passed * 1e-9
        return before, (passed + unsure) * 1e-9, None
    return before, (passed + unsure) * 1e-9, _vague(file, passed, unsure)


def _vague(file: str, passed: int, unsure: int) -> Unavailable:
    return Unavailable(
        Reason.INTERRUPTED, f"the reader of {file} lost its CPU: the interval of {passed * 1e-9:.3g} s may be off by "
        f"{unsure * 1e-9:.3g} s", "use a longer interval (-i), in which it matters less")


def _still_row(older: GroupSample, newer: GroupSample, still: StillRow) -> GroupRow:
    """Return the row of a group whose readings are those of the previous moment."""
    if still.parts is None:
        increases: dict[Quantity, float] = {}
        values: dict[Quantity, float] = {}
        absent: dict[Quantity, Unavailable] = {}
        for quantity, file in newer.gives.items():
            reading = newer.readings.get(file)
            value = newer.absent.get(file, _NOT_GIVEN) if reading is None else reading.values.get(quantity, _NOT_GIVEN)
            if isinstance(value, Unavailable):
                absent[quantity] = value
            elif is_counter(quantity):
                increases[quantity] = 0
            else:
                _put(quantity, file, value, values, absent)
        still.parts, still.spans = (increases, values, absent), tuple(f"Δt {file}" for file in newer.readings)
    if older.at_ns:
        spans = dict.fromkeys(still.spans, (newer.at_ns - older.at_ns) * 1e-9)
    else:
        spans = {f"Δt {file}": (newer.at_ns - older.at_ns) * 1e-9 for file, older in newer.readings.items()
                 if newer.at_ns > older.at_ns}
    return GroupRow(newer.group, *still.parts[:2], spans, still.parts[2], newer.gives)


def rows_between(older: GroupMoment | None, newer: GroupMoment) -> Sequence[GroupRow]:
    """Compute all groups' rows between two moments, in the order of the newer one."""
    before: Mapping[str, GroupSample] = {} if older is None else older.samples
    return [row_of(before.get(key), sample) for key, sample in newer.samples.items()]


_ENDED: Final = Unavailable(Reason.NOT_READ, "the group had ended, or was no longer among those that are read")
_PARTLY: Final = Unavailable(Reason.NOT_READ, "the file was read for a part of this time only")


def row_over(rows: Sequence[GroupRow], part: float | None = None) -> GroupRow:
    """Join one group's rows of several intervals, the newest last.

    An increase is known if each interval with a span of it has it, and no other: sum and span are of the same time.

    Args:
        part: share of the whole time that a mean interval is: the row is that of one, and gauges are means; None for
            the whole time, and gauges as the newest row has them.
    """
    share = 1.0 if part is None else part
    newest = rows[-1]
    increases: dict[Quantity, float] = {}
    spans: dict[str, float] = {}
    absent = dict(newest.absent)
    for row in rows:
        for name, span in row.spans.items():
            spans[name] = spans.get(name, 0.0) + span * share
    for quantity in dict.fromkeys(quantity for row in rows for quantity in row.increases):
        timed = [row for row in rows if row.span(quantity) is not None]
        if not timed or all((quantity in row.increases) == (row.span(quantity) is not None) for row in rows):
            increases[quantity] = share * math.fsum(row.increases[quantity] for row in rows
                                                    if quantity in row.increases)
            if timed:
                absent.pop(quantity, None)
        else:
            absent.setdefault(quantity, next((row.absent[quantity] for row in rows if quantity in row.absent), _PARTLY))
    values = newest.values if part is None else {quantity: _mean(quantity, rows) for quantity in newest.values}
    return replace(newest, increases=increases, values=values, spans=spans, absent=absent)


def _mean(quantity: Quantity, rows: Sequence[GroupRow]) -> float:
    known = [row.values[quantity] for row in rows if quantity in row.values]
    return math.fsum(known) / len(known)


def rows_over(intervals: Iterable[Sequence[GroupRow]], part: float | None = None) -> Sequence[GroupRow]:
    """`row_over` of the groups of several intervals: those of the newest in its order, then those that it lacks.

    Such a group, which had ended or was not read any more, has what it used until then, and no gauges. The mean of
    intervals leaves it out.
    """
    newest: Sequence[GroupRow] = ()
    by_group: dict[tuple[str, str], list[GroupRow]] = {}
    for newest in intervals:
        for row in newest:
            by_group.setdefault((row.group.kind, row.group.key), []).append(row)
    sums = [row_over(by_group.pop((row.group.kind, row.group.key)), part) for row in newest]
    if part is None:
        sums += (replace(row, values={}, absent={**row.absent, **dict.fromkeys(row.values, _ENDED)})
                 for row in map(row_over, by_group.values()))
    return sums
