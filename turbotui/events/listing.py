"""Lists the names of all events that a machine can count, and tries whether a counter opens now."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import TYPE_CHECKING

from turbotui.dataclass import dataclass
from turbotui.events.devices import Devices
from turbotui.events.encoded import EncodedEvent
from turbotui.events.engines import LibpfmEngine, OwnEngine
from turbotui.events.errors import TracepointError
from turbotui.events.leaders import leader_first
from turbotui.events.libpfm.errors import PfmError
from turbotui.events.names import HARDWARE_NAMES, SOFTWARE_NAMES, cache_listing
from turbotui.machine.host import Host, HostError
from turbotui.machine.perf_errors import Circumstances, explain_perf
from turbotui.machine.perf_groups import close_all, open_group
from turbotui.machine.pmus import EventError
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.facts import FactFile
from turbotui.quantities.unavailable import Reason, Unavailable

if TYPE_CHECKING:
    from turbotui.events.event_tables.devices import VendorDevices

_GENERIC_EVENTS = FactFile("machine/data/generic_events.toml")


@dataclass(frozen=True, slots=True)
class ListedEvent:
    """One name that can be given to `encode`."""

    name: str
    pmu: str
    description: str
    unit: str
    engine: str  # "own", "tables" or "libpfm"
    kind: str  # "hardware", "software", "cache", "pmu", "tracepoint", "vendor" (of the tables) or "model" (libpfm's)


def own_listing(engine: OwnEngine) -> Iterator[ListedEvent]:
    """List every event that turbotui's own engine knows by name, except tracepoints."""
    devices = engine.encoder.devices
    core = ", ".join(pmu.name for pmu in devices.core())
    words = {name: table["what"] for name, table in _GENERIC_EVENTS.tables()}
    for kind, pmu, names in (("hardware", core, HARDWARE_NAMES), ("software", "software", SOFTWARE_NAMES)):
        known = lists_by_key((number, name) for name, number in names.items())
        for first, *others in known.values():
            text = f"{words[first]} (or {', '.join(others)})" if others else f"{words[first]}"
            yield ListedEvent(first, pmu, text, "ns" if first.endswith("-clock") else "", "own", kind)
    for name, _config in cache_listing():
        cache, _, rest = name.rpartition("-") if not name.endswith("-misses") else name[:-7].rpartition("-")
        what = f"{cache}: {rest}" if not name.endswith("-misses") else f"{cache}: {rest}s that miss"
        yield ListedEvent(name, core, what, "", "own", "cache")
    yield from _sysfs_listing(devices)


def _sysfs_listing(devices: Devices) -> Iterator[ListedEvent]:
    for name in devices.names:
        pmu = devices.exactly(name)
        for event in () if pmu is None else pmu.events.values():
            yield ListedEvent(f"{name}/{event.name}/", name, event.text, event.unit, "own", "pmu")


def tracepoint_listing(engine: OwnEngine, pattern: str) -> Iterator[ListedEvent]:
    """List the tracepoints that a pattern "SYSTEM:NAME" names; none if tracefs cannot be read."""
    system, colon, name = pattern.partition(":")
    if not colon:
        return
    try:
        tracepoints = engine.encoder.tracepoints.find(system or "*", name or "*")
    except TracepointError:
        return
    for folder, each, number in tracepoints:
        yield ListedEvent(f"{folder}:{each}", "tracepoint", f"tracepoint {number}", "", "own", "tracepoint")


def vendor_listing(devices: VendorDevices) -> Iterator[ListedEvent]:
    """List every event of the vendor's tables that a PMU of this machine has, by its name alone."""
    for row in devices.tables.events():
        if names := devices.matched(row):
            pmu = names[0] if len(names) == 1 else f"{row.pmu} ({len(names)})"
            text = (row.brief or row.description) + (" (deprecated)" if row.deprecated else "")
            yield ListedEvent(row.name, pmu, text, row.unit, "tables", "vendor")


def model_listing(engine: LibpfmEngine) -> Iterator[ListedEvent]:
    """List libpfm's events of the PMUs found, or of the forced model, with one entry for each unit mask."""
    only = engine.library.only
    for pmu in engine.library.pmus(present=only is None):
        if only not in (None, pmu.name):
            continue
        for event in engine.library.events(pmu):
            masks = [attribute for attribute in event.attributes if attribute.unit_mask]
            name = f"{pmu.name}::{event.name}"
            if not masks or any(mask.default for mask in masks):
                yield ListedEvent(name, pmu.name, event.description, "", "libpfm", "model")
            for mask in masks:
                text = f"{event.description}: {mask.description}"
                yield ListedEvent(f"{name}:{mask.name}", pmu.name, text, "", "libpfm", "model")


def fits(event: ListedEvent, pattern: str) -> bool:
    """Tell whether a name contains the pattern or fits it as a glob, ignoring case."""
    if not pattern:
        return True
    name, wanted = event.name.lower(), pattern.lower()
    if any(character in wanted for character in "*?["):
        return fnmatch.fnmatchcase(name, wanted) or fnmatch.fnmatchcase(name, f"*/{wanted}/")
    return wanted in name or wanted in event.pmu.lower()


def describes(event: ListedEvent, pattern: str) -> bool:
    """Tell whether the description has every word of the pattern while the name does not fit the pattern."""
    if not pattern or fits(event, pattern):
        return False
    text = f"{event.name} {event.description}".lower()
    return all(word in text for word in pattern.lower().split())


def try_open(host: Host, event: EncodedEvent, facts: Circumstances, cpus: tuple[int, ...]) -> Unavailable | None:
    """Try to open a counter on one of its CPUs and close it again; return None if that works, else the reason.

    Args:
        event: what to open; nothing is counted.
        facts: of the machine, for the reason.
        cpus: CPUs that are online.
    """
    usable = [cpu for cpu in event.cpus or cpus if cpu in cpus] or list(event.cpus)
    if not usable:
        return Unavailable(Reason.OFFLINE, f"{event.string}: no CPU of its PMU {event.pmu} is online")
    try:
        close_all(host, open_group(host, [member.attr for member in leader_first((event,))], -1, usable[0]))
    except HostError as error:
        return explain_perf(error, f"perf {event.string}", facts, event.attr.type)
    return None


def opens(
    host: Host,
    engine: OwnEngine | LibpfmEngine,
    event: ListedEvent,
    facts: Circumstances,
    cpus: tuple[int, ...],
) -> Unavailable | None:
    """Return None if one counter of a listed event opens now, else the reason why the first does not."""
    try:
        encoded = engine.encode(event.name)
    except (EventError, PfmError) as error:
        return Unavailable(Reason.FAILED, str(error).rstrip("."))
    refused: Unavailable | None = None
    for each in encoded:
        if (answer := try_open(host, each, facts, cpus)) is None:
            return None
        refused = refused or answer
    return refused
