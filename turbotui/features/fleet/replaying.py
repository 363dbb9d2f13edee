"""Shows a recording of a fleet on the screen."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from turbotui.app.journal_past import JournalPast
from turbotui.app.past import TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.errors import TurbotuiError
from turbotui.features.fleet.columns import FleetColumn
from turbotui.features.fleet.engine import FleetQuestion
from turbotui.features.fleet.model import FleetReading
from turbotui.features.fleet.recorded import reading_of
from turbotui.features.fleet.session import PastRequest
from turbotui.quantities.moments import NS
from turbotui.recording.framing import DamagedError
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame
from turbotui.widgets.table_view import TableView


class ReplayedFleet(RecordedSession):
    """A `session.WatchedFleet` of a recording.

    Args:
        interval: seconds between the first two readings.

    Attributes:
        view: the view of the table when it was left for a node; None for the default.
        trouble: which part of the recording cannot be read; "" if all can.
        failure: always None, because no thread runs that could fail.
    """

    def __init__(self, journal: Journal, interval: float, question: FleetQuestion) -> None:
        super().__init__(journal, interval)
        self.view: TableView[FleetColumn, Hashable] | None = None
        self.trouble = ""
        self.failure: BaseException | None = None
        self._question = question
        self._read: tuple[int, FleetReading | None] = (0, None)

    def reading(self, frame: Frame | None) -> FleetReading | None:
        if frame is None:
            return None
        if self._read[0] != frame.newer.wall_ns:
            try:
                reading = reading_of(self.rows, frame, self._question)
            except DamagedError as error:
                self.trouble, reading = str(error), None
            self._read = frame.newer.wall_ns, reading
        return self._read[1]

    def ask_past(self, _request: PastRequest) -> None:
        """Do nothing, because a recording has no server."""


def replayed_fleet(journal: Journal, question: FleetQuestion) -> tuple[ReplayedFleet, Player]:
    """Make the session that shows a recording of a fleet, beginning at its last reading.

    Raises:
        TurbotuiError: the recording has fewer than two readings.
    """
    past = JournalPast(journal)
    times: Sequence[int] = past.times
    if not times:
        raise TurbotuiError(f"{journal.paths[0]} holds one reading, and no interval yet")
    player = Player(TimeCursor(past, live=False))
    player.cursor.jump(times[-1])
    session = ReplayedFleet(journal, (times[1] - times[0]) / NS if len(times) > 1 else 1.0, question)
    if session.reading(journal.frame_at(times[-1])) is None:
        raise TurbotuiError(f"{journal.paths[0]} holds no fleet: Ctrl+R in turbotui fleet records one")
    return session, player
