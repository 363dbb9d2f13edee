"""The diagnosis of a machine, which takes frames one by one and returns ranked causes of slowness.

A caller reads the columns of `MachineDiagnosis.wanted`, pushes every frame, even while nobody looks, and asks for
`verdict()`, which every screen and format shows as it is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.core_clocks import ClockTick, clock_ticks, lowered
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.limit_history import KEPT, LimitVerdict, limit_verdict
from turbotui.diagnosis.limits import HEAT, Facts, Hold, holds_of
from turbotui.diagnosis.package_facts import LimitColumns, facts_of, limit_columns
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import (
    JudgedFrame,
    LookResults,
    MemoryShare,
    NoFinding,
    Observed,
    SlownessRule,
    name_of,
)
from turbotui.diagnosis.verdict import Unjudged, Verdict, sources_of
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.scope import RowId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame

_FULL = 90.0  # percent: CPUs that may be too few
_SHORT = 1.0  # seconds in which tasks that wait are not seen surely: the first interval of the dashboard is short
_IDLE = 3.0
"""Percent busy below which a machine counts as idle."""


_TRANSIENT: Final = frozenset({Reason.LATE, Reason.INTERRUPTED, Reason.FIRST_TICK, Reason.WENT_BACK, Reason.NEVER_RAN,
                               Reason.OUT_OF_RANGE, Reason.CONTRADICTED, Reason.FAILED, Reason.OFFLINE, Reason.ASLEEP})
"""Reasons for which a number is missing in an interval only."""


@dataclass(slots=True)
class _Interval:
    """What was seen in an interval."""

    seconds: float
    holds: Mapping[RowId, Sequence[Hold]]  # what held each package back
    clocks: Mapping[RowId, ClockTick]  # of the CPUs whose clock was timed
    judged: frozenset[str] = frozenset()  # the rules that could be judged, by id
    present: frozenset[str] = frozenset()  # those of them whose cause was present


@dataclass(slots=True)
class _Answers:
    """A rule's last answers."""

    run: float = 0.0  # seconds for which the cause has been present without a break
    # of the newest judged interval; BLIND, LATE or NOT_ASKED while there is none
    answer: Observed | NoFinding = NoFinding.LATE
    cleared: bool = False  # whether the cause was absent in any interval
    last: Observed | None = None  # the observation when the cause was last present
    unjudged: float = 0.0  # seconds since the last judgement
    # why the newest interval could not be judged; None if it was
    missing: tuple[NoFinding, Unavailable | None] | None = None

    def take(self, seconds: float, answer: Observed | NoFinding, why: Unavailable | None, *, stands: bool) -> None:
        """Add an interval's answer.

        Args:
            stands: whether a judgement is recent enough to stand over an interval that is late.
        """
        if isinstance(answer, Observed):
            self.last = answer
        elif answer is not NoFinding.CLEAR:
            self.unjudged, self.missing = self.unjudged + seconds, (answer, why)
            if answer is not NoFinding.LATE or not stands:
                self.answer, self.run = answer, 0.0
            return
        self.answer, self.missing, self.unjudged = answer, None, 0.0
        self.run = self.run + seconds if answer is self.last else 0.0
        self.cleared = self.cleared or not self.run


