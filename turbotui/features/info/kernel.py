"""Header lines about performance: cpufreq, HWP, EPB, limits, uncore (docs/specs/turbostat.md 5, rows 21-25, 33-34)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from turbotui.events.uncore.root_ports import DEVICES, read_root_ports
from turbotui.features.info.machine_facts import HeaderLine, MachineFacts, negated_unless
from turbotui.machine.platform_features import LimitReasons
from turbotui.quantities.plain_numbers import integer
from turbotui.untrusted import one_line

_CPU = "/sys/devices/system/cpu"
_UNCORE = f"{_CPU}/intel_uncore_frequency"
_LEGACY = r"(?a)package_(\d{1,9})_die_(\d{1,9})\Z"
_DOMAIN = r"(?a)uncore(\d{1,9})\Z"
_EPB_WORDS = {0: "performance", 6: "balanced", 15: "powersave"}  # docs/specs/turbostat.md 5, row 24

# Bits of the active half; the same 16 higher are what was logged (docs/specs/turbostat.md 4; Intel SDM vol. 4).
_CORE_REASONS = {
    0: "PROCHOT", 1: "ThermStatus", 2: "bit2", 4: "Graphics", 5: "Auto-HWP", 6: "VR-Therm", 8: "Amps", 9: "CorePwr",
    10: "PkgPwrL1", 11: "PkgPwrL2", 12: "MultiCoreTurbo", 13: "Transitions", 14: "bit14", 15: "bit15",
}
# Servers of the Haswell generation: bit 10 is no power limit there (Intel SDM vol. 4, table of the Xeon E5 v3), though
# turbostat names the bits as on client parts.
_SERVER_CORE_REASONS = {
    0: "PROCHOT", 1: "ThermStatus", 2: "PwrBudget", 3: "Platform", 5: "Auto-HWP", 6: "VR-Therm", 8: "Amps",
    10: "MultiCoreTurbo", 13: "BelowBase", 14: "BelowMaxTurbo", 15: "BelowRequest",
}
_HASWELL_SERVER = "hsx"
_GFX_REASONS = {
    0: "PROCHOT", 1: "ThermStatus", 4: "Graphics", 6: "VR-Therm", 8: "Amps", 9: "GFXPwr", 10: "PkgPwrL1",
    11: "PkgPwrL2",
}
_RING_REASONS = {0: "PROCHOT", 1: "ThermStatus", 6: "VR-Therm", 8: "Amps", 10: "PkgPwrL1", 11: "PkgPwrL2"}
_REASONS: Mapping[LimitReasons, tuple[str, Mapping[int, str]]] = {
    LimitReasons.CORE: ("MSR_CORE_PERF_LIMIT_REASONS", _CORE_REASONS),
    LimitReasons.GFX: ("MSR_GFX_PERF_LIMIT_REASONS", _GFX_REASONS),
    LimitReasons.RING: ("MSR_RING_PERF_LIMIT_REASONS", _RING_REASONS),
}


def _cpufreq(facts: MachineFacts) -> Iterable[HeaderLine]:
    for word, file in (("driver", "scaling_driver"), ("governor", "scaling_governor")):
        path = f"{_CPU}/cpu{facts.cpu}/cpufreq/{file}"
        text = facts.text(path)
        if text is None:
            yield HeaderLine(f"NSFOD {path}", path)  # no such file or directory, in turbostat's word
            return
        yield HeaderLine(f"cpu{facts.cpu}: cpufreq {word}: {one_line(text)}", path)
    for words, path in (("cpufreq boost", f"{_CPU}/cpufreq/boost"),
                        ("cpufreq intel_pstate no_turbo", f"{_CPU}/intel_pstate/no_turbo")):
        if (number := facts.number(path)) is not None:
            yield HeaderLine(f"{words}: {number}", path)


def _power_management(facts: MachineFacts) -> Iterable[HeaderLine]:
    if facts.machine.platform.features.has_misc_pwr_mgmt:
        yield from facts.line(0x1AA, "MSR_MISC_PWR_MGMT", lambda word: (
            f"{'DIS' if word & 1 else 'EN'}able-EIST_Coordination {'EN' if word >> 1 & 1 else 'DIS'}able-EPB "
            f"{'EN' if word >> 8 & 1 else 'DIS'}able-OOB"))


def _hwp(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Hardware-controlled performance, per package (Intel SDM vol. 3, section 15.4)."""
    if not facts.has("hwp"):
        return
    for cpu in facts.packages():
        if (enabled := facts.register(0x770, cpu)) is None:
            continue
        yield HeaderLine(f"cpu{cpu}: MSR_PM_ENABLE: 0x{enabled:08x} ({negated_unless(enabled & 1, 'HWP')})",
                         "MSR 0x770")
        if enabled & 1:
            yield from _hwp_details(facts, cpu)


