"""Groups of tasks, what was read of each at a moment, and what each did between two moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import Quantity, is_counter
from turbotui.machine.open_files import FileReading
from turbotui.quantities.unavailable import Reason, Unavailable

CGROUP: Final = "cgroup"
CONTROL: Final = "control"
MONITOR: Final = "monitor"
DOMAIN: Final = "domain"
SUB_NODE: Final = "node"
"""Kinds of rows: a control group; a CTRL_MON and a MON group of resctrl; one domain of such a group, and a sub-NUMA
node of that, whose sum the domain is."""
NODE: Final = " node "
"""Between the name of a domain and the number of a node in it: "L3 00 node 01"."""
WHOLE: Final = "/"
"""The path of the group that all others are in."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group.

    Attributes:
        kind: one of the words above.
        path: from the root of its tree on, "/system.slice/db.service".
        name: what it is for people, "docker 4f1b2a9c0d3e", "db.service".
        domain: of a row that is a part of a resctrl group: "L3 00"; else "".
    """

    kind: str
    path: str
    name: str
    domain: str = ""

    @property
    def key(self) -> str:
        """Names the row in every interval."""
        return f"{self.path}\0{self.domain}" if self.domain else self.path

    @property
    def parent(self) -> str | None:
        """The key of the group that it is in, and counts for; None for an outermost one."""
        if self.kind == SUB_NODE:
            return f"{self.path}\0{self.domain.partition(NODE)[0]}"
        if self.domain:
            return self.path
        if self.kind in (CONTROL, MONITOR):
            return (self.path.rpartition("/mon_groups/")[0] or WHOLE) if self.kind == MONITOR else None
        return None if self.path == WHOLE else self.path.rpartition("/")[0] or WHOLE


class StillRow:
    """The row of a group of which nothing moved: worked out once for as long as that lasts.

    Attributes:
        parts: increases, which are all 0, values and reasons; None before they were worked out.
        spans: the names of spans.
    """

    __slots__ = ("parts", "spans")

    def __init__(self) -> None:
        self.parts: tuple[Mapping[Quantity, float], Mapping[Quantity, float], Mapping[Quantity, Unavailable]] | None
        self.parts = None
        self.spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupSample:
    """What was read of a group.

    Attributes:
        group: which one.
        serial: another one where a group was removed and made again with the same name.
        readings: by the file's id.
        absent: why a file could not be read, by its id.
        gives: the file of each quantity.
        since_ns: monotonic time since when no file has said anything new; 0 where one just did.
        as_of_ns: when the readings still held, where that is later than their own times.
        still: shared by readings in a row in which nothing moved; None where something did.
    """

    group: Group
    serial: int
    readings: Mapping[str, FileReading]
    absent: Mapping[str, Unavailable]
    gives: Mapping[Quantity, str]
    since_ns: int = 0
    as_of_ns: int = 0
    still: StillRow | None = None


@dataclass(frozen=True, slots=True)
class GroupMoment:
    """Every group at one moment.

    Attributes:
        wall_ns, at_ns: wall clock and monotonic clock when reading began.
        samples: by the key of the group, outer groups before those in them.
        complete: whether there are no more groups than these.
    """

    wall_ns: int
    at_ns: int
    samples: Mapping[str, GroupSample]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class GroupRow:
    """What a group did in an interval: what columns are computed from.

    Attributes:
        group: which one.
        increases: of counters; one that began anew, or was unknown at one end, is not among them.
        values: gauges at the end.
        spans: seconds between the two readings of a file, by "Δt FILE".
        absent: why a quantity is unknown.
        files: the file of each quantity.
        domains: of a resctrl group: the domains whose quantities, "L3 00 llc_occupancy", are its own.
        estimated: quantities that are estimates.
    """

    group: Group
    increases: Mapping[Quantity, float] = field(default_factory=dict)
    values: Mapping[Quantity, float] = field(default_factory=dict)
    spans: Mapping[str, float] = field(default_factory=dict)
    absent: Mapping[Quantity, Unavailable] = field(default_factory=dict)
    files: Mapping[Quantity, str] = field(default_factory=dict)
    domains: tuple[str, ...] = ()
    estimated: frozenset[Quantity] = frozenset()

    def rate(self, quantity: Quantity) -> float | None:
        """Increase per second; None where it is unknown."""
        count, span = self.increases.get(quantity), self.span(quantity)
        return None if count is None or span is None else count / span

    def span(self, quantity: Quantity) -> float | None:
        """Seconds between the two readings of a quantity's file."""
        return self.spans.get(f"Δt {self.files.get(quantity)}")

    def why(self, quantity: Quantity) -> Unavailable | None:
        """Why a quantity is unknown; None where it is known, and where nobody asked for it."""
        return self.absent.get(quantity)


