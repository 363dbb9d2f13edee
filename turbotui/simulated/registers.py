"""Model-specific registers of the simulated machines, by address.

All readers have the same signature, whether or not a register needs all arguments.
"""
# ruff: noqa: ARG001, ARG005

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from turbotui.simulated import basis as b
from turbotui.simulated.events_common import APERF, MPERF_SECONDS
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import Isa, MachineShape

Read: TypeAlias = Callable[[Model, SimulatedCpu, float], int]
"""A function that returns a register's value on a CPU at a machine time."""

_WORD32: Final = 0xFFFF_FFFF
_WORD64: Final = 0xFFFF_FFFF_FFFF_FFFF
_POWER_UNIT: Final = 3
"""RAPL power in 2^-3 W, time in 2^-10 s (Intel SDM vol. 4, MSR_RAPL_POWER_UNIT)."""
_TIME_UNIT: Final = 10
_POWER_LIMITS: Final = {"pl1": 10, "pl2": 11}
"""Bits of the power limits in MSR_CORE_PERF_LIMIT_REASONS (Intel SDM vol. 4)."""
_REASONS: Final = {"heat": 1, "current": 7, "other": 8, **_POWER_LIMITS}
"""Bits of that register: 1 thermal, 7 current of the regulators, 8 electrical or other (6th generation and later)."""
_SMI_COUNT: Final = 3
"""System management interrupts of a boot; no others happen on a machine without a storm of them."""


def energy_unit(shape: MachineShape) -> float:
    """Joules of one count of the RAPL energy registers."""
    return 2.0**-shape.energy_unit


def ram_unit(shape: MachineShape) -> float:
    """Joules of one count of the DRAM energy register."""
    return shape.ram_unit or energy_unit(shape)


def psys_unit(shape: MachineShape) -> float:
    """Joules of one count of the platform energy register."""
    return shape.psys_unit or energy_unit(shape)


def _constant(value: int) -> Read:
    return lambda model, place, now: value


def _core_ticks(*indexes: int) -> Read:
    """Core residencies in reference ticks."""

    def read(model: Model, place: SimulatedCpu, now: float) -> int:
        basis = model.core[place.core]
        return int(sum(basis.at(index, now) for index in indexes) * model.shape.reference_hz)

    return read


def _core_c6(model: Model, place: SimulatedCpu, now: float) -> int:
    """Core C6; on Intel's E-cores the register includes C7 (docs/specs/turbostat.md 4, 0x3FD)."""
    small = model.shape.core_types[place.type].name in ("E", "LP")
    return _core_ticks(b.CORE_C6, b.CORE_C7)(model, place, now) if small else _core_ticks(b.CORE_C6)(model, place, now)


def _package_ticks(index: int) -> Read:
    return lambda model, place, now: int(model.package[place.package].at(index, now) * model.shape.reference_hz)


def _energy(index: int, unit: Callable[[MachineShape], float]) -> Read:
    def read(model: Model, place: SimulatedCpu, now: float) -> int:
        return int(model.package[place.package].at(index, now) / unit(model.shape)) & _WORD32

    return read


def _psys(model: Model, place: SimulatedCpu, now: float) -> int:
    return int(model.system.at(b.SYS_PSYS_JOULES, now) / psys_unit(model.shape)) & _WORD32


def _thermal(celsius: float, tj_max: int, hot: bool, logged: bool) -> int:
    """IA32_THERM_STATUS: status 0, log 1, readout 22:16, resolution 30:27 of 1 degree, valid 31 (SDM vol. 3, 16.8)."""
    below = min(127, max(0, int(tj_max - celsius)))
    return int(hot) | int(logged) << 1 | below << 16 | 1 << 27 | 1 << 31


def _core_thermal(model: Model, place: SimulatedCpu, now: float) -> int:
    logged = model.core[place.core].at(b.CORE_THROTTLES, now) >= 1.0
    celsius = model.core_celsius(place.core, now)
    return _thermal(celsius, model.shape.power.tj_max, model.core_hot[place.core], logged)


