"""Records control groups and resctrl groups, interval by interval."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.engine import GroupsReader
from turbotui.features.groups.event_plans import event_plan
from turbotui.features.groups.recorded_groups import record_of
from turbotui.recording.recorded_tables import RecordedTables, RecordingRequest, RowRecorder
from turbotui.recording.recorder import FrameRecorder
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session


class GroupRecorder(RowRecorder):
    """Reads and records all control groups and resctrl groups at the end of each interval.

    Args:
        session: the machine's session, whose added events are counted for groups, too.
    """

    what = "groups"

    def __init__(self, session: Session, recorder: FrameRecorder) -> None:
        super().__init__(recorder)
        plans = [event_plan(session.machine, session.capabilities, event) for event in session.events]
        events = GroupEvents(session.machine, plans) if plans else None
        self._reader = GroupsReader(session.machine.host, events=events)
        self.failure = "" if self._reader.why_none is None else self._reader.why_none.sentence()

    def end_interval(self, frame: Frame) -> None:
        """End the groups' interval at a frame's tick, and record it."""
        if self.failure:
            return
        interval = self._reader.read()
        if interval.seconds:
            self._record(record_of(replace(interval, clocks=frame.clocks)))

    def stop(self) -> None:
        """Close every file."""
        self._reader.close()


def _add_recorders(request: RecordingRequest) -> None:
    if "groups" in request.tables:
        request.made.append(GroupRecorder(request.session, request.recorder))


RECORDED: Final = (RecordedTables({"groups": "cgroups and resctrl"}, recorders=_add_recorders),)
