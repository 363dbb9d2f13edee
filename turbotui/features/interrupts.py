"""The rows of /proc/interrupts: a source of interrupts, and inside it each CPU that has taken any of them.

Format: proc(5), kernel Documentation/filesystems/proc.rst; kernel/irq/proc.c prints the numbered rows. A cell is an
unsigned int and wraps at 2**32 (kstat_irqs, linux/kernel_stat.h): totals grow by each cell's increase modulo 2**32.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.timed_reads import INTERRUPTED_SHARE, is_interrupted, undisturbed
from turbotui.quantities.columns import PERCENT, Value
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.row_kinds import Cost, Form, Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.row_tables import KindDefinition, KindRow, RowColumn, omitted_rows
from turbotui.sampling.rows import Columns, Row, RowSlot
from turbotui.sources.irq_rows import counts_and_text, cpu_key, growth_of, header_cpus, table_rows
from turbotui.sources.proc_interrupts import PATH, WHOLE_LABELS
from turbotui.sources.unreadable import proc_unreadable

_PROC = "proc(5); kernel Documentation/filesystems/proc.rst"
_AFFINITY = "kernel Documentation/core-api/irq/irq-affinity.rst"
_MOST: Final = 1 << 15  # 30 sources that every one of 1,024 CPUs has, and a thousand queues of devices
_CELL: Final = 1 << 32
_LONGEST: Final = 512  # characters of a list of CPUs, and of a device's name
_HARDWARE_NUMBER: Final = re.compile(r"(?:\d+|\d*-\S+|Level|Edge)")  # what precedes the device in a numbered row

KIND: Final = RowKind("interrupts", "sources of interrupts", nested=True, most=_MOST)
QUANTITIES: Final = (
    Quantity("count", KIND.id, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, f"{PATH}, row {{row}}", _PROC,
             gaps="gaps"),
    Quantity("gaps", KIND.id, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, PATH, _PROC),
    Quantity("device", KIND.id, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, f"{PATH}, row {{row}}", _PROC, form=Form.TEXT),
    Quantity("chip", KIND.id, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, f"{PATH}, row {{row}}", _PROC, form=Form.TEXT),
    Quantity("affinity", KIND.id, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "/proc/irq/{row}/smp_affinity_list",
             _AFFINITY, clock="affinity", form=Form.TEXT, cost=Cost.SELDOM),
    Quantity("effective", KIND.id, Unit.TEXT, Behavior.GAUGE, Reduce.SAME, "/proc/irq/{row}/effective_affinity_list",
             _AFFINITY, clock="affinity", form=Form.TEXT, cost=Cost.SELDOM),
)
_FILES: Final = {"affinity": "smp_affinity_list", "effective": "effective_affinity_list"}
_OF_CPUS: Final = Unavailable(Reason.NO_HARDWARE, "every CPU has this interrupt of its own: nobody can move it")
_OF_ROW_ABOVE: Final = Unavailable(Reason.NOT_READ, "the row above has it")
_NO_DRIVER: Final = Unavailable(Reason.NO_DRIVER, "no driver handles it now")
_NO_WORDS: Final = Unavailable(Reason.NOT_SET, f"{PATH} says no more of this row")
_NO_CHIP: Final = Unavailable(Reason.NO_HARDWARE, "the kernel counts these itself, without an interrupt controller")


@dataclass(slots=True)
class _Sum:
    """What a row has counted."""

    slot: RowSlot
    count: int
    gaps: int = 0  # how often a part of it was missed

    def put(self, into: Columns) -> None:
        into.put(self.slot, "count", self.count)
        into.put(self.slot, "gaps", self.gaps)


@dataclass(slots=True)
class _Source:
    """A row of the file."""

    of_all: _Sum
    numbered: bool
    whole: bool  # whether it counts the whole machine
    rest: str  # the line after its label, as last read
    words: str  # of the line after its counts
    cells: list[int]  # the count of each CPU, or of the whole machine; -1 for one that was not read before
    parts: dict[int, _Sum]  # by CPU
    roomless: bool = False  # whether a CPU has no row because the kind is full


class InterruptReader:
    """Reads /proc/interrupts at every tick, and files of /proc/irq for some of its rows.

    Args:
        only: the CPUs that count; None for all.
    """

    def __init__(self, host: Host, only: frozenset[int] | None = None) -> None:
        self._host = host
        self._only = only
        self._sources: dict[str, _Source] = {}
        self._header: tuple[int, ...] = ()
        self._cpus: tuple[int, ...] = ()  # those of the header that count
        self._is_first = True
        self._quickest = self._read_ns = 0

    def read(self, into: Columns) -> Unavailable | None:
        """Put every source, and those of its CPUs that have taken any."""
        try:
            began_ns, text, ended_ns = undisturbed(partial(self._host.read_text, PATH), self._quickest,
                                                   self._host.now_ns)
        except HostError as error:
            return proc_unreadable(error, self._host)
        at_ns, took_ns, before_ns = (began_ns + ended_ns) >> 1, ended_ns - began_ns, self._read_ns
        if self._quickest and is_interrupted(took_ns, self._quickest) and (
                took_ns > INTERRUPTED_SHARE * (at_ns - before_ns)):
            return Unavailable(Reason.INTERRUPTED, f"the reader of {PATH} lost its CPU for {took_ns * 1e-9:.3g} s",
                               "use a longer interval (-i), in which it matters less")
        self._quickest, self._read_ns = min(self._quickest or took_ns, took_ns), at_ns
        header, lines = table_rows(text)
        self._follow(header_cpus(header), into)
        seen, torn = set[str](), set[str]()
        looked_at = any(map(into.wants, _FILES))
        for label, rest in lines:
            # PowerPC prints two rows named LOC (arch/powerpc/kernel/irq.c): the second is a row of its own
            name = f"{label}'" if label in seen else label
            seen.add(name)
            source = self._sources.get(name)
            if source is None:
                source = self._new(name, rest, into)
            elif (source.rest != rest or source.roomless) and not self._grow(name, source, rest, into):
                torn.add(name)
            if source is not None and looked_at and into.due(source.of_all.slot):
                self._read_affinity(name, source, into)
        for name in self._sources.keys() - seen:
            source = self._sources.pop(name)
            for part in (source.of_all, *source.parts.values()):
                into.death(part.slot)
        self._is_first = False
        into.read_at(self._slots(torn), at_ns)
        return None

    def close(self) -> None:
        """Nothing is open between two ticks."""

    def _slots(self, torn: Container[str]) -> Iterator[RowSlot]:
        """The rows that were read, with those of their CPUs."""
        for name, source in self._sources.items():
            if name in torn:
                continue
            yield source.of_all.slot
            yield from (part.slot for part in source.parts.values())

    def _follow(self, header: tuple[int, ...], into: Columns) -> None:
        """Move cells to their CPUs' new columns after CPUs came or went; the rows of those that went end."""
        if header == self._header:
            return
        self._header = header
        cpus = header if self._only is None else tuple(cpu for cpu in header if cpu in self._only)
        for source in self._sources.values():
            if source.whole:
                continue
            cells = dict(zip(self._cpus, source.cells, strict=True))
            source.cells = [cells.get(cpu, -1) for cpu in cpus]
            # what a CPU took after its last reading is in no file
            source.of_all.gaps += bool(cells.keys() - cpus)
            for cpu in source.parts.keys() - cpus:
                into.death(source.parts.pop(cpu).slot)
            source.rest = ""
        self._cpus = cpus

    def _counts(self, label: str, rest: str, known: str | None = None) -> tuple[list[int], str] | None:
        """The counts of a line, one for each CPU or one for the whole machine, and its words; None for neither."""
        width = 1 if label in WHOLE_LABELS else len(self._header)
        counts = counts_and_text(rest, width, known)
        if counts is None or max(counts[0], default=0) >= _CELL:
            return None
        cells, words = counts
        if self._only is not None and label not in WHOLE_LABELS:
            cells = [cell for cpu, cell in zip(self._header, cells, strict=True) if cpu in self._only]
        return cells, words

    def _new(self, name: str, rest: str, into: Columns) -> _Source | None:
        label = name.rstrip("'")
        counts = self._counts(label, rest)
        slot = None if counts is None else into.birth(Row(name, name=label), began=not self._is_first)
        if counts is None or slot is None:
            return None
        cells, words = counts
        numbered = label.isascii() and label.isdecimal()
        source = self._sources[name] = _Source(_Sum(slot, sum(cells)), numbered, label in WHOLE_LABELS, rest, words,
                                               cells, {})
        source.of_all.put(into)
        self._put_words(source, into)
        if not source.whole:
            for cpu, cell in zip(self._cpus, cells, strict=True):
                if cell:
                    self._new_part(name, source, cpu, cell, into, began=not self._is_first)
        return source

    def _new_part(self, name: str, source: _Source, cpu: int, count: int, into: Columns, *, began: bool) -> None:
        """Give a CPU a row inside its source's, once it has taken such an interrupt."""
        slot = into.birth(Row(cpu_key(name, cpu), parent=name, name=name.rstrip("'")), began=began)
        if slot is None:
            source.roomless = True
            return
        source.parts[cpu] = _Sum(slot, count)
        source.parts[cpu].put(into)
        for quantity in ("device", "chip", *_FILES):
            into.put(slot, quantity, _OF_ROW_ABOVE)

    def _grow(self, name: str, source: _Source, rest: str, into: Columns) -> bool:
        """Add what a row has counted; False for a torn line, of which nothing was read."""
        counts = self._counts(name.rstrip("'"), rest, source.words)
        before = source.cells
        if counts is None:
            return False  # CPUs came or went while the kernel wrote the table: the next difference is longer
        cells, words = counts
        steps, fell = growth_of([cell if old < 0 else old for old, cell in zip(before, cells, strict=True)], cells)
        # nobody knows what a restarted cell counted, nor a CPU that has just come
        came = any(old < 0 < cell for old, cell in zip(before, cells, strict=True))
        source.of_all.count += sum(steps)
        source.of_all.gaps += bool(fell) or came
        source.of_all.put(into)
        source.roomless = False
        for place, (cpu, step) in enumerate(zip(() if source.whole else self._cpus, steps, strict=False)):
            if (part := source.parts.get(cpu)) is None:
                if cells[place]:
                    self._new_part(name, source, cpu, cells[place], into, began=before[place] == 0)
            elif step or place in fell:
                part.count += step
                part.gaps += place in fell
                part.put(into)
        if words != source.words:
            source.words = words
            self._put_words(source, into)
        source.rest, source.cells = rest, cells
        return True

    def _put_words(self, source: _Source, into: Columns) -> None:
        """Put the device and its interrupt controller, which only numbered rows have."""
        parts = re.split(r"\s{2,}", source.words)
        if not source.numbered:
            into.put(source.of_all.slot, "device", " ".join(parts)[:_LONGEST] or _NO_WORDS)
            into.put(source.of_all.slot, "chip", _NO_CHIP)
            return
        device = parts.pop() if len(parts) > 1 and not _HARDWARE_NUMBER.fullmatch(parts[-1]) else ""
        into.put(source.of_all.slot, "device", device[:_LONGEST] or _NO_DRIVER)
        into.put(source.of_all.slot, "chip", " ".join(parts)[:_LONGEST])

    def _read_affinity(self, name: str, source: _Source, into: Columns) -> None:
        at_ns = self._host.now_ns()
        for quantity in filter(into.wants, _FILES):
            file = _FILES[quantity]
            value: str | Unavailable = _OF_CPUS
            if source.numbered:
                try:
                    value = self._host.read_text(f"/proc/irq/{name}/{file}").strip()[:_LONGEST]
                except HostError as error:
                    value = proc_unreadable(error, self._host)
            into.put(source.of_all.slot, quantity,
                     value or Unavailable(Reason.NOT_SET, f"/proc/irq/{name}/{file} is empty"))
        into.read_at((source.of_all.slot,), at_ns, "affinity")


