from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakehost import GUEST, ROOT, SAPPHIRE_RAPIDS, FakeHost, machine, place, pmu_files
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import InternalError
from turbotui.features.info.machine_facts import MachineFacts
from turbotui.machine.calibration import package_limit
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.platform_features import PackageLimit
from turbotui.machine.registers import RESERVED
from turbotui.quantities.added import parse_added
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.added import added_source
from turbotui.sources.msr import Msr
from turbotui.sources.platform_constants import PlatformConstants
from turbotui.sources.source import CpuGone, Probe

FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts"})
SKYLAKE = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x5E, flags=FLAGS)
SILVERMONT = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x37, flags=FLAGS)
TURIN = CpuModel(
    architecture="x86_64", vendor="AuthenticAMD", family=26, model=2, flags=frozenset({"tsc", "aperfmperf", "rapl"})
)
UNKNOWN = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x01, flags=FLAGS)

# Units, power and temperatures of turbotui's worked examples (turbostat(8)'s sample machine).
COMMON = {
    0x10: 5000, 0xE7: 300, 0xE8: 400, 0x34: 7,
    0x606: 0x000A0E03, 0x614: 0x168, 0x611: 1000, 0x639: 500, 0x641: 20, 0x619: 300, 0x64D: 100,
    0x1A2: 0x00640000, 0x19C: 0x88200800, 0x1B1: 0x88200800,
    0xCE: 0x80839F1011F00, 0xE2: 0x1E008008,
    0x3FC: 1, 0x3FD: 2, 0x3FE: 3, 0x3FF: 9, 0x660: 4, 0x664: 5,
    0x60D: 10, 0x3F8: 11, 0x3F9: 12, 0x3FA: 13, 0x630: 14, 0x631: 15, 0x632: 16,
}  # fmt: skip
TWO = [place(0, 0, 0), place(1, 1, 0)]


def host(changes: dict[int, int] | None = None, cpus: int = 2, **more: object) -> FakeHost:
    values = COMMON | (changes or {})
    made = FakeHost(registers={(cpu, address): value for cpu in range(cpus) for address, value in values.items()})
    for name, value in more.items():
        setattr(made, name, value)
    return made


def usable(probe: Probe) -> dict[SignalId, Signal]:
    return {name: result for name, result in probe.signals.items() if isinstance(result, Signal)}


def refused(probe: Probe) -> dict[SignalId, Unavailable]:
    return {name: result for name, result in probe.signals.items() if isinstance(result, Unavailable)}


def read(source: Msr, here: Machine, *wanted: SignalId) -> dict[SignalId, Raw]:
    reader = source.open(here, 0, frozenset(wanted))
    values = dict(zip(reader.signals, reader.read(), strict=True))
    reader.close()
    return values


def test_a_client_has_all_its_registers() -> None:
    fake = host()
    here, source = machine(fake, SKYLAKE, TWO), Msr()
    signals = usable(source.probe(here))
    assert set(signals) == {
        "tsc", "aperf", "mperf", "smi", "cstate.core.c3", "cstate.core.c6", "cstate.core.c7", "temp.core",
        "cstate.pkg.c2", "cstate.pkg.c3", "cstate.pkg.c6", "cstate.pkg.c7", "cstate.pkg.c8", "cstate.pkg.c9",
        "cstate.pkg.c10", "energy.pkg", "energy.cores", "energy.gpu", "energy.ram", "energy.psys", "temp.pkg",
    }  # fmt: skip
    assert fake.open == {}
    assert signals["energy.pkg"].scale == 2.0**-14
    assert signals["energy.pkg"].width_bits == 32
    assert signals["energy.psys"].scope is Scope.SYSTEM
    # 2**32 counts of 2**-14 J at 45 W, and twice the power in a burst.
    assert signals["energy.pkg"].wrap_seconds == pytest.approx(2**32 * 2**-14 / 45 / 2)
    assert signals["temp.core"].behavior is Behavior.GAUGE
    assert signals["temp.core"].value(0x88200800) == 68
    assert signals["temp.pkg"].origin == "MSR 0x1b1, below tj_max (MSR 0x1a2[23:16])"
    assert read(source, here, "tsc", "mperf", "cstate.pkg.c7", "temp.core") == {
        "tsc": 5000, "mperf": 300, "cstate.pkg.c7": 13, "temp.core": 0x88200800,
    }  # fmt: skip


