"""W: why the machine is slow, now or at the shown moment; Enter on a finding opens its screen."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import events
from textual.binding import Binding, BindingType

from turbotui.app.list_window import MenuWindow
from turbotui.app.screen_table import SCREENS
from turbotui.app.watch import Watch
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.rules import Certainty
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.row_tables import kind_sources
from turbotui.sources.source import Source
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.listing import Item, Listing

_INDENT: Final = "   "
_COPIED: Final = 1_000
"""Width of a copied line, in which no sentence is wrapped."""
_AT_WORK: Final = "Judging the last minute: a moment, please"
_GUESSED: Final = "~"
"""Precedes what is only possible, as `~` marks estimated cells."""
_NEWS: Final = "·"
"""Precedes news, which cost nothing that is seen."""


class WhyWindow(MenuWindow[str]):
    """The window with the findings; it returns the key of the screen to show, or None.

    The minute before is judged first, from the frames that are kept of it, and then each new frame. Tasks and control
    groups are read in the background while the window is open.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("W", "close", "close", show=False)]

    DEFAULT_CSS = "WhyWindow > .window { height: 80%; }"

    heading = "why is it slow?"
    hint = "Enter or its key goes to a screen · y copy · Esc close"
    page = 3

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch
        self._judge = watch.judge
        self._work: list[asyncio.Task[None]] = []
        self._looking: asyncio.Task[None] | None = None
        self._is_filled = False
        # what is read of memory traffic; None before that is known, and where nothing is read
        self._counted: tuple[Sequence[Source], frozenset[SignalId]] | None = None
        self._kinds: frozenset[KindId] = frozenset()  # of rows that are read

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The columns that rules of slowness read, as far as this machine has them."""
        return () if self._watch.held else self._judge.wanted(costly=True)

    @property
    def is_at_work(self) -> bool:
        """Whether the past is still being judged, or tasks are being read."""
        return not self._is_filled or any(not task.done() for task in self._work)

    @property
    def text(self) -> str:
        """The window's text, for tests."""
        return self.query_one(Listing).text

    def copied(self) -> str:
        """The finding under the cursor, or why there is none, for the clipboard."""
        key = self.query_one(Listing).key
        verdict = self._judge.verdict()
        finding = next((finding for finding in verdict.findings if finding.rule.id == key), None)
        if finding is None:
            return verdict.quiet
        lines = ("".join(text for text, _ in item.segments).strip() for item in _finding_items(finding, _COPIED))
        return "\n".join(line for line in lines if line)

    def on_mount(self) -> None:
        """Judge the minute before, and read tasks."""
        loop = asyncio.get_running_loop()
        self._work = [loop.create_task(self._fill()), loop.create_task(self._watch_beside())]
        self._look()
        self._show()

    async def _watch_beside(self) -> None:
        """Count memory traffic from now on, if possible, and as long as columns are read for a screen that was left."""
        watch = self._watch
        if watch.held or watch.in_past or watch.player is not None or watch.session.collector is not None:
            return
        memory = await asyncio.to_thread(self._judge.find_meter)
        self._counted = (), frozenset()
        if memory is not None:
            self._judge.diagnosis.memory = memory.share
            if memory.counts:
                self._counted = memory.sources(), memory.signals()
                watch.read_also(WhyWindow, *self._counted)  # the class: what it asks for outlives the window

    def _read_rows(self) -> None:
        """Read the rows that the rules of the findings name, and no others: those of 1,024 CPUs take 85 ms a tick."""
        kinds = frozenset(kind for finding in self._judge.verdict().findings for kind in finding.rule.kinds)
        if self._counted is not None and kinds != self._kinds:
            self._kinds = kinds
            self._watch.read_also(WhyWindow, *self._counted, rows=kind_sources(kinds))

    def on_unmount(self) -> None:
        """Stop the background work; memory is counted while somebody asks why."""
        if self._watch.player is None:
            self._judge.diagnosis.memory = None
        for task in self._work:
            task.cancel()

    async def _fill(self) -> None:
        """Wait until the minute before is judged, unless it was already."""
        frame = self._watch.frame
        if self._watch.in_past or frame is None or self._judge.lacks_before(frame):
            work = self._judge.judge_before(after=0.0)
            if work is not None:
                await asyncio.wait((work,))
        self._is_filled = True
        self.show_frame()

    def _look(self) -> None:
        """Read tasks and groups on a thread, unless another machine or time is shown, or a reading is in progress."""
        if self._watch.in_past or not self._judge.can_look:
            return
        self._work = [task for task in self._work if not task.done()]
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look_beside())
            self._work.append(self._looking)

    async def _look_beside(self) -> None:
        self._judge.diagnosis.seen = await asyncio.to_thread(self._judge.look)

    def show_frame(self) -> None:
        """Judge the newest frame, and show the findings."""
        frame = self._watch.frame
        if not self._is_filled:
            return
        if frame is not None and not self._watch.in_past:
            self._judge.push(frame)
            self._look()
            self._read_rows()
        self._show()

    def on_listing_resized(self) -> None:
        """Lay the sentences out for the width, which is known after the first layout."""
        self._show()

    def _show(self) -> None:
        width = max(20, (self.query_one(Listing).size.width or self.app.size.width - 6) - 1)
        verdict = self._judge.verdict()
        items = [item for finding in verdict.findings for item in _finding_items(finding, width)]
        if not verdict.findings:
            is_judged = self._is_filled or self._watch.frame is None
            items += _wrapped(verdict.quiet if is_judged else _AT_WORK, width, "", StyleRole.SUMMARY)
            items.append(Item(()))
        alerts = self._watch.alerts
        for alert in () if alerts is None else alerts.sentences():
            items += _wrapped(f"Your alert goes on: {alert}", width, "", StyleRole.RED)
            items.append(Item(()))
        for reason in verdict.reasons:
            items += _wrapped(reason, width, "", StyleRole.DIM)
        self.query_one(Listing).show(items)

    async def on_key(self, event: events.Key) -> None:
        """Go to the screen of a key, which a finding names."""
        if any(event.character == spec.number for spec in SCREENS):
            event.stop()
            self.dismiss(event.character)

    def action_choose(self) -> None:
        """Go to the screen of the current finding."""
        key = self.query_one(Listing).key
        finding = next((finding for finding in self._judge.verdict().findings if finding.rule.id == key), None)
        self.dismiss(None if finding is None else finding.rule.screen)


