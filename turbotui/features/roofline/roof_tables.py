"""Tables of roofs: flat ones, slanted ones, ridge points, and cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.features.roofline.roofs import Bandwidth, CoreGroup, Origin, Peak, RoofEvidence, RoofSet, ridges, roof
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.tables import AnyTable, Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable

_SET: Final = "the set of roofs: of one thread, all cores, or so many"
_ORIGIN: Final = "measured, or theory by the spec sheet"
_CHECK_POINTS: Final = (0.0625, 0.25, 1.0, 8.0)
"""The paper's intensities in flop/byte at which the attainable performance is listed."""
_NO_COMMON_CYCLE: Final = Unavailable(Reason.OUT_OF_RANGE, "cores of several kinds or clocks have no cycle in common")

_NO_ROUNDS: Final = Unavailable(Reason.NOT_READ, "theory is computed, not measured in rounds")
_NO_DATE: Final = Unavailable(Reason.NOT_READ, "theory is computed, at no time of its own")

P = TypeVar("P", bound=Peak | Bandwidth)


@dataclass(frozen=True, slots=True)
class RoofPart(Generic[P]):
    """A roof with its set."""

    roofs: RoofSet
    part: P

    def per_cycle(self, rate: float) -> float | None:
        """Return the rate per cycle and core, by the clock; None for cores of several types or clocks."""
        if len(self.roofs.groups) > 1:
            return None
        hertz = self.roofs.hertz if self.part.evidence is None else self.part.evidence.hertz
        return rate / hertz / len(self.roofs.cpus)


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores of one type and clock, with their set of roofs and their number there, from 1."""

    roofs: RoofSet
    number: int
    part: CoreGroup


@dataclass(frozen=True, slots=True)
class RidgePoint:
    """The ridge point of the highest flat roof and a level's steepest roof."""

    roofs: RoofSet
    peak: Peak
    slant: Bandwidth
    intensity: float

    def attainable(self, intensity: float) -> float:
        """Return the attainable GFLOP/s at an intensity."""
        return roof(self.peak.flops, self.slant.rate, intensity) / 1e9


def _evidence(unit: str) -> tuple[Column[RoofPart[P]], ...]:
    def column(name: str, unit: str, decimals: int, value: Callable[[RoofEvidence], Value],
               text: str) -> Column[RoofPart[P]]:
        def compute(row: RoofPart[P]) -> Value:
            return None if row.part.evidence is None else value(row.part.evidence)

        return Column(name, unit, decimals, (), compute, help=text)

    return (
        column("median", unit, 2, lambda evidence: evidence.median / 1e9,
               "of the rounds, of which the best is the roof"),
        column("spread", "%", 0, lambda evidence: 100.0 * evidence.spread,
               "(highest - lowest) / highest of the rounds"),
        column("rounds", "", 0, lambda evidence: evidence.rounds, "how often it was measured"),
        column("clock", "MHz", 0, lambda evidence: evidence.hertz / 1e6, "highest clock seen beside the rounds"),
        column("loop", "", -1, lambda evidence: evidence.shape, "layout of the loop that was fastest"),
        column("on CPU", "%", 0, lambda evidence: 100.0 * evidence.share,
               "of the best round, how long the threads had CPUs"),
        column("bytes", "", 0, lambda evidence: evidence.bytes, "working set of each thread; 0 for arithmetic"),
    )


def _attainable(intensity: float) -> Column[RidgePoint]:
    return Column(f"at {intensity:g}", "GFLOP/s", 2, (), lambda row: row.attainable(intensity),
                  help=f"attainable at {intensity:g} flop/byte: the lower of both roofs")


def _origin(roofs: RoofSet, slant: Bandwidth | None = None) -> str:
    """Return the origin of a roof: measured or theory; among those of theory a slanted one may be measured."""
    if slant is not None and slant.evidence is not None:
        return Origin.MEASURED.value
    return f"{roofs.origin.value}, at most" if slant is not None and slant.at_most else roofs.origin.value


