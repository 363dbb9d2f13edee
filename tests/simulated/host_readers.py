"""What the tests of the simulated machine share: small readers over the Host protocol."""

from __future__ import annotations

import struct

from turbotui.machine.host import HostError, PerfAttr, msr_device
from turbotui.machine.pmus import read_pmu
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources.perf_source import attr_of

X86 = ("sapphire-2s", "icelake-2s", "turin-2s", "laptop", "laptop-arrow", "laptop-old", "forest-1s")
SMALL = ("sapphire-2s", "turin-2s", "laptop", "laptop-arrow", "laptop-old", "grace-2s", "guest")


def machine(name: str, seed: int = 1) -> tuple[SimulatedHost, ManualClock]:
    clock = ManualClock(5_000_000_000)
    return simulated_host(name, clock, seed), clock


def number(host: SimulatedHost, path: str) -> int:
    return int(host.read_text(path))


def register(host: SimulatedHost, cpu: int, address: int) -> int:
    descriptor = host.open_file(msr_device(cpu))
    try:
        return int(struct.unpack("<Q", host.read_at(descriptor, 8, address))[0])
    finally:
        host.close(descriptor)


def named(host: SimulatedHost, pmu: str, event: str) -> PerfAttr:
    result = read_pmu(host, pmu)
    assert result is not None, f"no PMU {pmu}"
    return attr_of(result, event)


def group(host: SimulatedHost, cpu: int, attrs: list[PerfAttr]) -> int:
    leader = -1
    for attr in attrs:
        descriptor = host.perf_event_open(attr, -1, cpu, leader)
        leader = descriptor if leader == -1 else leader
    return leader


def values(host: SimulatedHost, leader: int) -> tuple[int, int, list[int]]:
    """(enabled, running, values) of a group in the format that turbotui always uses."""
    words = [word for (word,) in struct.iter_unpack("<Q", host.read_counter(leader, 4096))]
    assert len(words) == 3 + words[0]
    return words[1], words[2], words[3:]


def refusal(call: object, *arguments: object) -> str:
    """The errno's name with which a call is refused, "" if it is not."""
    assert callable(call)
    try:
        call(*arguments)
    except HostError as error:
        return error.name
    return ""
