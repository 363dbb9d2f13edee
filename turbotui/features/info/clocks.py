"""Header lines about clocks: TSC, base and turbo ratios, configurable TDP (docs/specs/turbostat.md 5, rows 14-20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts
from turbotui.machine.platform_features import BusClock, TurboLayout

_PLATFORM_INFO = 0xCE
_RATIOS, _RATIOS_1, _RATIOS_2, _SECONDARY = 0x1AD, 0x1AE, 0x1AF, 0x650
_ATOM, _ATOM_TURBO = 0x66A, 0x66C


def _crystal(facts: MachineFacts) -> Iterable[HeaderLine]:
    leaf = facts.leaf(0x15)
    if leaf is None or not leaf.ebx:
        return
    yield HeaderLine(f"CPUID(0x15): eax_crystal: {leaf.eax} ebx_tsc: {leaf.ebx} ecx_crystal_hz: {leaf.ecx}",
                     "CPUID 0x15")
    crystal = leaf.ecx or facts.machine.platform.features.crystal_hz
    if crystal and leaf.eax:
        mhz = crystal * leaf.ebx // leaf.eax // 1_000_000
        yield HeaderLine(f"TSC: {mhz} MHz ({crystal} Hz * {leaf.ebx} / {leaf.eax} / 1000000)",
                         "CPUID 0x15" if leaf.ecx else "CPUID 0x15 and the platform's crystal")


def _frequencies(facts: MachineFacts) -> Iterable[HeaderLine]:
    if (leaf := facts.leaf(0x16)) is not None:
        yield HeaderLine(f"CPUID(0x16): base_mhz: {leaf.eax & 0xFFFF} max_mhz: {leaf.ebx & 0xFFFF} "
                         f"bus_mhz: {leaf.ecx & 0xFFFF}", "CPUID 0x16")


def _bus_clock(facts: MachineFacts) -> Iterable[HeaderLine]:
    if facts.machine.platform.features.bclk is BusClock.SILVERMONT:
        mhz = facts.bus_mhz()
        yield HeaderLine("SLM BCLK: unknown" if mhz is None else f"SLM BCLK: {mhz:.1f} Mhz", "MSR 0xcd",
                         always=mhz is None)


def _times(ratio: int, bus: float) -> str:
    return f"{ratio} * {bus:.1f} = {ratio * bus:.1f} MHz"


def _platform_info(facts: MachineFacts) -> Iterable[HeaderLine]:
    bus = facts.bus_mhz()
    if not facts.machine.platform.features.has_nhm_msrs or bus is None:
        return
    if (word := facts.register(_PLATFORM_INFO)) is not None:
        origin = "MSR 0xce"
        yield HeaderLine(f"cpu{facts.cpu}: MSR_PLATFORM_INFO: 0x{word:08x}", origin)
        yield HeaderLine(f"{_times(word >> 40 & 0xFF, bus)} max efficiency frequency", origin)
        yield HeaderLine(f"{_times(word >> 8 & 0xFF, bus)} base frequency", origin)


def _turbo(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Turbo ratio limits by the platform's layout (docs/specs/turbostat.md 3.5); ratios of 0 are left out."""
    bus = facts.bus_mhz()
    if bus is None or not facts.has("ida"):
        return
    layout = facts.machine.platform.features.turbo
    if TurboLayout.LIMIT2 in layout:
        yield from _counted(facts, _RATIOS_2, "MSR_TURBO_RATIO_LIMIT2", bus, first=17, bytes_used=2)
    if TurboLayout.LIMIT1 in layout:
        yield from _counted(facts, _RATIOS_1, "MSR_TURBO_RATIO_LIMIT1", bus, first=9)
    if TurboLayout.BASE in layout:
        buckets = TurboLayout.CORECOUNT in layout
        yield from _base(facts, _RATIOS, "MSR_TURBO_RATIO_LIMIT", bus, buckets=buckets)
        if facts.machine.topology.kinds.several:
            yield from _base(facts, _SECONDARY, "MSR_SECONDARY_TURBO_RATIO_LIMIT", bus, buckets=buckets)
    if TurboLayout.ATOM in layout:
        yield from _atom(facts, bus)
    if TurboLayout.KNL in layout:
        yield from _knights_landing(facts, bus)


