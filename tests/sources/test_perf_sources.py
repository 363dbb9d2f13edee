from __future__ import annotations

import errno

import pytest
from fakehost import GUEST, SAPPHIRE_RAPIDS, FakeHost, machine, place, pmu_files

from turbotui.errors import InternalError
from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.perf_cstate import PerfCstate
from turbotui.sources.perf_generic import PerfHardware, PerfSoftware
from turbotui.sources.perf_msr import PerfMsr
from turbotui.sources.perf_power import PerfPower
from turbotui.sources.source import Probe

BARE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F)


def usable(probe: Probe) -> dict[SignalId, Signal]:
    return {name: result for name, result in probe.signals.items() if isinstance(result, Signal)}


def refused(probe: Probe) -> dict[SignalId, Unavailable]:
    return {name: result for name, result in probe.signals.items() if isinstance(result, Unavailable)}


MSR_EVENTS = {
    "format/event": "config:0-63\n",
    "events/tsc": "event=0x00\n",
    "events/aperf": "event=0x01\n",
    "events/mperf": "event=0x02\n",
    "events/smi": "event=0x04\n",
}


def test_msr_events_are_one_group_on_each_cpu() -> None:
    host = FakeHost(files=pmu_files("msr", 11, MSR_EVENTS), counters={(11, n): 10.0 * (n + 1) for n in (0, 1, 2, 4)})
    here, source = machine(host, BARE), PerfMsr()
    probe = source.probe(here)
    assert set(usable(probe)) == {"tsc", "aperf", "mperf", "smi"}
    assert probe.signals["aperf"].origin == "perf msr/aperf/"  # type: ignore[union-attr]
    assert probe.signals["smi"].width_bits == 32  # type: ignore[union-attr]
    assert host.open == {}
    assert len(host.opens) == 4
    assert source.descriptors(frozenset({"tsc"}), 2) == 8
    assert source.descriptors(frozenset({"energy.pkg"}), 2) == 0
    reader = source.open(here, 1, frozenset({"aperf", "mperf"}))
    host.advance(2)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"aperf": 40, "mperf": 60}


def test_an_event_that_does_not_open_costs_only_itself() -> None:
    host = FakeHost(files=pmu_files("msr", 11, MSR_EVENTS), counters={(11, 0): 1.0, (11, 1): -errno.EINVAL})
    probe = PerfMsr().probe(machine(host))
    assert set(usable(probe)) == {"tsc"}
    assert refused(probe)["aperf"].sentence() == "virtual machine: perf msr/aperf/: the kernel does not offer it here"
    assert refused(probe)["mperf"].reason is Reason.NO_HARDWARE


def test_without_the_pmu_everything_is_absent_and_nothing_is_tried() -> None:
    for source in (PerfMsr(), PerfPower(), PerfCstate()):
        host = FakeHost()
        probe = source.probe(machine(host, BARE))
        assert usable(probe) == {}
        assert {unavailable.reason for unavailable in refused(probe).values()} == {Reason.NO_HARDWARE}
        guest = refused(source.probe(machine(host)))
        assert {unavailable.reason for unavailable in guest.values()} == {Reason.VIRTUALISED}
        assert host.opens == []


def test_knights_landing_counts_cycles_in_units_of_1024() -> None:
    knl = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x57)
    host = FakeHost(files=pmu_files("msr", 11, MSR_EVENTS), counters={(11, n): 1.0 for n in (0, 1, 2, 4)})
    value = usable(PerfMsr().probe(machine(host, knl)))
    assert {name: signal.scale for name, signal in value.items()} == {"tsc": 1, "aperf": 1024, "mperf": 1024, "smi": 1}


SCALE = "2.3283064365386962890625e-10\n"
POWER = {"format/event": "config:0-7\n"} | {
    f"events/energy-{name}{suffix}": text
    for number, name in enumerate(("cores", "pkg", "ram", "gpu", "psys"), start=1)
    for suffix, text in (("", f"event=0x0{number}\n"), (".scale", SCALE), (".unit", "Joules\n"))
}
RATES = {(9, number): 1e6 for number in range(1, 6)}
TWO_PACKAGES = [place(0, 0, 0), place(1, 0, 1), place(2, 1, 0), place(3, 1, 1)]


