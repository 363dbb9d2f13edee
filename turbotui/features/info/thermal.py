"""Header lines about temperature: target, readouts and thresholds (docs/specs/turbostat.md 5, rows 41-44)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts

_TARGET = 0x1A2
_PLATFORM_INFO = 0xCE
_GUESSED = 100  # °C (docs/specs/turbostat.md 5, row 41)


def _tj_max(facts: MachineFacts, cpu: int) -> tuple[int, HeaderLine | None]:
    """Return the temperature from which a package's readouts count down, and a warning if it was not read."""
    if (tcc := facts.machine.tcc) is not None:
        return tcc, HeaderLine(f"cpu{cpu}: Using cmdline TCC Target ({tcc} C)", "--TCC", always=True)
    word = facts.register(_TARGET, cpu) if facts.machine.platform.features.has_nhm_msrs else None
    if word and word >> 16 & 0xFF:
        return word >> 16 & 0xFF, None
    return _GUESSED, HeaderLine(f"cpu{cpu}: Guessing tjMax {_GUESSED} C, Please use -T to specify", "assumed",
                                always=True)


def _target(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.intel or not (facts.has("dtherm") or facts.has("pts")):
        return
    for cpu in facts.packages():
        _degrees, warning = _tj_max(facts, cpu)
        # A missing target matters only if readouts count down from it.
        readouts = any(facts.register(address, cpu) is not None for address in (0x19C, 0x1B1))
        is_given = facts.machine.tcc is not None
        if warning is not None and (readouts or is_given):
            yield warning
        word = facts.register(_TARGET, cpu) if facts.machine.platform.features.has_nhm_msrs else None
        if word is not None and not is_given:
            yield _target_line(facts, cpu, word)


def _target_line(facts: MachineFacts, cpu: int, word: int) -> HeaderLine:
    features = facts.machine.platform.features
    target, text = word >> 16 & 0xFF, f"cpu{cpu}: MSR_IA32_TEMPERATURE_TARGET: 0x{word:08x}"
    info = facts.register(_PLATFORM_INFO, cpu)
    if features.tcc_offset_bits and info is not None and info >> 30 & 1:
        offset = word >> 24 & ((1 << features.tcc_offset_bits) - 1)
        return HeaderLine(f"{text} ({target - offset} C) ({target} default - {offset} offset)", "MSR 0x1a2")
    return HeaderLine(f"{text} ({target} C)", "MSR 0x1a2")


def _package(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.has("pts"):
        return
    for cpu in facts.packages():
        hottest, _warning = _tj_max(facts, cpu)
        yield from facts.line(0x1B1, "MSR_IA32_PACKAGE_THERM_STATUS", partial(_readout, hottest), cpu)
        yield from facts.line(0x1B2, "MSR_IA32_PACKAGE_THERM_INTERRUPT", partial(_thresholds, hottest), cpu)


def _readout(hottest: int, word: int) -> str:
    return f"{hottest - (word >> 16 & 0x7F)} C"


def _resolved_readout(hottest: int, word: int) -> str:
    return f"{_readout(hottest, word)} +/- {word >> 27 & 0xF}"


def _thresholds(hottest: int, word: int) -> str:
    """Decode two thresholds in degrees below the target (docs/specs/turbostat.md 4, 0x19B and 0x1B2)."""
    return f"{hottest - (word >> 16 & 0x7F)} C, {hottest - (word >> 8 & 0x7F)} C"


def _core(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not (facts.detailed and facts.has("dtherm")):
        return
    for cpu in facts.cores():
        hottest, _warning = _tj_max(facts, cpu)
        yield from facts.line(0x19C, "MSR_IA32_THERM_STATUS", partial(_resolved_readout, hottest), cpu)
        yield from facts.line(0x19B, "MSR_IA32_THERM_INTERRUPT", partial(_thresholds, hottest), cpu)


FACTS = (_target, _package, _core)
