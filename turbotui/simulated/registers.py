"""Model-specific registers of the simulated machines, by address: those of registers.toml, and those that are computed.

All readers have the same signature, whether or not a register needs all arguments.
"""
# ruff: noqa: ARG001, ARG005

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from turbotui.quantities.facts import FactFile
from turbotui.simulated import basis as b
from turbotui.simulated.events_common import APERF, MPERF_SECONDS
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import Isa, MachineShape

Read: TypeAlias = Callable[[Model, SimulatedCpu, float], int]
"""A function that returns a register's value on a CPU at a machine time."""

_REGISTERS: Final = FactFile("simulated/registers.toml")
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


def energy_unit(shape: MachineShape, domain: str = "pkg") -> float:
    """Joules of one count of a domain's RAPL energy register; ram and psys may have units of their own."""
    return {"ram": shape.ram_unit, "psys": shape.psys_unit}.get(domain) or 2.0**-shape.energy_unit


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


def _energy(index: int, domain: str) -> Read:
    def read(model: Model, place: SimulatedCpu, now: float) -> int:
        return int(model.package[place.package].at(index, now) / energy_unit(model.shape, domain)) & _WORD32

    return read


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


_EVERY_X86: Final[Mapping[int, Read]] = {
    0x10: lambda model, place, now: model.tsc(now),  # IA32_TIME_STAMP_COUNTER
    # IA32_MPERF
    0xE7: lambda model, place, now: int(model.cpu[place.cpu].value(MPERF_SECONDS, now) * model.shape.reference_hz),
    0xE8: lambda model, place, now: int(model.cpu[place.cpu].value(APERF, now)),  # IA32_APERF
}

_INTEL: Final[Mapping[int, Read]] = {
    0x34: lambda model, place, now: smi_count(model, now),  # MSR_SMI_COUNT
    0x8B: lambda model, place, now: model.shape.microcode << 32,  # IA32_BIOS_SIGN_ID
    0xCE: _platform_info,  # MSR_PLATFORM_INFO
    0xE2: lambda model, place, now: 0x8008 if model.shape.client else 0x8007,  # MSR_PKG_CST_CONFIG_CONTROL
    0x198: lambda model, place, now: int(model.mhz[place.core] // 100) << 8,  # IA32_PERF_STATUS
    0x19C: _core_thermal,  # IA32_THERM_STATUS
    0x1A2: lambda model, place, now: model.shape.power.tj_max << 16,  # MSR_TEMPERATURE_TARGET
    0x1AD: _bins,  # MSR_TURBO_RATIO_LIMIT
    0x1AE: _bin_counts,  # MSR_TURBO_RATIO_LIMIT1
    0x1B1: _package_thermal,  # IA32_PACKAGE_THERM_STATUS
    0x3FD: _core_c6,  # MSR_CORE_C6_RESIDENCY
    0x601: _peak_limit,  # MSR_VR_CURRENT_CONFIG
    # MSR_RAPL_POWER_UNIT
    0x606: lambda model, place, now: _POWER_UNIT | model.shape.energy_unit << 8 | _TIME_UNIT << 16,
    0x610: _power_limit,  # MSR_PKG_POWER_LIMIT
    # MSR_PKG_PERF_STATUS
    0x613: lambda model, place, now: int(model.package[place.package].at(b.PKG_LIMITED, now) * 2**_TIME_UNIT) & _WORD32,
    0x614: _power_info,  # MSR_PKG_POWER_INFO
    # MSR_UNCORE_PERF_STATUS
    0x621: lambda model, place, now: int(model.package[place.package].rate[b.PKG_UNCORE_CYCLES] / 1e8) & 0x7F,
    0x648: lambda model, place, now: model.shape.core_types[0].base_mhz // 100,  # MSR_CONFIG_TDP_NOMINAL
    # MSR_PLATFORM_ENERGY_STATUS
    0x64D: lambda model, place, now: (
        int(model.system.at(b.SYS_PSYS_JOULES, now) / energy_unit(model.shape, "psys")) & _WORD32),
    # MSR_CORE_C1_RES
    0x660: lambda model, place, now: int(model.cpu[place.cpu].at(b.CPU_C1, now) * model.shape.reference_hz),
    0x771: _capabilities,  # IA32_HWP_CAPABILITIES
    0x774: _request,  # IA32_HWP_REQUEST
}

_SANDY_BRIDGE_SERVERS: Final = (0x2D, 0x3E)
_OLDER_SERVERS: Final = {"before-skylake": (*_SANDY_BRIDGE_SERVERS, 0x3F, 0x4F, 0x56),
                         "sandy-bridge-server": _SANDY_BRIDGE_SERVERS, "haswell-server": (0x3F,)}
"""The models that have a table's registers."""

_INTEL_CLIENT: Final[Mapping[int, Read]] = {
    0x64F: _limit_reasons,  # MSR_CORE_PERF_LIMIT_REASONS
    0x690: _limit_reasons,  # MSR_CORE_PERF_LIMIT_REASONS
}

_OF_HYBRIDS: Final[Mapping[int, Read]] = {
    # MSR_SECONDARY_TURBO_RATIO_LIMIT
    0x650: lambda model, place, now: sum(
        _ratio_for(model.shape.core_types[1].bins, n + 1) << 8 * n for n in range(8)),
}
_OF_MODULES: Final[Mapping[int, Read]] = {
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
    # Family 1Ah: frequency = 5 MHz * bits 11:0 (AMD PPR for family 1Ah, MSRC001_0064).
    0xC001_0064: lambda model, place, now: 1 << 63 | model.shape.core_types[0].base_mhz // 5,  # PSTATE_DEF0
}


_MEANINGS: Final[Mapping[str, Callable[..., Read]]] = {
    "constant": _constant,
    "core_ticks": lambda name: _core_ticks(getattr(b, name)),
    "package_ticks": lambda name: _package_ticks(getattr(b, name)),
    "energy": lambda name, domain: _energy(getattr(b, name), domain),
}
"""The lists of a table, and what their rows say beside a name and an address."""


@functools.cache
def _written(table: str) -> Mapping[int, Read]:
    """The registers of a table of the file."""
    lists = cast("Mapping[str, Sequence[Sequence[Any]]]", _REGISTERS.find(table) or {})
    return {address: _MEANINGS[kind](*facts) for kind, rows in lists.items() for _name, address, *facts in rows}


def register_map(shape: MachineShape) -> Mapping[int, Read]:
    """The registers a machine has, by address; empty where there is no MSR device."""
    if shape.isa is Isa.ARM or shape.hypervisor:
        return {}
    if shape.isa is Isa.AMD:
        return {**_EVERY_X86, **_AMD, **_written("amd")}
    registers = {**_EVERY_X86, **_INTEL, **_written("intel")}
    if shape.client:
        registers |= {**_INTEL_CLIENT, **_written("intel-client")}
    else:
        for table in ("intel-server", *(name for name, models in _OLDER_SERVERS.items() if shape.model in models)):
            registers |= _written(table)
    if shape.hybrid:
        registers |= _OF_HYBRIDS
    if shape.module_register:
        registers |= _OF_MODULES
    return registers


def encoded(value: int) -> bytes:
    """Encode a register as the msr device does: 8 bytes, little endian."""
    return (value & _WORD64).to_bytes(8, "little")
