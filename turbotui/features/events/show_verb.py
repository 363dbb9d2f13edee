"""`turbotui events show NAME`: everything that the sources know of one event, as text or as tables."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Final

from turbotui.commands.formats import print_tables
from turbotui.events.metrics.uses import MetricUse
from turbotui.features.events.known_names import KnownEvent, KnownName, UnitMask, look_up_name
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import Host
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.sentences import yes_or_no
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.tables.envelope import Envelope, envelope_now

_WORDS: Final = ("config", "config1", "config2", "config3")


def _member(name: str) -> Column[KnownEvent]:
    return Column(name, "", 0, (), lambda event: getattr(event.counters[0].attr, name) if event.counters else None,
                  hexadecimal=True, help=f"perf_event_attr.{name} of the first of its counters")


def _cpus(event: KnownEvent) -> str:
    return (format_cpulist(event.counters[0].cpus) or "all") if event.counters else ""


def _deprecated(event: KnownEvent) -> str:
    return "" if event.deprecated is None else yes_or_no(event.deprecated)


EVENT_COLUMNS: Final[tuple[Column[KnownEvent], ...]] = (
    Column("name", "", -1, (), lambda event: event.name, help="name of the event in its source", identity=True),
    Column("engine", "", -1, (), lambda event: event.engine, help="own (sysfs), tables or libpfm", identity=True),
    Column("pmu", "", -1, (), lambda event: event.pmu, help="kind of PMU, and number of such PMUs",
           identity=True),
    Column("source", "", -1, (), lambda event: event.source, help="file, program or library that defines the event"),
    Column("counters", "", 0, (), lambda event: len(event.counters),
           help="number of PMUs of this machine that count it"),
    Column("cpus", "", -1, (), _cpus, help="CPUs on which the first of these PMUs is opened"),
    Column("terms", "", -1, (), lambda event: event.terms, help="encoding as terms, as perf writes it between slashes"),
    Column("code", "", 0, (), lambda event: event.term("event"), hexadecimal=True, help="value of the term event"),
    Column("umask", "", 0, (), lambda event: event.term("umask"), hexadecimal=True, help="value of the term umask"),
    _member("type"), *map(_member, _WORDS),
    Column("unit", "", -1, (), lambda event: event.unit, help="unit of count times scale; empty for a plain count"),
    Column("scale", "", -1, (), lambda event: event.scale, help="factor from counts to the unit"),
    Column("per_package", "", -1, (), lambda event: yes_or_no(event.per_package),
           help="whether it is counted once for each package"),
    Column("topic", "", -1, (), lambda event: event.topic, help="the vendor's group of events"),
    Column("deprecated", "", -1, (), _deprecated, help="whether it is deprecated; empty if the source does not say"),
    Column("errata", "", -1, (), lambda event: event.errata, help="numbers of the vendor's errata about it"),
    Column("brief", "", -1, (), lambda event: event.brief, help="description of what it counts, in one line"),
    Column("description", "", -1, (), lambda event: event.description, help="description of what it counts, in full"),
    Column("reason", "", -1, (), lambda event: event.reason, help="reason for which this machine does not count it"),
)
MASK_COLUMNS: Final[tuple[Column[UnitMask], ...]] = (
    Column("name", "", -1, (), lambda mask: mask.name, help="an event of the same code", identity=True),
    Column("engine", "", -1, (), lambda mask: mask.engine, help="tables or libpfm", identity=True),
    Column("pmu", "", -1, (), lambda mask: mask.pmu, help="PMU of the event", identity=True),
    Column("umask", "", 0, (), lambda mask: mask.value, hexadecimal=True, help="unit mask of the event"),
    Column("brief", "", -1, (), lambda mask: mask.brief, help="description of what it counts, in one line"),
)
USE_COLUMNS: Final[tuple[Column[MetricUse], ...]] = (
    Column("metric", "", -1, (), lambda use: use.metric.name,
           help="name of the metric, as in --add metric:NAME", identity=True),
    Column("pmu", "", -1, (), lambda use: use.metric.pmu,
           help="PMU of the cores that the metric belongs to", identity=True),
    Column("through", "", -1, (), lambda use: use.through,
           help="metric through which it uses the event; empty if it names the event itself"),
    Column("threshold", "", -1, (), lambda use: yes_or_no(use.threshold),
           help="whether only its threshold needs the event"),
    Column("groups", "", -1, (), lambda use: " ".join(use.metric.groups),
           help="groups of the metric, as in --add metric:GROUP"),
    Column("brief", "", -1, (), lambda use: use.metric.brief, help="meaning of the metric, in one line"),
)


_NOT_HERE: Final = Unavailable(Reason.NO_HARDWARE, "this machine does not count it")
_NOT_WRITTEN: Final = Unavailable(Reason.NOT_READ, "the source writes no such term for it")


def _judged(column: Column[KnownEvent], event: KnownEvent, value: Value) -> Cell:
    if value is not None:
        return Cell(value)
    return Cell(None, _NOT_WRITTEN if column.id in {"code", "umask"} else
                Unavailable(Reason.NO_HARDWARE, event.reason.rstrip(".")) if event.reason else _NOT_HERE)


def show_event(arguments: argparse.Namespace, host: Host) -> int:
    """Show one event. Raises UsageError if no source knows the name."""
    known = look_up_name(host, arguments.name, arguments.force_pmu)
    envelope = envelope_now(host, notes=known.notes)
    tables = (RowTable("known_events", "event", EVENT_COLUMNS, known.events, _judged),
              RowTable("unit_masks", "event", MASK_COLUMNS, known.masks),
              RowTable("event_metrics", "metric", USE_COLUMNS, known.metrics))
    print_tables(arguments, envelope, tables, lambda: _text(envelope, known))
    return 0


def _text(envelope: Envelope, known: KnownName) -> Iterator[str]:
    yield from (f"# {line}" for line in (envelope.label, *known.notes) if line)
    for event in known.events:
        yield from _event_in_words(event)
    if known.masks:
        yield "events of the same code:"
        yield from (f"  umask={mask.value:#x}  {mask.name}  {mask.brief}" for mask in known.masks)
    if known.metrics:
        yield "metrics that it is counted for:"
        direct = [use for use in known.metrics if not use.through]
        for use in direct:
            yield f"  {use.metric.name}{' (its threshold)' if use.threshold else ''}  {use.metric.brief}"
        others = dict.fromkeys(use.metric.name for use in known.metrics if use.through)
        if others:
            yield f"  through these: {', '.join(others)}"


def _event_in_words(event: KnownEvent) -> Iterator[str]:
    yield f"{event.name}  [{event.engine}: {event.source}]"
    yield from (f"  {words}" for words in dict.fromkeys((event.brief, event.description)) if words)
    yield f"  PMU {event.pmu}" + (f", on CPUs {_cpus(event)}" if event.counters else "")
    if event.terms:
        yield f"  {event.terms}"
    if event.counters:
        attr = event.counters[0].attr
        others = (name for name in _WORDS[1:] if getattr(attr, name))
        yield f"  {' '.join(f'{name}={getattr(attr, name):#x}' for name in ('type', 'config', *others))}"
    notes = []
    if event.unit or event.scale != 1.0:
        notes.append(f"unit {event.unit or '-'}, scale {event.scale!r}")
    if event.per_package:
        notes.append("one count is of a package")
    if event.topic:
        notes.append(f"topic {event.topic}")
    if event.deprecated:
        notes.append("deprecated by the vendor")
    if event.errata:
        notes.append(f"errata {event.errata}")
    if notes:
        yield f"  {'; '.join(notes)}"
    if event.reason:
        yield f"  not here: {event.reason}"