def _finding_items(finding: Finding, width: int) -> list[Item]:
    """The lines of a finding: what is wrong, how long, at what cost, who is responsible, what helps, where to look."""
    mark = _NEWS if finding.observed.news else _GUESSED if finding.observed.sure is Certainty.POSSIBLE else MARK_AMBER
    role = StyleRole.PLAIN if finding.observed.news else StyleRole.AMBER
    first, *others = textwrap.wrap(finding.sentence, width - 3) or [""]
    items = [Item(((f" {mark} {first}", role),), finding.rule.id)]
    items += [Item(((f"{_INDENT}{line}", role),)) for line in others]
    items += _wrapped(f"{finding.since}; {finding.cost}", width, _INDENT, StyleRole.PLAIN)
    if finding.who:
        items += _wrapped(f"who: {', '.join(finding.who)}", width, _INDENT, StyleRole.PLAIN)
    items += _wrapped(f"do: {finding.remedy}", width, _INDENT, StyleRole.DIM)
    items += _wrapped(f"look: screen {finding.rule.screen}", width, _INDENT, StyleRole.DIM)
    return [*items, Item(())]


def _wrapped(text: str, width: int, indent: str, role: StyleRole) -> list[Item]:
    return [Item(((f"{indent or ' '}{line}", role),)) for line in textwrap.wrap(text, width - len(indent) - 1)]
