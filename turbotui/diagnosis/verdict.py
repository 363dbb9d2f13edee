"""The verdict on a machine: one object for every screen, text and format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.diagnosis.findings import Finding, is_named, name_alone
from turbotui.diagnosis.rules import NoFinding, SlownessRule, UnseenTasks
from turbotui.quantities.unavailable import Unavailable
from turbotui.untrusted import one_line

_PART_ENDS: Final = re.compile(r"[;:,] | \(")
"""The separator of a sentence's parts; numbers have no blank behind their commas."""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A rule that cannot be judged."""

    rule: SlownessRule  # the cause
    answer: NoFinding  # BLIND, LATE or NOT_ASKED
    why: Unavailable | None  # why the readings that it needs are missing; None if no single one of them is


@dataclass(frozen=True, slots=True)
class Verdict:
    """The causes that hinder a machine's work."""

    findings: tuple[Finding, ...]  # the causes that are present, the worst first
    quiet: str  # the sentence for a machine without findings
    unjudged: tuple[Unjudged, ...] = ()  # the rules that cannot be judged now
    # whether the absence of findings means that there is no bottleneck, because every rule was judged that matters at
    # this load
    sure: bool = False
    unseen: UnseenTasks | None = None  # tasks that cannot be seen, which may be behind a cause; None if all can be

    @property
    def worst(self) -> Finding | None:
        """The worst finding; None if there is none."""
        return self.findings[0] if self.findings else None

    @property
    def is_loss(self) -> bool:
        """Whether work is seen to be lost; news and quiet sentences are none."""
        return bool(self.findings) and not self.findings[0].observed.news

    @property
    def sentence(self) -> str:
        """The verdict as a sentence without duration and tasks."""
        return self.findings[0].sentence if self.findings else self.quiet

    @property
    def screen(self) -> str:
        """Key of the screen that tells more; "" for none."""
        return self.findings[0].rule.screen if self.findings else ""

    @property
    def reasons(self) -> tuple[str, ...]:
        """A line for each kind of reading that rules lack: what cannot be judged, and why; and for unseen tasks."""
        return (*_reasons(self.unjudged), *([] if self.unseen is None else [self.unseen.sentence]))

    def fitted(self, room: int) -> str:
        """The verdict in at most `room` characters: certainty and duration go first, the last parts, then the name.

        What is left out is whole: the unit and the share of a task, a part of the sentence, what stands in brackets.
        The cause is worth more than the task: where its part does not fit beside the name, the name goes; where it
        does not fit at all, the sentence ends behind a word.
        """
        worst = self.worst
        text, who = one_line(self.sentence), one_line(worst.who[0]) if worst is not None and worst.who else ""
        names = [] if is_named(who, text) else list(dict.fromkeys((who, name_alone(who))))
        most = [f". Most of it: {name}" for name in names] or [""]
        brief = [f" … {name}" for name in names] or [" …"]
        ends = [end for match in _PART_ENDS.finditer(text) if _is_whole(text[:(end := match.start())])]
        how = [] if worst is None else [f"{text} ({worst.how}){most[0]}"]
        forms = [*how, *(f"{text}{name}" for name in most),
                 *(f"{text[:end]}{name}" for end in reversed(ends) for name in brief),
                 text, *(f"{text[:end]} …" for end in ends[:1])]
        longest = next((form for form in forms if len(form) <= room), None)
        if longest is not None:
            return longest
        rest = brief[-1][:room // 2] if names else " …"
        words = text[:max(0, room - len(rest) + 1)]
        return f"{words[:max(words.rfind(' '), 0)]}{rest}"


def _is_whole(text: str) -> bool:
    return text.count("(") == text.count(")")


def sources_of(unjudged: tuple[Unjudged, ...]) -> str:
    """The sources that rules read, each once, in words."""
    return ", ".join(dict.fromkeys(gap.rule.source for gap in unjudged))


def _reasons(unjudged: tuple[Unjudged, ...]) -> Iterator[str]:
    groups: dict[tuple[str, NoFinding], list[Unjudged]] = {}
    for gap in unjudged:
        if gap.answer is not NoFinding.NOT_ASKED:
            groups.setdefault((gap.rule.source, gap.answer), []).append(gap)
    for (source, answer), members in groups.items():
        why = next((member.why.sentence() for member in members if member.why is not None), "")
        causes = ", ".join(member.rule.id for member in members)
        yield f"{source} {answer.value} ({causes} not judged)" + (f": {why}" if why else "")