def test_one_device_is_open_on_each_reader() -> None:
    fake = host()
    here, source = machine(fake, SKYLAKE, TWO), Msr()
    signals = usable(source.probe(here))
    assert source.descriptors(frozenset(signals), 2) == 2
    assert source.descriptors(frozenset({"stat.user"}), 2) == 0
    reader = source.open(here, 1, frozenset(signals))
    assert list(fake.open.values()) == [1]
    reader.close()
    assert fake.open == {}


@pytest.mark.parametrize(
    "address", sorted(COMMON.keys() - {0x606, 0x614, 0x1A2, 0xCE, 0xE2, 0x611, 0x3FF, 0x660, 0x664})
)
def test_one_register_that_is_not_there_costs_one_signal(address: int) -> None:
    everything = set(usable(Msr().probe(machine(host(), SKYLAKE, TWO))))
    probe = Msr().probe(machine(host({address: -errno.EIO}), SKYLAKE, TWO))
    lost = everything - set(usable(probe))
    assert len(lost) == 1
    assert f"MSR {address:#x}" in refused(probe)[lost.pop()].detail


@pytest.mark.parametrize("value", [0, -errno.EIO])
def test_without_package_energy_no_energy_is_believed(value: int) -> None:
    probe = Msr().probe(machine(host({0x611: value}), SKYLAKE, TWO))
    assert not [name for name in usable(probe) if name.startswith("energy")]
    assert "temp.core" in usable(probe)
    assert "MSR 0x639" in refused(probe)["energy.cores"].detail


@pytest.mark.parametrize("value", [0, -errno.EIO])
def test_without_units_there_is_no_energy(value: int) -> None:
    probe = Msr().probe(machine(host({0x606: value}), SKYLAKE, TWO))
    assert not [name for name in usable(probe) if name.startswith("energy")]
    assert "MSR 0x606" in refused(probe)["energy.pkg"].detail


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        (8, {"c2", "c3", "c6", "c7", "c8", "c9", "c10"}),
        (6, {"c2", "c3", "c6", "c7", "c8"}),
        (3, {"c2", "c3", "c6"}),
        (1, {"c2"}),
        (0, set()),
        (12, set()),
        (-errno.EIO, set()),
    ],
)
def test_the_firmware_limit_hides_deeper_package_states(limit: int, left: set[str]) -> None:
    probe = Msr().probe(machine(host({0xE2: limit}), SKYLAKE, TWO))
    assert {name[11:] for name in usable(probe) if name.startswith("cstate.pkg")} == left
    for name, why in refused(probe).items():
        if name.startswith("cstate.pkg"):
            assert "the firmware allows package C-states down to" in why.detail


def test_silvermont_has_its_own_places_and_units() -> None:
    fake = host({0xE2: 6, 0x606: 0x00000505})
    signals = usable(Msr().probe(machine(fake, SILVERMONT, TWO)))
    assert (signals["cstate.pkg.c6"].origin, "cstate.pkg.c7" in signals) == ("MSR 0x3fa", False)
    assert signals["cstate.core.c1"].origin == "MSR 0x660"
    assert signals["cstate.module.c6"].scope is Scope.MODULE
    assert signals["energy.pkg"].scale == pytest.approx(32e-6)
    assert signals["energy.pkg"].wrap_seconds == pytest.approx(2**32 * 32e-6 / 30 / 2)


def test_knights_landing_keeps_core_c6_elsewhere_and_counts_in_kilocycles() -> None:
    knl = replace(SKYLAKE, model=0x57)
    here, source = machine(host({0xE2: 7}), knl, TWO), Msr()
    signals = usable(source.probe(here))
    assert signals["cstate.core.c6"].origin == "MSR 0x3ff"
    assert (signals["aperf"].scale, signals["tsc"].scale) == (1024, 1)
    assert read(source, here, "cstate.core.c6") == {"cstate.core.c6": 9}


