"""The table of CPUs in a journal: the columns of a tick that hold a snapshot (docs/specs/journal.md 4.2)."""

from __future__ import annotations

import itertools
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, cast
from weakref import WeakValueDictionary

from turbotui.dataclass import dataclass
from turbotui.machine.topology import CpuPlace, Key, Topology
from turbotui.machine.topology_kinds import CoreKinds, KindsAnswer
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.capability_facts import capabilities_from, capability_facts
from turbotui.recording.codec import CLOCK_OF_TICK, NO_COLUMN, ColumnLayout, LaneLayout, TableTick
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from, runs_of, whole
from turbotui.recording.row_streams import RowStreams
from turbotui.recording.tick_decoder import DecodedTick, LazyColumns
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.snapshot import Snapshot

_NUMBERS = ("cpu", "package", "die", "l3", "node", "module", "core", "smt")
_MOST_CPUS = 1 << 16
_OBJECTS, _COLUMN = 2400, 24  # bytes of a layout and of each column, measured at 9 to 3,400 columns


def topology_facts(topology: Topology) -> dict[str, object]:
    """Convert a topology to JSON."""
    kinds = topology.kinds
    keys = {scope.value: [topology.keys[scope][cpu] for cpu in topology.cpus] for scope in Scope
            if any(topology.keys[scope][cpu] != topology.places[cpu].key(scope) for cpu in topology.cpus)}
    return {
        "places": [
            {**{name: getattr(topology.places[cpu], name) for name in _NUMBERS}, "type": topology.places[cpu].core_type}
            for cpu in topology.cpus
        ],
        "keys": keys,
        "offline": topology.offline,
        "present": topology.present,
        "possible": topology.possible,
        "core_types": topology.core_types,
        "kinds": {"answer": kinds.answer.value, "of": {str(cpu): kind for cpu, kind in kinds.of.items()},
                  "by": kinds.by},
        "ids": {scope.value: sorted(ids) for scope, ids in topology.ids.items()},
        "nodes_together": topology.nodes_together,
        "notes": topology.notes,
        "chiplets": [[*key, name] for key, name in sorted(topology.chiplets.items())],
    }


def topology_from(stored: JsonValue) -> Topology:
    """Restore the topology of `topology_facts`. Raises DamagedError if it is none."""
    places: dict[int, CpuPlace] = {}
    for value in stored["places"].items():
        numbers = {name: value[name].integer() for name in _NUMBERS}
        places[numbers["cpu"]] = CpuPlace(**numbers, core_type=value.optional("type", JsonValue.text, None))
    if not 0 < len(places) <= _MOST_CPUS:
        raise DamagedError(f"a recording of {len(places)} CPUs is not possible")
    kinds = stored["kinds"]
    return Topology(
        cpus=tuple(places),
        places=places,
        keys={scope: _keys(stored["keys"].get(scope.value), scope, places) for scope in Scope},
        offline=stored["offline"].integers(),
        present=stored["present"].integers(),
        possible=stored["possible"].integers(),
        core_types=stored["core_types"].texts(),
        kinds=CoreKinds(kinds["answer"].one_of(KindsAnswer),
                        {whole(cpu): kind.text() for cpu, kind in kinds["of"].entries().items()}, kinds["by"].text()),
        ids={JsonValue(name, "topology.ids").one_of(Scope): frozenset(ids.integers())
             for name, ids in stored["ids"].entries().items()},
        nodes_together=stored["nodes_together"].integer(),
        notes=stored["notes"].texts(),
        chiplets=_chiplets(stored.get("chiplets")),
    )


def _chiplets(stored: JsonValue | None) -> Mapping[Key, str]:
    """Return the names of L3 caches, which older recordings lack."""
    chiplets: dict[Key, str] = {}
    for value in () if stored is None else stored.items():
        if not (parts := value.items()):
            raise DamagedError(f"{value.where} of the recording names no L3 cache")
        chiplets[tuple(number.integer() for number in parts[:-1])] = parts[-1].text()
    return chiplets


