"""Events of control groups on the real kernel, compared with other counts of it; no group is created."""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.event_plans import added_plans
from turbotui.features.groups.model import WHOLE, GroupMoment
from turbotui.features.groups.reader import CgroupReader
from turbotui.machine.cgroups import hierarchies
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.sampling.capabilities import probe_sources
from turbotui.sources.cgroup_events import tree_of_events

TICK = 10_000_000
"""ns for which the file may be late."""
ADDED = ("task-clock", "context-switches", "page-faults")


def read() -> tuple[CgroupReader, GroupEvents]:
    host = LinuxHost()
    host.raise_descriptors()
    machine = read_machine(host)
    if tree_of_events(hierarchies(host)) is None:
        pytest.skip("no tree of control groups is mounted that perf counts by")
    plans = added_plans(machine, probe_sources(machine, ()), ADDED)
    if any(plan.refused for plan in plans):
        pytest.skip(next(iter(plans[0].refused.values())).sentence())
    return CgroupReader(host, {"cpu_usec"}), GroupEvents(machine, plans)


def counts(moment: GroupMoment, path: str) -> Mapping[str, float]:
    sample = moment.samples[path]
    result: dict[str, float] = {}
    for reading in sample.readings.values():
        result |= {name: value for name, value in reading.values.items() if isinstance(value, int | float)}
    return result


def kernel_switches() -> int:
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("ctxt ")).split()[1])


def burn() -> None:
    for _ in range(300):
        os.stat("/proc/self/stat")
    with mmap.mmap(-1, 4 << 20) as fresh:  # its pages are not there before they are written
        for page in range(0, len(fresh), mmap.PAGESIZE):
            fresh[page] = 1


@pytest.mark.real
def test_the_outermost_group_has_what_the_whole_kernel_counts() -> None:
    reader, events = read()
    try:
        events.follow([WHOLE])
        events.merged(reader.read())
        outside = kernel_switches()
        first = counts(events.merged(reader.read()), WHOLE)
        inside = kernel_switches()
        burn()
        inside_end = kernel_switches()
        last = counts(events.merged(reader.read()), WHOLE)
        outside_end = kernel_switches()
        counted = last["perf context-switches"] - first["perf context-switches"]
        assert inside_end - inside <= counted + 2
        assert counted <= outside_end - outside + 2
        assert last["perf page-faults"] > first["perf page-faults"]
        for event in ADDED:
            assert last[f"perf {event} enabled"] == last[f"perf {event} running"] > 0
    finally:
        events.close()
        reader.close()


@pytest.mark.real
def test_time_on_cpus_is_what_the_group_s_file_says() -> None:
    reader, events = read()
    try:
        events.follow(reader.read().samples)
        events.merged(reader.read())
        older = events.merged(reader.read())
        begun = reader.read()
        burn()
        newer = events.merged(reader.read())
        ended = reader.read()
        paths = [path for path in newer.samples if path != WHOLE and "perf task-clock" in counts(newer, path)]
        if not paths:
            pytest.skip("only the outermost group, which has the idle time too, is in the tree that perf counts by")
        for path in paths:  # the file is read before the counters, each time
            clock = counts(newer, path)["perf task-clock"] - counts(older, path)["perf task-clock"]
            used = [counts(moment, path)["cpu_usec"] * 1e3 for moment in (older, begun, newer, ended)]
            assert used[2] - used[1] - TICK <= clock <= used[3] - used[0] + TICK
    finally:
        events.close()
        reader.close()
