"""Registers of real machines through the real sources, and worked examples from turbostat's own sample machine.

The dumps hold two or three samples about 200 ms apart, so ratios are exact and watts only plausible.
"""

from __future__ import annotations

import errno
import gzip
import json
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from turbotui.features.info.model import configuration
from turbotui.machine.calibration import RaplUnits, package_limit, rapl_units
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.platform_features import PackageLimit
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sources.msr import Msr, MsrSettings
from turbotui.sources.platform_constants import PlatformConstants

FOLDER = Path(__file__).parents[2] / "../shared/machines/registers"
INTERVAL = 0.2  # seconds between samples, nominally
WHERE = re.compile(r"Package (\d+) / Core (\d+) / Thread (\d+)")


@dataclass
class RegisterHost:
    """A host with CPUID leaves and samples of registers only; the test advances `sample`.

    Attributes:
        registers: (CPU, address) to its samples; None where the read failed. The last one lasts.
        leaves: (CPU, leaf, subleaf) to EAX, EBX, ECX, EDX.
    """

    registers: Mapping[tuple[int, int], Sequence[int | None]]
    leaves: Mapping[tuple[int, int, int], tuple[int, int, int, int]]
    sample: int = 0
    open: dict[int, tuple[int, bool]] = field(default_factory=dict)

    kind = HostKind.RECORDED
    name = "registers"
    pins = False

    def read_text(self, path: str) -> str:
        raise HostError(errno.ENOENT, path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        raise HostError(errno.ENOENT, path)

    def exists(self, path: str) -> bool:
        return False

    def _keep(self, cpu: int, *, is_msr: bool) -> int:
        descriptor = max(self.open, default=2) + 1
        self.open[descriptor] = (cpu, is_msr)
        return descriptor

    def open_file(self, path: str) -> int:
        match = re.fullmatch(r"/dev/cpu/(\d+)/(cpuid|msr)", path)
        if match is None:
            raise HostError(errno.ENOENT, path)
        return self._keep(int(match[1]), is_msr=match[2] == "msr")

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        cpu, is_msr = self.open[descriptor]
        if not is_msr:
            leaf, subleaf = offset & 0xFFFFFFFF, offset >> 32
            return struct.pack("<4I", *self.leaves.get((cpu, leaf, subleaf), (0, 0, 0, 0)))
        samples = self.registers.get((cpu, offset), (None,))
        value = samples[min(self.sample, len(samples) - 1)]
        if value is None:
            raise HostError(errno.EIO, f"MSR {offset:#x}")
        return value.to_bytes(8, "little")

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(errno.ENOENT, "perf_event_open")

    def read_counter(self, descriptor: int, size: int) -> bytes:
        raise HostError(errno.EBADF, "read_counter")

    def close(self, descriptor: int) -> None:
        del self.open[descriptor]

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        raise HostError(errno.EINVAL, "pin")

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return None

    def privileges(self) -> Privileges:
        return Privileges(0, (1 << 64) - 1, 2, (1024, 1024))

    def now_ns(self) -> int:
        return round(self.sample * INTERVAL * 1e9)

    def wall_ns(self) -> int:
        return self.now_ns()


@cache
def _dump(name: str) -> dict[str, dict[str, dict[str, list[int | None]] | str]]:
    with gzip.open(FOLDER / f"{name}.json.gz") as file:
        loaded: dict[str, dict[str, dict[str, list[int | None]] | str]] = json.load(file)
    return loaded


def real(name: str, more: Mapping[int, int] | None = None) -> Machine:
    """The first CPU of a recorded machine; `more` are registers that the dump lacks."""
    if not FOLDER.exists():
        pytest.skip(f"{FOLDER} is not beside this checkout")
    first = _dump(name)["0"]
    words, text, where = first["msr"], first["cpuid"], first["where"]
    assert isinstance(words, dict)
    assert isinstance(text, dict)
    assert isinstance(where, str)
    registers: dict[tuple[int, int], Sequence[int | None]] = {(0, int(key, 16)): value for key, value in words.items()}
    registers |= {(0, address): (value,) for address, value in (more or {}).items()}
    leaves = {}
    for key, values in text.items():
        leaf, subleaf = (int(part, 16) for part in key.split("."))
        eax, ebx, ecx, edx = (value or 0 for value in values)
        leaves[0, leaf, subleaf] = (eax, ebx, ecx, edx)
    host = RegisterHost(registers, leaves)
    model = _model(leaves)
    match = WHERE.match(where)
    assert match is not None
    place = CpuPlace(0, int(match[1]), 0, 0, 0, int(match[2]), int(match[2]), smt=int(match[3]))
    return Machine(host, topology_of([place]), model, platform_of(model), host.privileges())


def _model(leaves: Mapping[tuple[int, int, int], tuple[int, int, int, int]]) -> CpuModel:
    """Vendor, family, model and flags from the CPUID leaves themselves (Intel SDM vol. 2; AMD APM vol. 3)."""
    _, ebx, ecx, edx = leaves[0, 0, 0]
    eax = leaves[0, 1, 0][0]
    family, number = eax >> 8 & 0xF, eax >> 4 & 0xF
    if family >= 6:
        number |= (eax >> 16 & 0xF) << 4
    if family == 15:
        family += eax >> 20 & 0xFF
    power, _, more, _ = leaves[0, 6, 0]
    bits = {"dtherm": power & 1, "ida": power >> 1 & 1, "pts": power >> 6 & 1, "hwp": power >> 7 & 1,
            "hwp_epp": power >> 10 & 1, "aperfmperf": more & 1, "epb": more >> 3 & 1,
            "rapl": leaves.get((0, 0x80000007, 0), (0, 0, 0, 0))[3] >> 14 & 1}  # fmt: skip
    return CpuModel(
        architecture="x86_64",
        vendor=struct.pack("<3I", ebx, edx, ecx).decode(),
        family=family,
        model=number,
        flags=frozenset({"tsc", *(name for name, bit in bits.items() if bit)}),
    )


def read(machine: Machine, source: Msr) -> tuple[dict[SignalId, Signal], list[dict[SignalId, Raw]]]:
    """The source's usable signals and their raw values at the first two samples."""
    host = machine.host
    assert isinstance(host, RegisterHost)
    signals = {name: result for name, result in source.probe(machine).signals.items() if isinstance(result, Signal)}
    reader = source.open(machine, 0, frozenset(signals))
    samples = []
    for number in (0, 1):
        host.sample = number
        samples.append(dict(zip(reader.signals, reader.read(), strict=True)))
    reader.close()
    assert not host.open
    return signals, samples


ICE_LAKE, SAPPHIRE, ALDER, METEOR, GRANITE = (
    "GenuineIntel00606A6_ICX_CPUID3", "GenuineIntel00806F8_SapphireRapids_05", "GenuineIntel0090675_AlderLake_02",
    "GenuineIntel00A06A4_MeteorLake_09", "GenuineIntel00A06D1_GraniteRapids_03",
)  # fmt: skip
ROME, GENOA, TURIN = (
    "AuthenticAMD0830F10_K17_Rome", "AuthenticAMD0A10F11_K19_Genoa_01", "AuthenticAMD0B00F21_K20_Turin_01",
)  # fmt: skip
INTEL = (ICE_LAKE, SAPPHIRE, ALDER, METEOR, GRANITE)


@pytest.mark.parametrize(
    ("name", "symbol", "features"),
    [
        (ICE_LAKE, "ICELAKE_X", "icx"), (SAPPHIRE, "SAPPHIRERAPIDS_X", "spr"), (ALDER, "ALDERLAKE", "adl"),
        (METEOR, "METEORLAKE_L", "adl"), (GRANITE, "GRANITERAPIDS_X", "spr"),
        (ROME, "", "amd_rapl"), (GENOA, "", "amd_rapl"), (TURIN, "", "amd_rapl"),
    ],
)  # fmt: skip
def test_the_model_is_found_by_its_own_cpuid(name: str, symbol: str, features: str) -> None:
    platform = real(name).platform
    assert (platform.symbol, platform.features.name) == (symbol, features)


@pytest.mark.parametrize("name", [*INTEL, ROME, GENOA])
def test_the_ratio_of_aperf_to_mperf_is_exact(name: str) -> None:
    machine = real(name)
    signals, (older, newer) = read(machine, Msr())
    words = _dump(name)["0"]["msr"]
    assert isinstance(words, dict)
    (m0, m1), (a0, a1) = words["e7"][:2], words["e8"][:2]
    assert m0 is not None
    assert m1 is not None
    assert a0 is not None
    assert a1 is not None
    active = signals["aperf"].delta(older["aperf"], newer["aperf"])
    reference = signals["mperf"].delta(older["mperf"], newer["mperf"])
    assert active is not None
    assert reference
    assert active / reference == (a1 - a0) / (m1 - m0)
    # No range is asked for: the dump's tool read the two some time apart, on a CPU that was mostly idle.
    assert active > 0


@pytest.mark.parametrize(("name", "highest"), [
    (ICE_LAKE, 270), (SAPPHIRE, 300), (ALDER, 90), (METEOR, 65), (GRANITE, 350), (ROME, 280), (GENOA, 400),
])  # fmt: skip
def test_watts_are_plausible(name: str, highest: float) -> None:
    signals, (older, newer) = read(real(name), Msr())
    energy = signals["energy.pkg"].delta(older["energy.pkg"], newer["energy.pkg"])
    assert energy is not None
    assert 1.0 < energy / INTERVAL < highest


@pytest.mark.parametrize(
    ("name", "mhz"), [(ICE_LAKE, 2400), (SAPPHIRE, 2600), (ALDER, 3700), (METEOR, 2700), (GRANITE, 3000)]
)
def test_base_clock_by_register_is_the_one_that_cpuid_says(name: str, mhz: int) -> None:
    machine = real(name)
    host = machine.host
    assert isinstance(host, RegisterHost)
    assert host.leaves[0, 0x16, 0][0] == mhz
    base = PlatformConstants().probe(machine).signals["base_hz"]
    assert isinstance(base, Signal)
    assert base.value(base.constant) == mhz * 1e6
    assert "MSR 0xce" in base.origin


@pytest.mark.parametrize(
    ("name", "hertz"),
    # Ice Lake does not tell its crystal, nor does the table.
    [(ICE_LAKE, None), (SAPPHIRE, 24e6 * 216 / 2), (ALDER, 38.4e6 * 192 / 2), (METEOR, 38.4e6 * 140 / 2),
     (GRANITE, 25e6 * 240 / 2)],
)  # fmt: skip
def test_tsc_clock(name: str, hertz: float | None) -> None:
    result = PlatformConstants().probe(real(name)).signals["tsc_hz"]
    if hertz is None:
        assert isinstance(result, Unavailable)
    else:
        assert isinstance(result, Signal)
        assert result.value(result.constant) == hertz


@pytest.mark.parametrize(
    ("name", "hottest", "core"),
    [(ICE_LAKE, 93, 27), (SAPPHIRE, 94, 24), (ALDER, 100, 40), (METEOR, 110, 50), (GRANITE, 104, 43)],
)
def test_tj_max_and_core_temperature(name: str, hottest: int, core: int) -> None:
    machine = real(name)
    result = PlatformConstants().probe(machine).signals["tj_max"]
    assert isinstance(result, Signal)
    assert result.value(result.constant) == hottest
    signals, (first, _) = read(machine, Msr())
    assert signals["temp.core"].value(first["temp.core"]) == core


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        (ICE_LAKE, [(18, 3500), (22, 3400), (24, 3400), (28, 3400), (30, 3300), (32, 3200), (34, 3100), (36, 3100)]),
        (SAPPHIRE, [(2, 4800), (4, 4700), (6, 4400), (10, 4300), (12, 4100), (14, 3800), (18, 3500), (20, 3400)]),
        (ALDER, []),  # turbo is off in this machine's CPUID 0x6, so its registers limit nothing
        (METEOR, [(cores, 4800) for cores in range(1, 9)]),
        (GRANITE, [(2, 5200), (4, 5200), (8, 5200), (12, 5200), (16, 5200), (20, 5100), (24, 5000), (24, 4900)]),
    ],
)
def test_turbo_limits(name: str, limits: list[tuple[int, int]]) -> None:
    machine = real(name)
    text = "\n".join(line.text for section in configuration(machine) for line in section.lines)
    result = re.findall(r"= (\d+)\.0 MHz max turbo (\d+) active cores", text)
    assert [(int(cores), int(mhz)) for mhz, cores in reversed(result)] == limits
    host = machine.host
    assert isinstance(host, RegisterHost)
    highest, base = host.leaves[0, 0x16, 0][1], host.leaves[0, 0x16, 0][0]
    assert max((mhz for _, mhz in limits), default=base) == highest  # what CPUID 0x16 calls the maximum


