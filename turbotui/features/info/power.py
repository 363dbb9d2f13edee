"""Header lines about power: RAPL units, limits and policies, powercap zones (docs/specs/turbostat.md 5, rows 35-40)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from turbotui.dataclass import dataclass
from turbotui.features.info.machine_facts import HeaderLine, MachineFacts, enabled_word
from turbotui.machine.platform_features import RaplRegister
from turbotui.quantities.meters import KINDS
from turbotui.sources import SOURCES
from turbotui.sources.meter_devices import MeterDevice
from turbotui.sources.meter_source import MeterSource
from turbotui.untrusted import one_line

_WATT_HOURS = 1e-6  # of microwatt hours (kernel Documentation/ABI/testing/sysfs-class-power)


def meter_lines(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return a line for each meter, and one for all fans of a chip."""
    devices = [device for source in SOURCES if isinstance(source, MeterSource)
               for device in source.find(facts.machine).devices]
    for device in devices:
        if device.kind != "fan":
            yield HeaderLine(f"{KINDS[device.kind].words}: {device.label}{_more(facts, device)}", device.files[0].path)
    fans = Counter(device.label.partition(" ")[0] for device in devices if device.kind == "fan")
    yield from (HeaderLine(f"fans: {many} at {chip}", "/sys/class/hwmon") for chip, many in fans.items())


def _more(facts: MachineFacts, device: MeterDevice) -> str:
    """Describe a battery's wear, and a meter's averaging time."""
    numbers = {file.quantity: facts.number(file.path) for file in device.files if file.quantity in {"full", "design"}}
    full, design = numbers.get("full"), numbers.get("design")
    if full and design:
        return f", {full * _WATT_HOURS:.1f} of {design * _WATT_HOURS:.1f} Wh when new"
    return "" if device.interval_ms is None else f", averages over {device.interval_ms} ms"


_POWERCAP = "/sys/class/powercap"
_DEFAULT_TDP_WATT = 135.0  # docs/specs/turbostat.md 2.5
_DEFAULT_TIME_EXPONENT = 10  # a time unit of 0 means 10 (docs/specs/turbostat.md 4, 0x606)
_RANGE = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Units:
    """Units of RAPL fields: watts, joules, seconds (Intel SDM vol. 4, MSR_RAPL_POWER_UNIT)."""

    watt: float
    joule: float
    second: float


def units_of(word: int, *, microjoules: bool = False) -> Units:
    """Decode MSR 0x606 or 0xC0010299.

    Args:
        microjoules: whether the energy unit is 2**ESU microjoule, as on Silvermont.
    """
    exponent = word >> 8 & 0x1F
    return Units(watt=2.0 ** -(word & 0xF), joule=2.0**exponent * 1e-6 if microjoules else 2.0**-exponent,
                 second=2.0 ** -((word >> 16 & 0xF) or _DEFAULT_TIME_EXPONENT))


@dataclass(frozen=True, slots=True)
class _Plane:
    """A part of the package with its own limit: title, registers, and the part in the registers' names."""

    title: str
    limit: RaplRegister
    policy: RaplRegister
    name: str


_PLANES = (
    _Plane("Cores", RaplRegister.CORE_POWER_LIMIT, RaplRegister.CORE_POLICY, "PP0"),
    _Plane("GFX", RaplRegister.GFX_POWER_LIMIT, RaplRegister.GFX_POLICY, "PP1"),
)


def limit_seconds(field: int, unit: float) -> float:
    """Decode a limit's time window from its 7 bits: (1 + Z/4) * 2**Y time units (Intel SDM vol. 3, 16.10.3)."""
    return (1.0 + (field >> 5 & 0x3) / 4.0) * 2.0 ** (field & 0x1F) * unit