def test_energy_is_read_where_the_cpumask_says() -> None:
    host = FakeHost(files=pmu_files("power", 9, POWER | {"cpumask": "1,3\n"}), counters=dict(RATES))
    here, source = machine(host, BARE, TWO_PACKAGES), PerfPower()
    signals = usable(source.probe(here))
    assert set(signals) == {"energy.cores", "energy.pkg", "energy.ram", "energy.gpu", "energy.psys"}
    package = signals["energy.pkg"]
    assert (package.scope, package.readers, package.scale) == (Scope.PACKAGE, (1, 3), 2.0**-32)
    assert (signals["energy.psys"].scope, signals["energy.psys"].readers) == (Scope.SYSTEM, (1,))
    host.opens.clear()
    everything = frozenset(signals)
    source.open(here, 1, everything)
    source.open(here, 3, everything - {"energy.psys"})
    assert [config for cpu, _, config in host.opens if cpu == 1] == [2, 1, 4, 3, 5]
    assert [config for cpu, _, config in host.opens if cpu == 3] == [2, 1, 4, 3]


def test_a_cpumask_with_a_cpu_in_each_die_makes_energy_the_dies() -> None:
    dies = [place(0, 0, 0, die=0), place(1, 0, 1, die=1), place(2, 1, 0, die=0), place(3, 1, 1, die=1)]
    host = FakeHost(files=pmu_files("power", 9, POWER | {"cpumask": "0-3\n"}), counters=dict(RATES))
    signals = usable(PerfPower().probe(machine(host, BARE, dies)))
    assert (signals["energy.pkg"].scope, signals["energy.pkg"].readers) == (Scope.DIE, (0, 1, 2, 3))
    host.files |= pmu_files("power", 9, {"cpumask": "0,2\n"})
    signals = usable(PerfPower().probe(machine(host, BARE, dies)))
    assert (signals["energy.pkg"].scope, signals["energy.pkg"].readers) == (Scope.PACKAGE, (0, 2))


def test_core_complexes_that_the_kernel_takes_for_dies_do_not_multiply_the_energy_of_amd() -> None:
    dies = [place(0, 0, 0, die=0), place(1, 0, 1, die=1), place(2, 1, 0, die=2), place(3, 1, 1, die=3)]
    host = FakeHost(files=pmu_files("power", 9, POWER | {"cpumask": "0-3\n"}), counters=dict(RATES))
    signals = usable(PerfPower().probe(machine(host, GUEST, dies)))
    assert (signals["energy.pkg"].scope, signals["energy.pkg"].readers) == (Scope.PACKAGE, (0, 2))


def test_a_mask_cpu_that_is_not_measured_is_replaced_by_one_of_its_package() -> None:
    host = FakeHost(files=pmu_files("power", 9, POWER | {"cpumask": "0,2\n"}), counters=dict(RATES))
    signals = usable(PerfPower().probe(machine(host, BARE, [place(1, 0, 1), place(2, 1, 0)])))
    assert signals["energy.pkg"].readers == (1, 2)


@pytest.mark.parametrize("change", [{"events/energy-pkg.unit": "Watts\n"}, {"events/energy-pkg.scale": "nonsense\n"}])
def test_energy_that_is_not_in_joules_is_not_believed(change: dict[str, str]) -> None:
    host = FakeHost(files=pmu_files("power", 9, POWER | change), counters=dict(RATES))
    probe = PerfPower().probe(machine(host, BARE))
    assert refused(probe)["energy.pkg"].reason is Reason.FAILED
    assert "energy.ram" in usable(probe)


def test_amd_counts_energy_of_each_core() -> None:
    core = {"format/event": "config:0-7\n", "events/energy-core": "event=0x01\n", "cpumask": "0,2\n"}
    core |= {"events/energy-core.scale": SCALE, "events/energy-core.unit": "Joules\n"}
    siblings = [place(0, 0, 0), place(1, 0, 0, smt=1), place(2, 0, 1), place(3, 0, 1, smt=1)]
    host = FakeHost(files=pmu_files("power_core", 12, core), counters={(12, 1): 5.0})
    signal = usable(PerfPower().probe(machine(host, places=siblings)))["energy.core"]
    assert (signal.scope, signal.readers, signal.origin) == (Scope.CORE, (0, 2), "perf power_core/energy-core/")


