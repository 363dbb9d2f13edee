"""/proc/vmstat, /proc/meminfo and /proc/loadavg: paging, reclaim, swapping, the memory that is left, load averages.

Counters of /proc/vmstat are the events of include/linux/vm_event_item.h; meminfo is described in kernel
Documentation/filesystems/proc.rst, "meminfo". Load averages are of tasks that run, want to run, or wait without being
interruptible (proc_loadavg(5)); the kernel prints two decimals, and raw readings are hundredths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from turbotui.quantities.plain_numbers import integer, numbers_by_name
from turbotui.quantities.signals import Behavior
from turbotui.quantities.units import Unit
from turbotui.sources.system_files import SystemFact, SystemFiles, named_numbers

VMSTAT: Final = "/proc/vmstat"
MEMINFO: Final = "/proc/meminfo"
_EVENTS: Final = "kernel include/linux/vm_event_item.h"
_MEMINFO_DOCUMENT: Final = "kernel Documentation/filesystems/proc.rst, meminfo"
_KIB: Final = 1024.0
_STALLS: Final = r"allocstall\w*"
_OF_INTEREST: Final = re.compile(rf"^(pswpin|pswpout|pgmajfault|{_STALLS}|oom_kill) (\d+)$", re.MULTILINE)
"""The file has 190 lines, of which these are read."""
_SWAP: Final = "it needs a kernel with CONFIG_SWAP=y"


def _event(signal: str, pattern: str, since: str = "") -> SystemFact:
    return SystemFact(signal, VMSTAT, pattern, Unit.COUNT, Behavior.COUNTER, _EVENTS, since=since)


def _size(signal: str, pattern: str, since: str = "") -> SystemFact:
    return SystemFact(signal, MEMINFO, pattern, Unit.BYTE, Behavior.GAUGE, _MEMINFO_DOCUMENT, _KIB, since)


class ProcVmstat(SystemFiles):
    """The `Source` of /proc/vmstat."""

    id = "proc-vmstat"
    facts = (
        _event("vm.swap_in", "pswpin", _SWAP),
        _event("vm.swap_out", "pswpout", _SWAP),
        _event("vm.major_faults", "pgmajfault"),
        # one for each zone since Linux 4.9: allocstall_dma32, allocstall_normal, allocstall_movable
        _event("vm.direct_reclaims", _STALLS),
        _event("vm.oom_kills", "oom_kill", "use Linux 4.13 or later"),
    )

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        """Return the relevant counters by name."""
        return numbers_by_name(_OF_INTEREST.findall(text))


class ProcMeminfo(SystemFiles):
    """The `Source` of /proc/meminfo."""

    id = "proc-meminfo"
    facts = (
        _size("mem.total", "MemTotal"),
        _size("mem.available", "MemAvailable", "use Linux 3.14 or later"),
        _size("swap.total", "SwapTotal"),
        _size("swap.free", "SwapFree"),
    )

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        """Return KiB by name."""
        return named_numbers(text)


LOADAVG: Final = "/proc/loadavg"
_LOADAVG_DOCUMENT: Final = "proc_loadavg(5)"
_MINUTES: Final = ("1", "5", "15")
_AVERAGE: Final = re.compile(r"([0-9]{1,9})\.([0-9]{2})")


class ProcLoadavg(SystemFiles):
    """The `Source` of /proc/loadavg."""

    id = "proc-loadavg"
    facts = tuple(SystemFact(f"load.{minutes}", LOADAVG, minutes, Unit.COUNT, Behavior.GAUGE, _LOADAVG_DOCUMENT, 0.01)
                  for minutes in _MINUTES)

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        """Return hundredths by the averages' minutes."""
        averages = zip(_MINUTES, (_AVERAGE.fullmatch(word) for word in text.split()[:3]), strict=False)
        return {minutes: integer(word[1]) * 100 + integer(word[2]) for minutes, word in averages if word is not None}
