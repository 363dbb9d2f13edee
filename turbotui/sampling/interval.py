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
from turbotui.quantities.signals import Behavior, Reduce, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.arithmetic import Numbers, common, quotients, reduced, risen_rate
from turbotui.sampling.conservation import DERIVED
from turbotui.sampling.differences import Differences, Rises, factor_of, once, scaled
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.plausibility import Rule, Unbelieved, unbelieved


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

    __slots__ = ()

    # Counters that are made of others

    @once
    def measured(self, name: SignalId) -> Numbers:
        made = DERIVED.get(name)
        return super().measured(name) if made is None else made(self)

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

    @once
    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None if unknown or not believed."""
        if (rose := self.risen(name)) is not None:
            return scaled(rose, factor_of(self.capabilities.signals[name]))
        return _without(self.unbelieved(name), self.measured(name))

    @once
    def unbelieved(self, name: SignalId) -> Mapping[int, Unavailable]:
        """The positions at which a counter's increase or a gauge's value is not believed, with reasons."""
        return unbelieved(self, name, self.findings)

    @once
    def findings(self, rule: Rule) -> Unbelieved:
        """The result of a plausibility rule on this interval, computed once."""
        return rule.find(self)

    @once
    def rates(self, name: SignalId) -> Numbers:
        """Increase per second per instance of the signal's scope."""
        return quotients(self.deltas(name), self.spans(name))

    @once
    def levels(self, name: SignalId) -> Numbers:
        """A gauge at the newer snapshot (or a constant) per instance of the signal's scope; None if not believed."""
        return _without(self.unbelieved(name), self.levels_read(name))

    @once
    def texts(self, name: SignalId) -> Sequence[str | None]:
        """A text gauge per instance of the signal's scope."""
        signal = self.capabilities.signals[name]
        raw = self.newer.values.get(name)
        if signal.behavior is Behavior.CONSTANT or raw is None:
            raw = [signal.constant] * len(self.topology.instances(signal.scope))
        return [item if isinstance(item, str) else None for item in raw]

    @once
    def unread(self, name: SignalId) -> Sequence[bool]:
        """Whether a signal was not read at the newer snapshot, per instance of its scope that has it."""
        signal = self.capabilities.signals[name]
        raw = self.newer.values.get(signal.read_as)
        if signal.behavior is Behavior.CONSTANT or raw is None:
            return [signal.behavior is not Behavior.CONSTANT] * len(self.topology.instances(signal.scope))
        if not signal.absent:
            return [item is None for item in raw]
        return [item is None and cpu not in signal.absent
                for item, cpu in zip(raw, reading_cpus(signal, self.topology), strict=True)]

    # Some instances: of 1,024 CPUs a table shows fifty, and a frame of it takes 12 % longer by whole columns (November
    # 2026)

    def deltas_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`deltas` of these instances."""
        if not self.unbelieved(name):
            return self.measured_at(name, positions)
        known = self.deltas(name)
        return [known[position] for position in positions]

    def rates_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`rates` of these instances."""
        return quotients(self.deltas_at(name, positions), self.spans_at(name, positions))

    def levels_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`levels` of these instances."""
        known = self.levels(name)
        return [known[position] for position in positions]

    def texts_at(self, name: SignalId, positions: Sequence[int]) -> Sequence[str | None]:
        """`texts` of these instances."""
        known = self.texts(name)
        return [known[position] for position in positions]

    def unread_at(self, name: SignalId, positions: Sequence[int]) -> Sequence[bool]:
        """`unread` of these instances."""
        known = self.unread(name)
        return [known[position] for position in positions]

    # The whole machine

    @once
    def whole_delta(self, name: SignalId) -> float | None:
        """`deltas` of all instances, reduced by the signal's rule."""
        signal, rose = self.capabilities.signals[name], self.risen(name)
        if not rose or signal.reduce not in {Reduce.SUM, Reduce.MEAN}:
            return reduced(self.deltas(name), signal.reduce)
        factor, total = factor_of(signal), sum(rose)
        whole = total if factor is None else total * factor
        return whole if signal.reduce is Reduce.SUM else whole / len(rose)

    @once
    def whole_rate(self, name: SignalId) -> float | None:
        """`rates` of all instances, reduced by the signal's rule."""
        signal, rose = self.capabilities.signals[name], self.risen(name)
        total = None
        if rose is not None and signal.reduce in {Reduce.SUM, Reduce.MEAN}:
            total = risen_rate(rose, self.spans(name), factor_of(signal))
        if total is None:
            return reduced(self.rates(name), signal.reduce)
        return total if signal.reduce is Reduce.SUM else total / len(self.spans(name))

    @once
    def whole_window(self, name: SignalId) -> float | None:
        """The common `spans` of all instances; None if they differ."""
        return common(self.spans(name))

    @once
    def one_clock(self, names: tuple[SignalId, ...]) -> SignalId:
        """The first known of these counters if all known ones were read together everywhere; otherwise ""."""
        known = [name for name in names if name in self.capabilities.signals]
        spans = [self.spans(name) for name in known]
        same = len({self.capabilities.signals[name].scope for name in known}) == 1
        return known[0] if same and all(span == spans[0] for span in spans) else ""

    @once
    def whole_level(self, name: SignalId) -> float | None:
        """`levels` of all instances, reduced by the signal's rule."""
        return reduced(self.levels(name), self.capabilities.signals[name].reduce)

    @once
    def has_gaps(self, name: SignalId) -> bool:
        """Whether a signal has no number on some instance of the machine, or on one that left in this interval."""
        if self.capabilities.signals[name].behavior is not Behavior.COUNTER:
            return None in self.levels(name)
        if self.risen(name) is None and None in self.deltas(name):
            return True
        return self.older is not None and self.older.topology is not self.topology and bool(self.departed(name))

    @once
    def departed(self, name: SignalId) -> Sequence[Instance]:
        """The instances of a counter that left in this interval: what they counted until then nobody read."""
        older, signal = self.older, self.capabilities.signals[name]
        if older is None or older.topology is self.topology:
            return ()
        return [instance for instance in older.topology.instances(signal.scope)
                if self.topology.instance(instance.row) is None and instance.cpus[0] not in signal.absent]

    @once
    def risen(self, name: SignalId) -> Rises | None:
        """`rose` of a counter that is known and believed everywhere, never went back and was never multiplexed.

        None means that instances have to be checked one by one.
        """
        return None if self.unbelieved(name) else self.rose(name)


def _without(doubted: Mapping[int, Unavailable], items: Numbers) -> Numbers:
    """Numbers with the doubted ones unknown."""
    return [None if at in doubted else item for at, item in enumerate(items)] if doubted else items
