"""Registers beyond counters: power limits, hints, reasons; throttled time, package C0; E cores' C6."""

from __future__ import annotations

import errno

import pytest
from fakehost import FakeHost, machine, pmu_files
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.msr import Msr, MsrSettings
from turbotui.sources.perf_cstate import PerfCstate

FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts", "epb", "hwp_epp"})


def intel(model: int, flags: frozenset[str] = FLAGS) -> CpuModel:
    return CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=model, flags=flags)


SKYLAKE, HASWELL, ALDER_LAKE, ALDER_LAKE_N, NEHALEM = (intel(model) for model in (0x5E, 0x3C, 0x97, 0xBE, 0x1E))
TURIN = CpuModel(architecture="x86_64", vendor="AuthenticAMD", family=26, model=2, flags=FLAGS | {"rapl"})
UNITS = {0x606: 0x000A0E03, 0x614: 0x168, 0x611: 1000}
TDP = {"limit.pkg.tdp": 45.0}  # 0x168 eighths of a watt
P_AND_E = [CpuPlace(0, 0, 0, 0, 0, 0, 0, "P"), CpuPlace(1, 0, 0, 0, 0, 1, 4, "E")]


def host(values: dict[int, int]) -> FakeHost:
    everything = UNITS | values
    return FakeHost(registers={(cpu, address): value for cpu in range(2) for address, value in everything.items()})


def settings(values: dict[int, int], model: CpuModel = SKYLAKE) -> dict[SignalId, tuple[Signal, Raw]]:
    """Return the working signals, with the first CPU's raw readings."""
    here, source = machine(host(values), model), MsrSettings()
    signals = {name: result for name, result in source.probe(here).signals.items() if isinstance(result, Signal)}
    reader = source.open(here, 0, frozenset(signals))
    return {name: (signals[name], raw) for name, raw in zip(reader.signals, reader.read(), strict=True)}


def values(result: dict[SignalId, tuple[Signal, Raw]]) -> dict[SignalId, float | None]:
    return {name: signal.value(raw) for name, (signal, raw) in result.items()}


def test_power_limits_of_the_worked_example() -> None:
    result = values(settings({0x610: 0x42820800218208, 0x601: 0x390}))
    assert result == {"limit.pkg.pl1": 65.0, "limit.pkg.pl2": 65.0, "limit.pkg.pl4": 0x390 * 0.125, **TDP}


def test_a_limit_that_is_not_enabled_is_no_limit() -> None:
    result = values(settings({0x610: 0x42820800218208 & ~(1 << 47)}))
    assert result == {"limit.pkg.pl1": 65.0, "limit.pkg.pl2": None, **TDP}


def test_a_peak_limit_of_zero_is_not_set() -> None:
    here = machine(host({0x601: 0}), SKYLAKE)
    why = MsrSettings().probe(here).signals["limit.pkg.pl4"]
    assert isinstance(why, Unavailable)
    assert "nothing is set" in why.detail


@given(st.integers(1, 0x7FFF), st.integers(1, 0x7FFF), st.integers(0, 15))
def test_limits_in_any_power_unit(first: int, second: int, unit: int) -> None:
    raw = first | 1 << 15 | second << 32 | 1 << 47
    result = values(settings({0x606: 0xA0E00 | unit, 0x610: raw}))
    limits = {"limit.pkg.pl1": first, "limit.pkg.pl2": second, "limit.pkg.tdp": 0x168}
    assert result == {name: count * 2.0**-unit for name, count in limits.items()}


def test_hints() -> None:
    result = settings({0x1B0: 0x6, 0x774: 0x80002704})
    assert values(result) == {"epb": 6.0, "hwp.epp": 128.0} | TDP
    assert result["epb"][0].reduce is Reduce.SAME


def test_reasons_are_where_the_generation_has_them() -> None:
    everything = {0x19C: 0x88200800, 0x1B1: 0x88200801, 0x690: 1, 0x64F: 2, 0x6B0: 3, 0x6B1: 4}
    assert values(settings(everything, HASWELL)) == TDP | {
        "reasons.core": 0x88200800, "reasons.pkg": 0x88200801,
        "reasons.hsw.core": 1, "reasons.hsw.gfx": 3, "reasons.hsw.ring": 4,
    }  # fmt: skip
    assert values(settings(everything, SKYLAKE)) == TDP | {
        "reasons.core": 0x88200800, "reasons.pkg": 0x88200801,
        "reasons.skl.core": 2, "reasons.skl.gfx": 3, "reasons.skl.ring": 4,
    }  # fmt: skip
    for server in (intel(0x3F), intel(0x4F), intel(0x56)):  # other bit names than the client parts
        result = values(settings(everything, server))
        assert result["reasons.hsx.core"] == 1
        assert "reasons.hsw.core" not in result
    assert set(settings(everything, NEHALEM)) == {"reasons.core", "reasons.pkg"}  # and no power limits
    assert settings(everything, TURIN) == {}
    assert settings(everything, SKYLAKE)["reasons.core"][0].scope is Scope.CORE


def test_throttled_time_is_in_time_units() -> None:
    here = machine(host({0x613: 0xFFFFFFFF, 0x61B: 2048}), SKYLAKE)
    signals = Msr().probe(here).signals
    package, memory = signals["throttled.pkg"], signals["throttled.ram"]
    assert isinstance(package, Signal)
    assert isinstance(memory, Signal)
    assert (package.behavior, package.reduce, package.scope) == (Behavior.COUNTER, Reduce.SUM, Scope.PACKAGE)
    assert package.delta(0xFFFFFFFF, 1023) == pytest.approx(1.0)  # 1024 units of 2^-10 s, over the wrap
    assert memory.value(2048) == pytest.approx(2.0)


