"""Kinds of rows that come and go (interrupts, control groups, threads), and the quantities that are read for each row.

CPUs, cores and packages are levels of the topology and have signals (`quantities.signals`). A kind has quantities.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.units import Unit

KindId: TypeAlias = str
"""One lower-case word, as machine formats have it: `interrupts`."""

QuantityId: TypeAlias = str
"""Dotted lower-case name, unique within its kind: `count`, `memory.current`."""

ClockId: TypeAlias = str
"""The readings of a row that share one time stamp; "" where everything of a row is read at once."""

ROWS_LIMIT: Final = 1 << 16
"""The most rows that any kind may have."""


class Form(Enum):
    """How the raw values of a quantity are stored."""

    WORD = "word"  # unsigned, 64 bits
    DOUBLE = "double"
    TEXT = "text"


class Cost(Enum):
    """How often a quantity is read."""

    TICK = "tick"
    # every fifth tick, other rows at other ticks, and only while somebody looks: `Columns.wants`, `Columns.due`
    SELDOM = "seldom"


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of row."""

    id: KindId
    title: str  # for people, in the plural: "interrupts"
    parent: KindId = ""  # the kind of the rows that contain these; "" for none
    # whether a row's counters include those of its children of the same kind, as those of control groups do
    nested: bool = False
    most: int = 4096  # rows beyond this number are left out and counted (`RowTick.omitted`)

    @property
    def word(self) -> str:
        """The id in the singular."""
        return f"{self.id.removesuffix('ies')}y" if self.id.endswith("ies") else self.id.removesuffix("s")

    def __post_init__(self) -> None:
        if not 0 < self.most <= ROWS_LIMIT:
            raise ValueError(f"{self.id}: a kind has 1 to {ROWS_LIMIT} rows, not {self.most}")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A raw value that is read for each row of a kind.

    A COUNTER that goes down was reset and has no difference: it must not wrap, so a reader extends narrower registers
    to 64 bits. A DOUBLE or TEXT quantity is a gauge. A row's CONSTANT is put once.
    """

    id: QuantityId
    kind: KindId  # id of the `RowKind`
    unit: Unit  # SI unit of the value
    behavior: Behavior  # how the value moves
    reduce: Reduce  # how the values of several rows combine
    # what is read, in words that an operator can type or open: "/proc/interrupts". `{row}` stands for the row's name.
    origin: str
    document: str = ""  # where the meaning is written down
    scale: float = 1.0  # value = scale * raw
    clock: ClockId = ""
    form: Form = Form.WORD  # how raw values are stored
    cost: Cost = Cost.TICK  # how often the quantity is read
    # enabled, running: ids of the quantities with perf's time_enabled and time_running of this counter, in ns; empty if
    # multiplexing cannot happen
    enabled: QuantityId = ""
    running: QuantityId = ""
    # id of the counter of how often a part of this counter's increase was missed, where it is a sum whose parts come,
    # go and begin anew: an interval in which it rises has no increase, however long it is
    gaps: QuantityId = ""
    # id of the TEXT quantity that says what this value lacks, where it is the least that it can be; "" in a row in
    # which it lacks nothing
    lacks: QuantityId = ""
    # id of the gauge of how far the time stamp of this counter's clock may be off, in words of ns: an interval of which
    # both ends make more than `INTERRUPTED_SHARE` has an increase, and no rate
    unsure: QuantityId = ""

    @property
    def aids(self) -> frozenset[QuantityId]:
        """The ids of the quantities without which this one is not to be understood."""
        return frozenset({self.enabled, self.running, self.gaps, self.lacks, self.unsure} - {""})

    def __post_init__(self) -> None:
        if self.behavior is Behavior.COUNTER and self.form is not Form.WORD:
            raise ValueError(f"{self.kind} {self.id}: a counter is stored in words")
        if bool(self.enabled) != bool(self.running):
            raise ValueError(f"{self.kind} {self.id}: of a counter's enabled and running times both or none are read")