def _units(facts: MachineFacts, cpu: int) -> tuple[Units, int, str] | None:
    features = facts.machine.platform.features
    if not features.rapl:
        return None
    amd = RaplRegister.AMD_PWR_UNIT in features.rapl
    word = facts.register(RaplRegister.AMD_PWR_UNIT.value if amd else 0x606, cpu)
    if not word:
        return None
    name = "MSR_RAPL_PWR_UNIT" if amd else "MSR_RAPL_POWER_UNIT"  # as turbostat names them
    return units_of(word, microjoules=features.rapl_divisor), word, name


def _range(facts: MachineFacts) -> Iterable[HeaderLine]:
    if (measured_units := _units(facts, facts.cpu)) is None:
        return
    units, features = measured_units[0], facts.machine.platform.features
    info = facts.register(0x614) if RaplRegister.PKG_POWER_INFO in features.rapl else None
    watts = (info & 0x7FFF) * units.watt if info and info & 0x7FFF else features.quirk_tdp_watt or _DEFAULT_TDP_WATT
    origin = "MSR 0x606 and MSR 0x614" if info else "RAPL units and the platform's TDP"
    yield HeaderLine(f"RAPL: {_RANGE * units.joule / watts:.0f} sec. Joule Counter Range, at {watts:.0f} Watts", origin)


