"""The one sentence on top: what is in the way of the machine's work. Nothing here knows Textual."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.findings import Finding, is_named, name_alone
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.rules import Seen, SlownessRule
from turbotui.machine.host import Host
from turbotui.machine.tasks.process_stats import ProcessStat
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

_PART_ENDS: Final = re.compile(r"[;:,] | \(")
"""Between parts of a sentence; a number has no blank behind its comma."""


@dataclass(frozen=True, slots=True)
class OverviewVerdict:
    """What is said of the machine.

    Attributes:
        text: a sentence, fit for a terminal.
        since: for how long it has been so; "" where nothing is wrong.
        who: tasks or groups that have most to do with it; "" where nobody is named.
        key: of the screen that tells more; "" for none.
        wrong: whether something is in the way.
    """

    text: str
    since: str = ""
    who: str = ""
    key: str = ""
    wrong: bool = False

    def fitted(self, room: int) -> str:
        """The sentence in at most `room` characters: the duration goes first, then the last parts, then the name.

        What is left out is whole: the unit and the share of who it is, a part of the sentence, what stands in brackets;
        where not even its first part fits beside who it is, that ends behind a word.
        """
        names = [] if is_named(self.who, self.text) else list(dict.fromkeys((self.who, name_alone(self.who))))
        since = f" ({self.since})" if self.since else ""
        most = [f". Most of it: {name}" for name in names] or [""]
        brief = [f" … {name}" for name in names] or [" …"]
        ends = [end for found in _PART_ENDS.finditer(self.text) if _is_whole(self.text[:(end := found.start())])]
        forms = [f"{self.text}{since}{most[0]}", *(f"{self.text}{name}" for name in most),
                 *(f"{self.text[:end]}{name}" for end in reversed(ends) for name in brief)]
        found = next((form for form in forms if len(form) <= room), None)
        if found is not None:
            return found
        who = brief[-1][:room // 2] if names else " …"
        words = self.text[:max(0, room - len(who) + 1)]
        return f"{words[:max(words.rfind(' '), 0)]}{who}"


def _is_whole(text: str) -> bool:
    return text.count("(") == text.count(")")


class Judge:
    """Judges each new frame, and single frames of the past.

    Args:
        catalog: of the machine.
        host: whose tasks are looked at to find who has to do with a finding; None where there are none to look at.
        rules: what is judged by.
    """

    def __init__(self, catalog: Catalog, host: Host | None, rules: Sequence[SlownessRule]) -> None:
        self._catalog = catalog
        self._rules = rules
        self._diagnosis = MachineDiagnosis(catalog, rules)
        self._looks = None if host is None else Looks(host)
        self._now: Finding | None = None

    def wanted(self, can: Callable[[CounterColumn], bool]) -> tuple[CounterColumn, ...]:
        """The columns that have to be read."""
        return self._diagnosis.wanted(can, costly=False)

    def push(self, frame: Frame) -> None:
        """Take in the newest frame."""
        self._diagnosis.push(frame)
        self._now = self._diagnosis.verdict()

    def look(self, processes: Mapping[int, ProcessStat], began_ns: int) -> Seen | None:
        """Look at tasks and control groups if there is something to find those for who have to do with it.

        It reads files of every control group: on a thread of its own, and seldom.

        Args:
            processes: what was just read of them.
            began_ns: when that reading began, by the host's clock.
        """
        return None if self._looks is None or self._now is None else self._looks.look(processes, began_ns)

    def take(self, seen: Seen | None) -> None:
        """Keep what a look has found."""
        if seen is not None:
            self._diagnosis.seen = seen

    def verdict(self) -> OverviewVerdict:
        """What is so now."""
        found = self._now
        if found is not None and self._looks is not None:
            found = next(iter(self._looks.name((found,))))
        return self._said(found, self._diagnosis)

    def verdict_of(self, frame: Frame) -> OverviewVerdict:
        """What was so in an interval of the past; for how long tells who looks at those before it, too (window W)."""
        alone = MachineDiagnosis(self._catalog, self._rules)
        alone.push(frame)
        return replace(self._said(alone.verdict(), alone), since="")

    @staticmethod
    def _said(found: Finding | None, diagnosis: MachineDiagnosis) -> OverviewVerdict:
        if found is None:
            return OverviewVerdict(diagnosis.quiet())
        who = one_line(found.who[0]) if found.who else ""
        return OverviewVerdict(one_line(found.sentence), found.since, who, found.rule.screen, wrong=True)
