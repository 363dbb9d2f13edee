"""Header lines about temperature: target, readouts and thresholds (docs/specs/turbostat.md 5, rows 41-44)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts

_TARGET = 0x1A2
_PLATFORM_INFO = 0xCE
_GUESSED = 100  # °C (docs/specs/turbostat.md 5, row 41)


def _tj_max(facts: MachineFacts) -> tuple[int, HeaderLine | None]:
    """Return the temperature from which readouts count down, and a warning if it was not read."""
    told = facts.machine.tcc
    if told is not None:
        return told, HeaderLine(f"cpu{facts.cpu}: Using cmdline TCC Target ({told} C)", "--TCC", always=True)
    word = facts.register(_TARGET) if facts.machine.platform.features.has_nhm_msrs else None
    if word and word >> 16 & 0xFF:
        return word >> 16 & 0xFF, None
    return _GUESSED, HeaderLine(f"cpu{facts.cpu}: Guessing tjMax {_GUESSED} C, Please use -T to specify", "assumed",
                                always=True)


def _target(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.intel or not (facts.flag("dtherm") or facts.flag("pts")):
        return
    _degrees, warning = _tj_max(facts)
    # A missing target matters only if readouts count down from it.
    readouts = any(facts.register(address) is not None for address in (0x19C, 0x1B1))
    if warning is not None and (readouts or facts.machine.tcc is not None):
        yield warning
    features = facts.machine.platform.features
    word = facts.register(_TARGET) if features.has_nhm_msrs else None
    if word is None:
        return
    target, text = word >> 16 & 0xFF, f"cpu{facts.cpu}: MSR_IA32_TEMPERATURE_TARGET: 0x{word:08x}"
    info = facts.register(_PLATFORM_INFO)
    if features.tcc_offset_bits and info is not None and info >> 30 & 1:
        offset = word >> 24 & ((1 << features.tcc_offset_bits) - 1)
        yield HeaderLine(f"{text} ({target - offset} C) ({target} default - {offset} offset)", "MSR 0x1a2")
    else:
        yield HeaderLine(f"{text} ({target} C)", "MSR 0x1a2")


def _package(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.flag("pts"):
        return
    hottest, _warning = _tj_max(facts)
    for cpu in facts.packages():
        yield from facts.line(0x1B1, "MSR_IA32_PACKAGE_THERM_STATUS",
                              lambda word: f"{hottest - (word >> 16 & 0x7F)} C", cpu)
        yield from facts.line(0x1B2, "MSR_IA32_PACKAGE_THERM_INTERRUPT", partial(_thresholds, hottest), cpu)


def _thresholds(hottest: int, word: int) -> str:
    """Decode two thresholds in degrees below the target (docs/specs/turbostat.md 4, 0x19B and 0x1B2)."""
    return f"{hottest - (word >> 16 & 0x7F)} C, {hottest - (word >> 8 & 0x7F)} C"


def _core(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not (facts.detailed and facts.flag("dtherm")):
        return
    hottest, _warning = _tj_max(facts)
    for cpu in facts.cores():
        yield from facts.line(0x19C, "MSR_IA32_THERM_STATUS",
                              lambda word: f"{hottest - (word >> 16 & 0x7F)} C +/- {word >> 27 & 0xF}", cpu)
        yield from facts.line(0x19B, "MSR_IA32_THERM_INTERRUPT", partial(_thresholds, hottest), cpu)


FACTS = (_target, _package, _core)
