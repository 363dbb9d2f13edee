"""`turbotui events`: event strings to encodings, and what this machine can count."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.watching import label, open_host
from turbotui.errors import UsageError
from turbotui.machine.events.encoded import BareCodes, EncodedEvent, flag_names
from turbotui.machine.events.engines import LibpfmEngine, OsKind, OwnEngine, open_engine, open_library
from turbotui.machine.events.listing import (
    ListedEvent,
    fits,
    model_listing,
    opens,
    own_listing,
    tracepoint_listing,
)
from turbotui.machine.host import Host, PerfAttr
from turbotui.machine.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_errors import circumstances
from turbotui.untrusted import json_text

_RINGS = "ukh"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs and their options."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="encode|list|sets")
    encode = verbs.add_parser("encode", help="what perf_event_open, or a register, is given for an event string")
    encode.add_argument("string", help="an event, a group in braces, or a comma list: perf's grammar, libpfm's names")
    encode.add_argument("--os", choices=[kind.value for kind in OsKind], default=OsKind.PERF_EXT.value,
                        help="none: bare register codes; perf: without libpfm's perf modifiers (default perf_ext)")
    encode.add_argument("--plm", metavar="LETTERS",
                        help="rings counted where the string says none, of u, k and h (default all; libpfm uk)")
    encode.add_argument("--engine", choices=("own", "libpfm", "auto"), default="auto",
                        help="own: over sysfs; libpfm: its tables; auto: own, then libpfm (default)")
    listing = verbs.add_parser("list", help="what this machine can count, and whether it opens now")
    listing.add_argument("pattern", nargs="?", default="",
                         help="part of a name or PMU, or a glob; tracepoints are listed by SYSTEM:NAME only")
    listing.add_argument("--no-open", action="store_true", help="do not try to open them")
    sets = verbs.add_parser("sets", help="sets of columns for --add set:NAME, and how each is counted on this machine")
    sets.add_argument("name", nargs="?", default="", help="only this set, with every way to count it, and why not")
    sets.add_argument("--events", metavar="FILE", default="", help="with the sets of this TOML file")
    sets.add_argument("--json", action="store_true", help="as JSON, one object a column")
    add_machine_arguments(sets)
    for verb in (encode, listing):
        verb.add_argument("--force-pmu", metavar="MODEL", help="libpfm's tables of this CPU model (LIBPFM_FORCE_PMU)")
        verb.add_argument("--json", action="store_true", help="as JSON, one object a line")
        add_machine_arguments(verb)


def run(arguments: argparse.Namespace) -> int:
    """Encode or list."""
    host = open_host(arguments)
    if arguments.verb == "encode":
        return _encode(arguments, host)
    if arguments.verb == "sets":
        from turbotui.commands.events_sets import list_sets  # noqa: PLC0415 - needs the census of the whole machine

        return list_sets(arguments, host)
    return _list(arguments, host)


def _encode(arguments: argparse.Namespace, host: Host) -> int:
    rings: str | None = arguments.plm
    if rings is not None and (not rings or set(rings) - set(_RINGS)):
        raise UsageError(f"--plm takes letters of u (user), k (kernel) and h (hypervisor), not {rings!r}.")
    kind = OsKind(arguments.os)
    engine = open_engine(host, arguments.engine, rings, kind, arguments.force_pmu)
    found: tuple[EncodedEvent, ...] | tuple[BareCodes, ...]
    found = engine.codes(arguments.string) if kind is OsKind.NONE else engine.encode(arguments.string)
    simulated = label(host)
    if simulated and not arguments.json:
        print(f"# {simulated}")
    for event in found:
        row = _codes_row(event) if isinstance(event, BareCodes) else _row(event)
        if simulated:
            row["machine"] = simulated
        print(json_text(row) if arguments.json else _sentence(event))
    return 0


def _codes_row(event: BareCodes) -> dict[str, object]:
    return {
        "string": event.string,
        "fstr": event.fstr,
        "idx": event.index,
        "codes": list(event.codes),
        "count": len(event.codes),
        "pmu": event.pmu,
        "engine": event.engine,
    }


def _attr(attr: PerfAttr) -> dict[str, int]:
    """The members of perf_event_attr: the encoding always, the others where they are not zero."""
    always = {
        "type": attr.type,
        "config": attr.config,
        "config1": attr.config1,
        "config2": attr.config2,
        "config3": attr.config3,
    }
    flags = flag_names(attr.flags)
    others = {
        "config4": attr.config4,
        "sample_freq" if "freq" in flags else "sample_period": attr.sample_period,
        "bp_type": attr.bp_type,
        "branch_sample_type": attr.branch_sample_type,
        "sample_max_stack": attr.sample_max_stack,
        "aux_sample_size": attr.aux_sample_size,
    }
    return {**always, **{name: value for name, value in others.items() if value}, **flags}


def _row(event: EncodedEvent) -> dict[str, object]:
    row: dict[str, object] = {
        "string": event.string,
        "fstr": event.fstr,
        "idx": event.index,
        "attr": _attr(event.attr),
        "pmu": event.pmu,
        "engine": event.engine,
        "name": event.name,
        "unit": event.unit,
        "scale": event.scale,
        "cpus": list(event.cpus),
        "group": event.group,
        "leader": event.leader,
        "cpu": event.cpu,
    }
    extra = {
        "snapshot": event.snapshot, "per_package": event.per_package, "weak": event.weak,
        "sample_read": event.sample_read, "bpf": event.bpf, "retire_latency": event.retire_latency,
    }  # fmt: skip
    row |= {name: True for name, value in extra.items() if value}
    if event.options:
        row["options"] = dict(event.options)
    return row


def _sentence(event: EncodedEvent | BareCodes) -> str:
    if isinstance(event, BareCodes):
        codes = " ".join(f"{code:#x}" for code in event.codes)
        return f"{event.string}\n  {event.fstr}\n  codes {codes}  [{event.engine}, {event.pmu}]"
    members = " ".join(f"{name}={value:#x}" for name, value in _attr(event.attr).items())
    lines = [event.string, f"  {event.fstr}", f"  {members}  [{event.engine}, {event.pmu or 'core PMU'}]"]
    notes = []
    if event.unit or event.scale != 1.0:
        notes.append(f"unit {event.unit or '-'}, scale {event.scale!r}")
    if event.cpus:
        notes.append(f"CPUs {','.join(map(str, event.cpus))}")
    if event.group is not None:
        notes.append(f"group {event.group}{', leader' if event.leader else ''}{', weak' if event.weak else ''}")
    return "\n".join([*lines, *([f"  {'; '.join(notes)}"] if notes else [])])


def _list(arguments: argparse.Namespace, host: Host) -> int:
    own = OwnEngine(host)
    engines: dict[str, OwnEngine | LibpfmEngine] = {"own": own}
    note = ""
    try:
        engines["libpfm"] = LibpfmEngine(host, open_library(host, arguments.force_pmu))
    except (LibpfmAbsentError, PfmError) as error:
        if arguments.force_pmu is not None:
            raise
        note = str(error)
    machine = read_machine(host)
    facts = circumstances(machine)
    cpus = tuple(machine.topology.cpus)
    simulated = label(host)
    if not arguments.json:
        for line in (simulated, note):
            if line:
                print(f"# {line}")
    for event in _listed(engines, arguments.pattern):
        refused = None if arguments.no_open else opens(host, engines[event.engine], event, facts, cpus)
        state = None if arguments.no_open else refused is None
        if arguments.json:
            row = {
                "name": event.name, "pmu": event.pmu, "kind": event.kind, "description": event.description,
                "unit": event.unit, "engine": event.engine, "opens": state,
                "reason": None if refused is None else refused.sentence(),
            }  # fmt: skip
            print(json_text({**row, "machine": simulated} if simulated else row))
        else:
            mark = "?" if state is None else "✓" if state else "✗"
            unit = f" [{event.unit}]" if event.unit else ""
            print(f"{mark} {event.name}{unit}  {event.description}")
            if refused is not None:
                print(f"    {refused.sentence()}")
    return 0


def _listed(engines: dict[str, OwnEngine | LibpfmEngine], pattern: str) -> Iterator[ListedEvent]:
    own, libpfm = engines["own"], engines.get("libpfm")
    rows: Iterator[ListedEvent] = iter(())
    if isinstance(own, OwnEngine):
        rows = chain(rows, own_listing(own))
    if isinstance(libpfm, LibpfmEngine):
        rows = chain(rows, model_listing(libpfm))
    yield from (event for event in rows if fits(event, pattern))
    if isinstance(own, OwnEngine):
        yield from tracepoint_listing(own, pattern)
