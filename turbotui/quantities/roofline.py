"""The arithmetic of the cache-aware roofline: from counts of a definition's events to operations and bytes.

Bytes are those that the core loads and stores, whichever cache serves them (Antao et al., cache-aware roofline model).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.by_key import sums_by_key
from turbotui.quantities.metric_definitions import LINE, MetricDefinition, Term
from turbotui.quantities.precision import Precision
from turbotui.quantities.signals import SignalId
from turbotui.quantities.traced import added

VECTOR_UNIT: Final = 128
"""The number of bits to which Arm's SCALE events refer (DDI 0487, D14)."""
VECTOR_BITS: Final[SignalId] = "roofline.vector_bits"
"""Signal of the machine's vector length, which some definitions need."""
NO_FLOPS: Final[SignalId] = "roofline.flops"
NO_BYTES: Final[SignalId] = "roofline.bytes"
"""Signals that no machine has: they carry the reason why operations or bytes cannot be counted."""

_SCALAR_BYTES: Final = Precision.DOUBLE.value  # a scalar whose precision no event gives counts as a double


class WidthModel(Enum):
    """How the bytes of an access are determined, because no x86 counter gives them; the value is shown to people.

    MIX: the mean width of the floating-point instructions, each width weighted by its count.
    PRECISION: 2, 4 or 8 bytes by the share of flops in half, single and double precision (CARM Tool).
    GIVEN: a number of bytes that the user gives.
    EXACT: bytes counted by the core (Arm).
    """

    MIX = "mean width of the floating-point instructions"
    PRECISION = "width of the precisions, weighted by flops"
    GIVEN = "width as given"
    EXACT = "bytes counted by the core"


@dataclass(frozen=True, slots=True)
class Sizing:
    """How bytes follow from accesses."""

    model: WidthModel = WidthModel.MIX  # EXACT falls back to MIX where the core does not count bytes
    given: float = 8.0  # bytes of an access, for GIVEN
    vector_bits: int = VECTOR_UNIT  # vector length of the machine, for Arm's SCALE events


@dataclass(frozen=True, slots=True)
class Counted:
    """FLOPs and bytes from one core's counts; per second if the counts are."""

    flops: float  # floating-point operations
    bytes: float | None  # loaded and stored by the core; None if the width of an access is unknown
    access_bytes: float | None  # mean bytes of an access; None if bytes are counted, or unknown
    width: WidthModel  # the model behind `bytes`
    dominant: str  # the width of most floating-point instructions, "AVX"; "" if it is not counted
    single: float | None = None  # share of the operations in single precision; None if no event gives it
    half: float = 0.0  # share in half precision, operations of a matrix unit included
    # bytes between two memory levels, by the outer level's name, if all events of the level were counted
    levels: tuple[tuple[str, float], ...] = ()


def signal_of(definition: MetricDefinition, key: str) -> SignalId:
    """The signal that carries an event of a definition."""
    return next(signal for known, signal in definition.signals if known == key)


def counted(definition: MetricDefinition, counts: Mapping[str, float], sizing: Sizing) -> Counted | None:
    """Compute operations and bytes from counts by event key; None if a count that the operations need is missing.

    The events are those that the machine has: `MetricDefinition.without`.
    """
    if (flops := _sum(definition.flops, counts, sizing.vector_bits)) is None:
        return None
    exact = _sum(definition.exact_bytes, counts, sizing.vector_bits) if definition.exact_bytes else None
    size: float | None = None
    total: float | None
    model = sizing.model
    if exact and model in (WidthModel.EXACT, WidthModel.MIX):  # 0 bytes: the core lacks the event behind the number
        total, model = exact, WidthModel.EXACT
    else:
        model = WidthModel.MIX if model is WidthModel.EXACT else model
        accesses = _sum(definition.accesses, counts, sizing.vector_bits)
        size = _access_bytes(definition, counts, sizing, model)
        total = None if accesses is None or size is None else accesses * size
    split = _by_precision(definition, counts, sizing.vector_bits)
    if split is not None:
        half = _share(split, Precision.HALF)
    else:  # by events of their own, where those of single and double cannot be told apart
        half = added(counts.get(term.event, 0.0) * term.weight for term in definition.flops
                     if term.precision is Precision.HALF) / (flops or 1.0)
    return Counted(flops, total, size, model, _dominant(definition, counts), _share(split, Precision.SINGLE),
                   half or 0.0, _by_level(definition, counts))


