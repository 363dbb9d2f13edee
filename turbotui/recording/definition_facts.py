"""Converts definitions of sources, counted beside the catalog, to and from JSON (docs/specs/journal.md 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.errors import UsageError
from turbotui.quantities.added import AddedCounter, EventAt, FileAt, Place, RegisterAt, Shape, TelemetryAt, Ticks
from turbotui.quantities.definition import CountedEvents, CountedUnits, Definition
from turbotui.quantities.event_columns import EventColumn, EventRequest, Parts
from turbotui.quantities.event_traits import EventTraits
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.scope import Scope
from turbotui.quantities.spies import Spy, SpyPlan, Target
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, whole

_COUNTER, _EVENTS, _UNITS, _SPIES = "counter", "events", "units", "spies"


def definition_facts(definition: Definition) -> dict[str, object]:
    """Convert a definition to JSON: one entry, whose name tells the kind."""
    if isinstance(definition, AddedCounter):
        return {_COUNTER: _counter_facts(definition)}
    if isinstance(definition, CountedEvents):
        return {_EVENTS: _events_facts(definition)}
    if isinstance(definition, CountedUnits):
        return {_UNITS: {"pmu": definition.pmu, "number": definition.number, "units": definition.units,
            "bundles": definition.bundles, "settings": {name: hex(value) for name, value in definition.settings}}}
    return {_SPIES: {
        "reference": definition.reference,
        "spies": [{"on": spy.on.text, "cpus": None if spy.on.cpus is None else sorted(spy.on.cpus),
                   "package": spy.on.package, "core": spy.on.core, "sets": spy.sets, "split": spy.split}
                  for spy in definition.spies],
    }}


def definition_from(stored: JsonValue) -> Definition | None:
    """Restore the definition of `definition_facts`; None for a kind that a later version added.

    Raises:
        DamagedError: it is none.
    """
    entries = stored.entries()
    kind = next((name for name in _KINDS if name in entries), None)
    if kind is None:
        return None
    try:
        return _KINDS[kind](entries[kind])
    except UsageError as error:
        raise DamagedError(f"{stored.where} of the recording cannot be: {error}") from error


def _counter_facts(counter: AddedCounter) -> dict[str, object]:
    by_instance = counter.by_instance or {}
    return {"name": counter.name, "scope": counter.scope.value, "width": counter.width, "ticks": counter.ticks.value,
            "shape": counter.shape.value, "place": _place_facts(counter.place),
            "by_instance": {str(number): _place_facts(place) for number, place in by_instance.items()}}


def _counter_from(stored: JsonValue) -> AddedCounter:
    places = {whole(number): _place_from(place) for number, place in stored["by_instance"].entries().items()}
    by_instance = {number: place for number, place in places.items() if isinstance(place, TelemetryAt)}
    width = stored["width"].integer()
    if not 0 < width <= 64 or len(by_instance) < len(places):
        raise DamagedError(f"{stored.where} of the recording is no counter")
    return AddedCounter(stored["name"].text(), _place_from(stored["place"]), stored["scope"].one_of(Scope), width,
                        stored["ticks"].one_of(Ticks), stored["shape"].one_of(Shape), by_instance or None)


def _place_facts(place: Place) -> dict[str, object]:
    if isinstance(place, RegisterAt):
        return {"register": hex(place.address)}
    if isinstance(place, FileAt):
        return {"file": place.path}
    if isinstance(place, EventAt):
        return {"pmu": place.device, "event": place.event}
    return {"guid": hex(place.guid), "sequence": place.sequence, "path": place.path, "offset": hex(place.offset),
            "lsb": place.lsb, "msb": place.msb}


def _place_from(stored: JsonValue) -> Place:
    register, path, pmu = (stored.get(name) for name in ("register", "file", "pmu"))
    if register is not None:
        return RegisterAt(_hexadecimal(register))
    if path is not None:
        return FileAt(path.text())
    if pmu is not None:
        return EventAt(pmu.text(), stored["event"].text())
    return TelemetryAt(_hexadecimal(stored["guid"]), stored["sequence"].integer(), stored["path"].text(),
                       _hexadecimal(stored["offset"]), stored["lsb"].integer(), stored["msb"].integer())


def _events_facts(counted: CountedEvents) -> dict[str, object]:
    request = counted.request
    columns = [{
        "name": column.name, "event": column.event, "formula": None if column.formula is None else column.formula.text,
        "rate": column.rate, "unit": column.unit, "decimals": column.decimals, "help": column.help,
        "document": column.document,
        **_metric_facts(column),
    } for column in request.columns]
    traits = {event: {"scope": trait.scope.value, "unit": trait.unit, "level": trait.level, "scaled": trait.scaled}
              for event, trait in counted.traits.items()}
    return {"text": request.text, "items": request.items, "events": request.events, "others": request.others,
            "together": request.together, "columns": columns, "traits": traits,
            **({"raw": True} if request.raw else {})}


def _metric_facts(column: EventColumn) -> dict[str, object]:
    """Return the facts of a vendor's metric beside its formula; none for other columns."""
    facts: dict[str, object] = {}
    if column.parts:
        facts["parts"] = {name: part.text for name, part in column.parts}
    if column.rule is not None:
        facts["rule"] = column.rule.text
        facts["rule_parts"] = {name: part.text for name, part in column.rule_parts}
    return {**facts, "whole": True} if column.whole else facts


