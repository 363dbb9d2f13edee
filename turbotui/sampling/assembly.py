"""Assemble the answers of the workers to one snapshot, stored by column in topology order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.sampling.answers import SHARED, Answer, Readings, SharedReading
from turbotui.sampling.arithmetic import packed
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.layout import Layouts, Places, TickColumns
from turbotui.sampling.liveness import MUST_MOVE, Liveness
from turbotui.sampling.plan import Plan, reading_cpus
from turbotui.sampling.snapshot import Snapshot
from turbotui.sampling.wraps import WrapCounter


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of the sampler: its number, its times and the late CPUs, without the readings."""

    seq: int
    wall_ns: int
    started_ns: int  # start of the tick, including the time that the machine slept
    late: frozenset[int]
    overruns: int
    late_total: int
    behind: int = 0
    slept_ns: int = 0  # the time that the machine slept, which the readings' own stamps lack
    # signals without a difference to the tick before, because another source provides them now or the machine slept
    # while they were read
    anew: frozenset[SignalId] = frozenset()


class Assembler:
    """Puts the readings of one plan and topology into place."""

    def __init__(self, topology: Topology, capabilities: Capabilities, plan: Plan, wraps: WrapCounter,
                 liveness: Liveness) -> None:
        self._topology = topology
        self._capabilities = capabilities
        self._signals = plan.signals()
        self._wraps = wraps
        self._liveness = liveness
        self._must_move = tuple(name for name in MUST_MOVE if name in self._signals)
        self._counters = tuple(
            name for name in self._signals if capabilities.signals[name].behavior is Behavior.COUNTER)
        self._wrapping = tuple(name for name in self._signals if _counts_wraps(capabilities.signals[name]))
        sizes = {scope: len(topology.instances(scope)) for scope in Scope}
        self._column_sizes = {name: sizes[capabilities.signals[name].scope] for name in self._signals}
        # signals that one source reads at one scope share their time stamps, as one clock with a number
        clock_keys = {name: (capabilities.provider[name].id, capabilities.signals[name].scope)
                      for name in self._signals}
        numbers = {clock_key: number for number, clock_key in enumerate(dict.fromkeys(clock_keys.values()))}
        self._clocks: dict[SignalId, int] = {name: numbers[clock_key] for name, clock_key in clock_keys.items()}
        self._clock_sizes = [sizes[scope] for _source, scope in numbers]
        self._layouts = Layouts(self._place)
        self._places: dict[tuple[str, int], tuple[tuple[SignalId, ...], Places]] = {}
        self._reading_cpus = {name: reading_cpus(capabilities.signals[name], topology) for name in self._signals
                              if not capabilities.provider[name].shared}

    def assemble(self, answers: Iterable[Answer], tick: Tick) -> Snapshot:
        """Assemble the snapshot of all answers to a tick."""
        columns_now = TickColumns(self._column_sizes, self._clock_sizes)
        fresh: dict[SignalId, set[int]] = {}
        gone: set[int] = set()
        failures: dict[tuple[str, int], str] = {}
        interrupted: dict[tuple[str, int], int] = {}
        spans: list[tuple[int, int]] = []
        # in the same order at every tick, whichever worker was quicker
        ordered = sorted(answers, key=lambda answer: answer.readings.cpus[:1])
        self._put(ordered, columns_now)
        for answer in ordered:
            gone |= answer.gone
            failures.update(answer.failures)
            interrupted.update(answer.interrupted)
            readings, began = answer.readings, answer.began
            if readings.cpus and not answer.late:  # in order of time: a worker reads in sequence
                spans.append((readings.started_ns[0], readings.ended_ns[-1]))
            for (cpu, source), names, _began, _ended, _raw in readings.each() if began else ():
                if (source, cpu) in began:
                    for _index, name, position in self._place(source, cpu, names)[0]:
                        fresh.setdefault(name, set()).add(position)
            for shared in answer.shared:
                if not answer.late:
                    spans.append((shared.started_ns, shared.ended_ns))
                if shared.raw is None:
                    continue
                self._put_shared(shared, columns_now)
                if (shared.source, SHARED) in began:
                    fresh.update((name, set(range(len(row))))
                                 for name, row in zip(shared.signals, shared.raw, strict=True)
                                 if len(row) == self._column_sizes.get(name))
        clocks = [packed([stamp and stamp + tick.slept_ns for stamp in clock]) if tick.slept_ns else clock
                  for clock in columns_now.clocks]
        stamps = {name: clocks[self._clocks[name]] for name in self._signals}
        columns: dict[SignalId, Sequence[Raw]] = {name: packed(column)
                                                  if (column := columns_now.values.get(name)) is not None
                                                  else [None] * size for name, size in self._column_sizes.items()}
        fresh |= {name: set(range(self._column_sizes[name])) for name in tick.anew if name in self._column_sizes}
        alike: dict[frozenset[int], frozenset[int]] = {}  # thousands of counters began anew alike: one set for all
        opened = {name: alike.setdefault(inside, inside) for name, inside in zip(fresh, map(frozenset, fresh.values()),
                                                                                 strict=True)}
        wraps, unsure = self._wrapped(columns, stamps, tick.slept_ns)
        unsure |= {name: positions for answer in ordered for reading in answer.shared
                   for name, positions in reading.unsure.items() if name in self._column_sizes}
        return Snapshot(
            seq=tick.seq, wall_ns=tick.wall_ns, started_ns=tick.started_ns, topology=self._topology, values=columns,
            stamps=stamps, late=tick.late, failed=frozenset(gone),
            span_ns=max((end for _begin, end in spans), default=0) - min((begin for begin, _end in spans), default=0),
            busy_ns=sum(end - start for start, end in spans),
            overruns=tick.overruns, late_total=tick.late_total,
            fresh=opened, wraps=wraps, unsure=unsure,
            failures=failures, behind=tick.behind, still=self._still(columns, stamps, fresh, tick.started_ns),
            interrupted=interrupted,
        )

    def _still(self, values: Mapping[SignalId, Sequence[Raw]], stamps: Mapping[SignalId, Sequence[int]],
               fresh: Mapping[SignalId, set[int]], now_ns: int) -> dict[SignalId, Mapping[int, float]]:
        """Positions of counters that stand still although their hardware always counts, or the machine does not."""
        instant = self._liveness.instant
        still = None if instant is None else instant.seconds({name: values[name] for name in self._counters}, now_ns)
        if still is not None:
            return {name: dict.fromkeys(range(self._column_sizes[name]), still) for name in self._counters}
        still_times: dict[SignalId, Mapping[int, float]] = {}
        for name in self._must_move:
            rows = [instance.row for instance in self._topology.instances(self._capabilities.signals[name].scope)]
            dead = self._liveness.see(name, rows, values[name], stamps[name], frozenset(fresh.get(name, ())))
            if dead:
                still_times[name] = dead
        return still_times

    def _put(self, answers: Sequence[Answer], columns: TickColumns) -> None:
        """Put values and time stamps into their columns; a failed reading leaves its places empty."""
        parts = [answer.readings for answer in answers if answer.readings.cpus]
        readings = parts[0] if len(parts) == 1 else Readings()
        if len(parts) > 1:
            for part in parts:
                readings.extend(part)
        if any(answer.failures for answer in answers):
            readings = readings.known()
        if self._layouts.put(readings, columns):
            self._places.clear()  # the layout has them in a tenth of the memory

    def _put_shared(self, reading: SharedReading, columns: TickColumns) -> None:
        middle = (reading.started_ns + reading.ended_ns) >> 1
        clocks: set[int] = set()
        for name, row in zip(reading.signals, reading.raw or (), strict=True):
            if len(row) == self._column_sizes.get(name):
                columns.values[name] = list(row)
                clocks.add(self._clocks[name])
        for clock in clocks:
            columns.stamp(clock, middle)

    def note(self, answers: Iterable[Answer], slept_ns: int) -> None:
        """Note readings between two snapshots, of which only the wraps of counters matter."""
        wrapping = frozenset(self._wrapping)
        for answer in answers:
            for (cpu, source), names, began, ended, raw in answer.readings.each():
                places, _moments = self._place(source, cpu, names)
                for index, name, position in places:
                    if name in wrapping:
                        signal = self._capabilities.signals[name]
                        row = self._topology.instances(signal.scope)[position].row
                        self._wraps.see(signal, row, raw[index], ((began + ended) >> 1) + slept_ns, slept_ns)

    def _wrapped(self, values: Mapping[SignalId, Sequence[Raw]], stamps: Mapping[SignalId, Sequence[int]],
                 slept_ns: int) -> tuple[dict[SignalId, tuple[int, ...]], dict[SignalId, frozenset[int]]]:
        """Wraps so far of every counter that wraps, and the positions where a wrap may have been missed."""
        wraps: dict[SignalId, tuple[int, ...]] = {}
        unsure: dict[SignalId, frozenset[int]] = {}
        for name in self._wrapping:
            signal = self._capabilities.signals[name]
            rows = [instance.row for instance in self._topology.instances(signal.scope)]
            for row, raw, stamp in zip(rows, values[name], stamps[name], strict=True):
                self._wraps.see(signal, row, raw, stamp, slept_ns)
            taken = [self._wraps.take(name, row) for row in rows]
            wraps[name] = tuple(count for count, _missed in taken)
            missed = frozenset(position for position, (_count, gap) in enumerate(taken) if gap)
            if missed:
                unsure[name] = missed
        return wraps, unsure

    def _place(self, source: str, cpu: int, names: tuple[SignalId, ...]) -> Places:
        """Positions of a reading's values and time stamp in the columns, without instances that another CPU reads.

        Readers return the same tuple of names as long as they read the same, so the tuple is compared by identity.
        """
        known = self._places.get((source, cpu))
        if known is None or known[0] is not names:
            values = tuple((index, name, position) for index, name in enumerate(names)
                           if (position := self._position(name, cpu)) >= 0)
            moments = tuple({(self._clocks[name], position) for _index, name, position in values})
            known = self._places[source, cpu] = (names, (values, moments))
        return known[1]

    def _position(self, name: SignalId, cpu: int) -> int:
        """Position of a CPU's reading of a signal; -1 if another CPU reads the instance or nobody wants the signal."""
        readers = self._reading_cpus.get(name)
        if readers is None or cpu not in self._topology.places:
            return -1
        position = self._topology.index(self._capabilities.signals[name].scope, cpu)
        return position if readers[position] == cpu else -1


def _counts_wraps(signal: Signal) -> bool:
    """Whether wraps of this signal have to be counted; recordings of 0.4 hold energies of 64 bits, which never wrap."""
    return signal.behavior is Behavior.COUNTER and signal.width_bits < 64 and signal.wrap_seconds > 0
