"""Header lines about idle states: limits, demotion, latencies, cpuidle (docs/specs/turbostat.md 5, rows 26-32)."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import partial

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts, enabled_word
from turbotui.machine.host import HostError
from turbotui.machine.platform_features import PackageState
from turbotui.machine.reading import read_bytes
from turbotui.sources.cpuidle import short_name
from turbotui.untrusted import one_line

_POWER_CTL = 0x1FC
_CST_CONFIG = 0xE2
_DMA_LATENCY = "/dev/cpu_dma_latency"
_NO_LIMIT_USEC = 2_000_000_000  # PM_QOS_CPU_LATENCY_DEFAULT_VALUE, linux/pm_qos.h
_CPUIDLE = "/sys/devices/system/cpu/cpuidle"
_STATES = 10  # states 0 to 9 are described (docs/specs/turbostat.md 5, row 31)
_LATENCY_LIMITS = (
    (PackageState.C3, 0x60A), (PackageState.C6, 0x60B), (PackageState.C7, 0x60C), (PackageState.C8, 0x633),
    (PackageState.C9, 0x634), (PackageState.C10, 0x635),
)
# Interrupt response time limit: unit by bits 12:10 in ns (Intel SDM vol. 4, MSR_PKGC3_IRTL); turbostat takes two bits
_LATENCY_UNITS_NS = (1, 32, 1024, 32768, 1_048_576, 33_554_432, 0, 0)


def _power_ctl(facts: MachineFacts) -> Iterable[HeaderLine]:
    features = facts.machine.platform.features
    word = facts.register(_POWER_CTL) if features.has_nhm_msrs else None
    if word is None:
        return
    promotion = enabled_word(word >> 1 & 1)
    yield HeaderLine(f"cpu{facts.cpu}: MSR_IA32_POWER_CTL: 0x{word:08x} (C1E auto-promotion: {promotion})",
                     "MSR 0x1fc")
    if features.has_cst_prewake:
        yield HeaderLine(f"C-state Pre-wake: {enabled_word(not word >> 30 & 1)}", "MSR 0x1fc")


def _package_limit(facts: MachineFacts) -> Iterable[HeaderLine]:
    features = facts.machine.platform.features
    word = facts.register(_CST_CONFIG) if features.has_nhm_msrs and features.cst_limit else None
    if word is None:
        return
    words = [name for bit, name in ((27, "UNdemote-C3"), (28, "UNdemote-C1"), (25, "demote-C3"), (26, "demote-C1"))
             if word >> bit & 1]
    words.append("locked" if word >> 15 & 1 else "UNlocked")
    words.append(f"pkg-cstate-limit={word & 0xF} ({features.cst_limit[word & 0xF].value})")
    if features.has_auto_conversion:
        words.append(f"automatic c-state conversion={'on' if word >> 16 & 1 else 'off'}")
    yield HeaderLine(f"cpu{facts.cpu}: MSR_PKG_CST_CONFIG_CONTROL: 0x{word:08x} ({', '.join(words)})", "MSR 0xe2")


def _demotion(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.machine.platform.features.has_c6_demotion:
        return
    for address, state in ((0x668, "CC6"), (0x669, "MC6")):
        yield from facts.line(address, f"MSR_{state}_DEMOTION_POLICY_CONFIG", partial(_demotes, state))


def _demotes(state: str, word: int) -> str:
    return f"{'EN' if word & 1 else 'DIS'}able-{state}-Demotion"


def _dma_latency(facts: MachineFacts) -> Iterable[HeaderLine]:
    """The latency that drivers and programs allow idle states, a 4-byte integer (kernel pm_qos_interface.rst)."""
    try:
        (value,) = struct.unpack("<i", read_bytes(facts.machine.host, _DMA_LATENCY, 4))
    except (HostError, struct.error):
        return
    word = "default" if value == _NO_LIMIT_USEC else "constrained"
    yield HeaderLine(f"{_DMA_LATENCY}: {value} usec ({word})", _DMA_LATENCY)


def _driver(facts: MachineFacts) -> Iterable[HeaderLine]:
    files = ("current_driver", "current_governor", "current_governor_ro")
    names = [(name, text) for name in files if (text := facts.text(f"{_CPUIDLE}/{name}"))]
    if not names:
        yield HeaderLine("cpuidle not loaded", _CPUIDLE)
    yield from (HeaderLine(f"{name}: {one_line(text)}", f"{_CPUIDLE}/{name}") for name, text in names)


def _states(facts: MachineFacts) -> Iterable[HeaderLine]:
    for number in range(_STATES):
        folder = f"/sys/devices/system/cpu/cpu{facts.cpu}/cpuidle/state{number}"
        name, description = facts.text(f"{folder}/name"), facts.text(f"{folder}/desc")
        if name is not None and description is not None:
            yield HeaderLine(f"cpu{facts.cpu}: {short_name(one_line(name))}: {one_line(description)}", folder)


def _latency_limits(facts: MachineFacts) -> Iterable[HeaderLine]:
    features = facts.machine.platform.features
    if not features.has_irtl_msrs:
        return
    for state, address in _LATENCY_LIMITS:
        if state in features.pkg_cstates:
            yield from facts.line(address, f"MSR_PKG{state.value.upper()}_IRTL", lambda word: (
                f"{'' if word >> 15 & 1 else 'NOT'}valid, {(word & 0x3FF) * _LATENCY_UNITS_NS[word >> 10 & 7]} ns"))


FACTS = (_power_ctl, _package_limit, _demotion, _dma_latency, _driver, _states, _latency_limits)