class InterruptSource:
    """The `RowSource` of interrupts."""

    kind = KIND
    quantities: Sequence[Quantity] = QUANTITIES

    def open(self, machine: Machine) -> InterruptReader | Unavailable:
        """A copy of files does not move, so that it has no interrupts a second."""
        if machine.host.kind is HostKind.RECORDED:
            return Unavailable(Reason.RECORDED, f"{PATH} of a recorded machine was read once: nothing moves there",
                               "turbotui record there, and --replay here")
        return InterruptReader(machine.host, machine.topology.restricted)


def _cpu(row: KindRow) -> Value:
    return whole_number(row.row.key.rpartition(":")[2]) if row.row.parent else None


def _shares(row: KindRow) -> list[tuple[float, KindRow]] | None:
    """What each CPU took; None if that is not known of every one, as any of them may have taken the most."""
    if row.differences.newer.omitted:
        return None
    counts = [(part.delta("count"), part) for part in row.parts]
    known = [(count, part) for count, part in counts if count is not None]
    return known if len(known) == len(counts) else None


def _busiest(row: KindRow) -> KindRow | None:
    """The CPU that took the most; None if none took any, it is not known, or the row is a CPU."""
    most, part = max(_shares(row) or (), key=lambda share: share[0], default=(0, None))
    return part if most else None


