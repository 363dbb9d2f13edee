"""Intervals: the change of every signal between two snapshots, stored by column, computed on first use.

A caller that needs a thousand instances asks for the whole column, one that needs a screenful asks at positions, and
one that needs the whole machine asks for the reduced number: each pays only for what it needs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from turbotui.machine.topology import Instance
from turbotui.quantities.columns import CounterColumn, Inputs, Value
from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import Behavior, Raw, Reduce, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.arithmetic import Numbers, common, quotients, reduced, risen_rate
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.conservation import DERIVED
from turbotui.sampling.differences import Differences, Rises, factor_of
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.plausibility import Rule, Unbelieved, unbelieved
from turbotui.sampling.snapshot import Snapshot


class TimedInputs(Inputs, Protocol):
    """Inputs that know when they were read."""

    def window(self, signal: SignalId) -> float | None:
        """Seconds between a counter's two readings; None if unknown, or if they differ within the row."""

    def unread(self, signal: SignalId) -> bool:
        """Whether no instance of a signal in the row was read."""


class Interval(Differences):
    """All signals over one interval; cheap to make, computes values when they are asked for and keeps them.

    No kept value refers back to the interval, so that an unreferenced interval is freed at once with its megabyte of
    readings, and not only when the garbage collector runs.
    """

    __slots__ = ("_deltas", "_findings", "_gaps", "_levels", "_one_clock", "_rates", "_texts", "_unbelieved",
        "_unread", "_whole_deltas", "_whole_levels", "_whole_rates", "_whole_windows")

    def __init__(self, older: Snapshot | None, newer: Snapshot, capabilities: Capabilities) -> None:
        super().__init__(older, newer, capabilities)
        self._unbelieved: dict[SignalId, Mapping[int, Unavailable]] = {}
        self._findings: dict[Rule, Unbelieved] = {}
        self._deltas: dict[SignalId, Numbers] = {}
        self._rates: dict[SignalId, Numbers] = {}
        self._levels: dict[SignalId, Numbers] = {}
        self._texts: dict[SignalId, Sequence[str | None]] = {}
        self._unread: dict[SignalId, Sequence[bool]] = {}
        self._gaps: dict[SignalId, bool] = {}
        self._whole_deltas: dict[SignalId, float | None] = {}
        self._whole_rates: dict[SignalId, float | None] = {}
        self._whole_levels: dict[SignalId, float | None] = {}
        self._whole_windows: dict[SignalId, float | None] = {}
        self._one_clock: dict[tuple[SignalId, ...], SignalId] = {}

    # Counters that are made of others

    def measured(self, name: SignalId) -> Numbers:
        values = self._measured.get(name)
        if values is None:
            made = DERIVED.get(name)
            values = self._measured[name] = super().measured(name) if made is None else made(self)
        return values

    # Columns of rows

    @property
    def seconds(self) -> float | None:
        """Length of the interval from tick to tick; None on the first tick."""
        return None if self.older is None else (self.newer.started_ns - self.older.started_ns) / 1e9

    @abstractmethod
    def inputs(self, row: RowId) -> TimedInputs:
        """The inputs of formulas for one row."""

    @abstractmethod
    def cell(self, column: CounterColumn, row: RowId) -> Value:
        """The value of a column in a row; None if unknown."""

    @abstractmethod
    def known_level(self, column: CounterColumn) -> Sequence[Value] | None:
        """The values of a column in all rows of its own level, if they have been computed before."""

    def can(self, column: CounterColumn) -> bool:
        """Whether the machine has every signal that a column needs."""
        return all(map(self.capabilities.signals.__contains__, column.needs))

    # Every instance of a signal's scope

    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None if unknown or not believed."""
        deltas = self._deltas.get(name)
        if deltas is None:
            deltas, doubted = self.measured(name), self.unbelieved(name)
            if doubted:
                deltas = [None if position in doubted else item for position, item in enumerate(deltas)]
            self._deltas[name] = deltas
        return deltas

    def unbelieved(self, name: SignalId) -> Mapping[int, Unavailable]:
        """The positions at which a counter's increase or a gauge's value is not believed, with reasons."""
        if (whys := self._unbelieved.get(name)) is None:
            whys = self._unbelieved[name] = unbelieved(self, name, self.findings)
        return whys

    def findings(self, rule: Rule) -> Unbelieved:
        """The result of a plausibility rule on this interval, computed once."""
        if (findings := self._findings.get(rule)) is None:
            findings = self._findings[rule] = rule.find(self)
        return findings

    def rates(self, name: SignalId) -> Numbers:
        """Increase per second per instance of the signal's scope."""
        if (rates := self._rates.get(name)) is None:
            rates = self._rates[name] = quotients(self.deltas(name), self.spans(name))
        return rates

    def levels(self, name: SignalId) -> Numbers:
        """A gauge at the newer snapshot (or a constant) per instance of the signal's scope; None if not believed."""
        levels = self._levels.get(name)
        if levels is None:
            levels, doubted = self.levels_read(name), self.unbelieved(name)
            if doubted:
                levels = [None if position in doubted else item for position, item in enumerate(levels)]
            self._levels[name] = levels
        return levels

    def texts(self, name: SignalId) -> Sequence[str | None]:
        """A text gauge per instance of the signal's scope."""
        texts = self._texts.get(name)
        if texts is None:
            signal = self.capabilities.signals[name]
            raw: Sequence[Raw] = self.newer.values.get(name, ())
            if signal.behavior is Behavior.CONSTANT:
                raw = [signal.constant] * len(self.topology.instances(signal.scope))
            texts = self._texts[name] = [item if isinstance(item, str) else None for item in raw]
        return texts

    def unread(self, name: SignalId) -> Sequence[bool]:
        """Whether a signal was not read at the newer snapshot, per instance of its scope that has it."""
        unread = self._unread.get(name)
        if unread is None:
            signal, topology = self.capabilities.signals[name], self.topology
            raw = self.newer.values.get(signal.read_as)
            if signal.behavior is Behavior.CONSTANT or raw is None:
                here = raw is None and signal.behavior is not Behavior.CONSTANT
                unread = [here] * len(topology.instances(signal.scope))
            elif signal.absent:
                unread = [item is None and cpu not in signal.absent
                          for item, cpu in zip(raw, reading_cpus(signal, topology), strict=True)]
            else:
                unread = [item is None for item in raw]
            self._unread[name] = unread
        return unread

    # Some instances

    def deltas_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`deltas` of these instances."""
        known = self._deltas.get(name)
        if known is None:
            if not self.unbelieved(name):
                return self.measured_at(name, positions)
            known = self.deltas(name)
        return [known[position] for position in positions]

    def rates_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`rates` of these instances."""
        if (known := self._rates.get(name)) is None:
            return quotients(self.deltas_at(name, positions), self.spans_at(name, positions))
        return [known[position] for position in positions]

    def levels_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`levels` of these instances."""
        known = self.levels(name)
        return [known[position] for position in positions]

    def unread_at(self, name: SignalId, positions: Sequence[int]) -> Sequence[bool]:
        """`unread` of these instances."""
        known = self.unread(name)
        return [known[position] for position in positions]

    # The whole machine

    def whole_delta(self, name: SignalId) -> float | None:
        """`deltas` of all instances, reduced by the signal's rule."""
        if name not in self._whole_deltas:
            signal, rose = self.capabilities.signals[name], self._risen(name)
            if rose and signal.reduce in {Reduce.SUM, Reduce.MEAN}:
                factor, total = factor_of(signal), sum(rose)
                whole = total if factor is None else total * factor
                mean: float | None = whole if signal.reduce is Reduce.SUM else whole / len(rose)
            else:
                mean = reduced(self.deltas(name), signal.reduce)
            self._whole_deltas[name] = mean
        return self._whole_deltas[name]

    def whole_rate(self, name: SignalId) -> float | None:
        """`rates` of all instances, reduced by the signal's rule."""
        if name not in self._whole_rates:
            signal, rose = self.capabilities.signals[name], self._risen(name)
            total = None
            if rose is not None and signal.reduce in {Reduce.SUM, Reduce.MEAN}:
                total = risen_rate(rose, self.spans(name), factor_of(signal))
            if total is None:
                value = reduced(self.rates(name), signal.reduce)
            else:
                value = total if signal.reduce is Reduce.SUM else total / len(self.spans(name))
            self._whole_rates[name] = value
        return self._whole_rates[name]

    def whole_window(self, name: SignalId) -> float | None:
        """The common `spans` of all instances; None if they differ."""
        if name not in self._whole_windows:
            self._whole_windows[name] = common(self.spans(name))
        return self._whole_windows[name]

    def one_clock(self, names: tuple[SignalId, ...]) -> SignalId:
        """The first known of these counters if all known ones were read together everywhere; otherwise ""."""
        why = self._one_clock.get(names)
        if why is None:
            known = [name for name in names if name in self.capabilities.signals]
            spans = [self.spans(name) for name in known]
            same = bool(known) and len({self.capabilities.signals[name].scope for name in known}) == 1
            alike = same and all(span is spans[0] or span == spans[0] for span in spans)
            why = self._one_clock[names] = known[0] if alike else ""
        return why

    def whole_level(self, name: SignalId) -> float | None:
        """`levels` of all instances, reduced by the signal's rule."""
        if name not in self._whole_levels:
            self._whole_levels[name] = reduced(self.levels(name), self.capabilities.signals[name].reduce)
        return self._whole_levels[name]

    def has_gaps(self, name: SignalId) -> bool:
        """Whether a signal has no number on some instance of the machine, or on one that left in this interval."""
        gaps = self._gaps.get(name)
        if gaps is None:
            counter = self.capabilities.signals[name].behavior is Behavior.COUNTER
            gaps = self._gaps[name] = (
                bool(self.departed(name)) or (self._risen(name) is None and None in self.deltas(name)) if counter
                else None in self.levels(name))
        return gaps

    def departed(self, name: SignalId) -> Sequence[Instance]:
        """The instances of a counter that left in this interval: what they counted until then nobody read."""
        older, signal = self.older, self.capabilities.signals[name]
        if older is None or older.topology is self.topology:
            return ()
        return [instance for instance in older.topology.instances(signal.scope)
                if self.topology.instance(instance.row) is None and instance.cpus[0] not in signal.absent]

    def _risen(self, name: SignalId) -> Rises | None:
        """Of a counter that is known and believed everywhere, never went back and was never multiplexed.

        None means that instances have to be checked one by one.
        """
        return None if self.unbelieved(name) else self.rose(name)
