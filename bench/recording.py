"""Measures the cost of recording: CPU time and bytes of a tick, memory of the ring, a day on disk, a jump.

The data are synthetic: 256 CPUs with 43 counters, 40 % of them busy, with noise in every one, which is more than a real
machine has. The entropy of that noise is printed beside what it takes on disk.
`python -m bench.recording --day DIR` writes a day in accelerated time, which takes some minutes; `--keep DIR` writes a
day and an hour as `turbotui record --keep 24h` does, and tells the most that lay on the disk.
"""

from __future__ import annotations

import argparse
import math
import random
import resource
import sys
import tempfile
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from turbotui import recording
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
from turbotui.recording.recorder import Recorder
from turbotui.recording.ring import PastRing
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.recording.tiers import FULL, MINUTE, TEN_SECONDS, Tier
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.source import Probe

CPUS: Final = 256
SECOND: Final = 10**9
_NOON: Final = 1_700_000_000 * SECOND
_UNIFORM: Final = math.sqrt(12.0)  # width of evenly spread noise of standard deviation 1


@dataclass(frozen=True, slots=True)
class _Kind:
    """Counters of one kind: their number, source, increase per second, and noise as a share."""

    name: str
    count: int
    source: str
    rate: float
    noise: float


_KINDS: Final = (
    _Kind("clock", 4, "perf-msr", 2.4e9, 0.05),  # aperf, mperf, instructions, stalls
    _Kind("tsc", 1, "perf-msr", 2.4e9, 1e-6),
    _Kind("cache", 4, "perf-hardware", 3e7, 0.05),
    _Kind("cstate", 4, "perf-cstate", 2.4e9 * 0.2, 0.05),
    _Kind("idle_time", 5, "cpuidle", 1.2e5, 0.05),
    _Kind("idle_usage", 5, "cpuidle", 400.0, 0.05),
    _Kind("stat", 9, "proc-stat", 11.0, 0.05),
    _Kind("irq", 7, "proc-interrupts", 250.0, 0.05),
    _Kind("switches", 2, "perf-software", 3000.0, 0.05),
)


