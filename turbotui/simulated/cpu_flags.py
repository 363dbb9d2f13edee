"""The flags lines of /proc/cpuinfo of the simulated machines: what their parts have in common with the real ones."""

from __future__ import annotations

from typing import Final

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
