"""Reasons and remedies for refused counters and registers, by errno.

The meanings are those of perf_event_open(2) and of kernel/events/core.c, arch/x86/kernel/msr.c (Linux 6.12).

Remedies never give capabilities to the system's interpreter, because every script of every user would have them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import (
    CAP_PERFMON,
    CAP_SYS_ADMIN,
    CAP_SYS_RAWIO,
    NOT_GATHERED,
    Host,
    HostError,
    Privileges,
    is_bare_copy,
    msr_device,
)
from turbotui.machine.kernel_build import build_option
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import list_pmus
from turbotui.machine.view import CONTAINER_NUMBERS
from turbotui.quantities.unavailable import Reason, Unavailable

OR: Final = "; or "
"""Separates two ways of one remedy."""

SUDO: Final = "run as root: sudo turbotui (everything, for that run alone)"

PARANOID: Final = (
    "sysctl kernel.perf_event_paranoid=0 (until the next boot every user may count whole CPUs, and so see how busy the "
    "kernel and others' programs are)"
)

_OWN_USERS: Final = "refused, because root of this container's user namespace has no rights on the machine"
_OUTSIDE: Final = "run turbotui outside of the user namespace, on the machine itself"
_COPY: Final = "/opt/turbotui"
_CAPABILITIES: Final = ((CAP_PERFMON, "cap_perfmon"), (CAP_SYS_RAWIO, "cap_sys_rawio"))  # capabilities(7)
_OPENS: Final = {
    CAP_PERFMON: "count and sample everything that runs",
    CAP_SYS_RAWIO: "reach devices and memory past the kernel, which is as good as root",
}


def own_copy(rights: Privileges, *wanted: int) -> str:
    """The commands that give capabilities to a group, on a copy of the interpreter that only runs turbotui."""
    # setcap(8) replaces the set: what the process has already must be in it
    kept = [number for number, _name in _CAPABILITIES if number in wanted or rights.has(number)]
    names = ",".join(name for number, name in _CAPABILITIES if number in kept)
    opens = " and ".join(_OPENS[number] for number in kept)
    python = f"{_COPY}/bin/python3"
    return (
        f"for a GROUP a copy of Python for this program alone: python3 -m venv --copies {_COPY} && {python} -m pip "
        f"install turbotui && chgrp GROUP {python} && chmod 0750 {python} && setcap {names}+ep {python} (whoever is in "
        f"GROUP may run any Python with it: {opens})"
    )


def ways(*texts: str) -> str:
    """Several ways on one line, the narrowest first."""
    return OR.join(texts)


_CORE_TYPES = (0, 3, 4)  # PERF_TYPE_HARDWARE, HW_CACHE, RAW: answered by a core PMU (uapi linux/perf_event.h)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts of a machine that determine what an errno means."""

    privileges: Privileges  # of this process
    hypervisor: bool  # whether the machine is a guest
    x86: bool  # whether it can have model-specific registers
    core_pmu: bool  # whether sysfs lists a PMU of the cores
    # CONFIG_X86_MSR of the running kernel, "y", "m", "n"; "" if unknown; None to ask `host` on demand, because
    # unpacking a kernel's configuration takes milliseconds
    msr_config: str | None = None
    cpuid_config: str | None = None  # CONFIG_X86_CPUID, likewise
    host: Host | None = None  # the host to ask
    recorded: bool = False  # whether the machine is a bare copy of its files, in which only files can be opened
    own_devices: bool = False  # whether /dev is a container's own

    def config(self, driver: str) -> str:
        """CONFIG_X86_<driver>: "y", "m", "n"; "" if unknown."""
        if (known := {"MSR": self.msr_config, "CPUID": self.cpuid_config}.get(driver)) is not None:
            return known
        return "" if self.host is None or not self.x86 else build_option(self.host, f"X86_{driver}", driver.lower())


