"""cpufreq in sysfs: the frequency that the kernel set or saw, its limits, and its governor.

Files: kernel Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst and amd-pstate.rst in the same folder. All
frequencies are in kHz, except those under acpi_cppc, which are in MHz (Documentation/admin-guide/acpi/cppc_sysfs.rst).
"""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import PerCpuSource
from turbotui.sources.source import Probe, Reader
from turbotui.sources.sysfs_files import CPU_DIR, Decode, FileReader, ValueFile, number, read_line, text
from turbotui.sources.unreadable import may_pass, unreadable

_DOCUMENT = "kernel Documentation/admin-guide/pm/cpufreq.rst"
_HERTZ = 1000.0  # raw values are kHz (cpufreq.rst, "Policy Interface in sysfs")
_LOOKS = 16  # CPUs without a file after which the driver is taken to lack it
_SLOW_NS = 1_000_000  # time from which a reading is mentioned


def _megahertz(data: bytes) -> int | None:
    """MHz as kHz; firmware that does not know the frequency reports 0."""
    value = number(data)
    return value * 1000 if value else None


@dataclass(frozen=True, slots=True)
class _Fact:
    """One signal and the files that may contain it, best first."""

    signal: SignalId
    files: tuple[tuple[str, Decode], ...]  # below the CPU's directory, each with its conversion to kHz (or text)
    once: bool = False  # whether it is constant while a reader is open
    missing: str = ""  # what a machine lacks that has none of the files

    @property
    def is_text(self) -> bool:
        return self.files[0][1] is text


_FACTS: tuple[_Fact, ...] = (
    _Fact("cpufreq.cur", (("cpufreq/scaling_cur_freq", number), ("cpufreq/cpuinfo_cur_freq", number))),
    _Fact("cpufreq.min", (("cpufreq/scaling_min_freq", number),)),
    _Fact("cpufreq.max", (("cpufreq/scaling_max_freq", number),)),
    _Fact("cpufreq.hw_min", (("cpufreq/cpuinfo_min_freq", number),), once=True),
    _Fact("cpufreq.hw_max", (("cpufreq/cpuinfo_max_freq", number),), once=True),
    _Fact(
        "cpufreq.base",
        (("cpufreq/base_frequency", number), ("acpi_cppc/nominal_freq", _megahertz)),
        once=True,
        missing="only intel_pstate and ACPI CPPC firmware give a base frequency",
    ),
    _Fact("cpufreq.driver", (("cpufreq/scaling_driver", text),)),
    _Fact("cpufreq.governor", (("cpufreq/scaling_governor", text),)),
    _Fact(
        "cpufreq.epp",
        (("cpufreq/energy_performance_preference", text),),
        missing="only intel_pstate and amd-pstate in active mode, on processors with HWP or CPPC, have a preference",
    ),
)


class Cpufreq(PerCpuSource):
    """The `Source` of the cpufreq directories."""

    id = "cpufreq"

    def probe(self, machine: Machine) -> Probe:
        """Read each file on CPUs with a policy until one has it, and time the reading of the frequency."""
        host = machine.host
        cpu = next((cpu for cpu in machine.topology.cpus
                    if machine.host.exists(f"{CPU_DIR.format(cpu=cpu)}/cpufreq/scaling_driver")), None)
        if cpu is None:
            return Probe(dict.fromkeys((fact.signal for fact in _FACTS), _absent(machine)))
        cpus = machine.topology.cpus[machine.topology.cpus.index(cpu):]
        doubtful: set[SignalId] = set()
        signals = {fact.signal: _probed(host, cpus, fact, doubtful) for fact in _FACTS}
        return Probe(signals, _timed(host, cpu), frozenset(doubtful))

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One for each value that changes, on each reading CPU."""
        return readers * sum(not fact.once for fact in _FACTS if fact.signal in wanted)

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the wanted files of one CPU; a file that this CPU lacks reads None.

        The hardware limits and the base frequency are read here and never again.
        """
        directory = CPU_DIR.format(cpu=cpu)
        files = []
        for fact in _FACTS:
            if fact.signal in wanted:
                name, decode = _chosen(machine.host, directory, fact)
                files.append(ValueFile(fact.signal, (f"{directory}/{name}",), decode, fact.once))
        return FileReader(machine.host, cpu, files, inside_cpu=True)


def _chosen(host: Host, directory: str, fact: _Fact) -> tuple[str, Decode]:
    """The first existing file of a fact; the first of all if none exists."""
    return next((file for file in fact.files if host.exists(f"{directory}/{file[0]}")), fact.files[0])


def _probed(host: Host, cpus: Sequence[int], fact: _Fact, doubtful: set[SignalId]) -> Signal | Unavailable:
    """The signal if a CPU has its file; one whose reading failed everywhere is added to `doubtful` if it may work."""
    refused: tuple[HostError, str] | None = None
    absent, unsaid = 0, ""
    for cpu in cpus:
        directory = CPU_DIR.format(cpu=cpu)
        name, decode = _chosen(host, directory, fact)
        path = f"{directory}/{name}"
        if not host.exists(path):
            absent += 1
            if absent == _LOOKS and refused is None and not unsaid:
                break
            continue
        try:
            value = decode(host.read_text(path).encode())
        except HostError as error:
            refused = refused or (error.with_traceback(None), name)
            continue
        if value is not None or not fact.once:
            return _signal(fact, name)
        unsaid = unsaid or path
    if refused is not None:
        if not may_pass(refused[0], host):
            return unreadable(refused[0])
        doubtful.add(fact.signal)
        return _signal(fact, refused[1])
    if unsaid:
        return Unavailable(Reason.FAILED, f"{unsaid}: the firmware does not say")
    detail = f"{CPU_DIR.format(cpu=cpus[0])}/{fact.files[0][0]}: the driver does not have the file"
    return Unavailable(Reason.NO_DRIVER, f"{detail} ({fact.missing})" if fact.missing else detail)


def _signal(fact: _Fact, name: str) -> Signal:
    is_text = fact.is_text
    return Signal(fact.signal, Scope.CPU, Unit.TEXT if is_text else Unit.HERTZ, Behavior.GAUGE,
                  Reduce.SAME if is_text else Reduce.MEAN, origin=f"{CPU_DIR}/{name}", document=_DOCUMENT,
                  scale=1.0 if is_text else _HERTZ)


def _timed(host: Host, cpu: int) -> str:
    """Time one read of the current frequency, because some drivers ask the hardware or wait to measure."""
    path = f"{CPU_DIR.format(cpu=cpu)}/cpufreq/scaling_cur_freq"
    driver = read_line(host, f"{CPU_DIR.format(cpu=cpu)}/cpufreq/scaling_driver") or "unknown"
    started = host.now_ns()
    if read_line(host, path) is None:
        return f"driver {driver}"
    took = host.now_ns() - started
    slow = "; cpufreq.cur is slow on this machine" if took >= _SLOW_NS else ""
    return f"driver {driver}; reading scaling_cur_freq of one CPU took {took / 1e3:.0f} µs{slow}"


def _absent(machine: Machine) -> Unavailable:
    directory = "/sys/devices/system/cpu/cpu*/cpufreq"
    if machine.model.hypervisor:
        return Unavailable(
            Reason.VIRTUALISED, f"{directory} is not there: guests are shown no policy; the hypervisor sets clocks")
    return Unavailable(Reason.NO_DRIVER, f"{directory} is not there: no frequency driver is bound to these CPUs",
                       "modprobe acpi-cpufreq (or amd-pstate, cppc_cpufreq), or enable P-states in the firmware setup")