class MachineDiagnosis:
    """Rules over the frames of one machine, with their answers for the last minute; used on one thread.

    Args:
        kept: number of intervals over which shares of time are reported.
        recorded: whether the frames are of a recording, which never reads more columns than it has.

    Attributes:
        limits: what holds each package back in the newest interval, or is known to before there is one.
        continues: whether there were intervals before the first one that was judged.
        memory: returns the memory traffic in a frame, or why it is unknown; None if it is not asked for.
        seen: results of looks at tasks and control groups, if there were any.
    """

    def __init__(self, catalog: Catalog, rules: Sequence[SlownessRule] = RULES, kept: int = KEPT, *,
                 recorded: bool = False) -> None:
        self._catalog = catalog
        self._recorded = recorded
        self._rules = rules
        self._kept = kept
        self._window: deque[_Interval] = deque(maxlen=kept)
        self._answers = {rule.id: _Answers() for rule in rules}
        self._packages: tuple[int, Mapping[RowId, Facts]] = -1, {}  # of the newest frame, whose number is first
        self._columns: LimitColumns | None = None
        self._moment: JudgedFrame | None = None
        self._watched = 0.0  # seconds, without a gap
        self._busy: float | None = None  # percent, when it was last known
        self._blind: tuple[Capabilities | None, dict[str, Unavailable]] = None, {}
        self.limits: Sequence[LimitVerdict] = ()
        self.continues = False
        self.memory: Callable[[Frame], MemoryShare | Unavailable] | None = None
        self.seen = LookResults()

    def wanted(self, can: Callable[[CounterColumn], bool], *, costly: bool = True,
               details: bool = True) -> tuple[CounterColumn, ...]:
        """The columns to read.

        Args:
            can: whether a column is available on this machine now.
            costly: include those of rules that take several files of every CPU; False for a line that is shown at every
                tick.
            details: include those without which a rule can be judged, and says less.
        """
        columns: dict[str, CounterColumn] = {}
        for rule in self._rules:
            if rule.costly and not costly:
                continue
            for group in (*rule.needs, *((name,) for name in rule.wants if details)):
                column = next((known for name in group if (known := self._catalog.get(name)) and can(known)), None)
                if column is not None:
                    columns[column.id] = column
        return tuple(columns.values())

    def kinds(self) -> frozenset[KindId]:
        """The kinds of rows that improve sentences."""
        return frozenset(kind for rule in self._rules for kind in rule.kinds)

    def push(self, frame: Frame) -> None:
        """Add a frame; a repeated frame, or one without an interval, changes nothing."""
        before, _facts = self._packages
        if frame.seq == before:
            return
        if before >= 0 and not before < frame.seq <= before + self._kept:
            self._answers = {rule.id: _Answers() for rule in self._rules}
            self._window.clear()
            self._watched, self._busy, self.continues = 0.0, None, True
        holds, seconds = self._holds(frame), frame.seconds
        if seconds is not None:
            self._watched += seconds
            self._window.append(interval := _Interval(seconds, holds, clock_ticks(frame, self._catalog)))
        self.limits = [
            limit_verdict(facts, holds[row], ((past.seconds, past.holds.get(row, ())) for past in self._window))
            for row, facts in self._packages[1].items()]
        if seconds is None:
            return
        lower = {row: lowered([past.clocks[row] for past in self._window if row in past.clocks])
                 for row in interval.clocks}
        self._moment = moment = JudgedFrame(frame, self._catalog, self.limits,
            memory=None if self.memory is None else self.memory(frame), seen=self.seen, clocks=lower)
        self._busy = self._busy if moment.load is None else moment.load
        answers = {rule.id: self._judge(rule, moment) for rule in self._rules}
        interval.present = frozenset(name for name, (answer, _why) in answers.items() if isinstance(answer, Observed))
        interval.judged = interval.present | {name for name, (answer, _why) in answers.items()
                                              if answer is NoFinding.CLEAR}
        for name, (answer, why) in answers.items():
            stands = answer is NoFinding.LATE and self._is_judged(name)
            self._answers[name].take(seconds, answer, why, stands=stands)

    def _holds(self, frame: Frame) -> Mapping[RowId, Sequence[Hold]]:
        """What holds each package back in a frame."""
        # log bits cover the time since the previous reading: after a gap they belong to no interval
        before = self._packages[1] if frame.seq == self._packages[0] + 1 else {}
        if self._columns is None or self._columns.capabilities is not frame.capabilities:
            self._columns = limit_columns(frame.capabilities, self._catalog)
        facts = {package.row: package for package in facts_of(frame, self._columns)}
        self._packages = frame.seq, facts
        return {row: holds_of(package, before.get(row)) for row, package in facts.items()}

    def _is_judged(self, name: str) -> bool:
        """Whether a rule could be judged in any kept interval; a machine that is late misses some."""
        return any(name in interval.judged for interval in reversed(self._window))

    def _judge(self, rule: SlownessRule, moment: JudgedFrame) -> tuple[Observed | NoFinding, Unavailable | None]:
        """A rule's answer, and why it is none."""
        if rule.costly and not self._recorded and not _is_read(rule, moment):
            return NoFinding.NOT_ASKED, None  # without computing columns of which nothing was read
        answer = rule.judge(moment)
        if answer is NoFinding.CLEAR and moment.frame.newer.late:
            why = _late_part(rule, moment)
            return (answer if why is None else NoFinding.LATE), why
        return self._unknown(rule, moment) if answer is NoFinding.UNKNOWN else (answer, None)

    def _unknown(self, rule: SlownessRule, moment: JudgedFrame) -> tuple[NoFinding, Unavailable | None]:
        """Tell whether what a rule needs can never be read here, or is missing in this interval, and why."""
        capabilities = moment.frame.capabilities
        if self._blind[0] is not capabilities:
            self._blind = capabilities, {}
        if (known := self._blind[1].get(rule.id)) is not None:
            return NoFinding.BLIND, known
        reasons = [why for group in rule.needs if (why := _missing_group(moment, group)) is not None]
        if not rule.needs and isinstance(moment.memory, Unavailable):
            reasons = [moment.memory]
        for why in reasons:
            if why.reason not in _TRANSIENT and why.reason is not Reason.NOT_READ:
                if any(not any(map(moment.can, group)) for group in rule.needs):
                    self._blind[1][rule.id] = why  # so it stays until other counters are found
                return NoFinding.BLIND, why
        for why in reasons:
            if why.reason is Reason.NOT_READ:
                return (NoFinding.BLIND if self._recorded else NoFinding.NOT_ASKED), why
        if reasons or moment.frame.newer.late or self._is_judged(rule.id):
            return NoFinding.LATE, next(iter(reasons), None)
        return NoFinding.BLIND, None

    @property
    def newest(self) -> int | None:
        """The number of the newest judged frame; None before the first."""
        return None if self._moment is None else self._moment.frame.seq

    def findings(self, over: float | None = None) -> tuple[Finding, ...]:
        """The current findings, the worst first.

        Args:
            over: also include causes that are absent in the newest interval but were present for this share of the
                time.
        """
        findings = (self._finding(rule, self._answers[rule.id], over) for rule in self._rules)
        return tuple(sorted((finding for finding in findings if finding is not None),
                            key=lambda finding: -finding.score))

    def _finding(self, rule: SlownessRule, answers: _Answers, over: float | None) -> Finding | None:
        observed = answers.last
        if observed is None or (over is None and answers.answer is not observed):
            return None  # the usual case, asked of every rule at every tick: nothing is summed
        window = math.fsum(interval.seconds for interval in self._window if rule.id in interval.judged)
        there = math.fsum(interval.seconds for interval in self._window if rule.id in interval.present)
        share = there / window if window else 0.0
        if answers.answer is not observed and over is not None and share < over:
            return None
        who = (*observed.who, *self.seen.who.get(rule.whose, ()))
        return Finding(rule, observed, answers.run, share, window, who, answers.unjudged,
                       self.continues and not answers.cleared)

    def verdict(self, over: float | None = None) -> Verdict:
        """The verdict at the newest frame."""
        unjudged = tuple(Unjudged(rule, *missing) for rule in self._rules
                         if (missing := self._answers[rule.id].missing) is not None)
        sure = self._busy is not None and all(map(self._is_needless, unjudged))
        return Verdict(self.findings(over), self._quiet(unjudged, sure=sure), unjudged, sure, self.seen.unseen)

    def _is_needless(self, unjudged: Unjudged) -> bool:
        """Whether the absence of findings is sure without this rule at this load."""
        rule, busy = unjudged.rule, self._busy or 0.0
        if unjudged.answer is NoFinding.BLIND and unjudged.why is not None and unjudged.why.reason is Reason.NOT_READ:
            return False  # the machine could have shown it
        kept = unjudged.answer is NoFinding.LATE and self._is_judged(rule.id)
        return kept or unjudged.answer is NoFinding.NOT_ASKED or busy < rule.decides_from

    def _quiet(self, unjudged: tuple[Unjudged, ...], *, sure: bool) -> str:
        """A sentence about a machine without findings, which counts and names what was not seen."""
        moment, busy = self._moment, self._busy
        if moment is None:
            return "Waiting for the first interval"
        if busy is not None and busy >= _FULL and self._watched < _SHORT:
            return (f"The CPUs are {busy:.0f} % busy; {self._watched:.1f} s do not show yet whether there is a"
                    " bottleneck")
        facts = ["how busy the CPUs are is not known" if busy is None else f"{busy:.0f} % busy" if busy >= _IDLE
                 else f"it is idle, {busy:.1f} % busy"]
        heat, hottest = moment.amount(*HEAT), moment.amount("TjMax", unit=False)
        if heat:
            facts.append(f"{heat} of {hottest}" if hottest else heat)
        memory = moment.memory
        if isinstance(memory, MemoryShare):
            whose = f" of {name_of(moment, memory.row)}" if len(moment.frame.rows(memory.row.scope)) > 1 else ""
            facts.append(f"memory{whose} moves {memory.words}")
        far = " above your limits of [why]" if any(rule.least for rule in self._rules) else ""
        unjudged = tuple(sorted(unjudged, key=self._is_needless))  # what leaves it open goes first
        parts = [f"{sources_of(group)} {answer.value} ({len(group)} of {len(self._rules)} causes)"
                 for answer in (NoFinding.BLIND, NoFinding.LATE)
                 if (group := tuple(gap for gap in unjudged if gap.answer is answer))]
        if not sure:
            return "; ".join((f"Nothing found{far}", *parts)) + f": {', '.join(facts)}"
        more = sum(gap.answer is NoFinding.NOT_ASKED for gap in unjudged)
        lacking = len(unjudged) - more
        among = f" among {len(self._rules) - lacking} of {len(self._rules)} causes" if lacking else ""
        parts += [f"W looks for {more} more"] * bool(more)
        return "; ".join((f"No bottleneck found{among}{far}: {', '.join(facts)}", *parts))