SKX = {0: "pc0", 1: "pc2", 2: "pc6n", 3: "pc6r", 4: "reserved", 7: "unlimited", 8: "reserved"}
ICX = {0: "pc0", 1: "pc2", 2: "pc6", 3: "pc6", 4: "reserved", 7: "unlimited", 8: "reserved"}
HSW = {0: "pc0", 1: "pc2", 2: "pc3", 3: "pc6", 4: "pc7", 5: "pc7s", 6: "pc8", 7: "pc9", 8: "unlimited", 9: "reserved"}


@pytest.mark.parametrize(
    ("name", "code", "word"),
    [(name, code, word) for name, table in
     ((ICE_LAKE, ICX), (SAPPHIRE, SKX), (GRANITE, SKX), (ALDER, HSW), (METEOR, HSW)) for code, word in table.items()],
)  # fmt: skip
def test_package_limit_of_each_model(name: str, code: int, word: str) -> None:
    machine = real(name, {0xE2: 0x1E008000 | code})
    limit, origin = package_limit(machine, circumstances(machine))
    assert limit is PackageLimit(word)
    assert origin == f"MSR 0xe2[3:0] is {code}"
    result = Msr().probe(machine).signals["cstate.pkg.c2"]
    assert isinstance(result, Signal) == (word not in {"pc0", "reserved"})