def test_cstates_have_the_scope_of_their_pmu() -> None:
    def bank(*states: str) -> dict[str, str]:
        events = {f"events/{state}-residency": f"event=0x0{index}\n" for index, state in enumerate(states)}
        return {"format/event": "config:0-63\n", "cpumask": "0,2\n"} | events

    siblings = [place(0, 0, 0), place(1, 0, 0, smt=1), place(2, 0, 1), place(3, 0, 1, smt=1)]
    files = pmu_files("cstate_core", 20, bank("c1", "c6")) | pmu_files("cstate_pkg", 21, bank("c2", "c6"))
    files |= pmu_files("cstate_module", 22, bank("c6"))
    host = FakeHost(files=files, counters={(kind, event): 1.0 for kind in (20, 21, 22) for event in (0, 1)})
    here, source = machine(host, BARE, siblings), PerfCstate()
    probe = source.probe(here)
    signals = usable(probe)
    assert {name: (signal.scope, signal.readers) for name, signal in signals.items()} == {
        "cstate.core.c1": (Scope.CPU, ()),
        "cstate.core.c6": (Scope.CORE, (0, 2)),
        "cstate.module.c6": (Scope.MODULE, (0, 2)),
        "cstate.pkg.c2": (Scope.PACKAGE, (0,)),
        "cstate.pkg.c6": (Scope.PACKAGE, (0,)),
    }
    assert (
        refused(probe)["cstate.core.c3"].detail == "perf cstate_core/c3-residency/: the kernel does not offer it here"
    )
    host.opens.clear()
    source.open(here, 1, frozenset({"cstate.core.c1"}))
    assert host.opens == [(1, 20, 0)], "a sibling counts what is its own, not what is its core's"


def test_software_events_are_one_group() -> None:
    host = FakeHost(counters={(1, 2): 5.0, (1, 3): 3.0, (1, 4): 4.0})
    here, source = machine(host), PerfSoftware()
    assert set(usable(source.probe(here))) == {"switches", "migrations", "faults"}
    reader = source.open(here, 0, frozenset({"switches", "faults", "migrations"}))
    assert len([held for held in host.open.values() if held.members]) == 1  # type: ignore[union-attr]
    host.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"switches": 3, "migrations": 4, "faults": 5}


def test_hardware_groups_carry_their_times() -> None:
    host = FakeHost(counters={(0, config): 1000.0 for config in range(4)}, running=0.5)
    here, source = machine(host, BARE), PerfHardware()
    probe = source.probe(here)
    signals = usable(probe)
    assert (signals["instructions"].enabled, signals["instructions"].running) == (
        "perf.hw.ipc.enabled",
        "perf.hw.ipc.running",
    )
    assert signals["cache.misses"].running == "perf.hw.cache.running"
    assert signals["perf.hw.ipc.running"].value(1_500_000_000) == pytest.approx(1.5)
    assert probe.note == ""
    reader = source.open(here, 0, frozenset({"instructions", "perf.hw.ipc.enabled", "perf.hw.ipc.running"}))
    host.advance(2)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        "instructions": 1000,
        "perf.hw.ipc.enabled": 2_000_000_000,
        "perf.hw.ipc.running": 1_000_000_000,
    }


