"""Every counter source, read through the simulated machine, gives the truth."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from knownmachines import known_machine
from model_truth import CpuTruth, PackageTruth, SystemTruth, truth_of
from sim import machine

from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Behavior, Raw, Signal
from turbotui.simulated import SHAPES
from turbotui.sources import SOURCES
from turbotui.sources.source import Source

SECONDS = 17.5


def expected(signal: str, cpu: CpuTruth, package: PackageTruth, system: SystemTruth) -> float | None:
    """The truth's cumulative value of a signal, None where the truth does not keep it."""
    if signal.startswith("cpuidle.") and signal.endswith(".time"):
        return cpu.idle_seconds[int(signal.split(".")[1].removeprefix("state"))]
    if signal.startswith("cstate.pkg.c"):
        return package.states[int(signal.removeprefix("cstate.pkg.c"))]
    known = {
        "tsc": cpu.tsc,
        "aperf": cpu.aperf,
        "instructions": cpu.instructions,
        "cycles": cpu.cycles,
        "energy.pkg": package.joules,
        "energy.cores": package.cores_joules,
        "energy.gpu": package.gpu_joules,
        "energy.ram": package.ram_joules,
        "energy.core": cpu.core_joules,
        "energy.psys": system.psys_joules,
        "switches": cpu.switches,
        "migrations": cpu.migrations,
        "stat.ctxt": system.switches,
    }
    return known.get(signal)


def usable(source: Source, probed: Machine) -> dict[str, Signal]:
    return {name: found for name, found in source.probe(probed).signals.items() if isinstance(found, Signal)}


def readings(source: Source, probed: Machine, cpu: int, wanted: frozenset[str]) -> Callable[[], dict[str, Raw]]:
    """Opens a source; each call then gives the raw value of every signal on that CPU (or of the first instance)."""
    if source.shared:
        shared = source.open_shared(probed, wanted)
        return lambda: {name: column[0] for name, column in zip(shared.signals, shared.read(), strict=True)}
    reader = source.open(probed, cpu, wanted)
    return lambda: dict(zip(reader.signals, reader.read(), strict=True))


def compare(name: str, source: Source) -> set[str]:
    """Reads a source twice on CPU 0, checks what the truth knows, and gives the signals that were checked."""
    host, clock = machine(name)
    clock.advance(2)
    probed = known_machine(host)
    signals = usable(source, probed)
    wanted = frozenset(one for one, signal in signals.items() if signal.behavior is Behavior.COUNTER)
    if not wanted:
        return set()
    read = readings(source, probed, 0, wanted)
    first, old = read(), (truth_of(host).truth(0), truth_of(host).package_truth(0), truth_of(host).system_truth())
    clock.advance(SECONDS)
    second, new = read(), (truth_of(host).truth(0), truth_of(host).package_truth(0), truth_of(host).system_truth())
    checked: set[str] = set()
    for one, before in first.items():
        if one.startswith(("roofline.client-e.", "roofline.skymont.")) and SHAPES[name].hybrid:
            assert before is None  # CPU 0 is a P core: it has another definition, and signals of its own
            continue
        delta = signals[one].delta(before, second[one])
        assert delta is not None, one
        assert delta >= 0, one
        start, end = expected(one, *old), expected(one, *new)
        if start is None or end is None:
            continue
        truth = (end - start) * (SHAPES[name].reference_hz if one.startswith("cstate.") else 1)
        # Each of the two readings was cut to a whole count.
        assert delta == pytest.approx(truth, rel=1e-6, abs=2.5 * abs(signals[one].scale) + 1e-6), one
        checked.add(one)
    return checked


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "big-8s"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.id)
def test_a_source_gives_the_truth(name: str, source: Source) -> None:
    compare(name, source)


@pytest.mark.parametrize(
    ("name", "source", "signals"),
    [
        ("sapphire-2s", "perf-msr", {"tsc", "aperf"}),
        ("sapphire-2s", "msr", {"tsc", "aperf", "energy.pkg", "energy.ram", "energy.psys"}),
        ("laptop-old", "perf-cstate", {f"cstate.pkg.c{n}" for n in (2, 3, 6, 7, 8, 9, 10)}),
        ("laptop", "perf-power", {"energy.pkg", "energy.cores", "energy.gpu", "energy.ram", "energy.psys"}),
        ("turin-2s", "msr", {"energy.core", "energy.pkg"}),
        ("grace-2s", "perf-hardware", {"instructions"}),
        ("guest", "perf-software", {"switches", "migrations"}),
        ("guest", "proc-stat", {"stat.ctxt"}),
        ("laptop", "powercap", {"energy.pkg", "energy.psys"}),
    ],
)
def test_the_comparison_covers_what_matters(name: str, source: str, signals: set[str]) -> None:
    assert signals <= compare(name, next(one for one in SOURCES if one.id == source))


def test_together_the_machines_offer_every_counter_kind() -> None:
    seen: set[str] = set()
    for name in SHAPES:
        if name != "big-8s":
            probed = known_machine(machine(name)[0])
            for source in SOURCES:
                seen |= set(usable(source, probed))
    wanted = {f"cstate.pkg.c{n}" for n in (2, 3, 6, 7, 8, 9, 10)} | {f"cstate.core.c{n}" for n in (1, 3, 6, 7)}
    wanted |= {
        "cstate.module.c6",
        "energy.core",
        "energy.cores",
        "energy.gpu",
        "energy.psys",
        "energy.ram",
        "energy.pkg",
    }
    wanted |= {"temp.core", "temp.pkg", "temp.ccd", "throttle.core.count", "throttle.pkg.time", "limit.pkg.pl1"}
    wanted |= {"aperf", "mperf", "tsc", "smi", "instructions", "cache.references", "switches", "stat.steal", "irq.nmi"}
    assert wanted <= seen