def test_servers_have_fixed_units() -> None:
    signals = usable(Msr().probe(machine(host({0xE2: 7}), SAPPHIRE_RAPIDS, TWO)))
    assert signals["energy.psys"].scale == 1.0
    icelake_server = replace(SKYLAKE, model=0x6A)
    signals = usable(Msr().probe(machine(host({0xE2: 7}), icelake_server, TWO)))
    assert signals["energy.ram"].scale == 2.0**-16
    assert signals["energy.pkg"].scale == 2.0**-14


def test_amd_has_its_own_energy_registers() -> None:
    amd = {0xC0010299: 0x000A1003, 0xC001029A: 77, 0xC001029B: 88}
    fake = FakeHost(registers={(cpu, address): value for cpu in (0, 1) for address, value in (COMMON | amd).items()})
    here, source = machine(fake, TURIN, TWO), Msr()
    signals = usable(source.probe(here))
    assert set(signals) == {"tsc", "aperf", "mperf", "energy.pkg", "energy.core"}
    assert (signals["energy.core"].scope, signals["energy.core"].scale) == (Scope.CORE, 2.0**-16)
    assert signals["energy.pkg"].wrap_seconds == pytest.approx(2**32 * 2**-16 / 280 / 2)
    assert read(source, here, "energy.core", "energy.pkg") == {"energy.pkg": 88, "energy.core": 77}


def test_an_unknown_model_keeps_what_is_architectural() -> None:
    probe = Msr().probe(machine(host(), UNKNOWN, TWO))
    assert set(usable(probe)) == {"tsc", "aperf", "mperf", "temp.core", "temp.pkg"}
    assert refused(probe)["energy.pkg"].reason is Reason.UNKNOWN_MODEL
    assert "assumed" in usable(probe)["temp.core"].origin
    assert probe.note


@pytest.mark.parametrize(("files", "scope"), [
    (pmu_files("power", 9, {"cpumask": "0\n"}), Scope.PACKAGE),
    (pmu_files("power", 9, {"cpumask": "0-1\n"}), Scope.DIE),
    ({"/sys/class/powercap/intel-rapl:0/name": "package-0\n"}, Scope.PACKAGE),
    ({"/sys/class/powercap/intel-rapl:0/name": "package-0-die-0\n",
      "/sys/class/powercap/intel-rapl:1/name": "package-0-die-1\n"}, Scope.DIE),
    ({}, Scope.DIE),
])
def test_dies_share_their_energy_registers_where_the_kernel_says_so(files: dict[str, str | int], scope: Scope) -> None:
    dies = [place(0, 0, 0, die=0), place(1, 0, 1, die=1)]
    signals = usable(Msr().probe(machine(host(files=files), SKYLAKE, dies)))
    assert {signals[name].scope for name in ("energy.pkg", "energy.cores", "energy.ram")} == {scope}
    assert signals["temp.pkg"].scope is Scope.DIE  # coretemp.c and cstate.c have them by die


def test_dies_have_the_registers_of_a_package() -> None:
    dies = [place(0, 0, 0, die=0), place(1, 0, 1, die=1)]
    signals = usable(Msr().probe(machine(host(), SKYLAKE, dies)))
    assert {signals[name].scope for name in ("energy.pkg", "cstate.pkg.c6", "temp.pkg")} == {Scope.DIE}
    assert signals["energy.psys"].scope is Scope.SYSTEM


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.ENOENT, Reason.NO_DRIVER), (errno.EPERM, Reason.NOT_PERMITTED), (errno.EACCES, Reason.NOT_PERMITTED)],
)
def test_a_device_that_does_not_open_is_the_reason_of_every_signal(number: int, reason: Reason) -> None:
    probe = Msr().probe(machine(host(msr=number), SKYLAKE, TWO, privileges=replace(ROOT, capabilities=0)))
    assert {unavailable.reason for unavailable in refused(probe).values()} == {reason}
    assert usable(probe) == {}
    assert len(probe.signals) > 20


