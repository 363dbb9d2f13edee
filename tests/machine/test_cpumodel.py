from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.machine.cpumodel import CpuModel, parse_cpu_model, read_cpu_model, short_name
from turbotui.machine.processors import ARM, processors

X86 = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480+
stepping\t: 8
microcode\t: 0x2b000643
cpu MHz\t\t: 2000.000
flags\t\t: fpu lm aperfmperf hwp constant_tsc

processor\t: 1
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
flags\t\t: fpu lm hypervisor
"""

GB10 = """processor\t: 0
BogoMIPS\t: 2000.00
Features\t: fp asimd sve2
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd87
CPU revision\t: 1

processor\t: 1
Features\t: fp asimd sve2
CPU implementer\t: 0x41
CPU part\t: 0xd85

processor\t: 2
Features\t: fp asimd sve2
CPU implementer\t: 0x41
CPU part\t: 0xd87
"""

OLYMPUS = """processor\t: 0
Features\t: fp asimd sve2
CPU implementer\t: 0x4e
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0x010
"""

OLD_ARM = """Processor\t: ARMv7 Processor rev 0 (v7l)
processor\t: 0
BogoMIPS\t: 996.14

processor\t: 1
BogoMIPS\t: 996.14

Features\t: swp half thumb vfp neon
CPU implementer\t: 0x41
CPU architecture: 7
CPU variant\t: 0x3
CPU part\t: 0xc09
"""

S390 = """vendor_id       : IBM/S390
# processors    : 2
bogomips per cpu: 14367.00
features\t: esan3 zarch stfle
processor 0: version = 00,  identification = 279F25,  machine = 2817
processor 1: version = 00,  identification = 279F25,  machine = 2817
"""

POWER = """processor\t: 0
cpu\t\t: POWER9, altivec supported
clock\t\t: 2300.000000MHz
revision\t: 2.3 (pvr 004e 1203)

timebase\t: 512000000
platform\t: PowerNV
model\t\t: 9006-22P
"""

RISCV = """processor\t: 0
hart\t\t: 1
isa\t\t: rv64imafdc_zicntr_zicsr_zba
mmu\t\t: sv39
uarch\t\t: sifive,u74-mc
mvendorid\t: 0x489
"""


def test_x86() -> None:
    model = parse_cpu_model(X86)
    assert model == CpuModel(
        architecture="x86_64",
        vendor="GenuineIntel",
        family=6,
        model=143,
        stepping=8,
        name="Intel(R) Xeon(R) Platinum 8480+",
        microcode="0x2b000643",
        flags=frozenset({"fpu", "lm", "aperfmperf", "hwp", "constant_tsc"}),
        mhz=2000.0,
    )
    assert model.title == "Xeon Platinum 8480+"


def test_the_hypervisor_flag_is_read() -> None:
    assert parse_cpu_model(X86.replace("fpu lm aperfmperf", "fpu lm hypervisor")).hypervisor


def test_all_kinds_of_arm_core_are_named() -> None:
    model = parse_cpu_model(GB10)
    assert (model.architecture, model.vendor, model.implementer, model.part) == ("aarch64", "Arm", 0x41, 0xD87)
    assert model.title == "Cortex-A725 + Cortex-X925"
    assert "sve2" in model.flags


def test_olympus() -> None:
    model = parse_cpu_model(OLYMPUS)
    assert (model.vendor, model.name, model.title) == ("NVIDIA", "Olympus", "Olympus")


def test_an_unknown_arm_part_is_named_by_its_numbers() -> None:
    model = parse_cpu_model(OLYMPUS.replace("0x010", "0x0ff").replace("0x4e", "0x3f"))
    assert model.name == "implementer 0x3f part 0x0ff"


def test_a_32_bit_arm_kernel_that_names_the_core_once() -> None:
    model = parse_cpu_model(OLD_ARM)
    assert (model.architecture, model.name) == ("arm", "Cortex-A9")
    assert "neon" in model.flags


def test_s390() -> None:
    model = parse_cpu_model(S390)
    assert (model.architecture, model.vendor, model.title) == ("s390x", "IBM/S390", "IBM 2817")
    assert "zarch" in model.flags


def test_power() -> None:
    model = parse_cpu_model(POWER)
    assert (model.architecture, model.vendor, model.title, model.mhz) == ("ppc64", "IBM", "POWER9", 2300.0)
    assert not model.hypervisor
    assert parse_cpu_model(POWER.replace("PowerNV", "pSeries")).hypervisor


def test_riscv() -> None:
    model = parse_cpu_model(RISCV)
    assert (model.architecture, model.title) == ("riscv64", "sifive,u74-mc")
    assert {"i", "m", "c", "zicsr"} <= model.flags


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", "Xeon E5-2680 v4"),
        ("13th Gen Intel(R) Core(TM) i7-1370P", "Core i7-1370P"),
        ("Intel(R) Core(TM) Ultra 7 155H", "Core Ultra 7 155H"),
        ("AMD EPYC 9755 128-Core Processor", "EPYC 9755"),
        ("AMD Ryzen 7 PRO 4750U with Radeon Graphics", "Ryzen 7 PRO 4750U"),
        ("AMD Ryzen Threadripper PRO 7995WX 96-Cores", "Ryzen Threadripper PRO 7995WX"),
        ("Hygon C86 7285 32-core Processor", "C86 7285"),
        ("Neoverse-V2", "Neoverse-V2"),
        ("AMD", "AMD"),
        ("", ""),
    ],
)
def test_marketing_is_left_out_of_the_title(name: str, short: str) -> None:
    assert short_name(name) == short


def test_nothing_to_read_is_an_empty_model() -> None:
    assert read_cpu_model(TreeHost({})) == CpuModel()
    assert read_cpu_model(TreeHost({}, errors={"/proc/cpuinfo": errno.EACCES})).title == "unknown CPU"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/sys/hypervisor/type", "xen\n"),
        ("/sys/class/dmi/id/product_name", "KVM Virtual Machine\n"),
        ("/proc/device-tree/hypervisor/compatible", "linux,kvm\0"),
    ],
)
def test_a_guest_whose_cpuinfo_does_not_say_so(path: str, text: str) -> None:
    assert read_cpu_model(TreeHost({"/proc/cpuinfo": GB10, path: text})).hypervisor
    assert not read_cpu_model(TreeHost({"/proc/cpuinfo": GB10})).hypervisor


def test_a_partition_of_a_mainframe_is_under_a_hypervisor() -> None:
    sysinfo = "Manufacturer:         IBM\nLPAR Number:          17\n"
    assert read_cpu_model(TreeHost({"/proc/cpuinfo": S390, "/proc/sysinfo": sysinfo})).hypervisor
    assert not read_cpu_model(TreeHost({"/proc/cpuinfo": S390})).hypervisor


@given(
    st.lists(
        st.sampled_from([*X86.splitlines(), *GB10.splitlines(), *S390.splitlines(), *RISCV.splitlines(), "x:", ":"])
    )
)
def test_no_cpuinfo_makes_it_fail(lines: list[str]) -> None:
    assert parse_cpu_model("\n".join(lines)).title


def test_arm_cores_have_known_implementers() -> None:
    rows = processors(ARM)
    assert {key.partition("-")[0] for key in rows} <= rows.keys()
    assert rows["0x41-0xd4f"].name == "Neoverse-V2"
    assert rows["0x4e-0x010"].name == "Olympus"
