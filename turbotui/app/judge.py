"""The diagnosis of the watched machine, which the overview, window W and the power screen share."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final

from turbotui.app.past import AFTER, PastEvent, Portions, TimeCursor
from turbotui.app.sessions import PlayedSession, WatchedSession
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.limit_history import KEPT, LimitVerdict
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.memory_meter import MemoryTrafficMeter, watch_memory
from turbotui.diagnosis.recorded_looks import RecordedLooks
from turbotui.diagnosis.rules import LookResults, SlownessRule
from turbotui.diagnosis.verdict import Verdict
from turbotui.machine.host import HostKind
from turbotui.machine.tasks.process_stats import ReadProcesses
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

_MOST_NOTED: Final = 500
_APART: Final = 10 * 10**9
"""Nanoseconds from one noted finding to the next."""
_MISSED: Final = 5
"""Intervals that nobody judged from which the minute before is read again, later; fewer are judged with the next."""
_FEW: Final = 64  # CPUs up to which files of each may be read for the details of a sentence at every tick


class Judge:
    """Judges every new frame once, and moments of the past, for all screens; used on the screens' thread.

    Of a moment of the past, and of now after screens that judge nothing, the minute before is judged, too, by the kept
    frames.

    Args:
        why_absent: why a column is not here; None if it is.
        cursor: returns the cursor in the kept frames; None before there is one.
        shown: returns the shown moment of the past; None for now.

    Attributes:
        diagnosis: of the newest frames.
        noted: findings at the moments at which they became the worst one, oldest first, as far as moments were judged.
        on_noted: called with each of them; None for nobody.
        on_read: called when the minute before has been judged; None for nobody.
    """

    def __init__(self, session: WatchedSession, rules: Sequence[SlownessRule],
                 why_absent: Callable[[CounterColumn], Unavailable | None], cursor: Callable[[], TimeCursor | None],
                 shown: Callable[[], Frame | None]) -> None:
        self._session = session
        self._rules = rules
        self._why_absent = why_absent
        self._cursor = cursor
        self._shown_moment = shown
        self._work: tuple[int | None, asyncio.Task[None]] | None = None  # the moment, and what judges the minute before
        self._looks: Looks | None = None
        self._recorded = RecordedLooks(session.rows) if isinstance(session, PlayedSession) else None
        self._meter: tuple[MemoryTrafficMeter | None] | None = None  # none before it was asked for
        if isinstance(session, PlayedSession):
            self._meter = (watch_memory(session.machine, session.definitions),)
        self._past: tuple[int, MachineDiagnosis] | None = None  # a moment's time, and its diagnosis
        self._lacks = False  # whether kept frames before the newest ones were not judged
        self._newest_ns = 0
        self._worst: Hashable = None  # the cause of the last noted finding
        self.noted: deque[PastEvent] = deque(maxlen=_MOST_NOTED)
        self.on_noted: Callable[[PastEvent], None] | None = None
        self.on_read: Callable[[], None] | None = None
        self.diagnosis = self._fresh()

    def _fresh(self) -> MachineDiagnosis:
        """A diagnosis of the same machine by the same rules that has seen no frame."""
        diagnosis = MachineDiagnosis(self._session.catalog, self._rules, recorded=self._recorded is not None)
        known = None if self._recorded is None or self._meter is None else self._meter[0]
        diagnosis.memory = None if known is None else known.share
        return diagnosis

    @property
    def can_look(self) -> bool:
        """Whether tasks and groups of the machine can be looked at: it is neither recorded nor remote."""
        session = self._session
        return session.machine.host.kind is not HostKind.RECORDED and session.collector is None

    @property
    def meter(self) -> MemoryTrafficMeter | None:
        """The meter of memory traffic; None if there is none, or nobody has asked for it."""
        return None if self._meter is None else self._meter[0]

    def find_meter(self) -> MemoryTrafficMeter | None:
        """Find the meter of memory traffic at the first call, which reads files of the machine: call it on a thread."""
        if self._meter is None:
            self._meter = (watch_memory(self._session.machine),)
        return self._meter[0]

    def wanted(self, *, costly: bool = False) -> tuple[CounterColumn, ...]:
        """The columns to read."""
        return self.diagnosis.wanted(lambda column: self._why_absent(column) is None, costly=costly,
                                     details=costly or len(self._session.machine.topology.cpus) <= _FEW)

    def push(self, frame: Frame) -> None:
        """Judge the newest frame."""
        self._lacks = self.lacks_before(frame)
        if not self._lacks and self._shown_moment() is None:
            for missed in self._missed(frame):
                self._push(missed, self.diagnosis)
        self._push(frame, self.diagnosis)
        self._newest_ns = frame.newer.wall_ns
        if self._lacks and self._shown_moment() is None:
            self.judge_before()

    def lacks_before(self, frame: Frame) -> bool:
        """Whether kept frames before a new one were not judged, as where no screen judged for some time."""
        newest, cursor = self.diagnosis.newest, self._cursor()
        return cursor is not None and (self._lacks or (
            len(cursor.before(2)) > 1 if newest is None else frame.seq > newest + _MISSED))

    def _missed(self, frame: Frame) -> Iterator[Frame]:
        """The few kept frames between the last judged one and a new one, without which a cause would seem shorter."""
        newest, cursor = self.diagnosis.newest, self._cursor()
        if newest is None or cursor is None or frame.seq <= newest + 1:
            return
        for time_ns in cursor.before(_MISSED):
            kept = cursor.timeline.frame(time_ns)
            if kept is not None and newest < kept.seq < frame.seq:
                yield kept

    def _push(self, frame: Frame, diagnosis: MachineDiagnosis) -> None:
        """Judge a frame, with what a recording has of tasks then."""
        cursor = self._cursor()
        if diagnosis.newest is None and cursor is not None and cursor.timeline.times:
            diagnosis.continues = cursor.timeline.times[0] < frame.newer.wall_ns
        if self._recorded is not None:
            diagnosis.seen = self._recorded.at(frame)
        diagnosis.push(frame)

    def judge_before(self, after: float = AFTER) -> asyncio.Task[None] | None:
        """Judge the minute before the shown moment, a few ms at a time and after some seconds; None without a past."""
        shown, cursor = self._shown_moment(), self._cursor()
        moment = None if shown is None else shown.newer.wall_ns
        if cursor is not None and (self._work is None or self._work[0] != moment or not self.is_at_work):
            if self._work is not None:
                self._work[1].cancel()
            self._work = moment, asyncio.get_running_loop().create_task(self._judge_before(cursor, moment, after))
        return None if self._work is None else self._work[1]

    @property
    def is_at_work(self) -> bool:
        """Whether the minute before is being judged."""
        return self._work is not None and not self._work[1].done()

    async def _judge_before(self, cursor: TimeCursor, moment: int | None, after: float) -> None:
        await asyncio.sleep(after)
        diagnosis = await self._of_minute(cursor, moment)
        self._work = None  # a task keeps the window that asked for it
        if diagnosis is None:
            self._past = None
        elif moment is None:
            diagnosis.memory, diagnosis.seen = self.diagnosis.memory, self.diagnosis.seen
            self.diagnosis, self._lacks = diagnosis, False
        else:
            self._past = moment, diagnosis
        if diagnosis is not None and self.on_read is not None:
            self.on_read()

    async def _of_minute(self, cursor: TimeCursor, moment: int | None) -> MachineDiagnosis | None:
        """The diagnosis of the minute before a moment; None if the user has gone on meanwhile."""
        diagnosis, last_ns, portions = self._fresh(), 0, Portions()
        while times := [time_ns for time_ns in cursor.before(KEPT) if time_ns > last_ns]:  # others come meanwhile
            for last_ns in times:
                if cursor.at != moment:
                    return None
                if (frame := cursor.timeline.frame(last_ns)) is not None:
                    self._push(frame, diagnosis)
                await portions.rest()
        return diagnosis

    def look(self, processes: ReadProcesses | None = None) -> LookResults:
        """Look at tasks and control groups; callers do it seldom, on a thread of its own."""
        if self._looks is None:
            self._looks = Looks(self._session.machine.host)
        return self._looks.look(processes)

    def verdict(self) -> Verdict:
        """The verdict on the shown moment."""
        verdict, moment = self._shown().verdict(), self._shown_moment()
        if moment is None or self._recorded is not None:
            self._note(verdict, self._newest_ns if moment is None else moment.newer.wall_ns)
        return verdict

    def _note(self, verdict: Verdict, time_ns: int) -> None:
        """Note when another cause becomes the worst one, or none is left; causes that alternate, now and then."""
        last_ns = self.noted[-1].time_ns if self.noted else 0
        worst = None if verdict.worst is None else verdict.worst.rule.id
        if worst == self._worst or time_ns < last_ns + _APART:
            return
        self._worst = worst
        event = PastEvent(time_ns, f"Finding: {one_line(verdict.sentence)}")
        self.noted.append(event)
        if self.on_noted is not None:
            self.on_noted(event)

    def limits(self) -> Sequence[LimitVerdict]:
        """What holds each package back at the shown moment."""
        return self._shown().limits

    def _shown(self) -> MachineDiagnosis:
        if (frame := self._shown_moment()) is None:
            return self.diagnosis
        moment, cursor = frame.newer.wall_ns, self._cursor()
        if self._past is None or self._past[0] != moment:
            follows = self._past is not None and cursor is not None and self._past[0] in cursor.before(2)
            diagnosis = self._past[1] if self._past is not None and follows else self._fresh()
            self._past = moment, diagnosis
            self._push(frame, diagnosis)
            if not follows:
                self.judge_before()
        return self._past[1]