def test_without_the_limit_register_no_package_register_is_believed() -> None:
    result = Msr().probe(real(ICE_LAKE)).signals["cstate.pkg.c2"]
    assert isinstance(result, Unavailable)
    assert "MSR 0xe2" in result.detail


@pytest.mark.parametrize(
    ("name", "first", "second", "peak", "design"),
    [(ICE_LAKE, 225.0, 270.0, 397.0, 225.0), (ALDER, 46.0, 46.0, None, 46.0), (METEOR, 50.0, 57.0, 114.0, 15.0),
     (SAPPHIRE, 4095.0, 4095.0, 1023.875, 225.0), (GRANITE, 4095.0, 4095.0, 160.0, 250.0)],
)  # fmt: skip
def test_power_limits(name: str, first: float, second: float, peak: float | None, design: float) -> None:
    signals, (result, _) = read(real(name), MsrSettings())
    limits = {limit: signals[limit].value(result[limit]) for limit in signals if limit.startswith("limit.")}
    expected = {"limit.pkg.pl1": first, "limit.pkg.pl2": second, "limit.pkg.pl4": peak, "limit.pkg.tdp": design}
    assert limits == {limit: watts for limit, watts in expected.items() if watts is not None}


def test_fixed_memory_unit_of_a_server() -> None:
    signals, (older, newer) = read(real(ICE_LAKE), Msr())
    assert signals["energy.ram"].scale == 2.0**-16
    energy = signals["energy.ram"].delta(older["energy.ram"], newer["energy.ram"])
    assert energy is not None
    assert 1.0 < energy / INTERVAL < 100.0