def circumstances(machine: Machine) -> Circumstances:
    """Gather the facts of a machine."""
    return Circumstances(privileges=machine.privileges, hypervisor=machine.model.hypervisor, x86=machine.model.x86,
                         core_pmu=any(is_core_pmu(name) for name in list_pmus(machine.host)), host=machine.host,
                         recorded=is_bare_copy(machine.host), own_devices=machine.view.own_devices)


def is_core_pmu(name: str) -> bool:
    """Whether a PMU counts on cores, by its name: cpu, cpu_core ..., armv8_*, apple_*, riscv*, cpum_cf of s390."""
    return name == "cpu" or name.startswith(("cpu_", "cpum_", "armv", "apple_", "riscv"))


OF_ONE_EVENT: Final = frozenset({errno.ENOENT, errno.EINVAL, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM})
"""Errors of perf_event_open(2) that may be due to the event itself, so that other events can be opened all the same."""


def explain_perf(error: HostError, what: str, facts: Circumstances, perf_type: int) -> Unavailable:
    """Why perf_event_open failed.

    Args:
        what: the event in perf's syntax, "perf msr/aperf/".
    """
    number = error.errno or 0
    if number == NOT_GATHERED:
        return Unavailable(Reason.RECORDED, f"{what}: nothing can be counted on a copy of a machine's files")
    if number in _WHATEVER_MACHINE:
        reason, words, remedy = _WHATEVER_MACHINE[number]
        return Unavailable(reason, f"{what}: {words}", remedy)
    if number in _NOT_COUNTED:
        return Unavailable(Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
                           f"{what}: {_NOT_COUNTED[number]}")
    if number in (errno.EACCES, errno.EPERM):
        return _refused(what, facts)
    if number == errno.ENOENT:
        return _unknown(what, facts, perf_type)
    return _descriptors(what, facts) if number == errno.EMFILE else _failed(what, error)


def explain_msr_open(error: HostError, cpu: int, facts: Circumstances) -> Unavailable:
    """Why /dev/cpu/N/msr could not be opened."""
    device = msr_device(cpu)
    if not facts.x86:
        return Unavailable(Reason.NO_HARDWARE, "model-specific registers exist on x86 only")
    if (missing := _missing_device(error, device, facts)) is not None:
        return missing
    explain = _MSR_OPEN.get(error.errno or 0)
    return _failed(device, error) if explain is None else explain(device, facts)


def explain_cpuid_open(error: HostError, cpu: int, facts: Circumstances) -> Unavailable:
    """Why /dev/cpu/N/cpuid could not be opened."""
    device = f"/dev/cpu/{cpu}/cpuid"
    if not facts.x86:
        return Unavailable(Reason.NO_HARDWARE, "CPUID exists on x86 only")
    if (missing := _missing_device(error, device, facts)) is not None:
        return missing
    if facts.privileges.renumbered:
        return of_container(device)
    if error.errno in (errno.EACCES, errno.EPERM):
        return Unavailable(Reason.NOT_PERMITTED, f"{device}: its file mode refuses this user", "run as root")
    return _failed(device, error)


def _missing_device(error: HostError, device: str, facts: Circumstances) -> Unavailable | None:
    """Why there is no such device; None if the error is another one."""
    if error.errno == NOT_GATHERED:
        return _not_gathered(device)
    if error.errno != errno.ENOENT:
        return None
    if facts.recorded:
        return Unavailable(Reason.RECORDED, f"{device}: not among the files that were copied")
    return _no_driver(device, os.path.basename(device), facts)


def explain_msr_read(error: HostError, what: str, facts: Circumstances) -> Unavailable:
    """Why a register could not be read."""
    if error.errno == NOT_GATHERED:
        return _not_gathered(what)
    if error.errno == errno.EIO:
        if facts.hypervisor:
            return Unavailable(Reason.VIRTUALISED, f"{what}: the hypervisor does not offer this register")
        return Unavailable(Reason.NO_HARDWARE, f"{what}: this CPU model has no such register")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return _offline(what, facts)
    if error.errno in (errno.EPERM, errno.EACCES):
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: reading it is refused",
                           "run as root and check the kernel's lockdown mode in /sys/kernel/security/lockdown")
    return _failed(what, error)


