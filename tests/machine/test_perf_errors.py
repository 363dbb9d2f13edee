from __future__ import annotations

import errno
import gzip
import os
import sys
from pathlib import Path

import pytest

from turbotui.machine.calibration import tj_max
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import CAP_PERFMON, CAP_SYS_RAWIO, NOT_GATHERED, HostError, Privileges
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import (
    Circumstances,
    circumstances,
    explain_cpuid_open,
    explain_msr_open,
    explain_msr_read,
    explain_perf,
)
from turbotui.machine.platforms import platform_of
from turbotui.machine.topology import CpuPlace, topology_of
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_stat import ProcStat

NOBODY = Privileges(1000, 0, 2, (1024, 4096))
ROOT = Privileges(0, 1 << CAP_PERFMON | 1 << CAP_SYS_RAWIO, 2, (4096, 4096))


def facts(
    privileges: Privileges = ROOT, *, guest: bool = False, core_pmu: bool = True, config: str = "", x86: bool = True
) -> Circumstances:
    return Circumstances(privileges, guest, x86, core_pmu, config)


HARDWARE, SOFTWARE, DYNAMIC = 0, 1, 11


@pytest.mark.parametrize(
    ("number", "perf_type", "given", "reason", "detail", "remedy"),
    [
        (errno.EACCES, DYNAMIC, facts(NOBODY), Reason.NOT_PERMITTED, "perf_event_paranoid is 2", "paranoid=0"),
        (errno.EACCES, DYNAMIC, facts(NOBODY), Reason.NOT_PERMITTED, "CAP_PERFMON", "setcap cap_perfmon+ep /"),
        (errno.EPERM, SOFTWARE, facts(ROOT), Reason.NOT_PERMITTED, "although", "seccomp"),
        (errno.EACCES, SOFTWARE, facts(Privileges(1, 0, 0, (1, 1))), Reason.NOT_PERMITTED, "although", "seccomp"),
        (errno.EACCES, SOFTWARE, facts(Privileges(1, 0, None, (1, 1))), Reason.NOT_PERMITTED, "refused", "root"),
        (errno.ENOENT, HARDWARE, facts(guest=True, core_pmu=False), Reason.VIRTUALISED, "no core PMU", "hypervisor"),
        (errno.ENOENT, HARDWARE, facts(core_pmu=False), Reason.NO_HARDWARE, "no core PMU driver", "dmesg"),
        (errno.ENOENT, HARDWARE, facts(), Reason.NO_HARDWARE, "no such event", ""),
        (errno.ENOENT, HARDWARE, facts(guest=True), Reason.VIRTUALISED, "does not count it", ""),
        (errno.ENOENT, DYNAMIC, facts(guest=True, core_pmu=False), Reason.NO_HARDWARE, "no such event", ""),
        (errno.EINVAL, DYNAMIC, facts(guest=True), Reason.VIRTUALISED, "does not offer it here", ""),
        (errno.EINVAL, DYNAMIC, facts(), Reason.NO_HARDWARE, "does not offer it here", ""),
        (errno.ENODEV, DYNAMIC, facts(), Reason.OFFLINE, "offline", "online"),
        (errno.EMFILE, DYNAMIC, facts(NOBODY), Reason.NO_DESCRIPTORS, "limit 1024, at most 4096", "ulimit -n 4096"),
        (errno.EMFILE, DYNAMIC, facts(ROOT), Reason.NO_DESCRIPTORS, "limit 4096, at most 4096", "show fewer columns"),
        (errno.EBUSY, HARDWARE, facts(), Reason.IN_USE, "another program", "profiler"),
        (errno.ENOSYS, HARDWARE, facts(), Reason.NOT_PERMITTED, "seccomp", "CONFIG_PERF_EVENTS=y"),
        (errno.EOPNOTSUPP, HARDWARE, facts(), Reason.NO_HARDWARE, "cannot count", ""),
        (errno.ENOMEM, HARDWARE, facts(), Reason.FAILED, "ENOMEM", ""),
    ],
)
def test_perf(  # noqa: PLR0917
    number: int, perf_type: int, given: Circumstances, reason: Reason, detail: str, remedy: str
) -> None:
    why = explain_perf(HostError(number, "x"), "perf msr/aperf/", given, perf_type)
    assert why.reason is reason
    assert why.detail.startswith("perf msr/aperf/: ")
    assert detail in why.detail
    assert remedy in why.remedy
    assert bool(remedy) == bool(why.remedy)


