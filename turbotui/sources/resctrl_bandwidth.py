"""resctrl's counts of all groups together: the bytes between each L3 cache and memory, and what the cache holds.

Every task is in one CTRL_MON group, whose counts have those of the MON groups in it, so that their sum is all tasks'
(kernel Documentation/filesystems/resctrl.rst, "mon_data"). A group's counters begin with the group, at 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.open_files import FileReading, GoneError, OpenFiles, Values
from turbotui.machine.resctrl import (
    OCCUPANCY,
    UNASSIGNED,
    ResctrlGroup,
    assignment_mode,
    domains_of,
    event_value,
    nodes_of,
    resctrl_groups,
    resctrl_info,
    resctrl_mount,
    why_no_resctrl,
)
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.timed_reads import lost_ns
from turbotui.quantities.plain_numbers import integer, whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import SharedSource
from turbotui.sources.source import Probe, SharedReader

TOTAL: Final[SignalId] = "resctrl.mbm_total"
_EVENT: Final = "mbm_total_bytes"
_CPUS: Final = "/sys/devices/system/cpu"


@dataclass(slots=True)
class DomainTotal:
    """The sum of an event over all groups in one domain."""

    total: int = 0  # what a counter rose by since the first reading; of the occupancy, the bytes now
    gaps: int = 0  # how often a part of the rise was missed
    at_ns: int = 0  # monotonic clock in the middle of the reading
    unsure_ns: int = 0  # how far a part of it may have been read from there, beyond what is so at every reading
    quickest_ns: int = 0  # the quickest reading of the same groups
    why: Unavailable | None = None  # why it is unknown now


class ResctrlTotals:
    """Adds up events of all groups by L3 cache, and by sub-NUMA node of one.

    What a removed group counted after its last reading is in no file any more, and nobody knows what a domain counted
    that has just come: each is a gap. A domain whose CPUs are offline moves nothing.
    """

    def __init__(self, host: Host, top: str, events: Sequence[str]) -> None:
        self._host = host
        self._top = top
        self._events = events
        self._files = OpenFiles(host)
        self._is_first = True
        self._assigned = False
        self._groups: tuple[ResctrlGroup, ...] = ()
        self._folders: Mapping[str, str] = {}  # "L3 00", or "L3 00 node 1" of a sub-NUMA node -> folder in mon_data
        self._before: dict[str, int | None] = {}  # path -> last count; None if it has had no number yet
        self._begun: set[str] = set()  # paths of groups that were made while this was read, until they have a number
        self._totals: dict[str, dict[str, DomainTotal]] = {}

    def read(self) -> Mapping[str, Mapping[str, DomainTotal]]:
        """Read every group in every domain: domain or node -> event -> sum; the same objects at each reading."""
        self._list()
        for domain, events in self._totals.items():
            folder = self._folders.get(domain)
            for event, into in events.items():
                began_ns = self._files.read_ns = self._host.now_ns()
                into.why = None if self._folders else why_no_resctrl(self._host)
                rise = 0 if folder is None else sum(
                    self._rise(into, f"{group.directory}/mon_data/{folder}/{event}", event, group)
                    for group in self._groups)
                into.total = rise if event == OCCUPANCY else into.total + rise
                took_ns = self._files.read_ns - began_ns
                into.quickest_ns = min(into.quickest_ns or took_ns, took_ns)
                into.at_ns, into.unsure_ns = began_ns + (took_ns >> 1), lost_ns(took_ns, into.quickest_ns) >> 1
        self._is_first = False
        return self._totals

    def close(self) -> None:
        """Close every file."""
        self._files.close()

    def _list(self) -> None:
        """Note which groups and domains there are now; a group or a domain that went leaves a gap."""
        host, top = self._host, self._top
        self._assigned = bool(assignment_mode(host, top))
        groups = tuple(group for group in resctrl_groups(host, top) if self._assigned or not group.is_monitor)
        domains = [name for name in domains_of(host, top) if name.startswith("L3 ")]
        folders = dict(pair for domain in domains for pair in self._parts(domain))
        if (groups, folders) == (self._groups, self._folders) and not self._is_first:
            return
        self._files.retry()
        known = {group.directory for group in self._groups}
        paths: dict[str, int | None] = {}
        for domain, folder in folders.items():
            came = domain not in self._folders
            events = self._totals.setdefault(domain, {event: DomainTotal() for event in self._events})
            for event, into in events.items():
                into.gaps += came and not self._is_first
                into.quickest_ns = 0
                for group in groups:
                    path = f"{group.directory}/mon_data/{folder}/{event}"
                    paths[path] = self._before.get(path)
                    if not (came or group.directory in known):
                        self._begun.add(path)
        for domain, folder in self._folders.items():
            for event, into in self._totals[domain].items():
                gone = {f"{group.directory}/mon_data/{folder}/{event}" for group in self._groups} - paths.keys()
                into.gaps += bool(gone)
                self._begun -= gone
                for path in gone:
                    self._files.forget(path)
        self._groups, self._folders, self._before = groups, folders, paths

    def _parts(self, domain: str) -> Iterator[tuple[str, str]]:
        """Yield a domain and the sub-NUMA nodes in it, with their folders."""
        folder = f"mon_{domain.replace(' ', '_')}"
        yield domain, folder
        for node in nodes_of(self._host, f"{self._top}/mon_data/{folder}"):
            yield f"{domain} node {integer(node)}", f"{folder}/mon_sub_L3_{node}"

    def _rise(self, into: DomainTotal, path: str, event: str, group: ResctrlGroup) -> int:
        """Return what a group adds; a gap or the reason is noted where that is not known."""
        reading = self._reading(into, path)
        value = reading if isinstance(reading, Unavailable) else reading.values[""]
        if group.is_monitor:  # its CTRL_MON group has its count, or lacks it without a word if no counter is assigned
            if value is UNASSIGNED and event != OCCUPANCY:
                self._unknown(into, UNASSIGNED, group)
            return 0
        before = self._before[path]
        if not isinstance(value, int):
            self._unknown(into, value if isinstance(value, Unavailable) else Unavailable(
                Reason.FAILED, f"{path} has no whole number"), group)
            into.gaps += before is not None and event != OCCUPANCY
            self._before[path] = None
            return 0
        self._before[path] = value
        if event == OCCUPANCY:
            return value
        if before is None:
            begun = path in self._begun
            self._begun.discard(path)
            return value if begun else 0
        into.gaps += value < before
        return max(0, value - before)

    def _reading(self, into: DomainTotal, path: str) -> FileReading | Unavailable:
        for _ in range(2):
            try:
                return self._files.read(path, _value)
            except GoneError:  # the group was removed; another one may have its name
                into.gaps += 1
                self._before[path] = None
                self._begun.add(path)
        return Unavailable(Reason.OFFLINE, f"{path}: the group was removed")

    @staticmethod
    def _unknown(into: DomainTotal, why: Unavailable, group: ResctrlGroup) -> None:
        into.why = into.why or replace(why, detail=f"group {group.path}: {why.detail}")


def _value(content: bytes) -> Values:
    return {"": event_value(content)}


class ResctrlBandwidth(SharedSource):
    """The `Source` of mbm_total_bytes of all groups together, by L3 cache."""

    id = "resctrl-bandwidth"
    title = "resctrl"
    gives = "bytes between the L3 caches and memory, where no memory controller counts"

    def probe(self, machine: Machine) -> Probe:
        """Look for the event, and read each cache's counts once."""
        return Probe({TOTAL: _why_not(machine) or Signal(
            TOTAL, Scope.L3, Unit.BYTE, Behavior.COUNTER, Reduce.SUM,
            origin=f"{resctrl_mount(machine.host)}: mon_data/mon_L3_*/{_EVENT} of every group",
            document="kernel Documentation/filesystems/resctrl.rst")})

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:  # noqa: ARG002 - as above
        """Open the counts of the L3 caches of the machine's topology."""
        return _Reader(machine.host, _domains(machine))


