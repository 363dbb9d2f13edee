from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import replace

import pytest
from prochost import machine_of, plain_topology

from turbotui.errors import InternalError
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.cpuidle import Cpuidle, short_name
from turbotui.sources.source import CpuGone

CPU = "/sys/devices/system/cpu"
DRIVER = f"{CPU}/cpuidle/current_driver"


def idle_files(
    cpu: int, names: Sequence[str], files: Sequence[str] = ("usage", "time", "above", "below", "rejected")
) -> dict[str, str]:
    tree = {}
    for index, name in enumerate(names):
        tree[f"{CPU}/cpu{cpu}/cpuidle/state{index}/name"] = f"{name}\n"
        for place, file in enumerate(files):
            tree[f"{CPU}/cpu{cpu}/cpuidle/state{index}/{file}"] = f"{1000 * cpu + 100 * index + place}\n"
    return tree


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("POLL", "POLL"), ("C1-HSW", "C1"), ("C1_ACPI", "C1ACPI"), ("haltpoll idle", "haltpoll idle"),
        ("C6N-SPR", "C6N"), ("pkg_C6-X_Y\n", "pkgC6"),
    ],
)  # fmt: skip
def test_names_are_shortened(name: str, short: str) -> None:
    assert short_name(name) == short


def test_each_counter_is_read_from_its_own_file() -> None:
    host, machine = machine_of(
        {**idle_files(0, ["POLL", "C1"]), **idle_files(1, ["POLL", "C1"]), DRIVER: "intel_idle\n"}
    )
    wanted = frozenset({"cpuidle.1.time", "cpuidle.0.rejected", "cpuidle.1.usage"})
    reader = Cpuidle().open(machine, 1, wanted)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        "cpuidle.0.rejected": 1004, "cpuidle.1.time": 1101, "cpuidle.1.usage": 1100,
    }  # fmt: skip
    assert len(host.descriptors) == Cpuidle().descriptors(wanted, 1) == 3
    texts = host.texts
    host.preads = 0
    reader.read()
    assert (host.preads, host.texts) == (3, texts)
    reader.close()
    assert host.descriptors == {}


def test_probe_keeps_nothing_open_and_time_is_in_seconds() -> None:
    host, machine = machine_of({**idle_files(0, ["POLL", "C1_ACPI"]), DRIVER: "acpi_idle\n"})
    probe = Cpuidle().probe(machine)
    assert (host.opens, probe.note) == (0, "driver acpi_idle")
    time = probe.signals["cpuidle.1.time"]
    assert isinstance(time, Signal)
    assert time.delta(0, 2_500_000) == pytest.approx(2.5)
    name = probe.signals["cpuidle.1.name"]
    assert isinstance(name, Signal)
    assert (name.behavior, name.scope, name.constant) == (Behavior.CONSTANT, Scope.SYSTEM, "C1ACPI")
    assert Cpuidle().descriptors(frozenset({"cpuidle.1.name"}), 8) == 0


def test_states_of_a_hybrid_are_the_union_and_a_cpu_without_one_gives_none() -> None:
    _, machine = machine_of({**idle_files(0, ["POLL", "C1"]), **idle_files(1, ["POLL", "C1E", "C6"])})
    signals = Cpuidle().probe(machine).signals
    names = [signals[f"cpuidle.{index}.name"] for index in range(3)]
    assert [name.constant for name in names if isinstance(name, Signal)] == ["POLL", "C1", "C6"]
    reader = Cpuidle().open(machine, 0, frozenset({"cpuidle.1.usage", "cpuidle.2.usage"}))
    assert list(reader.read()) == [100, None]


def test_latencies_of_unlike_kinds_of_core_are_read_on_each_cpu() -> None:
    tree = {**idle_files(0, ["C1"], ("usage", "latency")), **idle_files(1, ["C1"], ("usage", "latency"))}
    plain = plain_topology((0, 1))
    two_kinds = replace(plain, places={cpu: replace(place, core_type="PE"[cpu]) for cpu, place in plain.places.items()})
    alike = {**tree, f"{CPU}/cpu1/cpuidle/state0/latency": tree[f"{CPU}/cpu0/cpuidle/state0/latency"]}
    for files, topology, behavior in ((tree, two_kinds, Behavior.GAUGE), (alike, two_kinds, Behavior.CONSTANT)):
        _, machine = machine_of(files, topology)
        latency = Cpuidle().probe(machine).signals["cpuidle.0.latency"]
        assert isinstance(latency, Signal)
        assert latency.behavior is behavior
    _, machine = machine_of(tree, two_kinds)
    latency = Cpuidle().probe(machine).signals["cpuidle.0.latency"]
    assert isinstance(latency, Signal)
    for cpu, microseconds in ((0, 1), (1, 1_001)):
        reader = Cpuidle().open(machine, cpu, frozenset({"cpuidle.0.latency"}))
        assert list(reader.read()) == [microseconds]
        assert latency.value(microseconds) == pytest.approx(microseconds * 1e-6)


