"""W: why the machine is slow, now or at the shown moment; Enter on a finding opens its screen."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType

from turbotui.app.list_window import MenuWindow
from turbotui.app.screen_table import watch_memory
from turbotui.app.watch import Watch
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.limit_history import KEPT
from turbotui.diagnosis.looks import Looks
from turbotui.diagnosis.rules import Certainty, LookResults
from turbotui.diagnosis.tables import cost_words
from turbotui.quantities.columns import CounterColumn
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

_INDENT: Final = "   "
_COPIED: Final = 1_000
"""Width of a copied line, in which no sentence is wrapped."""
_GUESSED: Final = "~"
"""Precedes what is only possible, as `~` marks estimated cells."""


class WhyWindow(MenuWindow[str]):
    """The window with the findings; it returns the key of the screen to show, or None.

    The minute before is judged first, from the frames that are kept of it, and then each new frame. Tasks and control
    groups are read in the background while the window is open.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("W", "close", "close", show=False)]

    DEFAULT_CSS = """
    WhyWindow > .window { height: 80%; }
    """

    heading = "why is it slow?"
    hint = "Enter goes to its screen · y copy · Esc close"
    page = 3

    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self._watch = watch
        self._diagnosis = MachineDiagnosis(watch.session.catalog, watch.rules)
        self._looks: Looks | None = None
        self._work: list[asyncio.Task[None]] = []
        self._looking: asyncio.Task[None] | None = None
        self._is_filled = False

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The columns that rules of slowness read, as far as this machine has them."""
        watch = self._watch
        return () if watch.held else self._diagnosis.wanted(lambda column: watch.why_absent(column) is None)

    @property
    def is_at_work(self) -> bool:
        """Whether the past is still being judged, or tasks are being read."""
        return not self._is_filled or any(not task.done() for task in self._work)

    @property
    def text(self) -> str:
        """The window's text, for tests."""
        return self.query_one(Listing).text

    def copied(self) -> str:
        """See `Window.copied`: the finding under the cursor, or why there is none."""
        key = self.query_one(Listing).key
        found = next((one for one in self._found() if one.rule.id == key), None)
        if found is None:
            return self._diagnosis.quiet()
        lines = ("".join(text for text, _ in item.segments).strip() for item in _finding_items(found, _COPIED))
        return "\n".join(line for line in lines if line)

    def on_mount(self) -> None:
        """Judge the minute before, and read tasks."""
        loop = asyncio.get_running_loop()
        self._work = [loop.create_task(self._fill()), loop.create_task(self._watch_memory())]
        self._look()
        self._show()

    async def _watch_memory(self) -> None:
        """Count memory traffic from now on, if possible, and as long as columns are read for a screen that was left."""
        watch = self._watch
        if watch.held or watch.in_past or watch.player is not None or watch.session.collector is not None:
            return
        memory = await asyncio.to_thread(watch_memory, watch.session.machine)
        if memory is not None:
            self._diagnosis.memory = memory.share
            if memory.counts:
                watch.read_also(self, memory.sources(), memory.signals())

    def on_unmount(self) -> None:
        """Stop the background work."""
        for task in self._work:
            task.cancel()

    async def _fill(self) -> None:
        """Process the frames before this moment in portions, so that keys are handled in between."""
        cursor = self._watch.cursor
        for time_ns in () if cursor is None else cursor.before(KEPT):
            frame = None if cursor is None else cursor.timeline.frame(time_ns)
            if frame is not None:
                self._diagnosis.push(frame)
            await asyncio.sleep(0)
        self._is_filled = True
        self.show_frame()

    def _look(self) -> None:
        """Read tasks and groups on a thread, unless another machine or time is shown, or a reading is in progress."""
        watch = self._watch
        if watch.in_past or watch.player is not None or watch.session.collector is not None:
            return
        self._work = [task for task in self._work if not task.done()]
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look_beside())
            self._work.append(self._looking)

    async def _look_beside(self) -> None:
        seen, self._looks = await asyncio.to_thread(_looked, self._looks, self._make_looks)
        self._diagnosis.seen = seen

    def _make_looks(self) -> Looks:
        return Looks(self._watch.session.machine.host)

    def show_frame(self) -> None:
        """Judge the newest frame, and show the findings."""
        frame = self._watch.frame
        if not self._is_filled:
            return
        if frame is not None and not self._watch.in_past:
            self._diagnosis.push(frame)
            self._look()
        self._show()

    def on_listing_resized(self) -> None:
        """Lay the sentences out for the width, which is known after the first layout."""
        self._show()

    def _show(self) -> None:
        width = max(20, self.query_one(Listing).size.width - 1)
        diagnosis = self._diagnosis
        findings = self._found()
        items = [item for finding in findings for item in _finding_items(finding, width)]
        if not findings:
            items += _wrapped(diagnosis.quiet(), width, "", StyleRole.SUMMARY)
            items.append(Item(()))
        alerts = self._watch.alerts
        for told in () if alerts is None else alerts.sentences():
            items += _wrapped(f"Your alert goes on: {told}", width, "", StyleRole.RED)
            items.append(Item(()))
        not_judged = diagnosis.not_judged()
        if not_judged:
            items += _wrapped(not_judged, width, "", StyleRole.DIM)
        self.query_one(Listing).show(items)

    def _found(self) -> Sequence[Finding]:
        """The findings, the worst first, with the responsible tasks."""
        findings = self._diagnosis.findings()
        return findings if self._looks is None else self._looks.name(findings)

    def action_choose(self) -> None:
        """Go to the screen of the current finding."""
        key = self.query_one(Listing).key
        found = next((one for one in self._diagnosis.findings() if one.rule.id == key), None)
        self.dismiss(None if found is None else found.rule.screen)


def _looked(looks: Looks | None, make: Callable[[], Looks]) -> tuple[LookResults, Looks]:
    """Read once, on a new thread."""
    found = looks or make()
    return found.look(), found


def _finding_items(finding: Finding, width: int) -> list[Item]:
    """The lines of a finding: what is wrong, how long, at what cost, who is responsible, what helps, where to look."""
    mark = _GUESSED if finding.observed.sure is Certainty.POSSIBLE else "▲"
    first, *others = textwrap.wrap(finding.sentence, width - 3) or [""]
    items = [Item(((f" {mark} {first}", StyleRole.AMBER),), finding.rule.id)]
    items += [Item(((f"{_INDENT}{line}", StyleRole.AMBER),)) for line in others]
    items += _wrapped(f"{finding.since}; {cost_words(finding)}", width, _INDENT, StyleRole.PLAIN)
    if finding.who:
        items += _wrapped(f"who: {', '.join(finding.who)}", width, _INDENT, StyleRole.PLAIN)
    items += _wrapped(f"do: {finding.remedy}", width, _INDENT, StyleRole.DIM)
    items += _wrapped(f"look: screen {finding.rule.screen}", width, _INDENT, StyleRole.DIM)
    return [*items, Item(())]


def _wrapped(text: str, width: int, indent: str, role: StyleRole) -> list[Item]:
    return [Item(((f"{indent or ' '}{line}", role),)) for line in textwrap.wrap(text, width - len(indent) - 1)]
