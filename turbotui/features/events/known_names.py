"""Looks one event up in every source of names: sysfs, the vendor's tables, and libpfm."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.devices import find_event
from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import LibpfmEngine, open_library
from turbotui.events.errors import NoTablesError
from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorTables
from turbotui.events.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.events.libpfm.library import PfmEvent
from turbotui.events.metrics.uses import MetricUse, metrics_with
from turbotui.events.perf_encoder import table_encoder
from turbotui.machine.host import Host
from turbotui.machine.pmus import EventError
from turbotui.quantities.plain_numbers import integer_of_c

_ERRATA: Final = re.compile(r"\s*Spec update: ([^()]*?)(?=\s*\(|\.?$)")
_SYSFS: Final = "sysfs"


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event as one source has it, on one kind of PMU."""

    name: str  # the name, as the source writes it
    engine: str  # "own" (sysfs), "tables" or "libpfm"
    source: str  # the file, program or library, such as "perf 7.2.13 list -j"
    pmu: str  # the kind of PMU, as the source calls it
    counters: tuple[EncodedEvent, ...]  # one for each PMU of this machine that counts the event; () for none
    reason: str = ""  # why there are no counters; "" if there are
    terms: str = ""  # the terms as perf writes them between slashes; "" for generic events and those of libpfm
    brief: str = ""
    description: str = ""
    topic: str = ""
    errata: str = ""  # the vendor's errata, "" for none
    unit: str = ""
    scale: float = 1.0
    per_package: bool = False
    # None if the source does not say: perf lists no such events, and sysfs and libpfm have no such mark
    deprecated: bool | None = None

    def term(self, name: str) -> int | None:
        """Return the number of a term; None if the event does not have it."""
        for part in self.terms.split(","):
            word, equals, value = part.partition("=")
            if word == name and equals:
                try:
                    return integer_of_c(value)
                except ValueError:
                    return None
        return None


@dataclass(frozen=True, slots=True)
class UnitMask:
    """Another event of the same code."""

    name: str  # the name by which users ask for the mask
    engine: str
    pmu: str
    value: int
    brief: str


@dataclass(frozen=True, slots=True)
class KnownName:
    """The events of a name in all sources."""

    events: tuple[KnownEvent, ...]
    masks: tuple[UnitMask, ...]
    metrics: tuple[MetricUse, ...]
    notes: tuple[str, ...]


def look_up_name(host: Host, text: str, force: str | None = None) -> KnownName:
    """Ask every source for a name.

    Args:
        text: NAME, PMU/NAME/ or libpfm's MODEL::NAME:MASK, in any case; modifiers are ignored.

    Raises:
        UsageError: no source knows the name, or a source that the user named is unusable.
    """
    pmu, name = _split(text)
    own = EventEncoder(host)
    events = list(_of_sysfs(own, text, pmu, name))
    masks: list[UnitMask] = []
    metrics: tuple[MetricUse, ...] = ()
    notes: list[str] = []
    try:
        encoder = table_encoder(host)
    except NoTablesError as error:
        notes.append(str(error))
    else:
        devices = encoder.devices
        assert isinstance(devices, VendorDevices)  # noqa: S101 - what `table_encoder` makes
        rows = [row for row in devices.tables.event(name) if not pmu or _names_pmu(devices, pmu, row)]
        events += (_of_table(encoder, devices, row) for row in rows)
        masks += (mask for row in rows for mask in _siblings(devices.tables, row))
        metrics = metrics_with(devices.tables, name)
        if not events and devices.tables.metric(name):
            raise UsageError(f"{name} is a metric and no event: turbotui events metrics {name} tells of it.")
    try:
        engine = LibpfmEngine(host, open_library(host, force))
    except (LibpfmAbsentError, PfmError) as error:
        if force is not None:
            raise
        notes.append(str(error))
    else:
        theirs, attributes = _of_libpfm(engine, text)
        events += theirs
        masks += attributes
    if not events:
        _refuse(own, text, name, notes)
    return KnownName(tuple(events), tuple(masks), metrics, tuple(notes))


def _split(text: str) -> tuple[str, str]:
    """Return the PMU, or "", and the name of an event in lower case."""
    pmu, slash, rest = text.strip().partition("/")
    if slash:
        return pmu, rest.partition("/")[0].partition(",")[0].lower()
    return "", text.strip().rpartition("::")[2].partition(":")[0].lower()


def _names_pmu(devices: VendorDevices, pmu: str, row: VendorEvent) -> bool:
    matched = devices.matched(row)
    return any(device.name in matched for device in devices.matching(pmu))


def _refuse(own: EventEncoder, text: str, name: str, notes: Sequence[str]) -> None:
    """Raise the error that no source knows a name.

    Raises:
        UsageError: always.
    """
    try:
        table_encoder(own.devices.host).encode(text)
    except NoTablesError:
        try:
            own.encode(text)
        except EventError as error:
            raise UsageError(" ".join((str(error), *notes))) from None
    except EventError as error:
        raise UsageError(str(error)) from None
    raise UsageError(f"No source has an event {name!r} with a name of its own: turbotui events encode tells its terms.")


