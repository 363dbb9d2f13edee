"""Counters of control groups on a simulated machine: refusals, and the time for which they run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from host_readers import machine, named, refusal, values

from turbotui.machine.host import PerfAttr
from turbotui.simulated import SimulatedHost
from turbotui.simulated.strain_files import GROUPS

CYCLES = PerfAttr(0, 0, target_flags=4)
SWITCHES = PerfAttr(1, 3, target_flags=4)
TOP = "/sys/fs/cgroup"


@pytest.fixture
def host() -> SimulatedHost:
    return machine("sapphire-2s")[0]


def test_the_target_is_the_directory_of_a_group(host: SimulatedHost) -> None:
    group, other, file = (host.open_file(path) for path in (f"{TOP}/system.slice", "/sys/devices/system/node",
                                                            f"{TOP}/cpu.stat"))
    assert refusal(host.perf_event_open, CYCLES, group, 0, -1) == ""
    for target in (other, file, 99_999):
        assert refusal(host.perf_event_open, CYCLES, target, 0, -1) == "EBADF"
    assert refusal(host.perf_event_open, CYCLES, -1, 0, -1) == "EINVAL"
    assert refusal(host.perf_event_open, CYCLES, group, -1, -1) == "EINVAL", "a CPU must be named"
    assert refusal(host.read_at, group, 8, 0) == "EISDIR"
    assert refusal(host.open_file, f"{TOP}/none.slice") == "ENOENT"


def test_what_has_no_tasks_has_no_groups(host: SimulatedHost) -> None:
    group = host.open_file(TOP)
    energy = replace(named(host, "power", "energy-pkg"), target_flags=4)
    assert refusal(host.perf_event_open, energy, group, 0, -1) == "EINVAL"


def test_a_group_of_counters_is_of_one_control_group(host: SimulatedHost) -> None:
    group, other = host.open_file(f"{TOP}/system.slice"), host.open_file(f"{TOP}/user.slice")
    leader = host.perf_event_open(CYCLES, group, 0, -1)
    assert refusal(host.perf_event_open, SWITCHES, other, 0, leader) == "EINVAL"
    assert refusal(host.perf_event_open, PerfAttr(1, 3), -1, 0, leader) == "EINVAL"
    assert refusal(host.perf_event_open, SWITCHES, group, 0, leader) == ""


def test_a_user_without_the_right_has_none(host: SimulatedHost) -> None:
    host.set_privileges(uid=1000, capabilities=0, paranoid=1)
    group = host.open_file(f"{TOP}/system.slice")
    assert refusal(host.perf_event_open, CYCLES, group, 0, -1) == "EACCES"


def test_time_stands_still_while_the_group_is_not_on_the_cpu() -> None:
    host, clock = machine("laptop")
    path, share = GROUPS[2]
    leader = host.perf_event_open(CYCLES, host.open_file(f"{TOP}/{path}"), 0, -1)
    whole = host.perf_event_open(PerfAttr(0, 0), -1, 0, -1)
    clock.advance(20.0)
    enabled, running, (cycles,) = values(host, leader)
    _enabled, _running, (every,) = values(host, whole)
    assert 0 < enabled == running < 20e9
    assert cycles == pytest.approx(share * every, rel=0.01)


def test_groups_side_by_side_take_no_counters_from_each_other() -> None:
    host, clock = machine("laptop")
    misses = PerfAttr(0, 5, target_flags=4)
    beside = [host.open_file(f"{TOP}/system.slice/{name}.service") for name in ("db", "web")]
    leaders = [host.perf_event_open(misses, group, 0, -1) for group in beside for _ in range(7)]
    clock.advance(20.0)
    assert all(enabled == running for enabled, running, _ in (values(host, leader) for leader in leaders))
    outer = [host.perf_event_open(misses, host.open_file(f"{TOP}/system.slice"), 0, -1) for _ in range(7)]
    clock.advance(20.0)
    assert all(running < enabled for enabled, running, _ in (values(host, leader) for leader in (*leaders, *outer)))
