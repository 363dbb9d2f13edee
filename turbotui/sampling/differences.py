"""Differences of counters between two snapshots, before any plausibility rule."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from turbotui.counting.totals import scaled_columns
from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Behavior, Raw, Signal, SignalId
from turbotui.sampling.arithmetic import Numbers, increases, rises, seconds
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.snapshot import Snapshot

T = TypeVar("T")
_A = TypeVar("_A")
_KeeperT = TypeVar("_KeeperT", bound="_Keeper")

Rises: TypeAlias = list[int]
"""Increases of a counter, as raw counts."""


class _Keeper(Protocol):
    """An object whose methods keep what they have computed."""

    _kept: defaultdict[Callable[..., Any], dict[Any, Any]]  # method -> argument -> its answer


def once(method: Callable[[_KeeperT, _A], T]) -> Callable[[_KeeperT, _A], T]:
    """Have a method compute its answer to each argument once; the object keeps the answers, and no reference to itself.

    A cache of functools would keep the object, and with a frame its megabyte of readings.
    """

    @functools.wraps(method)
    def answer(self: _KeeperT, argument: _A) -> T:
        answers: dict[_A, T] = self._kept[method]
        if argument not in answers:
            answers[argument] = method(self, argument)
        return answers[argument]

    return answer


class Differences(ABC):
    """The readings of two snapshots in one order, and each counter's increase, computed on first use.

    Attributes:
        older: None on the first tick, when gauges and constants are known but deltas are not.
        newer: the snapshot at its end.
        capabilities: the signals that the machine offers.
        topology: that of the newer snapshot; every column is in the order of its instances.
    """

    __slots__ = ("_kept", "_shared_spans", "_shortest", "_spans", "capabilities", "newer", "older", "topology")

    def __init__(self, older: Snapshot | None, newer: Snapshot, capabilities: Capabilities) -> None:
        self.older = older
        self.newer = newer
        self.capabilities = capabilities
        self.topology: Topology = newer.topology
        self._kept: defaultdict[Callable[..., Any], dict[Any, Any]] = defaultdict(dict)
        self._spans: dict[SignalId, Numbers] = {}
        self._shared_spans: dict[tuple[int, int], Numbers] = {}
        self._shortest: dict[int, float] = {}  # by identity of spans, which live as long

    @abstractmethod
    def deltas(self, name: SignalId) -> Numbers:
        """Increase of a counter per instance of its scope; None if unknown or not believed."""

    def measured(self, name: SignalId) -> Numbers:
        """`deltas` before plausibility rules: everything that was read, believed or not."""
        signal, rose = self.capabilities.signals[name], self.rose(name)
        return self._difference(signal) if rose is None else scaled(rose, factor_of(signal))

    def measured_at(self, name: SignalId, positions: Sequence[int]) -> Numbers:
        """`measured` of these instances."""
        rose = self.rose(name)
        if rose is None:
            known = self.measured(name)
            return [known[position] for position in positions]
        return scaled([rose[position] for position in positions], factor_of(self.capabilities.signals[name]))

    def spans(self, name: SignalId) -> Numbers:
        """Seconds between the two readings per instance of the signal's scope."""
        if (spans := self._spans.get(name)) is None:
            read_as = self.capabilities.signals[name].read_as
            spans = self._spans[name] = self._spans_of(name) if read_as == name else self.spans(read_as)
        return spans

    def _spans_of(self, name: SignalId) -> Numbers:
        read, newer = None if self.older is None else self.older.stamps.get(name), self.newer.stamps.get(name)
        if read is None or newer is None:
            return [None] * len(self.topology.instances(self.capabilities.signals[name].scope))
        older = cast("Sequence[int | None]", self.before(read, name))
        if older is not read:
            return seconds(older, newer)  # stamps that were assembled here live too short to be recognised by identity
        # signals that are read together share their stamps and therefore these spans
        key = id(older), id(newer)
        if (shared := self._shared_spans.get(key)) is None:
            shared = self._shared_spans[key] = seconds(older, newer)
        return shared

    def shortest(self, name: SignalId) -> float:
        """The shortest known of the `spans`; 0 if none is known."""
        spans = self.spans(name)
        if id(spans) not in self._shortest:
            self._shortest[id(spans)] = min(filter(None, spans), default=0.0)
        return self._shortest[id(spans)]

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

    @once
    def levels_read(self, name: SignalId) -> Numbers:
        """`levels` before plausibility rules."""
        signal = self.capabilities.signals[name]
        size = len(self.topology.instances(signal.scope))
        if signal.behavior is Behavior.CONSTANT:
            return [signal.value(signal.constant)] * size
        raw = self.newer.values.get(name)
        return [None] * size if raw is None else _values(signal, raw)

    def was_read(self, name: SignalId) -> bool:
        """Whether a signal was read at both ends of the interval."""
        return (name in self.capabilities.signals and name in self.newer.values and self.older is not None
                and name in self.older.values)

    @once
    def was_made(self, name: SignalId) -> bool:
        """Whether all counters of which one is made were read; an old recording may have some of them."""
        signals = self.capabilities.signals
        return name in signals and all(part in signals and self.was_read(part) for part in signals[name].made_of)

    def before(self, items: Sequence[T] | None, name: SignalId) -> Sequence[T | None] | None:
        """Items of the older snapshot in the newer one's order; None without an older value."""
        if items is None or self.older is None:
            return None
        fresh, same = self.newer.fresh.get(name, ()), self.older.topology is self.topology
        if same and not fresh:
            return items
        scope = self.capabilities.signals[name].scope
        size = len(self.topology.instances(scope))
        if len(fresh) == size:  # its scope may have changed too
            return [None] * size
        if same:
            befores: list[T | None] = list(items)
        else:
            rows = (instance.row for instance in self.older.topology.instances(scope))
            place = dict(zip(rows, items, strict=True))
            befores = [place.get(instance.row) for instance in self.topology.instances(scope)]
        for position in fresh:
            befores[position] = None
        return befores

    def older_values(self, name: SignalId) -> Sequence[Raw] | None:
        """The raw values at the start of the interval, in the newer snapshot's order."""
        return self.before(None if self.older is None else self.older.values.get(name), name)

    @once
    def rose(self, name: SignalId) -> Rises | None:
        """The increases of a counter of which no instance's is unknown, went back or was multiplexed, plausible or not.

        The usual case: all instances then are subtracted, added up and held against their bounds together, without
        which the frames of a table of 1,024 CPUs take 34 % longer (November 2026).
        """
        signal = self.capabilities.signals[name]
        if signal.width_bits < 64 or signal.low_bit or name in self.newer.unsure or not (
                not signal.running or self._ran_throughout((signal.enabled, signal.running))):
            return None
        newer, older = self.newer.values.get(name), self.older_values(name)
        return None if newer is None or older is None else rises(older, newer)

    @once
    def _ran_throughout(self, pair: tuple[SignalId, SignalId]) -> bool:
        """Whether a counter with these times was counted all the time on every instance, so that nothing is scaled."""
        enabled, running = map(self.deltas, pair)
        return running == enabled and all(running)

    @once
    def stamps(self, name: SignalId) -> tuple[Sequence[int | None] | None, Sequence[int] | None]:
        """The time stamps of the older reading, in the newer one's order, and of the newer reading."""
        older = None if self.older is None else self.older.stamps.get(name)
        return self.before(older, name), self.newer.stamps.get(name)

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


def scaled(rose: Rises, factor: float | None) -> Numbers:
    """Raw increases times a factor, if there is one."""
    return rose if factor is None else [item * factor for item in rose]


def factor_of(signal: Signal) -> float | None:
    """The factor of a difference of raw counts; None for plain counts, which stay integers."""
    return None if signal.scale == 1.0 and not signal.running else signal.scale