def _keys(stored: JsonValue | None, scope: Scope, places: Mapping[int, CpuPlace]) -> Mapping[int, Key]:
    if stored is None:
        return {cpu: place.key(scope) for cpu, place in places.items()}
    keys = [value.integers() for value in stored.items()]
    if len(keys) != len(places):
        raise DamagedError(f"{stored.where} of the recording names {len(keys)} of {len(places)} CPUs")
    return dict(zip(places, keys, strict=True))


TABLE: Final = "cpus"

_CLOCK, _VALUE, _WRAPS = "clock", "value", "wraps"


class _Numbers(dict[SignalId, int]):
    """Column numbers by the names of signals."""

    __slots__ = ("__weakref__",)


@dataclass(frozen=True, slots=True, eq=False)
class CpuTableLayout:
    """The layout of one machine's readings, valid while signals and CPUs stay the same.

    Columns of a tick are its clocks, then the values of its signals, then their wraps. Dozens of layouts of thousands
    of columns are kept for the last hour: they are packed, and numbers by name live as long as decoded ticks.
    """

    topology: Topology  # gives the rows of every signal: the instances of its scope
    capabilities: Capabilities  # describe the signals
    signals: tuple[SignalId, ...]  # in the order of their columns
    clock_of: array[int]  # the number of each signal's clock
    clocks: int  # the number of clocks; signals that are read together share a clock
    wraps: tuple[SignalId, ...]  # signals whose wraps are counted, in the order of their columns
    lane_layout: LaneLayout  # the columns and their lanes
    document: int = 0  # bytes of the document that it was read from, with topology and capabilities of its own
    _named: WeakValueDictionary[str, _Numbers] = field(init=False, default_factory=WeakValueDictionary)

    @property
    def size(self) -> int:
        """Bytes in memory; the masks of its arithmetic live only while its ticks are encoded or decoded."""
        return _OBJECTS + _COLUMN * len(self.lane_layout.columns) + self.document

    def _numbers(self, kind: str) -> Mapping[SignalId, int]:
        """The columns of a kind by name: one object while anybody holds it."""
        numbers = self._named.get(kind)
        if numbers is None:
            first = self.clocks + (len(self.signals) if kind == _WRAPS else 0)
            numbers = _Numbers(zip(self.signals, self.clock_of, strict=True) if kind == _CLOCK else
                               zip(self.wraps if kind == _WRAPS else self.signals, itertools.count(first)))
            self._named[kind] = numbers
        return numbers

    def fits(self, snapshot: Snapshot, capabilities: Capabilities) -> bool:
        """Tell whether a snapshot has this layout."""
        if snapshot.topology is not self.topology or capabilities is not self.capabilities:
            return False
        values = snapshot.values
        if len(values) != len(self.signals) or not all(map(values.__contains__, self.signals)) or (
                snapshot.wraps.keys() != set(self.wraps)):
            return False
        clocks: dict[int, Sequence[int]] = {}
        for name, clock in zip(self.signals, self.clock_of, strict=True):
            stamps = snapshot.stamps[name]
            first = clocks.setdefault(clock, stamps)
            if first is not stamps and first != stamps:
                return False
        return True

    def tick(self, snapshot: Snapshot) -> TableTick:
        """Convert a snapshot of this layout to a tick."""
        clocks = {clock: snapshot.stamps[name] for name, clock in zip(self.signals, self.clock_of, strict=True)}
        columns = [clocks[number] for number in range(self.clocks)]
        columns += [snapshot.values[name] for name in self.signals]  # type: ignore[misc] # cells of either kind
        columns += [snapshot.wraps[name] for name in self.wraps]
        counts = (snapshot.seq, snapshot.span_ns, snapshot.busy_ns, snapshot.overruns, snapshot.late_total,
                  snapshot.behind)
        return TableTick(snapshot.wall_ns, snapshot.started_ns, counts, columns, _extras(snapshot))

    def snapshot(self, tick: DecodedTick, streams: RowStreams) -> Snapshot:
        """Restore the snapshot of a tick and its rows; columns are decoded when they are needed.

        Raises:
            DamagedError: the tick's extras are not those of a snapshot.
        """
        seq, span, busy, overruns, late_total, behind = tick.counts
        stored = JsonValue(tick.extras, "a tick")
        no_rows = {kind: reason_from(value) for kind, value in _entries(stored, "no_rows").items()}
        clocks = self._numbers(_CLOCK)
        return Snapshot(
            seq=seq, wall_ns=tick.head.wall_ns, started_ns=tick.head.started_ns, topology=self.topology,
            values=_Values(tick, self._numbers(_VALUE)), stamps=_Words(tick, clocks),
            wraps=_Words(tick, self._numbers(_WRAPS)),
            late=frozenset(stored.optional("late", JsonValue.integers, ())),
            failed=frozenset(stored.optional("failed", JsonValue.integers, ())),
            span_ns=span, busy_ns=busy, overruns=overruns, late_total=late_total, behind=behind,
            fresh=self._positions(stored, "fresh"), unsure=self._positions(stored, "unsure"),
            still={name: {whole(at): seconds.number() for at, seconds in entries.entries().items()}
                   for name, entries in _entries(stored, "still").items() if name in clocks},
            failures={(triple[0].text(), triple[1].integer()): triple[2].text()
                      for triple in _triples(stored, "failures")},
            interrupted={(triple[0].text(), triple[1].integer()): triple[2].integer()
                         for triple in _triples(stored, "interrupted")},
            rows=streams.taken(no_rows), no_rows=no_rows,
        )

    def _positions(self, stored: JsonValue, key: str) -> dict[SignalId, frozenset[int]]:
        columns, clocks = self.lane_layout.columns, self._numbers(_CLOCK)
        same: dict[frozenset[int], frozenset[int]] = {}  # mostly one for thousands of counters, 216 bytes each
        positions: dict[SignalId, frozenset[int]] = {}
        for name, value in _entries(stored, key).items():
            if name in clocks:
                inside = frozenset(value.runs(columns[clocks[name]].rows))
                positions[sys.intern(name)] = same.setdefault(inside, inside)
        return positions


