"""Edges of the map of traffic: which derived values of an uncore PMU say how much goes between which two things."""

from __future__ import annotations

from enum import Enum

from turbotui.dataclass import dataclass
from turbotui.quantities.rows import WrongKindError, texts, valued


class EdgeKind(Enum):
    """What an edge joins to a package. The value is the word of `pmus.toml`."""

    MEMORY = "package-memory"
    PACKAGE = "package-package"
    GPU = "package-gpu"
    CXL = "package-cxl"
    DEVICE = "package-device"

    @property
    def shared(self) -> bool:
        """Whether both directions share one peak, as on a memory bus; links have one for each direction."""
        return self is EdgeKind.MEMORY


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge of a kind of PMU. Values are named by what they measure; all are GB/s.

    Attributes:
        kind: what it joins.
        label: names it among several of one PMU; "" where a PMU has one.
        inward: what goes into the package; "" where nothing counts it.
        outward: what goes out of it.
        peak: the most that it can take; "" where no counter and no document says it.
    """

    kind: EdgeKind
    label: str
    inward: str
    outward: str
    peak: str


def edge_row(value: object) -> EdgeRow:
    """Reads an edge of `pmus.toml`: kind, label, inward, outward, peak."""
    found = texts(value)
    if len(found) != 5:
        raise WrongKindError("kind, label, inward, outward and peak")
    return EdgeRow(valued(EdgeKind)(found[0]), *found[1:])