FIRST: Final = Unavailable(Reason.FIRST_TICK, "the group has been read once")
MADE_ANEW: Final = Unavailable(Reason.FIRST_TICK, "the group was removed and made again: it has been read once since")
_NOT_TWICE: Final = Unavailable(Reason.FIRST_TICK, "at the beginning of the interval there was no value")
_NOT_GIVEN: Final = Unavailable(Reason.NO_DRIVER, "the file is there and does not say it; the kernel may be older, or "
                                                  "counts it for inner groups only")


def _went_back(file: str) -> Unavailable:
    return Unavailable(Reason.WENT_BACK, f"{file} says less than before: it began anew, or a device is gone")


def row_of(older: GroupSample | None, newer: GroupSample) -> GroupRow:
    """What a group did between two readings.

    A counter has an increase where both readings know it and it did not go back.

    Args:
        older: of the same group at the beginning; None where it was not there.
        newer: at the end.
    """
    if older is not None and newer.still is not None and newer.readings is older.readings:
        return _still_row(older, newer, newer.still)
    increases: dict[Quantity, float] = {}
    values: dict[Quantity, float] = {}
    spans: dict[str, float] = {}
    absent: dict[Quantity, Unavailable] = {}
    first = FIRST if older is None else MADE_ANEW if older.serial != newer.serial else None
    then_by_file: Mapping[str, FileReading] = {} if older is None or first is not None else older.readings
    last, reading, before, is_same = "", None, None, False
    for quantity, file in newer.gives.items():
        if file != last:  # quantities of a file stand together
            last, reading, before = file, newer.readings.get(file), then_by_file.get(file)
            passed = 0
            if reading is not None and before is not None and older is not None:
                passed = max(reading.at_ns, newer.as_of_ns) - max(before.at_ns, older.as_of_ns)
            if passed > 0:
                spans[f"Δt {file}"] = passed * 1e-9
            else:
                before = None
            is_same = reading is not None and before is not None and reading.values is before.values
        value = newer.absent.get(file, _NOT_GIVEN) if reading is None else reading.values.get(quantity, _NOT_GIVEN)
        if isinstance(value, Unavailable):
            absent[quantity] = value
        elif not is_counter(quantity):
            values[quantity] = value
        elif is_same:
            increases[quantity] = 0
        else:
            then = None if before is None else before.values.get(quantity)
            if then is None or isinstance(then, Unavailable):
                absent[quantity] = first or _NOT_TWICE
            elif value < then:
                absent[quantity] = _went_back(file)
            else:
                increases[quantity] = value - then
    return GroupRow(newer.group, increases, values, spans, absent, newer.gives)


def _still_row(older: GroupSample, newer: GroupSample, still: StillRow) -> GroupRow:
    """The row of a group whose readings are those of the moment before."""
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
                values[quantity] = value
        still.parts, still.spans = (increases, values, absent), tuple(f"Δt {file}" for file in newer.readings)
    if older.as_of_ns:
        spans = dict.fromkeys(still.spans, (newer.as_of_ns - older.as_of_ns) * 1e-9)
    else:
        spans = {f"Δt {file}": (newer.as_of_ns - one.at_ns) * 1e-9 for file, one in newer.readings.items()}
    return GroupRow(newer.group, *still.parts[:2], spans, still.parts[2], newer.gives)


def rows_between(older: GroupMoment | None, newer: GroupMoment) -> Sequence[GroupRow]:
    """What every group did between two moments, in the order of the newer one."""
    before: Mapping[str, GroupSample] = {} if older is None else older.samples
    return [row_of(before.get(key), sample) for key, sample in newer.samples.items()]
