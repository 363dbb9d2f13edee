"""`turbotui events list`: the events of this machine, and whether they open now."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

from turbotui.commands.formats import make_writer, print_lines
from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import LibpfmEngine, OwnEngine, open_library
from turbotui.events.errors import NoTablesError
from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.events.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.events.listing import (
    ListedEvent,
    describes,
    fits,
    model_listing,
    opens,
    own_listing,
    tracepoint_listing,
    vendor_listing,
)
from turbotui.events.perf_encoder import table_encoder
from turbotui.features.events.tables import OfferedEvent, listing_table
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_errors import circumstances
from turbotui.tables.envelope import envelope_now


def list_events(arguments: argparse.Namespace, host: Host) -> int:
    """List the events whose names match a pattern, then those whose descriptions have its words.

    Raises:
        UsageError: the tables or the model that the user named are unusable.
    """
    engines: dict[str, OwnEngine | LibpfmEngine] = {"own": OwnEngine(EventEncoder(host))}
    notes: list[str] = []
    try:
        engines["tables"] = OwnEngine(table_encoder(host))
        notes.append(f"Names of the vendor are from {open_vendor_tables(host).source}.")
    except NoTablesError as error:
        notes.append(str(error))
    try:
        library = open_library(host, arguments.force_pmu)
        engines["libpfm"] = LibpfmEngine(host, library)
        notes += [library.outdated] if library.outdated else []
    except (LibpfmAbsentError, PfmError) as error:
        if arguments.force_pmu is not None:
            raise
        notes.append(str(error))
    machine = read_machine(host)
    facts = circumstances(machine)
    cpus = tuple(machine.topology.cpus)

    def offers() -> Iterator[OfferedEvent]:
        for event in _listed(engines, arguments.pattern):
            if arguments.no_open:
                yield OfferedEvent(event, tried=False)
            else:
                yield OfferedEvent(event, tried=True, refused=opens(host, engines[event.engine], event, facts, cpus))

    envelope = envelope_now(host, notes=tuple(notes))
    if (writer := make_writer(arguments)) is not None:
        writer.write(envelope, (listing_table(tuple(offers())),))
        writer.end()
        return 0
    print_lines(f"# {line}" for line in (envelope.label, *notes) if line)
    for offer in offers():  # one by one, because opening thousands takes a while
        print_lines(_offer_in_words(offer))
    return 0


def _offer_in_words(offer: OfferedEvent) -> Iterator[str]:
    event = offer.event
    mark = "?" if not offer.tried else "✓" if offer.refused is None else "✗"
    unit = f" [{event.unit}]" if event.unit else ""
    yield f"{mark} {event.name}{unit}  {event.description}"
    if offer.refused is not None:
        yield f"    {offer.refused.sentence()}"


def _listed(engines: dict[str, OwnEngine | LibpfmEngine], pattern: str) -> Iterator[ListedEvent]:
    """Return the events whose names match, then tracepoints, then events with the words in their descriptions only."""
    rows = list(chain.from_iterable(_of_engine(engine) for engine in engines.values()))
    yield from (event for event in rows if fits(event, pattern))
    own = engines["own"]
    if isinstance(own, OwnEngine):
        yield from tracepoint_listing(own, pattern)
    yield from (event for event in rows if describes(event, pattern))


def _of_engine(engine: OwnEngine | LibpfmEngine) -> Iterator[ListedEvent]:
    if isinstance(engine, LibpfmEngine):
        return model_listing(engine)
    devices = engine.encoder.devices
    return vendor_listing(devices) if isinstance(devices, VendorDevices) else own_listing(engine)
