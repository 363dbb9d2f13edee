"""Every counter source, read through the simulated machine, gives the model's values."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping

import pytest
from host_readers import machine
from knownmachines import known_machine
from model_truth import CpuTruth, PackageTruth, SystemTruth, truth_of

from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Behavior, Raw, Signal
from turbotui.simulated import SHAPES, SimulatedHost
from turbotui.sources import SOURCES
from turbotui.sources.source import Reader, SharedReader, Source

pytestmark = pytest.mark.usefixtures("few_cores")

SECONDS = 3.5


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
    return {name: result for name, result in source.probe(probed).signals.items() if isinstance(result, Signal)}


def readings(reader: Reader | SharedReader) -> dict[str, Raw]:
    """The raw value of every signal on the reader's CPU, or of the first instance."""
    first = [item if isinstance(item, int | str | float | None) else item[0] for item in reader.read()]
    return dict(zip(reader.signals, first, strict=True))


def truths(host: SimulatedHost) -> tuple[CpuTruth, PackageTruth, SystemTruth]:
    """Return the model's values of CPU 0, its package and the machine."""
    truth = truth_of(host)
    return truth.truth(0), truth.package_truth(0), truth.system_truth()


@functools.cache
def compared(name: str) -> Mapping[str, frozenset[str]]:
    """Read each source twice on CPU 0, compare with the model, and return what was compared.

    One after the other: all together would have more events than there are counters, and estimates for some.
    """
    host, clock = machine(name)
    clock.advance(2)
    probed = known_machine(host)
    result: dict[str, frozenset[str]] = {}
    for source in SOURCES:
        signals = usable(source, probed)
        wanted = frozenset(item for item, signal in signals.items() if signal.behavior is Behavior.COUNTER)
        if wanted:
            reader = source.open_shared(probed, wanted) if source.shared else source.open(probed, 0, wanted)
            with contextlib.closing(reader):
                first, old = readings(reader), truths(host)
                clock.advance(SECONDS)
                second, new = readings(reader), truths(host)
            result[source.id] = frozenset(
                item for item in first if agrees(name, signals[item], (first[item], second[item]),
                                                 (expected(item, *old), expected(item, *new))))
    return result


def agrees(name: str, signal: Signal, read: tuple[Raw, Raw], true: tuple[float | None, float | None]) -> bool:
    """Tell whether the model has a signal, and fail if the reading differs."""
    what = f"{signal.id} of {name}"
    if signal.id.startswith(("roofline.client-e.", "roofline.skymont.")) and SHAPES[name].hybrid:
        assert read[0] is None  # CPU 0 is a P core: it has another definition, and signals of its own
        return False
    if signal.id.startswith("meter.gpu.") and None in read:
        return False  # the card sleeps now and then
    delta = signal.delta(*read)
    assert delta is not None, what
    assert delta >= 0, what
    start, end = true
    if start is None or end is None:
        return False
    truth = (end - start) * (SHAPES[name].reference_hz if signal.id.startswith("cstate.") else 1)
    # Each of the two readings was cut to a whole count.
    assert delta == pytest.approx(truth, rel=1e-6, abs=2.5 * abs(signal.scale) + 1e-6), what
    return True


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "big-8s"])
def test_every_source_gives_the_truth(name: str) -> None:
    assert compared(name)


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
    assert signals <= compared(name)[source]


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
