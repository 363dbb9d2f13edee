"""Performance monitoring units as sysfs describes them; `turbotui.events` encodes their events.

Layout and grammar: kernel Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events}. PMU type numbers
    change from boot to boot, so nothing here is kept for another machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Self

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.machine.host import Host
from turbotui.machine.small_files import cpus_in, line_of, names_in
from turbotui.quantities.plain_numbers import decimal, integer, whole_number

DEVICES = "/sys/bus/event_source/devices"

_SIDE_FILES = (".unit", ".scale", ".per-pkg", ".snapshot")
_WORDS = ("config", "config1", "config2", "config3", "config4")
_FORMAT = re.compile(r"config([0-9]{0,9}):([0-9,\-\s]+)")
_HIGHEST_BIT = 63


_QUESTION = r"\?\.(?= |$)"
"""A question at the end of a sentence, which needs no full stop: "did you mean cycles?"."""


class EventError(UsageError):
    """An event that cannot be encoded for its PMU: an unknown name or term, or a value too large for its field.

    Args:
        text: the sentence; without its full stop where an ending follows.
        ending: the rest of the sentence, worked out when somebody reads it: to compare a name with all names of a
            machine takes 40 ms, and most refusals only mean that the next engine is asked.
    """

    def __init__(self, text: str, ending: Callable[[], str] | None = None) -> None:
        super().__init__(text)
        self._text = text
        self._ending = ending
        self._behind: tuple[str, ...] = ()

    def followed_by(self, sentence: str) -> Self:
        """The same error with one more sentence."""
        self._behind += (sentence,)
        return self

    def __str__(self) -> str:
        if self._ending is not None:
            self._text, self._ending = f"{self._text}{self._ending()}.", None
        return " ".join((re.sub(_QUESTION, "?", self._text), *self._behind))


@dataclass(frozen=True, slots=True)
class TermFormat:
    """A term's place in perf_event_attr."""

    name: str
    word: int  # 0 for config, 1 for config1, and so on
    bits: tuple[int, ...]  # bit numbers in ascending order; value bit i goes to bits[i]

    def place(self, value: int) -> int:
        """The word with the value distributed over this field's bits.

        Raises:
            EventError: the value needs more bits than the field has.
        """
        if value < 0 or value >> len(self.bits):
            raise EventError(
                f"The value {value:#x} does not fit the term {self.name!r}, which has {len(self.bits)} bits.")
        return sum(1 << bit for index, bit in enumerate(self.bits) if value >> index & 1)


@dataclass(frozen=True, slots=True)
class PmuEvent:
    """A named event of a PMU."""

    name: str
    text: str  # its terms, "event=0x02,umask=0x1"
    scale: float = 1.0  # factor from counts to `unit`
    unit: str = ""  # "Joules", "MiB" ...; "" for a plain count
    snapshot: bool = False  # the value is a level, not a running count
    per_package: bool = False  # whether it counts for a package, on whichever CPU it is opened
    table: str = ""  # the vendor's table that contains it; "" for an event of sysfs
    description: str = ""  # the table's description


@dataclass(frozen=True, slots=True)
class Pmu:
    """One PMU."""

    name: str
    type: int  # what perf_event_attr.type must be
    formats: Mapping[str, TermFormat] = field(default_factory=dict)
    events: Mapping[str, PmuEvent] = field(default_factory=dict)
    cpumask: tuple[int, ...] = ()  # the CPUs on which an uncore PMU must be opened; empty if not given
    cpus: tuple[int, ...] = ()  # the CPUs that a core PMU of a hybrid machine covers; empty if not given


def list_pmus(host: Host) -> tuple[str, ...]:
    """Names of the machine's PMUs, sorted; empty on a kernel without perf."""
    return names_in(host, DEVICES)


def read_pmu(host: Host, name: str) -> Pmu | None:
    """Read one PMU; None if the machine has none with that name."""
    base = f"{DEVICES}/{name}"
    kind = whole_number(line_of(host, f"{base}/type"))
    if kind is None:
        return None
    formats = {term: parsed
               for term in names_in(host, f"{base}/format")
               if (parsed := parse_format(term, line_of(host, f"{base}/format/{term}"))) is not None}
    events = {}
    listed = frozenset(names_in(host, f"{base}/events"))
    for event in sorted(listed):
        if not event.endswith(_SIDE_FILES):
            events[event] = _read_event(host, f"{base}/events", event, listed)
    cpumask, cpus = (tuple(sorted(cpus_in(host, f"{base}/{file}"))) for file in ("cpumask", "cpus"))
    return Pmu(name=name, type=kind, formats=formats, events=events, cpumask=cpumask, cpus=cpus)


def parse_format(name: str, text: str) -> TermFormat | None:
    """Parse the text of a format file, "config:0-7,32-35"; None if it names no field that can be set."""
    if (match := _FORMAT.search(text)) is None:
        return None
    word = integer(match.group(1) or "0")
    bits: set[int] = set()
    for part in match.group(2).replace(" ", "").split(","):
        first, _, last = part.strip().partition("-")
        low, high = whole_number(first), whole_number(last or first)
        if low is None or high is None or high > _HIGHEST_BIT or low > high:
            return None
        bits.update(range(low, high + 1))
    return None if word >= len(_WORDS) else TermFormat(name, word, tuple(sorted(bits)))


def _read_event(host: Host, folder: str, name: str, listed: frozenset[str]) -> PmuEvent:
    scale = 1.0
    if f"{name}.scale" in listed:
        text = line_of(host, f"{folder}/{name}.scale")
        try:
            scale = decimal(text)
        except ValueError:
            # an unreadable scale must not give a wrong number: NaN marks the event as unusable
            scale = float("nan")
    return PmuEvent(name=name, text=line_of(host, f"{folder}/{name}"), scale=scale,
                    unit=line_of(host, f"{folder}/{name}.unit") if f"{name}.unit" in listed else "",
                    snapshot=f"{name}.snapshot" in listed, per_package=f"{name}.per-pkg" in listed)
