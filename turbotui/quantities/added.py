"""Counters that a user adds with --add, in turbostat's grammar (docs/specs/turbostat.md 1.6 and 9.2).

An `AddedCounter` says where the counter is, at which scope it is read, and how it is shown. `turbotui.sources.added`
reads the counter on a machine, and `turbotui.quantities.catalog.added` makes its column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.scope import Scope
from turbotui.untrusted import one_line

_NAME_LENGTH = 18  # characters of a name that are kept (docs/specs/turbostat.md 1.6)
_TELEMETRY_NAME_LENGTH = 15  # docs/specs/turbostat.md 9.2


class Shape(Enum):
    """How the value is shown, by the word of the grammar."""

    RAW = "raw"
    DELTA = "delta"
    AVERAGE = "average"
    PERCENT = "percent"


class Ticks(Enum):
    """Kinds of added counters whose kind decides how a percentage is computed, by the word of the grammar."""

    CYCLES = "cycles"
    SECONDS = "seconds"
    USEC = "usec"
    CRYSTAL = "txtal_time"
    CORE_CLOCK = "tcore_clock"


@dataclass(frozen=True, slots=True)
class RegisterAt:
    """A model-specific register."""

    address: int

    def __str__(self) -> str:
        return f"MSR {self.address:#x}"


@dataclass(frozen=True, slots=True)
class FileAt:
    """A file that holds one decimal integer."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class EventAt:
    """An event of a PMU, by its sysfs name or by terms: "energy-pkg", "event=0x3c,umask=0"."""

    device: str
    event: str

    def __str__(self) -> str:
        return f"perf {self.device}/{self.event}/"


@dataclass(frozen=True, slots=True)
class TelemetryAt:
    """Bits lsb to msb of the 64-bit word at a byte offset of an Intel PMT region."""

    guid: int  # names the layout; 0 where `path` names the region
    sequence: int  # which of the regions with that guid, from 0
    path: str  # directory of the region, "" where guid and sequence name it
    offset: int
    lsb: int
    msb: int

    def __str__(self) -> str:
        region = self.path or f"guid {self.guid:#x} seq {self.sequence:x}"
        return f"PMT {region} offset {self.offset} bits {self.msb}:{self.lsb}"


Place: TypeAlias = "RegisterAt | FileAt | EventAt | TelemetryAt"


@dataclass(frozen=True, slots=True)
class AddedCounter:
    """One added column."""

    name: str  # its title, which is also its id
    place: Place
    scope: Scope = Scope.CPU  # CPU, CORE or PACKAGE: one value for each
    width: int = 64  # 32 or 64 bits
    ticks: Ticks = Ticks.CYCLES
    shape: Shape = Shape.DELTA
    # the place of each CPU, core or package by its id, for a counter that belongs to one of them only; empty if `place`
    # holds for all
    by_instance: Mapping[int, TelemetryAt] | None = None

    def __post_init__(self) -> None:
        """The name stays in its cell: no TAB, no line break."""
        object.__setattr__(self, "name", one_line(self.name))

    @property
    def signal(self) -> str:
        """Id of the signal that carries the counter."""
        return f"added.{self.scope.value}.{self.name}"

    @property
    def key(self) -> str:
        """A key that two counters share only if they are read and shown in exactly the same way."""
        by_instance = "" if self.by_instance is None else f" {sorted(self.by_instance.items())}"
        return f"{self.signal} {self.place} u{self.width} {self.ticks.value} {self.shape.value}{by_instance}"


class AddError(UsageError):
    """A counter that cannot be added as written."""


_SCOPES = {"cpu": Scope.CPU, "core": Scope.CORE, "package": Scope.PACKAGE}
_TICKS = {ticks.value: ticks for ticks in (Ticks.CYCLES, Ticks.SECONDS, Ticks.USEC)}
_SHAPES = {shape.value: shape for shape in Shape}
_MSR = r"(?a)msr(?:0[xX]([0-9a-fA-F]+)|(\d+))\Z"
_TERM = r"(?a)\w+=(?:0[xX][0-9a-fA-F]+|\d+)\Z"


def is_turbostats(text: str) -> bool:
    """Whether an --add argument is in turbostat's grammar, that is, whether a token names a place as turbostat does."""
    if text == "pmt" or text.startswith("pmt,"):
        return True
    return any(re.match(_MSR, token) or token.startswith(("perf/", "/")) for token in text.split(","))


def parse_added(text: str) -> AddedCounter:
    """Parse one --add argument. Raises AddError if no place is named, or the place cannot exist."""
    if text == "pmt" or text.startswith("pmt,"):
        return _telemetry(text)
    place: Place | None = None
    counter = AddedCounter("", FileAt(""))
    for token in text.split(","):
        if (location := _location(token, text)) is not None:
            place = location
        elif isinstance(place, EventAt) and re.match(_TERM, token):
            place = replace(place, event=f"{place.event},{token}")
        elif token in ("u32", "u64"):
            counter = replace(counter, width=int(token[1:]))
        elif token in _SCOPES:
            counter = replace(counter, scope=_SCOPES[token])
        elif token in _TICKS:
            counter = replace(counter, ticks=_TICKS[token])
        elif token in _SHAPES:
            counter = replace(counter, shape=_SHAPES[token])
        elif token.strip():
            counter = replace(counter, name=token.split()[0][:_NAME_LENGTH])
    if place is None:
        raise AddError(f'--add "{text}" names no counter: give msr0xADDRESS, perf/DEVICE/EVENT, a path or pmt,...')
    counter = replace(counter, place=place)
    return counter if counter.name else replace(counter, name=_default_name(counter))


