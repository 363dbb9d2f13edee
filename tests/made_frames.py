"""Frames of a small machine that is nothing but numbers, made tick by tick: cheap enough for thousands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostKind, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, Topology, topology_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.recording.recorded_host import RecordedHost
from turbotui.recording.recorded_source import RecordedSource
from turbotui.recording.tick_decoder import TickDecoder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.source import Probe

SECOND = 10**9
NOON = 1_700_000_000 * SECOND
"""Wall clock of the first tick."""

SIGNALS: tuple[Signal, ...] = (
    Signal("work", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "work of cpu {cpu}"),
    Signal("energy", Scope.PACKAGE, Unit.JOULE, Behavior.COUNTER, Reduce.SUM, "energy", width_bits=32, scale=0.5,
           wrap_seconds=60.0),
    Signal("heat", Scope.CORE, Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX, "heat", scale=0.001),
    Signal("word", Scope.CPU, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "word"),
)


def topology_of_cpus(cpus: Sequence[int]) -> Topology:
    return topology_of(CpuPlace(cpu, 0, 0, 0, 0, 0, cpu // 2, smt=cpu % 2) for cpu in cpus)


def capabilities() -> Capabilities:
    probe = Probe({signal.id: signal for signal in SIGNALS})
    source = RecordedSource("made", "made", "numbers", shared=False, counts_from_open=True, probed=probe)
    return Capabilities((source,), {"made": probe}, {signal.id: signal for signal in SIGNALS},
                        {signal.id: source for signal in SIGNALS}, {})


CAPABILITIES = capabilities()


def machine(topology: Topology) -> Machine:
    model = CpuModel(vendor="GenuineIntel", family=6, model=85, name="made")
    rights = Privileges(0, 0, None, (64, 64))
    host = RecordedHost("made", HostKind.SIMULATED, rights, wall_ns=NOON)
    return Machine(host, topology, model, platform_of(model), rights)


def snapshot(number: int, topology: Topology, *, started_ns: int | None = None, wall_ns: int | None = None,
             fresh: Mapping[SignalId, frozenset[int]] | None = None) -> Snapshot:
    """Tick `number`, one a second: each CPU works 1000 a second and as much as its number more."""
    started = number * SECOND if started_ns is None else started_ns
    cpus = topology.cpus
    cores = topology.instances(Scope.CORE)
    values: dict[SignalId, list[Raw]] = {
        "work": [(1000 + cpu) * number for cpu in cpus],
        "energy": [(7 * number) & 0xFFFF_FFFF],
        "heat": [40_000 + number % 5 if core.cpus[0] else -number for core in cores],
        "word": ["odd" if (number + cpu) % 2 else None for cpu in cpus],
    }
    stamps = [started + 1000 + cpu for cpu in cpus]
    return Snapshot(
        seq=number, wall_ns=NOON + started if wall_ns is None else wall_ns, started_ns=started, topology=topology,
        values=values,
        stamps={"work": stamps, "word": stamps, "energy": [started + 5], "heat": [started + 7] * len(cores)},
        wraps={"energy": (number * 7 >> 32,)}, fresh=fresh or {},
    )


def frames(count: int, topology: Topology | None = None, *, first: int = 0) -> Iterator[Frame]:
    """Frames of that many ticks behind each other."""
    maker, there = FrameMaker(), topology or topology_of_cpus(range(4))
    for number in range(first, first + count):
        yield maker.frame(snapshot(number, there), CAPABILITIES)


def frames_of(snapshots: Sequence[Snapshot]) -> list[Frame]:
    maker = FrameMaker()
    return [maker.frame(item, CAPABILITIES) for item in snapshots]


def said(frame: Frame) -> tuple[object, ...]:
    """Return the content of a frame in a comparable form."""
    newer = frame.newer
    return (
        newer.seq, newer.wall_ns, newer.started_ns, newer.topology, newer.fresh, frame.seconds,
        {name: list(column) for name, column in newer.values.items()},
        {name: list(newer.stamps[name]) for name in newer.stamps},
        {name: list(newer.wraps[name]) for name in newer.wraps},
        [(frame.deltas(name), frame.rates(name)) for name in ("work", "energy")],
        frame.levels("heat"), frame.texts("word"),
    )


def decoded(action: Callable[[], object]) -> int:
    """Count the ticks that an action decodes."""
    return calls_of(TickDecoder.decode, action)


def calls_of(function: Callable[..., object], action: Callable[[], object]) -> int:
    """Count how often an action calls a function."""
    count, code = 0, function.__code__

    def called(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code is code

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count
