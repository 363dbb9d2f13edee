"""Differences of counters between two snapshots, before any plausibility rule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.sampling.arithmetic import Numbers, increases, rises
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

    __slots__ = (
        "_measured", "_older_stamps", "_older_values", "_rises", "_throughout", "capabilities", "newer", "older",
        "topology",
    )

    def __init__(self, older: Snapshot | None, newer: Snapshot, capabilities: Capabilities) -> None:
        self.older = older
        self.newer = newer
        self.capabilities = capabilities
        self.topology: Topology = newer.topology
        self._rises: dict[SignalId, Rises | None] = {}
        self._measured: dict[SignalId, Numbers] = {}
        self._throughout: dict[tuple[SignalId, SignalId], bool] = {}
        self._older_values: dict[SignalId, Sequence[Raw] | None] = {}
        self._older_stamps: dict[SignalId, Sequence[int | None] | None] = {}

    @abstractmethod
    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None if unknown or not believed."""

    def measured(self, name: SignalId) -> Numbers:
        """`deltas` before plausibility rules: everything that was read, believed or not."""
        found = self._measured.get(name)
        if found is None:
            signal, rose = self.capabilities.signals[name], self.rose(name)
            factor = factor_of(signal)
            if rose is None:
                found = self._difference(signal)
            else:
                found = rose if factor is None else [item * factor for item in rose]
            self._measured[name] = found
        return found

    def was_read(self, name: SignalId) -> bool:
        """Whether a signal was read at both ends of the interval."""
        return (name in self.capabilities.signals and name in self.newer.values and self.older is not None
                and name in self.older.values)

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
            found: list[T | None] = list(items)
        else:
            scope = self.capabilities.signals[name].scope
            rows = (instance.row for instance in self.older.topology.instances(scope))
            place = dict(zip(rows, items, strict=True))
            found = [place.get(instance.row) for instance in self.topology.instances(scope)]
        for position in fresh:
            found[position] = None
        return found

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
        signal, found = self.capabilities.signals[name], None
        if signal.width_bits >= 64 and signal.low_bit == 0 and (not signal.running or self._ran_throughout(signal)):
            newer = self.newer.values.get(name)
            older = self.older_values(name)
            if newer is not None and older is not None:
                found = rises(older, newer)
        self._rises[name] = found
        return found

    def _ran_throughout(self, signal: Signal) -> bool:
        """Whether a counter that can be multiplexed was not, on any instance, so that nothing has to be scaled."""
        pair = (signal.enabled, signal.running)
        if pair not in self._throughout:
            ran = self.deltas(signal.running)
            self._throughout[pair] = None not in ran and 0 not in ran and ran == self.deltas(signal.enabled)
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
            plain = [
                signal.delta(a, b, wraps) for a, b, wraps in zip(older, newer, self.wrapped(signal.id), strict=True)
            ]
            missed = self.newer.unsure.get(signal.id)
            if missed:
                plain = [None if position in missed else item for position, item in enumerate(plain)]
        if not signal.running:
            return plain
        return [
            None if value is None or not ran or enabled is None else value * enabled / ran
            for value, enabled, ran in
            zip(plain, self.deltas(signal.enabled), self.deltas(signal.running), strict=True)
        ]

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


def factor_of(signal: Signal) -> float | None:
    """The factor of a difference of raw counts; None for plain counts, which stay integers."""
    return None if signal.scale == 1.0 and not signal.running else signal.scale
