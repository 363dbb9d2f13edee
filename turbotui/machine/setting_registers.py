"""Registers that hold settings and states rather than counts: power limits, hints, and why something is slowed down.

sysfs tells some of them better (it knows of limits set elsewhere, and needs fewer rights), so these are asked after it.
Addresses and fields are those of Intel SDM vol. 4.
"""

from __future__ import annotations

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platform_features import FeatureSet, LimitReasons, RaplRegister
from turbotui.machine.registers import Condition, Register, Scaling
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, SignalId
from turbotui.quantities.units import Unit

_SDM = "Intel SDM vol. 4"
# Client parts since Skylake have the core's limit reasons at 0x64F (Intel SDM vol. 4, 6th generation and later).
_SKYLAKE_CLASS = frozenset({"skl", "cnl", "adl", "lnl"})
# Servers of the Haswell and Broadwell generations name the bits of 0x690 otherwise than the client parts
# (Intel SDM vol. 4, tables of the Xeon E5 v3, and of the Xeon D and E5 v4).
_HASWELL_SERVERS = frozenset({"hsx", "bdx"})


def _flag(name: str) -> Condition:
    return lambda _features, model: name in model.flags and model.vendor == "GenuineIntel"


def _has_limits(features: FeatureSet, _model: CpuModel) -> bool:
    return RaplRegister.PKG_POWER_LIMIT in features.rapl


def _has_info(features: FeatureSet, _model: CpuModel) -> bool:
    return RaplRegister.PKG_POWER_INFO in features.rapl


def _haswell(which: LimitReasons) -> Condition:
    return lambda features, _model: which in features.limit_reasons and not (
        which is LimitReasons.CORE and features.name in _HASWELL_SERVERS
    )


def _haswell_server(features: FeatureSet, _model: CpuModel) -> bool:
    return features.name in _HASWELL_SERVERS


def _skylake(features: FeatureSet, _model: CpuModel) -> bool:
    return features.name in _SKYLAKE_CLASS


def _limit(
    address: int, name: str, signal: SignalId, *, low_bit: int, width_bits: int, enable: int = -1
) -> Register:
    return Register(
        address, name, signal, Scope.PACKAGE, Unit.WATT, Behavior.GAUGE, Reduce.SUM, f"{_SDM}, {name}", _has_limits,
        Scaling.RAPL_POWER, width_bits=width_bits, low_bit=low_bit, valid_bit=enable, zero_is_unset=True,
    )  # fmt: skip


def _hint(address: int, name: str, signal: SignalId, flag: str, *, low_bit: int, width_bits: int) -> Register:
    return Register(
        address, name, signal, Scope.CPU, Unit.COUNT, Behavior.GAUGE, Reduce.SAME, f"{_SDM}, {name}", _flag(flag),
        width_bits=width_bits, low_bit=low_bit,
    )  # fmt: skip


def _reasons(address: int, name: str, signal: SignalId, scope: Scope, present: Condition) -> Register:
    return Register(
        address, name, signal, scope, Unit.BITS, Behavior.GAUGE, Reduce.UNION, f"{_SDM}, {name}", present,
        width_bits=32,
    )  # fmt: skip


SETTING_REGISTERS: tuple[Register, ...] = (
    _limit(0x610, "MSR_PKG_POWER_LIMIT[14:0]", "limit.pkg.pl1", low_bit=0, width_bits=15, enable=15),
    _limit(0x610, "MSR_PKG_POWER_LIMIT[46:32]", "limit.pkg.pl2", low_bit=32, width_bits=15, enable=47),
    _limit(0x601, "MSR_VR_CURRENT_CONFIG[12:0]", "limit.pkg.pl4", low_bit=0, width_bits=13),
    Register(
        0x614, "MSR_PKG_POWER_INFO[14:0]", "limit.pkg.tdp", Scope.PACKAGE, Unit.WATT, Behavior.GAUGE, Reduce.SUM,
        f"{_SDM}, MSR_PKG_POWER_INFO", _has_info, Scaling.RAPL_POWER, width_bits=15, zero_is_unset=True,
    ),
    _hint(0x1B0, "IA32_ENERGY_PERF_BIAS[3:0]", "epb", "epb", low_bit=0, width_bits=4),
    _hint(0x774, "IA32_HWP_REQUEST[31:24]", "hwp.epp", "hwp_epp", low_bit=24, width_bits=8),
    _reasons(0x19C, "IA32_THERM_STATUS", "reasons.core", Scope.CORE, _flag("dtherm")),
    _reasons(0x1B1, "IA32_PACKAGE_THERM_STATUS", "reasons.pkg", Scope.PACKAGE, _flag("pts")),
    _reasons(0x690, "MSR_CORE_PERF_LIMIT_REASONS", "reasons.hsw.core", Scope.PACKAGE, _haswell(LimitReasons.CORE)),
    _reasons(0x690, "MSR_CORE_PERF_LIMIT_REASONS", "reasons.hsx.core", Scope.PACKAGE, _haswell_server),
    _reasons(0x6B0, "MSR_GRAPHICS_PERF_LIMIT_REASONS", "reasons.hsw.gfx", Scope.PACKAGE, _haswell(LimitReasons.GFX)),
    _reasons(0x6B1, "MSR_RING_PERF_LIMIT_REASONS", "reasons.hsw.ring", Scope.PACKAGE, _haswell(LimitReasons.RING)),
    _reasons(0x64F, "MSR_CORE_PERF_LIMIT_REASONS", "reasons.skl.core", Scope.PACKAGE, _skylake),
    _reasons(0x6B0, "MSR_GRAPHICS_PERF_LIMIT_REASONS", "reasons.skl.gfx", Scope.PACKAGE, _skylake),
    _reasons(0x6B1, "MSR_RING_PERF_LIMIT_REASONS", "reasons.skl.ring", Scope.PACKAGE, _skylake),
)
"""Settings and states, each tried before it is believed."""