_PEAKS: Final[tuple[Column[RoofPart[Peak]], ...]] = (
    Column("threads", "", -1, (), lambda row: row.roofs.threads, help=_SET, identity=True),
    Column("ISA", "", -1, (), lambda row: row.part.isa, help="width of the instructions", identity=True),
    Column("operation", "", -1, (), lambda row: row.part.operation.value, help="the instructions", identity=True),
    Column("precision", "", -1, (), lambda row: row.part.precision.word, help="precision of the numbers",
           identity=True),
    Column("GFLOP/s", "GFLOP/s", 2, (), lambda row: row.part.flops / 1e9, width=9,
           help="flat roof: floating-point operations of all threads together"),
    Column("flop/cycle", "flop/cycle", 2, (), lambda row: row.per_cycle(row.part.flops),
           help="floating-point operations of one core in a cycle"),
    Column("origin", "", -1, (), lambda row: _origin(row.roofs), help=_ORIGIN, identity=True),
)
_INTEGER_PEAKS: Final[tuple[Column[RoofPart[Peak]], ...]] = (
    *_PEAKS[:2],
    Column("GOP/s", "GOP/s", 2, (), lambda row: row.part.flops / 1e9, width=9,
           help="flat roof: operations on int8, added in 32 bits, of all threads together; none is of floating point"),
    Column("op/cycle", "op/cycle", 2, (), lambda row: row.per_cycle(row.part.flops),
           help="of one core; a multiplication and an addition each count"),
    _PEAKS[-1],
)
_BANDWIDTHS: Final[tuple[Column[RoofPart[Bandwidth]], ...]] = (
    Column("threads", "", -1, (), lambda row: row.roofs.threads, help=_SET, identity=True),
    Column("level", "", -1, (), lambda row: row.part.level,
           help="level of the memory in which the data is", identity=True),
    Column("mix", "", -1, (), lambda row: row.part.mix.word, help="loads and stores", identity=True),
    Column("ISA", "", -1, (), lambda row: row.part.isa, help="width of the accesses", identity=True),
    Column("GB/s", "GB/s", 2, (), lambda row: row.part.rate / 1e9, width=9,
           help="slanted roof: bytes of all threads together between cores and registers"),
    Column("byte/cycle", "byte/cycle", 2, (), lambda row: row.per_cycle(row.part.rate),
           help="bytes of one core in a cycle"),
    Column("origin", "", -1, (), lambda row: _origin(row.roofs, row.part),
           help=f"{_ORIGIN}, or the most that the family has", identity=True),
)
_RIDGES: Final[tuple[Column[RidgePoint], ...]] = (
    Column("threads", "", -1, (), lambda row: row.roofs.threads, help=_SET, identity=True),
    Column("peak", "", -1, (), lambda row: row.peak.name, help="the highest flat roof", identity=True),
    Column("level", "", -1, (), lambda row: row.slant.level, help="level of the memory", identity=True),
    Column("mix", "", -1, (), lambda row: row.slant.mix.word,
           help="mix of loads and stores of its steepest roof", identity=True),
    Column("ridge", "flop/byte", 4, (), lambda row: row.intensity,
           help="intensity from which on arithmetic, not this level, is the limit"),
    *map(_attainable, _CHECK_POINTS),
    Column("origin", "", -1, (), lambda row: _origin(row.roofs, row.slant), help=_ORIGIN, identity=True),
)
_SETS: Final[tuple[Column[RoofSet], ...]] = (
    Column("threads", "", -1, (), lambda row: row.threads, help=_SET, identity=True),
    Column("of", "", -1, (), lambda row: row.machine, help="the machine or chip"),
    Column("origin", "", -1, (), lambda row: row.origin.value, help=_ORIGIN, identity=True),
    Column("cores", "", 0, (), lambda row: len(row.cpus), help="one thread ran, or is thought to run, on each"),
    Column("CPUs", "", -1, (), lambda row: format_cpulist(row.cpus), help="on which threads ran, or would run"),
    Column("clock", "MHz", 0, (), lambda row: row.hertz / 1e6, help="beside the measurement, or of the spec sheet"),
    Column("when", "", -1, (), lambda row: row.when or None, help="date and time (UTC) of the measurement"),
)
_CORES: Final[tuple[Column[Cores], ...]] = (
    Column("threads", "", -1, (), lambda row: row.roofs.threads, help=_SET, identity=True),
    Column("group", "", 0, (), lambda row: row.number, help="cores of one kind and clock", identity=True),
    Column("core type", "", -1, (), lambda row: row.part.kind, help="P, E or LP on hybrid machines", identity=True),
    Column("core", "", -1, (), lambda row: row.part.name, help="microarchitecture", identity=True),
    Column("cores", "", 0, (), lambda row: row.part.cores, help="number of cores in the sum"),
    Column("clock", "MHz", 0, (), lambda row: row.part.hertz / 1e6, help="clock by the data sheet and cpufreq"),
)
_MEASURED_PEAKS: Final[tuple[Column[RoofPart[Peak]], ...]] = _PEAKS + _evidence("GFLOP/s")
_MEASURED_INTEGER_PEAKS: Final[tuple[Column[RoofPart[Peak]], ...]] = _INTEGER_PEAKS + _evidence("GOP/s")
_MEASURED_BANDWIDTHS: Final[tuple[Column[RoofPart[Bandwidth]], ...]] = _BANDWIDTHS + _evidence("GB/s")
TABLES: Final = ("peaks", "integer_peaks", "bandwidths", "ridges", "sets", "cores")
"""The names of `roof_tables`."""
_RATES: Final = frozenset({"GFLOP/s", "GOP/s", "GB/s", "flop/cycle", "op/cycle", "byte/cycle"})


