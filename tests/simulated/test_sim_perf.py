"""Counters open, group, multiplex and refuse as on Linux, and count the model's work."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace

import pytest
from every_row import of_every
from host_readers import group, machine, named, number, refusal, values
from model_truth import truth_of

from turbotui.machine.host import CAP_PERFMON, PerfAttr
from turbotui.machine.pmus import DEVICES, list_pmus, read_pmu
from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.simulated.events_common import counts
from turbotui.simulated.pipeline import pipeline_counts
from turbotui.simulated.pmus_core import CORE_EVENTS, core_events

HARDWARE, SOFTWARE, TRACEPOINT, CACHE, RAW = range(5)
CYCLES, INSTRUCTIONS = PerfAttr(HARDWARE, 0), PerfAttr(HARDWARE, 1)
CORE_PMU_SHAPES = [name for name, shape in SHAPES.items() if shape.core_types[0].pmu]


def raw(host: SimulatedHost, config: int, cpu: int) -> PerfAttr:
    for name in list_pmus(host):
        pmu = read_pmu(host, name)
        if pmu is not None and name.startswith(("cpu", "armv8")) and (not pmu.cpus or cpu in pmu.cpus):
            return PerfAttr(pmu.type, config)
    raise AssertionError("no core PMU")


@pytest.mark.parametrize("name", CORE_PMU_SHAPES)
def test_cycles_and_instructions_start_at_zero_and_follow_the_truth(name: str) -> None:
    host, clock = machine(name)
    leader = group(host, 0, [CYCLES, INSTRUCTIONS])
    assert values(host, leader) == (0, 0, [0, 0])
    old = truth_of(host).truth(0)
    clock.advance(6.2)
    enabled, running, (cycles, instructions) = values(host, leader)
    new = truth_of(host).truth(0)
    assert enabled == running == 6_200_000_000
    assert cycles == pytest.approx(new.cycles - old.cycles, abs=2)
    assert instructions == pytest.approx(new.instructions - old.instructions, abs=2)


def test_the_read_formats() -> None:
    host, clock = machine("sapphire-2s")
    leader = group(host, 2, [PerfAttr(RAW, 0x3C, read_format=0b1111), PerfAttr(RAW, 0xC0, read_format=0b1111)])
    single = host.perf_event_open(PerfAttr(RAW, 0xC0, read_format=0b0111), -1, 2, -1)
    plain = host.perf_event_open(PerfAttr(RAW, 0xC0, read_format=0), -1, 2, -1)
    clock.advance(1.5)
    words = struct.unpack("<7Q", host.read_counter(leader, 56))
    assert words[:3] == (2, 1_500_000_000, 1_500_000_000)
    assert words[4] != words[6]  # the two ids
    value, enabled, running, identity = struct.unpack("<4Q", host.read_counter(single, 32))
    assert (value, enabled, running) == (words[5], 1_500_000_000, 1_500_000_000)
    assert identity not in (words[4], words[6])
    assert struct.unpack("<Q", host.read_counter(plain, 8)) == (value,)
    assert refusal(host.read_counter, leader, 48) == "ENOSPC"


@pytest.mark.parametrize(
    ("name", "attr", "cpu", "error"),
    [
        ("sapphire-2s", PerfAttr(RAW, 0x1234), 0, "EINVAL"),
        ("sapphire-2s", PerfAttr(RAW, 0x80C7 | 1 << 18), 0, "EINVAL"),
        ("sapphire-2s", PerfAttr(200, 0), 0, "ENOENT"),
        ("sapphire-2s", PerfAttr(HARDWARE, 7), 0, "ENOENT"),
        ("sapphire-2s", PerfAttr(SOFTWARE, 77), 0, "ENOENT"),
        ("sapphire-2s", PerfAttr(SOFTWARE, 3), 224, "EINVAL"),
        ("sapphire-2s", PerfAttr(CACHE, 9), 0, "EINVAL"),
        ("guest", CYCLES, 0, "ENOENT"),
        ("guest", PerfAttr(RAW, 0xC0), 0, "ENOENT"),
        ("laptop", PerfAttr(RAW, 0xC0), 15, "ENOENT"),
        ("turin-2s", PerfAttr(RAW, 0x81D0), 0, "EINVAL"),
    ],
)
def test_what_is_not_there_is_refused(name: str, attr: PerfAttr, cpu: int, error: str) -> None:
    host, _ = machine(name)
    assert refusal(host.perf_event_open, attr, -1, cpu, -1) == error


def test_tasks_and_nonsense_targets_are_refused() -> None:
    host, _ = machine("guest")
    attr = PerfAttr(SOFTWARE, 3)
    assert refusal(host.perf_event_open, attr, 4711, -1, -1) == "ESRCH"
    assert refusal(host.perf_event_open, attr, -1, -1, -1) == "EINVAL"
    assert refusal(host.perf_event_open, attr, -1, 0, 999) == "EBADF"


def test_hybrid_machines_take_generic_events_by_pmu_type() -> None:
    host, clock = machine("laptop-arrow")
    kinds = {"cpu_core": 0, "cpu_atom": 7, "cpu_lowpower": 15}
    for name, cpu in kinds.items():
        pmu = read_pmu(host, name)
        assert pmu is not None
        assert cpu in pmu.cpus
        leader = group(host, cpu, [PerfAttr(HARDWARE, pmu.type << 32 | 1)])
        old = truth_of(host).truth(cpu).instructions
        clock.advance(2)
        assert values(host, leader)[2][0] == pytest.approx(truth_of(host).truth(cpu).instructions - old, abs=2)
        other = 15 if cpu == 0 else 0
        assert refusal(host.perf_event_open, PerfAttr(pmu.type, 0xC0), -1, other, -1) == "ENOENT"


def test_group_rules() -> None:
    host, _ = machine("sapphire-2s")
    leader = host.perf_event_open(CYCLES, -1, 0, -1)
    sibling = host.perf_event_open(PerfAttr(SOFTWARE, 3), -1, 0, leader)
    assert refusal(host.perf_event_open, INSTRUCTIONS, -1, 0, sibling) == "EINVAL"
    assert refusal(host.perf_event_open, INSTRUCTIONS, -1, 1, leader) == "EINVAL"
    assert refusal(host.perf_event_open, named(host, "power", "energy-pkg"), -1, 0, leader) == "EINVAL"
    assert refusal(host.perf_event_open, named(host, "msr", "tsc"), -1, 0, leader) == ""
    software = host.perf_event_open(PerfAttr(SOFTWARE, 3), -1, 0, -1)
    assert refusal(host.perf_event_open, INSTRUCTIONS, -1, 0, software) == ""


SLOTS, RETIRING = PerfAttr(RAW, 0x0400), PerfAttr(RAW, 0x8000)


def test_topdown_metrics_need_slots_as_their_leader() -> None:
    """arch/x86/events/intel/core.c, intel_pmu_hw_config."""
    host, _ = machine("sapphire-2s")
    assert refusal(host.perf_event_open, RETIRING, -1, 0, -1) == "EINVAL"
    cycles = host.perf_event_open(CYCLES, -1, 0, -1)
    assert refusal(host.perf_event_open, RETIRING, -1, 0, cycles) == "EINVAL"
    host.perf_event_open(SLOTS, -1, 0, cycles)
    assert refusal(host.perf_event_open, RETIRING, -1, 0, cycles) == "EINVAL", "slots is there, and does not lead"
    slots = host.perf_event_open(SLOTS, -1, 0, -1)
    assert refusal(host.perf_event_open, RETIRING, -1, 0, slots) == ""
    assert refusal(host.perf_event_open, PerfAttr(RAW, 0x8000, sample_period=9), -1, 0, slots) == "EINVAL"
    sampled = host.perf_event_open(PerfAttr(RAW, 0x0400, sample_period=9), -1, 0, -1)
    assert refusal(host.perf_event_open, RETIRING, -1, 0, sampled) == "EINVAL"


@pytest.mark.parametrize(("attr", "error"), [
    (PerfAttr(HARDWARE, 0, flags=1 << 40), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=1 << 63), "EINVAL"),
    (PerfAttr(HARDWARE, 0, read_format=1 << 5), "EINVAL"),
    (PerfAttr(HARDWARE, 0, sample_type=1 << 25), "EINVAL"),
    (PerfAttr(HARDWARE, 0, target_flags=16), "EINVAL"),
    (PerfAttr(HARDWARE, 0, config4=1), "E2BIG"),
    (PerfAttr(HARDWARE, 0, sample_period=1 << 63), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=1 << 10, sample_period=100_001), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=1 << 10, sample_period=4_000), ""),
    (PerfAttr(HARDWARE, 0, flags=1 << 37), "EINVAL"),
    (PerfAttr(HARDWARE, 10), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=1 << 15), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=3 << 15, sample_period=1000), ""),
    (PerfAttr(HARDWARE, 0, flags=1 << 1 | 1 << 15, sample_period=9, sample_type=1 << 4), "EINVAL"),
    (PerfAttr(HARDWARE, 0, flags=0b111 << 4 | 1 << 20), ""),
])
def test_what_the_attribute_itself_is_refused_for(attr: PerfAttr, error: str) -> None:
    host, _ = machine("sapphire-2s")
    assert refusal(host.perf_event_open, attr, -1, 0, -1) == error
    assert host.open_descriptors == (not error)


@pytest.mark.parametrize(("pmu", "event"), [("uncore_imc_0", "cas_count_read"), ("power", "energy-pkg"), ("msr", "tsc"),
                                            ("cstate_core", "c6-residency")])
def test_pmus_beside_the_cores_take_no_samples_no_modes_and_no_tasks(pmu: str, event: str) -> None:
    host, _ = machine("sapphire-2s")
    attr = named(host, pmu, event)
    for flags in (1 << bit for bit in (4, 5, 6, 7, 19, 20)):
        assert refusal(host.perf_event_open, replace(attr, flags=flags), -1, 0, -1) == "EINVAL"
    assert refusal(host.perf_event_open, replace(attr, sample_period=1000), -1, 0, -1) == "EINVAL"
    assert refusal(host.perf_event_open, attr, 0, -1, -1) == ("ESRCH" if pmu == "msr" else "EINVAL")
    assert refusal(host.perf_event_open, attr, -1, 0, -1) == ""


@pytest.mark.parametrize("bit", [2, 3])
def test_only_a_leader_is_pinned_or_exclusive(bit: int) -> None:
    host, _ = machine("sapphire-2s")
    leader = host.perf_event_open(replace(CYCLES, flags=1 << bit), -1, 0, -1)
    assert refusal(host.perf_event_open, replace(INSTRUCTIONS, flags=1 << bit), -1, 0, leader) == "EINVAL"
    assert refusal(host.perf_event_open, INSTRUCTIONS, -1, 0, leader) == ""


def test_a_group_is_no_larger_than_a_record() -> None:
    host, _ = machine("guest")
    attr = PerfAttr(SOFTWARE, 3, read_format=0b1111)
    leader = host.perf_event_open(attr, -1, 0, -1)
    fitted = 1
    while (error := refusal(host.perf_event_open, attr, -1, 0, leader)) == "":
        fitted += 1
    assert error == "E2BIG"
    assert 1000 < fitted < 1024


def test_an_unknown_event_is_reported_before_the_rights_to_a_cpu() -> None:
    host, _ = machine("sapphire-2s")
    host.set_privileges(uid=1000, capabilities=0, paranoid=1)
    assert refusal(host.perf_event_open, PerfAttr(200, 0), -1, 0, -1) == "ENOENT"
    assert refusal(host.perf_event_open, CYCLES, -1, 0, -1) == "EACCES"
    host.set_privileges(uid=1000, capabilities=0, paranoid=2)
    assert refusal(host.perf_event_open, PerfAttr(200, 0), -1, 0, -1) == "EACCES"


@pytest.mark.parametrize(("name", "config", "fits"), [("sapphire-2s", 0x81D0, 8), ("turin-2s", 0xC2, 6)])
def test_a_group_larger_than_the_pmu_is_refused(name: str, config: int, fits: int) -> None:
    host, _ = machine(name)
    leader = group(host, 0, [PerfAttr(RAW, config)] * fits)
    assert len(values(host, leader)[2]) == fits
    assert refusal(host.perf_event_open, PerfAttr(RAW, config), -1, 0, leader) == "EINVAL"


def test_fixed_counters_leave_the_general_ones_free() -> None:
    host, clock = machine("sapphire-2s")
    leader = group(host, 0, [CYCLES, INSTRUCTIONS, PerfAttr(HARDWARE, 9)] + [PerfAttr(RAW, 0x81D0)] * 8)
    clock.advance(1)
    enabled, running, _ = values(host, leader)
    assert enabled == running


def test_too_many_groups_take_turns_and_scale_to_the_truth() -> None:
    host, clock = machine("sapphire-2s")
    leaders = [group(host, 0, [PerfAttr(RAW, config)] * 5) for config in (0x81D0, 0x82D0, 0xC4)]
    old = truth_of(host).truth(0)
    clock.advance(8)
    enabled, running, counted = values(host, leaders[2])
    assert enabled == 8_000_000_000
    assert running / enabled == pytest.approx(8 / 15, rel=1e-6)
    branches = truth_of(host).truth(0).branches - old.branches
    assert counted[0] * enabled / running == pytest.approx(branches, rel=1e-6)
    host.close(leaders[0])
    assert values(host, leaders[1])[0] == enabled
    clock.advance(8)
    later = values(host, leaders[2])
    assert 8 / 15 < (later[1] - running) / (later[0] - enabled) <= 1


@pytest.mark.parametrize("name", CORE_PMU_SHAPES)
def test_every_published_event_opens(name: str) -> None:
    host, clock = machine(name)
    opened = 0
    for folder in list_pmus(host):
        pmu = read_pmu(host, folder)
        if pmu is None:
            continue
        for event, written in pmu.events.items():
            if "?" in written.text:
                continue  # it needs a node or a value that somebody chooses
            cpu = next(iter(sorted(pmu.cpumask or pmu.cpus or (0,))))
            led = [named(host, folder, "slots")] if event.startswith("topdown-") else []
            members = [host.perf_event_open(attr, -1, cpu, -1) for attr in led or [named(host, folder, event)]]
            members += [host.perf_event_open(named(host, folder, event), -1, cpu, members[0]) for _attr in led]
            clock.advance(0.01)
            assert len(values(host, members[0])[2]) == len(members)
            for member in reversed(members):
                host.close(member)
            opened += 1
    assert opened > 10
    assert host.open_descriptors == 0


@pytest.mark.parametrize("microarchitecture", CORE_EVENTS.names())
def test_event_tables_name_counts_that_exist(microarchitecture: str) -> None:
    table, kind = core_events(microarchitecture), SHAPES["laptop"].core_types[0]
    known = {*counts(kind), *pipeline_counts(kind, table.slots, contended=False), "reference", "crystal"}
    additive = (name for bits in table.additive.values() for name in bits.values())
    used = {*table.exact.values(), *table.core_wide.values(), *additive}
    assert used <= known
    assert table.fixed <= set(table.exact)


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("sapphire-2s", {0x01C7: 1, 0x02C7: 1, 0x04C7: 2, 0x18C7: 4, 0x60C7: 8, 0x80C7: 16}),
        ("laptop", {0x03C7: 1, 0x04C7: 2, 0x18C7: 4, 0x20C7: 8}),
        ("turin-2s", {0x0F03: 1}),
        ("turin-2s", {0x4F03: 1, 0x6F03: 1, 0x8F03: 1, 0xAF03: 1}),
        ("grace-2s", {0x80C0: 1, 0x80C1: 1}),
        ("vera-2s", {0x80C4: 1, 0x80C5: 1, 0x80C6: 1, 0x80C7: 1}),
    ],
)
def test_flop_metrics_give_the_flops(name: str, definition: dict[int, int]) -> None:
    host, clock = machine(name)
    cpu = max(range(60), key=lambda item: truth_of(host).truth(item).flops) if name != "laptop" else 2
    leaders = {config: group(host, cpu, [raw(host, config, cpu)]) for config in definition}
    old = truth_of(host).truth(cpu)
    clock.advance(40)
    total = 0.0
    for config, leader in leaders.items():
        enabled, running, (value,) = values(host, leader)
        total += definition[config] * value * enabled / running
    flops = truth_of(host).truth(cpu).flops - old.flops
    assert flops > 1e6
    assert total == pytest.approx(flops, rel=1e-5)


def test_modes_split_a_count() -> None:
    host, clock = machine("sapphire-2s")
    user, kernel, both = (group(host, 0, [PerfAttr(RAW, 0xC0, flags=flags)]) for flags in (1 << 5, 1 << 4, 0))
    switches = group(host, 0, [PerfAttr(SOFTWARE, 3, flags=1 << 5)])
    clock.advance(9)
    item, other, total = (values(host, leader)[2][0] for leader in (user, kernel, both))
    assert item > 0
    assert other > 0
    assert item + other == pytest.approx(total, abs=2)
    assert values(host, switches)[2] == [0]  # a switch happens in the kernel
    assert (
        refusal(host.perf_event_open, PerfAttr(named(host, "msr", "tsc").type, 0, flags=1 << 5), -1, 0, -1) == "EINVAL"
    )


@pytest.mark.parametrize(
    ("level", "flags", "capabilities", "error"),
    [
        (-1, 0, 0, ""),
        (0, 0, 0, ""),
        (1, 0, 0, "EACCES"),
        (2, 1 << 5, 0, "EACCES"),
        (2, 0, 1 << CAP_PERFMON, ""),
        (4, 0, 1 << CAP_PERFMON, ""),
    ],
)
def test_paranoid_levels(level: int, flags: int, capabilities: int, error: str) -> None:
    host, _ = machine("sapphire-2s")
    host.set_privileges(uid=1000, capabilities=capabilities, paranoid=level)
    assert host.read_text("/proc/sys/kernel/perf_event_paranoid") == f"{level}\n"
    assert host.privileges().perf_paranoid == level
    assert refusal(host.perf_event_open, PerfAttr(RAW, 0xC0, flags=flags), -1, 0, -1) == error


def test_descriptors_run_out() -> None:
    host, _ = machine("guest")
    host.set_privileges(descriptors=(8, 8))
    opened = [host.perf_event_open(PerfAttr(SOFTWARE, 3), -1, 0, -1) for _ in range(5)]
    assert refusal(host.perf_event_open, PerfAttr(SOFTWARE, 3), -1, 0, -1) == "EMFILE"
    assert refusal(host.open_file, "/proc/stat") == "EMFILE"
    host.close(opened[0])
    assert refusal(host.open_file, "/proc/stat") == ""
    assert refusal(host.close, opened[0]) == "EBADF"


def test_counters_of_a_cpu_that_leaves_stand_still() -> None:
    host, clock = machine("sapphire-2s")
    leader = group(host, 5, [CYCLES, named(host, "msr", "tsc")])
    clock.advance(2)
    host.set_online(5, False)
    frozen = values(host, leader)
    clock.advance(2)
    assert values(host, leader) == frozen
    assert refusal(host.perf_event_open, CYCLES, -1, 5, -1) == "ENODEV"
    host.set_online(5, True)
    assert refusal(host.perf_event_open, CYCLES, -1, 5, -1) == ""
    clock.advance(1)
    assert values(host, leader) == frozen


def test_software_events_follow_the_kernel_counts() -> None:
    host, clock = machine("guest")
    leader = group(host, 1, [PerfAttr(SOFTWARE, config) for config in (0, 3, 4)])
    old = truth_of(host).truth(1)
    clock.advance(11)
    _, _, (nanoseconds, switches, migrations) = values(host, leader)
    new = truth_of(host).truth(1)
    assert nanoseconds == pytest.approx(11e9, abs=2)
    assert switches == pytest.approx(new.switches - old.switches, abs=1)
    assert migrations == pytest.approx(new.migrations - old.migrations, abs=1)


def test_memory_controllers_count_the_lines_of_their_package() -> None:
    host, clock = machine("sapphire-2s")
    pmus = [name for name in list_pmus(host) if name.startswith("uncore_imc_")]
    cpu = 56
    leaders = [group(host, cpu, [named(host, pmu, "cas_count_read")]) for pmu in pmus]
    old = truth_of(host).package_truth(1)
    clock.advance(5)
    lines = sum(values(host, leader)[2][0] for leader in leaders)
    assert lines * 64 == pytest.approx(truth_of(host).package_truth(1).read_bytes - old.read_bytes, rel=1e-6)


@of_every(itertools.product(SHAPES, range(1, 13)))
def test_every_pmu_has_a_number_of_its_own(row: tuple[str, int]) -> None:
    """How many PMUs there are depends on the cores: no number of them may make two PMUs share a type."""
    name, cores = row
    shape = SHAPES[name]
    blocks = tuple(replace(block, cores=min(block.cores, max(cores, block.module)),
                           l3=min(block.l3, max(cores, block.module))) for block in shape.blocks)
    host = SimulatedHost(replace(shape, blocks=blocks), ManualClock(1), 1)
    types = [number(host, f"{DEVICES}/{pmu}/type") for pmu in list_pmus(host)]
    assert len(types) == len(set(types))
