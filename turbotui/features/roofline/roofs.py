"""The roofs of a machine: flat ones for arithmetic, slanted ones for memory levels, and their ridge points."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.precision import Precision


class Origin(Enum):
    """Origin of roofs; the value is the word shown to people."""

    MEASURED = "measured"
    THEORY = "theory"

    @property
    def words(self) -> str:
        """The heading of a set of roofs."""
        return "measured" if self is Origin.MEASURED else "THEORY, not measured"


@dataclass(frozen=True, slots=True)
class RoofEvidence:
    """The evidence of a measured roof."""

    median: float  # of the rounds, in the roof's unit
    spread: float  # (highest - lowest) / highest of the rounds
    rounds: int  # the number of rounds
    hertz: float  # highest clock during the rounds; other work only makes it look lower
    shape: str  # the fastest loop layout
    # the share of the best round in which the threads were on their CPUs. Roofs of a core are divided by the thread's
    # own CPU time, which this does not affect; shared roofs need all threads at the same time.
    share: float
    bytes: int = 0  # working set of each thread; 0 for arithmetic
    disturbances: tuple[str, ...] = ()  # why the measurement is invalid, as clauses for people; empty if it is valid

    @property
    def disturbed(self) -> bool:
        """Whether other programs disturbed the measurement."""
        return bool(self.disturbances)


@dataclass(frozen=True, slots=True)
class Peak:
    """A flat roof: operations per second of all threads together, of floating point unless the numbers are int8."""

    isa: str  # name of the width, "AVX-512"
    bits: int  # of a register; 0 for scalar
    precision: Precision  # of the numbers
    operation: Operation  # the instruction stream
    flops: float  # operations per second
    evidence: RoofEvidence | None = None  # None for theory

    @property
    def name(self) -> str:
        """Name of the roof, such as "AVX-512 FMA double"."""
        return f"{self.isa} {self.operation.value} {self.precision.word}"


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A slanted roof: bytes per second between core and registers while the data lies in one level."""

    level: str  # "L1", "L2", "L3", "DRAM"
    mix: Mix  # loads and stores
    isa: str  # name of the accesses' width
    rate: float  # bytes per second of all threads together
    evidence: RoofEvidence | None = None  # None for theory
    at_most: bool = False  # whether the rate is the upper limit of a family of processors, not this machine's own

    @property
    def name(self) -> str:
        """Name of the roof, such as "L1 loads"."""
        return f"{self.level} {self.mix.word}"


@dataclass(frozen=True, slots=True)
class CoreGroup:
    """Cores of one type and clock among those whose roofs are computed."""

    kind: str  # "P", "E", "LP"; "" on machines with one core type
    name: str  # microarchitecture
    cores: int  # the number of cores
    hertz: float  # the clock


