"""`turbotui events`: event strings to encodings, and what this machine can count."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import chain

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments
from turbotui.commands.formats import add_format_arguments, make_writer, print_lines, print_tables
from turbotui.commands.watching import open_host
from turbotui.errors import UsageError
from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import LibpfmEngine, OsKind, OwnEngine, open_engine, open_library
from turbotui.events.errors import NoTablesError
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
from turbotui.events.vendor.devices import VendorDevices
from turbotui.events.vendor.opening import open_vendor_tables
from turbotui.features.events.tables import (
    Codes,
    EncodingRow,
    OfferedEvent,
    code_table,
    encoding_table,
    listing_table,
)
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_errors import circumstances
from turbotui.tables.envelope import Envelope, envelope_now

_RINGS = "ukh"
_TABLES_OF_SETS = ("sets", "refused")
_TABLES_OF_METRICS = ("metrics", "metric_groups")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs and their options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|list|sets|metrics")
    encode = verbs.add_parser("encode", help="what perf_event_open, or a register, is given for an event string")
    encode.add_argument("string", help="an event, a group in braces, or a comma list: perf's grammar, libpfm's names")
    encode.add_argument("--os", choices=[kind.value for kind in OsKind], default=OsKind.PERF_EXT.value,
                        help="none: bare register codes; perf: without libpfm's perf modifiers (default perf_ext)")
    encode.add_argument("--plm", metavar="LETTERS",
                        help="rings counted where the string says none, of u, k and h (default all; libpfm uk)")
    encode.add_argument("--engine", choices=("own", "tables", "libpfm", "auto"), default="auto",
                        help="own: over sysfs; tables: over the vendor's tables too; libpfm: its models; auto: own, "
                        "tables, libpfm (default)")
    listing = verbs.add_parser("list", help="what this machine can count, and whether it opens now")
    listing.add_argument("pattern", nargs="?", default="",
                         help="part of a name or PMU, or a glob, then words of descriptions; tracepoints are listed by "
                         "SYSTEM:NAME only")
    listing.add_argument("--no-open", action="store_true", help="do not try to open them")
    sets = verbs.add_parser("sets", help="sets of columns for --add set:NAME, and how each is counted on this machine")
    sets.add_argument("name", nargs="?", default="", help="only this set, with every way to count it, and why not")
    sets.add_argument("--events", metavar="FILE", default="", help="with the sets of this TOML file")
    add_format_arguments(sets, _TABLES_OF_SETS)
    add_event_tables_argument(sets)
    add_machine_arguments(sets)
    metrics = verbs.add_parser("metrics", help="metrics of the vendor's tables for --add metric:NAME, and their groups")
    metrics.add_argument("pattern", nargs="?", default="", help="part of a name, of a group or of the words")
    add_format_arguments(metrics, _TABLES_OF_METRICS)
    add_event_tables_argument(metrics)
    add_machine_arguments(metrics)
    for verb in (encode, listing):
        verb.add_argument("--force-pmu", metavar="MODEL", help="libpfm's tables of this CPU model (LIBPFM_FORCE_PMU)")
        add_format_arguments(verb)
        add_event_tables_argument(verb)
        add_machine_arguments(verb)


def run(arguments: argparse.Namespace) -> int:
    """Encode or list."""
    host = open_host(arguments)
    if arguments.verb == "encode":
        return _encode(arguments, host)
    if arguments.verb == "sets":
        from turbotui.features.events.sets_verb import list_sets  # noqa: PLC0415 - needs the capabilities of the whole machine

        return list_sets(arguments, host)
    if arguments.verb == "metrics":
        from turbotui.features.events.metrics_verb import list_metrics  # noqa: PLC0415 - as above

        return list_metrics(arguments, host)
    return _list(arguments, host)


def _encode(arguments: argparse.Namespace, host: Host) -> int:
    rings: str | None = arguments.plm
    if rings is not None and (not rings or set(rings) - set(_RINGS)):
        raise UsageError(f"--plm takes letters of u (user), k (kernel) and h (hypervisor), not {rings!r}.")
    kind = OsKind(arguments.os)
    engine = open_engine(host, arguments.engine, rings, kind, arguments.force_pmu)
    envelope = envelope_now(host)
    if kind is OsKind.NONE:
        codes = code_table(engine.codes(arguments.string))
        print_tables(arguments, envelope, (codes,), lambda: _text(envelope, map(_codes_said, codes.rows)))
    else:
        encodings = encoding_table(engine.encode(arguments.string))
        print_tables(arguments, envelope, (encodings,), lambda: _text(envelope, map(_encoding_said, encodings.rows)))
    return 0


def _text(envelope: Envelope, paragraphs: Iterable[str]) -> Iterator[str]:
    if envelope.label:
        yield f"# {envelope.label}"
    yield from paragraphs


def _codes_said(row: Codes) -> str:
    event = row.event
    codes = " ".join(f"{code:#x}" for code in event.codes)
    return f"{event.string}\n  {event.fstr}\n  codes {codes}  [{event.engine}, {event.pmu}]"


def _encoding_said(row: EncodingRow) -> str:
    """The members of perf_event_attr: the encoding always, the others where they are not zero."""
    event = row.event
    members = " ".join(f"{name}={value:#x}" for name, value in row.attr.items())
    engine = f"{event.engine}: {event.table}" if event.table else event.engine
    lines = [event.string, f"  {event.fstr}", f"  {members}  [{engine}, {event.pmu or 'core PMU'}]"]
    lines += [f"  {event.description}"] if event.description else []
    notes = []
    if event.unit or event.scale != 1.0:
        notes.append(f"unit {event.unit or '-'}, scale {event.scale!r}")
    if event.cpus:
        notes.append(f"CPUs {','.join(map(str, event.cpus))}")
    if event.group is not None:
        notes.append(f"group {event.group}{', leader' if event.leader else ''}{', weak' if event.weak else ''}")
    return "\n".join([*lines, *([f"  {'; '.join(notes)}"] if notes else [])])


def _list(arguments: argparse.Namespace, host: Host) -> int:
    own = OwnEngine(EventEncoder(host))
    engines: dict[str, OwnEngine | LibpfmEngine] = {"own": own}
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
    writer = make_writer(arguments)
    if writer is not None:
        writer.write(envelope, (listing_table(tuple(offers())),))
        writer.end()
        return 0
    print_lines(f"# {line}" for line in (envelope.label, *notes) if line)
    for offer in offers():  # as they come: to open thousands takes a while
        print_lines(_offer_said(offer))
    return 0


def _offer_said(offer: OfferedEvent) -> Iterator[str]:
    event = offer.event
    mark = "?" if not offer.tried else "✓" if offer.refused is None else "✗"
    unit = f" [{event.unit}]" if event.unit else ""
    yield f"{mark} {event.name}{unit}  {event.description}"
    if offer.refused is not None:
        yield f"    {offer.refused.sentence()}"


def _listed(engines: dict[str, OwnEngine | LibpfmEngine], pattern: str) -> Iterator[ListedEvent]:
    """What fits by its name, then tracepoints, then what has the words in its description only."""
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
