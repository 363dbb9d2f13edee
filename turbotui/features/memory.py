"""Where the bytes go: rows for the machine, its packages, NUMA nodes and L3 caches.

Bandwidth and occupancy are resctrl's (kernel Documentation/filesystems/resctrl.rst), pages are those of numastat
(Documentation/admin-guide/numastat.rst). What is counted for a level adds up to the levels above it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from turbotui.machine.host import HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.memory_levels import NODES, MemoryLevel, memory_levels
from turbotui.machine.memory_peak import MemoryPeak
from turbotui.machine.resctrl import OCCUPANCY, resctrl_groups, resctrl_info, resctrl_mount, why_no_resctrl
from turbotui.machine.small_files import line_of, names_in
from turbotui.machine.timed_reads import lost_ns
from turbotui.machine.topology import CpuPlace, read_topology
from turbotui.quantities.columns import PERCENT, Value
from turbotui.quantities.plain_numbers import numbers_by_name, whole_number
from turbotui.quantities.row_kinds import ClockId, Form, Quantity, QuantityId, RowKind
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn
from turbotui.sampling.rows import Columns, Row, RowSlot, sum_of
from turbotui.sources.resctrl_bandwidth import DomainTotal, ResctrlTotals
from turbotui.sources.unreadable import proc_unreadable

_RESCTRL: Final = "kernel Documentation/filesystems/resctrl.rst"
_NUMASTAT: Final = "kernel Documentation/admin-guide/numastat.rst"
_SMBIOS: Final = "DSP0134 (SMBIOS) 3.7, 7.18"
_BALANCING: Final = "kernel Documentation/admin-guide/sysctl/kernel.rst, numa_balancing"
_TIERS: Final = "kernel mm/migrate.c (PGPROMOTE_SUCCESS) and mm/vmscan.c (PGDEMOTE_KSWAPD)"
_VMSTAT: Final = "/proc/vmstat"
_MON: Final = "/sys/fs/resctrl: mon_data/mon_L3_* of all groups"
_SKEW: Final = 0.02  # of all bytes: local ones are read a moment before

_PEAK: Final = "peak_bytes_per_second"
_UNSURE: Final[Mapping[ClockId, QuantityId]] = {"": "unsure", "local": "local.unsure", "pages": "pages.unsure"}
KIND: Final = RowKind("memory", "levels of memory", nested=True)


def _counter(name: QuantityId, unit: Unit, origin: str, document: str, *, clock: ClockId = "",
             gaps: str = "") -> Quantity:
    return Quantity(name, KIND.id, unit, Behavior.COUNTER, Reduce.SUM, origin, document, clock=clock, gaps=gaps,
                    unsure=_UNSURE[clock])


QUANTITIES: Final = (
    _counter("total", Unit.BYTE, f"{_MON}, mbm_total_bytes", _RESCTRL, gaps="total.gaps"),
    _counter("local", Unit.BYTE, f"{_MON}, mbm_local_bytes", _RESCTRL, clock="local", gaps="local.gaps"),
    Quantity("own", KIND.id, Unit.BYTE, Behavior.COUNTER, Reduce.SUM, f"{_MON}, of the row's own memory", _RESCTRL,
             gaps="own.gaps", lacks="own.lacks", unsure=_UNSURE[""]),
    Quantity("occupied", KIND.id, Unit.BYTE, Behavior.GAUGE, Reduce.SUM, f"{_MON}, {OCCUPANCY}", _RESCTRL),
    Quantity("size", KIND.id, Unit.BYTE, Behavior.GAUGE, Reduce.SUM, "/sys/devices/system/cpu/cpu*/cache/index*/size",
             "kernel ABI/testing/sysfs-devices-system-cpu"),
    Quantity(_PEAK, KIND.id, Unit.COUNT, Behavior.GAUGE, Reduce.SUM, "/sys/firmware/dmi/entries/17-*", _SMBIOS,
             form=Form.DOUBLE),  # no unit is bytes a second
    _counter("miss", Unit.COUNT, f"{NODES}/node*/numastat, numa_miss", _NUMASTAT, clock="pages"),
    _counter("foreign", Unit.COUNT, f"{NODES}/node*/numastat, numa_foreign", _NUMASTAT, clock="pages"),
    _counter("other", Unit.COUNT, f"{NODES}/node*/numastat, other_node", _NUMASTAT, clock="pages"),
    _counter("migrated", Unit.COUNT, f"{_VMSTAT}, numa_pages_migrated", _BALANCING, clock="pages"),
    _counter("promoted", Unit.COUNT, f"{NODES}/node*/vmstat, pgpromote_success", _TIERS, clock="pages"),
    _counter("demoted", Unit.COUNT, f"{NODES}/node*/vmstat, pgdemote_*", _TIERS, clock="pages"),
    _counter("total.gaps", Unit.COUNT, _MON, _RESCTRL),
    _counter("local.gaps", Unit.COUNT, _MON, _RESCTRL, clock="local"),
    _counter("own.gaps", Unit.COUNT, _MON, _RESCTRL),
    Quantity("own.lacks", KIND.id, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, _MON, _RESCTRL, form=Form.TEXT),
    *(Quantity(name, KIND.id, Unit.SECOND, Behavior.GAUGE, Reduce.MAX, origin, scale=1e-9)
      for name, origin in zip(_UNSURE.values(), (_MON, _MON, f"{NODES}/node*/numastat"), strict=True)),
)
_EVENTS: Final = {"local": "mbm_local_bytes", "total": "mbm_total_bytes", "occupied": OCCUPANCY}
_CLOCKS: Final = {"": _EVENTS["total"], "local": _EVENTS["local"]}
_PAGES: Final = {"miss": "numa_miss", "foreign": "numa_foreign", "other": "other_node"}
_MIGRATED: Final = "numa_pages_migrated"
_PROMOTED: Final = "pgpromote_success"
_DEMOTED: Final = "pgdemote_"  # by whom follows: kswapd, direct, khugepaged, proactive
_OFNODES: Final = Unavailable(Reason.NO_HARDWARE, "the kernel counts pages by node")
_OF_MACHINE: Final = Unavailable(Reason.NO_HARDWARE, "the kernel counts pages that it moves for the whole machine")
_NO_MEMORY: Final = Unavailable(Reason.NO_HARDWARE, "a cache is no memory of its own")
_NO_CACHE: Final = Unavailable(Reason.NO_HARDWARE, "no L3 cache is in it: what other nodes move is counted there")
_SHARED_CACHE: Final = Unavailable(Reason.NO_HARDWARE, "the L3 cache around it is shared with other nodes")
_OF_OTHERS: Final = "the least: remote bytes of the other nodes, of which resctrl does not say whose memory moved them"
_UNDIVIDED: Final = Unavailable(Reason.NO_DRIVER, "nodes share the L3 cache, and resctrl counts it as a whole here: "
                                                  "Linux 6.11 and newer count sub-NUMA nodes")
_NO_BALANCING: Final = Unavailable(Reason.NO_DRIVER, f"{_VMSTAT} has no numa_pages_migrated: the kernel was built "
                                                     "without automatic NUMA balancing")
_NO_NUMASTAT: Final = Unavailable(Reason.NO_DRIVER, f"{NODES}/node*/numastat does not have it: the kernel was built "
                                                    "without NUMA")
_NO_PROMOTIONS: Final = Unavailable(Reason.NO_DRIVER, f"{NODES}/node*/vmstat has no pgpromote_success: Linux 5.18 and "
                                                      "newer have it, with automatic NUMA balancing")
_NO_DEMOTIONS: Final = Unavailable(Reason.NO_DRIVER, f"{NODES}/node*/vmstat has no pgdemote_kswapd: Linux 6.10 and "
                                                     "newer count demotions by node")
_NO_SIZE: Final = Unavailable(Reason.NO_DRIVER, "sysfs does not say how large the cache is")


_Number: TypeAlias = "int | float | Unavailable"
_Numbers: TypeAlias = dict[QuantityId, _Number]
_Moment: TypeAlias = tuple[int, int]
"""Monotonic clock of a reading in ns, and how far that may be off."""


class MemoryReader:
    """Reads resctrl's events and the pages of nodes at every tick.

    Args:
        places: of all CPUs that are online.
    """

    def __init__(self, machine: Machine, places: Iterable[CpuPlace]) -> None:
        self._host = machine.host
        self._peak = MemoryPeak(machine)
        self._places = tuple(places)
        self._top = resctrl_mount(machine.host)
        self._events = resctrl_info(machine.host, self._top).events.get("L3", ()) if self._top else ()
        self._totals = ResctrlTotals(machine.host, self._top,
                                     [event for event in _EVENTS.values() if event in self._events])
        self._levels: dict[str, MemoryLevel] = {}
        self._slots: dict[str, RowSlot] = {}
        self._inside: dict[str, list[str]] = {}  # row -> rows inside it
        self._caching: dict[str, list[str]] = {}  # row -> those of them whose caches move its bytes
        self._quickest_ns = 0  # of the readings of all pages
        # the shortest time between the readings of the first and the last part of a sum, by row and clock
        self._spreads: dict[tuple[str, ClockId], int] = {}
        self._remote: dict[str, int] = {}  # node -> bytes that its caches moved from and to memory of other nodes

    def read(self, into: Columns) -> None:
        """Put every level: what is counted for it, or the sum of what is inside it."""
        domains = self._totals.read() if self._top else {}
        if not self._levels:
            self._add(memory_levels(self._host, self._places), into)
        elif domains.keys() - {level.domain for level in self._levels.values()}:
            self._places = tuple(read_topology(self._host, None).places.values())
            self._add(memory_levels(self._host, self._places), into)
        by_level: dict[str, _Numbers] = {}
        times: dict[str, Mapping[ClockId, _Moment]] = {}
        began_ns = self._host.now_ns()
        for key, level in reversed(self._levels.items()):
            parts = {part: by_level[part] for part in self._inside[key]}
            caching = {part: parts[part] for part in self._caching[key]}
            counts = domains.get(level.domain, {})
            by_level[key] = {**self._traffic(level, counts, caching), **self._pages(level, parts)}
            times[key] = {clock: (counts[event].at_ns, counts[event].unsure_ns) if event in counts else
                          self._together(key, clock, [times[part][clock] for part in caching]) if caching else
                          (began_ns, 0) for clock, event in _CLOCKS.items()}
        took_ns = self._host.now_ns() - began_ns
        self._quickest_ns = min(self._quickest_ns or took_ns, took_ns)
        read_ns, unsure_ns = began_ns + (took_ns >> 1), lost_ns(took_ns, self._quickest_ns) >> 1
        for key, level in reversed(self._levels.items()):
            by_level[key] |= self._own(level, by_level)
            for quantity, value in by_level[key].items():
                into.put(self._slots[key], quantity, value)
            for clock, (at_ns, off_ns) in times[key].items():
                into.read_at((self._slots[key],), at_ns, clock, off_ns)
        into.read_at(self._slots.values(), read_ns, "pages", unsure_ns)
        if self._top and into.due(0):  # the machine's row
            info = resctrl_info(self._host, self._top)
            taken = info.in_words(len(resctrl_groups(self._host, self._top)))
            into.note(*((f"sums of all groups of resctrl: {taken}",) if info.events else ()))

    def _together(self, key: str, clock: ClockId, parts: Sequence[_Moment]) -> _Moment:
        """The mean moment of the parts of a sum, and how far one of them may be off from where it usually is."""
        moments = [at_ns for at_ns, _unsure_ns in parts]
        spread_ns = max(moments) - min(moments)
        usual_ns = self._spreads[key, clock] = min(self._spreads.get((key, clock), spread_ns), spread_ns)
        unsure_ns = max(unsure_ns for _at_ns, unsure_ns in parts) + lost_ns(spread_ns, usual_ns)
        return sum(moments) // len(moments), unsure_ns

    def close(self) -> None:
        """Close the files of groups."""
        self._totals.close()

    def _add(self, levels: Iterable[MemoryLevel], into: Columns) -> None:
        """Give rows to levels that have none yet, and put what does not change."""
        for level in levels:
            slot = None if level.key in self._levels else into.birth(
                Row(level.key, parent=level.parent, name=level.key))
            if slot is not None:
                self._slots[level.key] = slot
                self._levels[level.key] = level
                self._inside[level.key] = []
                if level.parent:
                    self._inside[level.parent].append(level.key)
        bare = {f"node {number}" for number in {level.node for level in self._levels.values()}
                - {place.node for place in self._places}}  # nodes without CPUs (CXL, HBM)
        self._caching = {key: [part for part in inside if part not in bare] for key, inside in self._inside.items()}
        sizes: dict[str, _Number] = {}
        nodes = sum(level.scope is Scope.NODE for level in self._levels.values())
        for key, level in reversed(self._levels.items()):
            parts = {part: sizes[part] for part in self._caching[key]}
            sizes[key] = self._size(level.number) if level.scope is Scope.L3 else sum_of(parts) if parts else (
                _SHARED_CACHE if level.in_cache else _NO_CACHE)
            slot = self._slots[key]
            into.put(slot, "size", sizes[key])
            into.put(slot, _PEAK, self._peak_of(level))
            into.put(slot, "own.lacks", _OF_OTHERS if level.scope is not Scope.SYSTEM and nodes > 2 else "")

    def _size(self, cache: int) -> _Number:
        cpu = next((place.cpu for place in self._places if place.l3 == cache), -1)
        base = f"/sys/devices/system/cpu/cpu{cpu}/cache"
        for name in names_in(self._host, base):
            if line_of(self._host, f"{base}/{name}/level") == "3":
                size = whole_number(line_of(self._host, f"{base}/{name}/size").removesuffix("K"))
                return size << 10 if size else _NO_SIZE
        return _NO_SIZE

    def _peak_of(self, level: MemoryLevel) -> _Number:
        """Bytes a second that a level's memory can move: equal parts of the machine's."""
        nodes = sum(1 for level in self._levels.values() if level.scope is Scope.NODE)
        parts = {Scope.SYSTEM: 1, Scope.PACKAGE: len({place.package for place in self._places}),
                 # memory without CPUs is no part of the channels: it may be behind CXL
                 Scope.NODE: nodes if nodes == len({place.node for place in self._places}) else 0}.get(level.scope)
        if parts is None:
            return _NO_MEMORY
        peak = self._peak.of(1, parts) if parts else None
        return peak * 1e9 if peak else Unavailable(Reason.NO_HARDWARE, MemoryPeak.why)

    def _traffic(self, level: MemoryLevel, counts: Mapping[str, DomainTotal],
                 parts: Mapping[str, _Numbers]) -> _Numbers:
        traffic: _Numbers = {}
        for quantity, event in _EVENTS.items():
            gaps = f"{quantity}.gaps"
            if not self._top:
                traffic[quantity] = why_no_resctrl(self._host)
            elif event not in self._events:
                traffic[quantity] = Unavailable(
                    Reason.NO_HARDWARE, f"info/L3_MON/mon_features of resctrl has no {event} here")
            elif counts:
                traffic[quantity], traffic[gaps] = counts[event].why or counts[event].total, counts[event].gaps
            elif parts and not level.domain:
                traffic[quantity] = sum_of({part: numbers[quantity] for part, numbers in parts.items()})
                traffic[gaps] = sum_of({part: numbers.get(gaps, 0) for part, numbers in parts.items()})
            else:
                traffic[quantity] = _UNDIVIDED if level.in_cache else _NO_CACHE if not level.domain else (
                    Unavailable(Reason.NO_DRIVER, f"resctrl has no domain {level.domain}"))
            traffic.setdefault(gaps, 0)
        del traffic["occupied.gaps"]
        return traffic

    def _own(self, level: MemoryLevel, by_level: Mapping[str, _Numbers]) -> _Numbers:
        """What the memory of a level moved: what its own caches took, and the rest of those of the other node.

        Where there are more than two nodes, nobody knows from which of them the rest came.
        """
        here, parts = by_level[level.key], {part: by_level[part] for part in self._inside[level.key]}
        if level.scope is Scope.SYSTEM:
            return {"own": here["total"], "own.gaps": here["total.gaps"]}
        if level.scope is not Scope.NODE:
            return {name: sum_of({part: numbers[name] for part, numbers in parts.items()}) if parts else why
                    for name, why in (("own", _NO_MEMORY), ("own.gaps", 0))}
        others = [other for other in self._levels.values() if other.scope is Scope.NODE and other is not level]
        if len(others) != 1 or not self._top:
            return {"own": here["local"], "own.gaps": here["local.gaps"]}
        own, own_gaps = self._moved(level, here)[0]
        remote, gaps = self._moved(others[0], by_level[others[0].key])[1]
        return {"own": sum_of({level.key: own, others[0].key: remote}), "own.gaps": own_gaps + gaps}

    def _moved(self, node: MemoryLevel, numbers: _Numbers) -> tuple[tuple[_Number, int], tuple[_Number, int]]:
        """Local and remote bytes of a node's caches, each with its gaps; a node without caches moves nothing."""
        if not (self._inside[node.key] or node.domain):
            return (0, 0), (0, 0)
        local, total = numbers["local"], numbers["total"]
        gaps, all_gaps = (value if isinstance(value := numbers[name], int) else 0
                          for name in ("local.gaps", "total.gaps"))
        if isinstance(local, Unavailable) or isinstance(total, Unavailable):
            return (local, gaps), (local if isinstance(local, Unavailable) else total, 0)
        # the counts are read one after the other: a difference that falls back a little catches up
        remote = self._remote[node.key] = max(self._remote.get(node.key, 0), int(total - local))
        return (local, gaps), (remote, gaps + all_gaps)

    def _pages(self, level: MemoryLevel, parts: Mapping[str, _Numbers]) -> _Numbers:
        pages: _Numbers = {"migrated": _OF_MACHINE}
        if level.scope is Scope.SYSTEM:
            pages["migrated"] = self._lines(_VMSTAT).get(_MIGRATED, _NO_BALANCING)
        if level.node is not None:
            lines = self._lines(f"{NODES}/node{level.node}/numastat")
            return pages | self._tiers(level.node) | {
                quantity: lines.get(name, _NO_NUMASTAT) for quantity, name in _PAGES.items()}
        by_node = (*_PAGES, "promoted", "demoted")
        if level.scope is Scope.L3 and not parts:
            return pages | dict.fromkeys(by_node, _OFNODES)
        return pages | {quantity: sum_of({part: numbers[quantity] for part, numbers in parts.items()}) if parts
                        else _NO_NUMASTAT for quantity in by_node}

    def _tiers(self, node: int) -> _Numbers:
        """Pages that moved between tiers of memory: to the node from slower memory, and from the node to slower."""
        lines = self._lines(f"{NODES}/node{node}/vmstat")
        down = {name: count for name, count in lines.items() if name.startswith(_DEMOTED)}
        return {"promoted": lines.get(_PROMOTED, _NO_PROMOTIONS), "demoted": sum_of(down) if down else _NO_DEMOTIONS}

    def _lines(self, path: str) -> Mapping[str, _Number]:
        """The numbers of a file by name; the same reason for each where it cannot be read."""
        try:
            text = self._host.read_text(path)
        except HostError as error:
            return dict.fromkeys((*_PAGES.values(), _MIGRATED, _PROMOTED, _DEMOTED),
                                 proc_unreadable(error, self._host))
        return numbers_by_name((words[0], words[1]) for line in text.splitlines() if len(words := line.split()) > 1)