def test_states_above_nine_are_not_mixed_up() -> None:
    _, machine = machine_of(idle_files(0, [f"S{index}" for index in range(12)]), plain_topology((0,)))
    signals = Cpuidle().probe(machine).signals
    eleventh = signals["cpuidle.11.name"]
    assert isinstance(eleventh, Signal)
    assert eleventh.constant == "S11"


def test_an_old_kernel_names_the_release_it_would_take() -> None:
    _, machine = machine_of(idle_files(0, ["POLL"], files=("usage", "time")))
    signals = Cpuidle().probe(machine).signals
    for word, release in (("above", "5.0"), ("below", "5.0"), ("rejected", "5.10")):
        why = signals[f"cpuidle.0.{word}"]
        assert isinstance(why, Unavailable)
        assert why.reason is Reason.NO_DRIVER
        assert release in why.remedy
    assert isinstance(signals["cpuidle.0.usage"], Signal)


def test_without_states_the_driver_file_is_quoted() -> None:
    _, machine = machine_of({DRIVER: "none\n"})
    why = Cpuidle().probe(machine).signals["cpuidle.0.time"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_DRIVER
    assert "current_driver says none" in why.detail
    _, guest = machine_of({}, model=CpuModel(hypervisor=True))
    why = Cpuidle().probe(guest).signals["cpuidle.0.time"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.VIRTUALISED


def test_a_cpu_that_goes_offline_ends_its_reader() -> None:
    host, machine = machine_of({**idle_files(0, ["POLL"]), f"{CPU}/cpu0/online": "1\n"})
    reader = Cpuidle().open(machine, 0, frozenset({"cpuidle.0.usage", "cpuidle.0.time"}))
    host.remove(f"{CPU}/cpu0/cpuidle/state0/usage")
    assert list(reader.read()) == [1, None]
    host.remove(f"{CPU}/cpu0/cpuidle")
    with pytest.raises(CpuGone):
        reader.read()
    host.files[f"{CPU}/cpu0/online"] = "0\n"
    with pytest.raises(CpuGone):
        Cpuidle().open(machine, 0, frozenset({"cpuidle.0.usage"}))


def test_one_unreadable_file_costs_only_its_own_signal() -> None:
    host, machine = machine_of(idle_files(0, ["POLL"]))
    reader = Cpuidle().open(machine, 0, frozenset({"cpuidle.0.usage", "cpuidle.0.time"}))
    host.files[f"{CPU}/cpu0/cpuidle/state0/time"] = errno.EIO
    assert list(reader.read()) == [None, 0]
    host.files[f"{CPU}/cpu0/cpuidle/state0/time"] = "nonsense\n"
    assert list(reader.read()) == [None, 0]


def test_running_out_of_descriptors_leaves_none_open() -> None:
    host, machine = machine_of(idle_files(0, ["POLL", "C1"]))
    host.limit = 2
    with pytest.raises(HostError, match="EMFILE"):
        Cpuidle().open(machine, 0, frozenset({"cpuidle.0.usage", "cpuidle.0.time", "cpuidle.1.usage"}))
    assert host.descriptors == {}


def test_it_is_not_opened_for_all_cpus_at_once() -> None:
    _, machine = machine_of(idle_files(0, ["POLL"]))
    with pytest.raises(InternalError, match="Cpuidle"):
        Cpuidle().open_shared(machine, frozenset({"cpuidle.0.usage"}))


@pytest.mark.real
def test_this_machines_own_states() -> None:
    host = LinuxHost()
    machine = read_machine(host)
    signals = Cpuidle().probe(machine).signals
    wanted = frozenset(name for name, s in signals.items() if isinstance(s, Signal) and s.behavior is Behavior.COUNTER)
    if not wanted:
        pytest.skip("this machine has no idle states")
    cpu = machine.topology.cpus[0]
    reader = Cpuidle().open(machine, cpu, wanted)
    values = dict(zip(reader.signals, reader.read(), strict=True))
    reader.close()
    for name, value in values.items():
        _, state, file = name.split(".")
        # Read afterwards, so counters can only have gone on.
        with open(f"{CPU}/cpu{cpu}/cpuidle/state{state}/{file}", encoding="ascii") as later:
            assert isinstance(value, int)
            assert 0 <= value <= int(later.read())
