"""Constants read once: RAPL units, tj_max, base, TSC and turbo clocks (Intel SDM vol. 4), limits.

Each constant has its origin; an assumed one says that it is assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError, msr_device
from turbotui.machine.machine import Machine
from turbotui.machine.perf_errors import Circumstances, explain_cpuid_open, explain_msr_open, explain_msr_read
from turbotui.machine.platform_features import SILVERMONT_MHZ, PackageLimit, RaplRegister, TurboLayout
from turbotui.machine.reading import Leaf, cpuid_of
from turbotui.machine.registers import invented, invents_zeros, read_once
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable

# Intel SDM vol. 4: MSR_PLATFORM_INFO, MSR_PKG_CST_CONFIG_CONTROL, MSR_TEMPERATURE_TARGET, MSR_FSB_FREQ (bus clock of
# Silvermont), MSR_RAPL_POWER_UNIT. They do not change, so each is read once and not at every tick.
_PLATFORM_INFO = 0xCE
_CST_CONFIG = 0xE2
_TEMPERATURE_TARGET = 0x1A2
_FSB_FREQ = 0xCD
_RAPL_UNIT = 0x606
_DEFAULT_TDP_WATT = 135.0  # docs/specs/turbostat.md 2.5: if neither register nor platform gives it
_PEAK_TO_TDP = 2.0  # short-term power limits reach about twice TDP on client processors, at which no wrap may be missed
_DEFAULT_TIME_EXPONENT = 10  # what a field of 0 means (docs/specs/turbostat.md 2.5)
_GUESSED_TJ_MAX = 100  # docs/specs/turbostat.md 5, row 41
_CPUID_TSC, _CPUID_FREQUENCY = 0x15, 0x16  # Intel SDM vol. 2, CPUID
_WORD = 0xFFFFFFFF  # bits 63:32 of an energy register are reserved (Intel SDM vol. 4)


@dataclass(frozen=True, slots=True)
class KnownConstant:
    """A constant and its origin."""

    value: float
    origin: str


Constant: TypeAlias = "KnownConstant | Unavailable"


@dataclass(frozen=True, slots=True)
class RaplUnits:
    """Joules per count of each kind of energy register, and the power that determines how soon they wrap."""

    energy_joule: float
    dram_joule: float
    psys_joule: float
    tdp_watt: float  # thermal design power, from MSR 0x614, the platform, or 135 W
    # power_watt, time_second: value of one count of power limits and of throttled time
    power_watt: float
    time_second: float
    origin: str

    def wrap_seconds(self, joule: float) -> float:
        """The shortest time in which a 32-bit counter of this unit can wrap."""
        return (_WORD + 1) * joule / (self.tdp_watt * _PEAK_TO_TDP)


def first_cpu(machine: Machine) -> int:
    """The CPU on which one-off registers are read."""
    return min(machine.topology.cpus)


def read_msr(machine: Machine, address: int, facts: Circumstances) -> int | Unavailable:
    """A register on the first measured CPU, or why it cannot be read."""
    cpu = first_cpu(machine)
    try:
        machine.host.close(machine.host.open_file(msr_device(cpu)))
    except HostError as error:
        return explain_msr_open(error, cpu, facts)
    try:
        raw = read_once(machine.host, cpu, address)
    except HostError as error:
        return explain_msr_read(error, f"MSR {address:#x}", facts)
    return invented(f"MSR {address:#x}") if raw == 0 and invents_zeros(machine.host, cpu) else raw


def rapl_units(machine: Machine, facts: Circumstances) -> RaplUnits | Unavailable:
    """Decode MSR 0x606, or 0xC0010299 on AMD, with the platform's fixed units (Intel SDM vol. 4)."""
    features = machine.platform.features
    address = RaplRegister.AMD_PWR_UNIT.value if RaplRegister.AMD_PWR_UNIT in features.rapl else _RAPL_UNIT
    raw = read_msr(machine, address, facts)
    if isinstance(raw, Unavailable):
        return raw
    if raw == 0:
        return Unavailable(
            Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
            f"MSR {address:#x}: the energy units read 0, so there is no energy counter here")
    exponent = raw >> 8 & 0x1F
    energy = 2.0**exponent * 1e-6 if features.rapl_divisor else 2.0**-exponent
    power = 2.0 ** -(raw & 0xF)
    return RaplUnits(
        energy_joule=energy,
        dram_joule=features.dram_unit_joule or energy,
        psys_joule=features.psys_unit_joule or energy,
        tdp_watt=_tdp(machine, power, facts),
        power_watt=power,
        time_second=2.0 ** -(raw >> 16 & 0xF or _DEFAULT_TIME_EXPONENT),
        origin=f"MSR {address:#x}",
    )