def test_a_machine_without_its_registers_loses_signals_and_nothing_else() -> None:
    machine = real(TURIN)
    assert "rapl" in machine.model.flags
    result = Msr().probe(machine).signals
    assert not [name for name, answer in result.items() if isinstance(answer, Signal)]
    why = result["energy.pkg"]
    assert isinstance(why, Unavailable)
    assert why.detail


SAMPLE = {
    0x606: 0x000A0E03, 0x614: 0x168, 0x611: 77, 0x610: 0x42820800218208, 0xCE: 0x80839F1011F00, 0x1AD: 0x2728292A,
    0x1A2: 0x00640000, 0x1B1: 0x88200800, 0xE2: 0x1E008008, 0x774: 0x80000000, 0x60D: 5,
}  # fmt: skip


def sample_machine() -> Machine:
    """The machine of turbostat's manual page: a Skylake client of 45 W."""
    flags = frozenset({"tsc", "aperfmperf", "dtherm", "pts", "ida", "hwp_epp"})
    model = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x5E, flags=flags)
    leaves = {(0, 0, 0): (0x16, 0, 0, 0), (0, 0x15, 0): (2, 258, 0, 0), (0, 6, 0): (2, 0, 1, 0)}
    host = RegisterHost({(0, address): (value,) for address, value in SAMPLE.items()}, leaves)
    places = [CpuPlace(0, 0, 0, 0, 0, 0, 0)]
    return Machine(host, topology_of(places), model, platform_of(model), host.privileges())


