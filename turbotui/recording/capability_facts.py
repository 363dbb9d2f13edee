"""Converts capabilities to and from JSON: signals, sources and reasons as probed (docs/specs/journal.md 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from typing import Any, Final, Generic, TypeVar

from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Unavailable
from turbotui.quantities.units import Unit
from turbotui.recording.definition_facts import definition_facts, definition_from
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_from, whole
from turbotui.recording.recorded_source import RecordedSource
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.proc_stat import times_together
from turbotui.sources.second_source import SecondSource
from turbotui.sources.source import Defined, Probe, Source

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_MOST_SOURCES: Final = 4_096
"""The most sources of a layout; 1,024 CPUs with every uncore PMU have 132, and each added column is one more."""
_MOST_READ: Final = 1 << 15
"""The most signals, and reasons, of a layout; 224 CPUs with every uncore counter have 4,000. One takes 5 us to read."""

_USUAL: Final = {field.name: field.default for field in fields(Signal) if field.default is not MISSING}


def capability_facts(capabilities: Capabilities) -> dict[str, object]:
    """Convert capabilities to JSON: signals and reasons are two lists, which the rest refers to by number."""
    signals: dict[Signal, int] = {}
    reasons: dict[Unavailable, int] = {}

    def reason(why: Unavailable) -> int:
        return reasons.setdefault(why, len(reasons))

    def signal(signal: Signal) -> int:
        for why in signal.absent.values():
            reason(why)
        return signals.setdefault(signal, len(signals))

    sources = [_source_facts(source, capabilities.sources) for source in capabilities.sources]
    numbers = {source.id: number for number, source in enumerate(capabilities.sources)}
    probes = {
        name: {
            "note": probe.note,
            "signals": {name: signal(entry) for name, entry in probe.signals.items()
                        if isinstance(entry, Signal) and not entry.made_of},  # whoever reads this makes them again
            "missing": {name: reason(entry) for name, entry in probe.signals.items() if isinstance(entry, Unavailable)},
        }
        for name, probe in capabilities.probes.items()
    }
    chosen = {name: [signal(signal_of), numbers[capabilities.provider[name].id]] for name,
              signal_of in capabilities.signals.items()
              if not signal_of.made_of}
    missing = {name: reason(why) for name, why in capabilities.missing.items()}
    disbelieved = {name: reason(why) for name, why in capabilities.disbelieved.items()}
    return {
        "sources": sources, "probes": probes, "chosen": chosen, "missing": missing, "disbelieved": disbelieved,
        "beside": {name: list(others) for name, others in capabilities.beside.items()},
        "remarks": dict(capabilities.remarks),
        "signals": [_signal_facts(signal, reasons) for signal in signals],
        "reasons": [[why.reason.value, why.detail, why.remedy] for why in reasons],
    }


def capabilities_from(stored: JsonValue, known: Sequence[Capabilities] = (),
                      reason: Callable[[JsonValue], Unavailable] = reason_from) -> Capabilities:
    """Restore the capabilities of `capability_facts`; their sources read nothing.

    Args:
        stored: the JSON document of the capabilities.
        known: capabilities of other layouts, whose reasons stand in for equal new ones.
        reason: reads a reason.

    Raises:
        DamagedError: they are none.
    """
    reasons = _Numbered(stored["reasons"], reason)
    signals = _Numbered(stored["signals"], lambda stored_signal: _signal_from(stored_signal, reasons))
    probes = {name: Probe({**signals.named(probe["signals"]), **reasons.named(probe["missing"])},
                          probe["note"].text()) for name, probe in stored["probes"].entries().items()}
    missing = reasons.named(stored["missing"])
    sources: list[Source] = []
    if len(listed := stored["sources"].items()) > _MOST_SOURCES:
        raise DamagedError(f"{stored.where} of the recording has {len(listed):,} sources")
    for value in listed:
        sources.append(_source_from(value, probes, sources))
    chosen = {name: pair.items() for name, pair in stored["chosen"].entries().items()}
    if any(len(pair) != 2 for pair in chosen.values()):
        raise DamagedError("a signal of the recording has no source")
    read = {name: signals[pair[0].integer()] for name, pair in chosen.items()}
    made = times_together(read)
    provider = {name: _at(sources, pair[1]) for name, pair in chosen.items()}
    capabilities = Capabilities(
        sources=tuple(sources),
        probes=probes,
        signals=read | made,
        provider=provider | {name: provider[signal.made_of[0]] for name, signal in made.items()},
        missing=next((capabilities.missing for capabilities in known if capabilities.missing == missing), missing),
        disbelieved=reasons.named(stored["disbelieved"]),
        remarks={name: text.text() for name, text in stored["remarks"].entries().items()},
        beside={name: others.texts() for name, others in stored["beside"].entries().items()},
    )
    _check(capabilities)
    return capabilities


class _Numbered(Generic[T_co]):
    """A list of which each value is read where it is first referred to: a file may list many that nothing needs."""

    def __init__(self, stored: JsonValue, read: Callable[[JsonValue], T_co]) -> None:
        self._stored = stored
        self._read = read
        self._known: dict[int, T_co] = {}

    def __getitem__(self, number: int) -> T_co:
        known = self._known.get(number)
        if known is None:
            if len(self._known) == _MOST_READ:
                raise DamagedError(f"{self._stored.where} of the recording has more than {_MOST_READ:,} values in use")
            known = self._known[number] = self._read(self._stored.item(number))
        return known

    def named(self, table: JsonValue) -> dict[str, T_co]:
        """Return the values that an object of numbers refers to, by its keys."""
        return {name: self[number] for name, number in table.numbers().items()}


def _check(capabilities: Capabilities) -> None:
    """Refuse signals that refer to missing signals."""
    for name, signal in capabilities.signals.items():
        others = (signal.enabled, signal.running, *capabilities.beside.get(name, ()))
        if signal.id != name or any(other and other not in capabilities.signals for other in others):
            raise DamagedError(f"signal {name!r} of the recording refers to what is not there")


def _source_facts(source: Source, sources: Iterable[Source]) -> dict[str, object]:
    facts: dict[str, object] = {"id": source.id, "title": source.title, "gives": source.gives, "shared": source.shared,
                                "from_open": source.counts_from_open}
    if isinstance(source, SecondSource):
        facts["beside"] = next(number for number, source_of in enumerate(sources) if source_of.id == source.source.id)
    definition = source.definition if isinstance(source, Defined) else None
    if definition is not None:
        facts["definition"] = definition_facts(definition)
    return facts


def _source_from(stored: JsonValue, probes: Mapping[str, Probe], before: list[Source]) -> Source:
    name = stored["id"].text()
    probe = probes.get(name, Probe({}))
    if (beside := stored.get("beside")) is not None:
        source = _at(before, beside)
        own = [signal.removesuffix(f"@{source.id}") for signal in probe.signals]
        known = source.probed.signals if isinstance(source, RecordedSource) else {}
        return SecondSource(source, {name: entry for name in own if isinstance(entry := known.get(name), Signal)})
    return RecordedSource(name, stored["title"].text(), stored["gives"].text(), stored["shared"].flag(),
                          stored["from_open"].flag(), probe, stored.optional("definition", definition_from, None))


def _signal_facts(signal: Signal, reasons: Mapping[Unavailable, int]) -> dict[str, object]:
    facts: dict[str, object] = {"id": signal.id, "scope": signal.scope.value, "unit": signal.unit.value,
        "behavior": signal.behavior.value, "reduce": signal.reduce.value, "origin": signal.origin}
    facts |= {name: getattr(signal, name) for name, usual in _USUAL.items() if getattr(signal, name) != usual}
    if isinstance(signal.constant, int):
        facts["constant"] = {"hex": hex(signal.constant)}  # numbers of JSON documents have 63 bits
    if signal.absent:
        facts["absent"] = {str(cpu): reasons[why] for cpu, why in signal.absent.items()}
    return facts


def _signal_from(stored: JsonValue, reasons: _Numbered[Unavailable]) -> Signal:
    signal = Signal(
        id=stored["id"].text(), scope=stored["scope"].one_of(Scope), unit=stored["unit"].one_of(Unit, Unit.COUNT),
        behavior=stored["behavior"].one_of(Behavior), reduce=stored["reduce"].one_of(Reduce),
        origin=stored["origin"].text(),
        **{name: read(value) for name, read in _OTHERS.items() if (value := stored.get(name)) is not None},
    )
    if (absent := stored.get("absent")) is not None:
        signal = replace(signal, absent={whole(cpu): reasons[why] for cpu, why in absent.numbers().items()})
    plain = signal.origin.replace("{cpu}", "")
    if "{" in plain or "}" in plain:  # the CPU is filled in when the reason is shown
        raise DamagedError(f"the origin of {signal.id!r} in the recording cannot be: {signal.origin[:80]!r}")
    if not 0 < signal.width_bits <= 64 or not 0 <= signal.low_bit < 64:
        raise DamagedError(f"{signal.id!r} of the recording has {signal.width_bits} bits from bit {signal.low_bit} on")
    if not 0 <= signal.values <= 1 << signal.width_bits:
        raise DamagedError(f"{signal.id!r} of the recording has {signal.values} values of {signal.width_bits} bits")
    return signal


def _constant(stored: JsonValue) -> Raw:
    if isinstance(stored.value, str):
        return stored.text()
    text = stored["hex"].text()
    try:
        return int(text, 16)
    except ValueError:
        raise DamagedError(f"{stored.where} of the recording is no number: {text[:40]!r}") from None


_OTHERS: Final[Mapping[str, Callable[[JsonValue], Any]]] = {
    "document": JsonValue.text, "width_bits": JsonValue.integer, "low_bit": JsonValue.integer,
    "scale": JsonValue.number, "offset": JsonValue.number, "readers": JsonValue.integers, "constant": _constant,
    "enabled": JsonValue.text, "running": JsonValue.text, "wrap_seconds": JsonValue.number,
    "values": JsonValue.integer,
}
"""The attributes of a signal that usually have their default, and how each is read."""


def _at(items: Sequence[T], number: JsonValue) -> T:
    position = number.integer()
    if not 0 <= position < len(items):
        raise DamagedError(f"{number.where} of the recording is beyond the {len(items)} that there are")
    return items[position]
