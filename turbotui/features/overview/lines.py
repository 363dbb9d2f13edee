"""The overview's widget, which draws only changed lines, and has a cursor on numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from textual import events
from textual.message import Message

from turbotui.dataclass import dataclass
from turbotui.features.overview.top_tasks import MachineStatus
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import Scope
from turbotui.quantities.sentences import several
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import level_bar
from turbotui.widgets.painter import merged
from turbotui.widgets.panel import Line, Span, Target
from turbotui.widgets.segment_lines import SegmentLines


@dataclass(frozen=True, slots=True)
class CellPlace:
    """The position of a drawn cell."""

    x: int
    y: int
    width: int
    target: Target
    letters: str = ""  # the drawn words, without numbers

    @property
    def key(self) -> Target:
        """The key by which the cursor finds this span again."""
        return self.target

    def name(self, topology: Topology) -> str:
        """Return the words for searches: row, column, the text beside the number, and a core's CPUs."""
        column, row = self.target
        core = topology.instance(row) if row.scope is Scope.CORE else None
        cpus = () if core is None else (f"cpu {cpu}" for cpu in core.cpus)
        return " ".join([row_name(topology, row), *cpus, column.id, self.letters])


def places_of(lines: Sequence[Line]) -> list[CellPlace]:
    """Return the positions of cells, from the top left; adjacent spans of one target are joined."""
    cells: list[CellPlace] = []
    for y, line in enumerate(lines):
        x = 0
        for span in line:
            if span.target is not None:
                last = cells[-1] if cells else None
                if last is not None and last.y == y and last.target == span.target and last.x + last.width == x:
                    cells[-1] = CellPlace(last.x, y, last.width + span.cells, span.target,
                                          last.letters + _letters(span.text))
                else:
                    cells.append(CellPlace(x, y, span.cells, span.target, _letters(span.text)))
            x += span.cells
    return cells


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The position of drawn words that are no number."""

    x: int
    y: int
    text: str

    @property
    def key(self) -> str:
        """The key by which a lit span is found again."""
        return self.text

    def name(self, _topology: Topology) -> str:
        """The name by which a search finds this span."""
        return self.text


def texts_of(lines: Sequence[Line]) -> list[TextPlace]:
    """Return the positions of words: titles, names of processes, sentences."""
    places: list[TextPlace] = []
    for y, line in enumerate(lines):
        x = 0
        for span in line:
            if span.target is None and any(char.isalpha() for char in span.text):
                places.append(TextPlace(x, y, span.text))
            x += span.cells
    return places


def _letters(text: str) -> str:
    return "".join(char if char.isalpha() else " " for char in text)


class OverviewLines(SegmentLines):
    """Lines made for the widget's size; clicks are reported with their positions."""

    DEFAULT_CSS = "OverviewLines { height: 1fr; }"

    @dataclass()
    class Clicked(Message):
        """A position was clicked, with the number of clicks."""

        x: int
        y: int
        times: int

    def __init__(self, resized: Callable[[], None], *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._resized = resized
        self.lines: Sequence[Line] = ()
        self._was_lit = False

    def show_lines(self, lines: Sequence[Line], lit: str = "") -> None:
        """Show these lines, with the searched words highlighted."""
        before, self.lines = self.lines, lines
        if lit:
            lines = [tuple(replace(span, role=StyleRole.CELL) if span.text == lit and span.target is None else span
                           for span in line) for line in lines]
        known = self.segments if len(self.segments) == len(before) == len(lines) and not self._was_lit else []
        self._was_lit = bool(lit)
        self.show([known[y] if known and line is before[y] else merged([(span.text, span.role) for span in line])
                   for y, line in enumerate(lines)])

    def on_resize(self) -> None:
        """Request lines for the new size."""
        super().on_resize()  # called before lines are made, because Textual runs the base's handler after this one
        self._resized()

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the words under the mouse, or post a message about the click to the screen."""
        at = 0
        for span in self.lines[event.y] if event.y < len(self.lines) else ():
            at += span.cells
            if event.x < at:
                if span.action:
                    await self.app.run_action(span.action, default_namespace=self.screen)
                    return
                break
        self.post_message(self.Clicked(event.x, event.y, event.chain))


_GAP: Final = 2
_MEMORY: Final = (("memory", 10), ("mem", 5))
"""The word for memory and the characters of its bar, the widest first."""
_BARE: Final = ("memory", 0)
"""Memory where even the short bar leaves no room for it."""
_LOAD_AND_MEMORY: Final = 2
_DAY: Final = 86400
_GIB: Final = 1 << 30


def note_line(facts: MachineStatus, mute: int, sources: int, width: int) -> Line:
    """Draw load, memory, uptime, threads and swap at the left as far as they fit, unreadable sources at the right."""
    silent = ("", "") if not mute else (f"{mute} of {sources} sources of numbers cannot be read here: 9 says why",
                                        f"9 doctor: {several(mute, 'source')} missing")
    # the sentence, then the bar, become shorter before anything goes, and what remains has its bar again
    more, usual = list(_more_words(facts)), len(list(_in_words(facts, *_MEMORY[0])))
    longest = ((silent[0], _MEMORY[0], count) for count in range(usual + len(more), usual, -1))
    shorter = ((right, memory, count) for count in range(usual, -1, -1)
               for memory in (*_MEMORY, *([_BARE] if count <= _LOAD_AND_MEMORY else [])) for right in silent)
    for right, memory, count in (*longest, *shorter):
        sentences = [*_in_words(facts, *memory), *more][:count]
        if _fits(sentences, right, width):
            break
    left = " · ".join(sentences)
    words = [Span(f" {left}", StyleRole.DIM)] if left else []
    if right:
        gap = width - len(left) - 2 - len(right) if left else 1
        words += [Span(" " * gap), Span(right, StyleRole.DIM, action="app.show_screen('doctor')")]
    return tuple(words)


def _fits(words: Sequence[str], right: str, width: int) -> bool:
    return len(" · ".join(words)) + len(right) + (_GAP if words and right else 0) + 2 <= width


def _in_words(facts: MachineStatus, word: str, bar: int) -> Iterator[str]:
    if facts.load is not None:
        yield "load " + " ".join(_short(value, 2) for value in facts.load)
    if facts.memory is not None:
        used, total = (size / _GIB for size in facts.memory)
        marks = "".join(text for text, _ in level_bar(used / total if total else None, bar))
        yield f"{word} {marks}{' ' if marks else ''}{_short(used, 1)} of {_short(total, 1)} GiB"
    if facts.traffic is not None:
        yield facts.traffic.words
    if facts.up is not None:
        days, left = divmod(int(facts.up), _DAY)
        yield f"up {f'{days} d ' if days else ''}{left // 3600}:{left % 3600 // 60:02}"


def _more_words(facts: MachineStatus) -> Iterator[str]:
    """What is said only where nothing else has to become shorter for it."""
    if facts.threads is not None:
        yield f"{facts.threads[0]:,} of {several(facts.threads[1], 'thread')} run"
    if facts.swap is not None:
        used, total = (number / _GIB for number in facts.swap)
        yield f"swap {_short(used, 1)} of {_short(total, 1)} GiB"


def _short(value: float, decimals: int) -> str:
    """A number of three digits, or of more if they stand before the point."""
    return f"{value:,.{min(decimals, max(0, 3 - len(str(int(value)))))}f}"
