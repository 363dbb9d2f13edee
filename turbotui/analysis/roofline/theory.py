"""Roofs from the spec sheet: design limits each cycle times the clock times the cores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from turbotui.analysis.roofline.measuring import machine_title
from turbotui.analysis.roofline.recognition import core_name
from turbotui.analysis.roofline.roofs import Bandwidth, Origin, Peak, RoofSet
from turbotui.analysis.roofline.spec_sheets import CHIPS, CORES, Chip, Core
from turbotui.errors import MachineError, UsageError
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import Scope

_CLOCK_FILES: Final = (
    ("base_frequency", "base clock"),  # intel_pstate
    ("amd_pstate_max_freq", "highest clock"),
    ("cpuinfo_max_freq", "highest clock"),
)
"""Files of cpufreq in kHz, the one whose clock all cores can hold first (kernel admin-guide/pm/cpufreq.rst)."""
_MOVES: Final = {False: "turbo and vector licences move it", True: "all cores together seldom reach it"}


def chip_roofs(name: str, threads: str) -> RoofSet:
    """The roofs of a chip of the table.

    Args:
        name: such as "i7-3770K", in any case.
        threads: "one" or "all".

    Raises:
        UsageError: no such chip.
    """
    chip = next((chip for key, chip in CHIPS.items() if key.lower() == name.lower()), None)
    if chip is None:
        raise UsageError(f"no spec sheet for {name}; there are: {', '.join(CHIPS)}")
    cores = 1 if threads == "one" else chip.cores
    return _roofs(chip, chip.name, threads, tuple(range(cores)), ())


def machine_roofs(machine: Machine, threads: str, cpus: tuple[int, ...], *, highest: bool = False) -> RoofSet:
    """The theoretical roofs of a machine, real or simulated: clock from cpufreq, cores from the topology, no DRAM.

    Args:
        machine: whose.
        threads: "one", "all" or the CPU set, for people.
        cpus: the CPUs; siblings count once.
        highest: at the highest clock that cpufreq knows, which no core passes, instead of the one that all can hold.

    Raises:
        MachineError: its microarchitecture is in no table, or its clock cannot be read.
    """
    name = core_name(machine.model)
    if not name:
        raise MachineError(
            f"no spec sheet for {machine_title(machine)}; there are: {', '.join(CORES)}, and the chips "
            f"{', '.join(CHIPS)}. Measure instead: turbotui roofs"
        )
    kinds = {cpu: machine.topology.places[cpu].core_type for cpu in cpus}
    left_out = sorted({kind for kind in kinds.values() if kind is not None and kind != "P"})
    cpus = tuple(cpu for cpu in cpus if kinds[cpu] in {None, "P"})
    if not cpus:
        raise MachineError(f"no spec sheet for cores of kind {', '.join(left_out)} of {machine_title(machine)}; "
                           "measure instead: turbotui roofs")
    hertz, where = _clock(machine, cpus[0], highest=highest)
    firsts = tuple({machine.topology.row(Scope.CORE, cpu): cpu for cpu in reversed(cpus)}.values())[::-1]
    cores = len(firsts)
    notes = [
        f"clock: {where}, {hertz / 1e9:.3f} GHz; {_MOVES[highest]}",
        "no DRAM roof: the number and speed of memory channels is not in the table",
    ]
    if left_out:
        notes.append(f"only the P cores: no spec sheet for cores of kind {', '.join(left_out)}")
    chip = Chip(name, name, cores, hertz, 0.0, CORES[name].source)
    return _roofs(chip, machine_title(machine), threads, firsts, tuple(notes))


def _clock(machine: Machine, cpu: int, *, highest: bool) -> tuple[float, str]:
    base = f"/sys/devices/system/cpu/cpu{cpu}/cpufreq"
    for file, word in _CLOCK_FILES[1:] if highest else _CLOCK_FILES:
        try:
            return int(machine.host.read_text(f"{base}/{file}")) * 1e3, f"{word} ({file})"
        except (HostError, ValueError):
            continue
    if machine.model.mhz:
        return machine.model.mhz * 1e6, "/proc/cpuinfo"
    raise MachineError("the clock cannot be read: there is no cpufreq and no MHz in /proc/cpuinfo; measure instead")


def _roofs(chip: Chip, title: str, threads: str, cpus: tuple[int, ...], notes: tuple[str, ...]) -> RoofSet:
    core = CORES[chip.core]
    scale = chip.hertz * len(cpus)
    return RoofSet(
        machine=title,
        origin=Origin.THEORY,
        threads=threads,
        cpus=cpus,
        hertz=chip.hertz,
        peaks=tuple(_peaks(core, scale)),
        bandwidths=tuple(_bandwidths(core, scale, chip.dram)),
        notes=(*notes, f"design limits: {core.source}", *((chip.source,) if chip.source != core.source else ())),
    )


def _peaks(core: Core, scale: float) -> Iterator[Peak]:
    """Add and mul alone use their own units; mixed, both at once; fused, both flops of each unit."""
    for name, bits in (("scalar", 0), *core.widths):
        add, mul, fma = core.units[bits]
        for precision in (Precision.DOUBLE, Precision.SINGLE):
            lanes = bits // 8 // precision.value or 1
            rates = [(Operation.ADD, add), (Operation.MUL, mul)]
            rates.append((Operation.FMA, 2 * fma) if core.fused else (Operation.ADD_MUL, add + mul))
            for operation, each in rates:
                yield Peak(name, bits or 8 * precision.value, precision, operation, each * lanes * scale)


def _bandwidths(core: Core, scale: float, dram: float) -> Iterator[Bandwidth]:
    for name, bits in (("scalar", 0), *core.widths):
        for mix, table in ((Mix.LOADS, core.load), (Mix.TWO_ONE, core.both), (Mix.STORES, core.store)):
            if bits in table:
                yield Bandwidth("L1", mix, name, table[bits] * scale)
    widest = core.widths[-1][0]
    if core.l2 is not None:
        yield Bandwidth("L2", Mix.LOADS, widest, core.l2 * scale)
    if core.l3 is not None:
        yield Bandwidth("L3", Mix.LOADS, widest, core.l3 * scale)
    if dram:
        yield Bandwidth("DRAM", Mix.LOADS, widest, dram)