def _tdp(machine: Machine, power_unit: float, facts: Circumstances) -> float:
    features = machine.platform.features
    if RaplRegister.PKG_POWER_INFO in features.rapl:
        raw = read_msr(machine, RaplRegister.PKG_POWER_INFO.value, facts)
        if not isinstance(raw, Unavailable) and raw & 0x7FFF:
            return (raw & 0x7FFF) * power_unit
    return float(features.quirk_tdp_watt or _DEFAULT_TDP_WATT)


def tj_max(machine: Machine, facts: Circumstances) -> Constant:
    """tj_max in °C from MSR 0x1A2[23:16] or the user; assumed to be 100 if the register exists but is 0."""
    if "dtherm" not in machine.model.flags:
        return Unavailable(Reason.NO_HARDWARE, "this CPU has no digital thermal sensor in registers")
    if machine.tcc is not None:
        return KnownConstant(float(machine.tcc), "told by hand: where the processor slows down (TCC)")
    raw = read_msr(machine, _TEMPERATURE_TARGET, facts) if machine.platform.features.has_nhm_msrs else 0
    if isinstance(raw, Unavailable):
        if raw.reason not in (Reason.NO_HARDWARE, Reason.VIRTUALISED):
            return raw  # the register may well have the value: it was not read
        raw = 0
    # the fixed target, not lowered by the TCC offset: digital readouts count down from it (docs/specs/turbostat.md 5)
    if number := raw >> 16 & 0xFF:
        return KnownConstant(float(number), f"MSR {_TEMPERATURE_TARGET:#x}[23:16]")
    return KnownConstant(float(_GUESSED_TJ_MAX), f"assumed: MSR {_TEMPERATURE_TARGET:#x} does not tell")


def package_limit(machine: Machine, facts: Circumstances) -> tuple[PackageLimit, str]:
    """The deepest package C-state that firmware allows, from MSR 0xE2[3:0] and the platform's table, and its origin.

    UNKNOWN without a table or a readable register (docs/specs/turbostat.md 2.6, 3.4).
    """
    if not (table := machine.platform.features.cst_limit):
        return PackageLimit.UNKNOWN, "no table of package C-state limits for this model"
    raw = read_msr(machine, _CST_CONFIG, facts)
    if isinstance(raw, Unavailable):
        return PackageLimit.UNKNOWN, raw.detail
    return table[raw & 0xF], f"MSR {_CST_CONFIG:#x}[3:0] is {raw & 0xF}"


def base_hz(machine: Machine, facts: Circumstances) -> Constant:
    """The base clock: MSR 0xCE[15:8] times the bus clock, else CPUID 0x16, else cpufreq's base_frequency.

    A zero, which guests return, counts as missing (docs/specs/turbostat.md 2.1).
    """
    attempts: tuple[Callable[[Machine, Circumstances], Constant], ...] = (_base_by_ratio, _base_by_cpuid,
                                                                          _base_by_cpufreq)
    refusals = []
    for attempt in attempts:
        answer = attempt(machine, facts)
        if isinstance(answer, KnownConstant):
            return answer
        refusals.append(answer)
    remedy = next((why.remedy for why in refusals if why.remedy), "")
    return Unavailable(refusals[0].reason, "; ".join(why.detail for why in refusals), remedy)


def _base_by_ratio(machine: Machine, facts: Circumstances) -> Constant:
    features = machine.platform.features
    if not features.has_nhm_msrs or features.bclk is None:
        reason = Reason.NO_HARDWARE if machine.platform.known else Reason.UNKNOWN_MODEL
        return Unavailable(reason, f"MSR {_PLATFORM_INFO:#x}: not defined for this model")
    raw = read_msr(machine, _PLATFORM_INFO, facts)
    if isinstance(raw, Unavailable):
        return raw
    ratio = raw >> 8 & 0xFF
    if ratio == 0:
        return Unavailable(Reason.NO_HARDWARE, f"MSR {_PLATFORM_INFO:#x}: the base ratio reads 0")
    bus_mhz = features.bclk.value
    origin = f"MSR {_PLATFORM_INFO:#x}[15:8] is {ratio}"
    if bus_mhz is None:
        index = read_msr(machine, _FSB_FREQ, facts)
        if isinstance(index, Unavailable):
            return index
        chosen = index & 0xF
        # a code beyond the table means its fourth entry (turbostat-platforms, BCLK_SLV)
        bus_mhz = SILVERMONT_MHZ[chosen] if chosen < len(SILVERMONT_MHZ) else SILVERMONT_MHZ[3]
        origin += f", bus clock by MSR {_FSB_FREQ:#x}"
    return KnownConstant(ratio * bus_mhz * 1e6, f"{origin}, times {bus_mhz:g} MHz")