def _zones(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return the zones of the kernel's powercap framework: packages and the platform, with their parts."""
    names = [name for name in facts.names(_POWERCAP) if name.startswith("intel-rapl") and ":" in name]
    for name in names:
        title = one_line(facts.text(f"{_POWERCAP}/{name}/name") or "")
        if name.count(":") == 1 and title.startswith(("package", "psys")):
            yield _zone(facts, name, title)
            for part in names:
                if part.startswith(f"{name}:"):
                    yield _zone(facts, part, one_line(facts.text(f"{_POWERCAP}/{part}/name") or ""), f"{name}/")


def _zone(facts: MachineFacts, name: str, title: str, within: str = "") -> HeaderLine:
    folder = f"{_POWERCAP}/{name}"
    name = within + name
    if facts.number(f"{folder}/enabled") == 0:
        return HeaderLine(f"{name}: {title} disabled", folder)
    parts = [f"{name}: {title}"]
    for number in range(5):
        limit = facts.number(f"{folder}/constraint_{number}_power_limit_uw")
        window = facts.number(f"{folder}/constraint_{number}_time_window_us")
        highest = facts.number(f"{folder}/constraint_{number}_max_power_uw")
        text = _window(window) if window else ""
        text += f":{limit // 1_000_000}W" if limit else ""
        text += f",max:{highest // 1_000_000}W" if highest else ""
        if text:
            parts.append(text)
    return HeaderLine(" ".join(parts), folder)


def _window(microseconds: int) -> str:
    if microseconds >= 1_000_000:
        return f"{microseconds / 1e6:.1f}s"
    return f"{microseconds / 1e3:.1f}ms" if microseconds >= 1000 else f"{microseconds:.1f}us"


def _registers(facts: MachineFacts) -> Iterable[HeaderLine]:
    for cpu in facts.packages():
        if (measured_units := _units(facts, cpu)) is None:
            continue
        units, word, name = measured_units
        yield HeaderLine(f"cpu{cpu}: {name}: 0x{word:08x} ({units.watt:f} Watts, {units.joule:f} Joules, "
                         f"{units.second:f} sec.)", "RAPL unit register")
        yield from _package(facts, cpu, units)
        yield from _memory(facts, cpu, units)
        for plane in _PLANES:
            yield from _plane(facts, cpu, units, plane)


def _have(facts: MachineFacts, register: RaplRegister, cpu: int) -> int | None:
    """Return a RAPL register, if this platform has it."""
    return facts.register(register.value, cpu) if register in facts.machine.platform.features.rapl else None


def _info(cpu: int, name: str, word: int, units: Units) -> str:
    """TDP, range and longest window of MSR 0x614 and 0x61C (docs/specs/turbostat.md 4); the comma is turbostat's."""
    tdp, low, high = ((word >> shift & 0x7FFF) * units.watt for shift in (0, 16, 32))
    return (f"cpu{cpu}: {name}: 0x{word:08x} ({tdp:.0f} W TDP, RAPL {low:.0f} - {high:.0f} W, "
            f"{(word >> 48 & 0x3F) * units.second:f} sec.)")


def _locked(bit: int) -> str:
    return "locked" if bit & 1 else "UNlocked"


def _limit(cpu: int, title: str, field: int, units: Units, mark: str = "") -> str:
    """One limit from its 32 bits: power 14:0, enable 15, clamp 16, window 23:17."""
    return (f"cpu{cpu}: {title}: {enabled_word(field >> 15 & 1)} ({(field & 0x7FFF) * units.watt:0.3f} Watts, "
            f"{limit_seconds(field >> 17 & 0x7F, units.second):f}{mark} sec, clamp {enabled_word(field >> 16 & 1)})")


def _package(facts: MachineFacts, cpu: int, units: Units) -> Iterator[HeaderLine]:
    word = _have(facts, RaplRegister.PKG_POWER_INFO, cpu)
    if word is not None:
        yield HeaderLine(_info(cpu, "MSR_PKG_POWER_INFO", word, units), "MSR 0x614")
    if (word := _have(facts, RaplRegister.PKG_POWER_LIMIT, cpu)) is None:
        return
    yield HeaderLine(f"cpu{cpu}: MSR_PKG_POWER_LIMIT: 0x{word:08x} ({_locked(word >> 63)})", "MSR 0x610")
    yield HeaderLine(_limit(cpu, "PKG Limit #1", word & 0xFFFFFFFF, units), "MSR 0x610")
    yield HeaderLine(_limit(cpu, "PKG Limit #2", word >> 32, units, "*"), "MSR 0x610")
    word = facts.register(0x601, cpu)
    if word is not None:
        yield HeaderLine(f"cpu{cpu}: MSR_VR_CURRENT_CONFIG: 0x{word:08x}", "MSR 0x601")
        yield HeaderLine(f"cpu{cpu}: PKG Limit #4: {(word & 0x1FFF) * units.watt:f} Watts ({_locked(word >> 31)})",
                         "MSR 0x601")


def _memory(facts: MachineFacts, cpu: int, units: Units) -> Iterator[HeaderLine]:
    word = _have(facts, RaplRegister.DRAM_POWER_INFO, cpu)
    if word is not None:
        yield HeaderLine(_info(cpu, "MSR_DRAM_POWER_INFO,", word, units), "MSR 0x61c")
    word = _have(facts, RaplRegister.DRAM_POWER_LIMIT, cpu)
    if word is not None:
        yield HeaderLine(f"cpu{cpu}: MSR_DRAM_POWER_LIMIT: 0x{word:08x} ({_locked(word >> 31)})", "MSR 0x618")
        yield HeaderLine(_limit(cpu, "DRAM Limit", word & 0xFFFFFFFF, units), "MSR 0x618")


def _plane(facts: MachineFacts, cpu: int, units: Units, plane: _Plane) -> Iterator[HeaderLine]:
    have = facts.machine.platform.features.rapl
    # The feature sets list no graphics policy, which exists if there is a graphics limit (Intel SDM vol. 4).
    with_policy = plane.limit in have and (plane.policy in have or plane.policy is RaplRegister.GFX_POLICY)
    word = facts.register(plane.policy.value, cpu) if with_policy else None
    if word is not None:  # bits 4:0 (Intel SDM vol. 4)
        yield HeaderLine(f"cpu{cpu}: MSR_{plane.name}_POLICY: {word & 0x1F}", f"MSR {plane.policy.value:#x}")
    word = _have(facts, plane.limit, cpu)
    if word is not None:
        origin = f"MSR {plane.limit.value:#x}"
        yield HeaderLine(f"cpu{cpu}: MSR_{plane.name}_POWER_LIMIT: 0x{word:08x} ({_locked(word >> 31)})", origin)
        yield HeaderLine(_limit(cpu, f"{plane.title} Limit", word & 0xFFFFFFFF, units), origin)


FACTS = (_range, _zones, _registers)
