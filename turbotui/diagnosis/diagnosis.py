"""The diagnosis of a machine, which takes frames one by one and returns ranked causes of slowness.

A caller reads the columns of `MachineDiagnosis.wanted`, pushes every frame, even while nobody looks, and asks for
`verdict()`; if that is None, `quiet()` is the sentence to show.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.limit_history import KEPT, LimitHistory
from turbotui.diagnosis.limits import HEAT
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import JudgedFrame, LookResults, MemoryShare, NoFinding, Observed, SlownessRule
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame

_FULL = 90.0  # percent: CPUs that may be too few
_SHORT = 1.0  # seconds in which tasks that wait are not seen surely: the first interval of the dashboard is short
_IDLE = 3.0
"""Percent busy below which a machine counts as idle."""


@dataclass(slots=True)
class _Past:
    """A rule's answers, interval by interval.

    Attributes:
        intervals: seconds of each, and whether the cause was present.
        run: seconds for which the cause has been present without a break.
        answer: of the newest interval.
        last: the observation when it was last present.
        unread: number of intervals since the last judgement.
    """

    intervals: deque[tuple[float, bool]]
    run: float = 0.0
    answer: Observed | NoFinding = NoFinding.UNKNOWN
    last: Observed | None = None
    unread: int = 0

    def take(self, seconds: float, answer: Observed | NoFinding) -> None:
        """Add an interval."""
        holds = isinstance(answer, Observed)
        self.answer = answer
        if isinstance(answer, Observed):
            self.last = answer
        self.run = self.run + seconds if holds else 0.0
        self.unread += 1
        if holds or answer is NoFinding.CLEAR:  # an interval in which its columns were not read says nothing
            self.intervals.append((seconds, holds))
            self.unread = 0

    @property
    def judged(self) -> bool:
        """Whether any kept interval could be judged; a machine that is late misses some."""
        return bool(self.intervals) and self.unread < (self.intervals.maxlen or 1)


class MachineDiagnosis:
    """Rules over the frames of one machine, with their answers for the last minute; used on one thread.

    Args:
        catalog: of the machine.
        rules: the rules to apply.
        kept: number of intervals over which shares of time are reported.

    Attributes:
        memory: returns the memory traffic in a frame, if memory controllers are counted.
        seen: results of looks at tasks and control groups, if there were any.
        saw_load: whether it was known in any frame how busy the CPUs are; else no findings mean nothing.
    """

    def __init__(self, catalog: Catalog, rules: Sequence[SlownessRule] = RULES, kept: int = KEPT) -> None:
        self._catalog = catalog
        self._rules = rules
        self._kept = kept
        self._limits = LimitHistory(catalog, kept)
        self._past = {rule.id: _Past(deque(maxlen=kept)) for rule in rules}
        self._moment: JudgedFrame | None = None
        self._watched = 0.0  # seconds, without a gap
        self.saw_load = False
        self.memory: Callable[[Frame], MemoryShare | NoFinding] | None = None
        self.seen = LookResults()

    def wanted(self, can: Callable[[CounterColumn], bool], *, costly: bool = True) -> tuple[CounterColumn, ...]:
        """The columns to read.

        Args:
            can: whether a column is available on this machine now.
            costly: include columns that take files of every CPU, or that only improve sentences; False for a line that
                is shown at every tick.
        """
        found: dict[str, CounterColumn] = {}
        for rule in self._rules:
            if rule.costly and not costly:
                continue
            for group in (*rule.needs, *((name,) for name in rule.wants if costly)):
                column = next((known for name in group if (known := self._catalog.get(name)) and can(known)), None)
                if column is not None:
                    found[column.id] = column
        return tuple(found.values())

    def push(self, frame: Frame) -> None:
        """Add a frame; a repeated frame, or one without an interval, changes nothing."""
        before = None if self._moment is None else self._moment.frame.seq
        if frame.seconds is None or frame.seq == before:
            return
        if before is not None and not before < frame.seq <= before + self._kept:
            self._past = {rule.id: _Past(deque(maxlen=self._kept)) for rule in self._rules}
            self._watched = 0.0
        self._watched += frame.seconds
        self._limits.push(frame)
        self._moment = moment = JudgedFrame(
            frame, self._catalog, self._limits.verdicts(),
            memory=NoFinding.NOT_ASKED if self.memory is None else self.memory(frame), seen=self.seen,
        )  # fmt: skip
        self.saw_load = self.saw_load or moment.load is not None
        for rule in self._rules:
            self._past[rule.id].take(frame.seconds, rule.judge(moment))

    def findings(self, over: float | None = None) -> tuple[Finding, ...]:
        """The current findings, the worst first.

        Args:
            over: also include causes that are absent in the newest interval but were present for this share of the
                time.
        """
        found = (self._finding(rule, self._past[rule.id], over) for rule in self._rules)
        return tuple(sorted((one for one in found if one is not None), key=lambda one: -one.score))

    def _finding(self, rule: SlownessRule, past: _Past, over: float | None) -> Finding | None:
        observed = past.last
        if observed is None or (over is None and past.answer is not observed):
            return None  # the usual case, asked of every rule at every tick: nothing is summed
        window = sum(seconds for seconds, _ in past.intervals)
        share = sum(seconds for seconds, holds in past.intervals if holds) / window if window else 0.0
        if past.answer is not observed and over is not None and share < over:
            return None
        return Finding(rule, observed, past.run, share, window, observed.who)

    def verdict(self) -> Finding | None:
        """The worst current finding; None if there is none."""
        return next(iter(self.findings()), None)

    def unjudged(self) -> tuple[SlownessRule, ...]:
        """Causes that could not be judged in any kept interval because their columns were unknown."""
        return tuple(rule for rule in self._rules if self._past[rule.id].answer is not NoFinding.NOT_ASKED
                     and not self._past[rule.id].judged)

    def quiet(self) -> str:
        """A sentence about a machine without findings."""
        moment = self._moment
        if moment is None:
            return "Waiting for the first interval"
        busy = moment.load
        if busy is None:
            return "Nothing is seen to be in the way, and how busy the CPUs are is not known in this interval"
        if busy >= _FULL and self._watched < _SHORT:
            return (f"The CPUs are {busy:.0f} % busy; {self._watched:.1f} s do not show yet whether something is in"
                    " the way")
        facts = [f"{busy:.0f} % busy" if busy >= _IDLE else f"it is idle, {busy:.1f} % busy"]
        heat, hottest = moment.said(*HEAT), moment.said("TjMax", unit=False)
        if heat:
            facts.append(f"{heat} of {hottest}" if hottest else heat)
        far = ", as far as [why] of your settings lets it be told" if any(rule.least for rule in self._rules) else ""
        return f"Nothing is in the way{far}: {', '.join(facts)}"

    def not_judged(self) -> str:
        """A line about causes that could not be judged; "" if all could."""
        rules = self.unjudged()
        if not rules:
            return ""
        sources = ", ".join(dict.fromkeys(rule.source for rule in rules))
        causes = f"{len(rules)} of {len(self._rules)} causes could not be judged: {sources}"
        if self._moment is not None and self._moment.frame.newer.late:
            return f"{causes} cannot be read here, or not in so short an interval (key 9, turbotui doctor)"
        return f"{causes} cannot be read here (key 9, turbotui doctor)"


def verdict(frames: Iterable[Frame], catalog: Catalog) -> Finding | None:
    """The worst finding at the end of some frames, oldest first; None if there is none."""
    diagnosis = MachineDiagnosis(catalog)
    for frame in frames:
        diagnosis.push(frame)
    return diagnosis.verdict()
