"""Which flat roofs the roofline screen draws: those of the point under the cursor, or of a format that was chosen."""

from __future__ import annotations

from typing import Final

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.task_points import Note
from turbotui.features.roofline.verdicts import precision_of
from turbotui.quantities.precision import Precision

_ORDER: Final = (Precision.DOUBLE, Precision.SINGLE, Precision.HALF, Precision.INT8)
_NO_POINTS: Final = Note("roofs of int8: operations that are no FLOPs, so no point stands under them",
                         "roofs of int8: no points")


class FlatRoofs:
    """The format of the numbers whose flat roofs are drawn.

    Attributes:
        chosen: by a person; None: the format of the point under the cursor.
    """

    def __init__(self) -> None:
        self.chosen: Precision | None = None

    def next(self, roofs: RoofSet | None, point: RooflinePoint | None) -> str:
        """Choose the next format with flat roofs, or after the last one that of the point; return its name."""
        usual = None if roofs is None else roofs.top_peak(None if point is None else precision_of(point))
        there = () if roofs is None else tuple(one for one in _ORDER if roofs.top_peak(one) is not None
                                               and (usual is None or one is not usual.precision))
        at = there.index(self.chosen) + 1 if self.chosen in there else 0
        self.chosen = there[at] if at < len(there) else None
        if self.chosen is None:
            return "those of the point under the cursor"
        return self.chosen.word + (", under which no point of FLOPs stands" if self.hides_points else "")

    def of(self, point: RooflinePoint | None) -> Precision | None:
        """Return the format that is drawn while the cursor is on a point; None for double, else single, precision."""
        return self.chosen or (None if point is None else precision_of(point))

    @property
    def hides_points(self) -> bool:
        """Whether the roofs are of operations that no point counts."""
        return self.chosen is Precision.INT8

    @property
    def notes(self) -> tuple[Note, ...]:
        """Return why no points are drawn."""
        return (_NO_POINTS,) if self.hides_points else ()
