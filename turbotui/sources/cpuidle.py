"""cpuidle in sysfs: how often and how long the kernel requested each idle state, and how well it chose.

Files: kernel Documentation/admin-guide/pm/cpuidle.rst, "Representation of Idle States", and
    Documentation/ABI/testing/sysfs-devices-system-cpu. These are requests; residency counters show what the hardware
    achieved. A state's usage and time grow when the CPU leaves the state, so a CPU that sleeps through an interval
    shows its time in the interval in which it wakes.
"""

from __future__ import annotations

import re

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.kernel_build import boot_word, build_option, no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.quantities.plain_numbers import integer, whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import CPU_DIR, FileReader, ValueFile, read_line

_DRIVER = "/sys/devices/system/cpu/cpuidle/current_driver"
_DOCUMENT = "kernel Documentation/admin-guide/pm/cpuidle.rst"
_LOOKS = 16  # CPUs that are asked for a number that is the same on all of a kind
_STATE = re.compile(r"state([0-9]{1,9})")
_SIGNAL = re.compile(r"cpuidle\.([0-9]{1,9})\.(usage|time|above|below|rejected|latency)")


@dataclass(frozen=True, slots=True)
class _Fact:
    """One file of a state's directory."""

    file: str  # its name, and also the last part of the signal's id
    unit: Unit  # of the signal
    reduce: Reduce  # of the signal
    scale: float = 1.0  # from the file's unit to the signal's
    since: str = "2.6.24"  # the Linux release that introduced it


_FACTS: tuple[_Fact, ...] = (
    _Fact("usage", Unit.COUNT, Reduce.SUM),
    _Fact("time", Unit.SECOND, Reduce.MEAN, 1e-6),  # microseconds (cpuidle.rst)
    _Fact("above", Unit.COUNT, Reduce.SUM, since="5.0"),  # sysfs-devices-system-cpu: January 2019
    _Fact("below", Unit.COUNT, Reduce.SUM, since="5.0"),  # as above
    _Fact("rejected", Unit.COUNT, Reduce.SUM, since="5.10"),  # sysfs-devices-system-cpu: September 2020
)


def short_name(name: str) -> str:
    """A state's name in columns: the part before the first "-", without underscores (docs/specs/turbostat.md 2.7).

    "C1-HSW" is C1, "C1_ACPI" is C1ACPI, and "haltpoll idle" is unchanged.
    """
    return name.strip().partition("-")[0].replace("_", "")


@dataclass(frozen=True, slots=True)
class _State:
    """An idle state as the first CPU with it shows it."""

    index: int
    cpu: int
    name: str
    files: frozenset[str]


def _states(host: Host, cpus: tuple[int, ...]) -> dict[int, _State]:
    """The states of all CPUs by index; hybrids have different lists for their kinds of core."""
    states: dict[int, _State] = {}
    for cpu in cpus:
        directory = f"{CPU_DIR.format(cpu=cpu)}/cpuidle"
        for entry in names_in(host, directory):
            if (match := _STATE.fullmatch(entry)) is None:
                continue
            index = integer(match[1])
            known = states.get(index)
            if known is not None and known.name != entry:
                continue
            try:
                files = frozenset(host.list_dir(f"{directory}/{entry}"))
            except HostError:
                continue
            name = read_line(host, f"{directory}/{entry}/name")
            if known is None or name is not None:  # a name that could not be read may be read on another CPU
                states[index] = _State(index, cpu, entry if name is None else short_name(name), files)
    return dict(sorted(states.items()))


class Cpuidle(PerCpuSource):
    """The `Source` of the cpuidle directories."""

    id = "cpuidle"

    def probe(self, machine: Machine) -> Probe:
        """List the states of all measured CPUs; nothing is kept open."""
        states = _states(machine.host, machine.topology.cpus)
        if not states:
            ids = (*(f"cpuidle.0.{fact.file}" for fact in _FACTS), "cpuidle.0.name")
            return Probe(dict.fromkeys(ids, _absent(machine)))
        signals: dict[SignalId, Signal | Unavailable] = {}
        for index, state in states.items():
            directory = f"{CPU_DIR}/cpuidle/state{index}"
            for fact in _FACTS:
                signal = f"cpuidle.{index}.{fact.file}"
                if fact.file in state.files:
                    signals[signal] = Signal(signal, Scope.CPU, fact.unit, Behavior.COUNTER, fact.reduce,
                                             origin=f"{directory}/{fact.file}", document=_DOCUMENT, scale=fact.scale)
                else:
                    signals[signal] = Unavailable(Reason.NO_DRIVER,
                        f"{directory.format(cpu=state.cpu)}/{fact.file}: this kernel does not have the file",
                        f"use Linux {fact.since} or later")
            signals[f"cpuidle.{index}.name"] = Signal(f"cpuidle.{index}.name", Scope.SYSTEM, Unit.TEXT,
                Behavior.CONSTANT, Reduce.SAME, origin=f"{directory.format(cpu=state.cpu)}/name", document=_DOCUMENT,
                constant=state.name)
            signals[f"cpuidle.{index}.latency"] = _latency(machine, state)
        driver = read_line(machine.host, _DRIVER)
        return Probe(signals, f"driver {driver}" if driver else "")

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each counter of each reading CPU; names take none."""
        return readers * sum(_SIGNAL.fullmatch(signal) is not None for signal in wanted)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the wanted counters of one CPU; a counter that this CPU's list of states lacks reads None."""
        files = [ValueFile(match[0], (f"{CPU_DIR.format(cpu=cpu)}/cpuidle/state{match[1]}/{match[2]}",))
                 for match in filter(None, map(_SIGNAL.fullmatch, sorted(wanted)))]
        return FileReader(machine.host, cpu, files, inside_cpu=True)


