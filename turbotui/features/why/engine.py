"""Watches a machine or a recording for a few intervals, and diagnoses it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.memory_meter import watch_memory
from turbotui.diagnosis.recorded_looks import RecordedLooks
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.verdict import Verdict
from turbotui.diagnosis.wait_tails import UNRECORDED, RecordedWaits, ThreadNames, tail_sentence
from turbotui.errors import MachineError, TurbotuiError
from turbotui.feature_list import FEATURES, part_called
from turbotui.machine.host import HostError, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.machine.tasks.wait_collector import WaitCollector
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.moments import NS, parse_span
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import kind_sources
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

if TYPE_CHECKING:  # imported here, because few runs read a recording
    from turbotui.recording.journal import Journal

Present: TypeAlias = Callable[[CounterColumn], CounterColumn]
"""A function that gives a column the user's unit and marks, without changing its formula."""
Passed: TypeAlias = Callable[[Iterable[Frame], int, int], Iterable[Frame]]
"""A function that passes on frames of a time, from and to ns since 1970, and may end them (`LongWork.frames`)."""
PassedLive: TypeAlias = Callable[[Iterable[Frame], int, int, str, Callable[[], object]], Iterable[Frame]]
"""The same for frames that are measured meanwhile: what is read, and a function that ends their interval, follow."""

_MOST_THREADS: Final = 20_000  # threads whose waits are kept
_NOTABLE: Final = 0.25
"""The share of the time from which a cause is reported although it is over."""


@dataclass(frozen=True, slots=True)
class WhyReport:
    """The verdict on a machine, and the time that it covers."""

    verdict: Verdict  # with causes that were present for a notable share of the time
    wall_ns: int  # end of the last interval, in ns since 1970
    seconds: float  # the watched time


def _all(frames: Iterable[Frame], *_time: object) -> Iterable[Frame]:
    return frames


def watch_machine(machine: Machine, intervals: int, seconds: float, present: Present | None = None,
                  passed: PassedLive = _all) -> WhyReport:
    """Watch a machine for some intervals.

    Args:
        intervals: at least one.
        present: gives columns the user's units for sentences; None for the default units.
        passed: passes the frames on, and may end them.

    Raises:
        TurbotuiError: the sampling failed.
    """
    session = Session(machine, SOURCES, seconds, LinuxHost())
    if present is not None:
        session.present(present)
    diagnosis = MachineDiagnosis(session.catalog, kept=intervals)
    topology, capabilities = machine.topology, session.capabilities
    session.want(column.id for column in diagnosis.wanted(
        lambda column: why_absent(column, capabilities, topology) is None))
    session.look_often(None)
    if (memory := watch_memory(machine)) is not None:
        session.read_also(memory.sources(), memory.signals())
        diagnosis.memory = memory.share
    session.read_rows(diagnosis, kind_sources(diagnosis.kinds()))
    looks = Looks(machine.host)
    wall_ns, watched = 0, 0.0
    waits = _OverloadWaits(machine)
    try:
        began_ns = time.time_ns()
        end_ns = began_ns + round(intervals * seconds * NS)
        for frame in passed(frames_of(session, intervals), began_ns, end_ns, "", session.end_interval):
            diagnosis.seen = replace(looks.look(), tail=waits.look())
            diagnosis.push(frame)
            waits.begin(diagnosis)
            wall_ns, watched = frame.newer.wall_ns, watched + (frame.seconds or 0.0)
    finally:
        waits.close()
    if not watched:
        raise TurbotuiError("no interval was over before the end")
    return WhyReport(diagnosis.verdict(over=_NOTABLE), wall_ns, watched)


OF_WAITS: Final = tuple(rule for rule in RULES if "RunDelay%" in rule.wants)
"""Rules about CPUs that are too few, or too few where the work is, for which waits are read."""


def are_short(diagnosis: MachineDiagnosis) -> bool:
    """Whether tasks lose time because they wait for a CPU."""
    return any(not finding.observed.news for finding in diagnosis.findings() if finding.rule in OF_WAITS)