def _hwp_details(facts: MachineFacts, cpu: int) -> Iterator[HeaderLine]:
    yield from facts.line(0x771, "MSR_HWP_CAPABILITIES", lambda word: (
        f"high {word & 0xFF} guar {word >> 8 & 0xFF} eff {word >> 16 & 0xFF} low {word >> 24 & 0xFF}"), cpu)
    yield from facts.line(0x774, "MSR_HWP_REQUEST", lambda word: f"{_request(word)} pkg {word >> 42 & 1:#x}", cpu)
    if facts.has("hwp_pkg_req"):
        yield from facts.line(0x772, "MSR_HWP_REQUEST_PKG", _request, cpu)
    if facts.has("hwp_notify"):
        yield from facts.line(0x773, "MSR_HWP_INTERRUPT", lambda word: (
            f"{'EN' if word & 1 else 'Dis'}_Guaranteed_Perf_Change, {'EN' if word >> 1 & 1 else 'Dis'}_Excursion_Min"),
            cpu)
    yield from facts.line(0x777, "MSR_HWP_STATUS", lambda word: (
        f"{negated_unless(word & 1, 'Guaranteed_Perf_Change')}, {negated_unless(word >> 2 & 1, 'Excursion_Min')}"), cpu)


def _request(word: int) -> str:
    """A request of HWP; the activity window is bits 41:32, all ten of them (Intel SDM vol. 4, IA32_HWP_REQUEST)."""
    return (f"min {word & 0xFF} max {word >> 8 & 0xFF} des {word >> 16 & 0xFF} epp {word >> 24 & 0xFF:#x} "
            f"window {word >> 32 & 0x3FF:#x}")


def _energy_bias(facts: MachineFacts) -> Iterable[HeaderLine]:
    if not facts.has("epb"):
        return
    for cpu in facts.packages():
        path = f"{_CPU}/cpu{cpu}/power/energy_perf_bias"
        value, origin = facts.number(path), path
        if value is None:
            word = facts.register(0x1B0, cpu)
            value, origin = None if word is None else word & 0xF, "MSR 0x1b0"
        if value is not None:
            yield HeaderLine(f"cpu{cpu}: EPB: {value} ({_EPB_WORDS.get(value, 'custom')})", origin)


def _limit_reasons(facts: MachineFacts) -> Iterable[HeaderLine]:
    for cpu in facts.packages():
        for kind in facts.machine.platform.features.limit_reasons:
            if (word := facts.register(kind.value, cpu)) is None:
                continue
            name, bits = _REASONS[kind]
            if kind is LimitReasons.CORE and facts.machine.platform.features.name == _HASWELL_SERVER:
                bits = _SERVER_CORE_REASONS
            active = "".join(f"{reason}, " for bit, reason in bits.items() if word >> bit & 1)
            logged = "".join(f"{reason}, " for bit, reason in bits.items() if word >> bit + 16 & 1)
            yield HeaderLine(f"cpu{cpu}: {name}, 0x{word:08x} (Active: {active}) (Logged: {logged})",
                             f"MSR {kind.value:#x}")