def _top_cpu(row: KindRow) -> Value:
    part = _busiest(row)
    return None if part is None else _cpu(part)


def _top_share(row: KindRow) -> Value:
    part, whole = _busiest(row), row.delta("count")
    most = None if part is None else part.delta("count")
    return 100 * most / whole if most and whole else None


def _taking(row: KindRow) -> Value:
    if row.row.parent or row.row.name in WHOLE_LABELS or row.delta("count") is None:
        return None
    shares = _shares(row)
    return None if shares is None else sum(1 for count, _part in shares if count)


def _no_top(row: KindRow) -> str:
    if row.row.name in WHOLE_LABELS:
        return "the kernel counts these for the whole machine"
    if row.row.parent:
        return "the row is one CPU's"
    if row.differences.newer.omitted:
        return omitted_rows(row.differences)
    return "one CPU's count has no increase" if _shares(row) is None else "no CPU took any in this interval"


COLUMNS: Final[tuple[RowColumn, ...]] = (
    RowColumn("IRQ", "", -1, (), lambda row: row.row.name, width=8, identity=True, priority=0,
              help="number or name of the source, as /proc/interrupts has it"),
    RowColumn("CPU", "", 0, (), _cpu, width=4, identity=True, help="the CPU; nothing for all of them"),
    RowColumn("Int/s", "/s", 1, ("count",), lambda row: row.rate("count"), width=9, priority=0,
              help="interrupts a second", document=_PROC),
    RowColumn("CPUs", "", 0, ("count",), _taking, formula="CPUs that took any in the interval", width=4,
              help="how many CPUs took any in the interval", doubt=_no_top),
    RowColumn("Top", "", -1, ("count",), _top_cpu, formula="the CPU that took the most in the interval", width=4,
              help="the CPU that took the most in the interval", doubt=_no_top),
    RowColumn("Top%", "%", 1, ("count",), _top_share, formula="100 x the most of one CPU / Δcount", width=5,
              scale=PERCENT, help="share of the source's interrupts that the CPU of Top took", doubt=_no_top),
    RowColumn("Affinity", "", -1, ("affinity",), lambda row: row.text("affinity"), width=12,
              help="the CPUs to which the interrupt may go", document=_AFFINITY),
    RowColumn("Effective", "", -1, ("effective",), lambda row: row.text("effective"), width=12, priority=6,
              help="the CPUs to which the interrupt controller sends it now", document=_AFFINITY),
    RowColumn("Device", "", -1, ("device",), lambda row: row.text("device"), width=30, priority=1,
              help="the drivers that handle the interrupt; of one without a number, what it is for", document=_PROC),
    RowColumn("Chip", "", -1, ("chip",), lambda row: row.text("chip"), width=30, default=False,
              help="the interrupt controller, the number there, and how the line triggers", document=_PROC),
    RowColumn("Total", "", 0, ("count",), lambda row: row.total("count"), width=12, default=False,
              help="interrupts since the boot", document=_PROC),
)

INTERRUPTS: Final = KindDefinition(
    InterruptSource(), COLUMNS, sort="Int/s", of_cpus=True,
    parts=("--cpus", "also a row for each CPU that has taken any of a source's interrupts"))
