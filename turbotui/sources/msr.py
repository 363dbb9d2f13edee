"""The MSR device: registers that perf does not provide, read one by one and never written.

`turbotui.machine.registers` lists them. Each is tried alone, so a missing register costs one signal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from turbotui.dataclass import dataclass
from turbotui.machine.calibration import Constant, RaplUnits, package_limit, rapl_units, tj_max
from turbotui.machine.efficiency_cores import c6_counts_c7
from turbotui.machine.host import Host, HostError, msr_device
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, circumstances, explain_msr_open, explain_msr_read
from turbotui.machine.platform_features import PackageLimit
from turbotui.machine.pmus import read_pmu
from turbotui.machine.registers import (
    COUNTERS,
    NOTE,
    SETTINGS,
    Register,
    Scaling,
    decode,
    invented,
    invents_zeros,
    present_registers,
    registers_of,
)
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.bases import CachedSearch, PerCpuSource
from turbotui.sources.perf_power import domain_scope
from turbotui.sources.powercap import zone_scope
from turbotui.sources.source import Probe, raise_if_gone

_XEON_PHI_UNIT = 1024.0  # Knights Landing counts APERF and MPERF in 1024 cycles (docs/specs/turbostat.md 3.2)
_PACKAGE_ENERGY = "energy.pkg"


class MsrReader:
    """An open MSR device with the registers to read.

    Args:
        registers: several may be fields of one, which is then read once.
        less: address of a register -> address of the register that is subtracted from it.

    Raises:
        CpuGone: the CPU is offline.
        HostError: the device does not open.
    """

    def __init__(self, host: Host, cpu: int, registers: Sequence[Register],
                 less: Mapping[int, int] = MappingProxyType({})) -> None:
        self._host = host
        try:
            self._descriptor = host.open_file(msr_device(cpu))
        except HostError as error:
            raise_if_gone(error)
            raise
        self._registers = tuple((register.address, register.valid_bit) for register in registers)
        self.signals = tuple(register.signal for register in registers)
        addresses = [register.address for register in registers]
        self._less = {address: other for address, other in less.items() if address in addresses}
        self._addresses = tuple(dict.fromkeys((*addresses, *self._less.values())))

    def read(self) -> Sequence[Raw]:
        """The 64 bits of each register; None for one that cannot be read or is marked invalid."""
        read_at, descriptor = self._host.read_at, self._descriptor
        words: dict[int, int | None] = {}
        for address in self._addresses:
            try:
                words[address] = decode(read_at(descriptor, 8, address))
            except HostError as error:
                raise_if_gone(error)
                words[address] = None
        for address, other in self._less.items():
            word, deeper = words[address], words[other]
            words[address] = None if word is None or deeper is None else word - deeper
        values: list[Raw] = []
        for address, valid_bit in self._registers:
            word = words[address]
            values.append(None if word is None or (valid_bit >= 0 and not word >> valid_bit & 1) else word)
        return values

    def close(self) -> None:
        """Close the device."""
        self._host.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class _Scales:
    """Scale factors of this machine's registers, computed once."""

    units: RaplUnits | Unavailable
    tj_max: Constant
    limit: PackageLimit
    limit_origin: str
    package_scope: Scope
    energy_scope: Scope
    invented_zeros: bool


