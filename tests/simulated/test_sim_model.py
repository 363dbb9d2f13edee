"""The model is consistent: its sums add up, and the same past gives the same present."""

from __future__ import annotations

import dataclasses
import sys
from types import FrameType

import pytest
from host_readers import SMALL, X86, machine, register
from hypothesis import given, settings
from hypothesis import strategies as st
from model_truth import truth_of

from turbotui.simulated import SHAPES
from turbotui.simulated.causes import CAUSES
from turbotui.simulated.layout import lay_out


def cumulative(truth: object) -> dict[str, float]:
    instant = {"celsius", "hertz", "idle_seconds", "states", "limit"}
    assert dataclasses.is_dataclass(truth)
    names = {field.name for field in dataclasses.fields(truth)} - instant
    values = {name: getattr(truth, name) for name in names}
    stalled = values.pop("stalled", {})
    return {**values, **{f"stalled {' '.join(name)}": seconds for name, seconds in stalled.items()}}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_has_as_many_cpus_as_its_summary_says(name: str) -> None:
    host, _ = machine(name)
    assert sum(1 for entry in host.list_dir("/sys/devices/system/cpu") if entry[3:].isdigit()) == SHAPES[name].cpus
    assert host.name == name
    assert host.kind.value == "SIMULATED"
    assert not host.pins


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if CAUSES["bandwidth"].where(shape)])
def test_memory_moves_no_more_than_its_channels_can(name: str) -> None:
    """The package of 96 cores moved 103 % of it."""
    host, clock = machine(f"{name}+bandwidth")
    before = truth_of(host).package_truth(0)
    clock.advance(2.0)
    after = truth_of(host).package_truth(0)
    moved = after.read_bytes + after.written_bytes - before.read_bytes - before.written_bytes
    shape = SHAPES[name]
    assert 0.6 < moved / 2.0 / (shape.memory_channels * 8e6 * shape.memory_mts) < 0.95


@settings(max_examples=12, deadline=None)
@given(name=st.sampled_from(SMALL), steps=st.lists(st.floats(0.0, 3.0), min_size=3, max_size=12))
def test_nothing_ever_counts_down(name: str, steps: list[float]) -> None:
    host, clock = machine(name)
    last: tuple[dict[str, float], ...] = ({}, {}, {})
    for step in steps:
        clock.advance(step)
        current = (
            cumulative(truth_of(host).truth(1)),
            cumulative(truth_of(host).package_truth(0)),
            cumulative(truth_of(host).system_truth()),
        )
        for before, after in zip(last, current, strict=True):
            assert [key for key, value in after.items() if value < before.get(key, 0.0) * (1 - 1e-12)] == []
        last = current