def test_cache_events_have_the_name_of_the_level_that_they_count() -> None:
    rome = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=0x17, model=0x31)
    probe = PerfHardware().probe(machine(FakeHost(counters={(0, config): 1.0 for config in range(4)}), rome))
    assert {"cache.l2.references", "cache.l2.misses"} <= set(usable(probe))
    assert "level 2" in refused(probe)["cache.references"].detail
    assert "uncore" in refused(probe)["cache.references"].remedy

    neoverse = CpuModel(architecture="aarch64", vendor="Arm", implementer=0x41, part=0xD4F)
    host = FakeHost(counters={(0, 0): 1.0, (0, 1): 1.0, (0, 2): 9e9, (0, 3): 1e9, (3, 0x2): 70.0, (3, 0x10002): 7.0})
    here, source = machine(host, neoverse), PerfHardware()
    assert usable(source.probe(here))["cache.references"].origin == "perf LLC-loads"
    reader = source.open(here, 0, frozenset({"cache.references", "cache.misses"}))
    host.advance(1)
    result = dict(zip(reader.signals, reader.read(), strict=True))
    assert (result["cache.references"], result["cache.misses"]) == (70, 7), "reads of the last level, not of the first"

    power = CpuModel(architecture="ppc64", vendor="IBM", name="POWER9")
    probe = PerfHardware().probe(machine(FakeHost(counters={(0, config): 1.0 for config in range(4)}), power))
    assert "instructions" in usable(probe)
    assert not {name for name in usable(probe) if "cache" in name}
    assert "ppc64" in refused(probe)["cache.misses"].detail


def test_a_guest_without_a_core_pmu_says_so_for_counts_and_times() -> None:
    probe = PerfHardware().probe(machine(FakeHost()))
    assert usable(probe) == {}
    reasons = {name: unavailable.reason for name, unavailable in refused(probe).items()}
    assert reasons.keys() >= {"instructions", "cycles", "perf.hw.ipc.enabled", "perf.hw.cache.running"}
    last_level = [reasons.pop(name) for name in ("cache.references", "cache.misses")]
    assert last_level == [Reason.NO_HARDWARE] * 2, "an AMD core does not count it outside of a guest either"
    assert set(reasons.values()) == {Reason.VIRTUALISED}


def test_a_hybrid_counts_each_cpu_on_its_own_pmu() -> None:
    files = pmu_files("cpu_core", 4, {"cpus": "0-1\n"}) | pmu_files("cpu_atom", 10, {"cpus": "2-3\n"})
    counters = {(0, event | kind << 32): 1.0 for kind in (4, 10) for event in (0, 1)}
    counters |= {(0, 2 | 4 << 32): 1.0, (0, 3 | 4 << 32): 1.0}
    host = FakeHost(files=files, counters=counters)
    here, source = machine(host, BARE, [place(cpu, 0, cpu) for cpu in range(4)]), PerfHardware()
    probe = source.probe(here)
    assert {"instructions", "cycles", "cache.references", "cache.misses"} <= set(usable(probe))
    assert "perf cpu_atom/cache-misses/" in probe.note
    host.opens.clear()
    wanted = frozenset({"instructions", "cache.misses"})
    source.open(here, 0, wanted)
    reader = source.open(here, 3, wanted)
    assert [(cpu, config) for cpu, _, config in host.opens] == [
        (0, 1 | 4 << 32), (0, 4 << 32), (0, 2 | 4 << 32), (0, 3 | 4 << 32), (3, 1 | 10 << 32), (3, 10 << 32),
    ]  # fmt: skip
    host.advance(1)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"instructions": 1, "cache.misses": None}


def test_a_new_topology_is_looked_at_again() -> None:
    host = FakeHost(files=pmu_files("power", 9, POWER | {"cpumask": "0\n"}), counters=dict(RATES))
    here, source = machine(host, BARE), PerfPower()
    source.probe(here)
    host.files |= pmu_files("power", 9, {"cpumask": "1\n"})
    moved = here.with_topology(machine(host, BARE, [place(1, 0, 1)]).topology)
    host.opens.clear()
    reader = source.open(moved, 1, frozenset({"energy.pkg"}))
    host.advance(1)
    assert list(reader.read()) == [1_000_000]


def test_perf_sources_are_not_shared() -> None:
    here = machine(FakeHost(), SAPPHIRE_RAPIDS)
    for source in (PerfMsr(), PerfPower(), PerfCstate(), PerfSoftware(), PerfHardware()):
        assert not source.shared
        assert source.id
        assert source.title
        assert source.gives
        with pytest.raises(InternalError):
            source.open_shared(here, frozenset({"tsc"}))
