"""The tour at the first start: five steps in one line above the status line, with keys of their own only."""

from __future__ import annotations

import os
from typing import Final

from turbotui.app.actions import actions_of
from turbotui.app.frames import FramesApp
from turbotui.app.settings import remember
from turbotui.cell_widths import flush_left
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.widgets.cells import StyleRole, cut_words
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines

LEAST_LINES: Final = 16
"""Minimum size of a screen for the tour."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step of the tour."""

    text: str  # a sentence that fits into 80 characters with what stands around it; {id} is the key of that action
    done: tuple[str, ...]  # names of Textual actions that complete the step


STEPS: Final[tuple[TourStep, ...]] = (
    TourStep("{why} says what slows the machine, who, and what to do.", ("why",)),
    TourStep("Digits show screens: 1 CPUs, 7 tasks, 9 the doctor.", ("next_screen", "show_screen")),
    TourStep("Arrows choose a number: {explain} explains it, {graph} draws it.", ("explain", "graph")),
    TourStep("{past_back} and {past_on} step through the past, {close} returns to now.",
             ("past_step", "past_jump", "past_event")),
    TourStep("{search} finds, {filter} filters rows, {help} has every key.", ("search", "filter", "help")),
)


class TourLines(SegmentLines):
    """The line of the tour."""

    DEFAULT_CSS = "TourLines { height: 1; }"


class Tour:
    """The tour on every screen: advances when the user does what a step describes, and remembers its end.

    Args:
        app: whose screens.
        is_over: whether the settings say that the tour is no longer offered.

    Attributes:
        step: the current step, from 0 on; None without a tour.
    """

    def __init__(self, app: FramesApp, *, is_over: bool) -> None:
        self.step: int | None = None
        self._app = app
        self._is_over = is_over

    def begin(self) -> None:
        """Show the first step, where the screen has room for it."""
        self._go_to_step(0)

    def go_on(self) -> None:
        """Start the tour, or go to its next step."""
        if (base := self._app.base) is not None and base.size.height < LEAST_LINES:
            base.notice(f"The tour needs {LEAST_LINES} lines")
            return
        self._go_to_step(0 if self.step is None else self.step + 1)

    def end(self) -> None:
        """End the tour for ever."""
        if self.step is None:
            self._app.say(f"No tour is under way: {self._key('tour')} begins it")
            return
        self._go_to_step(None)
        self._app.say(self._remember_end())

    def hide(self) -> None:
        """Hide the tour until the next start."""
        self._go_to_step(None)

    def follow(self, action_name: str) -> None:
        """Advance if a key's action does what the step describes."""
        if (step := self.step) is not None and step < len(STEPS) and action_name in STEPS[step].done:
            self._go_to_step(step + 1)

    def _go_to_step(self, step: int | None) -> None:
        before, self.step = self.step, step
        if step is not None and step >= len(STEPS):
            self.step = None
            self._app.say(self._remember_end())
        if before is not None or self.step is not None:
            self.show()

    def _remember_end(self) -> str:
        again = f"{self._key('tour')} begins it again"
        if self._is_over:
            return f"The tour is over: {again}"
        try:
            remember(os.environ, tour=False)
        except TurbotuiError as error:
            return f"The tour is over, and is offered at the next start again: {error}"
        self._is_over = True
        return f"The tour is over, and is not offered again; {again}"

    # Drawing

    def show(self) -> None:
        """Show the step on the current screen, or remove the lines."""
        base = self._app.base
        if base is None or not base.composed:
            return
        lines = next(iter(base.query(TourLines)), None)
        if self.step is None or base.size.height < LEAST_LINES:
            if lines is not None:
                lines.remove()
            return
        if lines is None:
            lines = TourLines(base=StyleRole.CURSOR)
            base.mount_all((lines,), before="#status")
        line, hot = self._step_line(base.size.width)
        lines.show([line], hot)

    def _step_line(self, width: int) -> tuple[list[TextSegment], list[ClickableSegment]]:
        """The step, and the tour's keys as far as there is room, which can be clicked; a click on the step goes on."""
        at = self.step or 0
        shown = {action.id: action.shown.split(" ")[0] for action in actions_of(self._app)}
        text = f" Tour {at + 1}/{len(STEPS)}: {STEPS[at].text.format_map(shown)}"
        following, ending = self._key("tour"), self._key("tour_end")
        forms = ((f"{following} next · ", f"{ending} end it for ever · ", "Esc not now "),
                 (f"{following} next ", f"{ending} end "), ())
        keys = next(keys for keys in forms if len(text) + len("".join(keys)) + 1 <= width or not keys)
        at = width - len("".join(keys))
        hot = [ClickableSegment(0, 0, at, "app.tour")]
        for words, call in zip(keys, ("app.tour", "app.end_tour", "app.close"), strict=False):
            hot.append(ClickableSegment(0, hot[-1].end, hot[-1].end + len(words), call))
        return [(flush_left(cut_words(text, at), at), StyleRole.SORTED), ("".join(keys), StyleRole.KEY)], hot

    def _key(self, name: str) -> str:
        return next(action.shown.split(" ")[0] for action in actions_of(self._app) if action.id == name)