def _why_not(machine: Machine) -> Unavailable | None:
    host = machine.host
    if not (top := resctrl_mount(host)):
        return why_no_resctrl(host)
    if _EVENT not in resctrl_info(host, top).events.get("L3", ()):
        return Unavailable(Reason.NO_HARDWARE, f"resctrl: info/L3_MON/mon_features has no {_EVENT} here")
    totals = ResctrlTotals(host, top, (_EVENT,))
    traffic = totals.read()
    totals.close()
    why = next((events[_EVENT].why for events in traffic.values() if events[_EVENT].why), None)
    if why is not None:
        return why
    if any(domain not in traffic for domain in _domains(machine)):
        return Unavailable(Reason.NO_DRIVER, "resctrl: its domains are not those of the L3 caches that sysfs describes")
    return None


def _domains(machine: Machine) -> tuple[str, ...]:
    """Return the domain of each L3 cache, by the cache ids of sysfs."""
    return tuple(f"L3 {_cache_id(machine.host, instance.cpus[0]):02d}"
                 for instance in machine.topology.instances(Scope.L3))


def _cache_id(host: Host, cpu: int) -> int:
    base = f"{_CPUS}/cpu{cpu}/cache"
    for name in names_in(host, base):
        if text_of(host, f"{base}/{name}/level").strip() == "3":
            number = whole_number(text_of(host, f"{base}/{name}/id").strip())
            return -1 if number is None else number
    return -1


class _Reader:
    """Reads the sums of some domains.

    Args:
        domains: of each L3 cache, in topology order.
    """

    def __init__(self, host: Host, domains: Sequence[str]) -> None:
        self._domains = tuple(domains)
        self._totals = ResctrlTotals(host, resctrl_mount(host), (_EVENT,))
        self._gaps: dict[str, int] = {}
        self.unsure: Mapping[SignalId, frozenset[int]] = {}

    @property
    def signals(self) -> tuple[SignalId, ...]:
        return (TOTAL,)

    def read(self) -> Sequence[Sequence[Raw]]:
        """Return the bytes of each L3 cache since the reader was opened; None if a part of them is not known."""
        traffic = self._totals.read()
        counted = [traffic[domain][_EVENT] if domain in traffic else None for domain in self._domains]
        missed = frozenset(at for at, (domain, now) in enumerate(zip(self._domains, counted, strict=True))
                           if now is not None and now.gaps > self._gaps.get(domain, 0))
        self.unsure = {TOTAL: missed} if missed else {}
        self._gaps = {domain: events[_EVENT].gaps for domain, events in traffic.items()}
        return [[None if now is None or at in missed or now.why is not None else now.total
                 for at, now in enumerate(counted)]]

    def close(self) -> None:
        self._totals.close()