def synthetic_machine() -> tuple[Machine, Capabilities]:
    """Make a machine of 256 CPUs in two packages with 41 counters, a temperature and an energy meter."""
    topology = topology_of(
        CpuPlace(cpu, cpu % 128 // 64, 0, 0, cpu % 128 // 64, 0, cpu % 64, smt=cpu // 128) for cpu in range(CPUS)
    )
    sources: dict[str, dict[SignalId, Signal]] = {}
    for kind in _KINDS:
        for number in range(kind.count):
            counter = Signal(f"{kind.name}.{number}", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, kind.source)
            sources.setdefault(kind.source, {})[counter.id] = counter
    sources["hwmon"] = {"heat": Signal("heat", Scope.CPU, Unit.CELSIUS, Behavior.GAUGE, Reduce.MAX, "hwmon")}
    sources["msr"] = {"energy": Signal("energy", Scope.CPU, Unit.JOULE, Behavior.COUNTER, Reduce.SUM, "msr",
                                       width_bits=32, scale=2**-16, wrap_seconds=300.0)}
    probes = {name: Probe(signals) for name, signals in sources.items()}
    made = {name: RecordedSource(name, name, "", shared=name.startswith("proc"), counts_from_open=False, probed=probe)
            for name, probe in probes.items()}
    capabilities = Capabilities(
        tuple(made.values()), probes, {item: signal for known in sources.values() for item, signal in known.items()},
        {item: made[name] for name, known in sources.items() for item in known}, {},
    )
    model, rights = CpuModel(name="synthetic"), Privileges(0, 0, None, (64, 64))
    host = RecordedHost("synthetic", HostKind.SIMULATED, rights, wall_ns=_NOON)
    return Machine(host, topology, model, platform_of(model), rights), capabilities


class _Ticks:
    """Snapshots of the synthetic machine, some seconds apart."""

    def __init__(self, topology: Topology, capabilities: Capabilities, seconds: float) -> None:
        self._topology = topology
        self._seconds = seconds
        noise = random.Random(7)
        self._columns = [(name, kind) for kind in _KINDS for name in capabilities.signals if name.startswith(kind.name)]
        self._noise = noise
        self._spreads = {kind.name: [_spread(kind, cpu, seconds) for cpu in range(CPUS)] for kind in _KINDS}
        self._values: dict[SignalId, list[int]] = {
            name: [noise.randrange(1 << 44) for _cpu in range(CPUS)] for name, _kind in self._columns
        }
        self._values["energy"] = [noise.randrange(1 << 32) for _cpu in range(CPUS)]
        self._own = {name: kind.source for name, kind in self._columns} | {"heat": "hwmon", "energy": "msr"}

    def _random(self) -> array[int]:
        """Return 32 random bits for each CPU."""
        return array("I", self._noise.randbytes(4 * CPUS))

    def snapshots(self, count: int) -> Iterator[Snapshot]:
        """Yield this many snapshots."""
        values = self._values
        for number in range(count):
            for name, kind in self._columns:
                spreads = zip(values[name], self._spreads[kind.name], self._random(), strict=True)
                values[name] = [value + least + (width * item >> 32) for value, (least, width), item in spreads]
            random_words = self._random()
            values["energy"] = [
                value + 90_000 + item % 170_000 & 0xFFFF_FFFF
                for value, item in zip(values["energy"], random_words, strict=True)
            ]
            values["heat"] = [45_000 + 1000 * (item % 9) for item in random_words]
            started = round(number * self._seconds * SECOND)
            woken = [started + 30_000 + item % 60_000 for item in self._random()]
            clocks: dict[str, list[int]] = {}
            for at, source in enumerate(dict.fromkeys(self._own.values())):
                if source.startswith("proc"):
                    clocks[source] = [started + 400_000 + random_words[at] % 60_000] * CPUS
                else:  # each source a few us after the one before it
                    woken = [value + 9_000 + item % 1000 for value, item in zip(woken, self._random(), strict=True)]
                    clocks[source] = woken
            raws: dict[SignalId, list[Raw]] = {name: list(column) for name, column in values.items()}
            yield Snapshot(
                seq=number, wall_ns=_NOON + started, started_ns=started, topology=self._topology, values=raws,
                stamps={name: clocks[source] for name, source in self._own.items()}, wraps={"energy": (0,) * CPUS},
            )


def _share(kind: _Kind, cpu: int) -> float:
    """Return a CPU's share of the increase of a busy CPU: two CPUs of five are busy, the others idle."""
    busy = cpu * 2 % 5 < 2
    if kind.name == "tsc" or kind.name.startswith("stat"):
        return 1.0
    return (1.0 if busy else 4.0) if kind.name.startswith(("idle", "cstate")) else (1.0 if busy else 0.02)


def entropy(tier: Tier) -> float:
    """Return the bytes of noise in each value, or what a tier's significant bits leave of it, including time stamps."""
    bits = 0.0
    for kind in _KINDS:
        for cpu in range(CPUS):
            least, width = _spread(kind, cpu, tier.seconds or 1.0)
            unit = 2.0 ** max(0, (least + width // 2).bit_length() - tier.significant) if tier.significant else 1.0
            bits += kind.count * math.log2(max(1.0, width / unit))
    stamps = math.log2(60_000) + 4 * math.log2(1000) if not tier.significant else 0.0
    bits += CPUS * (math.log2(170_000) + math.log2(9) + stamps)
    return bits / 8 / (CPUS * (2 + sum(kind.count for kind in _KINDS)))


def _spread(kind: _Kind, cpu: int, seconds: float) -> tuple[int, int]:
    """Return the least increase of a counter in this many seconds, and the range above it."""
    mean = kind.rate * _share(kind, cpu) * seconds
    width = mean * kind.noise * _UNIFORM
    return round(mean - width / 2), round(width)


def synthetic_frames(count: int, seconds: float = 1.0) -> tuple[Machine, Iterator[Frame]]:
    """Make the synthetic machine, and this many frames of it."""
    machine, capabilities = synthetic_machine()
    maker = FrameMaker()
    ticks = _Ticks(machine.topology, capabilities, seconds).snapshots(count)
    return machine, (maker.frame(snapshot, capabilities) for snapshot in ticks)


@dataclass(frozen=True, slots=True)
class RecordingCost:
    """The cost of a tick.

    Attributes:
        milliseconds: CPU time of one tick, all of it in Python.
        bytes_a_value: on disk.
        megabytes_a_day: at this interval.
    """

    tier: str
    milliseconds: float
    bytes_a_value: float
    megabytes_a_day: float


def recording_cost(tier: Tier, ticks: int) -> RecordingCost:
    """Record this many ticks of a tier to a file, and measure the time and the file's length."""
    seconds = tier.seconds or 1.0
    machine, frames = synthetic_frames(ticks, seconds)
    used, size, cells = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(f"{folder}/cost.ttj", machine, tier=tier)
        for number, frame in enumerate(frames):
            if number == 1:
                size, used = recorder.size, 0.0
            cells = sum(map(len, frame.newer.values.values()))
            before = time.process_time()
            recorder.take(frame)
            used += time.process_time() - before
        size = recorder.size - size
        recorder.close()
    each = size / (ticks - 1)
    return RecordingCost(tier.name, 1e3 * used / (ticks - 1), each / cells, each * 86_400 / seconds / 1e6)


def ring_megabytes(ticks: int) -> tuple[float, float, float]:
    """Return the memory of a full ring, and the milliseconds of CPU time of a tick and of a step into the past."""
    _machine, frames = synthetic_frames(ticks)
    ring, used = PastRing(), 0.0
    before = 0
    for number, frame in enumerate(frames):
        if number == 1:
            before = _resident()
        began = time.process_time()
        ring.take(frame)
        used += time.process_time() - began
    times = ring.times
    began = time.perf_counter()
    ring.frame(times[len(times) // 2])
    step = time.perf_counter() - began
    return (_resident() - before) / 1e6, 1e3 * used / ticks, 1e3 * step


def jump_milliseconds(path: str) -> tuple[float, float]:
    """Measure opening a recording and jumping to its middle: the first time, and the median of other jumps."""
    began = time.perf_counter()
    with recording.read(path) as journal:
        first, last = journal.first_ns, journal.last_ns
        journal.frame_at((first + last) // 2)
        opened = time.perf_counter() - began
        chosen, jumps = random.Random(3), []
        for _ in range(20):
            moment = chosen.randrange(first, last)
            began = time.perf_counter()
            journal.frame_at(moment)
            jumps.append(time.perf_counter() - began)
    return 1e3 * opened, 1e3 * sorted(jumps)[len(jumps) // 2]


def write_day(folder: str, hours: float = 24.0) -> str:
    """Record a day of every second in accelerated time, and return the path."""
    path = str(Path(folder) / "day.ttj")
    machine, frames = synthetic_frames(round(hours * 3600))
    recorder = Recorder(path, machine)
    for frame in frames:
        recorder.take(frame)
    recorder.close()
    return path


def keep_day(folder: str, hours: float = 25.0) -> tuple[str, int]:
    """Record a simulated day as `record --keep 24h` does, and return the path and the greatest size of all files."""
    path, most = str(Path(folder) / "kept.ttj"), 0
    machine, frames = synthetic_frames(round(hours * 3600))
    recorder = RotatingRecorder(path, machine, Retention(86_400.0))
    for number, frame in enumerate(frames):
        recorder.take(frame)
        if number % 60 == 0:
            most = max(most, recorder.size)
    recorder.close()
    return path, most


def print_recording(ticks: int) -> None:
    """Print the cost of recording."""
    for tier, count in ((FULL, ticks), (TEN_SECONDS, ticks // 2), (MINUTE, ticks // 2)):
        cost = recording_cost(tier, count)
        print(f"  {tier.name:<34} {cost.milliseconds:8.2f} ms a tick   {cost.bytes_a_value:.2f} bytes a value "
              f"(entropy {entropy(tier):.2f})   "
              f"{cost.megabytes_a_day:.0f} MB a day")
    with tempfile.TemporaryDirectory() as folder:
        opened, jump = jump_milliseconds(write_day(folder, ticks / 3600))
    print(f"  {'open and jump, then jump':<34} {opened:8.1f} ms   {jump:.1f} ms")


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.recording", description=__doc__)
    parser.add_argument("--day", metavar="DIR", help="write a day of 1 Hz there, and jump into it")
    parser.add_argument("--keep", metavar="DIR", help="write a day and an hour there, and keep a day in tiers")
    parser.add_argument("--ring", type=int, metavar="TICKS", help="fill the ring with so many ticks")
    parser.add_argument("--ticks", type=int, default=600)
    arguments = parser.parse_args()
    if arguments.day:
        path = write_day(arguments.day)
        print(f"a day: {Path(path).stat().st_size / 1e6:.0f} MB; open and jump, then jump: "
              "{:.1f} ms, {:.1f} ms".format(*jump_milliseconds(path)))
    elif arguments.keep:
        path, most = keep_day(arguments.keep)
        print(f"a day in tiers: {most / 1e6:.0f} MB at most; open and jump, then jump: "
              "{:.1f} ms, {:.1f} ms".format(*jump_milliseconds(path)))
    elif arguments.ring:
        print("the ring: {:.1f} MB, {:.2f} ms a tick, {:.1f} ms a jump".format(*ring_megabytes(arguments.ring)))
    else:
        print_recording(arguments.ticks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
