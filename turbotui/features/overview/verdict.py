"""The sentence on top: what hinders the machine's work; without Textual."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.findings import Finding, is_named, name_alone
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.rules import LookResults, SlownessRule
from turbotui.machine.host import Host
from turbotui.machine.tasks.process_stats import ProcessStat
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.sampling.frame import Frame
from turbotui.untrusted import one_line

_PART_ENDS: Final = re.compile(r"[;:,] | \(")
"""The separator of a sentence's parts; numbers have no blank behind their commas."""


@dataclass(frozen=True, slots=True)
class OverviewVerdict:
    """The verdict on the machine.

    Attributes:
        text: a sentence, fit for a terminal.
        since: the duration of the finding; "" if nothing is wrong.
        who: the tasks or groups mainly involved; "" if none are named.
        key: the key of the screen that tells more; "" for none.
        wrong: whether something is wrong.
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
        catalog: the machine's catalog.
        host: the machine whose tasks are polled for those behind a finding; None if there are none.
        rules: the rules of the diagnosis.
    """

    def __init__(self, catalog: Catalog, host: Host | None, rules: Sequence[SlownessRule]) -> None:
        self._catalog = catalog
        self._rules = rules
        self._diagnosis = MachineDiagnosis(catalog, rules)
        self._looks = None if host is None else Looks(host)
        self._now: Finding | None = None

    def wanted(self, can: Callable[[CounterColumn], bool]) -> tuple[CounterColumn, ...]:
        """Return the columns to read."""
        return self._diagnosis.wanted(can, costly=False)

    def push(self, frame: Frame) -> None:
        """Judge the newest frame."""
        self._diagnosis.push(frame)
        self._now = self._diagnosis.verdict()

    def look(self, processes: Mapping[int, ProcessStat], began_ns: int) -> LookResults | None:
        """Poll tasks and control groups if there is a finding, for those behind it.

        This reads files of every control group, so callers do it seldom, on a thread of its own.

        Args:
            processes: the processes just read.
            began_ns: the beginning of that reading, by the host's clock.
        """
        return None if self._looks is None or self._now is None else self._looks.look(processes, began_ns)

    def take(self, seen: LookResults | None) -> None:
        """Keep the result of a poll."""
        if seen is not None:
            self._diagnosis.seen = seen

    def verdict(self) -> OverviewVerdict:
        """Return the verdict of now."""
        found = self._now
        if found is not None and self._looks is not None:
            found = next(iter(self._looks.name((found,))))
        return self._said(found, self._diagnosis)

    def verdict_of(self, frame: Frame) -> OverviewVerdict:
        """Return the verdict of a past interval, without a duration, which needs earlier intervals (window W)."""
        alone = MachineDiagnosis(self._catalog, self._rules)
        alone.push(frame)
        return replace(self._said(alone.verdict(), alone), since="")

    @staticmethod
    def _said(found: Finding | None, diagnosis: MachineDiagnosis) -> OverviewVerdict:
        if found is None:
            return OverviewVerdict(diagnosis.quiet())
        who = one_line(found.who[0]) if found.who else ""
        return OverviewVerdict(one_line(found.sentence), found.since, who, found.rule.screen, wrong=True)
