"""The diagnosis of the watched machine, which the overview, window W and the power screen share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from turbotui.app.memory_meter import watch_memory
from turbotui.app.sessions import PlayedSession
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.recorded_looks import RecordedLooks
from turbotui.diagnosis.rules import LookResults
from turbotui.diagnosis.verdict import Verdict
from turbotui.machine.host import HostKind
from turbotui.machine.tasks.process_stats import ProcessStat
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame

if TYPE_CHECKING:  # the watch has a judge
    from turbotui.app.watch import Watch

_FEW: Final = 64  # CPUs up to which files of each may be read for the details of a sentence at every tick


class Judge:
    """Judges every new frame once, and moments of the past, for all screens; used on the screens' thread.

    Attributes:
        diagnosis: of the newest frames.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._looks: Looks | None = None
        session = watch.session
        self._recorded = RecordedLooks(session.rows) if isinstance(session, PlayedSession) else None
        self._memory = (watch_memory(session.machine, session.definitions) if isinstance(session, PlayedSession)
                        else None)
        self._past: tuple[int, MachineDiagnosis] | None = None  # a moment's time, and its diagnosis
        self.diagnosis = self.fresh()

    def fresh(self) -> MachineDiagnosis:
        """A diagnosis of the same machine by the same rules that has seen no frame."""
        watch = self._watch
        found = MachineDiagnosis(watch.session.catalog, watch.rules, recorded=watch.player is not None)
        found.memory = None if self._memory is None else self._memory.share
        return found

    @property
    def can_look(self) -> bool:
        """Whether tasks and groups of the machine can be looked at: it is neither recorded nor remote."""
        session = self._watch.session
        return session.machine.host.kind is not HostKind.RECORDED and session.collector is None

    def wanted(self, *, costly: bool = False) -> tuple[CounterColumn, ...]:
        """The columns to read."""
        watch = self._watch
        few = len(watch.session.machine.topology.cpus) <= _FEW
        return self.diagnosis.wanted(lambda column: watch.why_absent(column) is None, costly=costly,
                                     details=costly or few)

    def push(self, frame: Frame, diagnosis: MachineDiagnosis | None = None) -> None:
        """Judge a frame by a diagnosis, with what a recording has of tasks then; by default the newest frame."""
        target = diagnosis or self.diagnosis
        if self._recorded is not None:
            target.seen = self._recorded.at(frame)
        target.push(frame)

    def take(self, diagnosis: MachineDiagnosis, time_ns: int | None) -> None:
        """Use a diagnosis that has seen the minute before.

        Args:
            time_ns: the moment's wall clock; None for the newest frame.
        """
        if time_ns is None:
            diagnosis.memory, diagnosis.seen = self.diagnosis.memory, self.diagnosis.seen
            self.diagnosis = diagnosis
        else:
            self._past = time_ns, diagnosis

    def look(self, processes: Mapping[int, ProcessStat] | None = None, began_ns: int | None = None) -> LookResults:
        """Look at tasks and control groups; callers do it seldom, on a thread of its own."""
        if self._looks is None:
            self._looks = Looks(self._watch.session.machine.host)
        return self._looks.look(processes, began_ns)

    def verdict(self) -> Verdict:
        """The verdict on the shown moment."""
        return self._shown().verdict()

    def limits(self) -> Sequence[LimitVerdict]:
        """What holds each package back at the shown moment."""
        return self._shown().limits

    def _shown(self) -> MachineDiagnosis:
        watch = self._watch
        frame = watch.frame
        if not watch.in_past or frame is None:
            return self.diagnosis
        moment = frame.newer.wall_ns
        if self._past is None or self._past[0] != moment:
            self._past = moment, self.fresh()
            self.push(frame, self._past[1])
        return self._past[1]