def _is_read(rule: SlownessRule, moment: JudgedFrame) -> bool:
    """Whether what a rule needs first was read in an interval, as far as it can be."""
    columns = [column for name in rule.needs[0] if (column := moment.catalog.get(name)) and moment.frame.can(column)]
    read = moment.frame.newer.values
    return not columns or any(name in read for column in columns for name in column.needs)


def _missing_group(moment: JudgedFrame, names: Sequence[ColumnId]) -> Unavailable | None:
    """Why none of some columns has a value, by the reason that may pass soonest; None if one has."""
    reasons = [moment.why(name) for name in names]
    if None in reasons:
        return None
    known = [why for why in reasons if why is not None]
    return min(known, key=lambda why: (why.reason not in _TRANSIENT, why.reason is not Reason.NOT_READ), default=None)


def _late_part(rule: SlownessRule, moment: JudgedFrame) -> Unavailable | None:
    """Why a part of what a rule needs is late; None if all of it is there."""
    frame = moment.frame
    for group in rule.needs:
        column = next((column for name in group if (column := moment.catalog.get(name)) and frame.can(column)), None)
        if column is None:
            continue
        rows = frame.rows(column.scope)
        for row, cell in zip(rows, frame.cells(column, rows), strict=True):
            why = frame.why(column, row) if cell is None else None
            if why is not None and why.reason is Reason.LATE:
                return why
    return None
