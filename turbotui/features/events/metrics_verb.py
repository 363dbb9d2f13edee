"""`turbotui events metrics`: the metrics that --add metric:NAME takes, and whether this machine can count them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from turbotui.commands.formats import print_tables
from turbotui.errors import UsageError
from turbotui.events.vendor.opening import open_vendor_tables
from turbotui.features.events.metric_tables import (
    ListedGroup,
    ListedMetric,
    fitting,
    group_table,
    listed_metrics,
    metric_table,
)
from turbotui.machine.host import Host
from turbotui.machine.machine import read_machine
from turbotui.tables.envelope import Envelope, envelope_now


def list_metrics(arguments: argparse.Namespace, host: Host) -> int:
    """List the metrics that fit a pattern, and their groups.

    Raises:
        UsageError: there are no tables, or nothing in them fits.
    """
    tables = open_vendor_tables(host)
    found = fitting(tables, arguments.pattern)
    if not found:
        lacks = f" {tables.lacks_metrics}" if tables.lacks_metrics else ""
        what = f"{tables.source} has no metric with {arguments.pattern!r} in its name, groups or words."
        raise UsageError(what + lacks)
    metrics = metric_table(listed_metrics(read_machine(host), tables, found))
    groups = group_table(tables, [one.metric for one in metrics.rows])
    envelope = envelope_now(host, notes=(tables.lacks_metrics,) if tables.lacks_metrics else ())
    print_tables(arguments, envelope, (metrics, groups),
                 lambda: _text(envelope, tables.source, tuple(metrics.rows), tuple(groups.rows)))
    return 0


def _text(envelope: Envelope, source: str, metrics: tuple[ListedMetric, ...],
          groups: tuple[ListedGroup, ...]) -> Iterator[str]:
    if envelope.label:
        yield f"# {envelope.label}"
    there = sum(not one.refused for one in metrics)
    yield f"# {len(metrics)} metrics of {source}; this machine knows the events of {there}"
    yield from (f"# {note}" for note in envelope.notes)
    for one in metrics:
        yield from _metric_said(one)
    if groups:
        yield "groups, for --add metric:GROUP:"
    for group in groups:
        yield f"  {group.name} ({len(group.metrics)}){f': {group.words}' if group.words else ''}"


def _metric_said(one: ListedMetric) -> Iterator[str]:
    metric = one.metric
    unit = f" [{metric.scale_unit}]" if metric.scale_unit else ""
    yield f"{'✗' if one.refused else '✓'} {metric.name}{unit}  {metric.brief or metric.description}"
    yield f"    = {metric.expression}"
    if metric.threshold:
        yield f"    stands out where {metric.threshold}"
    if one.refused:
        yield f"    {one.refused}"
