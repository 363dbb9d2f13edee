"""Small pictures of the last hour of the drawn nodes, by one query a minute for all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turbotui.features.fleet.columns import FleetColumn
from turbotui.features.fleet.session import PastRequest
from turbotui.widgets.spark import spark

WIDTH: Final = 24
"""Characters of a picture, each of two and a half minutes."""
_SECONDS: Final = 3600.0
_RENEWED: Final = 60.0
_PATIENCE: Final = 30.0
"""Seconds after which an unanswered query is repeated."""

Points = Sequence[tuple[float, float]]
"""Points: pairs of seconds since 1970 and value."""


class Trends:
    """Pictures of nodes, as far as the server has answered.

    Args:
        ask: takes a request for the past of nodes; never waits.
        changed: called on another thread when an answer has arrived.
    """

    def __init__(self, ask: Callable[[PastRequest], None], changed: Callable[[], None],
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._changed, self._clock = ask, changed, clock
        self._column = ""
        self._asked: float | None = None
        self._known: Mapping[str, tuple[float, Points]] = {}
        self.pictures: Mapping[str, str] = {}

    def want(self, column: FleetColumn, names: Sequence[str]) -> None:
        """Request pictures of a column for these nodes; pictures of other nodes stay while they are new."""
        now = self._clock()
        if column.id != self._column:
            self._column, self._known, self.pictures, self._asked = column.id, {}, {}, None
        missing = [name for name in names if name not in self._known or now - self._known[name][0] >= _RENEWED]
        if not missing or (self._asked is not None and now - self._asked < _PATIENCE):
            return
        self._asked = now
        self._ask(PastRequest(column, tuple(missing), lambda series: self._take(column.id, missing, series), WIDTH))

    def _take(self, column: str, asked: Sequence[str], series: Mapping[str, Points]) -> None:
        """Keep an answer, by assignments only, because this runs on the session's thread."""
        if column != self._column:
            return
        now = self._clock()
        known = {**self._known, **{name: (now, series.get(name, ())) for name in asked}}
        end = max((points[-1][0] for _at, points in known.values() if points), default=0.0)
        top = max((value for _at, points in known.values() for _time, value in points), default=0.0)
        self._known = known
        self.pictures = {name: picture(points, end, top) for name, (_at, points) in known.items()}
        self._asked = None
        self._changed()


def picture(points: Points, end: float, top: float) -> str:
    """Draw the hour that ends at `end` (s since 1970) as `WIDTH` characters; "" if no value is known.

    Args:
        points: oldest first.
    """
    slots = [math.nan] * WIDTH
    for at, value in points:
        slot = WIDTH - 1 - int((end - at) / (_SECONDS / WIDTH))
        if 0 <= slot < WIDTH:
            slots[slot] = value
    return spark(slots, top, WIDTH) if points and top > 0 else ""
