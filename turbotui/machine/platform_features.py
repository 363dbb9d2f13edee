"""Enumerations of the platform tables: C-states, limits, RAPL registers, clocks, turbo layouts, feature sets."""

from __future__ import annotations

from enum import Enum, Flag, auto

from turbotui.dataclass import dataclass


class CoreState(Enum):
    """Core C-states with a residency. The value ends the signal id `cstate.core.*`."""

    C1 = "c1"
    C3 = "c3"
    C6 = "c6"
    C7 = "c7"


class PackageState(Enum):
    """Package C-states with a residency. The value ends the signal id `cstate.pkg.*`."""

    C2 = "c2"
    C3 = "c3"
    C6 = "c6"
    C7 = "c7"
    C8 = "c8"
    C9 = "c9"
    C10 = "c10"


class PackageLimit(Enum):
    """Package C-state limits of MSR 0xE2, shallow to deep; the value is turbostat's word."""

    UNKNOWN = "unknown"
    RESERVED = "reserved"
    PC0 = "pc0"
    PC1 = "pc1"
    PC2 = "pc2"
    PC3 = "pc3"
    PC4 = "pc4"
    PC6 = "pc6"
    PC6N = "pc6n"
    PC6R = "pc6r"
    PC7 = "pc7"
    PC7S = "pc7s"
    PC8 = "pc8"
    PC9 = "pc9"
    PC10 = "pc10"
    UNLIMITED = "unlimited"

    @property
    def rank(self) -> int:
        """Rank by depth, for "at least PCn" (docs/specs/turbostat.md 3.4)."""
        return list(PackageLimit).index(self)


class RaplRegister(Enum):
    """RAPL registers. The value is the MSR address (Intel SDM vol. 4; AMD PPR)."""

    PKG_POWER_LIMIT = 0x610
    PKG_ENERGY_STATUS = 0x611
    PKG_PERF_STATUS = 0x613
    PKG_POWER_INFO = 0x614
    DRAM_POWER_LIMIT = 0x618
    DRAM_ENERGY_STATUS = 0x619
    DRAM_PERF_STATUS = 0x61B
    DRAM_POWER_INFO = 0x61C
    CORE_POWER_LIMIT = 0x638
    CORE_ENERGY_STATUS = 0x639
    CORE_POLICY = 0x63A
    GFX_POWER_LIMIT = 0x640
    GFX_ENERGY_STATUS = 0x641
    GFX_POLICY = 0x642
    PLATFORM_ENERGY_STATUS = 0x64D
    PLATFORM_ENERGY_LIMIT = 0x65C  # MSR_PLATFORM_POWER_LIMIT, Intel SDM vol. 4
    AMD_PWR_UNIT = 0xC0010299
    AMD_CORE_ENERGY_STAT = 0xC001029A
    AMD_PKG_ENERGY_STAT = 0xC001029B


DRAM_JOULE = 2.0**-16
"""Joules of one count of the DRAM energy register on servers from Haswell to Ice Lake and on Xeon Phi.

Intel's datasheet of the Xeon E5 v3 (330784, vol. 2) rounds the unit to 15.3 uJ. perf uses 2^-16 J (kernel
arch/x86/events/rapl.c, RAPL_UNIT_QUIRK_INTEL_HSW); powercap (intel_rapl_common.c, dram_domain_energy_unit) and
turbostat use the rounded number, which is 0.27 % too high.
"""
DRAM_ROUNDED_JOULE = 15.3e-6  # converts powercap's counts of DRAM to DRAM_JOULE


class BusClock(Enum):
    """The clock that ratios multiply. The value is MHz; None where MSR 0xCD[3:0] chooses from `SILVERMONT_MHZ`."""

    MHZ_100 = 100.0
    MHZ_133 = 133.33
    SILVERMONT = None


SILVERMONT_MHZ = (83.3, 100.0, 133.3, 116.7, 80.0)
"""Bus clock by MSR 0xCD[3:0]; a larger index means the fourth (turbostat-platforms, BCLK_SLV)."""


class TurboLayout(Flag):
    """Where turbo ratio limits are, and how they are packed (docs/specs/turbostat.md 3.5)."""

    BASE = auto()
    LIMIT1 = auto()
    LIMIT2 = auto()
    ATOM = auto()
    KNL = auto()
    CORECOUNT = auto()


NO_TURBO = TurboLayout(0)
"""No turbo ratio limits."""


class LimitReasons(Enum):
    """Perf-limit-reason registers. The value is the MSR address (docs/specs/turbostat.md 3.7)."""

    CORE = 0x690
    GFX = 0x6B0
    RING = 0x6B1


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Features of one family of models beside the architectural counters (docs/specs/turbostat.md 3.2)."""

    name: str  # turbostat's short name, "spr"
    # core_cstates, pkg_cstates: states with a residency counter
    core_cstates: tuple[CoreState, ...] = ()
    pkg_cstates: tuple[PackageState, ...] = ()
    cst_limit: tuple[PackageLimit, ...] = ()  # decoding of MSR 0xE2[3:0], 16 entries; empty if there is none
    bclk: BusClock | None = None  # the clock that ratios multiply; None if unknown
    crystal_hz: int = 0  # the crystal's clock if CPUID 0x15 does not give it; 0 if unknown
    rapl: frozenset[RaplRegister] = frozenset()  # RAPL registers that exist
    rapl_divisor: bool = False  # the energy unit is 2**ESU microjoule instead of 2**-ESU joule
    dram_unit_joule: float | None = None  # fixed DRAM energy unit; None for the general one
    psys_unit_joule: float | None = None  # fixed platform energy unit; None for the general one
    quirk_tdp_watt: int = 0  # TDP assumed if no register gives it; 0 for none
    turbo: TurboLayout = NO_TURBO  # layout of the turbo ratio limits
    limit_reasons: tuple[LimitReasons, ...] = ()  # perf-limit-reason registers
    tcc_offset_bits: int = 0  # width of the TCC offset field in MSR 0x1A2, 0: none
    tsc_tweak: bool = False  # TSC cycles are scaled by base_hz / tsc_hz for C-state shares
    perf_multiplier: bool = False  # APERF and MPERF count in units of 1024 cycles
    has_nhm_msrs: bool = False  # Nehalem-class MSRs 0xCE, 0x1A2, 0x34, 0xE2, 0x1FC and turbo ratio limits may be read
    has_config_tdp: bool = False  # config-TDP MSRs 0x648..0x64C
    has_misc_feature_control: bool = False  # MSR 0x1A4
    has_misc_pwr_mgmt: bool = False  # MSR 0x1AA
    has_irtl_msrs: bool = False  # package C-state latency limits from MSR 0x60A
    has_auto_conversion: bool = False  # automatic C-state conversion bit in MSR 0xE2
    has_core_c1_res: bool = False  # core C1 residency in MSR 0x660
    has_module_c6_res: bool = False  # module C6 residency in MSR 0x664
    has_c6_demotion: bool = False  # C6 demotion policies in MSR 0x668 and 0x669
    has_atom_pkg_c6: bool = False  # package C6 residency is at MSR 0x3FA
    has_knl_core_c6: bool = False  # core C6 residency is at MSR 0x3FF
    has_ext_cst_msrs: bool = False  # MSR 0x658..0x65B
    has_cst_prewake: bool = False  # pre-wake bit in MSR 0x1FC


@dataclass(frozen=True, slots=True)
class L2Events:
    """Configs of the L2 reference and hit events on one core PMU (raw event 0x24; docs/specs/turbostat.md 3.6)."""

    references: int
    hits: int