def _package_thermal(model: Model, place: SimulatedCpu, now: float) -> int:
    state = model.state[place.package]
    logged = model.package[place.package].at(b.PKG_THROTTLES, now) >= 1.0
    limit = int(state.limit != "") << 10 | int(not state.logged.isdisjoint(_POWER_LIMITS)) << 11
    return _thermal(model.package_celsius(place.package, now), model.shape.power.tj_max, state.hot, logged) | limit


def _limit_reasons(model: Model, place: SimulatedCpu, now: float) -> int:
    """MSR_CORE_PERF_LIMIT_REASONS: the bit of the reason, and logs 16 higher."""
    state, lasting = model.state[place.package], model.shape.cap_reason
    active = "heat" if state.hot else state.limit or lasting
    return sum(int(reason == active) << bit | int(reason in state.logged or reason == lasting) << bit + 16
               for reason, bit in _REASONS.items())


def smi_count(model: Model, now: float) -> int:
    """System management interrupts since boot."""
    return _SMI_COUNT + int(model.shape.smi_storm * (model.uptime + now))


def _bins(model: Model, place: SimulatedCpu, now: float) -> int:
    pairs = model.shape.core_types[0].bins
    filled = pairs + (pairs[-1],) * (8 - len(pairs))
    if not model.shape.client:
        return sum((mhz // 100) << 8 * n for n, (_, mhz) in enumerate(filled))
    return sum(_ratio_for(pairs, n + 1) << 8 * n for n in range(8))


def _ratio_for(pairs: tuple[tuple[int, int], ...], active: int) -> int:
    return next((mhz for limit, mhz in pairs if active <= limit), pairs[-1][1]) // 100


def _second_bins(model: Model, place: SimulatedCpu, now: float) -> int:
    return sum(_ratio_for(model.shape.core_types[1].bins, n + 1) << 8 * n for n in range(8))


def _bin_counts(model: Model, place: SimulatedCpu, now: float) -> int:
    pairs = model.shape.core_types[0].bins
    if model.shape.client:
        return sum((n + 1) << 8 * n for n in range(8))
    filled = pairs + (pairs[-1],) * (8 - len(pairs))
    return sum(cores << 8 * n for n, (cores, _) in enumerate(filled))


def _watts(power: float) -> int:
    return round(power * 2**_POWER_UNIT) & 0x7FFF


def _power_limit(model: Model, place: SimulatedCpu, now: float) -> int:
    """PL1 with its window, PL2; both enabled and clamped, unlocked. Window: (1 + Z/4) * 2^Y time units."""
    power = model.shape.power
    exponent = max(0, int(power.tau * 2**_TIME_UNIT).bit_length() - 1)
    first = _watts(power.tdp) | 1 << 15 | 1 << 16 | exponent << 17
    second = _watts(power.pl2) | 1 << 15 | 1 << 16 | 3 << 17
    return first | second << 32


def _peak_limit(model: Model, place: SimulatedCpu, now: float) -> int:
    """PL4 in bits 12:0, in eighths of a watt (Intel SDM vol. 4, MSR_VR_CURRENT_CONFIG)."""
    return 912 if model.shape.client else min(0x1FFF, round(model.shape.power.pl2 * 1.5 * 2**_POWER_UNIT))


def _power_info(model: Model, place: SimulatedCpu, now: float) -> int:
    power = model.shape.power
    return _watts(power.tdp) | _watts(power.tdp * 0.5) << 16 | _watts(power.tdp * 1.2) << 32


def _capabilities(model: Model, place: SimulatedCpu, now: float) -> int:
    kind = model.shape.core_types[place.type]
    return kind.max_mhz // 100 | (kind.base_mhz // 100) << 8 | 8 << 16 | (kind.min_mhz // 100) << 24


def _request(model: Model, place: SimulatedCpu, now: float) -> int:
    kind = model.shape.core_types[place.type]
    return kind.min_mhz // 100 | (kind.max_mhz // 100) << 8 | 0x80 << 24


def _platform_info(model: Model, place: SimulatedCpu, now: float) -> int:
    """MSR_PLATFORM_INFO: base ratio 15:8, programmable TCC offset 30, most efficient ratio 47:40."""
    shape = model.shape
    return (shape.reference_hz // 100_000_000) << 8 | 1 << 30 | (shape.core_types[0].min_mhz // 100) << 40


def _uncore_ratio(model: Model, place: SimulatedCpu, now: float) -> int:
    return int(model.package[place.package].rate[b.PKG_UNCORE_CYCLES] / 1e8) & 0x7F


_EVERY_X86: Final[Mapping[int, Read]] = {
    0x10: lambda model, place, now: model.tsc(now),  # IA32_TIME_STAMP_COUNTER
    # IA32_MPERF
    0xE7: lambda model, place, now: int(model.cpu[place.cpu].value(MPERF_SECONDS, now) * model.shape.reference_hz),
    0xE8: lambda model, place, now: int(model.cpu[place.cpu].value(APERF, now)),  # IA32_APERF
}

_INTEL: Final[Mapping[int, Read]] = {
    0x17: _constant(0),  # IA32_PLATFORM_ID
    0x34: lambda model, place, now: smi_count(model, now),  # MSR_SMI_COUNT
    0x3A: _constant(0x5),  # IA32_FEATURE_CONTROL
    0x8B: lambda model, place, now: model.shape.microcode << 32,  # IA32_BIOS_SIGN_ID
    0xCE: _platform_info,  # MSR_PLATFORM_INFO
    0xE2: lambda model, place, now: 0x8008 if model.shape.client else 0x8007,  # MSR_PKG_CST_CONFIG_CONTROL
    0x198: lambda model, place, now: int(model.mhz[place.core] // 100) << 8,  # IA32_PERF_STATUS
    0x19B: _constant(0x3),  # IA32_THERM_INTERRUPT
    0x19C: _core_thermal,  # IA32_THERM_STATUS
    0x1A0: _constant(0x0085_0089),  # IA32_MISC_ENABLE
    0x1A2: lambda model, place, now: model.shape.power.tj_max << 16,  # MSR_TEMPERATURE_TARGET
    0x1A4: _constant(0),  # MSR_MISC_FEATURE_CONTROL
    0x1AA: _constant(0x0040_2000),  # MSR_MISC_PWR_MGMT
    0x1AD: _bins,  # MSR_TURBO_RATIO_LIMIT
    0x1AE: _bin_counts,  # MSR_TURBO_RATIO_LIMIT1
    0x1B0: _constant(6),  # IA32_ENERGY_PERF_BIAS
    0x1B1: _package_thermal,  # IA32_PACKAGE_THERM_STATUS
    0x1B2: _constant(0x3),  # IA32_PACKAGE_THERM_INTERRUPT
    0x1FC: _constant(0x2C_005D),  # MSR_POWER_CTL
    0x3F9: _package_ticks(b.PKG_C6),  # MSR_PKG_C6_RESIDENCY
    0x3FD: _core_c6,  # MSR_CORE_C6_RESIDENCY
    0x601: _peak_limit,  # MSR_VR_CURRENT_CONFIG
    # MSR_RAPL_POWER_UNIT
    0x606: lambda model, place, now: _POWER_UNIT | model.shape.energy_unit << 8 | _TIME_UNIT << 16,
    0x60A: _constant(0x884E),  # MSR_PKGC3_IRTL
    0x60B: _constant(0x8876),  # MSR_PKGC6_IRTL
    0x60C: _constant(0x8894),  # MSR_PKGC7_IRTL
    0x60D: _package_ticks(b.PKG_C2),  # MSR_PKG_C2_RESIDENCY
    0x610: _power_limit,  # MSR_PKG_POWER_LIMIT
    0x611: _energy(b.PKG_JOULES, energy_unit),  # MSR_PKG_ENERGY_STATUS
    # MSR_PKG_PERF_STATUS
    0x613: lambda model, place, now: int(model.package[place.package].at(b.PKG_LIMITED, now) * 2**_TIME_UNIT) & _WORD32,
    0x614: _power_info,  # MSR_PKG_POWER_INFO
    0x618: _constant(0),  # MSR_DRAM_POWER_LIMIT
    0x619: _energy(b.PKG_RAM_JOULES, ram_unit),  # MSR_DRAM_ENERGY_STATUS
    0x61B: _constant(0),  # MSR_DRAM_PERF_STATUS
    0x620: _constant(0x0816),  # MSR_UNCORE_RATIO_LIMIT
    0x621: _uncore_ratio,  # MSR_UNCORE_PERF_STATUS
    0x648: lambda model, place, now: model.shape.core_types[0].base_mhz // 100,  # MSR_CONFIG_TDP_NOMINAL
    0x649: _constant(0),  # MSR_CONFIG_TDP_LEVEL_1
    0x64A: _constant(0),  # MSR_CONFIG_TDP_LEVEL_2
    0x64B: _constant(0),  # MSR_CONFIG_TDP_CONTROL
    0x64C: _constant(0),  # MSR_TURBO_ACTIVATION_RATIO
    0x64D: _psys,  # MSR_PLATFORM_ENERGY_STATUS
    # MSR_CORE_C1_RES
    0x660: lambda model, place, now: int(model.cpu[place.cpu].at(b.CPU_C1, now) * model.shape.reference_hz),
    0x770: _constant(1),  # IA32_PM_ENABLE
    0x771: _capabilities,  # IA32_HWP_CAPABILITIES
    0x772: _constant(0x8000_FF01),  # IA32_HWP_REQUEST_PKG
    0x773: _constant(0),  # IA32_HWP_INTERRUPT
    0x774: _request,  # IA32_HWP_REQUEST
    0x777: _constant(0),  # IA32_HWP_STATUS
}

_INTEL_SERVER: Final[Mapping[int, Read]] = {
    0x61C: _constant(0x0028_0000_0000_0190),  # MSR_DRAM_POWER_INFO
}

_SANDY_BRIDGE_SERVERS: Final = (0x2D, 0x3E)
_BEFORE_SKYLAKE: Final = (*_SANDY_BRIDGE_SERVERS, 0x3F, 0x4F, 0x56)
_OLDER_SERVERS: Final[Mapping[tuple[int, ...], Mapping[int, Read]]] = {
    # models -> registers: Intel SDM vol. 4, tables of the Xeon E5 to v4 and Xeon D
    _BEFORE_SKYLAKE: {
        0x3F8: _package_ticks(b.PKG_C3),  # MSR_PKG_C3_RESIDENCY
        0x3FA: _package_ticks(b.PKG_C7),  # MSR_PKG_C7_RESIDENCY
        0x3FC: _core_ticks(b.CORE_C3),  # MSR_CORE_C3_RESIDENCY
        0x3FE: _core_ticks(b.CORE_C7),  # MSR_CORE_C7_RESIDENCY
    },
    _SANDY_BRIDGE_SERVERS: {
        0x638: _constant(0),  # MSR_PP0_POWER_LIMIT
        0x639: _energy(b.PKG_CORES_JOULES, energy_unit),  # MSR_PP0_ENERGY_STATUS
        0x63A: _constant(0),  # MSR_PP0_POLICY
    },
    (0x3F,): {
        0x1AF: _constant(0),  # MSR_TURBO_RATIO_LIMIT2
        0x690: _constant(0),  # MSR_CORE_PERF_LIMIT_REASONS
        0x6B1: _constant(0),  # MSR_RING_PERF_LIMIT_REASONS
    },
}

_INTEL_CLIENT: Final[Mapping[int, Read]] = {
    0x3F8: _package_ticks(b.PKG_C3),  # MSR_PKG_C3_RESIDENCY
    0x3FA: _package_ticks(b.PKG_C7),  # MSR_PKG_C7_RESIDENCY
    0x3FC: _core_ticks(b.CORE_C3),  # MSR_CORE_C3_RESIDENCY
    0x3FE: _core_ticks(b.CORE_C7),  # MSR_CORE_C7_RESIDENCY
    0x630: _package_ticks(b.PKG_C8),  # MSR_PKG_C8_RESIDENCY
    0x631: _package_ticks(b.PKG_C9),  # MSR_PKG_C9_RESIDENCY
    0x632: _package_ticks(b.PKG_C10),  # MSR_PKG_C10_RESIDENCY
    0x633: _constant(0x88FA),  # MSR_PKGC8_IRTL
    0x634: _constant(0x894C),  # MSR_PKGC9_IRTL
    0x635: _constant(0x8BF2),  # MSR_PKGC10_IRTL
    0x638: _constant(0),  # MSR_PP0_POWER_LIMIT
    0x639: _energy(b.PKG_CORES_JOULES, energy_unit),  # MSR_PP0_ENERGY_STATUS
    0x63A: _constant(0),  # MSR_PP0_POLICY
    0x640: _constant(0),  # MSR_PP1_POWER_LIMIT
    0x641: _energy(b.PKG_GPU_JOULES, energy_unit),  # MSR_PP1_ENERGY_STATUS
    0x642: _constant(0x10),  # MSR_PP1_POLICY
    0x658: _package_ticks(b.PKG_WEIGHTED_C0),  # MSR_PKG_WEIGHTED_CORE_C0_RES
    0x659: _package_ticks(b.PKG_ANY_C0),  # MSR_PKG_ANY_CORE_C0_RES
    0x65A: _package_ticks(b.PKG_GPU_BUSY),  # MSR_PKG_ANY_GFXE_C0_RES
    0x65B: _package_ticks(b.PKG_CORE_AND_GPU_C0),  # MSR_PKG_BOTH_CORE_GFXE_C0_RES
    0x64F: _limit_reasons,  # MSR_CORE_PERF_LIMIT_REASONS
    0x690: _limit_reasons,  # MSR_CORE_PERF_LIMIT_REASONS
    0x6B0: _constant(0),  # MSR_GFX_PERF_LIMIT_REASONS
    0x6B1: _constant(0),  # MSR_RING_PERF_LIMIT_REASONS
}

_HYBRID: Final[Mapping[int, Read]] = {
    0x650: _second_bins,  # MSR_SECONDARY_TURBO_RATIO_LIMIT
}

_MODULES: Final[Mapping[int, Read]] = {
    # MSR_MODULE_C6_RES_MS
    0x664: lambda model, place, now: int(model.module[place.module].at(0, now) * model.shape.reference_hz),
}

_AMD: Final[Mapping[int, Read]] = {
    0x8B: lambda model, place, now: model.shape.microcode,  # PATCH_LEVEL
    # RAPL_PWR_UNIT
    0xC001_0299: lambda model, place, now: _POWER_UNIT | model.shape.energy_unit << 8 | _TIME_UNIT << 16,
    # CORE_ENERGY_STAT
    0xC001_029A: lambda model, place, now: (
        int(model.core[place.core].at(b.CORE_JOULES, now) / energy_unit(model.shape)) & _WORD32),
    0xC001_029B: _energy(b.PKG_JOULES, energy_unit),  # PKG_ENERGY_STAT
    # Family 1Ah: frequency = 5 MHz * bits 11:0 (AMD PPR for family 1Ah, MSRC001_0064).
    0xC001_0064: lambda model, place, now: 1 << 63 | model.shape.core_types[0].base_mhz // 5,  # PSTATE_DEF0
}


def register_map(shape: MachineShape) -> Mapping[int, Read]:
    """The registers a machine has, by address; empty where there is no MSR device."""
    if shape.isa is Isa.ARM or shape.hypervisor:
        return {}
    if shape.isa is Isa.AMD:
        return {**_EVERY_X86, **_AMD}
    registers = {**_EVERY_X86, **_INTEL, **(_INTEL_CLIENT if shape.client else _INTEL_SERVER)}
    for models, older in _OLDER_SERVERS.items():
        if shape.model in models and not shape.client:
            registers |= older
    if shape.hybrid:
        registers |= _HYBRID
    if shape.module_register:
        registers |= _MODULES
    return registers


def encoded(value: int) -> bytes:
    """Encode a register as the msr device does: 8 bytes, little endian."""
    return (value & _WORD64).to_bytes(8, "little")
