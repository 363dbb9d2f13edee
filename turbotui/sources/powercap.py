"""powercap in sysfs: energy counters and power limits of RAPL domains, as the intel_rapl drivers show them.

Files: kernel Documentation/power/powercap/powercap.rst; zone names in drivers/powercap/intel_rapl_common.c. AMD
processors appear under the same names; the zone `core`, which counts all cores of an Intel package, is one core there.
A package's energy contains that of its sub-zones, so each zone feeds a signal of its own. The intel-rapl-mmio zones
are the same counters seen through another door and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import AMD_VENDORS
from turbotui.machine.host import Host
from turbotui.machine.kernel_build import no_driver
from turbotui.machine.machine import Machine
from turbotui.machine.platform_features import DRAM_JOULE, DRAM_ROUNDED_JOULE
from turbotui.machine.small_files import names_in
from turbotui.machine.topology import Topology
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals, pattern_of
from turbotui.sources.sysfs_files import read_line, read_number

CLASS = "/sys/class/powercap"
_DOCUMENT = "kernel Documentation/power/powercap/powercap.rst"
_MICRO = 1e-6  # energies in microjoules, powers in microwatts (powercap.rst)
_ZONE = r"intel-rapl:([0-9]{1,9})(?::([0-9]{1,9}))?"
_PACKAGE = r"package-([0-9]{1,9})(?:-die-([0-9]{1,9}))?"

# Sub-zones by name (intel_rapl_common.c, rapl_domain_names).
_SUB_ZONES: dict[str, SignalId] = {"core": "energy.cores", "uncore": "energy.gpu", "dram": "energy.ram"}
_WORDS: dict[SignalId, str] = {
    "energy.pkg": "package",
    "energy.cores": "core",
    "energy.gpu": "uncore",
    "energy.ram": "dram",
    "energy.psys": "psys",
}
# Constraints by name (intel_rapl_common.c, pl_names).
_LIMITS: dict[str, SignalId] = {
    "long_term": "limit.pkg.pl1",
    "short_term": "limit.pkg.pl2",
    "peak_power": "limit.pkg.pl4",
}
_CORES: SignalId = "energy.cores"
_TDP: SignalId = "limit.pkg.tdp"
# The driver gives the thermal design power as the most that the long-term limit can be (intel_rapl_common.c,
# get_max_power).
_LONG_TERM = "long_term"
_SIGNALS = (*_WORDS, *_LIMITS.values(), _TDP)

_NO_LIMIT_WATTS = 1000.0  # taken as full rate where no limit says less: above the largest package sold
_OVER_LIMIT = 2.0  # short peaks exceed a limit that is kept on average
_LEAST_WATTS = 100.0  # full rate whatever the limit, which may be set again, or be lower than a machine can keep
_BITS = 63  # of a count in microjoules, u64 in the kernel (struct powercap_zone_ops)

_ROUNDED_RANGE_UJ = int((2**32 - 1) * DRAM_ROUNDED_JOULE * 1e6)
"""max_energy_range_uj of a dram zone whose counts the driver multiplied by the rounded unit (intel_rapl_common.c)."""

# The kernel gives energy to root alone, because fine readings of it leak what others compute (CVE-2020-8694).
_REMEDY = (
    "run as root, or let a GROUP read it: echo 'z /sys/class/powercap/intel-rapl:*/energy_uj 0440 root GROUP' "
    "> /etc/tmpfiles.d/rapl.conf && systemd-tmpfiles --create rapl.conf "
    "(the kernel keeps it from users because of CVE-2020-8694)"
)


@dataclass(frozen=True, slots=True)
class _Zone:
    """One file that feeds one signal of one package, die or the system."""

    signal: SignalId
    row: RowId
    path: str
    range_uj: int = 0
    watts: float = _NO_LIMIT_WATTS


class Powercap(LocatedFiles):
    """The `Source` of the intel-rapl powercap zones, of the package and die around a CPU."""

    id = "powercap"

    def _find(self, machine: Machine) -> LocatedSignals:
        """List the zones."""
        zones, note = _zones(machine)
        if not zones:
            return LocatedSignals(dict.fromkeys(_SIGNALS, _absent(machine)), note)
        signals: dict[SignalId, LocatedSignal | Unavailable] = {}
        for signal in _SIGNALS:
            answer = _described(signal, zones)
            signals[signal] = LocatedSignal.at(answer, partial(_path, machine, signal, zones)) if isinstance(
                answer, Signal) else answer
        if machine.model.vendor in AMD_VENDORS and isinstance(signals[_CORES], LocatedSignal):
            signals[_CORES] = _one_core(zones)
        return LocatedSignals(signals, note)

    def remedy(self, name: SignalId) -> str:
        return _REMEDY if name in _WORDS else ""


def _path(machine: Machine, signal: SignalId, zones: Sequence[_Zone], cpu: int) -> str | None:
    return next((zone.path for zone in zones if zone.signal == signal
                 and (zone.row == SYSTEM_ROW or machine.topology.row(zone.row.scope, cpu) == zone.row)), None)


def _zones(machine: Machine) -> tuple[tuple[_Zone, ...], str]:
    """All zones that belong to something measured, and a line about those that do not or are switched off."""
    host, topology = machine.host, machine.topology
    names = [name for name in names_in(host, CLASS) if re.fullmatch(_ZONE, name)]
    words = {name: read_line(host, f"{CLASS}/{name}/name") or "" for name in names}
    rows = _package_rows(words, topology)
    if machine.model.vendor in AMD_VENDORS:
        rows = _one_for_each_package(rows, topology)
    zones: list[_Zone] = []
    notes: list[str] = []
    platforms = [name for name in names if words[name] == "psys"]
    owners: dict[tuple[str, RowId], str] = {}
    for name in names:
        word, parent = words[name], name.rpartition(":")[0]
        row = rows.get(name) or rows.get(parent)
        owner = name if row is None else owners.setdefault((word, row), name)
        if owner != name:
            notes.append(f"{name} ({word}): {owner} has this name too and is read")
        elif name in rows and row is not None:
            zones.append(_energy_zone(host, name, "energy.pkg", row))
            zones.extend(_limit_zones(host, name, row))
            if read_line(host, f"{CLASS}/{name}/enabled") == "0":
                notes.append(f"{name} ({word}): its power limits are not enabled")
        elif word == "psys":
            if name == platforms[0]:
                zones.append(_energy_zone(host, name, "energy.psys", SYSTEM_ROW))
        elif word in _SUB_ZONES and row is not None:
            zones.append(_energy_zone(host, name, _SUB_ZONES[word], row))
        else:
            notes.append(f"{name} ({word or 'no name'}): belongs to nothing measured here")
    if len(platforms) > 1:
        notes.append(f"{len(platforms)} psys zones; {platforms[0]} is read")
    return tuple(zones), "; ".join(notes)


def zone_scope(host: Host) -> Scope | None:
    """Tell whether the package zones are named after dies or after packages; None without such zones."""
    names = [name for name in names_in(host, CLASS) if re.fullmatch(_ZONE, name)]
    words = (read_line(host, f"{CLASS}/{name}/name") or "" for name in names)
    matches = [match for word in words if (match := re.fullmatch(_PACKAGE, word))]
    if not matches:
        return None
    return Scope.PACKAGE if all(match[2] is None for match in matches) else Scope.DIE


def _package_rows(words: Mapping[str, str], topology: Topology) -> dict[str, RowId]:
    """The package or die that each package zone is named after."""
    matches = {name: match for name, word in words.items() if (match := re.fullmatch(_PACKAGE, word))}
    packages = topology.instances(Scope.PACKAGE)
    known = {instance.row.key[0]: instance.row for instance in packages}
    numbers = {integer(match[1]) for match in matches.values() if match[2] is None}
    # the number is the physical package id; kernels before 5.3 counted packages from 0, which shows where ids are
    # sparse: numbers that are not all ids, but as many as there are packages, are positions
    by_position = not numbers <= known.keys() and numbers == set(range(len(packages)))
    rows: dict[str, RowId] = {}
    for name, match in matches.items():
        package = integer(match[1])
        if match[2] is not None:
            row = RowId(Scope.DIE, (package, integer(match[2])))
            if topology.instance(row) is not None:
                rows[name] = row
        elif by_position:
            rows[name] = packages[package].row
        elif package in known:
            rows[name] = known[package]
    return rows


def _one_for_each_package(rows: Mapping[str, RowId], topology: Topology) -> dict[str, RowId]:
    """Return the first zone of each package, because on AMD the zones of its dies are the same counter."""
    zones: dict[RowId, str] = {}
    for name, row in rows.items():
        if (instance := topology.instance(row)) is not None and instance.cpus:
            # Linux takes core complexes for dies from 6.9 on, and had a zone for each until intel_rapl_common.c was
            # mended; the register behind them is the package's (AMD PPR, Core::X86::Msr::PKG_ENERGY_STAT)
            zones.setdefault(topology.row(Scope.PACKAGE, instance.cpus[0]), name)
    return {name: row for row, name in zones.items()}


def _energy_zone(host: Host, name: str, signal: SignalId, row: RowId) -> _Zone:
    directory = f"{CLASS}/{name}"
    limits = [read_number(host, f"{directory}/constraint_{place}_power_limit_uw") for place in range(3)]
    highest = max((limit for limit in limits if limit), default=0) * _MICRO * _OVER_LIMIT
    return _Zone(signal, row, f"{directory}/energy_uj", range_uj=read_number(host, f"{directory}/max_energy_range_uj")
                 or 0, watts=min(max(highest, _LEAST_WATTS), _NO_LIMIT_WATTS) if highest else _NO_LIMIT_WATTS)


def _limit_zones(host: Host, name: str, row: RowId) -> list[_Zone]:
    zones = []
    for place in range(8):  # constraints are numbered from 0 without gaps (powercap.rst)
        word = read_line(host, f"{CLASS}/{name}/constraint_{place}_name")
        if word is None:
            break
        if word in _LIMITS:
            zones.append(_Zone(_LIMITS[word], row, f"{CLASS}/{name}/constraint_{place}_power_limit_uw"))
        most = f"{CLASS}/{name}/constraint_{place}_max_power_uw"
        if word == _LONG_TERM and read_number(host, most):
            zones.append(_Zone(_TDP, row, most))
    return zones


def _described(signal: SignalId, all_zones: Sequence[_Zone]) -> Signal | Unavailable:
    is_energy = signal in _WORDS
    zones = [zone for zone in all_zones if zone.signal == signal]
    if not zones:
        what = f"zone {_WORDS[signal]}" if is_energy else "constraint of this kind"
        return Unavailable(Reason.NO_HARDWARE, f"{CLASS}: this machine has no {what}")
    ranges = {zone.range_uj for zone in zones}
    if is_energy and ranges == {0}:
        return Unavailable(Reason.FAILED, f"{zones[0].path}: max_energy_range_uj beside it does not say when it wraps")
    zone = zones[0]
    wraps = is_energy and len(ranges) == 1 and 0 < zone.range_uj < 1 << _BITS  # else one that goes down is unknown
    return Signal(signal, zone.row.scope, Unit.JOULE if is_energy else Unit.WATT,
        Behavior.COUNTER if is_energy else Behavior.GAUGE, Reduce.SUM, origin=pattern_of(zone.path for zone in zones),
        document=_DOCUMENT, scale=_MICRO * _correction(zone), width_bits=_BITS if wraps else 64,
        values=zone.range_uj + 1 if wraps else 0,  # it goes from the range, 2**32 units in microjoules, to 0
        wrap_seconds=zone.range_uj * _MICRO / max(zone.watts for zone in zones) if wraps else 0.0)


def _one_core(zones: Sequence[_Zone]) -> Unavailable:
    """Return why AMD's zone `core` is not the energy of all of a package's cores."""
    # the zone reads MSR 0xC001029A on the package's lead CPU, and that register is each core's own (intel_rapl_msr.c,
    # rapl_msr_priv_amd; AMD PPR, Core::X86::Msr::CORE_ENERGY_STAT)
    path = next(zone.path for zone in zones if zone.signal == _CORES)
    return Unavailable(
        Reason.NO_HARDWARE,
        f"{path}: on AMD the zone core counts one core, that of the package's lead CPU, and not all of them"
        " (each core's energy is in the perf PMU power_core and in the MSR device)")


def _correction(zone: _Zone) -> float:
    """Correction factor of a dram zone in rounded units, so that powercap, perf and the register agree."""
    rounded = zone.signal == "energy.ram" and zone.range_uj == _ROUNDED_RANGE_UJ
    return DRAM_JOULE / DRAM_ROUNDED_JOULE if rounded else 1.0


def _absent(machine: Machine) -> Unavailable:
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, f"{CLASS} has no intel-rapl zone: guests are not shown energy counters")
    if machine.model.architecture not in {"x86_64", "i386", "i686", ""}:
        return Unavailable(Reason.NO_HARDWARE, f"{CLASS} has no intel-rapl zone: RAPL is in x86 processors")
    return no_driver(machine.host, "intel_rapl_msr", "INTEL_RAPL", f"{CLASS} has no intel-rapl zone",
                     remedy="modprobe intel_rapl_msr (for AMD too, from Linux 5.11 on)")
