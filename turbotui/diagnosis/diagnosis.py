"""The diagnosis of a machine, which takes frames one by one and returns ranked causes of slowness.

A caller reads the columns of `MachineDiagnosis.wanted`, pushes every frame, even while nobody looks, and asks for
`verdict()`, which every screen and format shows as it is.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.core_clocks import ClockHistory
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.limit_history import KEPT, LimitHistory, LimitVerdict
from turbotui.diagnosis.limits import HEAT
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
class _Past:
    """A rule's answers, interval by interval."""

    intervals: deque[tuple[float, bool]]  # seconds of each judged interval, and whether the cause was present
    run: float = 0.0  # seconds for which the cause has been present without a break
    # of the newest judged interval; BLIND, LATE or NOT_ASKED while there is none
    answer: Observed | NoFinding = NoFinding.LATE
    last: Observed | None = None  # the observation when the cause was last present
    unread: tuple[int, float] = (0, 0.0)  # the number of intervals since the last judgement, and their seconds
    # why the newest interval could not be judged; None if it was
    missing: tuple[NoFinding, Unavailable | None] | None = None

    def take(self, seconds: float, answer: Observed | NoFinding, why: Unavailable | None) -> None:
        """Add an interval; one that could not be judged leaves the last answer as it is for some time."""
        holds = isinstance(answer, Observed)
        if isinstance(answer, Observed):
            self.last = answer
        elif answer is not NoFinding.CLEAR:
            number, ago = self.unread
            self.unread, self.missing = (number + 1, ago + seconds), (answer, why)
            if answer is not NoFinding.LATE or not self.judged:
                self.answer, self.run = answer, 0.0
            return
        self.answer, self.missing, self.unread = answer, None, (0, 0.0)
        self.run = self.run + seconds if holds else 0.0
        self.intervals.append((seconds, holds))

    @property
    def judged(self) -> bool:
        """Whether any kept interval could be judged; a machine that is late misses some."""
        return bool(self.intervals) and self.unread[0] < (self.intervals.maxlen or 1)


class MachineDiagnosis:
    """Rules over the frames of one machine, with their answers for the last minute; used on one thread.

    Args:
        kept: number of intervals over which shares of time are reported.
        recorded: whether the frames are of a recording, which never reads more columns than it has.

    Attributes:
        memory: returns the memory traffic in a frame, or why it is unknown; None if it is not asked for.
        seen: results of looks at tasks and control groups, if there were any.
    """

    def __init__(self, catalog: Catalog, rules: Sequence[SlownessRule] = RULES, kept: int = KEPT, *,
                 recorded: bool = False) -> None:
        self._catalog = catalog
        self._recorded = recorded
        self._rules = rules
        self._kept = kept
        self._limits = LimitHistory(catalog, kept)
        self._clocks = ClockHistory(catalog, kept)
        self._past = {rule.id: _Past(deque(maxlen=kept)) for rule in rules}
        self._moment: JudgedFrame | None = None
        self._watched = 0.0  # seconds, without a gap
        self._busy: float | None = None  # percent, when it was last known
        self._blind: tuple[Capabilities | None, dict[str, Unavailable]] = None, {}
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
        before = None if self._moment is None else self._moment.frame.seq
        if frame.seconds is None:
            self._limits.push(frame)
        if frame.seconds is None or frame.seq == before:
            return
        if before is not None and not before < frame.seq <= before + self._kept:
            self._past = {rule.id: _Past(deque(maxlen=self._kept)) for rule in self._rules}
            self._watched, self._busy = 0.0, None
            self._clocks.clear()
        self._watched += frame.seconds
        self._limits.push(frame)
        self._moment = moment = JudgedFrame(frame, self._catalog, self._limits.verdicts(),
            memory=None if self.memory is None else self.memory(frame), seen=self.seen, clocks=self._clocks.push(frame))
        self._busy = self._busy if moment.load is None else moment.load
        for rule in self._rules:
            self._past[rule.id].take(frame.seconds, *self._judge(rule, moment))

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
        known = self._blind[1].get(rule.id)
        if known is not None:
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
        if reasons or moment.frame.newer.late or self._past[rule.id].judged:
            return NoFinding.LATE, next(iter(reasons), None)
        return NoFinding.BLIND, None

    @property
    def newest(self) -> int | None:
        """The number of the newest judged frame; None before the first."""
        return None if self._moment is None else self._moment.frame.seq

    @property
    def limits(self) -> Sequence[LimitVerdict]:
        """What holds each package back in the newest interval, or is known to before there is one."""
        return self._limits.verdicts()

    def findings(self, over: float | None = None) -> tuple[Finding, ...]:
        """The current findings, the worst first.

        Args:
            over: also include causes that are absent in the newest interval but were present for this share of the
                time.
        """
        findings = (self._finding(rule, self._past[rule.id], over) for rule in self._rules)
        return tuple(sorted((finding for finding in findings if finding is not None),
                            key=lambda finding: -finding.score))

    def _finding(self, rule: SlownessRule, past: _Past, over: float | None) -> Finding | None:
        observed = past.last
        if observed is None or (over is None and past.answer is not observed):
            return None  # the usual case, asked of every rule at every tick: nothing is summed
        window = math.fsum(seconds for seconds, _ in past.intervals)
        share = math.fsum(seconds for seconds, holds in past.intervals if holds) / window if window else 0.0
        if past.answer is not observed and over is not None and share < over:
            return None
        who = (*observed.who, *self.seen.who.get(rule.whose, ()))
        return Finding(rule, observed, past.run, share, window, who, past.unread[1])

    def verdict(self, over: float | None = None) -> Verdict:
        """The verdict at the newest frame."""
        unjudged = tuple(Unjudged(rule, *missing) for rule in self._rules
                         if (missing := self._past[rule.id].missing) is not None)
        sure = self._busy is not None and all(map(self._is_needless, unjudged))
        return Verdict(self.findings(over), self._quiet(unjudged, sure=sure), unjudged, sure, self.seen.unseen)

    def _is_needless(self, unjudged: Unjudged) -> bool:
        """Whether the absence of findings is sure without this rule at this load."""
        rule, busy = unjudged.rule, self._busy or 0.0
        if unjudged.answer is NoFinding.BLIND and unjudged.why is not None and unjudged.why.reason is Reason.NOT_READ:
            return False  # the machine could have shown it
        kept = unjudged.answer is NoFinding.LATE and self._past[rule.id].judged
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
        heat, hottest = moment.said(*HEAT), moment.said("TjMax", unit=False)
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