@dataclass(frozen=True, slots=True)
class RoofSet:
    """All roofs of one choice of CPUs."""

    machine: str  # the machine, as shown to people
    origin: Origin  # measured or theory
    threads: str  # "one", "all", or the CPU set
    cpus: tuple[int, ...]  # the CPUs; for theory only the number of cores matters
    hertz: float  # the clock, measured or of the spec sheet
    peaks: tuple[Peak, ...]  # flat roofs of floating point
    bandwidths: tuple[Bandwidth, ...]  # slanted roofs
    notes: tuple[str, ...] = ()  # sentences that go with the numbers
    when: str = ""  # date and time (UTC) of the measurement; "" for theory
    groups: tuple[CoreGroup, ...] = ()  # for theory, the core types that are added up
    # a description of the working cores if these are their share of the roofs (`sharing`); "" for all
    working: str = ""
    integer_peaks: tuple[Peak, ...] = ()  # flat roofs of int8, which do not bound points of FLOPs

    @property
    def disturbed(self) -> bool:
        """Whether a roof was disturbed; such a set is not stored."""
        evidence = (*(peak.evidence for peak in (*self.peaks, *self.integer_peaks)),
                    *(bandwidth.evidence for bandwidth in self.bandwidths))
        return any(part is not None and part.disturbed for part in evidence)

    @property
    def cores(self) -> str:
        """A description of the cores: "6 P cores at 1.400 GHz, 8 E cores at 0.900 GHz"."""
        return ", ".join(f"{group.cores} {group.kind + ' ' if group.kind else ''}core{'s' if group.cores != 1 else ''} "
                         f"at {group.hertz / 1e9:.3f} GHz" for group in self.groups)

    @property
    def levels(self) -> tuple[str, ...]:
        """The memory levels with a roof, from the core outwards."""
        return tuple(dict.fromkeys(bandwidth.level for bandwidth in self.bandwidths))

    def flat_roofs(self, precision: Precision) -> tuple[Peak, ...]:
        """The flat roofs that those of a format are among: of floating point, or of integers."""
        return self.integer_peaks if precision is Precision.INT8 else self.peaks

    def top_peak(self, precision: Precision | None = None) -> Peak | None:
        """Return the highest flat roof in a precision, or in double, then single; of equal ones, the widest."""
        for wanted in (Precision.DOUBLE, Precision.SINGLE) if precision is None else (precision,):
            peaks = [peak for peak in self.flat_roofs(wanted) if peak.precision is wanted]
            if peaks:
                return max(peaks, key=lambda peak: (peak.flops, peak.bits))
        return None

    def best_bandwidths(self) -> tuple[Bandwidth, ...]:
        """Return the steepest roof of each level from the core outwards."""
        slants = lists_by_key((bandwidth.level, bandwidth) for bandwidth in self.bandwidths
                              if bandwidth.mix is not Mix.STREAMING)  # loads, and stores through caches, reach less
        return tuple(max(of_level, key=lambda slant: slant.rate) for of_level in slants.values())


ALIKE = 0.15
"""The share of the inner level's bandwidth below which two levels' difference is not significant."""


def alike_levels(bandwidths: Sequence[Bandwidth]) -> tuple[str, ...]:
    """Return sentences about measured levels that are not slower than the level before them, as they should be."""
    alike: dict[tuple[str, str], list[str]] = {}
    slower: set[tuple[str, str, Mix]] = set()
    for mix in Mix:
        same_mix = [bandwidth for bandwidth in bandwidths if bandwidth.mix is mix]
        for inner, outer in pairwise(same_mix):
            faster = outer.rate / inner.rate - 1 if inner.rate > 0 else 0.0
            if inner.level == outer.level or inner.rate <= 0:
                continue
            # a guest sees its host's L3 but gets only what others leave: its working set lies in memory, and "L3" is
            # DRAM
            if faster <= -ALIKE:
                slower.add((inner.level, outer.level, mix))
                continue
            how = f"within {100 * abs(faster):.0f} %" if faster < ALIKE else f"{100 * faster:.0f} % faster"
            alike.setdefault((inner.level, outer.level), []).append(f"{how} for {mix.word}")
    return tuple(
        f"{outer} is slower than {inner} for loads, and hardly so else ({', '.join(words)})"
        if (inner, outer, Mix.LOADS) in slower else
        f"{inner} and {outer} are hardly apart ({outer} is {', '.join(words)}): this machine does not get the {inner} "
        f"that it reports, or {'memory' if outer == 'DRAM' else outer} is as fast"
        for (inner, outer), words in alike.items()
    )


def roof(peak: float, bandwidth: float, intensity: float) -> float:
    """Return the attainable flop/s at an arithmetic intensity (flop/byte): min(peak, bandwidth * intensity)."""
    return min(peak, bandwidth * intensity)


def ridge(peak: float, bandwidth: float) -> float:
    """Return the intensity in flop/byte above which arithmetic, not this level, is the limit.

    Raises:
        UsageError: a level without bandwidth has no ridge.
    """
    if bandwidth <= 0:
        raise UsageError("a level without bandwidth has no ridge point")
    return peak / bandwidth


class Bound(Enum):
    """The kind of roof that bounds a point."""

    MEMORY = "memory"
    COMPUTE = "compute"
    NONE = "none"


BINDING: Final = 0.15
"""Share of the nearest roof below which no roof binds a point."""
NOTHING_BINDS: Final = "no roof binds: latency, dependencies or waiting"