def _judged(column: Column[RoofPart[P]], row: RoofPart[P], value: Value) -> Cell:
    """Return a value, disputed if other work disturbed its roof."""
    if value is None:
        return Cell(None, _NO_COMMON_CYCLE if column.unit.endswith("/cycle") else _NO_ROUNDS)
    evidence = row.part.evidence
    return Cell(value, disputed=() if evidence is None or column.unit not in _RATES else evidence.disturbances)


def _dated(_column: Column[RoofSet], _row: RoofSet, value: Value) -> Cell:
    return Cell(value, _NO_DATE if value is None else None)


def peak_table(sets: Sequence[RoofSet]) -> AnyTable:
    """Make the table of flat roofs."""
    columns = _MEASURED_PEAKS if _measured(sets) else _PEAKS
    return RowTable("peaks", "roof", columns, [RoofPart(roof, peak) for roof in sets for peak in roof.peaks], _judged)


def integer_table(sets: Sequence[RoofSet]) -> AnyTable:
    """Make the table of flat roofs of int8."""
    columns = _MEASURED_INTEGER_PEAKS if _measured(sets) else _INTEGER_PEAKS
    rows = [RoofPart(roofs, peak) for roofs in sets for peak in roofs.integer_peaks]
    return RowTable("integer_peaks", "roof", columns, rows, _judged)


def bandwidth_table(sets: Sequence[RoofSet]) -> AnyTable:
    """Make the table of slanted roofs."""
    columns = _MEASURED_BANDWIDTHS if _measured(sets) else _BANDWIDTHS
    rows = [RoofPart(roofs, slant) for roofs in sets for slant in roofs.bandwidths]
    return RowTable("bandwidths", "roof", columns, rows, _judged)


def ridge_table(sets: Sequence[RoofSet]) -> AnyTable:
    """Make the table of each set's ridge points, with the attainable performance."""
    rows = [RidgePoint(roofs, peak, slant, place) for roofs in sets for peak, slant, place in ridges(roofs)]
    return RowTable("ridges", "ridge", _RIDGES, rows)


def roof_tables(sets: Sequence[RoofSet]) -> tuple[AnyTable, ...]:
    """Return all tables of some sets of roofs; `roof_notes` has the sentences."""
    groups = [Cores(roofs, number, group) for roofs in sets for number, group in enumerate(roofs.groups, 1)]
    return (peak_table(sets), integer_table(sets), bandwidth_table(sets), ridge_table(sets),
            RowTable("sets", "roofs", _SETS, sets, _dated), RowTable("cores", "cores", _CORES, groups))


def roof_notes(sets: Sequence[RoofSet]) -> tuple[str, ...]:
    """Return notes for readers, each once, with its sets unless it applies to all."""
    by_text = lists_by_key((note, roofs.threads) for roofs in sets for note in roofs.notes)
    return tuple(note if len(of) == len(sets) else f"{' and '.join(of)}: {note}" for note, of in by_text.items())


def _measured(sets: Sequence[RoofSet]) -> bool:
    return any(roofs.origin is Origin.MEASURED for roofs in sets)