def layout_of(snapshot: Snapshot, capabilities: Capabilities, *, rounded: bool = False) -> CpuTableLayout:
    """Make the layout of a published snapshot, for a tier that rounds increases if `rounded`."""
    signals, known = capabilities.signals, {}
    names = sorted(snapshot.values, key=lambda name: (len(snapshot.values[name]), signals[name].scope.rank, name))
    clocks: dict[int, int] = {}
    for name in names:
        known[name] = clocks.setdefault(id(snapshot.stamps[name]), len(clocks))
    columns: list[ColumnLayout] = []
    rows_of_clock = {known[name]: len(snapshot.stamps[name]) for name in names}
    for clock in range(len(clocks)):
        rows = rows_of_clock[clock]
        beside = clock > 0 and rows_of_clock[clock - 1] == rows and not rounded
        against = clock - 1 if beside else CLOCK_OF_TICK
        columns.append(ColumnLayout(rows, against, rounded))
    numbers = {name: len(clocks) + at for at, name in enumerate(names)}
    enabled = {signal.running: signal.enabled for signal in signals.values() if signal.running}  # nearly always equal
    for name in names:
        signal, rows = signals[name], len(snapshot.values[name])
        partner = numbers.get(enabled.get(name, ""), -1)
        against = partner if 0 <= partner < numbers[name] and columns[partner].rows == rows else NO_COLUMN
        plain = signal.behavior is Behavior.COUNTER and signal.width_bits >= 64 and signal.low_bit == 0
        columns.append(ColumnLayout(rows, against, rounded and plain and against < 0))
    wraps = tuple(sorted(snapshot.wraps))
    columns += [ColumnLayout(len(snapshot.wraps[name])) for name in wraps]
    return CpuTableLayout(snapshot.topology, capabilities, tuple(map(sys.intern, names)),
                          array("I", [known[name] for name in names]), len(clocks), wraps, LaneLayout(columns))


def layout_facts(layout: CpuTableLayout) -> dict[str, object]:
    """Convert a layout to JSON, with the machine's topology and capabilities."""
    names: list[dict[str, object]] = [{"kind": _CLOCK} for _ in range(layout.clocks)]
    names += [{"kind": _VALUE, "signal": name, "clock": clock}
              for name, clock in zip(layout.signals, layout.clock_of, strict=True)]
    names += [{"kind": _WRAPS, "signal": name} for name in layout.wraps]
    columns = [{**name, "rows": column.rows, "against": column.against, "rounded": column.rounded}
               for name, column in zip(names, layout.lane_layout.columns, strict=True)]
    return {"table": TABLE, "topology": topology_facts(layout.topology),
            "capabilities": capability_facts(layout.capabilities), "columns": columns}


