"""The data caches of a CPU, as sysfs describes them (kernel Documentation/ABI/testing/sysfs-devices-system-cpu)."""

from __future__ import annotations

import re
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import cpus_in, names_in
from turbotui.quantities.plain_numbers import integer

_CPUS: Final = "/sys/devices/system/cpu"
_SIZE = r"(\d+)([KMG]?)\Z"
_SCALES: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Cache:
    """A cache that holds data."""

    level: int  # 1, 2, 3 ...
    size: int  # bytes of this instance
    cpus: frozenset[int]  # the CPUs that share it


def read_caches(host: Host, cpu: int) -> tuple[Cache, ...]:
    """The data and unified caches of a CPU by level, as far as the machine describes them."""
    base = f"{_CPUS}/cpu{cpu}/cache"
    caches = (_cache(host, f"{base}/{name}", cpu) for name in names_in(host, base) if re.fullmatch(r"index\d+", name))
    return tuple(sorted((cache for cache in caches if cache is not None), key=lambda cache: cache.level))


def _cache(host: Host, path: str, cpu: int) -> Cache | None:
    try:
        if host.read_text(f"{path}/type").strip() == "Instruction":
            return None
        level = integer(host.read_text(f"{path}/level"))
        size = parse_size(host.read_text(f"{path}/size"))
    except (HostError, ValueError):
        return None
    return Cache(level, size, cpus_in(host, f"{path}/shared_cpu_list") or frozenset({cpu}))


def parse_size(text: str) -> int:
    """Bytes of a size such as "48K" or "32M".

    Raises:
        ValueError: not a size, or zero.
    """
    match = re.match(_SIZE, text.strip())
    if match is None or (number := integer(match[1])) == 0:
        raise ValueError(f"{text.strip()[:40]!r} is not a cache size")
    return number * _SCALES[match[2]]