def _uncore(facts: MachineFacts) -> Iterable[HeaderLine]:
    names = facts.names(_UNCORE)
    domains = sorted(((integer(match[1]), name) for name in names if (match := re.match(_DOMAIN, name))), reverse=True)
    for _number, name in domains:
        ids = [facts.number(f"{_UNCORE}/{name}/{file}") for file in ("package_id", "domain_id", "fabric_cluster_id")]
        if None not in ids:
            yield from _range(facts, f"package{ids[0]} domain{ids[1]} cluster{ids[2]}", f"{_UNCORE}/{name}")
    if not domains:
        for name in names:
            match = re.match(_LEGACY, name)
            if match is not None:
                yield from _range(facts, f"package{integer(match[1])} die{integer(match[2])}", f"{_UNCORE}/{name}")


def _range(facts: MachineFacts, where: str, folder: str) -> Iterator[HeaderLine]:
    """Limits, initial limits and the clock now; kHz in the files (kernel intel_uncore_frequency_scaling.rst)."""
    files = ("min_freq_khz", "max_freq_khz", "initial_min_freq_khz", "initial_max_freq_khz")
    read = [facts.number(f"{folder}/{file}") for file in files]
    known = [value // 1000 for value in read if value is not None]
    if len(known) == len(files):
        now = facts.number(f"{folder}/current_freq_khz")
        current = "" if now is None else f" {now // 1000} MHz"
        yield HeaderLine(f"Uncore Frequency {where}: {known[0]} - {known[1]} MHz "
                         f"({known[2]} - {known[3]} MHz){current}", folder)


def _efficiency_latency(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Efficiency latency control of each uncore clock that has it (kernel intel_uncore_frequency_scaling.rst)."""
    for name in facts.names(_UNCORE):
        if re.match(_DOMAIN, name) is None:
            continue
        folder = f"{_UNCORE}/{name}"
        ids = [facts.number(f"{folder}/{file}") for file in ("package_id", "domain_id", "fabric_cluster_id")]
        low, high = (facts.number(f"{folder}/elc_{which}_threshold_percent") for which in ("low", "high"))
        floor, on = facts.number(f"{folder}/elc_floor_freq_khz"), facts.number(f"{folder}/elc_high_threshold_enable")
        if low is None or floor is None:
            continue
        above = "unknown" if on is None else "off" if not on else f"above {high} % of use, the clock goes up stepwise"
        yield HeaderLine(
            f"Efficiency latency control package{ids[0]} domain{ids[1]} cluster{ids[2]}: floor {floor // 1000} MHz "
            f"below {low} % of use; high threshold {above}", folder)


def _root_ports(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return a line for each NVIDIA root port whose place is known, and why for others (nvidia-tegra410-pmu.rst)."""
    unknown: dict[str, list[str]] = {}
    for port in read_root_ports(facts.machine.host):
        if (place := port.place) is not None:
            yield HeaderLine(
                f"Root port {port.address}: segment {place.segment:#x}, RP {place.port}, RC {place.complex}, socket "
                f"{place.socket}: {place.pmus[0]}", f"{DEVICES}/{port.address}/config")
        elif port.why is not None:
            unknown.setdefault(port.why.sentence(), []).append(port.address)
    for why, addresses in unknown.items():
        which = f"{len(addresses)}, from {addresses[0]} to {addresses[-1]}"
        yield HeaderLine(f"Root ports of unknown place: {which} ({why})", f"{DEVICES}/*/config")


PERFORMANCE_FACTS = (_cpufreq, _power_management, _hwp, _energy_bias, _limit_reasons)
UNCORE_FACTS = (_uncore,)
EFFICIENCY_FACTS = (_efficiency_latency, _root_ports)
"""Lines that turbostat does not have."""