def _location(token: str, text: str) -> Place | None:
    if (register := re.match(_MSR, token)) is not None:
        address = int(register[1], 16) if register[1] else whole_number(register[2]) or 0
        if not 0 < address < 1 << 32:  # RDMSR takes the address in ECX (Intel SDM vol. 2)
            raise AddError(f'--add "{text}": {token} is not the address of a register')
        return RegisterAt(address)
    if token.startswith("perf/"):
        _, device, event = [*token.rstrip("/").split("/", 2), "", ""][:3]
        if not device or not event:
            raise AddError(f'--add "{text}": {token} names no event; write perf/DEVICE/EVENT')
        return EventAt(device, event)
    return FileAt(token) if token.startswith("/") else None


def _default_name(counter: AddedCounter) -> str:
    """The name that turbostat gives a counter that has none (docs/specs/turbostat.md 1.6)."""
    if isinstance(counter.place, EventAt):
        return f"perf/{counter.place.event}"
    address = counter.place.address if isinstance(counter.place, RegisterAt) else 0
    letter = "x" if counter.width == 32 else "X"
    return f"M0{letter}{address:x}{'%' if counter.shape is Shape.PERCENT else ''}"


_DOMAIN = r"(?a)(cpu|core|package)(\d+)\Z"
_KEYS = ("name", "type", "format", "domain", "offset", "lsb", "msb", "guid", "seq", "path")
_TELEMETRY_TICKS = {"raw": Ticks.CYCLES, "txtal_time": Ticks.CRYSTAL, "tcore_clock": Ticks.CORE_CLOCK}
_TELEMETRY_SHAPES = {"raw": Shape.RAW, "delta": Shape.DELTA, "average": Shape.AVERAGE}


def _telemetry(text: str) -> AddedCounter:
    given: dict[str, str] = {}
    for token in text.split(",")[1:]:
        key, equals, value = token.partition("=")
        if key not in _KEYS or not equals:
            raise AddError(f'--add "{text}": {token!r} is not one of {", ".join(_KEYS)} with a value')
        given[key] = value
    missing = [key for key in ("name", "domain", "offset", "lsb", "msb") if not given.get(key)]
    if not given.get("guid") and not given.get("path"):
        missing.append("guid (or path)")
    if missing:
        raise AddError(f'--add "{text}" lacks {", ".join(missing)}')
    if (domain := re.match(_DOMAIN, given["domain"])) is None:
        raise AddError(f'--add "{text}": the domain is cpuN, coreN or packageN, with the number it belongs to')
    kind, shape = given.get("type", "raw"), given.get("format", "raw")
    if kind not in _TELEMETRY_TICKS:
        raise AddError(f'--add "{text}": unknown type {kind}; there are {", ".join(_TELEMETRY_TICKS)}')
    if shape not in _TELEMETRY_SHAPES:
        raise AddError(f'--add "{text}": unknown format {shape}; there are {", ".join(_TELEMETRY_SHAPES)}')
    place = TelemetryAt(
        guid=_number(text, given, "guid", 16) if given.get("guid") else 0,
        sequence=_number(text, given, "seq", 16) if given.get("seq") else 0,
        path=given.get("path", ""),
        offset=_number(text, given, "offset", 10),
        lsb=_number(text, given, "lsb", 10),
        msb=_number(text, given, "msb", 10),
    )
    if not place.lsb <= place.msb < 64:
        raise AddError(f'--add "{text}": bits run from lsb to msb, within 0 to 63')
    ticks = _TELEMETRY_TICKS[kind]
    return AddedCounter(
        name=given["name"][:_TELEMETRY_NAME_LENGTH],
        place=place,
        scope=_SCOPES[domain[1]],
        width=32 if place.msb - place.lsb < 32 else 64,
        ticks=ticks,
        # A clock is always a share of the interval; its format has no other meaning (docs/specs/turbostat.md 9.2).
        shape=_TELEMETRY_SHAPES[shape] if ticks is Ticks.CYCLES else Shape.PERCENT,
        by_instance={int(domain[2]): place},
    )


def _number(text: str, given: Mapping[str, str], key: str, base: int) -> int:
    try:
        number = int(given[key], base)
    except ValueError:  # also of a number that is too long
        number = -1
    if number < 0:
        kind = "hexadecimal" if base == 16 else "decimal"
        raise AddError(f'--add "{text}": {key}={given[key]} is not a {kind} number')
    return number


def join_instances(first: AddedCounter, second: AddedCounter) -> AddedCounter:
    """Merge two PMT counters of one name into one column; each gives the value of its own CPUs, cores or packages.

    Raises:
        AddError: the counters differ in more than the place and the instance it belongs to.
    """
    alike = replace(second, place=first.place, by_instance=first.by_instance) == first
    if not alike or first.by_instance is None or second.by_instance is None:
        raise AddError(f"{second.name} is there already, and is not the same kind of counter: give another name")
    return replace(first, by_instance={**first.by_instance, **second.by_instance})
