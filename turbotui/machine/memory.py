"""Memory channels as firmware and kernel describe them: SMBIOS type 17 and EDAC.

SMBIOS (DMTF DSP0134 3.7, 7.18 "Memory Device") has speed, width and a name of each slot; only root may read it. EDAC
(kernel admin-guide/RAS/main.rst) has channels, but no speed. A guest's firmware describes memory that its host made up.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import read_bytes
from turbotui.machine.small_files import line_of, names_in
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.sentences import several
from turbotui.untrusted import decoded, one_line

_ENTRIES: Final = "/sys/firmware/dmi/entries"
_CONTROLLERS: Final = "/sys/devices/system/edac/mc"
_LARGEST: Final = 4096  # bytes of one SMBIOS structure with its texts
_UNKNOWN: Final = 0xFFFF  # SMBIOS 3, 7.18: a width is unknown, a speed is in the extended field
_CHANNEL: Final = r"(?i)^(.*?)channel[ _-]?([a-z]|\d+)"
_LAYER: Final = r"([a-z]+) (\d+)"
_WITHIN_A_CHANNEL: Final = frozenset({"slot", "csrow"})
NFIT: Final = "/sys/firmware/acpi/tables/NFIT"
"""The ACPI table that machines with persistent memory have; perf also uses its presence (#has_pmem)."""
_NODES: Final = "/sys/devices/system/node"
_CLIENT: Final = "Intel_client"  # igen6_edac, whose channels are 16, 32 or 64 bits wide, without telling which


@dataclass(frozen=True, slots=True)
class Module:
    """An installed memory module, or soldered memory."""

    slot: str  # device locator and bank locator in the firmware's words
    channel: str  # the locators up to the channel's name; "" if they name no channel
    bits: int | None  # bits of data, without error correction; None if unknown
    mts: int | None  # configured speed in million transfers a second; None if unknown
    kind: str = ""  # "DDR5"; "" for one that is in no table here
    mebibytes: int | None = None  # size; None if unknown
    ranks: int | None = None  # None if unknown


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Memory of a machine as firmware and kernel describe it."""

    modules: tuple[Module, ...]  # the modules by SMBIOS, without empty slots; empty if it cannot be read
    channels: int  # the number of channels with memory, by EDAC; 0 if unknown
    why: str  # why SMBIOS has no modules, for people; "" if it has


_KINDS: Final = {
    0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2", 0x1D: "LPDDR3", 0x1E: "LPDDR4",
    0x1F: "persistent", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}
"""Types of memory (DSP0134 3.7, 7.18.2)."""
_IN_EXTENDED: Final = 0x7FFF  # 7.18.1: the size in MiB is in the extended field
_IN_KIBIBYTES: Final = 0x8000


def modules_in_words(modules: Sequence[Module]) -> str:
    """Describe modules, equal ones together: "16 x 32 GiB DDR5 4800 MT/s 2 ranks"; "" for none."""
    kinds: dict[str, int] = {}
    for module in modules:
        size = "" if module.mebibytes is None else (
            f"{module.mebibytes // 1024} GiB" if module.mebibytes % 1024 == 0 else f"{module.mebibytes} MiB")
        speed = "" if module.mts is None else f"{module.mts} MT/s"
        ranks = "" if module.ranks is None else several(module.ranks, "rank")
        kind = " ".join(word for word in (size, module.kind, speed, ranks) if word)
        kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(f"{number} x {kind or 'unknown'}" for kind, number in sorted(kinds.items()))


def read_memory(host: Host) -> MemoryFacts:
    """Read what firmware and kernel tell about the memory, without failing: unknown facts are empty."""
    modules, why = _modules(host)
    return MemoryFacts(modules, _edac_channels(host), why)


def _modules(host: Host) -> tuple[tuple[Module, ...], str]:
    try:
        names = host.list_dir(_ENTRIES)
    except HostError:
        return (), f"there is no {_ENTRIES} (SMBIOS)"
    modules: list[Module] = []
    for name in names:
        if not name.startswith("17-"):
            continue
        try:
            module = parse_module(read_bytes(host, f"{_ENTRIES}/{name}/raw", _LARGEST))
        except HostError as error:
            root = "; root can" if error.name in ("EACCES", "EPERM") else ""
            return (), f"{_ENTRIES}/{name}/raw cannot be read ({error.name}){root}"
        if module is not None:
            modules.append(module)
    return tuple(modules), "" if modules else "SMBIOS names no memory module"


def parse_module(raw: bytes) -> Module | None:
    """Parse an SMBIOS structure of type 17; None for an empty slot, or another structure."""
    if len(raw) < 0x15 or raw[0] != 17 or not 0x15 <= raw[1] <= len(raw):
        return None
    body, texts = raw[: raw[1]], raw[raw[1]:].split(b"\0")
    if not _word(body, 0x0C):  # size; 0 for an empty slot
        return None

    def text(offset: int) -> str:
        number = body[offset]
        return one_line(decoded(texts[number - 1])) if 0 < number <= len(texts) else ""

    locators = [text(0x10), text(0x11)]
    named = (re.match(_CHANNEL, locator) for locator in locators)
    channel = next((match[0].lower() for match in named if match), "")
    # The configured speed; the module's highest speed says nothing about this machine.
    speed = _word(body, 0x20)
    mts = _double(body, 0x58) if speed == _UNKNOWN else speed
    bits = _word(body, 0x0A)
    return Module(" ".join(locator for locator in locators if locator), channel,
                  bits if bits not in (0, None, _UNKNOWN) else None, mts or None, _KINDS.get(body[0x12], ""),
                  _mebibytes(body), body[0x1B] & 0xF or None if len(body) > 0x1B else None)


def _mebibytes(body: bytes) -> int | None:
    """Return the size by the field at 0x0C or the extended one (DSP0134 3.7, 7.18.1, 7.18.4); None if unknown."""
    size = _word(body, 0x0C)
    if size is None or size == _UNKNOWN:
        return None
    if size == _IN_EXTENDED:
        extended = _double(body, 0x1C)
        return None if extended is None else extended & 0x7FFFFFFF or None
    return (size & 0x7FFF) // 1024 if size & _IN_KIBIBYTES else size


def _word(body: bytes, offset: int) -> int | None:
    """Return a 16-bit field; None if this version of the structure ends before it."""
    return struct.unpack_from("<H", body, offset)[0] if offset + 2 <= len(body) else None


def _double(body: bytes, offset: int) -> int | None:
    return struct.unpack_from("<I", body, offset)[0] if offset + 4 <= len(body) else None


def channels_named(modules: Sequence[Module], packages: int) -> tuple[tuple[Module, ...], ...]:
    """Group modules by channel; empty if their names do not identify channels reliably.

    That is the case if a module names no channel, if two modules have one name, or if channels of several packages are
    named as those of one.
    """
    groups = lists_by_key((module.channel, module) for module in modules)
    if "" in groups or len({module.slot for module in modules}) < len(modules):
        return ()
    before = {match[1] for name in groups if (match := re.match(_CHANNEL, name)) is not None}
    return () if packages > 1 and len(before) < packages else tuple(tuple(group) for group in groups.values())


def memory_tiers(host: Host) -> frozenset[str]:
    """Return kinds of memory that few machines have: "pmem" (persistent) and "side-cache" (a cache of other memory).

    Kernel admin-guide/mm/numaperf.rst: nodes with a cache beside their memory have a directory memory_side_cache.
    """
    sided = any(host.exists(f"{_NODES}/{name}/memory_side_cache") for name in names_in(host, _NODES)
                if re.fullmatch(r"node\d+", name))
    return frozenset(word for word, there in (("pmem", host.exists(NFIT)), ("side-cache", sided)) if there)


def _edac_channels(host: Host) -> int:
    channels: set[tuple[str, ...]] = set()
    for controller in names_in(host, _CONTROLLERS):
        base = f"{_CONTROLLERS}/{controller}"
        if not re.fullmatch(r"mc\d+", controller) or line_of(host, f"{base}/mc_name").startswith(_CLIENT):
            continue
        for name in names_in(host, base):
            if not re.fullmatch(r"(?:dimm|rank)\d+", name) or line_of(host, f"{base}/{name}/size") in ("", "0"):
                continue
            layers = dict(re.findall(_LAYER, line_of(host, f"{base}/{name}/dimm_location")))
            if "channel" not in layers:
                return 0
            channels.add((controller, *(f"{layer} {number}" for layer, number in layers.items()
                                        if layer not in _WITHIN_A_CHANNEL)))
    return len(channels)
