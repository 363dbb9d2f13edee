"""`turbotui stat --Dump`: every raw counter once, as read.

In turbostat's layout (as its 2022.10.04 printed it): a block for each CPU with the counters of the CPU, of its core and
of its package, one a line, ended by an empty line. Counters that are not read have no line, where turbostat prints 0.
Any other --format writes a table with a row for every counter and its source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT, make_format
from turbotui.tables.layout import Layout

_FIRST_OF_CORE, _FIRST_OF_PACKAGE = 2, 4  # bits of "flags"


def _wide(signal: Signal, raw: int) -> str:
    return f"{signal.bits(raw):016X}"


def _plain(signal: Signal, raw: int) -> str:
    return f"{signal.bits(raw):X}"


def _decimal(signal: Signal, raw: int) -> str:
    return str(signal.bits(raw))


def _celsius(signal: Signal, raw: int) -> str:
    return f"{signal.value(raw):.0f}C"


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a block: its label, its signal, and turbostat's format."""

    label: str
    signal: SignalId
    write: Callable[[Signal, int], str] = _wide


_THREAD: tuple[_Line, ...] = (
    _Line("TSC", "tsc"),
    _Line("aperf", "aperf"),
    _Line("mperf", "mperf"),
    _Line("c1", "cstate.core.c1"),
    _Line("IRQ", "irq.total", _decimal),
    _Line("SMI", "smi", _decimal),
)
_CORE: tuple[_Line, ...] = (
    _Line("c3", "cstate.core.c3"),
    _Line("c6", "cstate.core.c6"),
    _Line("c7", "cstate.core.c7"),
    _Line("DTS", "temp.core", _celsius),
    _Line("cpu_throt_count", "throttle.core.count"),
    _Line("Joules", "energy.core", _plain),
    _Line("mc6_us", "cstate.module.c6"),
)
_PACKAGE: tuple[_Line, ...] = (
    _Line("Weighted cores", "c0.pkg.total"),
    _Line("Any cores", "c0.pkg.any"),
    _Line("Any GFX", "c0.pkg.gfx"),
    _Line("CPU + GFX", "c0.pkg.both"),
    *(_Line(f"pc{depth}", f"cstate.pkg.c{depth}") for depth in (2, 3, 6, 7, 8, 9, 10)),
    _Line("cpu_lpi", "lpi.cpu"),
    _Line("sys_lpi", "lpi.system"),
    _Line("Joules PKG", "energy.pkg", _plain),
    _Line("Joules COR", "energy.cores", _plain),
    _Line("Joules GFX", "energy.gpu", _plain),
    _Line("Joules RAM", "energy.ram", _plain),
    _Line("Throttle PKG", "throttled.pkg", _plain),
    _Line("Throttle RAM", "throttled.ram", _plain),
    _Line("PTM", "temp.pkg", _celsius),
)
_ADDED: tuple[tuple[str, Scope], ...] = (("t", Scope.CPU), ("c", Scope.CORE), ("p", Scope.PACKAGE))
"""The letter before ADDED, and the scope of the counters that it stands for: cpuidle's, and those of --add."""


def dump_lines(frame: Frame, layout: Layout, form: str) -> Iterator[str]:
    """Yield the lines of a dump.

    Args:
        form: a format of `turbotui.tables.formats`; "text" for turbostat's blocks.
    """
    if form != TEXT:
        shown = make_format(form)
        yield from shown.lines(Envelope(layout.machine, layout.kind, frame.newer.wall_ns), counter_table(frame))
        yield from shown.end()
        return
    if layout.label:
        yield f"# {layout.label}: no number below was {layout.kind.measured}"
    yield from _blocks(frame)


def _blocks(frame: Frame) -> Iterator[str]:
    topology = frame.topology
    for cpu in topology.cpus:
        core, package = (topology.instance(topology.row(scope, cpu)) for scope in (Scope.CORE, Scope.PACKAGE))
        flags = 0
        if core is not None and core.cpus[0] == cpu:
            flags |= _FIRST_OF_CORE
        if package is not None and package.cpus[0] == cpu:
            flags |= _FIRST_OF_PACKAGE
        yield f"CPU: {cpu} flags 0x{flags:x}"
        yield from _block(frame, cpu, _THREAD, *_ADDED[0])
        yield f"core: {topology.places[cpu].core}"
        yield from _block(frame, cpu, _CORE, *_ADDED[1])
        yield f"package: {topology.places[cpu].package}"
        yield from _block(frame, cpu, _PACKAGE, *_ADDED[2])
        yield ""


def _block(frame: Frame, cpu: int, lines: tuple[_Line, ...], letter: str, scope: Scope) -> Iterator[str]:
    for line in lines:
        raw = _raw(frame, line.signal, cpu)
        if isinstance(raw, int):
            yield f"{line.label}: {line.write(frame.capabilities.signals[line.signal], raw)}"
    number = 0
    for name in sorted(frame.newer.values):
        signal = frame.capabilities.signals[name]
        if signal.scope is not scope or not name.startswith(("cpuidle.", "added.")):
            continue
        raw = _raw(frame, name, cpu)
        if isinstance(raw, int):
            yield f"{letter}ADDED [{number}] {name} {signal.origin.format(cpu=cpu)}: {_wide(signal, raw)}"
            number += 1


def _raw(frame: Frame, name: SignalId, cpu: int) -> Raw:
    """Return the raw word of the instance that contains a CPU; None if not read here."""
    values = frame.newer.values.get(name)
    return None if values is None else values[frame.topology.index(frame.capabilities.signals[name].scope, cpu)]


@dataclass(frozen=True, slots=True)
class DumpedCounter:
    """A counter of one instance, as read."""

    row: RowId  # the row of the instance
    signal: Signal
    raw: Raw  # the raw value; None if this instance gave none
    source: str  # the register, event or file that was read


def _word(counter: DumpedCounter) -> Value:
    """The raw value in hexadecimal, because JSON's numbers are exact only up to 53 bits."""
    return f"0x{counter.raw:016x}" if isinstance(counter.raw, int) else counter.raw


COUNTER_COLUMNS: Final[tuple[Column[DumpedCounter], ...]] = (
    Column("instance", "", -1, (),
           lambda counter: f"{counter.row.scope.value} {'.'.join(map(str, counter.row.key))}".strip(),
           help='what the counter belongs to: "cpu 3", "core 0.0.5" (package, die, core), "system"', identity=True),
    Column("signal", "", -1, (), lambda counter: counter.signal.id, help="name of the signal", identity=True),
    Column("word", "", -1, (), _word, help="the raw value, in hexadecimal if it is a number"),
    Column("source", "", -1, (), lambda counter: counter.source, help="register, event or file that was read"),
)
_NO_VALUE = Unavailable(Reason.NOT_READ, "this instance gave no value for the signal")


def counter_table(frame: Frame) -> RowTable[DumpedCounter]:
    """Make a table with a row for every counter that a frame's newer snapshot has."""
    rows = []
    for name in sorted(frame.newer.values):
        signal = frame.capabilities.signals[name]
        for instance, raw in zip(frame.topology.instances(signal.scope), frame.newer.values[name], strict=True):
            rows.append(DumpedCounter(instance.row, signal, raw, signal.origin.format(cpu=instance.cpus[0])))
    return RowTable("counters", "counter", COUNTER_COLUMNS, tuple(rows),
                    judge=lambda _column, _row, value: Cell(value, _NO_VALUE if value is None else None))