def layout_from(stored: JsonValue, known: Sequence[CpuTableLayout] = (),
                reason: Callable[[JsonValue], Unavailable] = reason_from) -> CpuTableLayout:
    """Restore the layout of `layout_facts`.

    Args:
        stored: the JSON document of the layout.
        known: layouts whose topology is used in place of an equal new one, because frames compare topologies by
            identity, and whose reasons are.
        reason: reads a reason.

    Raises:
        DamagedError: it is none.
    """
    topology = topology_from(stored["topology"])
    topology = next((layout.topology for layout in known if layout.topology == topology), topology)
    capabilities = capabilities_from(stored["capabilities"], [layout.capabilities for layout in known], reason)
    signals: dict[SignalId, int] = {}
    wraps: list[SignalId] = []
    columns: list[ColumnLayout] = []
    clocks = 0
    for value in stored["columns"].items():
        kind, rows = value["kind"].text(), value["rows"].integer()
        if kind == _CLOCK and not signals and not wraps:
            clocks += 1
        elif kind in (_VALUE, _WRAPS):
            name = value["signal"].text()
            signal = capabilities.signals.get(name)
            if signal is None or rows != len(topology.instances(signal.scope)):
                raise DamagedError(f"{value.where} of the recording has {rows} rows of {name!r}, which cannot be")
            if kind == _WRAPS:
                wraps.append(name)
            elif not wraps:
                signals[name] = value["clock"].integer()
        columns.append(ColumnLayout(rows, value["against"].integer(), value["rounded"].flag()))
    if len(columns) != clocks + len(signals) + len(wraps):
        raise DamagedError("the columns of the recording are in no order")
    for at, (name, clock) in enumerate(signals.items()):
        if not 0 <= clock < clocks or columns[clock].rows != columns[clocks + at].rows:
            raise DamagedError(f"{name!r} of the recording has no clock")
    if len(set(signals.values())) < clocks:
        raise DamagedError("a clock of the recording is of no signal")
    return CpuTableLayout(topology, capabilities, tuple(signals), array("I", signals.values()), clocks, tuple(wraps),
                          LaneLayout(columns), stored.size)


class _Values(LazyColumns[Sequence[Raw]]):
    def _column(self, number: int) -> Sequence[Raw]:
        return cast("Sequence[Raw]", self.tick.column(number, floats=False))


class _Words(LazyColumns[Sequence[int]]):
    def _column(self, number: int) -> Sequence[int]:
        return self.tick.words(number)


def _extras(snapshot: Snapshot) -> dict[str, object]:
    extras: dict[str, object] = {
        "late": sorted(snapshot.late), "failed": sorted(snapshot.failed), "fresh": _all_runs(snapshot.fresh),
        "unsure": _all_runs(snapshot.unsure),
        "still": {name: {str(at): seconds for at, seconds in still.items()} for name, still in snapshot.still.items()},
        "failures": [(source, cpu, text) for (source, cpu), text in snapshot.failures.items()],
        "interrupted": [(source, cpu, ns) for (source, cpu), ns in snapshot.interrupted.items()],
        "no_rows": {kind: reason_facts(why) for kind, why in snapshot.no_rows.items()},
    }
    return {name: value for name, value in extras.items() if value}


def _all_runs(positions: Mapping[SignalId, frozenset[int]]) -> dict[SignalId, list[list[int]]]:
    """Convert positions to runs: of a counter that began anew, nearly always one run of all."""
    return {name: runs_of(inside) for name, inside in positions.items()}


def _entries(stored: JsonValue, key: str) -> Mapping[str, JsonValue]:
    return stored.optional(key, JsonValue.entries, {})


def _triples(stored: JsonValue, key: str) -> Iterator[Sequence[JsonValue]]:
    for triple in stored.optional(key, JsonValue.items, ()):
        parts = triple.items()
        if len(parts) != 3:
            raise DamagedError(f"{triple.where} of the recording is no triple")
        yield parts