class Msr(PerCpuSource):
    """The MSR device of each CPU, for the registers of one table."""

    id = "msr"
    table = COUNTERS

    def __init__(self) -> None:
        self._search = CachedSearch(self._find)

    @property
    def registers(self) -> tuple[Register, ...]:
        """The rows of the table."""
        return registers_of(self.table)

    def probe(self, machine: Machine) -> Probe:
        """Read each register of this platform once, on the first CPU that would read it."""
        return self._search.look(machine)[0]

    def _find(self, machine: Machine) -> tuple[Probe, tuple[Register, ...]]:
        """The answer for every register, and the working ones."""
        facts = circumstances(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        cpu = machine.topology.cpus[0]
        try:
            descriptor = machine.host.open_file(msr_device(cpu))
        except HostError as error:
            why = explain_msr_open(error, cpu, facts)
            return Probe(dict.fromkeys((register.signal for register in self.registers), why)), ()
        try:
            usable = self._probe_registers(machine, descriptor, facts, signals)
        finally:
            machine.host.close(descriptor)
        for register in self.registers:
            if register.signal not in signals:
                signals[register.signal] = _not_on_this_model(machine, register, facts)
        notes = (machine.platform.note, NOTE if invents_zeros(machine.host, cpu) else "")
        return Probe(signals, "; ".join(note for note in notes if note)), usable

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """One device per reader, however many registers."""
        return readers if self._chosen(wanted) else 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> MsrReader:
        self._search.on(machine)
        less = self._less() if c6_counts_c7(machine, cpu) else {}
        return MsrReader(machine.host, cpu, self._chosen(wanted), less)

    def _less(self) -> dict[int, int]:
        """The C6 register that includes C7, and the C7 register, if both can be read."""
        by_signal = {register.signal: register.address for register in self._usable}
        deep, deeper = by_signal.get("cstate.core.c6"), by_signal.get("cstate.core.c7")
        return {} if deep is None or deeper is None else {deep: deeper}

    def _chosen(self, wanted: frozenset[SignalId]) -> list[Register]:
        return [register for register in self._usable if register.signal in wanted]

    @property
    def _usable(self) -> tuple[Register, ...]:
        return () if self._search.last is None else self._search.last[1]

    def _probe_registers(self, machine: Machine, descriptor: int, facts: Circumstances,
                         signals: dict[SignalId, Signal | Unavailable]) -> tuple[Register, ...]:
        """Try each register of this platform; answers go to `signals`, and the working registers are returned."""
        registers = present_registers(machine.platform, machine.model, self.registers)
        limit, origin = package_limit(machine, facts)
        scales = _Scales(
            units=rapl_units(machine, facts) if any(register.needs_units for register in registers) else _NO_ENERGY,
            tj_max=tj_max(machine, facts),
            limit=limit,
            limit_origin=origin,
            package_scope=_package_scope(machine),
            energy_scope=_energy_scope(machine),
            invented_zeros=invents_zeros(machine.host, machine.topology.cpus[0]),
        )
        usable = []
        for register in registers:
            answer = self._try(machine, descriptor, register, scales, facts)
            signals[register.signal] = answer
            if isinstance(answer, Signal):
                usable.append(register)
        package = signals.get(_PACKAGE_ENERGY)
        if isinstance(package, Unavailable):
            # A package that counts no energy has no energy counters worth believing (docs/specs/turbostat.md 2.5).
            for register in [register for register in usable if register.needs_units]:
                signals[register.signal] = Unavailable(package.reason,
                                                       f"{register.title}: off because {package.detail}")
                usable.remove(register)
        return tuple(usable)

    def _try(self, machine: Machine, descriptor: int, register: Register, scales: _Scales,
             facts: Circumstances) -> Signal | Unavailable:
        if register.limit is not None and scales.limit.rank < register.limit.rank:
            return Unavailable(
                Reason.NO_HARDWARE,
                f"{register.title}: the firmware allows package C-states down to {scales.limit.value}"
                f" ({scales.limit_origin})",
                "" if scales.limit is PackageLimit.UNKNOWN else "raise the package C-state limit in the firmware setup")
        try:
            raw = decode(machine.host.read_at(descriptor, 8, register.address))
        except HostError as error:
            return explain_msr_read(error, register.title, facts)
        if raw == 0 and scales.invented_zeros:
            return invented(f"{register.title} ({register.name})")
        if register.needs_units and isinstance(scales.units, Unavailable):
            return scales.units
        if register.is_energy and raw == 0:
            # As the kernel's own driver, which takes a zero counter for an absent one (perf_msr_probe).
            return Unavailable(Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
                               f"{register.title}: the energy counter reads 0")
        if register.zero_is_unset and register.field(raw) == 0:
            return Unavailable(Reason.NO_HARDWARE, f"{register.title} ({register.name}): reads 0, so nothing is set")
        if register.scaling is Scaling.BELOW_TJ_MAX and isinstance(scales.tj_max, Unavailable):
            return scales.tj_max
        return _signal(machine, register, scales)


_NO_ENERGY = Unavailable(Reason.NO_HARDWARE, "this model has no energy registers")


def _signal(machine: Machine, register: Register, scales: _Scales) -> Signal:
    scale, offset, wrap, origin = 1.0, 0.0, 0.0, register.title
    units, hottest = scales.units, scales.tj_max
    if register.is_energy and isinstance(units, RaplUnits):
        scale = {
            Scaling.ENERGY: units.energy_joule,
            Scaling.DRAM_ENERGY: units.dram_joule,
            Scaling.PSYS_ENERGY: units.psys_joule,
        }[register.scaling]
        wrap = units.wrap_seconds(scale)
    elif register.scaling is Scaling.RAPL_TIME and isinstance(units, RaplUnits):
        scale = units.time_second
    elif register.scaling is Scaling.RAPL_POWER and isinstance(units, RaplUnits):
        scale = units.power_watt
    elif register.scaling is Scaling.BELOW_TJ_MAX and not isinstance(hottest, Unavailable):
        scale, offset = -1.0, hottest.value
        origin = f"{register.title}, below tj_max ({hottest.origin})"
    elif register.scaling is Scaling.CYCLES and machine.platform.features.perf_multiplier:
        scale = _XEON_PHI_UNIT
    return Signal(id=register.signal, scope=_scope(register, scales), unit=register.unit, behavior=register.behavior,
                  reduce=register.reduce, origin=origin, document=register.document, width_bits=register.width_bits,
                  low_bit=register.low_bit, scale=scale, offset=offset, wrap_seconds=wrap)


class MsrSettings(Msr):
    """The MSR device of each CPU, for settings that files describe better where they can be read."""

    id = "msr-settings"
    table = SETTINGS


def _package_scope(machine: Machine) -> Scope:
    """DIE on Intel models whose packages have several dies, each with package registers of its own.

    The kernel's drivers do the same: arch/x86/events/rapl.c and intel/cstate.c, drivers/hwmon/coretemp.c.
    """
    topology = machine.topology
    several = len(topology.instances(Scope.DIE)) > len(topology.instances(Scope.PACKAGE))
    return Scope.DIE if several and machine.model.vendor == "GenuineIntel" else Scope.PACKAGE


def _energy_scope(machine: Machine) -> Scope:
    """Whether each die has its own RAPL registers of a package, according to the kernel's drivers."""
    scope = _package_scope(machine)
    if scope is Scope.PACKAGE:
        return scope
    # the drivers know the models whose dies share registers (arch/x86/events/rapl.c,
    # drivers/powercap/intel_rapl_common.c), and show it in the PMU's cpumask and in the names of the zones
    if (pmu := read_pmu(machine.host, "power")) is not None and pmu.cpumask:
        return domain_scope(machine, pmu.cpumask)
    return zone_scope(machine.host) or scope


def _scope(register: Register, scales: _Scales) -> Scope:
    if register.scope is not Scope.PACKAGE:
        return register.scope
    return scales.energy_scope if register.needs_units else scales.package_scope


def _not_on_this_model(machine: Machine, register: Register, facts: Circumstances) -> Unavailable:
    if not machine.platform.known:
        return Unavailable(
            Reason.UNKNOWN_MODEL, f"{register.title} ({register.name}): not known to exist on this model")
    reason = Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE
    return Unavailable(reason, f"{register.title} ({register.name}): this model does not have or announce it")
