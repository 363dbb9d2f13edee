"""Theoretical roofs: design limits per cycle times clock times cores, and the memory's bandwidth."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError, nearest
from turbotui.features.roofline.dram import Dram, dram_of
from turbotui.features.roofline.measuring import machine_title
from turbotui.features.roofline.roofs import Bandwidth, CoreGroup, Origin, Peak, RoofSet
from turbotui.features.roofline.spec_sheets import CHIPS, CORES, Core, chip_of, core_of
from turbotui.machine.caches import read_caches
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.machine.cpumodel import AMD_VENDORS, CpuModel
from turbotui.machine.host import ChainHost, Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import processor_of
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.facts import FactFile
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import Scope
from turbotui.sources.core_clock import clock_now

_CLOCK_FILES: Final = (
    ("base_frequency", "base clock"),  # intel_pstate
    ("amd_pstate_max_freq", "highest clock"),
    ("cpuinfo_max_freq", "highest clock"),
)
"""Files of cpufreq in kHz, first the clock that all cores can sustain (kernel admin-guide/pm/cpufreq.rst)."""
_FLAGS: Final = {"AVX": "avx", "AVX-512": "avx512f", "SVE": "sve"}
"""What /proc/cpuinfo calls the instructions of a width that can be turned off; SSE2 and Neon belong to every 64-bit
core (AMD64 Architecture Programmer's Manual vol. 1, 4.1; Arm Architecture Reference Manual, A1.5)."""
_PRODUCT_FLAGS: Final = {
    "amx_bf16": "TDPBF16PS", "amx_int8": "TDPBSSD", "avx512_bf16": "VDPBF16PS", "avx512_vnni": "VPDPBUSD",
    "avx_vnni": "VPDPBUSD", "bf16": "BFMMLA", "i8mm": "SMMLA", "asimddp": "SDOT",
}
"""Instructions that add products of short numbers, by what /proc/cpuinfo calls them (kernel arch/x86 cpufeatures.h,
arch/arm64/elf_hwcaps.rst)."""
_WIDER: Final = {"avx_vnni": "avx512_vnni", "asimddp": "i8mm"}
"""Flags of instructions that a machine has beside a wider equivalent."""
_MOVES: Final = {False: "turbo and vector licences move it", True: "all cores together seldom reach it"}


@dataclass(frozen=True, slots=True)
class _Cores:
    kind: str  # "P", "E", "LP"; "" if there is one type
    core: Core  # their design limits
    cpus: tuple[int, ...]  # the first CPU of each core
    hertz: float  # their clock
    where: str  # the source of the clock
    l2: float | None  # bytes each cycle between the L1s and L2s of all cores; None if not documented

    @property
    def scale(self) -> float:
        """The cycles per second of all cores of the group."""
        return self.hertz * len(self.cpus)


def chip_roofs(name: str, threads: str) -> RoofSet:
    """Return the roofs of a chip of the table.

    Args:
        name: the chip's name, "i7-3770K", or its microarchitecture, in any case.

    Raises:
        UsageError: no such chip.
    """
    chips = [chip_of(key) for key in CHIPS.names()]
    chip = next((chip for chip in chips if chip.name.lower() == name.lower()), None)
    chip = chip or next((chip for chip in chips if chip.core.lower() == name.lower()), None)
    if chip is None:
        known = next((core for core in CORES.names() if core.lower() == name.lower()), None)
        if known is not None:
            raise UsageError(f"{known} is a microarchitecture, which has no clock and no number of cores: --theory "
                             f"alone computes roofs of the machine it runs on, and chips are: {_listed(CHIPS)}")
        raise UsageError(f"no spec sheet for {name}{nearest(name, CHIPS.names()) or f'; there are: {_listed(CHIPS)}'}")
    cpus = tuple(range(1 if threads == "one" else chip.cores))
    core = core_of(chip.core)
    cores = _Cores("", core, cpus, chip.hertz, "", None if core.l2 is None else float(core.l2 * len(cpus)))
    dram = Dram(chip.dram, False, "")
    return _roofs((cores,), chip.name, threads, dram, 1.0, notes=(), sources=(chip.document,))


def _listed(file: FactFile) -> str:
    return ", ".join(file.names())


def machine_roofs(machine: Machine, threads: str, cpus: tuple[int, ...], *, highest: bool = False,
                  measured: RoofSet | None = None) -> RoofSet:
    """Return the theoretical roofs of a machine, real or simulated: clock from cpufreq, cores from the topology.

    Cores of several types are added up, each type with its own limits and clock.

    Args:
        threads: "one", "all" or the CPU set, for people.
        cpus: the CPUs; siblings count once.
        highest: whether to use cpufreq's highest clock, which no core exceeds, instead of the one that all can sustain.
        measured: measured roofs of the same CPUs, which give the L3's if no document does.

    Raises:
        MachineError: its microarchitecture is in no table, or its clock cannot be read.
    """
    kinds = dict.fromkeys(machine.topology.places[cpu].core_type for cpu in cpus)
    groups: list[_Cores] = []
    units: set[str] = set()
    left_out: list[str] = []
    for kind in sorted(kinds, key=lambda core_kind: _place(machine, core_kind)):
        name = core_name(machine.model, kind)
        if not name:
            left_out.append(kind or "")
            continue
        kind_cpus = tuple(cpu for cpu in cpus if machine.topology.places[cpu].core_type == kind)
        known = {unit.flag for unit in core_of(name).products}
        units = units & known if groups else known
        groups += _cores(machine, kind or "", _executable(core_of(name), machine), kind_cpus, highest=highest)
    if not groups:
        of = f"cores of kind {', '.join(left_out)} of " if any(left_out) else ""
        raise MachineError(f"no spec sheet for {of}{machine_title(machine)}; there are: {_listed(CORES)}, and the "
                           f"chips {_listed(CHIPS)}. Measure instead: turbotui roofs")
    notes = [f"clock: {groups[0].where}; {_MOVES[highest]}"]
    if left_out:
        notes.append(f"without the cores of kind {', '.join(left_out)}, for which there is no spec sheet: together the "
                     "cores can do more")
    notes += _without_product_roofs(machine.model.flags, units)
    packages = machine.topology.instances(Scope.PACKAGE)
    there = {machine.topology.row(Scope.PACKAGE, cpu) for cpu in cpus}
    dram = dram_of(machine)
    if dram.rate is not None and len(there) < len(packages):
        dram = replace(dram, note=f"{dram.note}; of that the share of {len(there)} of {len(packages)} packages")
    return _roofs(groups, machine_title(machine), threads, dram, len(there) / max(1, len(packages)), notes=tuple(notes),
                  sources=(), measured=measured, measurable=machine.host.kind is HostKind.REAL)


def _without_product_roofs(flags: frozenset[str], units: set[str]) -> list[str]:
    """Return the machine's short-number multiplications without a documented rate."""
    lacking = dict.fromkeys(word for flag, word in _PRODUCT_FLAGS.items()
                            if flag in flags - units and _WIDER.get(flag) not in flags)
    return [f"no roof of {' and '.join(lacking)}: no document that was read states how many a core takes each cycle"
            ] if lacking else []


def _executable(core: Core, machine: Machine) -> Core:
    """Return the core without instructions that firmware or a hypervisor has turned off, by the flags."""
    if not (flags := machine.model.flags):
        return core
    return replace(core, widths=tuple((name, bits) for name, bits in core.widths
                                      if _FLAGS.get(name, "") in {"", *flags}),
                   half=core.half if core.half in flags else "",
                   products=tuple(unit for unit in core.products if unit.flag in flags
                                  and _FLAGS.get(unit.name.split()[0], "") in {"", *flags}))


def _place(machine: Machine, kind: str | None) -> int:
    known = machine.topology.core_types
    return known.index(kind) if kind in known else len(known)


def _cores(machine: Machine, kind: str, core: Core, cpus: tuple[int, ...], *, highest: bool) -> Iterator[_Cores]:
    """Group cores of one type by their clocks, which differ for favoured cores and low-power islands."""
    firsts = tuple({machine.topology.row(Scope.CORE, cpu): cpu for cpu in reversed(cpus)}.values())[::-1]
    clocks = lists_by_key((_clock(machine, cpu, highest=highest), cpu) for cpu in firsts)
    for (hertz, where), group in sorted(clocks.items(), reverse=True):
        yield _Cores(kind, core, tuple(group), hertz, where, _second_level(machine.host, core, group))


def _second_level(host: Host, core: Core, cpus: Sequence[int]) -> float | None:
    """Return the bytes each cycle of all L2s of these cores, limited by what a shared L2 delivers."""
    if core.l2 is None or core.l2_shared is None:
        return None if core.l2 is None else float(core.l2 * len(cpus))
    left, total = set(cpus), 0
    for cpu in cpus:
        if cpu in left:
            sharing = next((cache.cpus for cache in read_caches(host, cpu) if cache.level == 2), frozenset({cpu}))
            together = left & (sharing | {cpu})
            left -= together
            total += min(len(together) * core.l2, core.l2_shared)
    return float(total)


_TIMED: Final[weakref.WeakKeyDictionary[Host, float | None]] = weakref.WeakKeyDictionary()


def _timed_clock(machine: Machine) -> float | None:
    """Return the clock of a virtual machine's first CPU in whole MHz, timed once; None if it cannot be timed."""
    if machine.host not in _TIMED:
        hertz = clock_now(machine, machine.topology.cpus[0])
        _TIMED[machine.host] = None if hertz is None else round(hertz, -6)
    return _TIMED[machine.host]


def _clock(machine: Machine, cpu: int, *, highest: bool) -> tuple[float, str]:
    base = f"/sys/devices/system/cpu/cpu{cpu}/cpufreq"
    for file, word in _CLOCK_FILES[1:] if highest else _CLOCK_FILES:
        try:
            return integer(machine.host.read_text(f"{base}/{file}")) * 1e3, f"{word} ({file})"
        except (HostError, ValueError):
            continue
    timed = _timed_clock(machine) if machine.model.hypervisor and isinstance(machine.host, ChainHost) else None
    if timed is not None:
        return timed, "chains of instructions on a first CPU, ± 0.8 %: what a guest's files name is not its clock"
    if machine.model.mhz:
        return machine.model.mhz * 1e6, "/proc/cpuinfo"
    raise MachineError("the clock cannot be read: there is no cpufreq and no MHz in /proc/cpuinfo; measure instead")


def _roofs(groups: Sequence[_Cores], title: str, threads: str, dram: Dram, share: float, *, notes: tuple[str, ...],
           sources: tuple[str, ...], measured: RoofSet | None = None, measurable: bool = False) -> RoofSet:
    limits = {cores.core.document: None for cores in groups}
    caches = _added_bandwidths([tuple(_bandwidths(cores)) for cores in groups])
    dram = _below(dram, share, caches)
    missing = [level for level in ("L1", "L2", "L3") if all(slant.level != level for slant in caches)]
    third = tuple(slant for slant in (() if measured is None or "L3" not in missing else measured.bandwidths)
                  if slant.level == "L3")
    remarks = [*notes, *([dram.note] if dram.note else [])]
    if third and measured is not None:
        missing.remove("L3")
        remarks.append(f"L3 as measured at {measured.when}, for no document states its bandwidth")
    if missing:
        remarks.append(f"no roof of {' and '.join(missing)}: no document states the bandwidth"
                       + (" for every kind of core" if len(groups) > 1 else "")
                       + ("; turbotui roofs measures it, and then it stands here too" if measurable else ""))
    return RoofSet(
        machine=title,
        origin=Origin.THEORY,
        threads=threads,
        cpus=tuple(cpu for cores in groups for cpu in cores.cpus),
        hertz=groups[0].hertz,
        peaks=_added_peaks([(*_peaks(cores), *_products(cores, Precision.HALF)) for cores in groups]),
        integer_peaks=_added_peaks([tuple(_products(cores, Precision.INT8)) for cores in groups]),
        bandwidths=(*caches, *third, *_memory(groups[0].core, dram, share)),
        notes=(*remarks, *(f"design limits: {source}" for source in limits),
               *(source for source in sources if source not in limits)),
        groups=tuple(CoreGroup(cores.kind, cores.core.name, len(cores.cpus), cores.hertz) for cores in groups),
    )


def _added_peaks(each: Sequence[tuple[Peak, ...]]) -> tuple[Peak, ...]:
    """Add up the streams that all core types can execute."""
    streams = lists_by_key(((peak.isa, peak.precision, peak.operation), peak) for peaks in each for peak in peaks)
    return tuple(replace(same[0], flops=math.fsum(peak.flops for peak in same))
                 for same in streams.values() if len(same) == len(each))


def _added_bandwidths(each: Sequence[tuple[Bandwidth, ...]]) -> tuple[Bandwidth, ...]:
    accesses = lists_by_key(((slant.level, slant.mix, slant.isa), slant) for slants in each for slant in slants)
    return tuple(replace(same[0], rate=math.fsum(slant.rate for slant in same))
                 for same in accesses.values() if len(same) == len(each))


def _peaks(cores: _Cores) -> Iterator[Peak]:
    """Return the peaks: add and mul use their own units; mixed both at once; fused two flops of each unit."""
    core = cores.core
    for name, bits in (("scalar", 0), *core.widths):
        add, mul, fma = core.units[bits]
        for precision in (Precision.DOUBLE, Precision.SINGLE, *((Precision.HALF,) if core.half else ())):
            lanes = bits // 8 // precision.value or 1
            rates = [(Operation.ADD, add), (Operation.MUL, mul)]
            rates.append((Operation.FMA, 2 * fma) if core.fused else (Operation.ADD_MUL, add + mul))
            for operation, each in rates:
                yield Peak(name, bits or 8 * precision.value, precision, operation, each * lanes * cores.scale)


def _products(cores: _Cores, *formats: Precision) -> Iterator[Peak]:
    """Return the peaks of dot products and matrix products."""
    for unit in cores.core.products:
        if unit.format in formats:
            yield Peak(unit.name, unit.bits, unit.format, Operation.FMA, unit.flops * cores.scale)


def _bandwidths(cores: _Cores) -> Iterator[Bandwidth]:
    core = cores.core
    for name, bits in (("scalar", 0), *core.widths):
        for mix, table in ((Mix.LOADS, core.load), (Mix.TWO_ONE, core.both), (Mix.STORES, core.store)):
            if bits in table:
                yield Bandwidth("L1", mix, name, table[bits] * cores.scale)
    widest = core.widths[-1][0]
    if cores.l2 is not None:
        yield Bandwidth("L2", Mix.LOADS, widest, cores.l2 * cores.hertz)
    if core.l3 is not None:
        yield Bandwidth("L3", Mix.LOADS, widest, core.l3 * cores.scale)


def _below(dram: Dram, share: float, caches: Sequence[Bandwidth]) -> Dram:
    """Return the memory's roof, unless it delivers more than these cores take from their caches."""
    rate = dram.of(share)
    level = min((cache for cache in caches if cache.mix is Mix.LOADS and cache.isa == caches[-1].isa),
                key=lambda bandwidth: bandwidth.rate, default=None)
    if rate is None or level is None or rate < level.rate:
        return dram
    return Dram(None, dram.at_most, f"no DRAM roof: memory gives {rate / 1e9:.4g} GB/s{' at most' * dram.at_most}, and "
                                    f"these cores take no more than {level.rate / 1e9:.4g} GB/s from {level.level}. "
                                    f"{dram.note}")


def _memory(core: Core, dram: Dram, share: float) -> Iterator[Bandwidth]:
    if rate := dram.of(share):
        yield Bandwidth("DRAM", Mix.LOADS, core.widths[-1][0], rate, at_most=dram.at_most)


_TILES: Final = "amx_tile"


def core_name(model: CpuModel, kind: str | None = None) -> str:
    """Return the microarchitecture of a processor's cores in `spec_sheets`; "" if they are in no table.

    Args:
        model: the processor's model.
        kind: the core type on machines with several, "P", "E" or "LP"; None for the only type.
    """
    if (processor := processor_of(model)) is None:
        return ""
    if model.vendor == "GenuineIntel":
        if _TILES in model.flags and not processor.amx:
            return ""  # a virtual machine may have another model's number without its instructions
        return {"E": processor.sheet_e, "LP": processor.sheet_lp}.get(kind or "", processor.sheet)
    if kind is not None and model.vendor not in AMD_VENDORS:  # AMD's dense cores have the same pipes as the others
        return ""  # capacity classes: the first CPU's model does not tell the other cores' models
    return processor.sheet
