"""Plans the counters of control groups for a request of events (--add), or says why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.plain_formulas import as_formula
from turbotui.events.set_files import EventSet, shipped_sets
from turbotui.features.groups.columns import COLUMNS
from turbotui.features.groups.event_columns import CYCLES, ENABLED, RUNNING, cycles_in, quantity_of
from turbotui.features.groups.files import Quantity
from turbotui.machine.machine import Machine
from turbotui.quantities.added import is_turbostats
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.event_columns import METRIC, SET, joined_metrics, parse_requests
from turbotui.quantities.event_traits import known_unit
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.adding import AddedEvents, named_set, open_request, open_set
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.cgroup_events import GroupBundle


@dataclass(frozen=True, slots=True)
class EventPlan:
    """The events of one request, as counters of any group."""

    counted: CountedEvents  # the request
    bundles: tuple[GroupBundle, ...]  # the counters to open for a group
    refused: Mapping[Quantity, Unavailable]  # why an event cannot be counted, by its quantity
    parts: tuple[Quantity, ...] = ()  # additional quantities: cycles of each package
    scales: Mapping[Quantity, float] = field(default_factory=dict)  # from counts to the unit that the PMU says


def event_plan(machine: Machine, capabilities: Capabilities, added: AddedEvents) -> EventPlan:
    """Make the plan of a request that was resolved on a machine."""
    request, source = added.request, added.source
    refused: dict[Quantity, Unavailable] = {}
    scales: dict[Quantity, float] = {}
    for event in request.events:
        quantity, traits = quantity_of(request, event), source.traits.get(event)
        why = capabilities.missing.get(request.signal(event))
        if why is None and traits is not None and traits.scope is not Scope.CPU:
            why = Unavailable(Reason.NO_HARDWARE, f"{event} is counted for a whole {traits.scope.value}, whoever runs: "
                                                  "it has no part for each group")
        if why is None and traits is not None and traits.level:
            why = Unavailable(Reason.NO_HARDWARE, f"{event} is a level and no count: it has no part for each group")
        if (signal := capabilities.signals.get(request.signal(event))) is not None and traits is not None:
            scales[quantity] = signal.scale / known_unit(traits.unit).factor
        if why is None and request.others:
            why = Unavailable(Reason.NO_HARDWARE, f"{request.text}: {request.others[0]} is counted for CPUs and not "
                                                  "for groups: a formula of groups holds events and dt")
        if why is not None:
            refused |= {f"{quantity}{end}": why for end in ("", ENABLED, RUNNING)}
    names = {request.signal(event): quantity_of(request, event) for event in request.events}
    parts = [] if refused else [part for cpu in machine.topology.cpus for part in source.parts(machine, cpu)]
    cycles = {request.signal(event) for event in request.events if event in CYCLES}
    topology, bundles = machine.topology, []
    for part in parts:
        package = cycles_in(topology.index(Scope.PACKAGE, part.cpu)) if cycles else ""
        bundles.append(GroupBundle(
            part.cpu, tuple(names.get(event.signal, "") for event in part.events),
            tuple(event.attr for event in part.events),
            tuple(package if event.signal in cycles else "" for event in part.events) if package else ()))
    part_names = dict.fromkeys(name for bundle in bundles for name in bundle.parts if name)
    return EventPlan(source.definition, tuple(bundles), refused, tuple(part_names), scales)


def added_plans(machine: Machine, capabilities: Capabilities, texts: Iterable[str],
                sets: Mapping[str, EventSet] | None = None, taken: Iterable[str] = ()) -> tuple[EventPlan, ...]:
    """Make the plans of some --add arguments.

    Args:
        taken: titles of columns that were added before.

    Raises:
        UsageError: an argument is no event, is a register or file, or has the name of another column.
    """
    plans: list[EventPlan] = []
    titles = {*taken, *(column.id for column in COLUMNS)}
    for text in joined_metrics(texts):
        if is_turbostats(text):
            raise UsageError(f'--add "{text}": registers and files are no counters of groups; perf events are')
        added: list[AddedEvents] = []
        if text.startswith(SET):
            wanted = named_set(shipped_sets() if sets is None else sets, text.removeprefix(SET).strip())
            of_cpus = {column.name for column in wanted.columns if not column.alternatives}
            chosen, capabilities = open_set(machine, capabilities, wanted, titles | of_cpus)
            added = [column.added for column in chosen if column.added is not None]
        elif text.startswith(METRIC):
            # imported here, because most runs have no metrics
            from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415
            from turbotui.sampling.adding_metrics import metric_requests, open_metrics  # noqa: PLC0415

            planned = metric_requests(machine, open_vendor_tables(machine.host), text, taken=titles)
            found_here, capabilities = open_metrics(machine, capabilities, planned, titles)
            added = list(found_here)
        else:
            for request in parse_requests(as_formula(text)):
                if request.others:
                    raise UsageError(f'--add "{text}": {request.others[0]} is counted for CPUs and not for groups: a '
                                     "formula of groups holds events and dt")
                clash = next((column.name for column in request.columns if column.name in titles), None)
                if clash is not None:
                    raise UsageError(f'--add "{text}": groups have a column {clash} already; ,name=TITLE gives another')
                opened, capabilities = open_request(machine, capabilities, request, titles)
                added.append(opened)
        titles |= {column.name for events in added for column in events.request.columns}
        plans += [event_plan(machine, capabilities, events) for events in added]
    return tuple(plans)