def _failed(what: str, error: HostError) -> Unavailable:
    return Unavailable(Reason.FAILED, f"{what}: {os.strerror(error.errno or 0)} ({error.name})")


def _offline(what: str, _facts: Circumstances) -> Unavailable:
    return Unavailable(Reason.OFFLINE, f"{what}: {_CPU_OFFLINE}", _BRING_ONLINE)


def _not_gathered(what: str) -> Unavailable:
    return Unavailable(Reason.RECORDED, f"{what}: not among what was gathered of the machine")


def of_container(what: str) -> Unavailable:
    """Why nothing is counted by a CPU's number in a container that has other numbers than the machine."""
    return Unavailable(Reason.HIDDEN, f"{what}: {CONTAINER_NUMBERS}, and the kernel counts by those of the machine",
                       "run turbotui on the machine itself")


def _refused(what: str, facts: Circumstances) -> Unavailable:
    if facts.privileges.renumbered:
        return of_container(what)
    rights, level = facts.privileges, facts.privileges.perf_paranoid
    if rights.contained("user"):
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: {_OWN_USERS}", ways(_OUTSIDE, PARANOID))
    if rights.has(CAP_PERFMON) or rights.has(CAP_SYS_ADMIN):
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: refused although this process has the capability",
            "allow perf_event_open in the container's seccomp profile, or in the security module's policy")
    copy = own_copy(rights, CAP_PERFMON)
    if level is None:
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: refused", ways(SUDO, copy))
    if level <= 0:
        return Unavailable(Reason.NOT_PERMITTED, f"{what}: refused although kernel.perf_event_paranoid is {level}",
                           ways("allow perf_event_open in the container's seccomp profile", SUDO, copy))
    return Unavailable(
        Reason.NOT_PERMITTED,
        f"{what}: kernel.perf_event_paranoid is {level}, and counting a whole CPU needs 0 or CAP_PERFMON",
        ways(SUDO, PARANOID, copy))


def _unknown(what: str, facts: Circumstances, perf_type: int) -> Unavailable:
    if perf_type in _CORE_TYPES and not facts.core_pmu:
        if facts.hypervisor:
            return Unavailable(Reason.VIRTUALISED, f"{what}: this virtual machine has no core PMU",
                               "give the guest a virtual PMU in the hypervisor's settings (KVM: -cpu host,pmu=on)")
        return Unavailable(
            Reason.NO_HARDWARE,
            f"{what}: the kernel has no core PMU driver for this CPU",
            "check that the firmware leaves the PMU on and read: dmesg | grep -i 'performance events'")
    if perf_type in _CORE_TYPES and facts.hypervisor:
        return Unavailable(Reason.VIRTUALISED, f"{what}: this virtual machine's PMU does not count it")
    return Unavailable(Reason.NO_HARDWARE, f"{what}: this PMU has no such event on this CPU")


def _descriptors(what: str, facts: Circumstances) -> Unavailable:
    soft, hard = facts.privileges.descriptors or (0, 0)
    return Unavailable(Reason.NO_DESCRIPTORS, f"{what}: no file descriptor left" + (f" (limit {soft}, at most {hard})"
        if hard else ""), f"ulimit -n {hard}, or show fewer columns" if soft < hard
        else "show fewer columns, or fewer CPUs with --cpu")


