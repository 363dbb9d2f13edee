"""`c` followed by letters: show or hide groups of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Protocol

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from turbotui.app.actions import CATEGORY_KEYS
from turbotui.app.key_gate import KeyGate
from turbotui.app.modal import Window
from turbotui.app.watch import Watch
from turbotui.cell_widths import cell_count
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import RowId
from turbotui.quantities.sentences import several
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines

_GAPS: Final = 2 + 6
"""Characters beside the groups: the margins, and the key of the list."""
_BEYOND: Final = " outside the picture: ← → go there"


class CategoryTable(Protocol):
    """The screen of the table whose columns are shown and hidden; the table changes at once."""

    @property
    def shown(self) -> tuple[Sequence[CounterColumn], Sequence[RowId]]:
        """The columns that fit on the screen, and the rows."""

    def show_columns(self) -> None:
        """Apply the visible columns."""


class CategoryKeys(Window[str]):
    """The state of each group of columns, with letters that change it until another key closes the window.

    It returns "" to open the picker, a sentence, or None for nothing.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "remember", "remember", priority=True)]

    DEFAULT_CSS = """
    CategoryKeys { align: left bottom; background: transparent; }
    CategoryKeys > SegmentLines { width: 100%; height: 2; }
    """

    def __init__(self, watch: Watch, table: CategoryTable) -> None:
        super().__init__()
        self._watch = watch
        self._table = table
        self._changed = self._is_over = False
        beyond = self._beyond(watch.columns)
        keys = "a letter shows or hides a group, SHIFT that group alone · Esc closes"
        many = several(beyond, "column")
        forms = (f"{many}{_BEYOND} · {keys}" if beyond else keys,
                 f"{many} outside: ← → · a letter shows or hides, SHIFT alone · Esc closes",
                 f"{many} outside: ← → · Esc closes")
        self._outcome = next((form for form in forms if cell_count(form) < self.app.size.width), forms[-1])

    def compose(self) -> ComposeResult:
        """Lay out the groups and a sentence."""
        yield SegmentLines(base=StyleRole.CURSOR)

    def on_mount(self) -> None:
        """Show the groups."""
        self._show()

    def _show(self) -> None:
        """Show each letter, its group, and how many of the group's columns are shown."""
        segments: list[TextSegment] = [(" ", StyleRole.PLAIN)]
        hot: list[ClickableSegment] = []
        counts = [self._watch.count_group(names) for _, _, names in CATEGORY_KEYS]
        texts = [f" {word} {f'{visible}/{there}' if there else '-'}"
                 for (_, word, _), (visible, there) in zip(CATEGORY_KEYS, counts, strict=True)]
        room = self.app.size.width - _GAPS - sum(len(text) + 1 for text in texts)
        at, gap = 1, 2 if room >= 2 * len(texts) else 1
        if room < len(texts):
            texts = [f"{'✓' if visible else '·'}{word}"
                     for (_, word, _), (visible, _) in zip(CATEGORY_KEYS, counts, strict=True)]
        for (letter, _, _), (visible, _), text in zip(CATEGORY_KEYS, counts, texts, strict=True):
            segments += [(letter, StyleRole.KEY), (text + " " * gap, StyleRole.PLAIN if visible else StyleRole.DIM)]
            hot.append(ClickableSegment(0, at, at + len(text) + 1, f"screen.category('{letter}')"))
            at += 1 + len(text) + gap
        segments += [("c", StyleRole.KEY), (" list", StyleRole.PLAIN)]
        hot.append(ClickableSegment(0, at, at + 6, "screen.category('c')"))
        self.query_one(SegmentLines).show([segments, [(f" {self._outcome}", StyleRole.DIM)]], hot)

    def on_key(self, event: events.Key) -> None:
        """Take a letter; any other key closes, and after a change does what it does on the screen."""
        event.stop()
        event.prevent_default()
        self.action_category(event.character or "")
        gate = getattr(self.app, "key_gate", None)
        if self._is_over and self._changed and isinstance(gate, KeyGate):
            gate.put_back(event.key, event.character)

    def action_category(self, letter: str) -> None:
        """Show or hide the group of a letter, or with a capital letter that group alone."""
        if letter == "c":
            if not self._changed:
                self.dismiss("")
            return
        category = next(((word, names) for key, word, names in CATEGORY_KEYS if key == letter.lower()), None)
        if category is None or not letter:
            self._is_over = True
            self.dismiss(self._outcome if self._changed else None)
            return
        word, names = category
        if not self._watch.count_group(names)[1]:
            self._outcome = f"{word}: this machine offers no such column; C lists them all with the reasons"
        else:
            self._outcome = self._change(word, names, alone=letter.isupper())
            self._changed = True
        self._show()

    def _change(self, word: str, names: Sequence[str], *, alone: bool) -> str:
        """Show or hide a group; returns a sentence, with how many of its columns the screen has no room for."""
        if alone:
            self._watch.show_only(())
        count, shown = self._watch.toggle_group(names)
        self._table.show_columns()
        sentence = f"{word}: {several(count, 'column')} {'shown' if shown else 'hidden'}{' alone' if alone else ''}"
        beyond = self._beyond(self._watch.group_columns(names) if shown else self._watch.columns)
        return f"{sentence}, {beyond} {'of them' if shown else 'others'}{_BEYOND}" if beyond else sentence

    def _beyond(self, columns: Sequence[CounterColumn]) -> int:
        """Count the columns that do not fit on the screen."""
        drawn = {column.id for column in self._table.shown[0]}
        return sum(column.id not in drawn and not column.identity for column in columns)
