"""Add events on request, one by one or as a set: from a request to its source and its columns on one machine."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.errors import nearest_or_all
from turbotui.events.set_files import Alternative, EventSet, SetColumn, model_id
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddError
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.event_columns import EventColumn, EventRequest, formula_request, renamed
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.event_bundles import expanded
from turbotui.sources.event_source import EventSource

_NO_PMU = "This machine has no PMU "  # the words of machine.events for that


@dataclass(frozen=True, slots=True)
class AddedEvents:
    """Events that are watched because a user asked for them."""

    request: EventRequest
    source: EventSource
    columns: tuple[CounterColumn, ...]

    def without(self, name: ColumnId) -> AddedEvents:
        """The added columns without one of them."""
        return replace(self, columns=tuple(column for column in self.columns if column.id != name))

    def counts_for(self, request: EventRequest) -> bool:
        """Whether the counters open for metrics suffice for other metrics, as one group if they need one."""
        own = self.request
        return (own.raw and request.raw and own.together == request.together
                and self.source.traits.keys() >= {*request.events} <= {*own.events})

    def plus(self, columns: Sequence[EventColumn]) -> AddedEvents:
        """The added columns and others over the same counters."""
        request = replace(self.request, columns=(*self.request.columns, *columns))
        self.source.request = request  # the counters and their names do not change
        made = (event_column(column, request, self.source.traits, {}) for column in columns)
        return replace(self, request=request, columns=(*self.columns, *made))

    def shown(self) -> tuple[tuple[ColumnId, str], ...]:
        """Each column's name with what it shows, in the user's words."""
        asked = {column.name: column.source_text for column in self.request.columns}
        return tuple((column.id, asked[column.id]) for column in self.columns)


def open_request(
    machine: Machine, capabilities: Capabilities, request: EventRequest, taken: Collection[ColumnId],
    beside: Sequence[AddedEvents] = (),
) -> tuple[AddedEvents, Capabilities]:
    """Probe what a request names and make its columns.

    Args:
        capabilities: of the catalog's signals.
        taken: titles that other columns have.
        beside: events that are counted already.

    Raises:
        AddError: the events are malformed, their filters exclude another column's, or the formula names a signal that
            does not exist.
        UnitError: a formula adds or compares different units.
    """
    request = renamed(expanded(machine, request), frozenset(taken))
    for name in request.others:
        if name not in capabilities.signals and name not in capabilities.missing:
            raise AddError(f'--add "{request.text}": no signal is called {name}; events with dots stand in quotes')
    others = {name: capabilities.signals[name] for name in request.others if name in capabilities.signals}
    coarse = any(signal.scope is not Scope.CPU and signal.behavior is Behavior.COUNTER for signal in others.values())
    source = EventSource(request, coarse=coarse)
    source.check(machine, [events.source.filters for events in beside])
    opened = capabilities.plus(machine, source)
    columns = tuple(event_column(column, request, source.traits, others) for column in request.columns)
    return AddedEvents(request, source, columns), opened


@dataclass(frozen=True, slots=True)
class ChosenColumn:
    """The outcome of adding one column of an event set on one machine."""

    name: ColumnId
    added: AddedEvents | None  # the column with its source; None if the set refers to a column of the catalog
    used: Alternative | None  # the alternative that is counted; None if none can be counted
    # the earlier alternatives, or all of them, with the reason why each is not counted here
    refused: tuple[tuple[Alternative, Unavailable], ...]
    why: Unavailable | None = None  # one sentence, if no alternative can be counted


def named_set(sets: Mapping[str, EventSet], name: str) -> EventSet:
    """The event set of that name. Raises AddError if there is no such set."""
    event_set = sets.get(name)
    if event_set is None:
        raise AddError(f"there is no event set {name!r}{nearest_or_all(name, sorted(sets))}")
    return event_set


def open_set(machine: Machine, capabilities: Capabilities, wanted: EventSet,
             taken: Collection[ColumnId]) -> tuple[tuple[ChosenColumn, ...], Capabilities]:
    """Choose for each column of a set the first alternative that this machine can count.

    Raises:
        UsageError: a formula is malformed, or a title is taken.
    """
    chosen_columns: list[ChosenColumn] = []
    for column in wanted.columns:
        chosen, capabilities = _open_column(machine, capabilities, wanted, column, taken)
        chosen_columns.append(chosen)
    return tuple(chosen_columns), capabilities


def _open_column(machine: Machine, capabilities: Capabilities, wanted: EventSet, column: SetColumn,
                 taken: Collection[ColumnId]) -> tuple[ChosenColumn, Capabilities]:
    if not column.alternatives:
        if column.name not in taken:
            raise AddError(f"the set {wanted.name} means the column {column.name}, and there is none")
        return ChosenColumn(column.name, None, None, ()), capabilities
    if column.name in taken:
        raise AddError(f"there is a column {column.name} already: remove it before the set {wanted.name} is added")
    refused: list[tuple[Alternative, Unavailable]] = []
    for alternative in column.alternatives:
        why = _unsuited(machine, alternative)
        if why is None:
            request = _request(wanted, column, alternative)
            try:
                added, after = open_request(machine, capabilities, request, taken)
            except AddError as error:  # this machine's kernel does not have the name
                why = Unavailable(Reason.NO_HARDWARE, str(error).rstrip("."))
            else:
                lacking = (need for need in added.columns[0].needs if need not in after.signals)
                why = next((after.why_missing(need) for need in lacking), None)
                if why is None:
                    return ChosenColumn(column.name, added, alternative, tuple(refused)), after
        refused.append((alternative, why))
    closest, why = _closest(machine, refused)
    if len(refused) > 1:
        ways = f"none of {len(refused)} ways to count {column.name} works here: {why.detail}"
        why = Unavailable(why.reason, ways, why.remedy or f"turbotui events sets {wanted.name} lists them")
    request = _request(wanted, column, closest)
    source = EventSource(request, refused=why)
    shown = event_column(request.columns[0], replace(request, others=()), {}, {})
    added = AddedEvents(request, source, (shown,))
    return ChosenColumn(column.name, added, None, tuple(refused), why), capabilities.plus(machine, source)


def _closest(machine: Machine, refused: Sequence[tuple[Alternative, Unavailable]]) -> tuple[Alternative, Unavailable]:
    """The most telling refusal: of an alternative for this processor, or else for any, with the reasons of all such."""
    suited = [(alternative, why) for alternative, why in refused if alternative.suits(machine.model)]
    made = next(((alternative, why) for alternative, why in suited if alternative.models), None)
    if made is not None or not suited:
        return made or refused[0]
    details = list(dict.fromkeys(why.detail for _one, why in suited))
    if len(details) > 1 and all(detail.startswith(_NO_PMU) for detail in details):
        names = (detail.removeprefix(_NO_PMU).partition(";")[0] for detail in details)
        details = [f"this machine has none of the PMUs {', '.join(names)}"]
    first, why = suited[0]
    return first, replace(why, detail="; ".join(details))


def _unsuited(machine: Machine, alternative: Alternative) -> Unavailable | None:
    if alternative.suits(machine.model):
        return None
    here = model_id(machine.model) or "a processor that does not say what it is"
    return Unavailable(Reason.UNKNOWN_MODEL, f"the set is for {', '.join(alternative.models)}, and this is {here}")


def _request(wanted: EventSet, column: SetColumn, alternative: Alternative) -> EventRequest:
    options = {"unit": column.unit, "help": column.help, "document": alternative.document}
    if column.decimals is not None:
        options["decimals"] = str(column.decimals)
    return formula_request(f"set:{wanted.name}/{column.name}", column.name, alternative.formula, options)