def _events_from(stored: JsonValue) -> CountedEvents:
    columns = tuple(_column_from(value) for value in stored["columns"].items())
    request = EventRequest(stored["text"].text(), stored["items"].texts(), stored["events"].texts(), columns,
                           stored["others"].texts(), stored["together"].flag(),
                           stored.optional("raw", JsonValue.flag, False))
    names = {name for column in columns if column.formula is not None for name in (*column.names, *column.rule_names)}
    plain = {column.event for column in columns if column.formula is None}
    if not columns or not plain <= {*request.events} or not names <= {*request.events, *request.others, "dt"}:
        raise DamagedError(f"{stored.where} of the recording is no request for events")
    traits = {event: EventTraits(trait["scope"].one_of(Scope), trait["unit"].text(), trait["level"].flag(),
                                 trait["scaled"].flag()) for event, trait in stored["traits"].entries().items()}
    return CountedEvents(request, traits)


def _column_from(stored: JsonValue) -> EventColumn:
    return EventColumn(
        stored["name"].text(), stored["event"].text(), stored.optional("formula", _expression_from, None),
        stored["rate"].flag(), stored["unit"].text(), stored.optional("decimals", _decimals_from, None),
        stored["help"].text(), stored["document"].text(), stored.optional("parts", _parts_from, ()),
        stored.optional("rule", _expression_from, None), stored.optional("rule_parts", _parts_from, ()),
        stored.optional("whole", JsonValue.flag, False))


def _decimals_from(stored: JsonValue) -> int:
    return max(0, min(9, stored.integer()))


def _expression_from(stored: JsonValue) -> Expression:
    return parse_expression(stored.text())


def _parts_from(stored: JsonValue) -> Parts:
    return tuple((name, _expression_from(part)) for name, part in stored.entries().items())


def _units_from(stored: JsonValue) -> CountedUnits:
    settings = tuple((name, _hexadecimal(value)) for name, value in stored["settings"].entries().items())
    return CountedUnits(stored["pmu"].text(), stored["number"].integer(), stored["units"].texts(),
                        tuple(bundle.texts() for bundle in stored["bundles"].items()), settings)


def _spies_from(stored: JsonValue) -> SpyPlan:
    return SpyPlan(tuple(_spy_from(value) for value in stored["spies"].items()), stored["reference"].text())


def _spy_from(stored: JsonValue) -> Spy:
    cpus = stored.optional("cpus", JsonValue.integers, None)
    target = Target(stored["on"].text(), None if cpus is None else frozenset(cpus),
                    stored.optional("package", JsonValue.integer, None),
                    stored.optional("core", JsonValue.integer, None))
    return Spy(target, tuple(value.texts() for value in stored["sets"].items()), stored["split"].flag())


def _hexadecimal(stored: JsonValue) -> int:
    try:
        return int(stored.text(), 16)
    except ValueError:
        raise DamagedError(f"{stored.where} of the recording is no number") from None


_KINDS: Final[Mapping[str, Callable[[JsonValue], Definition]]] = {
    _COUNTER: _counter_from, _EVENTS: _events_from, _UNITS: _units_from, _SPIES: _spies_from,
}
