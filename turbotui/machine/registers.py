"""The table of model-specific registers that become signals: address, field, and on which platforms.

Addresses and fields are those of Intel SDM vol. 4 and the AMD Processor Programming References. Registers are only ever
read. One that a row's condition admits is still tried before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host
from turbotui.machine.platform_features import CoreState, FeatureSet, PackageLimit, PackageState, RaplRegister
from turbotui.machine.platforms import Platform
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, SignalId
from turbotui.quantities.units import Unit


class Scaling(Enum):
    """How a field becomes its SI value."""

    PLAIN = "as read"
    CYCLES = "cycles, in units of 1024 on Xeon Phi"
    ENERGY = "the RAPL energy unit"
    DRAM_ENERGY = "the RAPL energy unit, or the fixed one of the platform's memory"
    PSYS_ENERGY = "the RAPL energy unit, or the fixed one of the platform"
    BELOW_TJ_MAX = "degrees below tj_max"
    RAPL_TIME = "the RAPL time unit"
    RAPL_POWER = "the RAPL power unit"


Condition = Callable[[FeatureSet, CpuModel], bool]


@dataclass(frozen=True, slots=True)
class Register:
    """One register field that is a signal.

    Attributes:
        name: in the vendor's words.
        scope: PACKAGE rows are per die where a package has several (kernel rapl.c, cstate.c, coretemp.c).
        present: whether a platform should have it; `None` for a platform that is not known is decided by flags alone.
        limit: the package C-state limit that the firmware must allow at least.
        valid_bit: bit that must be set for the reading to mean anything; -1: none.
        zero_is_unset: a field of 0 says that nothing was set, not a quantity of 0.
    """

    address: int
    name: str
    signal: SignalId
    scope: Scope
    unit: Unit
    behavior: Behavior
    reduce: Reduce
    document: str
    present: Condition
    scaling: Scaling = Scaling.PLAIN
    width_bits: int = 64
    low_bit: int = 0
    limit: PackageLimit | None = None
    valid_bit: int = -1
    zero_is_unset: bool = False

    @property
    def title(self) -> str:
        """What an operator could read with rdmsr: "MSR 0x611"."""
        return f"MSR {self.address:#x}"

    @property
    def is_energy(self) -> bool:
        """Whether the register counts joules."""
        return self.scaling in (Scaling.ENERGY, Scaling.DRAM_ENERGY, Scaling.PSYS_ENERGY)

    @property
    def needs_units(self) -> bool:
        """Whether the RAPL units are needed to understand it."""
        return self.is_energy or self.scaling in (Scaling.RAPL_TIME, Scaling.RAPL_POWER)

    def field(self, raw: int) -> int:
        """The register's field, unscaled."""
        return raw >> self.low_bit & ((1 << self.width_bits) - 1)


_SDM = "Intel SDM vol. 4"
_PPR = "AMD PPR, Core::X86::Msr"


def _flag(name: str) -> Condition:
    return lambda _features, model: name in model.flags


def _feature(choose: Callable[[FeatureSet], bool]) -> Condition:
    return lambda features, _model: choose(features)


def _rapl(register: RaplRegister) -> Condition:
    return lambda features, _model: register in features.rapl


def _cycles(address: int, name: str, signal: SignalId, flag: str) -> Register:
    return Register(
        address,
        name,
        signal,
        Scope.CPU,
        Unit.CYCLE,
        Behavior.COUNTER,
        Reduce.MEAN,
        f"{_SDM}, {name}; AMD APM vol. 2",
        _flag(flag),
        Scaling.PLAIN if signal == "tsc" else Scaling.CYCLES,
    )


def _residency(
    address: int, name: str, signal: SignalId, scope: Scope, present: Condition, *, limit: PackageLimit | None = None
) -> Register:
    return Register(
        address,
        name,
        signal,
        scope,
        Unit.CYCLE,
        Behavior.COUNTER,
        Reduce.MEAN,
        f"{_SDM}, {name}",
        present,
        limit=limit,
    )


def _core(state: CoreState, *, knl: bool = False) -> Condition:
    return lambda features, _model: state in features.core_cstates and features.has_knl_core_c6 == knl


def _package(state: PackageState) -> Condition:
    return lambda features, _model: state in features.pkg_cstates


def _pc6(*, atom: bool) -> Condition:
    return lambda features, _model: PackageState.C6 in features.pkg_cstates and features.has_atom_pkg_c6 == atom