def _latency(machine: Machine, state: _State) -> Signal | Unavailable:
    """The maximum time to leave a state, according to its driver: of each CPU where kinds of core differ."""
    directory, signal = f"{CPU_DIR}/cpuidle/state{state.index}", f"cpuidle.{state.index}.latency"
    first = f"{directory.format(cpu=state.cpu)}/latency"
    kinds = _one_of_each_kind(machine)
    text = next((text for cpu in (state.cpu, *machine.topology.cpus[:_LOOKS], *kinds)
                 if (text := read_line(machine.host, f"{directory.format(cpu=cpu)}/latency")) is not None), None)
    microseconds = None if text is None else whole_number(text)
    if text is None or microseconds is None:
        return Unavailable(Reason.NO_DRIVER, f"{first}: the idle driver does not say it")
    others = (read_line(machine.host, f"{directory.format(cpu=cpu)}/latency") for cpu in kinds)
    if any(other is not None and other.strip() != text.strip() for other in others):
        return Signal(signal, Scope.CPU, Unit.SECOND, Behavior.GAUGE, Reduce.SAME, origin=f"{directory}/latency",
                      document=_DOCUMENT, scale=1e-6)
    return Signal(signal, Scope.SYSTEM, Unit.SECOND, Behavior.CONSTANT, Reduce.SAME, origin=first, document=_DOCUMENT,
                  scale=1e-6, constant=microseconds)


def _one_of_each_kind(machine: Machine) -> tuple[int, ...]:
    """Return the first CPU of each core type, because CPUs of one type have the same table of idle states."""
    places = machine.topology.places
    kinds = {places[cpu].core_type: cpu for cpu in reversed(machine.topology.cpus)}
    return tuple(sorted(kinds.values()))


_WITHOUT_IDLE = (r"idle=(?:poll|halt|nomwait)", r"cpuidle\.off=(?:1|y|Y)", r"intel_idle\.max_cstate=0",
                 r"processor\.max_cstate=0")
"""Boot parameters that disable idle drivers (kernel Documentation/admin-guide/pm/cpuidle.rst)."""


def _absent(machine: Machine) -> Unavailable:
    if (driver := read_line(machine.host, _DRIVER)) is None:
        detail = f"no cpuidle in this kernel: {_DRIVER} is not there"
    else:
        detail = f"no idle driver in this machine: {_DRIVER} says {driver}"
    if machine.model.architecture.startswith("s390"):
        return Unavailable(Reason.NO_DRIVER, f"{detail}; Linux on s390 idles without cpuidle")
    host = machine.host
    if build_option(host, "CPU_IDLE") == "n":
        return Unavailable(Reason.NO_DRIVER, f"{detail}: the kernel was built without it (CONFIG_CPU_IDLE is not set)",
                           "use a kernel with CONFIG_CPU_IDLE=y")
    if word := boot_word(host, *_WITHOUT_IDLE):
        return Unavailable(Reason.NO_DRIVER, f"{detail}: the kernel was booted with {word}", f"boot without {word}")
    if machine.model.hypervisor:
        remedy = "modprobe cpuidle-haltpoll gives a guest's idle states, on a KVM host"
        reason = no_driver(host, "cpuidle-haltpoll", "HALTPOLL_CPUIDLE", detail, remedy=remedy)
        return Unavailable(Reason.VIRTUALISED, reason.detail, reason.remedy)
    return Unavailable(Reason.NO_DRIVER, f"{detail}: no driver found idle states that it could use",
                       "enable C-states in the firmware setup, and see: dmesg | grep -i idle")
