"""Registers agree with the model, and are refused as by the msr driver."""

from __future__ import annotations

import pytest
from host_readers import X86, group, machine, named, number, refusal, register, values
from model_truth import truth_of
from smallmachines import small_host

from turbotui.machine.host import msr_device
from turbotui.simulated import SHAPES, ManualClock
from turbotui.simulated.registers import register_map


@pytest.mark.parametrize("name", X86)
def test_every_register_can_be_read_on_every_kind_of_core(name: str) -> None:
    host, clock = machine(name)
    clock.advance(3)
    shape = SHAPES[name]
    for cpu in (0, shape.cpus // 2, shape.cpus - 1):
        for address in register_map(shape):
            assert 0 <= register(host, cpu, address) < 1 << 64


@pytest.mark.parametrize("name", ["grace-2s", "vera-2s", "guest"])
def test_no_driver_where_there_are_no_registers(name: str) -> None:
    host, _ = machine(name)
    assert refusal(host.open_file, msr_device(0)) == "ENOENT"
    assert not host.exists("/dev/cpu/0/msr")


@pytest.mark.parametrize(
    ("name", "address"),
    [("sapphire-2s", 0xC0010299), ("turin-2s", 0x611), ("turin-2s", 0x19C), ("sapphire-2s", 0x639), ("laptop", 0x664)],
)
def test_registers_of_other_families_give_eio(name: str, address: int) -> None:
    host, _ = machine(name)
    assert refusal(register, host, 0, address) == "EIO"


def test_the_device_wants_eight_bytes_and_the_right_to_read() -> None:
    host, _ = machine("sapphire-2s")
    descriptor = host.open_file("/dev/cpu/3/msr")
    assert refusal(host.read_at, descriptor, 4, 0xE7) == "EINVAL"
    assert len(host.read_at(descriptor, 8, 0xE7)) == 8
    host.set_privileges(capabilities=0)
    assert refusal(host.open_file, msr_device(0)) == "EPERM"
    host.set_privileges(uid=1000)
    assert refusal(host.open_file, msr_device(0)) == "EACCES"
    host.fail(("msr", 3, 0xE8), 5)
    assert refusal(host.read_at, descriptor, 8, 0xE8) == "EIO"
    assert refusal(host.read_at, descriptor, 8, 0xE7) == ""


@pytest.mark.parametrize("name", X86)
def test_aperf_mperf_and_tsc_give_the_busy_share_and_frequency(name: str) -> None:
    host, clock = machine(name)
    shape = SHAPES[name]
    clock.advance(4)
    old = [register(host, 1, address) for address in (0x10, 0xE7, 0xE8)]
    before = truth_of(host).truth(1)
    clock.advance(2.5)
    new = [register(host, 1, address) for address in (0x10, 0xE7, 0xE8)]
    after = truth_of(host).truth(1)
    tsc, mperf, aperf = (b - a for a, b in zip(old, new, strict=True))
    assert tsc == pytest.approx(2.5 * shape.tsc_hz, rel=1e-9)
    assert mperf / shape.reference_hz == pytest.approx(after.c0_seconds - before.c0_seconds, abs=1e-8)
    assert aperf == pytest.approx(after.aperf - before.aperf, abs=2)


@pytest.mark.parametrize("name", X86)
def test_perf_counts_what_the_registers_count(name: str) -> None:
    host, clock = machine(name)
    shape = SHAPES[name]
    leader = group(host, 1, [named(host, "msr", event) for event in ("tsc", "aperf", "mperf")])
    old = [register(host, 1, address) for address in (0x10, 0xE8, 0xE7)]
    clock.advance(9.75)
    enabled, running, counted = values(host, leader)
    new = [register(host, 1, address) for address in (0x10, 0xE8, 0xE7)]
    assert enabled == running == 9_750_000_000
    assert counted == [pytest.approx(b - a, abs=2) for a, b in zip(old, new, strict=True)]
    if 6 in shape.cstate_core:
        core = group(host, 1, [named(host, "cstate_core", "c6-residency")])
        first = register(host, 1, 0x3FD)
        clock.advance(5)
        assert values(host, core)[2][0] == pytest.approx(register(host, 1, 0x3FD) - first, abs=2)


def test_the_c1_counter_stands_still_while_its_cpu_is_unplugged() -> None:
    host, clock = machine("sapphire-2s")
    host.set_online(1, online=False)
    before = truth_of(host).truth(1).c1_seconds
    clock.advance(500.0)  # its core sleeps deeply meanwhile
    assert truth_of(host).truth(1).c1_seconds == before > 0.0


def test_energy_registers_wrap_at_32_bits_and_lose_nothing() -> None:
    clock = ManualClock(5_000_000_000)
    host = small_host("sapphire-2s", clock)
    unit = 2.0 ** -(register(host, 0, 0x606) >> 8 & 31)
    total, wraps = 0, 0
    start = truth_of(host).package_truth(0).joules
    last = register(host, 0, 0x611)
    for _ in range(90):
        clock.advance(60)
        new = register(host, 0, 0x611)
        assert new < 1 << 32
        wraps += new < last
        total += (new - last) & 0xFFFF_FFFF
        last = new
    assert wraps >= 1
    assert total * unit == pytest.approx(truth_of(host).package_truth(0).joules - start, abs=2 * unit)


@pytest.mark.parametrize("name", ["sapphire-2s", "icelake-2s", "laptop", "laptop-old", "turin-2s", "forest-1s"])
def test_energy_is_the_same_by_register_perf_and_powercap(name: str) -> None:
    host, clock = machine(name)
    shape = SHAPES[name]
    amd = name == "turin-2s"
    unit = 2.0 ** -(register(host, 0, 0xC0010299 if amd else 0x606) >> 8 & 31)
    address = 0xC001029B if amd else 0x611
    perf = group(host, 0, [named(host, "power", "energy-pkg")])
    scale = float(host.read_text("/sys/bus/event_source/devices/power/events/energy-pkg.scale"))
    zone = "/sys/class/powercap/intel-rapl:0/energy_uj"
    span = number(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj")
    old, micro, truth = register(host, 0, address), number(host, zone), truth_of(host).package_truth(0)
    clock.advance(25)
    joules = truth_of(host).package_truth(0).joules - truth.joules
    assert ((register(host, 0, address) - old) & 0xFFFF_FFFF) * unit == pytest.approx(joules, abs=2 * unit)
    assert values(host, perf)[2][0] * scale == pytest.approx(joules, abs=1e-5)
    assert (number(host, zone) - micro) % span == pytest.approx(joules * 1e6, abs=2)
    if "ram" in shape.domains:
        ram_unit = 2.0**-16 if name == "icelake-2s" else unit
        old, before = register(host, 0, 0x619), truth_of(host).package_truth(0).ram_joules
        clock.advance(25)
        counted = (register(host, 0, 0x619) - old) & 0xFFFF_FFFF
        after = truth_of(host).package_truth(0).ram_joules
        assert counted * ram_unit == pytest.approx(after - before, abs=2 * ram_unit)


def test_platform_energy_counts_whole_joules_on_sapphire_rapids() -> None:
    host, clock = machine("sapphire-2s")
    old, before = register(host, 0, 0x64D), truth_of(host).system_truth().platform_joules
    clock.advance(10)
    after = truth_of(host).system_truth().platform_joules
    assert register(host, 0, 0x64D) - old == pytest.approx(after - before, abs=1)


def test_amd_cores_have_energy_of_their_own() -> None:
    host, clock = machine("turin-2s")
    perf = group(host, 5, [named(host, "power_core", "energy-core")])
    old, before = register(host, 5, 0xC001029A), truth_of(host).truth(5).core_joules
    assert register(host, 197, 0xC001029A) == old  # the sibling is in the same core
    clock.advance(12)
    joules = truth_of(host).truth(5).core_joules - before
    assert ((register(host, 5, 0xC001029A) - old) & 0xFFFF_FFFF) * 2.0**-16 == pytest.approx(joules, abs=1e-4)
    assert values(host, perf)[2][0] * 2.0**-32 == pytest.approx(joules, abs=1e-6)


@pytest.mark.parametrize("name", ["sapphire-2s", "laptop", "forest-1s"])
def test_thermal_registers_hold_degrees_below_the_limit(name: str) -> None:
    host, clock = machine(name)
    clock.advance(21)
    limit = register(host, 0, 0x1A2) >> 16 & 0xFF
    assert limit == SHAPES[name].power.tj_max
    core = register(host, 2, 0x19C)
    assert core >> 31 & 1
    assert limit - (core >> 16 & 0x7F) == pytest.approx(truth_of(host).truth(2).celsius, abs=1)
    package = register(host, 2, 0x1B1)
    assert limit - (package >> 16 & 0x7F) == pytest.approx(truth_of(host).package_truth(0).celsius, abs=1)


def test_limits_and_ratios_decode_to_the_shape() -> None:
    host, _ = machine("sapphire-2s")
    shape = SHAPES["sapphire-2s"]
    unit = 2.0 ** -(register(host, 0, 0x606) & 15)
    limit = register(host, 0, 0x610)
    assert (limit & 0x7FFF) * unit == shape.power.tdp
    assert (limit >> 32 & 0x7FFF) * unit == shape.power.pl2
    assert (register(host, 0, 0x614) & 0x7FFF) * unit == shape.power.tdp
    assert (register(host, 0, 0xCE) >> 8 & 0xFF) * 100_000_000 == shape.tsc_hz
    ratios, counts = register(host, 0, 0x1AD), register(host, 0, 0x1AE)
    assert [(counts >> 8 * n & 0xFF, (ratios >> 8 * n & 0xFF) * 100) for n in range(8)] == list(
        shape.core_types[0].bins
    )


def test_the_c6_register_of_small_cores_includes_c7() -> None:
    host, clock = machine("laptop")
    clock.advance(15)
    truth = truth_of(host).truth(13)
    hertz = SHAPES["laptop"].reference_hz
    assert truth.c7_seconds > 0
    assert register(host, 13, 0x3FD) == pytest.approx((truth.c6_seconds + truth.c7_seconds) * hertz, rel=1e-9)
    assert register(host, 0, 0x3FD) == pytest.approx(truth_of(host).truth(0).c6_seconds * hertz, rel=1e-9)


def test_modules_sleep_when_all_their_cores_do() -> None:
    host, clock = machine("forest-1s")
    hertz = SHAPES["forest-1s"].reference_hz
    leader = group(host, 4, [named(host, "cstate_module", "c6-residency")])
    old = register(host, 4, 0x664)
    before = [truth_of(host).truth(cpu).c6_seconds for cpu in range(4, 8)]
    clock.advance(30)
    ticks = register(host, 7, 0x664) - old
    assert values(host, leader)[2][0] == pytest.approx(ticks, abs=2)
    truth = truth_of(host)
    least = min(truth.truth(cpu).c6_seconds - seconds for cpu, seconds in zip(range(4, 8), before, strict=True))
    assert 0 < ticks / hertz <= least


def test_cpuid_device_tells_crystal_base_and_core_type() -> None:
    host, _ = machine("laptop")
    shape = SHAPES["laptop"]
    descriptor = host.open_file("/dev/cpu/0/cpuid")
    words = [int.from_bytes(host.read_at(descriptor, 16, 0x15)[at : at + 4], "little") for at in (0, 4, 8)]
    assert words[2] * words[1] // words[0] == shape.tsc_hz
    assert int.from_bytes(host.read_at(descriptor, 16, 0x16)[:4], "little") * 1_000_000 == shape.base_hz
    small = host.open_file("/dev/cpu/14/cpuid")
    kinds = [host.read_at(fd, 16, 0x1A)[3] for fd in (descriptor, small)]
    assert kinds == [0x40, 0x20]