def _base_by_cpuid(machine: Machine, facts: Circumstances) -> Constant:
    leaf = _cpuid(machine, _CPUID_FREQUENCY, facts)
    if isinstance(leaf, Unavailable):
        return leaf
    mhz = leaf[0] & 0xFFFF
    if mhz == 0:
        return Unavailable(Reason.NO_HARDWARE, "CPUID 0x16: the base frequency reads 0")
    return KnownConstant(mhz * 1e6, "CPUID 0x16 EAX[15:0]")


def _base_by_cpufreq(machine: Machine, _facts: Circumstances) -> Constant:
    path = "/sys/devices/system/cpu/cpu{cpu}/cpufreq/base_frequency"
    clocks: set[int] = set()
    # one CPU of each kind of core: base clocks of a hybrid's kinds differ, while cycles are compared with one clock
    kinds = {machine.topology.places[cpu].core_type: cpu for cpu in reversed(machine.topology.cpus)}
    for cpu in kinds.values():
        try:
            clocks.add(integer(machine.host.read_text(path.format(cpu=cpu))))
        except HostError as error:
            return Unavailable(Reason.NO_DRIVER, f"{path.format(cpu=cpu)}: {error.name}")
        except ValueError:
            return Unavailable(Reason.FAILED, f"{path.format(cpu=cpu)}: not a number")
    if len(clocks) != 1 or 0 in clocks:
        return Unavailable(Reason.NO_HARDWARE, "cpufreq base_frequency differs between kinds of core")
    return KnownConstant(clocks.pop() * 1e3, path.format(cpu=first_cpu(machine)))


def crystal_hz(machine: Machine, facts: Circumstances) -> Constant:
    """The clock of the crystal behind always-running timers, from CPUID 0x15 ECX or the platform (Intel SDM vol. 2)."""
    leaf = _cpuid(machine, _CPUID_TSC, facts)
    if not isinstance(leaf, Unavailable) and leaf[2]:
        return KnownConstant(float(leaf[2]), "CPUID 0x15 ECX")
    if fixed := machine.platform.features.crystal_hz:
        return KnownConstant(float(fixed), f"this model's crystal of {fixed / 1e6:g} MHz")
    if isinstance(leaf, Unavailable):
        return leaf
    return Unavailable(Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
                       "CPUID 0x15: the crystal is not told")


def tsc_hz(machine: Machine, facts: Circumstances) -> Constant:
    """The TSC's clock from CPUID 0x15: crystal times EBX / EAX (Intel SDM vol. 2). The platform may give the crystal.

    A zero in any of them counts as missing (docs/specs/turbostat.md 2.1).
    """
    leaf = _cpuid(machine, _CPUID_TSC, facts)
    if isinstance(leaf, Unavailable):
        return leaf
    denominator, numerator, _, _ = leaf
    crystal = crystal_hz(machine, facts)
    if isinstance(crystal, Unavailable) or not (denominator and numerator):
        return Unavailable(Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE,
                           "CPUID 0x15: the TSC clock is not told")
    origin = "CPUID 0x15" if crystal.origin.startswith("CPUID") else f"CPUID 0x15 with {crystal.origin}"
    return KnownConstant(crystal.value * numerator / denominator, origin)


def tsc_tweak(machine: Machine, base: Constant, tsc: Constant, facts: Circumstances) -> Constant:
    """base_hz / tsc_hz on platforms whose residencies count base-clock cycles, else 1 (docs/specs/turbostat.md 2.1)."""
    if not facts.x86:
        return Unavailable(Reason.NO_HARDWARE, "a TSC exists on x86 only")
    if not machine.platform.features.tsc_tweak:
        return KnownConstant(1.0, "this model counts residency in TSC cycles")
    if isinstance(base, Unavailable):
        return base
    if isinstance(tsc, Unavailable):
        return tsc
    return KnownConstant(base.value / tsc.value, f"{base.origin} over {tsc.origin}")