def test_a_time_unit_of_zero_means_ten() -> None:
    here = machine(host({0x606: 0x00000E03, 0x613: 1}), SKYLAKE)
    result = Msr().probe(here).signals["throttled.pkg"]
    assert isinstance(result, Signal)
    assert result.scale == 2.0**-10


def test_throttled_time_goes_with_the_package_s_energy() -> None:
    here = machine(host({0x611: 0, 0x613: 5}), SKYLAKE)
    assert isinstance(Msr().probe(here).signals["throttled.pkg"], Unavailable)


def test_package_c0_where_the_model_has_it() -> None:
    registers = {0x658: 1, 0x659: 2, 0x65A: 3, 0x65B: 4}
    names = {"c0.pkg.total", "c0.pkg.any", "c0.pkg.gfx", "c0.pkg.both"}
    signals = Msr().probe(machine(host(registers), SKYLAKE)).signals
    assert all(isinstance(signals[name], Signal) for name in names)
    signals = Msr().probe(machine(host(registers), HASWELL)).signals
    for name in names:
        why = signals[name]
        assert isinstance(why, Unavailable)
        assert why.reason is Reason.NO_HARDWARE


def test_two_fields_of_one_register_are_one_read() -> None:
    fake = host({0x610: 0x42820800218208})
    reads: list[int] = []
    plain = fake.read_at

    class Counting(FakeHost):
        def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
            reads.append(offset)
            return plain(descriptor, size, offset)

    counting = Counting(registers=fake.registers)
    counting.open = fake.open
    here, source = machine(counting, SKYLAKE), MsrSettings()
    reader = source.open(here, 0, frozenset({"limit.pkg.pl1", "limit.pkg.pl2"}))
    reads.clear()
    reader.read()
    assert reads == [0x610]


def core_states(model: CpuModel, places: list[CpuPlace], *wanted: SignalId) -> list[dict[SignalId, Raw]]:
    here, source = machine(host({0x3FD: 1000, 0x3FE: 300}), model, places), Msr()
    result = []
    for cpu in (0, 1):
        reader = source.open(here, cpu, frozenset(wanted))
        result.append(dict(zip(reader.signals, reader.read(), strict=True)))
    return result


def test_c6_of_e_cores_is_without_c7_by_register() -> None:
    assert core_states(ALDER_LAKE, P_AND_E, "cstate.core.c6", "cstate.core.c7") == [
        {"cstate.core.c6": 1000, "cstate.core.c7": 300}, {"cstate.core.c6": 700, "cstate.core.c7": 300},
    ]  # fmt: skip
    assert core_states(ALDER_LAKE, P_AND_E, "cstate.core.c6")[1] == {"cstate.core.c6": 700}
    assert core_states(ALDER_LAKE, P_AND_E, "cstate.core.c7")[1] == {"cstate.core.c7": 300}


def test_a_part_of_e_cores_only_has_one_kind_and_counts_so_too() -> None:
    plain = [CpuPlace(cpu, 0, 0, 0, 0, cpu, cpu) for cpu in (0, 1)]
    assert core_states(ALDER_LAKE_N, plain, "cstate.core.c6")[0] == {"cstate.core.c6": 700}
    assert core_states(SKYLAKE, plain, "cstate.core.c6")[0] == {"cstate.core.c6": 1000}


def test_c6_of_e_cores_is_unknown_when_c7_fails() -> None:
    fake = host({0x3FD: 1000, 0x3FE: 300})
    here, source = machine(fake, ALDER_LAKE, P_AND_E), Msr()
    reader = source.open(here, 1, frozenset({"cstate.core.c6"}))
    fake.registers[1, 0x3FE] = -errno.EIO
    assert list(reader.read()) == [None]


def perf_host() -> FakeHost:
    events = {f"events/c{state}-residency": f"event=0x{number:02x}\n" for number, state in ((0, 1), (2, 6), (3, 7))}
    files = pmu_files("cstate_core", 20, {**events, "format/event": "config:0-63\n", "cpumask": "0-1\n"})
    return FakeHost(files=files, counters={(20, 0): 50.0, (20, 2): 1000.0, (20, 3): 300.0})


def test_c6_of_e_cores_is_without_c7_by_perf_however_it_is_asked_for() -> None:
    fake = perf_host()
    here, source = machine(fake, ALDER_LAKE, P_AND_E), PerfCstate()
    power, efficient = (source.open(here, cpu, frozenset({"cstate.core.c6"})) for cpu in (0, 1))
    late = source.open(here, 1, frozenset({"cstate.core.c1"}))
    fake.advance(1.0)
    assert list(power.read()) == [1000]
    assert list(efficient.read()) == [700]
    assert late.choose(frozenset({"cstate.core.c6", "cstate.core.c1"}))
    assert dict(zip(late.signals, late.read(), strict=True)) == {"cstate.core.c1": 50, "cstate.core.c6": 700}
    assert efficient.choose(frozenset({"cstate.core.c7"}))
    assert dict(zip(efficient.signals, efficient.read(), strict=True)) == {"cstate.core.c7": 300}
    assert not efficient.choose(frozenset({"cstate.core.c3"}))
    for reader in (power, efficient, late):
        reader.close()
    assert fake.open == {}


def test_an_e_core_without_a_c7_counter_keeps_its_c6() -> None:
    fake = perf_host()
    del fake.counters[20, 3]
    reader = PerfCstate().open(machine(fake, ALDER_LAKE, P_AND_E), 1, frozenset({"cstate.core.c6"}))
    fake.advance(1.0)
    assert list(reader.read()) == [1000]