class MemorySource:
    """The `RowSource` of levels of memory."""

    kind = KIND
    quantities: Sequence[Quantity] = QUANTITIES

    def open(self, machine: Machine) -> MemoryReader | Unavailable:
        """A copy of files does not move, so that nothing passes there."""
        if machine.host.kind is HostKind.RECORDED:
            return Unavailable(Reason.RECORDED, "resctrl and numastat of a recorded machine were read once: nothing "
                               "moves there", "turbotui record there, and --replay here")
        topology = machine.topology
        if topology.restricted is not None:
            # caches and nodes have all their CPUs, also those that --cpu leaves out
            topology = read_topology(machine.host, None)
        return MemoryReader(machine, topology.places.values())


def _per_second(name: QuantityId) -> Callable[[KindRow], Value]:
    """GB/s of bytes."""
    return lambda row: None if (rate := row.rate(name)) is None else rate / 1e9


def _held(name: QuantityId, divisor: float) -> Callable[[KindRow], Value]:
    return lambda row: None if (value := row.value(name)) is None else value / divisor


def _remote(row: KindRow) -> float | None:
    """GB/s of other nodes; a little below 0 is 0, because local bytes are read a moment before."""
    total, local = row.rate("total"), row.rate("local")
    if total is None or local is None or local > total * (1 + _SKEW):
        return None
    return max(0.0, total - local) / 1e9