_CPU_OFFLINE, _BRING_ONLINE = "the CPU is offline", "bring the CPU online"
_WHATEVER_MACHINE: Final = {
    # errno of perf_event_open(2): the reason, what it means, and the remedy on every machine
    errno.ENODEV: (Reason.OFFLINE, _CPU_OFFLINE, _BRING_ONLINE),
    errno.ENXIO: (Reason.OFFLINE, _CPU_OFFLINE, _BRING_ONLINE),
    errno.ENFILE: (Reason.NO_DESCRIPTORS, "the system has no file descriptor left", "sysctl fs.file-max"),
    errno.EBUSY: (
        Reason.IN_USE, "another program holds the PMU for itself", "end the other profiler, then start again"),
    errno.ENOSYS: (
        Reason.NOT_PERMITTED,
        "there is no perf_event_open here (a seccomp filter, or a kernel without CONFIG_PERF_EVENTS)",
        "allow perf_event_open in the container's seccomp profile, or use a kernel with CONFIG_PERF_EVENTS=y",
    ),
    errno.ECANCELED: (  # machine.restricted
        Reason.NOT_READ, "perf is left alone, as --no-perf asks", "leave --no-perf out"),
}
_NOT_COUNTED: Final = {
    errno.EINVAL: "the kernel does not offer it here",
    errno.EOPNOTSUPP: "the PMU cannot count it this way",
}


def _no_driver(device: str, driver: str, facts: Circumstances) -> Unavailable:
    if facts.own_devices:
        return Unavailable(
            Reason.HIDDEN, f"{device}: the container or service has a /dev of its own, and not this device in it",
            f"run turbotui on the machine itself, or give the container the device (--device {device}, --privileged); "
            f"the machine needs the driver {driver}")
    config = facts.config(driver.upper())
    if config == "n":
        option = f"CONFIG_X86_{driver.upper()}"
        return Unavailable(
            Reason.NO_DRIVER,
            f"{device}: this kernel was built without the {driver} driver ({option} is not set)",
            f"use a kernel with {option}=m or y")
    if config == "y":
        return Unavailable(
            Reason.NO_DRIVER,
            f"{device}: the {driver} driver is in the kernel, but there is no such device file",
            "let the container have the device, or mount devtmpfs on /dev")
    return Unavailable(Reason.NO_DRIVER, f"{device}: the {driver} driver is not loaded", f"modprobe {driver}")


def _no_rawio(device: str, facts: Circumstances) -> Unavailable:
    if facts.privileges.contained("user"):
        return Unavailable(Reason.NOT_PERMITTED, f"{device}: {_OWN_USERS}", _OUTSIDE)
    if facts.privileges.renumbered:
        return of_container(device)
    if facts.privileges.has(CAP_SYS_RAWIO):
        return Unavailable(Reason.NOT_PERMITTED, f"{device}: refused although this process has CAP_SYS_RAWIO",
                           "allow the device in the container, or check the security module's policy")
    return Unavailable(
        Reason.NOT_PERMITTED,
        f"{device}: opening it needs CAP_SYS_RAWIO",
        # cap_perfmon too: a user who follows the remedies one by one keeps what perf needs
        ways(SUDO, f"{own_copy(facts.privileges, CAP_PERFMON, CAP_SYS_RAWIO)} and read permission on the device"))


def _no_mode(device: str, facts: Circumstances) -> Unavailable:
    kind = os.path.basename(device)  # msr or cpuid; udev(7) knows the devices as msr0, msr1 ...
    rule = f'KERNEL=="{kind}[0-9]*", GROUP="GROUP", MODE="0440"'
    lines = (
        f"let a GROUP of yours read it: echo '{rule}' > /etc/udev/rules.d/70-{kind}.rules && udevadm control --reload "
        f"&& udevadm trigger --subsystem-match={kind}"
    )
    if kind == "msr" and not facts.privileges.has(CAP_SYS_RAWIO):
        lines += f", and {own_copy(facts.privileges, CAP_PERFMON, CAP_SYS_RAWIO)}"
    return Unavailable(Reason.NOT_PERMITTED, f"{device}: its file mode refuses this user", ways(SUDO, lines))


_MSR_OPEN: Final[dict[int, Callable[[str, Circumstances], Unavailable]]] = {
    errno.EPERM: _no_rawio,
    errno.EACCES: _no_mode,
    errno.ENXIO: _offline,
    errno.ENODEV: _offline,
    errno.EMFILE: _descriptors,
}