class _OverloadWaits:
    """Waits for a CPU, read from the first interval on in which tasks waited for one: each switch costs a record."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._collector: WaitCollector | None = None
        self._threads: dict[int, WaitSums] = {}

    def begin(self, diagnosis: MachineDiagnosis) -> None:
        """Read switches from now on if CPUs are short; whoever may not has the rule's other facts."""
        if self._collector is None and are_short(diagnosis) and self._machine.host.kind is HostKind.REAL:
            with contextlib.suppress(HostError, MachineError):
                self._collector = WaitCollector(self._machine.host, tuple(self._machine.topology.cpus))

    def look(self) -> str:
        """The sentence on the waits since `begin`; "" before, and where records were lost."""
        if self._collector is None:
            return ""
        for tid, waited in self._collector.take()[0].items():
            if tid in self._threads or len(self._threads) < _MOST_THREADS:
                self._threads.setdefault(tid, WaitSums()).add(waited)
        return "" if self._collector.lost else tail_sentence(
            self._threads, ThreadNames(self._machine.host, self._threads),
            wakeups=self._collector.why_no_wakeups is None)

    def close(self) -> None:
        """Close every descriptor."""
        if self._collector is not None:
            self._collector.close()


def read_recording(journal: Journal, intervals: int, begin: str = "", end: str = "", *,
                   present: Present | None = None, passed: Passed = _all) -> WhyReport:
    """Diagnose a span of a recording.

    Args:
        intervals: the number of last intervals if no span is given.
        begin: a time as `stat --replay` takes it; "" for none.
        end: a time in the same form; "" for none.
        passed: passes the frames on, and may end them.

    Raises:
        UsageError: a time is invalid.
        RecordingError: the recording cannot be read.
        TurbotuiError: there is no interval in the span.
    """
    first, last = journal.first_ns, journal.last_ns
    start_ns, end_ns = parse_span(begin, end, first, last)
    clocks = [clock for clock in journal.clocks() if start_ns <= clock <= end_ns]
    if not (begin or end) and len(clocks) > intervals:
        start_ns = clocks[-intervals]
    catalog = journal.catalog if present is None else journal.catalog.mapped(present)
    diagnosis = MachineDiagnosis(catalog, kept=max(intervals, len(clocks)), recorded=True)
    memory = watch_memory(journal.machine, journal.definitions())
    diagnosis.memory = None if memory is None else memory.share
    looks = RecordedLooks(journal.rows)
    waits = [tails for feature in FEATURES for tails in part_called(feature.waits, RecordedWaits, journal)]
    shortage = MachineDiagnosis(catalog, OF_WAITS, recorded=True)
    is_real = getattr(journal.machine.host, "was", None) is HostKind.REAL  # tasks of others wait for nothing
    wall_ns, watched, readings, judged = last, 0.0, 0, False
    for readings, frame in enumerate(passed(journal.frames(start_ns, end_ns), start_ns, end_ns), 1):  # noqa: B007 - counted
        judged = judged or frame.older is not None
        seen = shortage.seen = looks.at(frame)
        shortage.push(frame)
        if are_short(shortage):  # what tasks waited for is read where somebody waits: it takes ms an interval
            tail = next(filter(None, [tails.look(frame) for tails in waits]), seen.tail)
            unrecorded = is_real and not tail and not any(tails.recorded for tails in waits)
            seen = replace(seen, tail=UNRECORDED if unrecorded else tail)
        diagnosis.seen = seen
        diagnosis.push(frame)
        wall_ns, watched = frame.newer.wall_ns, watched + (frame.seconds or 0.0)
    if not judged:
        raise TurbotuiError(f"{journal.paths[0]} " + (
            "has no interval in that time: choose a longer one" if begin or end else
            f"holds {'one reading' if readings == 1 else f'{readings:,} readings'}, and no interval yet"))
    return WhyReport(diagnosis.verdict(over=_NOTABLE), wall_ns, watched)
