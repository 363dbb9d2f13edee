"""resctrl's counts of memory bandwidth, summed over all groups: the bytes between each L3 cache and memory.

Every task is in one CTRL_MON group, whose counts have those of the MON groups in it, so that their sum is all tasks'
(kernel Documentation/filesystems/resctrl.rst, "mon_data"). A group's counter may begin anew with the group: only what
is added while a group is seen counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.resctrl import domains_of, resctrl_groups, resctrl_info, resctrl_mount, why_no_resctrl
from turbotui.machine.small_files import names_in, text_of
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, SharedSource
from turbotui.sources.source import Probe, SharedReader

TOTAL: Final[SignalId] = "resctrl.mbm_total"
_EVENT: Final = "mbm_total_bytes"
_CPUS: Final = "/sys/devices/system/cpu"


class ResctrlBandwidth(SharedSource):
    """The `Source` of mbm_total_bytes of all groups together, by L3 cache."""

    id = "resctrl-bandwidth"
    title = "resctrl"
    gives = "bytes between the L3 caches and memory, where no memory controller counts"

    def probe(self, machine: Machine) -> Probe:
        """Look for the event, and read each cache's counts once."""
        why = _why_not(machine)
        return Probe({TOTAL: why or Signal(
            TOTAL, Scope.L3, Unit.BYTE, Behavior.COUNTER, Reduce.SUM,
            origin=f"{resctrl_mount(machine.host)}: mon_data/mon_L3_*/{_EVENT} of every group",
            document="kernel Documentation/filesystems/resctrl.rst")})

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:  # noqa: ARG002 - as above
        """Open the counts of the L3 caches of the machine's topology."""
        return _Reader(machine.host, _domains(machine))


def _why_not(machine: Machine) -> Unavailable | None:
    host = machine.host
    top = resctrl_mount(host)
    if not top:
        return why_no_resctrl(host)
    if _EVENT not in resctrl_info(host, top).events.get("L3", ()):
        return Unavailable(Reason.NO_HARDWARE, f"resctrl: info/L3_MON/mon_features has no {_EVENT} here")
    counts = _counts(host, top)
    unread = next((group for group, found in counts.items() if any(value is None for value in found.values())), None)
    if not counts or unread is not None:
        return Unavailable(Reason.NOT_SET, f"resctrl: no counter of bandwidth is assigned to the group {unread or '/'}",
                           "turbotui groups shows the groups of resctrl, and how one is assigned")
    there = {domain for found in counts.values() for domain in found}
    if any(domain not in there for domain in _domains(machine)):
        return Unavailable(Reason.NO_DRIVER, "resctrl: its domains are not those of the L3 caches that sysfs describes")
    return None


def _domains(machine: Machine) -> tuple[str, ...]:
    """Return the domain of each L3 cache, by the cache ids of sysfs."""
    return tuple(f"L3 {_cache_id(machine.host, one.cpus[0]):02d}" for one in machine.topology.instances(Scope.L3))


def _cache_id(host: Host, cpu: int) -> int:
    base = f"{_CPUS}/cpu{cpu}/cache"
    for name in names_in(host, base):
        if text_of(host, f"{base}/{name}/level").strip() == "3":
            found = whole_number(text_of(host, f"{base}/{name}/id").strip())
            return -1 if found is None else found
    return -1


def _counts(host: Host, top: str) -> Mapping[str, Mapping[str, int | None]]:
    """Return the bytes by group and domain; None for a domain whose file has a word instead of a number."""
    found: dict[str, dict[str, int | None]] = {}
    for group in resctrl_groups(host, top):
        if not group.is_monitor:
            group_counts = found[group.path] = {}
            for domain, directory in domains_of(host, group.directory).items():
                if domain.startswith("L3 "):
                    group_counts[domain] = whole_number(text_of(host, f"{directory}/{_EVENT}").strip())
    return found


class _Reader(NothingToClose):
    """Adds up the increases of all groups' counters since the previous reading.

    Args:
        domains: of each L3 cache, in topology order.
    """

    def __init__(self, host: Host, domains: Sequence[str]) -> None:
        self._host = host
        self._domains = tuple(domains)
        self._top = resctrl_mount(host)
        self._before: Mapping[str, Mapping[str, int | None]] = {}
        self._totals = dict.fromkeys(domains, 0)

    @property
    def signals(self) -> tuple[SignalId, ...]:
        return (TOTAL,)

    def read(self) -> Sequence[Sequence[Raw]]:
        """Return the bytes of each L3 cache since the reader was opened; None if a group has no number now."""
        now = _counts(self._host, self._top) if self._top else {}
        unknown = {domain for domain in self._domains if not now or any(by_domain.get(domain) is None
                                                                        for by_domain in now.values())}
        for group, by_domain in now.items():
            for domain, value in by_domain.items():
                before = self._before.get(group, {}).get(domain)
                if value is not None and before is not None and domain in self._totals:
                    self._totals[domain] += max(0, value - before)
        self._before = now
        return [[None if domain in unknown else self._totals[domain] for domain in self._domains]]