def _by_level(definition: MetricDefinition, counts: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((level, float(LINE) * added(counts[key] for key in keys)) for level, keys in definition.terms_of_levels
                 if all(key in counts for key in keys))


def levels_together(parts: Iterable[tuple[tuple[str, float], ...]]) -> tuple[tuple[str, float], ...]:
    """Bytes by level of several amounts of work, each given by level, for the levels that all of them know."""
    known = [dict(part) for part in parts]
    return tuple((level, added(levels[level] for levels in known))
                 for level in (known[0] if known else {}) if all(level in levels for levels in known))


def _sum(terms: Iterable[Term], counts: Mapping[str, float], bits: int) -> float | None:
    """The weighted sum; None if a count is missing, or if there are no terms."""
    total: float | None = None
    for term in terms:
        if term.event not in counts:
            return None
        scale = bits / VECTOR_UNIT if term.per_vector else 1.0
        total = (total or 0.0) + counts[term.event] * term.weight * scale
    return total


def single_together(parts: Iterable[tuple[float | None, float]]) -> float | None:
    """The share in single precision of several (share, operations); None if one share is unknown."""
    known = list(parts)
    total = added(flops for _share, flops in known)
    single = 0.0
    for share, flops in known:
        if share is None:
            return None
        single += share * flops
    return single / total if total > 0 else 0.0


def half_together(parts: Iterable[tuple[float, float]]) -> float:
    """The share in half precision of several (share, operations)."""
    known = list(parts)
    total = added(flops for _share, flops in known)
    return added(share * flops for share, flops in known) / total if total > 0 else 0.0


def _by_precision(
    definition: MetricDefinition, counts: Mapping[str, float], bits: int
) -> dict[Precision, float] | None:
    """Operations in each precision, as comparable quantities; None if no event gives them."""
    if definition.shares:
        return _by_instructions(definition, counts)
    if not definition.separates_precision:
        return None
    return {precision: _sum((term for term in definition.flops if term.precision is precision), counts, bits) or 0.0
            for precision in Precision}


def _by_instructions(definition: MetricDefinition, counts: Mapping[str, float]) -> dict[Precision, float] | None:
    """Operations by precision from counts of instructions; a vector of narrower numbers has more of them."""
    if any(term.event not in counts for term in definition.shares):
        return None
    number = {width.event: counts.get(width.event, 0.0) for width in definition.widths}
    scalars = added(number[width.event] for width in definition.widths if not width.bytes)
    together = added(number.values())
    vectors = 1.0 - scalars / together if together > 0 else 1.0
    lanes = {precision: 1.0 - vectors + vectors * VECTOR_UNIT / 8 / precision.value for precision in Precision}
    flops = dict.fromkeys(Precision, 0.0)
    for term in definition.shares:
        if term.precision is not None:
            flops[term.precision] += counts[term.event] * term.weight * lanes[term.precision]
    # operations but no instruction of any precision: the core knows the events' numbers but not the events
    return flops if any(flops.values()) or not _sum(definition.flops, counts, VECTOR_UNIT) else None


def _share(split: Mapping[Precision, float] | None, precision: Precision) -> float | None:
    if split is None:
        return None
    total = added(split.values())
    return split[precision] / total if total > 0 else 0.0


def _access_bytes(
    definition: MetricDefinition, counts: Mapping[str, float], sizing: Sizing, model: WidthModel
) -> float | None:
    """Mean bytes of an access; None if the model needs a count that is missing."""
    scale = sizing.vector_bits / VECTOR_UNIT
    if model is WidthModel.GIVEN:
        return sizing.given
    if model is WidthModel.PRECISION:
        if (flops := _by_precision(definition, counts, sizing.vector_bits)) is None:
            return None
        total = added(flops.values())
        if total <= 0:
            return float(_SCALAR_BYTES)
        return added(precision.value * share for precision, share in flops.items()) / total
    if not definition.widths or any(width.event not in counts for width in definition.widths):
        return None
    seen = [(counts[width.event], width) for width in definition.widths]
    number = added(count for count, _ in seen)
    if number <= 0:
        return float(_SCALAR_BYTES)  # no floating point at all: accesses are machine words
    return added(count * (width.bytes or _SCALAR_BYTES) * (scale if width.per_vector else 1.0)
                 for count, width in seen) / number


def _dominant(definition: MetricDefinition, counts: Mapping[str, float]) -> str:
    """The width with the most floating-point instructions."""
    by_name = sums_by_key((width.name, counts.get(width.event, 0.0)) for width in definition.widths)
    best = max(by_name, key=lambda name: by_name[name], default="")
    return best if best and by_name[best] > 0 else ""
