"""Results of looks at tasks, groups and settings in recordings: how often they are taken, and their record.

A recording holds them beside the columns of the rules (`kept_columns`), so that its diagnosis is that of the machine.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.rules import LookResults, MemoryMover, PressedGroup, RankedBy, ThrottledGroup, UnseenTasks
from turbotui.machine.host import Host
from turbotui.recording.json_values import JsonValue, reason_facts, reason_from
from turbotui.recording.rows import LOOKS_STREAM, FindRows, IntervalRows, newest_rows
from turbotui.sampling.frame import Frame

_SHARE: Final = 1 / 200
"""The share of a CPU that looks take beyond the first ones: a look of 5 ms is repeated after 1 s."""
_FIRST: Final = 3  # looks from which the busiest thread is known
_LONGEST: Final = 30.0  # seconds
_AHEAD: Final = 300 * 10**9  # ns of a recording whose looks are read together


@dataclass(frozen=True, slots=True)
class LookRecord(IntervalRows):
    """The results of a look at the end of an interval, which hold until the next one."""

    stream = LOOKS_STREAM

    seen: LookResults

    def facts(self) -> Mapping[str, object]:
        seen, busiest, group = self.seen, self.seen.busiest, self.seen.throttled
        return {
            "table": "looks", "groups": seen.groups, "placement": seen.placement,
            "busiest": None if busiest is None else {"name": busiest[0], "share": busiest[1]},
            "throttled": None if group is None else {"name": group.name, "percent": group.percent,
                                                     "quota": group.quota, "stood": group.stood},
            "pressed": {resource: {"name": group.name, "percent": group.percent}
                        for resource, group in seen.pressed.items()},
            "who": {whose.name: names for whose, names in seen.who.items()},
            **({"tail": seen.tail} if seen.tail else {}),
            **({} if seen.mover is None else {"mover": {"name": seen.mover.name, "rate": seen.mover.rate,
                                                        "share": seen.mover.share, "least": seen.mover.least}}),
            **({} if seen.unseen is None else
               {"unseen": {"why": reason_facts(seen.unseen.why), "ran": seen.unseen.ran}}),
        }


def look_results(document: JsonValue) -> LookResults:
    """Restore the results of the JSON document of `LookRecord.facts`. Raises DamagedError if it is none."""
    busiest, throttled, who = document.get("busiest"), document.get("throttled"), document["who"].entries()
    unseen, tail, mover = (document.get(name) for name in ("unseen", "tail", "mover"))
    return LookResults(
        None if busiest is None else (busiest["name"].text(), busiest["share"].number()),
        document["groups"].flag(),
        None if throttled is None else ThrottledGroup(
            throttled["name"].text(), throttled["percent"].number(), _number(throttled.get("quota")),
            _number(throttled.get("stood"))),
        {name: PressedGroup(value["name"].text(), value["percent"].number())
         for name, value in document["pressed"].entries().items()},
        document["placement"].text(),
        {whose: who[whose.name].texts() for whose in RankedBy if whose.name in who},
        None if unseen is None else UnseenTasks(reason_from(unseen["why"]), _number(unseen.get("ran"))),
        None if mover is None else MemoryMover(
            mover["name"].text(), mover["rate"].number(), _number(mover.get("share")), mover["least"].flag()),
        tail="" if tail is None else tail.text(),
    )


def _number(value: JsonValue | None) -> float | None:
    return None if value is None else value.number()


class PacedLooks:
    """Looks at a machine as often as they cost little; the first ones at once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._looks = Looks(host)
        self._taken = 0
        self._next_ns = 0

    def look(self) -> LookResults | None:
        """Look if it is time to; None if it is not."""
        now = self._host.now_ns()
        if now < self._next_ns:
            return None
        began = time.thread_time_ns()
        seen = self._looks.look()
        self._taken += 1
        if self._taken > _FIRST:
            self._next_ns = now + min(round(_LONGEST * 1e9), round((time.thread_time_ns() - began) / _SHARE))
        return seen

    def record(self, frame: Frame) -> LookRecord | None:
        """The record of a look at the end of a frame's interval; None if it is not time for one."""
        seen = self.look()
        return None if seen is None else LookRecord(*frame.clocks, seen)


class RecordedLooks:
    """The looks of a recording."""

    def __init__(self, rows: FindRows) -> None:
        self._find = rows
        self._span = 1, 0  # wall clocks between which the times of all looks are known
        self._walls: list[int] = []
        self._read: tuple[int, LookResults] = -1, LookResults()  # the newest, and its place

    def at(self, frame: Frame) -> LookResults:
        """The newest results at the end of a frame's interval; without any nobody has looked."""
        wall_ns = frame.newer.wall_ns
        if not self._span[0] <= wall_ns <= self._span[1]:
            ahead = self._find(LOOKS_STREAM, wall_ns - round(2 * _LONGEST * 1e9), wall_ns + _AHEAD)
            self._walls, self._read = [rows.wall_ns for rows in ahead], (-1, LookResults())
            self._span = wall_ns, max(wall_ns, *self._walls, 0)  # a recording that grows has more later
        place = bisect_right(self._walls, wall_ns)
        if place and self._read[0] != place:
            wall_ns = self._walls[place - 1]
            if (looks := newest_rows(self._find(LOOKS_STREAM, wall_ns - 1, wall_ns))) is not None:
                self._read = place, looks.restored(lambda document, _wall_ns: look_results(document))
        return self._read[1] if place else LookResults()