def _remote_share(row: KindRow) -> Value:
    remote, total = _remote(row), row.rate("total")
    return None if remote is None or not total else 100e9 * remote / total


def _no_remote(row: KindRow) -> str:
    return "resctrl counts more local bytes than bytes" if row.rate("local") else "nothing was moved in this interval"


def _percent(part: float | None, whole: float | None) -> Value:
    return None if part is None or not whole else 100 * part / whole


def _column(name: str, unit: str, needs: tuple[QuantityId, ...], compute: Callable[[KindRow], Value], words: str, *,
            document: str = _RESCTRL, shown: bool = True, formula: str = "") -> RowColumn:
    return RowColumn(name, unit, {"GB/s": 2, "/s": 0}.get(unit, 1), needs, compute, formula=formula, document=document,
                     width=max(6 if unit == "%" else 8, len(name)), priority=_PRIORITIES.get(unit, 4), default=shown,
                     help=words, scale=PERCENT if unit == "%" else None, of_peak=_PEAK in needs and unit == "%",
                     doubt=_no_remote if needs == _REMOTE else None)


def _pages(name: str, quantity: QuantityId, words: str, document: str = _NUMASTAT, *, shown: bool = True) -> RowColumn:
    return _column(name, "/s", (quantity,), lambda row: row.rate(quantity), f"pages a second that {words}",
                   document=document, shown=shown)


