"""perf raw events of the roofline: what each core's recipe counts of floating-point operations, loads and stores.

Codes and weights: `turbotui.quantities.recipe_table`. A recipe's events go into as few groups as its counters allow;
the kernel takes the groups in turn where they do not all fit, and counts are then scaled and marked as estimates.
"""

from __future__ import annotations

from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.roofline_banks import Bank, banks_of, recipe_of, vector_bits
from turbotui.quantities.recipe_sets import plan_sets
from turbotui.quantities.recipes import Event, Recipe
from turbotui.quantities.roofline import NO_BYTES, NO_FLOPS, VECTOR_BITS, signal_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources import perf_group
from turbotui.sources.perf_group import Times
from turbotui.sources.perf_hardware import time_signals
from turbotui.sources.perf_source import Findings, Offer, OfferGroup, PerfSource, try_offers

_INSTEAD = "a simulated machine has them: turbotui roofline --machine laptop-old -- calculix"


class PerfRoofline(PerfSource):
    """perf's raw events of the roofline recipes."""

    id = "perf-roofline"
    title = "perf roofline"
    gives = "floating-point operations, loads and stores by core"

    def _find(self, machine: Machine) -> Findings:
        facts = circumstances(machine)
        recipe = recipe_of(machine.model)
        if recipe is None:
            why = _no_recipe(machine)
            return Findings((), {NO_FLOPS: why, NO_BYTES: why})
        banks = tuple(banks_of(machine))
        if not banks:
            return Findings((), dict.fromkeys((NO_FLOPS, NO_BYTES), _no_pmu(machine, recipe)))
        signals: dict[SignalId, Signal | Unavailable] = {}
        groups: list[OfferGroup] = []
        notes: list[str] = []
        whys: list[tuple[Unavailable | None, Unavailable | None]] = []
        for bank in banks:
            if not bank.recipe.flops:
                why = _no_events(bank.recipe)
                notes.append(why.detail)
                whys.append((why, why))
                continue
            refused: dict[SignalId, Unavailable] = {}
            for number, events in enumerate(plan_sets(bank.recipe)):
                offers = [Offer(_counter(bank, event), bank.cpus) for event in events]
                usable, missing = try_offers(machine, offers, facts)
                refused |= missing
                if usable:
                    group = f"roofline.{bank.recipe.slug}.{number}"
                    times = Times(f"{group}.enabled", f"{group}.running")
                    groups.append(OfferGroup(usable, times))
                    signals |= time_signals(group, times)
                    named = {signal_of(bank.recipe, event.key): event for event in events}
                    signals |= {offer.event.signal: _signal(bank.recipe, offer.event, named[offer.event.signal], times)
                                for offer in usable}
            for signal, why in refused.items():
                signals.setdefault(signal, why)
            notes += _note(bank.recipe, refused)
            if bank.recipe.unverified:
                notes.append(f"{bank.recipe.name}: {bank.recipe.unverified}")
            whys.append(_whys(bank.recipe, refused))
        _say_why(signals, whys)
        if any(width.per_vector for bank in banks for width in bank.recipe.widths):
            signals[VECTOR_BITS] = _vector_length(machine)
        return Findings(tuple(groups), signals, "; ".join(dict.fromkeys(notes)))


def why_uncounted(machine: Machine) -> Unavailable | None:
    """Why this machine's cores have no floating-point events at all, whoever asks; None where they have."""
    recipe = recipe_of(machine.model)
    if recipe is None:
        return _no_recipe(machine)
    banks = tuple(banks_of(machine))
    if not banks:
        return _no_pmu(machine, recipe)
    return None if any(bank.recipe.flops for bank in banks) else _no_events(banks[0].recipe)


def _no_recipe(machine: Machine) -> Unavailable:
    name = machine.model.name or "this processor"
    return Unavailable(Reason.UNKNOWN_MODEL, f"no recipe counts floating-point operations on {name}", _INSTEAD)


def _no_pmu(machine: Machine, recipe: Recipe) -> Unavailable:
    if machine.model.hypervisor:
        reason, why = Reason.VIRTUALISED, "this virtual machine is not given the cores' counters"
    else:
        reason, why = Reason.NO_HARDWARE, "the kernel has no such PMU for this processor"
    events = ", ".join(dict.fromkeys(event.name.split(",")[0] for event in recipe.events))
    return Unavailable(reason, f"perf {' or '.join(recipe.pmu)} ({events}): {why}", _INSTEAD)


def _no_events(recipe: Recipe) -> Unavailable:
    return Unavailable(Reason.NO_HARDWARE, f"{recipe.name}: {recipe.note}", _INSTEAD)


def _counter(bank: Bank, event: Event) -> perf_group.Event:
    return perf_group.Event(signal_of(bank.recipe, event.key), bank.attr(event), bank.title(event))


def _signal(recipe: Recipe, event: perf_group.Event, facts: Event, times: Times) -> Signal:
    weight = next((term.weight for term in recipe.flops if term.event == facts.key), None)
    each = "" if weight is None else f"; each counts for {weight:g} operation{'' if weight == 1 else 's'}"
    return Signal(
        id=event.signal,
        scope=Scope.CPU,
        unit=Unit.COUNT,
        behavior=Behavior.COUNTER,
        reduce=Reduce.SUM,
        origin=event.title,
        document=f"{recipe.source}{each}",
        enabled=times.enabled,
        running=times.running,
    )


def _vector_length(machine: Machine) -> Signal:
    return Signal(
        id=VECTOR_BITS,
        scope=Scope.CPU,
        unit=Unit.COUNT,
        behavior=Behavior.CONSTANT,
        reduce=Reduce.SAME,
        origin="/proc/sys/abi/sve_default_vector_length (128 bits where there is none)",
        document="kernel Documentation/arch/arm64/sve.rst",
        constant=vector_bits(machine.host),
    )


def _whys(recipe: Recipe, refused: dict[SignalId, Unavailable]) -> tuple[Unavailable | None, Unavailable | None]:
    """Why operations and why bytes cannot be counted by a recipe; None for what can."""
    def why(keys: set[str]) -> Unavailable | None:
        return next((refused[name] for name in (signal_of(recipe, key) for key in sorted(keys - recipe.optional))
                     if name in refused), None)

    flops = why({term.event for term in recipe.flops})
    exact = bool(recipe.exact_bytes) and not any(
        signal_of(recipe, term.event) in refused for term in recipe.exact_bytes)
    size = why({term.event for term in recipe.accesses} | {width.event for width in recipe.widths})
    if not recipe.widths:
        size = Unavailable(Reason.NO_HARDWARE, f"{recipe.name}: {recipe.note}",
                           "give the width: w on the roofline screen, turbotui roofline --width BYTES")
    return flops, flops or (None if exact else size)


def _note(recipe: Recipe, refused: dict[SignalId, Unavailable]) -> list[str]:
    """What the doctor says of a recipe of which something is missing."""
    return [f"{recipe.name}: {why.detail}" for why in dict.fromkeys(_whys(recipe, refused)) if why is not None]


def _say_why(signals: dict[SignalId, Signal | Unavailable],
             whys: list[tuple[Unavailable | None, Unavailable | None]]) -> None:
    """Reasons for what no bank can count."""
    for name, position in ((NO_FLOPS, 0), (NO_BYTES, 1)):
        reasons = [pair[position] for pair in whys]
        missing = [why for why in reasons if why is not None]
        if len(missing) == len(reasons):
            signals[name] = missing[0]