def test_a_reading_that_says_it_is_not_valid_is_none() -> None:
    here, source = machine(host({0x19C: 0x08200800}), SKYLAKE, TWO), Msr()
    source.probe(here)
    assert read(source, here, "temp.core", "temp.pkg") == {"temp.core": None, "temp.pkg": 0x88200800}


def test_a_register_that_fails_later_is_none_and_a_cpu_that_goes_is_gone() -> None:
    fake = host()
    here, source = machine(fake, SKYLAKE, TWO), Msr()
    source.probe(here)
    reader = source.open(here, 1, frozenset({"tsc", "smi"}))
    fake.registers[1, 0x34] = -errno.EIO
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {"tsc": 5000, "smi": None}
    fake.kill(1)
    with pytest.raises(CpuGone):
        reader.read()
    with pytest.raises(CpuGone):
        source.open(here, 1, frozenset({"tsc"}))
    fake.msr = errno.EACCES
    with pytest.raises(HostError):
        source.open(here, 0, frozenset({"tsc"}))
    with pytest.raises(InternalError):
        source.open_shared(here, frozenset({"tsc"}))


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_energy_survives_its_wrap(start: int, added: int) -> None:
    signal = usable(Msr().probe(machine(host(), SKYLAKE, TWO)))["energy.pkg"]
    assert signal.delta(start, (start + added) % 2**32) == added * 2.0**-14


def constants(fake: FakeHost, model: CpuModel = SKYLAKE) -> Probe:
    return PlatformConstants().probe(machine(fake, model, TWO))


CPUID = {0: (0x16, 0, 0, 0), 0x15: (2, 258, 24_000_000, 0), 0x16: (3100, 4200, 100, 0)}


def with_cpuid(fake: FakeHost, changes: dict[int, tuple[int, int, int, int]] | None = None) -> FakeHost:
    fake.files["/dev/cpu/0/cpuid"] = ""
    fake.leaves = CPUID | (changes or {})
    return fake


def test_constants_of_a_client() -> None:
    signals = usable(constants(with_cpuid(host())))
    assert signals["base_hz"].value(signals["base_hz"].constant) == 3.1e9
    assert signals["base_hz"].origin == "MSR 0xce[15:8] is 31, times 100 MHz"
    assert signals["tsc_hz"].value(signals["tsc_hz"].constant) == 3_096_000_000
    assert signals["tsc_tweak"].value(signals["tsc_tweak"].constant) == pytest.approx(3100 / 3096, rel=1e-11)
    assert signals["tj_max"].value(signals["tj_max"].constant) == 100
    assert {signal.behavior for signal in signals.values()} == {Behavior.CONSTANT}
    assert {signal.scope for signal in signals.values()} == {Scope.SYSTEM}


def test_the_models_crystal_stands_in_for_one_that_is_not_reported() -> None:
    signals = usable(constants(with_cpuid(host(), {0x15: (2, 258, 0, 0)})))
    assert signals["tsc_hz"].constant == 3_096_000_000
    assert "crystal of 24 MHz" in signals["tsc_hz"].origin


@pytest.mark.parametrize("leaf", [(0, 258, 24_000_000, 0), (2, 0, 24_000_000, 0)])
def test_a_zero_in_the_tsc_leaf_is_no_answer_and_no_infinite_ratio(leaf: tuple[int, int, int, int]) -> None:
    probe = constants(with_cpuid(host(), {0x15: leaf}))
    assert {"tsc_hz", "tsc_tweak"} <= set(refused(probe))


def test_a_platform_without_tweak_has_the_ratio_one() -> None:
    signals = usable(constants(host(), SAPPHIRE_RAPIDS))
    assert signals["tsc_tweak"].value(signals["tsc_tweak"].constant) == 1.0


def test_the_base_clock_falls_back_to_cpuid_then_to_cpufreq() -> None:
    signals = usable(constants(with_cpuid(host({0xCE: -errno.EIO}))))
    assert (signals["base_hz"].constant, signals["base_hz"].origin) == (3_100_000_000, "CPUID 0x16 EAX[15:0]")
    zero = with_cpuid(host({0xCE: 0}), {0x16: (0, 0, 0, 0)})
    assert "base_hz" in refused(constants(zero))
    zero.files["/sys/devices/system/cpu/cpu0/cpufreq/base_frequency"] = "3000000\n"
    zero.files["/sys/devices/system/cpu/cpu1/cpufreq/base_frequency"] = "3000000\n"
    assert usable(constants(zero))["base_hz"].constant == 3_000_000_000