@dataclass(frozen=True, slots=True)
class RoofVerdict:
    """The verdict on a point: the roof that bounds it, and its distance from its roofs."""

    bound: Bound  # memory at the left of the top peak's ridge with the ceiling's level, compute at its right; or none
    ceiling: str  # name of the lowest roof that is not below the point
    attainable: float  # flop/s of that roof at the point's intensity
    reached: float  # the reached share, at most 1 unless the point is above all roofs
    top: str  # name of the highest roof at this intensity
    top_attainable: float  # flop/s of that roof
    above: bool  # whether the point lies above every roof, which is impossible, so that roofs or counts are wrong
    counted: bool = False  # whether the ceiling is memory by its controllers' counts

    def sentence(self) -> str:
        """The verdict for people."""
        if self.bound is Bound.NONE:
            return f"{NOTHING_BINDS}; the nearest is {self.ceiling}, {100 * self.reached:.0f} % of it"
        if self.above:
            return (f"above every roof: {100 * self.reached:.0f} % of {self.top}; the roofs are too low or the counts "
                    "too high")
        share = 100 * self.reached
        text = f"bound by {self.ceiling}: {share:.0f} % of that roof, {100 - share:.0f} % below"
        if self.top != self.ceiling:
            text += f"; highest roof here is {self.top}, {self.top_attainable / 1e9:.4g} GFLOP/s"
        return text


def verdict(roofs: RoofSet, intensity: float, flops: float, peak: Peak | None = None, *,
            used: float | None = None) -> RoofVerdict:
    """Find the roof that bounds a point.

    If the memory's traffic is counted, DRAM bounds the point no lower than the height at which that traffic would
    fill the memory's bandwidth.

    Args:
        intensity: flop/byte.
        flops: flop/s.
        peak: the flat roof to compare with; None for the highest.
        used: the share of the memory's bandwidth that its controllers counted; None if nothing counts it.

    Raises:
        UsageError: there is no flat or no slanted roof to compare with.
    """
    chosen = roofs.top_peak() if peak is None else peak
    slants = roofs.best_bandwidths()
    if chosen is None or not slants:
        raise UsageError(f"the roofs of {roofs.machine} have no peak or no bandwidth to compare a point with")
    plain = [(roof(chosen.flops, bandwidth.rate, intensity), bandwidth) for bandwidth in slants]
    top_height, top_slant = max(plain, key=_height)
    ceilings = [(_counted_height(height, flops, used, chosen.flops) if slant.level == "DRAM" else height, slant)
                for height, slant in plain]
    # the lowest roof at or above the point is its ceiling: a point between the DRAM and the L3 roof gets more than DRAM
    # can deliver, so L3 bounds it
    height, slant = min((pair for pair in ceilings if pair[0] >= flops), default=(top_height, top_slant), key=_height)
    compute = height >= chosen.flops
    reached = flops / height if height else 0.0
    holding = Bound.COMPUTE if compute else Bound.MEMORY
    return RoofVerdict(
        bound=holding if reached >= BINDING else Bound.NONE,
        ceiling=chosen.name if compute else f"{slant.level} bandwidth",
        attainable=height,
        reached=reached,
        top=chosen.name if top_height >= chosen.flops else f"{top_slant.level} bandwidth",
        top_attainable=top_height,
        above=flops > top_height,
        counted=slant.level == "DRAM" and not compute and used is not None,
    )


def _counted_height(height: float, flops: float, used: float | None, peak: float) -> float:
    """Return the flop/s at which memory would be full, by its controllers' bytes instead of the cores'."""
    return height if used is None else max(height, min(peak, flops / used if used > 0 else peak))


def _height(pair: tuple[float, Bandwidth]) -> float:
    return pair[0]


def ridges(roofs: RoofSet) -> tuple[tuple[Peak, Bandwidth, float], ...]:
    """Return the ridges of the top double peak with each level's steepest roof."""
    peak = roofs.top_peak()
    return () if peak is None else tuple((peak, slant, ridge(peak.flops, slant.rate))
                                         for slant in roofs.best_bandwidths())
