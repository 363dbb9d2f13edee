"""The table of simulated machines: one row each, with load and CPU flags, from which all else follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from turbotui.simulated.kernel_counts import STEAL
from turbotui.simulated.shapes import (
    Block,
    CoreType,
    IdleState,
    Isa,
    LoadPhase,
    LoadSchedule,
    MachineShape,
    OtherDevices,
    Power,
    Role,
)
from turbotui.simulated.workloads import COMPUTE, INTEGER, LIGHT, MEMORY

_QUIET = (0.002, 0.02)

SERVER: Final = LoadSchedule(
    roles=(
        Role(LIGHT, (0.01, 0.06), (0.5, 2.0), _QUIET, (3.0, 9.0), both=False, share=0.42),
        Role(COMPUTE, (0.85, 1.0), (6.0, 25.0), (0.02, 0.1), (1.0, 5.0), both=False, share=0.16),
        Role(INTEGER, (0.55, 1.0), (0.4, 3.0), (0.01, 0.08), (0.5, 4.0), both=True, share=0.2),
        Role(MEMORY, (0.7, 1.0), (4.0, 12.0), (0.01, 0.05), (2.0, 8.0), both=False, share=0.12),
        Role(INTEGER, (0.2, 0.5), (1.0, 4.0), (0.05, 0.2), (1.0, 4.0), both=True, share=0.1),
    ),
    phases=(
        LoadPhase(LIGHT, 0.004, first=5.0, every=75.0, length=10.0, stagger=25.0),
        LoadPhase(COMPUTE, 1.0, first=20.0, every=75.0, length=14.0, stagger=25.0),
    ),
    hot_kind=INTEGER,
    hot_stay=(2.0, 7.0),
)

LAPTOP: Final = LoadSchedule(
    roles=(
        Role(LIGHT, (0.02, 0.12), (0.3, 1.2), (0.001, 0.008), (2.0, 6.0), both=False, share=0.6),
        Role(INTEGER, (0.3, 0.9), (0.3, 2.0), (0.004, 0.03), (1.0, 6.0), both=True, share=0.3),
        Role(MEMORY, (0.3, 0.7), (1.0, 3.0), (0.002, 0.01), (4.0, 10.0), both=False, share=0.1),
    ),
    phases=(
        LoadPhase(LIGHT, 0.004, first=5.0, every=60.0, length=10.0, stagger=0.0),
        LoadPhase(COMPUTE, 1.0, first=18.0, every=60.0, length=18.0, stagger=0.0),
    ),
    hot_kind=INTEGER,
    hot_stay=(1.5, 5.0),
)

GUEST: Final = LoadSchedule(
    roles=(
        Role(LIGHT, (0.03, 0.2), (0.3, 2.0), _QUIET, (1.0, 5.0), both=False, share=0.5),
        Role(INTEGER, (0.4, 1.0), (1.0, 5.0), _QUIET, (2.0, 6.0), both=False, share=0.5),
    ),
    phases=(),
    hot_kind=INTEGER,
    hot_stay=(2.0, 6.0),
)


_X86 = (
    "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx "
    "pdpe1gb rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc cpuid tsc_known_freq pni pclmulqdq ssse3 fma "
    "cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand lahf_lm abm fsgsbase bmi1 avx2 smep bmi2 "
    "erms invpcid rdseed adx smap clflushopt clwb sha_ni xsaveopt xsavec xgetbv1 xsaves arat vaes vpclmulqdq rdpid fsrm"
)
_INTEL = (
    "dts acpi ss tm pbe arch_perfmon pebs bts aperfmperf dtes64 monitor ds_cpl vmx est tm2 xtpr pdcm epb dtherm ida "
    "pln pts hwp hwp_act_window hwp_epp hwp_pkg_req tsc_adjust tsc_deadline_timer intel_pt waitpkg md_clear flush_l1d "
    "arch_capabilities"
)
_AVX512 = "avx512f avx512dq avx512ifma avx512cd avx512bw avx512vl avx512_vbmi2 avx512_vnni avx512_bf16"

SERVER_FLAGS: Final = f"{_X86} {_INTEL} {_AVX512} avx512_fp16 amx_bf16 amx_tile amx_int8 cat_l3 cdp_l3 cqm rdt_a"
CLIENT_FLAGS: Final = f"{_X86} {_INTEL} hwp_notify hfi avx_vnni serialize"
AMD_FLAGS: Final = (
    f"{_X86} {_AVX512} aperfmperf rapl monitor svm extapic cr8_legacy sse4a misalignsse ibs topoext perfctr_core "
    "perfctr_nb perfctr_llc mwaitx cpb cat_l3 cdp_l3 hw_pstate cppc amd_lbr_v2 perfmon_v2 irperf clzero avx_vnni"
)
GUEST_FLAGS: Final = f"{_X86} {_AVX512} hypervisor cmp_legacy topoext vmmcall clzero avx_vnni"
ARM_FLAGS: Final = (
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma lrcpc dcpop sha3 sm3 "
    "sm4 asimddp sha512 sve asimdfhm dit uscat ilrcpc flagm sb dcpodp sve2 sveaes svepmull "
    "svebitperm svesha3 svesm4 flagm2 frint svei8mm svebf16 i8mm bf16 dgh bti"
)


def _without(flags: str, *starts: str) -> str:
    """Return a line of CPU flags without the instructions that a processor lacks."""
    return " ".join(flag for flag in flags.split() if not flag.startswith(starts))


_POLL = IdleState("POLL", "CPUIDLE CORE POLL IDLE", 0, 0, 0, 4.0, above=0.0, below=0.3)

# Latencies and residencies: linux drivers/idle/intel_idle.c, tables spr_cstates and mtl_l_cstates.
_XEON_IDLE = (
    _POLL,
    IdleState("C1", "MWAIT 0x00", 1, 1, 1, 45.0, above=0.02, below=0.1),
    IdleState("C1E", "MWAIT 0x01", 2, 4, 1, 160.0, above=0.03, below=0.06),
    IdleState("C6", "MWAIT 0x20", 290, 800, 6, 3800.0, above=0.07),
)
_SKYLAKE_IDLE = (  # skx_cstates
    _POLL,
    IdleState("C1", "MWAIT 0x00", 2, 2, 1, 45.0, above=0.02, below=0.1),
    IdleState("C1E", "MWAIT 0x01", 10, 20, 1, 160.0, above=0.03, below=0.06),
    IdleState("C6", "MWAIT 0x20", 133, 600, 6, 3100.0, above=0.07),
)
_CLIENT_IDLE = (
    _POLL,
    IdleState("C1E", "MWAIT 0x01", 1, 1, 1, 90.0, above=0.02, below=0.12),
    IdleState("C6", "MWAIT 0x20", 140, 420, 6, 900.0, above=0.05, below=0.05),
    IdleState("C10", "MWAIT 0x60", 310, 930, 7, 4200.0, above=0.06),
)
_KABY_IDLE = (
    _POLL,
    IdleState("C1", "MWAIT 0x00", 2, 2, 1, 70.0, above=0.02, below=0.12),
    IdleState("C1E", "MWAIT 0x01", 10, 20, 1, 160.0, above=0.03, below=0.08),
    IdleState("C3", "MWAIT 0x10", 70, 100, 3, 420.0, above=0.05, below=0.06),
    IdleState("C6", "MWAIT 0x20", 85, 200, 6, 900.0, above=0.05, below=0.05),
    IdleState("C8", "MWAIT 0x40", 200, 800, 7, 4200.0, above=0.06),
)
_FOREST_IDLE = (
    _POLL,
    IdleState("C1", "MWAIT 0x00", 1, 1, 1, 45.0, above=0.02, below=0.1),
    IdleState("C1E", "MWAIT 0x01", 2, 10, 1, 160.0, above=0.03, below=0.06),
    IdleState("C6S", "MWAIT 0x22", 270, 700, 6, 3300.0, above=0.07),
)
_AMD_IDLE = (
    _POLL,
    IdleState("C1", "ACPI FFH MWAIT 0x0", 1, 2, 1, 120.0, above=0.02, below=0.1),
    IdleState("C2", "ACPI IOPORT 0x814", 100, 200, 6, 3100.0, above=0.08),
)
_ARM_IDLE = (
    IdleState("LPI-0", "LPI-0", 1, 1, 1, 150.0, above=0.0, below=0.1),
    IdleState("LPI-1", "LPI-1", 150, 600, 6, 4000.0, above=0.07),
)
_GUEST_IDLE = (_POLL, IdleState("haltpoll idle", "haltpoll", 1, 1, 1, 1500.0))

_GOLDEN_COVE = CoreType(
    name="", threads=2, base_mhz=2000, min_mhz=800, max_mhz=3800,
    bins=((20, 3800), (24, 3600), (28, 3500), (32, 3400), (40, 3300), (44, 3200), (48, 3100), (56, 3000)),
    capacitance=2.0, volts_min=0.65, volts_per_ghz=0.11, leakage=0.6, ohms=2.2, ipc=1.0, vector_bits=512,
    l1d=48, l1i=32, l2=2048, events="golden-cove", pmu="cpu", counters=8, fixed=4, idle=_XEON_IDLE,
)  # fmt: skip
_ZEN5 = CoreType(
    name="", threads=2, base_mhz=2600, min_mhz=1500, max_mhz=4500,
    bins=((24, 4500), (48, 4400), (72, 4300), (96, 4100)),
    capacitance=1.1, volts_min=0.55, volts_per_ghz=0.10, leakage=0.3, ohms=3.1, ipc=1.1, vector_bits=512,
    l1d=48, l1i=32, l2=1024, events="zen5", pmu="cpu", counters=6, fixed=0, idle=_AMD_IDLE,
)  # fmt: skip
_ZEN4 = replace(
    _ZEN5, base_mhz=3250, max_mhz=3800, bins=((16, 3800), (32, 3750)), capacitance=1.3, ipc=1.0, l1d=32, events="zen4",
)  # fmt: skip
_P_CORE = CoreType(
    name="P", threads=2, base_mhz=1400, min_mhz=400, max_mhz=4800,
    bins=((2, 4800), (3, 4600), (4, 4500), (6, 4300)),
    capacitance=1.6, volts_min=0.55, volts_per_ghz=0.15, leakage=0.3, ohms=2.6, ipc=1.0, vector_bits=256,
    l1d=48, l1i=64, l2=2048, events="redwood-cove", pmu="cpu_core", counters=8, fixed=4, idle=_CLIENT_IDLE,
)  # fmt: skip
_E_CORE = replace(
    _P_CORE, name="E", threads=1, base_mhz=900, max_mhz=3800, bins=((8, 3800),), capacitance=0.6,
    leakage=0.12, ohms=2.6, ipc=0.72, l1d=32, l2=2048, events="crestmont", pmu="cpu_atom", counters=8, fixed=3,
    capacity=640,
)  # fmt: skip
_LP_CORE = replace(_E_CORE, name="LP", base_mhz=700, max_mhz=2500, bins=((2, 2500),), capacitance=0.5, capacity=420)
_KABY_CORE = replace(
    _P_CORE, name="", base_mhz=1800, max_mhz=4000, bins=((1, 4000), (2, 3900), (4, 3700)), l1d=32, l1i=32, l2=256,
    events="skylake", pmu="cpu", counters=4, fixed=3, idle=_KABY_IDLE, ipc=0.75, capacitance=1.1,
)  # fmt: skip
_FOREST_CORE = replace(
    _GOLDEN_COVE, threads=1, base_mhz=2200, max_mhz=3000, bins=((144, 3000),), capacitance=0.72, leakage=0.2, ipc=0.7,
    vector_bits=256, l1d=32, l1i=64, l2=4096, events="sierra-forest", idle=_FOREST_IDLE,
)  # fmt: skip
_NEOVERSE_V2 = CoreType(
    name="", threads=1, base_mhz=3100, min_mhz=81, max_mhz=3447, bins=((72, 3447),),
    capacitance=0.75, volts_min=0.60, volts_per_ghz=0.08, leakage=0.35, ohms=2.4, ipc=1.15, vector_bits=128,
    l1d=64, l1i=64, l2=1024, events="neoverse-v2", pmu="armv8_pmuv3_0", counters=6, fixed=1, idle=_ARM_IDLE,
)  # fmt: skip
_NEOVERSE_N1 = replace(
    _NEOVERSE_V2, base_mhz=2600, min_mhz=1000, max_mhz=3000, bins=((64, 3000),), ipc=0.9, capacitance=0.6,
    events="neoverse-n1",
)  # fmt: skip
_OLYMPUS = replace(
    _NEOVERSE_V2, threads=2, base_mhz=3000, max_mhz=3700, bins=((88, 3700),), l1i=64, l2=2048, ipc=1.3,
    capacitance=0.85, events="olympus",
)  # fmt: skip
_VCPU = CoreType(
    name="", threads=1, base_mhz=2600, min_mhz=2600, max_mhz=2600, bins=((4, 2600),),
    capacitance=1.0, volts_min=0.8, volts_per_ghz=0.0, leakage=0.3, ohms=2.0, ipc=1.0, vector_bits=512,
    l1d=48, l1i=32, l2=1024, events="", pmu="", counters=0, fixed=0, idle=_GUEST_IDLE,
)  # fmt: skip

_XEON_POWER = Power(
    tdp=350.0, pl2=420.0, tau=4.0, uncore=72.0, uncore_per_gbs=0.12, ram=11.0, ram_per_gbs=0.16, gpu=0.0,
    platform=140.0, ambient=27.0, ohms=0.11, sink_tau=9.0, tj_max=96,
)  # fmt: skip
_LAPTOP_POWER = Power(
    tdp=28.0, pl2=64.0, tau=16.0, uncore=1.9, uncore_per_gbs=0.05, ram=0.5, ram_per_gbs=0.045, gpu=6.0,
    platform=3.4, ambient=25.0, ohms=1.9, sink_tau=4.0, tj_max=110,
)  # fmt: skip
_EPYC_POWER = replace(_XEON_POWER, tdp=400.0, pl2=500.0, uncore=98.0, ambient=26.0, ohms=0.095, tj_max=100)
_GRACE_POWER = replace(_XEON_POWER, tdp=250.0, pl2=300.0, uncore=48.0, ohms=0.13, tj_max=104)
_GUEST_POWER = replace(_XEON_POWER, tdp=100.0, pl2=100.0, uncore=1.0, tj_max=100)

_SAPPHIRE = MachineShape(
    name="sapphire-2s", summary="two-package Intel server, 2 x 56 cores, SMT 2, 224 CPUs", isa=Isa.INTEL,
    vendor="GenuineIntel", family=6, model=0x8F, stepping=8, model_name="Intel(R) Xeon(R) Platinum 8480+ (simulated)",
    microcode=0x2B000639, packages=2, nodes_per_package=1, siblings_last=True, l3_kib=107520,
    tsc_hz=2_000_000_000, crystal=(2, 160, 25_000_000), core_types=(_GOLDEN_COVE,),
    blocks=(Block(56, 0, 1, 56),), schedule=SERVER, power=_XEON_POWER, step=0.1,
    package_states=((2, 0.2), (6, 0.75)), domains=frozenset({"pkg", "ram", "psys"}),
    psys_unit=1.0, cstate_core=(1, 6), cstate_package=(2, 6), driver="intel_pstate", governor="powersave",
    governors="performance powersave", epp="balance_performance", idle_driver="intel_idle", flags=SERVER_FLAGS,
    memory_gib=1024, memory_channels=8, memory_mts=4800,
)  # fmt: skip
_TURIN = MachineShape(
    name="turin-2s", summary="two-package AMD server, 2 x 96 cores in 12 L3 slices, SMT 2, 384 CPUs", isa=Isa.AMD,
    vendor="AuthenticAMD", family=26, model=0x02, stepping=1, model_name="AMD EPYC 9655 96-Core Processor (simulated)",
    microcode=0xB002151, packages=2, nodes_per_package=1, siblings_last=True, l3_kib=32768,
    tsc_hz=2_600_000_000, crystal=(0, 0, 0), core_types=(_ZEN5,), blocks=(Block(96, 0, 1, 8),),
    schedule=SERVER, power=_EPYC_POWER, step=0.1, domains=frozenset({"pkg", "core"}), energy_unit=16,
    driver="amd-pstate-epp", governor="powersave", governors="performance powersave", epp="balance_performance",
    idle_driver="acpi_idle", flags=AMD_FLAGS, memory_gib=1536,
    memory_channels=12, memory_mts=6000,
)  # fmt: skip
_GENOA = replace(
    _TURIN, name="genoa-1s", summary="one-package AMD server of Zen 4, 32 cores in 8 L3 slices, SMT 2, 64 CPUs",
    family=25, model=0x11, model_name="AMD EPYC 9354P 32-Core Processor (simulated)", microcode=0xA101148, packages=1,
    tsc_hz=3_250_000_000, core_types=(_ZEN4,), blocks=(Block(32, 0, 1, 4),),
    power=replace(_EPYC_POWER, tdp=280.0, pl2=320.0, uncore=84.0), flags=_without(AMD_FLAGS, "avx_vnni"),
    memory_gib=384, memory_mts=4800,
)  # fmt: skip
_LAPTOP = MachineShape(
    name="laptop", summary="hybrid Intel laptop: 6 P cores with SMT, 8 E, 2 LP-E, graphics, 22 CPUs", isa=Isa.INTEL,
    vendor="GenuineIntel", family=6, model=0xAA, stepping=4, model_name="Intel(R) Core(TM) Ultra 7 155H (simulated)",
    microcode=0x1F, packages=1, nodes_per_package=1, siblings_last=False, l3_kib=24576,
    tsc_hz=2_995_200_000, base_hz=3_000_000_000, crystal=(2, 156, 38_400_000), core_types=(_P_CORE, _E_CORE, _LP_CORE),
    blocks=(Block(6, 0, 1, 14, 0, 4), Block(8, 1, 4, 14, 32), Block(2, 2, 2, 0, 64)), schedule=LAPTOP,
    power=_LAPTOP_POWER, step=0.05,
    package_states=((2, 0.14), (3, 0.05), (6, 0.2), (8, 0.24), (10, 0.3)),
    domains=frozenset({"pkg", "cores", "gpu", "ram", "psys"}), cstate_core=(1, 6, 7), cstate_package=(2, 3, 6, 8, 10),
    driver="intel_pstate", governor="powersave", governors="performance powersave", epp="balance_power",
    idle_driver="intel_idle", flags=CLIENT_FLAGS, memory_gib=32,
)  # fmt: skip
_KABY = replace(
    _LAPTOP, name="laptop-old", summary="Intel laptop of one kind of core, 4 with SMT, every C-state", model=0x8E,
    stepping=10, model_name="Intel(R) Core(TM) i7-8550U CPU (simulated)", microcode=0xF6, l3_kib=8192,
    # CPUID leaf 15H of this part does not name its crystal of 24 MHz.
    tsc_hz=1_992_000_000, base_hz=2_000_000_000, crystal=(2, 166, 0), core_types=(_KABY_CORE,),
    blocks=(Block(4, 0, 1, 4),), power=replace(_LAPTOP_POWER, tdp=15.0, pl2=44.0, tj_max=100, ohms=3.3),
    package_states=((2, 0.1), (3, 0.06), (6, 0.12), (7, 0.08), (8, 0.2), (9, 0.1), (10, 0.28)),
    cstate_core=(3, 6, 7), cstate_package=(2, 3, 6, 7, 8, 9, 10), siblings_last=True, memory_gib=16,
    memory_channels=2, memory_mts=2400, flags=_without(CLIENT_FLAGS, "avx_vnni", "serialize"),
)  # fmt: skip
_ICELAKE = replace(
    _SAPPHIRE, name="icelake-2s", summary="two-package Intel server with the fixed DRAM energy unit, 2 x 40 cores, "
    "SMT 2, 160 CPUs", model=0x6A, stepping=6, model_name="Intel(R) Xeon(R) Platinum 8380 (simulated)",
    microcode=0xD0003F5, l3_kib=61440, tsc_hz=2_300_000_000, crystal=(2, 184, 25_000_000),
    core_types=(
        replace(
            _GOLDEN_COVE,
            base_mhz=2300,
            max_mhz=3400,
            bins=((8, 3400), (16, 3300), (24, 3200), (32, 3100), (40, 3000)),
            ipc=0.85,
            l2=1280,
            events="sunny-cove",
        ),
    ),
    blocks=(Block(40, 0, 1, 40),), power=replace(_XEON_POWER, tdp=270.0, pl2=324.0),
    # DRAM in 2^-16 J, whatever register 0x606 says; later servers follow the register again (linux rapl.c).
    ram_unit=2.0**-16, psys_unit=0.0, domains=frozenset({"pkg", "ram"}), memory_mts=3200, tiers="pmem",
    flags=_without(SERVER_FLAGS, "amx_", "avx512_bf16", "avx512_fp16"),
)  # fmt: skip
_CASCADE = replace(
    _ICELAKE, name="cascade-2s", summary="two-package Intel server of Skylake's family, 2 x 28 cores, SMT 2, 112 CPUs",
    model=0x55, stepping=7, model_name="Intel(R) Xeon(R) Platinum 8280 (simulated)", microcode=0x5003604, l3_kib=39424,
    tsc_hz=2_700_000_000, crystal=(2, 216, 0), core_types=(
        replace(_GOLDEN_COVE, base_mhz=2700, min_mhz=1000, max_mhz=4000,
                bins=((2, 4000), (4, 3800), (8, 3700), (12, 3500), (20, 3300), (28, 3300)), ipc=0.8, l1d=32, l2=1024,
                events="skylake", counters=4, fixed=3, idle=_SKYLAKE_IDLE),
    ),
    blocks=(Block(28, 0, 1, 28),), power=replace(_XEON_POWER, tdp=205.0, pl2=246.0), memory_gib=384, memory_channels=6,
    memory_mts=2933, tiers="", flags=_without(SERVER_FLAGS, "amx_", "avx512_bf16", "avx512_fp16", "avx512_vbmi2"),
)  # fmt: skip
_FOREST = replace(
    _SAPPHIRE, name="forest-1s", summary="Intel server of efficiency cores, 144 in modules of four, 144 CPUs",
    model=0xAF, stepping=3, model_name="Intel(R) Xeon(R) 6780E (simulated)", microcode=0x3000341, packages=1,
    tsc_hz=2_200_000_000, crystal=(2, 176, 25_000_000), l3_kib=110592, core_types=(_FOREST_CORE,),
    blocks=(Block(144, 0, 4, 144),), power=replace(_XEON_POWER, tdp=330.0, pl2=400.0), module_register=True,
    fabric_clusters=4,
    psys_unit=0.0, memory_gib=512, memory_mts=6400,
    flags=_without(SERVER_FLAGS, "amx_", "avx512") + " avx_vnni avx_vnni_int8",
)  # fmt: skip
_GRANITE = replace(
    _SAPPHIRE, name="granite-2s", summary="two-package Intel server with 12 channels of MRDIMM, 2 x 72 cores, "
    "SMT 2, 288 CPUs", model=0xAD, stepping=1, model_name="Intel(R) Xeon(R) 6960P (simulated)",
    microcode=0x10003A2, l3_kib=442368, tsc_hz=2_700_000_000, crystal=(2, 216, 25_000_000),
    core_types=(
        replace(
            _GOLDEN_COVE,
            base_mhz=2700,
            max_mhz=3900,
            bins=((16, 3900), (32, 3800), (48, 3700), (72, 3600)),
            l1i=64,
        ),
    ),
    blocks=(Block(72, 0, 1, 72),), power=replace(_XEON_POWER, tdp=500.0, pl2=600.0), fabric_clusters=5,
    memory_gib=1536, memory_channels=12, memory_mts=8800,
)  # fmt: skip
_ARROW = replace(
    _LAPTOP, name="laptop-arrow", summary="hybrid Intel laptop without SMT: 6 P, 8 E, 2 LP-E of their own PMU, 16 CPUs",
    model=0xC5, stepping=2, model_name="Intel(R) Core(TM) Ultra 7 255H (simulated)", microcode=0x119,
    core_types=(
        replace(_P_CORE, threads=1, events="lion-cove", l2=3072),
        replace(_E_CORE, events="skymont", l2=4096),
        replace(_LP_CORE, pmu="cpu_lowpower"),
    ),
)  # fmt: skip
_BIG = replace(
    _SAPPHIRE, name="big-8s", summary="eight-package Intel server, 8 x 64 cores, SMT 2, 1024 CPUs", model=0xCF,
    stepping=2, model_name="Intel(R) Xeon(R) Platinum 8592+ (simulated)", microcode=0x21000283, packages=8,
    core_types=(
        replace(
            _GOLDEN_COVE,
            base_mhz=1900,
            max_mhz=3900,
            bins=((8, 3900), (16, 3700), (24, 3500), (32, 3400), (40, 3300), (48, 3200), (56, 3000), (64, 2900)),
        ),
    ),
    blocks=(Block(64, 0, 1, 64),), l3_kib=327680, tsc_hz=1_900_000_000, crystal=(2, 152, 25_000_000), step=0.25,
    memory_gib=8192, memory_mts=5600,
)  # fmt: skip
_GRACE = MachineShape(
    name="grace-2s", summary="two-package Arm server with NVIDIA's first uncore, 2 x 72 cores, 144 CPUs", isa=Isa.ARM,
    vendor="ARM", family=0x41, model=0xD4F, stepping=0, model_name="Neoverse-V2", microcode=0, packages=2,
    nodes_per_package=1, siblings_last=True, l3_kib=116736, tsc_hz=1_000_000_000, crystal=(0, 0, 0),
    core_types=(_NEOVERSE_V2,), blocks=(Block(72, 0, 1, 72),), schedule=SERVER, power=_GRACE_POWER, step=0.1,
    driver="cppc_cpufreq", governor="ondemand", governors="conservative ondemand userspace powersave performance "
    "schedutil", idle_driver="acpi_idle", nvidia="grace", flags=ARM_FLAGS, memory_gib=480,
    around=OtherDevices(meter_ms=1000),
)  # fmt: skip
_VERA = replace(
    _GRACE, name="vera-2s", summary="two-package Arm server with the Tegra410 uncore, 2 x 88 cores, SMT 2, 352 CPUs",
    family=0x4E, model=0x010, model_name="NVIDIA Olympus", core_types=(_OLYMPUS,), blocks=(Block(88, 0, 1, 88),),
    l3_kib=166912, nvidia="t410", memory_gib=1536,
)  # fmt: skip
_MESH = replace(
    _GRACE, name="neoverse-2s", summary="two-package Arm server with a CMN-600 mesh, 2 x 64 cores in clusters of 4, "
    "128 CPUs", model=0xD0C, stepping=1, model_name="Neoverse-N1", core_types=(_NEOVERSE_N1,),
    blocks=(Block(64, 0, 1, 4),), l3_kib=2048, tsc_hz=25_000_000, nvidia="", mesh="cmn-600", memory_gib=512,
    memory_channels=8, memory_mts=3200,
    around=OtherDevices(), flags=_without(ARM_FLAGS, "sve", "bf16", "i8mm"),
)  # fmt: skip
_CREATOR = replace(
    _LAPTOP, name="laptop-gpu", summary="hybrid Intel laptop on battery with a graphics card, an NPU and fans, 22 CPUs",
    around=OtherDevices(card_watts=34.0, npu=True, battery_joules=80.0 * 3600, fans=2),
)
_SUPPLIED = replace(
    _SAPPHIRE, name="server-psu", summary="one-package Intel server with HBM, two power supplies and a psys that does "
    "not count all, 32 CPUs", model_name="Intel(R) Xeon(R) CPU Max (simulated)", packages=1, tiers="hbm",
    blocks=(Block(16, 0, 1, 16),), l3_kib=38400, memory_gib=256, power=replace(_XEON_POWER, tdp=185.0, pl2=222.0),
    around=OtherDevices(supplies=2, fans=4, psys_share=0.15),
)
_GUEST = MachineShape(
    name="guest", summary="virtual machine with 4 CPUs and almost no counters", isa=Isa.AMD,
    vendor="AuthenticAMD", family=26, model=0x02, stepping=1, model_name="AMD EPYC (simulated)", microcode=0x1000065,
    packages=1, nodes_per_package=1, siblings_last=True, l3_kib=32768, tsc_hz=2_600_000_000, crystal=(0, 0, 0),
    core_types=(_VCPU,), blocks=(Block(4, 0, 1, 4),), schedule=GUEST, power=_GUEST_POWER, step=0.05,
    idle_driver="haltpoll", idle_governor="haltpoll", hypervisor=True, steal=STEAL, flags=GUEST_FLAGS, memory_gib=16,
)  # fmt: skip

SHAPES: Final[Mapping[str, MachineShape]] = MappingProxyType(
    {
        shape.name: shape
        for shape in (_SAPPHIRE, _ICELAKE, _CASCADE, _TURIN, _GENOA, _LAPTOP, _ARROW, _KABY, _CREATOR, _GRACE, _VERA,
                      _MESH, _FOREST, _GRANITE, _SUPPLIED, _BIG, _GUEST)
    }
)
"""The simulated machines by the word that names them on the command line."""
