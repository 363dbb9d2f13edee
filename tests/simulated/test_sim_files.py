"""Simulated files have the kernel's format, and agree with the model."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from host_readers import SMALL, machine, number, refusal
from hypothesis import given
from hypothesis import strategies as st
from model_truth import truth_of

from turbotui.machine.cpulist import parse_cpulist, parse_cpumask
from turbotui.machine.cpumodel import read_cpu_model
from turbotui.machine.topology import read_topology
from turbotui.quantities.scope import Scope
from turbotui.simulated import SHAPES, SimulatedHost
from turbotui.simulated.layout import cpu_mask
from turbotui.simulated.tree import File, FolderCache, Node, fixed

CPUS = "/sys/devices/system/cpu"


def walk(host: SimulatedHost, path: str, files: list[str]) -> None:
    for name in host.list_dir(path):
        below = f"{path.rstrip('/')}/{name}"
        error = refusal(host.list_dir, below)
        if error == "ENOTDIR":
            files.append(below)
        else:
            assert error == ""
            walk(host, below, files)


@pytest.mark.parametrize("name", ["laptop", "laptop-old", "guest", "grace-2s"])
def test_every_file_can_be_read_and_ends_its_line(name: str) -> None:
    host, clock = machine(name)
    clock.advance(1)
    files: list[str] = []
    walk(host, "/", files)
    assert len(files) > 250
    for path in files:
        assert host.exists(path)
        text = host.read_text(path)
        ends = "\u2400" if path.startswith("/proc/") and path.count("/") == 3 and path.endswith("cmdline") else "\n"
        assert path.startswith(("/dev/", "/sys/firmware/dmi/")) or text.endswith(ends), path  # these two are binary


@pytest.mark.parametrize("name", SHAPES)
def test_topology_is_the_shape(name: str) -> None:
    host, _ = machine(name)
    shape = SHAPES[name]
    topology = read_topology(host, None)
    assert len(topology.instances(Scope.CPU)) == shape.cpus
    assert len(topology.instances(Scope.CORE)) == shape.packages * shape.cores_per_package
    assert len(topology.instances(Scope.PACKAGE)) == shape.packages
    assert len(topology.instances(Scope.NODE)) == shape.packages * shape.nodes_per_package
    modules = {"laptop": 9, "laptop-gpu": 9, "laptop-arrow": 9, "forest-1s": 36}
    assert len(topology.instances(Scope.MODULE)) == modules.get(name, shape.packages * shape.cores_per_package)
    if name == "turin-2s":
        assert len(topology.instances(Scope.L3)) == 24
    assert set(topology.core_types) <= {"P", "E", "LP"}


@pytest.mark.parametrize("name", SHAPES)
def test_the_processor_is_recognised(name: str) -> None:
    host, _ = machine(name)
    shape, model = SHAPES[name], read_cpu_model(host)
    if shape.isa.value == "arm":
        assert (model.implementer, model.part) == (shape.family, shape.model)
    else:
        assert (model.vendor, model.family, model.model) == (shape.vendor, shape.family, shape.model)
    assert model.hypervisor is shape.hypervisor


def test_siblings_are_numbered_as_linux_does() -> None:
    host, _ = machine("sapphire-2s")
    assert host.read_text(f"{CPUS}/cpu0/topology/thread_siblings_list") == "0,112\n"
    assert host.read_text(f"{CPUS}/cpu56/topology/physical_package_id") == "1\n"
    assert host.read_text(f"{CPUS}/cpu168/topology/core_siblings_list") == "56-111,168-223\n"
    assert parse_cpumask(host.read_text(f"{CPUS}/cpu168/topology/core_siblings")) == parse_cpulist("56-111,168-223")
    laptop, _ = machine("laptop")
    assert laptop.read_text(f"{CPUS}/cpu2/topology/thread_siblings_list") == "2-3\n"
    assert laptop.read_text(f"{CPUS}/cpu13/topology/cluster_cpus_list") == "12-15\n"
    assert laptop.read_text(f"{CPUS}/cpu13/cache/index2/shared_cpu_list") == "12-15\n"
    assert laptop.read_text(f"{CPUS}/cpu0/cache/index3/shared_cpu_list") == "0-19\n"
    assert not laptop.exists(f"{CPUS}/cpu20/cache/index3")
    vera, _ = machine("vera-2s")
    assert vera.read_text(f"{CPUS}/cpu88/topology/thread_siblings_list") == "88,264\n"


@given(st.sets(st.integers(0, 1023)), st.integers(1, 1024))
def test_masks_hold_the_cpus_in_full_groups(cpus: set[int], total: int) -> None:
    known = {cpu for cpu in cpus if cpu < total}
    text = cpu_mask(known, total)
    assert parse_cpumask(text) == known
    groups = text.split(",")
    assert len(groups) == (total + 31) // 32
    assert {len(group) for group in groups[1:]} <= {8}


@pytest.mark.parametrize("name", SMALL)
def test_proc_stat_books_the_load(name: str) -> None:
    host, clock = machine(name)

    def row(cpu: int) -> list[int]:
        lines = host.read_text("/proc/stat").splitlines()
        return [int(word) for word in next(line for line in lines if line.startswith(f"cpu{cpu} ")).split()[1:]]

    old, before = row(1), truth_of(host).truth(1)
    clock.advance(30)
    passed = [new - earlier for new, earlier in zip(row(1), old, strict=True)]
    busy = truth_of(host).truth(1).busy_seconds - before.busy_seconds
    assert len(passed) == 10
    assert sum(passed) == pytest.approx(3000, abs=10)
    assert passed[3] + passed[4] == pytest.approx(3000 - 100 * busy, abs=4)
    assert (passed[7] > 0) is (name == "guest" and busy > 2)


def test_proc_stat_totals_and_single_lines() -> None:
    host, _ = machine("guest")
    lines = host.read_text("/proc/stat").splitlines()
    rows = [[int(word) for word in line.split()[1:]] for line in lines if re.match(r"cpu\d", line)]
    assert [int(word) for word in lines[0].split()[1:]] == [sum(column) for column in zip(*rows, strict=True)]
    single = dict(line.split(maxsplit=1) for line in lines if not line.startswith("cpu"))
    assert int(single["ctxt"]) == int(truth_of(host).system_truth().switches)
    softirqs = [int(word) for word in single["softirq"].split()]
    assert softirqs[0] == sum(softirqs[1:])
    assert {"btime", "processes", "procs_running", "procs_blocked", "intr"} <= set(single)


@pytest.mark.parametrize("name", SMALL)
def test_interrupts_have_the_kernels_columns_and_the_true_sums(name: str) -> None:
    host, clock = machine(name)
    clock.advance(2.2)
    lines = host.read_text("/proc/interrupts").splitlines()
    cpus = [int(word[3:]) for word in lines[0].split()]
    assert cpus == list(range(SHAPES[name].cpus))
    column = 1
    total = 0
    for line in lines[1:]:
        label, _, rest = line.partition(":")
        numbers = rest.split()[: len(cpus)]
        if label.strip() in ("ERR", "MIS", "Err"):
            assert rest.split() == ["0"]
            continue
        assert all(word.isdigit() for word in numbers), line
        # each number ends where its column's heading does, 11 characters further than the last
        assert line.index(":") + 1 + 11 == len(line[: line.index(":") + 12])
        total += int(numbers[column])
    throttled = SHAPES[name].isa.value == "intel"
    truth = truth_of(host).truth(column).interrupts
    if SHAPES[name].isa.value == "arm" or name == "guest":
        assert 0 < total <= truth  # no NMIs there
    else:
        assert total == pytest.approx(truth, abs=10 + (5 if throttled else 0))


def test_softirqs_are_those_of_the_stat_file() -> None:
    host, _ = machine("laptop")
    lines = host.read_text("/proc/softirqs").splitlines()
    names = [line.split(":")[0].strip() for line in lines[1:]]
    assert names == ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"]
    sums = [sum(int(word) for word in line.split(":")[1].split()) for line in lines[1:]]
    stat = next(line for line in host.read_text("/proc/stat").splitlines() if line.startswith("softirq"))
    assert [int(word) for word in stat.split()[2:]] == sums


@pytest.mark.parametrize("name", SMALL)
def test_idle_states_hold_the_idle_time(name: str) -> None:
    host, clock = machine(name)
    clock.advance(13)
    truth = truth_of(host).truth(1)
    folder = f"{CPUS}/cpu1/cpuidle"
    for index, seconds in enumerate(truth.idle_seconds):
        state = f"{folder}/state{index}"
        assert number(host, f"{state}/time") == int(seconds * 1e6)
        entries = number(host, f"{state}/usage")
        assert number(host, f"{state}/above") + number(host, f"{state}/below") <= entries
    residencies = [number(host, f"{folder}/{state}/residency") for state in host.list_dir(folder)]
    assert residencies == sorted(residencies)


def test_frequency_files_show_the_frequency() -> None:
    host, clock = machine("laptop")
    for _ in range(5):
        clock.advance(3)
        for cpu in (0, 14, 21):
            assert number(host, f"{CPUS}/cpu{cpu}/cpufreq/scaling_cur_freq") == truth_of(host).truth(cpu).hertz / 1000
    assert number(host, f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq") > number(
        host, f"{CPUS}/cpu14/cpufreq/cpuinfo_max_freq"
    )


@pytest.mark.parametrize("name", ["sapphire-2s", "laptop", "laptop-old", "forest-1s"])
def test_core_sensors_are_labelled_and_not_in_core_order(name: str) -> None:
    host, clock = machine(name)
    clock.advance(9)
    chip = next(
        f"/sys/class/hwmon/{entry}"
        for entry in host.list_dir("/sys/class/hwmon")
        if host.read_text(f"/sys/class/hwmon/{entry}/name") == "coretemp\n"
    )
    labels = {
        int(file[4:-6]): host.read_text(f"{chip}/{file}").strip()
        for file in host.list_dir(chip)
        if file.endswith("_label")
    }
    assert labels.pop(1) == "Package id 0"
    shape = SHAPES[name]
    cpus = range(shape.cpus if shape.hybrid else shape.cores_per_package)
    core_of = {number(host, f"{CPUS}/cpu{cpu}/topology/core_id"): cpu for cpu in cpus}
    in_index_order = [int(label.removeprefix("Core ")) for _, label in sorted(labels.items())]
    assert sorted(in_index_order) == sorted(core_of)
    assert in_index_order != sorted(in_index_order)
    for index, label in labels.items():
        truth = truth_of(host).truth(core_of[int(label.removeprefix("Core "))]).celsius
        assert number(host, f"{chip}/temp{index}_input") / 1000 == pytest.approx(truth, abs=1)


def test_amd_sensors_name_each_die_of_cores() -> None:
    host, clock = machine("turin-2s")
    clock.advance(9)
    labels = [f"Tccd{n}" for n in range(1, 13)]
    result = [host.read_text(f"/sys/class/hwmon/hwmon2/temp{n}_label").strip() for n in range(3, 15)]
    assert result == labels
    first = max(truth_of(host).truth(cpu).celsius for cpu in range(96, 104))
    assert number(host, "/sys/class/hwmon/hwmon2/temp3_input") / 1000 == pytest.approx(first, abs=0.2)


def test_powercap_belongs_to_root_and_wraps() -> None:
    host, clock = machine("laptop")
    zones = host.list_dir("/sys/class/powercap")
    assert zones == tuple(f"intel-rapl{zone}" for zone in ("", ":0", ":0:0", ":0:1", ":0:2", ":1"))
    path = "/sys/class/powercap/intel-rapl:0/energy_uj"
    span = number(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj")
    assert 0 <= number(host, path) < span
    assert number(host, "/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw") == 28_000_000
    host.set_privileges(uid=1000, capabilities=0)
    assert refusal(host.read_text, path) == "EACCES"
    assert refusal(host.open_file, path) == "EACCES"
    assert host.exists(path)
    clock.advance(1)
    assert host.read_text("/sys/class/powercap/intel-rapl:0/name") == "package-0\n"


def test_graphics_idle_time_and_clock() -> None:
    host, clock = machine("laptop")
    path = "/sys/class/drm/card0/gt/gt0/rc6_residency_ms"
    old = number(host, path)
    clock.advance(20)
    truth = truth_of(host).package_truth(0)
    assert number(host, path) == int(truth.gpu_rc6_seconds * 1000)
    assert 0 < number(host, path) - old <= 20_000
    assert 300 <= number(host, "/sys/class/drm/card0/gt/gt0/rps_cur_freq_mhz") <= 2250


def test_a_guest_shows_almost_nothing() -> None:
    host, _ = machine("guest")
    for path in (f"{CPUS}/cpu0/cpufreq", "/sys/class/powercap", "/sys/class/hwmon", f"{CPUS}/cpu0/thermal_throttle"):
        assert not host.exists(path)
    assert host.list_dir("/sys/bus/event_source/devices") == ("breakpoint", "msr", "software", "tracepoint")
    assert host.list_dir("/sys/bus/event_source/devices/msr/events") == ("tsc",)
    assert host.read_text(f"{CPUS}/cpuidle/current_driver") == "haltpoll\n"


def test_cppc_counters_deliver_the_frequency() -> None:
    host, clock = machine("grace-2s")
    base = f"{CPUS}/cpu9/acpi_cppc"

    def counters() -> list[int]:
        return [int(part.split(":")[1]) for part in host.read_text(f"{base}/feedback_ctrs").split()]

    old, before = counters(), truth_of(host).truth(9)
    clock.advance(20)
    reference, delivered = (new - earlier for new, earlier in zip(counters(), old, strict=True))
    after = truth_of(host).truth(9)
    megahertz = delivered / reference * number(host, f"{base}/reference_perf") * 10
    assert megahertz * 1e6 == pytest.approx(
        (after.cycles - before.cycles) / (after.c0_seconds - before.c0_seconds), rel=1e-4
    )


def test_uncore_clock_in_both_layouts() -> None:
    host, _ = machine("sapphire-2s")
    assert 800_000 <= number(host, f"{CPUS}/intel_uncore_frequency/package_01_die_00/current_freq_khz") <= 2_200_000
    host, _ = machine("forest-1s")
    assert host.list_dir(f"{CPUS}/intel_uncore_frequency") == ("uncore00", "uncore01", "uncore02", "uncore03")
    assert number(host, f"{CPUS}/intel_uncore_frequency/uncore02/domain_id") == 2


def test_a_quiet_package_sleeps() -> None:
    for name in ("sapphire-2s", "laptop-old", "laptop"):
        host, clock = machine(name)
        old = truth_of(host).package_truth(0).states
        clock.advance(60)
        new = truth_of(host).package_truth(0).states
        slept = {state: new[state] - old[state] for state in new}
        for state, _ in SHAPES[name].package_states:
            assert slept[state] > 0.05, (name, state)


def test_folders_of_cpus_forget_what_was_read_and_say_the_same_again() -> None:
    made: list[int] = []

    def files(number: int) -> Mapping[str, Node]:
        made.append(number)
        return {"id": fixed(number)}

    visits = FolderCache(2)
    folders = [visits.folder(lambda number=number: files(number)) for number in range(4)]  # type: ignore[misc]
    for literal in (0, 1, 1, 0, 2, 1, 0, 3, 0):
        result = folders[literal].children["id"]
        assert isinstance(result, File)
        assert result.content(0.0) == f"{literal}\n"
    assert made == [0, 1, 2, 0, 3], "the two that were made last remember"