def _base(facts: MachineFacts, address: int, name: str, bus: float, *, buckets: bool) -> Iterator[HeaderLine]:
    counts = facts.register(_RATIOS_1) if buckets else None
    word = facts.register(address)
    if buckets and counts is not None and word is not None:
        origin = f"MSR {address:#x} and MSR {_RATIOS_1:#x}"
        yield HeaderLine(f"cpu{facts.cpu}: {name}: 0x{word:08x}", f"MSR {address:#x}")
        yield HeaderLine(f"cpu{facts.cpu}: MSR_TURBO_RATIO_LIMIT1: 0x{counts:08x}", f"MSR {_RATIOS_1:#x}")
        for index in range(7, -1, -1):
            if ratio := word >> 8 * index & 0xFF:
                yield HeaderLine(f"{_times(ratio, bus)} max turbo {counts >> 8 * index & 0xFF} active cores", origin)
    elif not buckets:
        yield from _counted(facts, address, name, bus, first=1)


def _counted(facts: MachineFacts, address: int, name: str, bus: float, *, first: int,
             bytes_used: int = 8) -> Iterator[HeaderLine]:
    fields = ((8 * index, f"max turbo {first + index} active cores") for index in range(bytes_used - 1, -1, -1))
    return _ratios(facts, address, name, bus, fields)


def _ratios(facts: MachineFacts, address: int, name: str, bus: float, fields: Iterable[tuple[int, str]], *,
            mask: int = 0xFF, shown: int = -1) -> Iterator[HeaderLine]:
    """A register, as far as it is shown, and the clock of each of its fields: the shift of a ratio, and its words."""
    if (word := facts.register(address)) is None:
        return
    yield HeaderLine(f"cpu{facts.cpu}: {name}: 0x{word & shown:08x}", f"MSR {address:#x}")
    for shift, what in fields:
        if ratio := word >> shift & mask:
            yield HeaderLine(f"{_times(ratio, bus)} {what}", f"MSR {address:#x}")


def _atom(facts: MachineFacts, bus: float) -> Iterator[HeaderLine]:
    clocks = ((0, "minimum operating frequency"), (8, "low frequency mode (LFM)"), (16, "base frequency"))
    yield from _ratios(facts, _ATOM, "MSR_ATOM_CORE_RATIOS", bus, clocks, mask=0x3F, shown=0xFFFFFFFF)
    turbo = ((8 * (cores - 1), f"max turbo {cores} active cores") for cores in (4, 3, 2, 1))
    yield from _ratios(facts, _ATOM_TURBO, "MSR_ATOM_CORE_TURBO_RATIOS", bus, turbo, mask=0x3F)


def _knights_landing(facts: MachineFacts, bus: float) -> Iterator[HeaderLine]:
    """Ratios of seven buckets, each coded as a difference from the one before (docs/specs/turbostat.md 3.5)."""
    if (word := facts.register(_RATIOS)) is None:
        return
    origin = f"MSR {_RATIOS:#x}"
    yield HeaderLine(f"cpu{facts.cpu}: MSR_TURBO_RATIO_LIMIT: 0x{word:08x}", origin)
    buckets = [(word >> 1 & 0x7F, word >> 8 & 0xFF)]
    for shift in range(16, 64, 8):
        cores, ratio = buckets[-1]
        buckets.append((cores + (word >> shift & 0x1F), ratio - (word >> shift + 5 & 0x7)))
    for index in range(len(buckets) - 1, -1, -1):
        cores, ratio = buckets[index]
        if ratio > 0 and (index == 0 or ratio != buckets[index - 1][1]):
            yield HeaderLine(f"{_times(ratio, bus)} max turbo {cores} active cores", origin)


def _config_tdp(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not (facts.machine.platform.features.has_config_tdp and facts.has("ida")):
        return
    yield from facts.line(0x648, "MSR_CONFIG_TDP_NOMINAL", lambda word: f"base_ratio={word & 0xFF}")
    yield from facts.line(0x649, "MSR_CONFIG_TDP_LEVEL_1", partial(_level, 1))
    yield from facts.line(0x64A, "MSR_CONFIG_TDP_LEVEL_2", partial(_level, 2))
    yield from facts.line(0x64B, "MSR_CONFIG_TDP_CONTROL",
                          lambda word: f"{f'TDP_LEVEL={word & 3} ' if word & 3 else ''} lock={word >> 31 & 1}")
    yield from facts.line(0x64C, "MSR_TURBO_ACTIVATION_RATIO",
                          lambda word: f"MAX_NON_TURBO_RATIO={word & 0xFF} lock={word >> 31 & 1}")


def _level(level: int, word: int) -> str:
    if not word:
        return ""
    return (f"PKG_MIN_PWR_LVL{level}={word >> 48 & 0x7FFF} PKG_MAX_PWR_LVL{level}={word >> 32 & 0x7FFF} "
            f"LVL{level}_RATIO={word >> 16 & 0xFF} PKG_TDP_LVL{level}={word & 0x7FFF}")


FACTS = (_crystal, _frequencies, _bus_clock, _platform_info, _turbo, _config_tdp)