def _of_sysfs(own: EventEncoder, text: str, pmu: str, name: str) -> Iterator[KnownEvent]:
    """Return the event of sysfs, or a generic event of the kernel: one for each encoding."""
    try:
        counters = own.encode(text)
    except EventError:
        return
    by_words: dict[tuple[object, ...], list[EncodedEvent]] = {}
    for counter in counters:
        words = (counter.attr.config, counter.attr.config1, counter.attr.config2, counter.attr.config3)
        by_words.setdefault((counter.pmu.rstrip("0123456789").rstrip("_"), *words), []).append(counter)
    for alike in by_words.values():
        device = own.devices.exactly(alike[0].pmu)
        known = None if device is None else find_event(device, name)
        yield KnownEvent(
            name=known.name if known is not None else text, engine="own",
            source=_SYSFS if known is not None else "the kernel's generic events",
            pmu=alike[0].pmu if len(alike) == 1 else pmu or _kind(alike), counters=tuple(alike),
            terms="" if known is None else known.text, unit=alike[0].unit, scale=alike[0].scale,
            per_package=alike[0].per_package,
        )


def _kind(counters: Sequence[EncodedEvent]) -> str:
    return f"{counters[0].pmu.rstrip('0123456789').rstrip('_')} ({len(counters)})"


def _of_table(encoder: EventEncoder, devices: VendorDevices, row: VendorEvent) -> KnownEvent:
    counters: list[EncodedEvent] = []
    reason = ""
    names = devices.matched(row)
    for pmu in names:
        try:
            counters += encoder.encode(f"{pmu}/{row.terms}/")
        except EventError as error:
            reason = reason or str(error)
    if not names:
        wanted = "that is one of its cores" if row.pmu == DEFAULT_CORE else row.pmu
        reason = f"This machine has no PMU {wanted}" + (f" with the identifier {row.compat}." if row.compat else ".")
    core = row.pmu == DEFAULT_CORE
    errata = _ERRATA.search(row.brief) or _ERRATA.search(row.description)
    # perf lists no deprecated event, so its list does not say
    says = any(event.deprecated for event in devices.tables.events()) or " list -j" not in devices.tables.source
    return KnownEvent(
        name=row.name, engine="tables", source=devices.tables.source,
        pmu=" ".join(names) if core else row.pmu if len(names) < 2 else f"{row.pmu} ({len(names)})",
        counters=tuple(counters), reason="" if counters else reason, terms=row.terms, brief=row.brief,
        description=row.description, topic=row.topic, errata="" if errata is None else errata[1].strip(),
        unit=row.unit, scale=row.scale, per_package=row.per_package, deprecated=row.deprecated if says else None,
    )


def _siblings(tables: VendorTables, row: VendorEvent) -> Iterator[UnitMask]:
    """Return all events of a PMU with the code of one event, which differ by their masks and filters."""
    code = _code(row.terms)
    for other in tables.events():
        if other.pmu == row.pmu and _code(other.terms) == code and code:
            masks = KnownEvent(other.name, "tables", "", "", (), terms=other.terms)
            yield UnitMask(other.name, "tables", other.pmu, masks.term("umask") or 0, other.brief or other.description)


def _code(terms: str) -> str:
    return next((part for part in terms.split(",") if part.startswith(("event=", "config=", "eventid="))), "")


def _of_libpfm(engine: LibpfmEngine, text: str) -> tuple[list[KnownEvent], list[UnitMask]]:
    """Return the event in libpfm's models, and its unit masks; libpfm has a colon for the dot of a vendor's name."""
    library = engine.library
    model, _, rest = text.rpartition("::")
    if "/" in rest:
        return [], []
    wanted, mask = _name_and_mask(rest)
    events: list[KnownEvent] = []
    masks: list[UnitMask] = []
    for pmu in library.pmus(present=library.only is None):
        if (model and pmu.name != model) or library.only not in (None, pmu.name):
            continue
        for event in library.events(pmu):
            if event.name.lower() not in {wanted, rest.lower()}:
                continue
            bare = event.name.lower() == rest.lower()
            own = [mask_attribute for mask_attribute in event.attributes
                   if mask_attribute.unit_mask and (bare or mask_attribute.name.lower() == mask)]
            if not bare and not own:
                continue
            masks += (UnitMask(f"{pmu.name}::{event.name}:{attribute.name}", "libpfm", pmu.name, attribute.code,
                               attribute.description) for attribute in event.attributes if attribute.unit_mask)
            string = f"{pmu.name}::{event.name}" + ("" if bare else f":{own[0].name}")
            events.append(_by_libpfm(engine, event, string, "" if bare else own[0].description))
    return events, masks


def _name_and_mask(text: str) -> tuple[str, str]:
    for sign in (":", "."):
        name, separator, mask = text.partition(sign)
        if separator:
            return name.lower(), mask.lower()
    return text.lower(), ""


def _by_libpfm(engine: LibpfmEngine, event: PfmEvent, string: str, mask: str) -> KnownEvent:
    counters: tuple[EncodedEvent, ...] = ()
    reason = ""
    try:
        counters = engine.encode(string)
    except PfmError as error:
        reason = str(error)
    words = f"{event.description}: {mask}" if mask else event.description
    return KnownEvent(name=string, engine="libpfm", source=f"libpfm {engine.library.release}",
                      pmu=string.partition("::")[0], counters=counters, reason=reason, brief=words,
                      unit=counters[0].unit if counters else "", scale=counters[0].scale if counters else 1.0)
