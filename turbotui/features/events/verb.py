"""`turbotui events`: encodings of event strings, and what this machine can count."""

from __future__ import annotations

import argparse

from turbotui.commands.arguments import add_event_tables_argument, add_machine_arguments
from turbotui.commands.formats import add_format_arguments, marked, print_tables
from turbotui.commands.sessions import open_host
from turbotui.errors import UsageError
from turbotui.events.engines import OsKind, open_engine
from turbotui.features.events.tables import (
    Codes,
    EncodingRow,
    code_table,
    encoding_table,
)
from turbotui.machine.host import Host
from turbotui.quantities.event_columns import METRIC, usual_prefix
from turbotui.tables.envelope import envelope_now

_RINGS = "ukh"
_TABLES_OF_SETS = ("sets", "refused")
_TABLES_OF_NAMES = ("known_events", "unit_masks", "event_metrics")
_TABLES_OF_METRICS = ("metrics", "metric_groups")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs and their options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|list|show|sets|metrics")
    encode = verbs.add_parser("encode", help="the arguments of perf_event_open, or the register value, for an event "
                              "string")
    encode.add_argument("string", help="an event, a group in braces, or a comma list: perf's grammar, libpfm's names")
    encode.add_argument("--os", choices=[kind.value for kind in OsKind], default=OsKind.PERF_EXT.value,
                        help="none: bare register codes; perf: without libpfm's perf modifiers (default perf_ext)")
    encode.add_argument("--plm", metavar="LETTERS",
                        help="rings counted where the string says none, of u, k and h (default all; libpfm uk)")
    encode.add_argument("--engine", choices=("own", "tables", "libpfm", "auto"), default="auto",
                        help="own: over sysfs; tables: over the vendor's tables too; libpfm: its models; auto: own, "
                        "tables, libpfm (default)")
    listing = verbs.add_parser("list", help="the events of this machine, and whether they open now")
    listing.add_argument("pattern", nargs="?", default="",
                         help="part of a name or PMU, or a glob, then words of descriptions; tracepoints are listed by "
                         "SYSTEM:NAME only")
    listing.add_argument("--no-open", action="store_true", help="do not try to open them")
    show = verbs.add_parser("show", help="everything known about one event: descriptions, encodings, masks, its "
                            "metrics")
    show.add_argument("name", help="in any case: NAME, PMU/NAME/, or MODEL::NAME of libpfm")
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
    for verb in (encode, listing, show):
        verb.add_argument("--force-pmu", metavar="MODEL", help="libpfm's tables of this CPU model (LIBPFM_FORCE_PMU)")
        add_format_arguments(verb, _TABLES_OF_NAMES if verb is show else ())
        add_event_tables_argument(verb)
        add_machine_arguments(verb)


def run(arguments: argparse.Namespace) -> int:
    """Encode, list, or show one."""
    host = open_host(arguments)
    if arguments.verb == "encode":
        return _encode(arguments, host)
    if arguments.verb == "sets":
        from turbotui.features.events.sets_verb import list_sets  # noqa: PLC0415 - needs the capabilities of the whole machine

        return list_sets(arguments, host)
    if arguments.verb == "metrics":
        from turbotui.features.events.metrics_verb import list_metrics  # noqa: PLC0415 - as above

        return list_metrics(arguments, host)
    if arguments.verb == "show":
        from turbotui.features.events.show_verb import show_event  # noqa: PLC0415 - reads the vendor's tables

        return show_event(arguments, host)
    from turbotui.features.events.list_verb import list_events  # noqa: PLC0415 - as above

    return list_events(arguments, host)


def _encode(arguments: argparse.Namespace, host: Host) -> int:
    rings: str | None = arguments.plm
    if rings is not None and (not rings or set(rings) - set(_RINGS)):
        raise UsageError(f"--plm takes letters of u (user), k (kernel) and h (hypervisor), not {rings!r}.")
    if usual_prefix(arguments.string).startswith(METRIC):
        name = usual_prefix(arguments.string).removeprefix(METRIC).strip()
        raise UsageError(f'"{arguments.string}" is a metric, which has no encoding of its own: `turbotui events '
                         f"metrics {name}` tells its events.")
    kind = OsKind(arguments.os)
    engine = open_engine(host, arguments.engine, rings, kind, arguments.force_pmu)
    envelope = envelope_now(host)
    if kind is OsKind.NONE:
        codes = code_table(engine.codes(arguments.string))
        print_tables(arguments, envelope, (codes,), lambda: marked(envelope, map(_codes_in_words, codes.rows)))
    else:
        encodings = encoding_table(engine.encode(arguments.string))
        print_tables(arguments, envelope, (encodings,),
                     lambda: marked(envelope, map(_encoding_in_words, encodings.rows)))
    return 0


def _codes_in_words(row: Codes) -> str:
    event = row.event
    codes = " ".join(f"{code:#x}" for code in event.codes)
    return f"{event.string}\n  {event.fstr}\n  codes {codes}  [{event.engine}, {event.pmu}]"


def _encoding_in_words(row: EncodingRow) -> str:
    """Return the members of perf_event_attr as text: the encoding always, the others if they are not zero."""
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
    if event.regrouped:
        notes.append("the braces hold events of several PMUs, which became a group for each")
    if row.added_leader:
        notes.append(f"counting adds the leader {row.added_leader}, which the kernel requires")
    return "\n".join([*lines, *([f"  {'; '.join(notes)}"] if notes else [])])
