"""From the answers of the workers to one snapshot, column-wise in topology order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from turbotui.machine.topology import Topology
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.sampling.census import Census
from turbotui.sampling.plan import Plan, reading_cpus
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.turns import Turns
from turbotui.sampling.workers import SHARED, Answer


@dataclass(frozen=True, slots=True)
class Beat:
    """What the sampler knows of a tick beside the readings."""

    seq: int
    wall_ns: int
    started_ns: int
    late: frozenset[int]
    overruns: int
    late_total: int


class Assembler:
    """Puts readings into place for one plan and topology."""

    def __init__(self, topology: Topology, census: Census, plan: Plan, turns: Turns) -> None:
        self._topology = topology
        self._census = census
        self._signals = plan.signals()
        self._turns = turns
        self._wrapping = tuple(name for name in self._signals if _wraps(census.signals[name]))
        turns.keep_only(frozenset(self._wrapping))
        self._sizes = {scope: len(topology.instances(scope)) for scope in Scope}
        # (source, cpu, signals) -> where each signal's value goes; filled as readers show what they return
        self._places: dict[tuple[str, int, tuple[SignalId, ...]], tuple[tuple[SignalId, int], ...]] = {}
        self._reading_cpus = {
            name: reading_cpus(census.signals[name], topology)
            for name in self._signals
            if not census.provider[name].shared
        }

    def assemble(self, answers: Iterable[Answer], beat: Beat) -> Snapshot:
        """One snapshot of all answers to a tick."""
        sizes, signals = self._sizes, self._census.signals
        values: dict[SignalId, list[Raw]] = {name: [None] * sizes[signals[name].scope] for name in self._signals}
        stamps: dict[SignalId, list[int]] = {name: [0] * sizes[signals[name].scope] for name in self._signals}
        fresh: dict[SignalId, set[int]] = {}
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        first, last, busy = 0, 0, 0
        for answer in answers:
            gone |= answer.gone
            failures.update(answer.failures)
            for reading in answer.readings:
                first = reading.started_ns if not first else min(first, reading.started_ns)
                last = max(last, reading.ended_ns)
                busy += reading.ended_ns - reading.started_ns
                if reading.raw is None:
                    continue
                middle = (reading.started_ns + reading.ended_ns) >> 1
                is_fresh = (reading.source, reading.cpu) in answer.began
                for (name, position), raw in zip(self._place(reading.source, reading.cpu, reading.signals),
                                                 reading.raw, strict=True):
                    if position >= 0:
                        values[name][position] = raw
                        stamps[name][position] = middle
                        if is_fresh:
                            fresh.setdefault(name, set()).add(position)
            for shared in answer.shared:
                first = shared.started_ns if not first else min(first, shared.started_ns)
                last = max(last, shared.ended_ns)
                busy += shared.ended_ns - shared.started_ns
                if shared.raw is None:
                    continue
                middle = (shared.started_ns + shared.ended_ns) >> 1
                for name, row in zip(shared.signals, shared.raw, strict=True):
                    if name in values and len(row) == len(values[name]):
                        values[name] = list(row)
                        stamps[name] = [middle] * len(row)
                        if (shared.source, SHARED) in answer.began:
                            fresh[name] = set(range(len(row)))
        frozen = {name: frozenset(positions) for name, positions in fresh.items()}
        turns, unsure = self._turned(values, stamps, frozen)
        return Snapshot(
            seq=beat.seq, wall_ns=beat.wall_ns, started_ns=beat.started_ns, topology=self._topology, values=values,
            stamps=stamps, late=beat.late, failed=frozenset(gone), span_ns=last - first, busy_ns=busy,
            overruns=beat.overruns, late_total=beat.late_total,
            fresh=frozen, turns=turns, unsure=unsure, failures=failures,
        )

    def note(self, answers: Iterable[Answer]) -> None:
        """Take note of readings between two snapshots: only whether a counter wrapped matters of them."""
        wrapping = frozenset(self._wrapping)
        for answer in answers:
            for reading in answer.readings:
                if reading.raw is None:
                    continue
                middle = (reading.started_ns + reading.ended_ns) >> 1
                for (name, position), raw in zip(self._place(reading.source, reading.cpu, reading.signals),
                                                 reading.raw, strict=True):
                    if position >= 0 and name in wrapping:
                        signal = self._census.signals[name]
                        row = self._topology.instances(signal.scope)[position].row
                        self._turns.see(signal, row, raw, middle, fresh=False)

    def _turned(
        self, values: Mapping[SignalId, Sequence[Raw]], stamps: Mapping[SignalId, Sequence[int]],
        fresh: Mapping[SignalId, frozenset[int]],
    ) -> tuple[dict[SignalId, tuple[int, ...]], dict[SignalId, frozenset[int]]]:
        """Wraps so far of every counter that wraps, and the positions where one may have been missed."""
        turns: dict[SignalId, tuple[int, ...]] = {}
        unsure: dict[SignalId, frozenset[int]] = {}
        for name in self._wrapping:
            signal = self._census.signals[name]
            rows = [instance.row for instance in self._topology.instances(signal.scope)]
            began = fresh.get(name, frozenset())
            for position, row in enumerate(rows):
                self._turns.see(signal, row, values[name][position], stamps[name][position], fresh=position in began)
            taken = [self._turns.take(name, row) for row in rows]
            turns[name] = tuple(count for count, _missed in taken)
            missed = frozenset(position for position, (_count, gap) in enumerate(taken) if gap)
            if missed:
                unsure[name] = missed
        return turns, unsure

    def _place(self, source: str, cpu: int, names: tuple[SignalId, ...]) -> tuple[tuple[SignalId, int], ...]:
        key = (source, cpu, names)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = tuple((name, self._position(name, cpu)) for name in names)
        return found

    def _position(self, name: SignalId, cpu: int) -> int:
        """Where a CPU's reading of a signal goes; -1 if another CPU reads that instance, or nobody wants it."""
        readers = self._reading_cpus.get(name)
        if readers is None or cpu not in self._topology.places:
            return -1
        position = self._topology.index(self._census.signals[name].scope, cpu)
        return position if readers[position] == cpu else -1


def _wraps(signal: Signal) -> bool:
    """Whether wraps of this signal have to be counted here; a 64-bit one with `wrap_seconds` counts its own."""
    return signal.behavior is Behavior.COUNTER and signal.width_bits < 64 and signal.wrap_seconds > 0