def _energy(
    register: RaplRegister, name: str, signal: SignalId, scope: Scope, scaling: Scaling = Scaling.ENERGY
) -> Register:
    document = f"{_PPR}, {name}" if register.name.startswith("AMD") else f"{_SDM}, {name}"
    return Register(
        register.value,
        name,
        signal,
        scope,
        Unit.JOULE,
        Behavior.COUNTER,
        Reduce.SUM,
        document,
        _rapl(register),
        scaling,
        width_bits=32,
    )


def _throttled(register: RaplRegister, name: str, signal: SignalId) -> Register:
    return Register(
        register.value,
        name,
        signal,
        Scope.PACKAGE,
        Unit.SECOND,
        Behavior.COUNTER,
        Reduce.SUM,
        f"{_SDM}, {name}",
        _rapl(register),
        Scaling.RAPL_TIME,
        width_bits=32,
    )


def _package_c0(address: int, name: str, signal: SignalId) -> Register:
    return _residency(
        address, name, signal, Scope.PACKAGE, _feature(lambda features: features.has_ext_cst_msrs)
    )


REGISTERS: tuple[Register, ...] = (
    # Read one after the other in this order, so the three that are divided by each other are close in time.
    _cycles(0x10, "IA32_TIME_STAMP_COUNTER", "tsc", "tsc"),
    _cycles(0xE7, "IA32_MPERF", "mperf", "aperfmperf"),
    _cycles(0xE8, "IA32_APERF", "aperf", "aperfmperf"),
    Register(
        0x34,
        "MSR_SMI_COUNT",
        "smi",
        Scope.CPU,
        Unit.COUNT,
        Behavior.COUNTER,
        Reduce.SUM,
        f"{_SDM}, MSR_SMI_COUNT",
        _feature(lambda features: features.has_nhm_msrs),
        width_bits=32,
    ),
    _residency(
        0x660, "MSR_CORE_C1_RES", "cstate.core.c1", Scope.CPU, _feature(lambda features: features.has_core_c1_res)
    ),
    _residency(0x3FC, "MSR_CORE_C3_RESIDENCY", "cstate.core.c3", Scope.CORE, _core(CoreState.C3)),
    _residency(0x3FD, "MSR_CORE_C6_RESIDENCY", "cstate.core.c6", Scope.CORE, _core(CoreState.C6)),
    _residency(0x3FF, "MSR_KNL_CORE_C6_RESIDENCY", "cstate.core.c6", Scope.CORE, _core(CoreState.C6, knl=True)),
    _residency(0x3FE, "MSR_CORE_C7_RESIDENCY", "cstate.core.c7", Scope.CORE, _core(CoreState.C7)),
    _residency(
        0x664,
        "MSR_MODULE_C6_RES_MS",
        "cstate.module.c6",
        Scope.MODULE,
        _feature(lambda features: features.has_module_c6_res),
    ),
    _residency(
        0x60D, "MSR_PKG_C2_RESIDENCY", "cstate.pkg.c2", Scope.PACKAGE, _package(PackageState.C2), limit=PackageLimit.PC2
    ),
    _residency(
        0x3F8, "MSR_PKG_C3_RESIDENCY", "cstate.pkg.c3", Scope.PACKAGE, _package(PackageState.C3), limit=PackageLimit.PC3
    ),
    _residency(0x3F9, "MSR_PKG_C6_RESIDENCY", "cstate.pkg.c6", Scope.PACKAGE, _pc6(atom=False), limit=PackageLimit.PC6),
    # Silvermont keeps its package C6 where others keep C7 (turbostat-spec 2.3 row 49).
    _residency(0x3FA, "MSR_PKG_C6_RESIDENCY", "cstate.pkg.c6", Scope.PACKAGE, _pc6(atom=True), limit=PackageLimit.PC6),
    _residency(
        0x3FA, "MSR_PKG_C7_RESIDENCY", "cstate.pkg.c7", Scope.PACKAGE, _package(PackageState.C7), limit=PackageLimit.PC7
    ),
    _residency(
        0x630, "MSR_PKG_C8_RESIDENCY", "cstate.pkg.c8", Scope.PACKAGE, _package(PackageState.C8), limit=PackageLimit.PC8
    ),
    _residency(
        0x631, "MSR_PKG_C9_RESIDENCY", "cstate.pkg.c9", Scope.PACKAGE, _package(PackageState.C9), limit=PackageLimit.PC9
    ),
    _residency(
        0x632,
        "MSR_PKG_C10_RESIDENCY",
        "cstate.pkg.c10",
        Scope.PACKAGE,
        _package(PackageState.C10),
        limit=PackageLimit.PC10,
    ),
    # Counts cycles of each core in C0, so it may advance several times as fast as the TSC.
    _package_c0(0x658, "MSR_PKG_WEIGHTED_CORE_C0_RES", "c0.pkg.total"),
    _package_c0(0x659, "MSR_PKG_ANY_CORE_C0_RES", "c0.pkg.any"),
    _package_c0(0x65A, "MSR_PKG_ANY_GFXE_C0_RES", "c0.pkg.gfx"),
    _package_c0(0x65B, "MSR_PKG_BOTH_CORE_GFXE_C0_RES", "c0.pkg.both"),
    _throttled(RaplRegister.PKG_PERF_STATUS, "MSR_PKG_PERF_STATUS", "throttled.pkg"),
    _throttled(RaplRegister.DRAM_PERF_STATUS, "MSR_DRAM_PERF_STATUS", "throttled.ram"),
    _energy(RaplRegister.PKG_ENERGY_STATUS, "MSR_PKG_ENERGY_STATUS", "energy.pkg", Scope.PACKAGE),
    _energy(RaplRegister.CORE_ENERGY_STATUS, "MSR_PP0_ENERGY_STATUS", "energy.cores", Scope.PACKAGE),
    _energy(RaplRegister.GFX_ENERGY_STATUS, "MSR_PP1_ENERGY_STATUS", "energy.gpu", Scope.PACKAGE),
    _energy(
        RaplRegister.DRAM_ENERGY_STATUS, "MSR_DRAM_ENERGY_STATUS", "energy.ram", Scope.PACKAGE, Scaling.DRAM_ENERGY
    ),
    _energy(
        RaplRegister.PLATFORM_ENERGY_STATUS,
        "MSR_PLATFORM_ENERGY_STATUS",
        "energy.psys",
        Scope.SYSTEM,
        Scaling.PSYS_ENERGY,
    ),
    _energy(RaplRegister.AMD_PKG_ENERGY_STAT, "PKG_ENERGY_STAT", "energy.pkg", Scope.PACKAGE),
    _energy(RaplRegister.AMD_CORE_ENERGY_STAT, "CORE_ENERGY_STAT", "energy.core", Scope.CORE),
    Register(
        0x19C,
        "IA32_THERM_STATUS",
        "temp.core",
        Scope.CORE,
        Unit.CELSIUS,
        Behavior.GAUGE,
        Reduce.MAX,
        f"{_SDM}, IA32_THERM_STATUS[22:16]",
        _flag("dtherm"),
        Scaling.BELOW_TJ_MAX,
        width_bits=7,
        low_bit=16,
        valid_bit=31,
    ),
    Register(
        0x1B1,
        "IA32_PACKAGE_THERM_STATUS",
        "temp.pkg",
        Scope.PACKAGE,
        Unit.CELSIUS,
        Behavior.GAUGE,
        Reduce.MAX,
        f"{_SDM}, IA32_PACKAGE_THERM_STATUS[22:16]",
        _flag("pts"),
        Scaling.BELOW_TJ_MAX,
        width_bits=7,
        low_bit=16,
    ),
)
"""Every register that can become a signal. Two rows may give the same signal; at most one is present on a platform."""


def present_registers(
    platform: Platform, model: CpuModel, registers: tuple[Register, ...] = REGISTERS
) -> tuple[Register, ...]:
    """The registers of a table that a platform should have, in table order."""
    return tuple(register for register in registers if register.present(platform.features, model))


def decode(data: bytes) -> int:
    """A register's 64 bits as the msr driver gives them: little endian (kernel arch/x86/kernel/msr.c)."""
    return int.from_bytes(data, "little")


def read_once(host: Host, cpu: int, address: int) -> int:
    """Open the MSR device of a CPU, read one register, close.

    Raises:
        HostError: as `Host.open_msr`, and EIO for a register that is not there.
    """
    descriptor = host.open_msr(cpu)
    try:
        return decode(host.read_at(descriptor, 8, address))
    finally:
        host.close(descriptor)