def _cpuid(machine: Machine, leaf: int, facts: Circumstances) -> Leaf | Unavailable:
    """EAX, EBX, ECX, EDX of a leaf by the cpuid driver: 16 bytes at offset leaf (kernel arch/x86/kernel/cpuid.c)."""
    cpu = first_cpu(machine)
    opened = False
    try:
        with cpuid_of(machine.host, cpu) as ask:
            opened = True
            highest = ask(0).eax
            if leaf > highest:
                return Unavailable(Reason.NO_HARDWARE, f"CPUID {leaf:#x}: this CPU's leaves end at {highest:#x}")
            return ask(leaf)
    except HostError as error:
        return Unavailable(Reason.FAILED, f"CPUID {leaf:#x}: {error}") if opened else \
            explain_cpuid_open(error, cpu, facts)


_RATIOS, _RATIOS_1, _RATIOS_2 = 0x1AD, 0x1AE, 0x1AF
_FURTHER = ((TurboLayout.LIMIT1, _RATIOS_1, 8), (TurboLayout.LIMIT2, _RATIOS_2, 2))
_BYTES = 8


def turbo_hz(machine: Machine, facts: Circumstances) -> tuple[Constant, Constant]:
    """Read the highest clock with one active core, and with all of a package, from MSR 0x1AD to 0x1AF.

    On hybrids they are those of the P cores (the others' are in MSR 0x650). A ratio of 0 is no limit
    (docs/specs/turbostat.md 3.5).

    Returns:
        Hz for one core and for all, each with its registers, or why it is unknown.
    """
    features = machine.platform.features
    bus = None if features.bclk is None else features.bclk.value
    if machine.model.vendor != "GenuineIntel" or TurboLayout.BASE not in features.turbo or bus is None:
        reason = Reason.VIRTUALISED if facts.hypervisor else Reason.NO_HARDWARE
        why = Unavailable(reason, "no known register has the turbo clocks (by number of active cores)")
        return why, why
    word = read_msr(machine, _RATIOS, facts)
    if isinstance(word, Unavailable):
        return word, word
    counted = TurboLayout.CORECOUNT in features.turbo
    buckets = _grouped(machine, word, facts) if counted else _single(machine, word, facts)
    if isinstance(buckets, Unavailable):
        return buckets, buckets
    if not buckets:
        why = Unavailable(Reason.NO_HARDWARE, f"MSR {_RATIOS:#x}: all turbo ratios read 0")
        return why, why
    cores = _cores(machine)
    first = min(buckets)
    last = min((count for count in buckets if count >= cores), default=max(buckets))
    origins = f"MSR {_RATIOS:#x} and MSR {_RATIOS_1:#x}" if counted else f"MSR {_RATIOS:#x}"
    return (KnownConstant(buckets[first] * bus * 1e6, f"{origins}: up to {first} active cores"),
            KnownConstant(buckets[last] * bus * 1e6, f"{origins}: up to {last} active cores, of {cores}"))


def _grouped(machine: Machine, word: int, facts: Circumstances) -> dict[int, int] | Unavailable:
    """Return the ratio by number of active cores, if MSR 0x1AE has the numbers."""
    counts = read_msr(machine, _RATIOS_1, facts)
    if isinstance(counts, Unavailable):
        return counts
    pairs = ((counts >> 8 * index & 0xFF, word >> 8 * index & 0xFF) for index in range(_BYTES))
    return {count: ratio for count, ratio in pairs if count and ratio}


def _single(machine: Machine, word: int, facts: Circumstances) -> dict[int, int]:
    """Return the ratio by number of active cores, one byte for each number."""
    ratios = {index + 1: word >> 8 * index & 0xFF for index in range(_BYTES)}
    first = _BYTES + 1
    for layout, address, used in _FURTHER:
        more = read_msr(machine, address, facts) if layout in machine.platform.features.turbo else 0
        if not isinstance(more, Unavailable):
            ratios |= {first + index: more >> 8 * index & 0xFF for index in range(used)}
        first += used
    return {count: ratio for count, ratio in ratios.items() if ratio}


def _cores(machine: Machine) -> int:
    """Return the number of the first package's cores that share its turbo ratios: those of the strongest type."""
    topology = machine.topology
    package = topology.instances(Scope.PACKAGE)[0]
    kinds = topology.core_types
    cores = {topology.row(Scope.CORE, cpu) for cpu in package.cpus if not kinds
             or topology.places[cpu].core_type == kinds[0]}
    return len(cores)
