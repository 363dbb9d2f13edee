"""Add metrics of the vendors' tables on request: from their names to requests, sources and columns on one machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest
from turbotui.events.engines import open_engine
from turbotui.events.event_tables.model import VendorMetric, VendorTables
from turbotui.events.kinds_of_core import kind_word
from turbotui.events.metrics.errors import MetricError
from turbotui.events.metrics.expansion import core_of, expand
from turbotui.events.metrics.machine_constants import MachineConstants
from turbotui.events.metrics.names import TIME, event_text
from turbotui.events.metrics.requests import TitledMetric, metric_names, requests
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddError
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.event_columns import METRIC, EventColumn, EventRequest
from turbotui.quantities.expression_text import name_text
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.adding import AddedEvents, open_request
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.event_source import EventSource

_PER_CHIP: Final = "PerChip"


@dataclass(frozen=True, slots=True)
class _Named:
    """A metric with the word that asked for it."""

    metric: VendorMetric
    group: str
    modifiers: str
    runtime: int = 0


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """A request for metrics, or the reason why a metric cannot be counted at all."""

    request: EventRequest
    refused: Unavailable | None = None


def metric_requests(machine: Machine, tables: VendorTables, text: str, *, taken: Collection[ColumnId] = (),
                    without: Collection[ColumnId] = (), constants: MachineConstants | None = None,
                    ) -> tuple[MetricRequest, ...]:
    """Find what has to be counted for metrics of the tables.

    Args:
        tables: the tables of its CPU.
        text: "metric:NAME[,NAME ...]"; each NAME is a metric or a group, in any case.
        taken: titles of columns that are not metrics.
        without: titles of metrics that are counted already.
        constants: of the machine, to be shared when many texts are looked up.

    Raises:
        AddError: a name is neither a metric nor a group, or a single metric cannot be counted.
    """
    constants = constants or constants_of(machine)
    wanted: list[TitledMetric] = []
    refused: list[MetricRequest] = []
    for named in _numbered(_named(constants, tables, text), constants):
        title = _title(named, constants, taken)
        if title in without or any(title == each.title for each in wanted):
            continue
        try:
            expanded = expand(named.metric, tables, constants, named.runtime)
            titled = TitledMetric(expanded, title, named.group, named.modifiers, tables.source)
            _check(titled, constants)
            requests((titled,), constants, text)
        except MetricError as error:
            if not named.group:
                raise AddError(f'--add "{text}": {error}') from error
            refused.append(_refused(named.metric, title, text, str(error)))
            continue
        wanted.append(titled)
    return (*map(MetricRequest, requests(wanted, constants, text)), *refused)


def constants_of(machine: Machine) -> MachineConstants:
    """The facts of a machine that metric expressions can use."""
    return MachineConstants(machine, open_engine(machine.host))


def open_metrics(
    machine: Machine, capabilities: Capabilities, planned: Iterable[MetricRequest], taken: Collection[ColumnId],
    beside: Sequence[AddedEvents] = (),
) -> tuple[tuple[AddedEvents, ...], Capabilities]:
    """Probe what metrics need and make their columns.

    Args:
        capabilities: of the catalog's signals.
        planned: by `metric_requests`.
        taken: titles that other columns have.
        beside: what is counted already.

    Raises:
        AddError: an event is malformed, or its filters exclude another column's.
    """
    added_events: list[AddedEvents] = []
    for request in planned:
        if request.refused is None:
            added, capabilities = open_request(machine, capabilities, request.request, taken, (*beside, *added_events))
        else:
            source = EventSource(request.request, refused=request.refused)
            capabilities = capabilities.plus(machine, source)
            added = AddedEvents(request.request, source, tuple(
                event_column(column, request.request, {}, {}) for column in request.request.columns))
        added_events.append(added)
    return tuple(added_events), capabilities


def share_counters(
    known: Sequence[AddedEvents], planned: Sequence[MetricRequest]
) -> tuple[tuple[AddedEvents, ...], tuple[MetricRequest, ...]]:
    """Attach metrics to counters that are open for others, as far as those have all of their events.

    A group of counters is shared only as a whole; events that are counted one by one form no group.

    Returns:
        The counted events with the columns of these metrics, and the remaining requests.
    """
    shared = list(known)
    left: list[MetricRequest] = []
    for metric_request in planned:
        request = metric_request.request
        at = next((at for at, other in enumerate(shared) if request.events and metric_request.refused is None
                   and other.counts_for(request)), None)
        if at is None:
            left.append(metric_request)
        else:
            shared[at] = shared[at].plus(request.columns)
    return tuple(shared), tuple(left)


def _named(constants: MachineConstants, tables: VendorTables, text: str) -> Iterator[_Named]:
    """The metrics that a text names, including the members of groups. Raises AddError if a name is unknown."""
    try:
        names = metric_names(text)
    except MetricError as error:
        raise AddError(str(error)) from error
    for name, modifiers in names:
        single, group = tables.metric(name), tables.group(name)
        if not single and not group:
            raise AddError(f'--add "{text}": {_unknown(name, tables)}')
        here = [metric for metric in (single or group) if constants.is_here(metric)]
        if not here:
            others = dict.fromkeys(metric.compat or core_of(metric) for metric in single or group)
            raise AddError(f'--add "{text}": {name} is of another machine: of {", ".join(others)}')
        yield from (_Named(core_metric, "" if single else name.lower(), modifiers) for core_metric in here)


def _unknown(name: str, tables: VendorTables) -> str:
    near = nearest(name, (*(metric.name for metric in tables.metrics()), *tables.group_names()), 3)
    hint = near or "; turbotui events metrics lists them."
    sentence = f"{tables.source} has no metric and no group of metrics called {name}{hint} {tables.lacks_metrics}"
    return sentence.rstrip(". ")


def _numbered(named: Iterable[_Named], constants: MachineConstants) -> Iterator[_Named]:
    """Yield each metric, and a metric with a `?` once for each of its numbers."""
    for metric in named:
        if "?" not in metric.metric.expression:
            yield metric
            continue
        for number in range(constants.parameters(per_chip=metric.metric.aggregation == _PER_CHIP)):
            yield replace(metric, runtime=number)


def _title(metric: _Named, constants: MachineConstants, taken: Collection[ColumnId]) -> str:
    """The name of a metric, with the kind of core if there are several, and with "metric:" if the name is taken."""
    title = metric.metric.name
    if (core := core_of(metric.metric)) in constants.kinds:
        title += f".{kind_word(core)}"
    if "?" in metric.metric.expression:
        title += f"_{metric.runtime}"
    if metric.modifiers:
        title += f":{metric.modifiers}"
    return f"{METRIC}{title}" if title in taken else title


def _check(titled: TitledMetric, constants: MachineConstants) -> None:
    """Refuse a metric with an event that this machine does not know.

    Raises:
        MetricError: names the mistake in the event.
    """
    metric = titled.expanded.metric
    for needed in titled.expanded.events:
        if needed == TIME:
            continue
        event = event_text(needed, titled.modifiers)
        encoded = constants.encoded(event)
        if isinstance(encoded, UsageError):
            raise MetricError(f"The metric {metric.name} needs {event}: {str(encoded).rstrip('?.')}.") from encoded


def _refused(metric: VendorMetric, title: str, text: str, why: str) -> MetricRequest:
    """A metric of a group that cannot be counted; its column shows the reason."""
    formula = parse_expression(name_text(metric.name))
    column = EventColumn(title, formula=formula, help=metric.brief or metric.description, document=f"{text}")
    request = EventRequest(f"{text} {title}", (metric.name,), (metric.name,), (column,), raw=True)
    return MetricRequest(request, Unavailable(Reason.NO_HARDWARE, why.rstrip(".")))
