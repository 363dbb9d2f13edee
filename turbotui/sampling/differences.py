"""Differences of counters between two snapshots, before any plausibility rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import TypeAlias, TypeVar, cast

from turbotui.counting.totals import scaled_columns
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.sampling.arithmetic import Numbers, increases, rises, seconds
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.snapshot import Snapshot

T = TypeVar("T")

Rises: TypeAlias = list[int]
"""Increases of a counter, as raw counts."""


class Differences(ABC):
    """The readings of two snapshots in one order, and each counter's increase, computed on first use.

    Attributes:
        older: None on the first tick, when gauges and constants are known but deltas are not.
        newer: the snapshot at its end.
        capabilities: the signals that the machine offers.
        topology: that of the newer snapshot; every column is in the order of its instances.
    """

    __slots__ = ("_levels_read", "_made", "_measured", "_older_stamps", "_older_values", "_rises", "_shared_spans",
        "_shortest", "_spans", "_throughout", "capabilities", "newer", "older", "topology")

    def __init__(self, older: Snapshot | None, newer: Snapshot, capabilities: Capabilities) -> None:
        self.older = older
        self.newer = newer
        self.capabilities = capabilities
        self.topology: Topology = newer.topology
        self._rises: dict[SignalId, Rises | None] = {}
        self._measured: dict[SignalId, Numbers] = {}
        self._made: dict[SignalId, bool] = {}
        self._spans: dict[SignalId, Numbers] = {}
        self._shared_spans: dict[tuple[int, int], Numbers] = {}
        self._shortest: dict[int, float] = {}  # by identity of spans, which live as long
        self._levels_read: dict[SignalId, Numbers] = {}
        self._throughout: dict[tuple[SignalId, SignalId], bool] = {}
        self._older_values: dict[SignalId, Sequence[Raw] | None] = {}
        self._older_stamps: dict[SignalId, Sequence[int | None] | None] = {}

    @abstractmethod
    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None if unknown or not believed."""

    def measured(self, name: SignalId) -> Numbers:
        """`deltas` before plausibility rules: everything that was read, believed or not."""
        values = self._measured.get(name)
        if values is None:
            signal, rose = self.capabilities.signals[name], self.rose(name)
            factor = factor_of(signal)
            if rose is None:
                values = self._difference(signal)
            else:
                values = rose if factor is None else [item * factor for item in rose]
            self._measured[name] = values
        return values

    def measured_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`measured` of these instances."""
        known = self._measured.get(name)
        if known is None:
            if (rose := self.rose(name)) is not None:
                if (factor := factor_of(self.capabilities.signals[name])) is None:
                    return [rose[position] for position in positions]
                return [rose[position] * factor for position in positions]
            known = self.measured(name)
        return [known[position] for position in positions]

    def spans(self, name: SignalId) -> Numbers:
        """Seconds between the two readings per instance of the signal's scope."""
        spans = self._spans.get(name)
        if spans is None:
            name = self.capabilities.signals[name].read_as
            spans = self._spans.get(name)
        if spans is None:
            older, newer = self.stamps(name)
            if newer is None or older is None:
                spans = [None] * len(self.topology.instances(self.capabilities.signals[name].scope))
            else:
                # signals that are read together share their stamps and therefore these spans; stamps that were
                # assembled here live too short to be recognised by identity
                key = (id(older), id(newer))
                lasting = self.older is not None and older is self.older.stamps.get(name)
                shared = self._shared_spans.get(key) if lasting else None
                spans = seconds(older, newer) if shared is None else shared
                if lasting:
                    self._shared_spans[key] = spans
            self._spans[name] = spans
        return spans

    def shortest(self, name: SignalId) -> float:
        """The shortest known of the `spans`; 0 if none is known."""
        spans = self.spans(name)
        value = self._shortest.get(id(spans))
        if value is None:
            try:
                value = min(cast("Sequence[float]", spans), default=0.0) or 0.0  # a single one may be unknown
            except TypeError:  # one is unknown
                value = min(filter(None, spans), default=0.0)
            self._shortest[id(spans)] = value
        return value

    def spans_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`spans` of these instances."""
        name = self.capabilities.signals[name].read_as
        known = self._spans.get(name)
        if known is None:
            older, newer = self.stamps(name)
            if older is None or newer is None:
                return [None] * len(positions)
            return seconds([older[position] for position in positions], [newer[position] for position in positions])
        return [known[position] for position in positions]

    def levels_read(self, name: SignalId) -> Numbers:
        """`levels` before plausibility rules."""
        values = self._levels_read.get(name)
        if values is None:
            signal = self.capabilities.signals[name]
            size = len(self.topology.instances(signal.scope))
            if signal.behavior is Behavior.CONSTANT:
                values = [signal.value(signal.constant)] * size
            else:
                raw = self.newer.values.get(name)
                values = [None] * size if raw is None else _values(signal, raw)
            self._levels_read[name] = values
        return values

    def was_read(self, name: SignalId) -> bool:
        """Whether a signal was read at both ends of the interval."""
        return (name in self.capabilities.signals and name in self.newer.values and self.older is not None
                and name in self.older.values)

    def was_made(self, name: SignalId) -> bool:
        """Whether all counters of which one is made were read; an old recording may have some of them."""
        known = self._made.get(name)
        if known is None:
            signals, older = self.capabilities.signals, self.older
            known = self._made[name] = older is not None and name in signals and all(
                all(map(there.__contains__, signals[name].made_of))
                for there in (signals, older.values, self.newer.values))
        return known

    def before(self, items: Sequence[T] | None, name: SignalId) -> Sequence[T | None] | None:
        """Items of the older snapshot in the newer one's order; None without an older value."""
        if items is None or self.older is None:
            return None
        fresh = self.newer.fresh.get(name, ())
        size = len(self.topology.instances(self.capabilities.signals[name].scope))
        if len(fresh) == size:  # its scope may have changed too
            return [None] * size
        if self.older.topology is self.topology:
            if not fresh:
                return items
            befores: list[T | None] = list(items)
        else:
            scope = self.capabilities.signals[name].scope
            rows = (instance.row for instance in self.older.topology.instances(scope))
            place = dict(zip(rows, items, strict=True))
            befores = [place.get(instance.row) for instance in self.topology.instances(scope)]
        for position in fresh:
            befores[position] = None
        return befores

    def older_values(self, name: SignalId) -> Sequence[Raw] | None:
        """The raw values at the start of the interval, in the newer snapshot's order."""
        if name not in self._older_values:
            older = None if self.older is None else self.older.values.get(name)
            self._older_values[name] = self.before(older, name)
        return self._older_values[name]

    def rose(self, name: SignalId) -> Rises | None:
        """The increases of a counter, whether plausible or not."""
        if name in self._rises:
            return self._rises[name]
        signal, rising = self.capabilities.signals[name], None
        if signal.width_bits >= 64 and signal.low_bit == 0 and (not signal.running or self._ran_throughout(signal)):
            newer = self.newer.values.get(name)
            older = self.older_values(name)
            if newer is not None and older is not None:
                rising = rises(older, newer)
        self._rises[name] = rising
        return rising

    def _ran_throughout(self, signal: Signal) -> bool:
        """Whether a counter that can be multiplexed was not, on any instance, so that nothing has to be scaled."""
        pair = (signal.enabled, signal.running)
        if pair not in self._throughout:
            ran = self.deltas(signal.running)
            self._throughout[pair] = ran == self.deltas(signal.enabled) and all(ran)
        return self._throughout[pair]

    def stamps(self, name: SignalId) -> tuple[Sequence[int | None] | None, Sequence[int] | None]:
        """The time stamps of the older reading, in the newer one's order, and of the newer reading."""
        if name not in self._older_stamps:
            older = None if self.older is None else self.older.stamps.get(name)
            self._older_stamps[name] = self.before(older, name)
        return self._older_stamps[name], self.newer.stamps.get(name)

    def _difference(self, signal: Signal) -> Numbers:
        newer = self.newer.values.get(signal.id)
        older = self.older_values(signal.id)
        if newer is None or older is None:
            return [None] * len(self.topology.instances(signal.scope))
        plain: Numbers
        if signal.width_bits >= 64 and signal.low_bit == 0:
            plain = increases(older, newer, signal.scale)
        elif older == newer and None not in newer and self._turned_nowhere(signal.id):
            plain = [0.0] * len(newer)  # a counter of rare events, or an idle one
        else:
            plain = [signal.delta(a, b, wraps) for a, b, wraps in zip(older, newer, self.wrapped(signal.id),
                strict=True)]
            if missed := self.newer.unsure.get(signal.id):
                plain = [None if position in missed else item for position, item in enumerate(plain)]
        if not signal.running:
            return plain
        return scaled_columns(plain, self.deltas(signal.enabled), self.deltas(signal.running))

    def _turned_nowhere(self, name: SignalId) -> bool:
        """Whether no instance's counter was seen to wrap between the two snapshots."""
        newer = self.newer.wraps.get(name)
        return newer is None or (self.older is not None and self.before(self.older.wraps.get(name), name) == newer)

    def wrapped(self, name: SignalId) -> Sequence[int | None]:
        """How often each instance's counter wrapped between the two snapshots; None if nobody counted."""
        newer = self.newer.wraps.get(name)
        older = None if self.older is None else self.before(self.older.wraps.get(name), name)
        if newer is None or older is None:
            return [None] * len(self.topology.instances(self.capabilities.signals[name].scope))
        return [None if a is None else b - a for a, b in zip(older, newer, strict=True)]


def _values(signal: Signal, raw: Sequence[Raw]) -> Numbers:
    """The value of every reading; None for texts and missing readings."""
    if isinstance(raw, array) or set(map(type, raw)) <= {int}:
        plain, scale, offset = cast("Sequence[int]", raw), signal.scale, signal.offset
        if signal.width_bits < 64 or signal.low_bit:
            low, ones = signal.low_bit, (1 << signal.width_bits) - 1
            plain = [item >> low & ones for item in plain]
            if signal.saturates and ones in plain:
                return [None if item == ones else offset + scale * item for item in plain]
        return [offset + scale * item for item in plain]
    return [signal.value(item) for item in raw]


def factor_of(signal: Signal) -> float | None:
    """The factor of a difference of raw counts; None for plain counts, which stay integers."""
    return None if signal.scale == 1.0 and not signal.running else signal.scale