@pytest.mark.parametrize(
    ("number", "given", "reason", "detail", "remedy"),
    [
        (errno.ENOENT, facts(), Reason.NO_DRIVER, "not loaded", "modprobe msr"),
        (errno.ENOENT, facts(config="m"), Reason.NO_DRIVER, "not loaded", "modprobe msr"),
        (errno.ENOENT, facts(config="n"), Reason.NO_DRIVER, "CONFIG_X86_MSR is not set", "CONFIG_X86_MSR=m or y"),
        (errno.ENOENT, facts(config="y"), Reason.NO_DRIVER, "no such device file", "devtmpfs"),
        (errno.ENOENT, facts(x86=False), Reason.NO_HARDWARE, "x86 only", ""),
        (errno.EPERM, facts(NOBODY), Reason.NOT_PERMITTED, "CAP_SYS_RAWIO", "setcap cap_perfmon,cap_sys_rawio+ep /"),
        (errno.EPERM, facts(ROOT), Reason.NOT_PERMITTED, "although", "container"),
        (errno.EACCES, facts(NOBODY), Reason.NOT_PERMITTED, "file mode",
         """echo 'KERNEL=="msr[0-9]*", GROUP="GROUP", MODE="0440"' > /etc/udev/rules.d/70-msr.rules"""),
        (errno.EACCES, facts(NOBODY), Reason.NOT_PERMITTED, "file mode", "setcap cap_perfmon,cap_sys_rawio+ep /"),
        (errno.ENXIO, facts(), Reason.OFFLINE, "offline", "online"),
        (errno.EMFILE, facts(NOBODY), Reason.NO_DESCRIPTORS, "/dev/cpu/5/msr", "ulimit -n 4096"),
        (errno.EIO, facts(), Reason.FAILED, "EIO", ""),
    ],
)
def test_msr_open(number: int, given: Circumstances, reason: Reason, detail: str, remedy: str) -> None:
    why = explain_msr_open(HostError(number, "x"), 5, given)
    assert why.reason is reason
    assert detail in why.detail
    assert remedy in why.remedy
    assert bool(remedy) == bool(why.remedy)


@pytest.mark.parametrize(
    ("number", "given", "reason"),
    [
        (errno.EIO, facts(), Reason.NO_HARDWARE),
        (errno.EIO, facts(guest=True), Reason.VIRTUALISED),
        (errno.ENXIO, facts(), Reason.OFFLINE),
        (errno.EPERM, facts(), Reason.NOT_PERMITTED),
        (errno.EINVAL, facts(), Reason.FAILED),
    ],
)
def test_msr_read(number: int, given: Circumstances, reason: Reason) -> None:
    why = explain_msr_read(HostError(number, "x"), "MSR 0x611", given)
    assert why.reason is reason
    assert why.detail.startswith("MSR 0x611: ")


def found(root: str, architecture: str = "x86_64") -> Circumstances:
    model = CpuModel(architecture=architecture)
    topology = topology_of([CpuPlace(0, 0, 0, 0, 0, 0, 0)])
    return circumstances(Machine(LinuxHost(root), topology, model, platform_of(model), ROOT))


@pytest.mark.parametrize(
    ("pmu", "core"),
    [
        ("cpu", True),
        ("cpu_core", True),
        ("armv8_pmuv3_0", True),
        ("cpum_cf", True),
        ("msr", False),
        ("cstate_core", False),
    ],
)
def test_core_pmus_are_identified_by_name(tmp_path: Path, pmu: str, core: bool) -> None:
    (tmp_path / f"sys/bus/event_source/devices/{pmu}").mkdir(parents=True)
    assert found(str(tmp_path)).core_pmu is core


def test_the_kernel_configuration_decides_about_the_msr_driver(tmp_path: Path) -> None:
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    assert found(str(tmp_path)).config("MSR") == ""
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0\n")
    assert found(str(tmp_path)).config("MSR") == ""
    modules = tmp_path / "lib/modules/6.1.0"
    modules.mkdir(parents=True)
    (modules / "modules.builtin").write_text("kernel/fs/ext4.ko\n")
    (modules / "modules.dep").write_text("kernel/arch/x86/kernel/msr.ko.xz:\n")
    assert found(str(tmp_path)).config("MSR") == "m"
    (modules / "modules.builtin").write_text("kernel/arch/x86/kernel/msr.ko\n")
    assert found(str(tmp_path)).config("MSR") == "y"
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/config-6.1.0").write_text("CONFIG_X86_MSR=m\n")
    assert found(str(tmp_path)).config("MSR") == "m"
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"# CONFIG_X86_MSR is not set\n"))
    assert found(str(tmp_path)).config("MSR") == "n"
    (tmp_path / "proc/config.gz").write_bytes(b"not gzip")
    assert found(str(tmp_path)).config("MSR") == "m"
    assert found(str(tmp_path), "aarch64").config("MSR") == ""


