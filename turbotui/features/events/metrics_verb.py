"""`turbotui events metrics`: the metrics that --add metric:NAME takes, and whether this machine can count them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from turbotui.commands.formats import marked, print_tables
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.event_tables.model import DEFAULT_CORE, VendorMetric, VendorTables
from turbotui.events.event_tables.opening import open_vendor_tables
from turbotui.events.metrics.names import scale_and_unit
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.columns import Column
from turbotui.quantities.event_columns import METRIC
from turbotui.quantities.tables import RowTable
from turbotui.sampling.adding_metrics import constants_of, metric_requests
from turbotui.tables.envelope import Envelope, envelope_now


@dataclass(frozen=True, slots=True)
class ListedMetric:
    """A metric of the tables."""

    metric: VendorMetric
    source: str
    refused: str  # why this machine cannot count the metric; "" if it can
    events: tuple[str, ...]  # the event strings that are counted for the metric and its threshold


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group of metrics."""

    name: str
    words: str  # the vendor's description of the group, "" for none
    metrics: tuple[str, ...]


METRIC_COLUMNS: Final[tuple[Column[ListedMetric], ...]] = (
    Column("metric", "", -1, (), lambda listed: listed.metric.name,
           help="name of the metric, as in --add metric:NAME", identity=True),
    Column("pmu", "", -1, (), lambda listed: "" if listed.metric.pmu == DEFAULT_CORE else listed.metric.pmu,
           identity=True,
           help="PMU or kind of core that the metric belongs to; empty for all cores"),
    Column("groups", "", -1, (), lambda listed: " ".join(listed.metric.groups),
           help="groups of the metric, as in --add metric:GROUP"),
    Column("unit", "", -1, (), lambda listed: scale_and_unit(listed.metric.scale_unit)[1], help="unit of its values"),
    Column("factor", "", -1, (), lambda listed: scale_and_unit(listed.metric.scale_unit)[0],
           help="factor by which the expression is multiplied"),
    Column("available", "", -1, (), lambda listed: "no" if listed.refused else "yes",
           help="whether this machine can count its events"),
    Column("expression", "", -1, (), lambda listed: listed.metric.expression, help="expression in the vendor's table"),
    Column("threshold", "", -1, (), lambda listed: listed.metric.threshold,
           help="condition under which its value is remarkable"),
    Column("events", "", -1, (), lambda listed: " ".join(listed.events), help="events that this machine counts for it"),
    Column("constraint", "", -1, (), lambda listed: listed.metric.constraint,
           help="condition under which its events are not counted as a group"),
    Column("no_group", "", -1, (), lambda listed: " ".join(listed.metric.no_group),
           help="groups of metrics in which its events are not counted as a group"),
    Column("brief", "", -1, (), lambda listed: listed.metric.brief, help="meaning of the metric, in one line"),
    Column("description", "", -1, (), lambda listed: listed.metric.description, help="meaning of the metric, in full"),
    Column("source", "", -1, (), lambda listed: listed.source, help="tables that define it"),
    Column("reason", "", -1, (), lambda listed: listed.refused, help="reason for which this machine cannot count it"),
)
GROUP_COLUMNS: Final[tuple[Column[ListedGroup], ...]] = (
    Column("group", "", -1, (), lambda group: group.name,
           help="name of the group, as in --add metric:GROUP", identity=True),
    Column("count", "", 0, (), lambda group: len(group.metrics), help="number of its metrics"),
    Column("metrics", "", -1, (), lambda group: " ".join(group.metrics), help="names of its metrics"),
    Column("words", "", -1, (), lambda group: group.words, help="the vendor's description"),
)


def listed_metrics(machine: Machine, tables: VendorTables, metrics: Iterable[VendorMetric]) -> Iterator[ListedMetric]:
    """Return the metrics of this machine with the events that each would need; no event is opened."""
    constants = constants_of(machine)
    for metric in metrics:
        if not constants.is_here(metric):
            continue
        try:
            planned = metric_requests(machine, tables, f"{METRIC}{metric.name}", constants=constants)
        except UsageError as error:
            yield ListedMetric(metric, tables.source, str(error).partition('": ')[2] or str(error), ())
        else:
            events = dict.fromkeys(event for request in planned for event in request.request.events)
            yield ListedMetric(metric, tables.source, "", tuple(events))


def fitting(tables: VendorTables, pattern: str) -> tuple[VendorMetric, ...]:
    """Return the metrics with a pattern, in any case, in their names, descriptions or the names of their groups."""
    wanted = pattern.lower()
    return tuple(metric for metric in tables.metrics() if not wanted or any(
        wanted in text.lower() for text in (metric.name, metric.brief, metric.description, *metric.groups)))


def metric_table(rows: Iterable[ListedMetric]) -> RowTable[ListedMetric]:
    """Return a table with a row for each metric."""
    return RowTable("metrics", "metric", METRIC_COLUMNS, tuple(rows))


def group_table(tables: VendorTables, metrics: Iterable[VendorMetric]) -> RowTable[ListedGroup]:
    """Return a table with a row for each group that has at least one of these metrics."""
    members: dict[str, dict[str, None]] = {}
    for metric in metrics:
        for group in metric.groups:
            members.setdefault(group, {})[metric.name] = None
    return RowTable("metric_groups", "group", GROUP_COLUMNS, tuple(
        ListedGroup(name, tables.group_words.get(name, ""), tuple(names))
        for name, names in sorted(members.items(), key=lambda pair: pair[0].lower())))


def list_metrics(arguments: argparse.Namespace, host: Host) -> int:
    """List the metrics that match a pattern, and their groups.

    Raises:
        UsageError: there are no tables, or no metric matches.
    """
    tables = open_vendor_tables(host)
    fitting_metrics = fitting(tables, arguments.pattern)
    if not fitting_metrics:
        lacks = f" {tables.lacks_metrics}" if tables.lacks_metrics else ""
        what = f"{tables.source} has no metric with {arguments.pattern!r} in its name, groups or words."
        raise UsageError(what + lacks)
    metrics = metric_table(listed_metrics(read_machine(host), tables, fitting_metrics))
    groups = group_table(tables, [row.metric for row in metrics.rows])
    envelope = envelope_now(host, notes=(tables.lacks_metrics,) if tables.lacks_metrics else ())
    print_tables(arguments, envelope, (metrics, groups),
                 lambda: marked(envelope, _text(envelope, tables.source, metrics.rows, groups.rows)))
    return 0


def _text(envelope: Envelope, source: str, metrics: Sequence[ListedMetric],
          groups: Sequence[ListedGroup]) -> Iterator[str]:
    there = sum(not metric.refused for metric in metrics)
    yield f"# {len(metrics)} metrics of {source}; this machine knows the events of {there}"
    yield from (f"# {note}" for note in envelope.notes)
    for listed in metrics:
        yield from _metric_in_words(listed)
    if groups:
        yield "groups, for --add metric:GROUP:"
    for group in groups:
        yield f"  {group.name} ({len(group.metrics)}){f': {group.words}' if group.words else ''}"


def _metric_in_words(listed: ListedMetric) -> Iterator[str]:
    metric = listed.metric
    unit = f" [{metric.scale_unit}]" if metric.scale_unit else ""
    yield f"{'✗' if listed.refused else '✓'} {metric.name}{unit}  {metric.brief or metric.description}"
    yield f"    = {metric.expression}"
    if metric.threshold:
        yield f"    stands out where {metric.threshold}"
    if listed.refused:
        yield f"    {listed.refused}"