def test_a_leaf_above_the_highest_is_not_asked_for() -> None:
    assert "base_hz" in refused(constants(with_cpuid(host({0xCE: 0}), {0: (0x15, 0, 0, 0)})))


def test_the_silvermont_bus_clock_is_chosen_by_a_register() -> None:
    signals = usable(constants(host({0xCD: 2, 0xCE: 20 << 8}), SILVERMONT))
    assert signals["base_hz"].constant == pytest.approx(20 * 133.3e6)


def test_nothing_is_assumed_where_registers_cannot_be_read() -> None:
    probe = constants(host(msr=errno.ENOENT))
    assert {refused(probe)[name].reason for name in ("base_hz", "tj_max")} == {Reason.NO_DRIVER}
    assert refused(probe)["base_hz"].remedy == "modprobe msr"
    guest = constants(FakeHost(msr=errno.ENOENT), GUEST)
    assert set(usable(guest)) == {"tsc_tweak"}


def test_constants_keep_nothing_open() -> None:
    here, source = machine(host(), SKYLAKE, TWO), PlatformConstants()
    reader = source.open(here, 0, frozenset({"base_hz"}))
    assert (reader.signals, tuple(reader.read()), source.descriptors(frozenset({"base_hz"}), 9)) == ((), (), 0)
    reader.close()
    with pytest.raises(InternalError):
        source.open_shared(here, frozenset())


STANDING = {0x3FD: 0, 0x3FE: 0, 0x658: 0, 0x659: 0, 0x65A: 0, 0x65B: 0, 0x1B1: 0}


def test_a_hypervisor_that_invents_zeros_is_found_out_by_registers_that_no_processor_has() -> None:
    lying = dict.fromkeys(RESERVED, 0)
    guest = machine(host(STANDING | lying), SKYLAKE)
    probe = Msr().probe(guest)
    for name in ("cstate.core.c6", "cstate.core.c7", "c0.pkg.total", "c0.pkg.any", "c0.pkg.gfx", "c0.pkg.both",
                 "temp.pkg"):
        why = refused(probe).get(name)
        assert why is not None, name
        assert why.reason is Reason.VIRTUALISED
        assert "reads 0, and so does MSR 0x400000e0, which no processor has" in why.detail
    assert {"tsc", "aperf", "mperf", "smi", "energy.pkg"} <= set(usable(probe))  # those that read something are real
    # a processor refuses the reserved registers: its zeros are zeros
    honest = Msr().probe(machine(host(STANDING), SKYLAKE))
    assert {"cstate.core.c6", "cstate.core.c7", "c0.pkg.total"} <= set(usable(honest))
    # one reserved register that answers may be some hypervisor's own
    own = Msr().probe(machine(host(STANDING | {RESERVED[0]: 0}), SKYLAKE))
    assert set(usable(own)) == set(usable(honest))


def test_constants_and_the_header_believe_no_invented_zero_either() -> None:
    lying = dict.fromkeys(RESERVED, 0)
    limit = {0xE2: 0}  # 0 would stand for "no package C-state allowed"
    honest, guest = (machine(host(limit | more), SAPPHIRE_RAPIDS) for more in ({}, lying))
    assert package_limit(honest, circumstances(honest))[0] is PackageLimit.PC0
    known, why = package_limit(guest, circumstances(guest))
    assert known is PackageLimit.UNKNOWN
    assert "which no processor has" in why
    assert (MachineFacts(honest).register(0xE2), MachineFacts(guest).register(0xE2)) == (0, None)
    assert MachineFacts(guest).register(0x614) == COMMON[0x614]
    added = [added_source(parse_added("msr0xE2,u64,cpu,raw")).probe(item).signals for item in (honest, guest)]
    assert [[type(item) for item in result.values()] for result in added] == [[Signal], [Unavailable]]