@pytest.mark.parametrize(
    ("number", "config", "x86", "reason", "remedy"),
    [
        (errno.ENOENT, "", True, Reason.NO_DRIVER, "modprobe cpuid"),
        (errno.ENOENT, "n", True, Reason.NO_DRIVER, "use a kernel with CONFIG_X86_CPUID=m or y"),
        (errno.ENOENT, "", False, Reason.NO_HARDWARE, ""),
        (errno.EACCES, "", True, Reason.NOT_PERMITTED, "run as root"),
        (errno.EIO, "", True, Reason.FAILED, ""),
    ],
)
def test_cpuid_open(number: int, config: str, x86: bool, reason: Reason, remedy: str) -> None:
    why = explain_cpuid_open(HostError(number, "x"), 3, Circumstances(ROOT, False, x86, True, "", config))
    assert (why.reason, why.remedy) == (reason, remedy)


@pytest.mark.parametrize("rights", [NOBODY, Privileges(1000, 0, 3, (1, 1)), Privileges(1000, 0, None, (1, 1)),
                                    Privileges(1000, 0, -1, (1, 1)), Privileges(1000, 1 << CAP_SYS_RAWIO, 2, (1, 1))])
def test_no_remedy_gives_the_systems_interpreter_a_capability(rights: Privileges) -> None:
    """Every script of every user would have it (issue 11): a copy that a group may run is another thing."""
    refused = [explain_perf(HostError(errno.EACCES, "x"), "perf cycles", facts(rights), HARDWARE)]
    refused += [explain_msr_open(HostError(number, "x"), 0, facts(rights)) for number in (errno.EPERM, errno.EACCES)]
    for why in refused:
        assert os.path.realpath(sys.executable) not in why.remedy
        assert sys.executable not in why.remedy
        for line in why.remedy.split(" && "):
            if line.startswith("setcap "):
                assert line.split()[2] == "/opt/turbotui/bin/python3"
        if "setcap" in why.remedy:
            assert "venv --copies /opt/turbotui" in why.remedy
            assert "chmod 0750 /opt/turbotui/bin/python3" in why.remedy
            assert "whoever is in GROUP may" in why.remedy
    assert "sudo turbotui" in refused[0].remedy


def test_a_second_setcap_does_not_take_the_first_one_away() -> None:
    """setcap(8) replaces a file's capabilities: each line names what an earlier one gave."""
    with_registers = facts(Privileges(1000, 1 << CAP_SYS_RAWIO, 2, (1024, 4096)))
    why = explain_perf(HostError(errno.EACCES, "x"), "perf msr/aperf/", with_registers, DYNAMIC)
    assert "setcap cap_perfmon,cap_sys_rawio+ep /" in why.remedy


def test_a_copy_of_files_is_distinguished_from_a_machine_that_refuses(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    host = LinuxHost(str(tmp_path))
    model = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F,
                     flags=frozenset({"dtherm"}))  # fmt: skip
    topology = topology_of([CpuPlace(0, 0, 0, 0, 0, 0, 0)])
    given = circumstances(Machine(host, topology, model, platform_of(model), host.privileges()))
    perf = explain_perf(HostError(NOT_GATHERED, "x"), "perf cycles", given, HARDWARE)
    assert (perf.reason, perf.remedy) == (Reason.RECORDED, ""), "no seccomp profile would help"
    msr = explain_msr_open(HostError(errno.ENOENT, "x"), 0, given)
    assert (msr.reason, msr.remedy) == (Reason.RECORDED, ""), "no modprobe would help"
    stat = ProcStat().probe(Machine(host, topology, model, platform_of(model), host.privileges())).signals["stat.user"]
    assert isinstance(stat, Unavailable)
    assert (stat.reason, stat.remedy) == (Reason.RECORDED, "")
    tj = tj_max(Machine(host, topology, model, platform_of(model), host.privileges()), given)
    assert isinstance(tj, Unavailable), "what could not be asked is not guessed"
    assert tj.reason is Reason.RECORDED


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_root_of_a_user_namespace_is_not_told_to_become_root(number: int) -> None:
    contained = facts(Privileges(0, (1 << 41) - 1, 2, (1024, 4096), namespaces={"user": 4026532700}))
    for unavailable in (explain_perf(HostError(number, "x"), "perf x", contained, SOFTWARE),
                        explain_msr_open(HostError(errno.EPERM, "x"), 0, contained)):
        assert unavailable.reason is Reason.NOT_PERMITTED
        assert "namespace" in unavailable.detail
        assert "sudo" not in unavailable.remedy