@pytest.mark.parametrize("name", SHAPES)
def test_every_second_of_a_cpu_is_spent_once(name: str) -> None:
    host, clock = machine(name)
    cpus = range(0, SHAPES[name].cpus, max(1, SHAPES[name].cpus // 12))
    before = [truth_of(host).truth(cpu) for cpu in cpus]
    clock.advance(47.3)
    for old, cpu in zip(before, cpus, strict=True):
        new = truth_of(host).truth(cpu)
        busy, idle = new.busy_seconds - old.busy_seconds, sum(new.idle_seconds) - sum(old.idle_seconds)
        assert new.seconds - old.seconds == pytest.approx(47.3)
        assert busy + idle == pytest.approx(47.3, abs=1e-6)
        assert new.online_seconds - old.online_seconds == pytest.approx(47.3)


@pytest.mark.parametrize("name", X86)
def test_hardware_residencies_fill_the_interval_and_never_exceed_the_request(name: str) -> None:
    host, clock = machine(name)
    shape = SHAPES[name]
    before = [truth_of(host).truth(cpu) for cpu in range(shape.cpus)]
    package = truth_of(host).package_truth(0)
    clock.advance(31.0)
    cpu_types = [place.type for place in lay_out(shape).places]
    for cpu, old in enumerate(before):
        new = truth_of(host).truth(cpu)
        parts = {
            key: getattr(new, key) - getattr(old, key)
            for key in ("c0_seconds", "c1_seconds", "c3_seconds", "c6_seconds", "c7_seconds")
        }
        assert sum(parts.values()) == pytest.approx(31.0, abs=1e-5)
        deep = sum(parts[key] for key in ("c3_seconds", "c6_seconds", "c7_seconds"))
        kind = shape.core_types[cpu_types[cpu]]
        asked = sum(
            after - earlier
            for after, earlier, state in zip(new.idle_seconds, old.idle_seconds, kind.idle, strict=True)
            if state.depth >= 3
        )
        assert deep <= asked + 1e-6
    later = truth_of(host).package_truth(0)
    assert sum(later.states.values()) - sum(package.states.values()) <= 31.0


@pytest.mark.parametrize("name", SMALL)
def test_cycles_per_running_second_are_the_frequency(name: str) -> None:
    host, clock = machine(name)
    checked = 0
    for _ in range(40):
        clock.advance(0.237)
        old = truth_of(host).truth(0)
        clock.advance(0.0005)
        new = truth_of(host).truth(0)
        if new.hertz == old.hertz and new.busy_seconds > old.busy_seconds:
            seconds = new.c0_seconds - old.c0_seconds
            assert (new.aperf - old.aperf) / seconds == pytest.approx(new.hertz, rel=1e-4)
            checked += 1
    assert checked > 20


@pytest.mark.parametrize("name", ["sapphire-2s", "turin-2s", "laptop", "icelake-2s", "forest-1s"])
def test_power_stays_within_its_limits_and_energy_adds_up(name: str) -> None:
    host, clock = machine(name)
    power = SHAPES[name].power
    watts: list[float] = []
    start = old = truth_of(host).package_truth(0)
    for _ in range(180):
        clock.advance(0.5)
        new = truth_of(host).package_truth(0)
        watts.append((new.joules - old.joules) / 0.5)
        assert new.joules - old.joules >= (new.cores_joules - old.cores_joules) + (new.gpu_joules - old.gpu_joules)
        old = new
    assert min(watts) > 0
    # A burst may pass PL2 for a few steps of the control loop, never for long.
    assert sorted(watts)[-4] <= 1.15 * power.pl2
    longest = round(6 * power.tau)
    for first in range(0, len(watts) - 2 * longest, 7):
        assert sum(watts[first : first + 2 * longest]) / (2 * longest) <= 1.25 * power.tdp
    assert old.joules - start.joules == pytest.approx(sum(watts) * 0.5)


@pytest.mark.parametrize("name", [name for name in X86 if "psys" in SHAPES[name].domains])
def test_the_platform_takes_what_its_packages_and_the_rest_of_it_take(name: str) -> None:
    host, clock = machine(name)

    def inside() -> float:
        truths = [truth_of(host).package_truth(package) for package in range(SHAPES[name].packages)]
        return sum(truth.joules + truth.ram_joules for truth in truths)

    for _ in range(3):  # the model takes up other rates at every step
        platform, packages = truth_of(host).system_truth().platform_joules, inside()
        clock.advance(2.0)
        expected = (inside() - packages) / 0.92 + 2.0 * SHAPES[name].power.platform
        assert truth_of(host).system_truth().platform_joules - platform == pytest.approx(expected)


def test_a_hot_laptop_throttles_and_says_so_everywhere() -> None:
    host, clock = machine("laptop")
    hottest = 0.0
    before = truth_of(host).package_truth(0)
    for _ in range(1600):
        clock.advance(0.05)
        hottest = max(hottest, truth_of(host).package_truth(0).celsius)
    after = truth_of(host).package_truth(0)
    throttled = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
    assert after.throttles > before.throttles
    assert int(host.read_text(throttled)) == int(after.throttles)
    assert SHAPES["laptop"].power.tj_max - 3 <= hottest <= SHAPES["laptop"].power.tj_max + 15
    assert after.throttled_seconds > before.throttled_seconds


@pytest.mark.parametrize("name", ["laptop", "laptop-old", "laptop-arrow", "sapphire-2s", "turin-2s"])
def test_all_cores_together_reach_the_base_clock_at_the_sustained_limit(name: str) -> None:
    host, clock = machine(name)
    shape = SHAPES[name]
    phase = shape.schedule.phases[1]
    clock.advance(phase.first + phase.length - 1.5)
    before, old = truth_of(host).truth(0), truth_of(host).package_truth(0)
    clock.advance(1.0)
    after, new = truth_of(host).truth(0), truth_of(host).package_truth(0)
    assert after.busy_seconds - before.busy_seconds == pytest.approx(1.0, abs=0.02)
    assert new.joules - old.joules == pytest.approx(shape.power.tdp, rel=0.1)
    assert new.limit == "pl1"
    assert after.hertz >= shape.core_types[0].base_mhz * 1e6
    clock.advance(phase.length)  # the load is gone, and with it the limit
    assert truth_of(host).package_truth(0).limit == ""


def test_registers_name_the_limit_that_holds_the_laptop() -> None:
    host, clock = machine("laptop")
    bits = {"heat": 1, "pl1": 10, "pl2": 11}
    seen: set[str] = set()
    for _ in range(200):
        clock.advance(0.2)
        limit = truth_of(host).package_truth(0).limit
        seen.add(limit)
        word = register(host, 0, 0x64F)
        assert [name for name, bit in bits.items() if word >> bit & 1] == ([limit] if limit else [])
        assert {name for name, bit in bits.items() if word >> bit + 16 & 1} >= seen - {""}
        package = register(host, 0, 0x1B1)
        assert (package & 1, package >> 10 & 1) == (limit == "heat", limit in {"pl1", "pl2"})
    assert seen == {"", "heat", "pl1", "pl2"}


def test_between_steps_everything_is_linear() -> None:
    host, clock = machine("sapphire-2s")
    clock.advance(7.31)
    first = truth_of(host).truth(3)
    clock.advance(0.02)
    second = truth_of(host).truth(3)
    clock.advance(0.02)
    third = truth_of(host).truth(3)
    assert third.aperf - second.aperf == pytest.approx(second.aperf - first.aperf, rel=1e-6)
    assert third.core_joules - second.core_joules == pytest.approx(second.core_joules - first.core_joules, rel=1e-6)


@settings(max_examples=8, deadline=None)
@given(cuts=st.lists(st.integers(1, 9_999), max_size=9, unique=True))
def test_the_past_does_not_depend_on_how_often_one_looked(cuts: list[int]) -> None:
    once, clock = machine("laptop", seed=7)
    clock.advance(10.0)
    often, other = machine("laptop", seed=7)
    last = 0
    for cut in [*sorted(cuts), 10_000]:
        other.advance((cut - last) / 1000)
        often.read_text("/proc/uptime")
        last = cut
    assert often.read_text("/proc/stat") == once.read_text("/proc/stat")
    assert truth_of(often).truth(5) == truth_of(once).truth(5)


def test_seeds_differ() -> None:
    texts = set()
    for seed in (1, 2, 3):
        host, clock = machine("laptop", seed)
        clock.advance(20)
        texts.add(host.read_text("/proc/stat"))
    assert len(texts) == 3


def test_a_long_pause_costs_no_more_than_a_short_one() -> None:
    host, clock = machine("guest")
    host.read_text("/proc/uptime")
    steps = truth_of(host).steps
    clock.advance(86_400)
    assert truth_of(host).truth(0).seconds == pytest.approx(86_400)
    assert truth_of(host).steps - steps < 2000
    steps = truth_of(host).steps
    clock.advance(1.0)
    host.read_text("/proc/uptime")
    assert truth_of(host).steps - steps == pytest.approx(1.0 / SHAPES["guest"].step, abs=2)


def test_a_second_of_a_thousand_cpus_takes_few_operations() -> None:
    host, clock = machine("big-8s")
    host.read_text("/proc/uptime")
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    for _ in range(10):
        clock.advance(1.0)
        sys.setprofile(count)
        try:
            host.read_text("/proc/uptime")
        finally:
            sys.setprofile(None)
    uptime_itself = 4 * 1024
    assert calls / 10 < 25_000 + uptime_itself
