"""RAPL registers that come together, from which feature sets are composed. Facts: turbostat-spec 3.2."""

from __future__ import annotations

from turbotui.machine.platform_features import RaplRegister

DRAM_JOULE = 2.0**-16
"""Joules of one count of the DRAM energy register on servers from Haswell to Ice Lake and on Xeon Phi.

Intel's datasheet of the Xeon E5 v3 (330784, vol. 2) rounds it to 15.3 uJ. perf takes 2^-16 J (kernel
arch/x86/events/rapl.c, RAPL_UNIT_QUIRK_INTEL_HSW); powercap (intel_rapl_common.c, dram_domain_energy_unit) and
turbostat take the rounded number, which is 0.27 % more.
"""
DRAM_ROUNDED_JOULE = 15.3e-6

PKG = frozenset({RaplRegister.PKG_POWER_LIMIT, RaplRegister.PKG_ENERGY_STATUS, RaplRegister.PKG_POWER_INFO})
PKG_PERF = frozenset({RaplRegister.PKG_PERF_STATUS})
DRAM = frozenset({RaplRegister.DRAM_POWER_LIMIT, RaplRegister.DRAM_ENERGY_STATUS, RaplRegister.DRAM_PERF_STATUS})
DRAM_INFO = frozenset({RaplRegister.DRAM_POWER_INFO})
CORES = frozenset({RaplRegister.CORE_POWER_LIMIT, RaplRegister.CORE_ENERGY_STATUS, RaplRegister.CORE_POLICY})
GFX = frozenset({RaplRegister.GFX_POWER_LIMIT, RaplRegister.GFX_ENERGY_STATUS})
PLATFORM = frozenset({RaplRegister.PLATFORM_ENERGY_LIMIT, RaplRegister.PLATFORM_ENERGY_STATUS})
AMD = frozenset({RaplRegister.AMD_PWR_UNIT, RaplRegister.AMD_CORE_ENERGY_STAT, RaplRegister.AMD_PKG_ENERGY_STAT})