_PRIORITIES: Final = {"GB/s": 1, "%": 2, "/s": 5}
_REMOTE: Final = ("total", "local")
COLUMNS: Final[tuple[RowColumn, ...]] = (
    RowColumn("Level", "", -1, (), lambda row: row.row.name, width=16, identity=True, priority=0,
              help="the machine, a package, a NUMA node, or an L3 cache by its id in sysfs"),
    _column("MemBW", "GB/s", ("total",), _per_second("total"),
            "bytes that the L3 caches moved from and to any memory; what devices move is not in them"),
    _column("LocalBW", "GB/s", ("local",), _per_second("local"),
            "bytes that the L3 caches moved from and to memory of their own node"),
    _column("RemoteBW", "GB/s", _REMOTE, _remote, "bytes that the L3 caches moved from and to memory of other nodes",
            formula="(Δtotal / interval - Δlocal / interval) / 1e9"),
    _column("Remote%", "%", _REMOTE, _remote_share, "share of MemBW that is from and to memory of other nodes"),
    _column("OwnBW", "GB/s", ("own",), _per_second("own"), shown=False,
            words="bytes that the row's own memory moved for L3 caches: local ones, and of two nodes the other's "
            "remote ones; of more nodes it is the least that it can be, and marked"),
    _column("Peak%", "%", ("own", _PEAK), lambda row: _percent(row.rate("own"), row.value(_PEAK)),
            "OwnBW as a share of what the row's memory can move in theory"),
    _column("PeakBW", "GB/s", (_PEAK,), _held(_PEAK, 1e9), "what the row's memory can move in theory: channels x "
            "transfers a second x width (SMBIOS), an equal part for each package or node", document=_SMBIOS,
            shown=False),
    _column("L3", "MiB", ("occupied",), _held("occupied", 2.0**20),
            "bytes that all groups have in the L3 caches now; what removed groups left is not in them"),
    _column("L3%", "%", ("occupied", "size"), lambda row: _percent(row.value("occupied"), row.value("size")),
            "share of the L3 caches that data of all groups fills"),
    _column("L3Size", "MiB", ("size",), _held("size", 2.0**20), "size of the L3 caches", document="", shown=False),
    _pages("Miss/s", "miss", "the node gave to tasks that wanted memory of another node"),
    _pages("Foreign/s", "foreign", "were wanted from the node, and came from another one"),
    _pages("Other/s", "other", "the node gave to tasks that ran on another node"),
    _pages("Promote/s", "promoted", "came to the node from slower memory (CXL, persistent memory), because tasks used "
           "them", _TIERS, shown=False),
    _pages("Demote/s", "demoted", "went from the node to slower memory, because it was full", _TIERS, shown=False),
    _pages("Migr/s", "migrated", "automatic NUMA balancing moved to the node of the task that uses them", _BALANCING),
)

MEMORY: Final = KindDefinition(MemorySource(), COLUMNS, sort="", folded=False)