def test_worked_example_of_the_units() -> None:
    machine = sample_machine()
    units = rapl_units(machine, circumstances(machine))
    assert isinstance(units, RaplUnits)
    assert (units.power_watt, units.energy_joule, units.time_second) == (0.125, 6.103515625e-05, 0.0009765625)
    assert units.tdp_watt == 45.0
    assert round(0xFFFFFFFF * units.energy_joule / units.tdp_watt) == 5825


def test_worked_example_of_clocks() -> None:
    signals = PlatformConstants().probe(sample_machine()).signals
    base, tsc, tweak = (signals[name] for name in ("base_hz", "tsc_hz", "tsc_tweak"))
    assert isinstance(base, Signal)
    assert isinstance(tsc, Signal)
    assert isinstance(tweak, Signal)
    assert base.value(base.constant) == 3100e6
    assert tsc.value(tsc.constant) == 3096e6  # 24 MHz of the platform's table x 258 / 2
    assert tweak.value(tweak.constant) == pytest.approx(3100 / 3096)


def test_worked_example_of_turbo_and_limits() -> None:
    machine = sample_machine()
    text = "\n".join(line.text for section in configuration(machine) for line in section.lines)
    result = re.findall(r"(\d+) \* 100\.0 = \d+\.0 MHz max turbo (\d+) active cores", text)
    assert result == [("39", "4"), ("40", "3"), ("41", "2"), ("42", "1")]
    assert package_limit(machine, circumstances(machine))[0] is PackageLimit.UNLIMITED
    signals, (first, _) = read(machine, MsrSettings())
    assert signals["limit.pkg.pl1"].value(first["limit.pkg.pl1"]) == 65.0
    assert signals["limit.pkg.pl2"].value(first["limit.pkg.pl2"]) == 65.0
    assert signals["hwp.epp"].value(first["hwp.epp"]) == 0x80


def test_worked_example_of_temperature() -> None:
    signals, (first, _) = read(sample_machine(), Msr())
    assert signals["temp.pkg"].value(first["temp.pkg"]) == 68
    assert "tj_max (MSR 0x1a2" in signals["temp.pkg"].origin
