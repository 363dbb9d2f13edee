"""F1: the keys, from the table of actions, and the columns, from the catalog."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from turbotui.app.actions import ACTIONS, PLACES, actions_of
from turbotui.app.list_window import MenuWindow
from turbotui.app.watch import Watch
from turbotui.feature import EVERYWHERE, Action
from turbotui.quantities.marks import MARKS, OUTSTANDING
from turbotui.untrusted import one_line
from turbotui.widgets.cells import (
    MARK_AMBER,
    MARK_RED,
    TOO_WIDE,
    UNKNOWN,
    StyleRole,
)
from turbotui.widgets.listing import Item, Listing

_NARROWEST = 20
"""Minimum width of a line, however narrow the window is."""

SIGNS: tuple[tuple[str, str], ...] = (
    (UNKNOWN, "Unknown; e says why, and what would help. Never 0."),
    (MARK_AMBER, "Past the first threshold, or past the one of a metric's vendor."),
    (MARK_RED, "Past the second threshold."),
    *((mark.sign, f"{mark.name.capitalize()}: {mark.meaning}.") for mark in MARKS if mark is not OUTSTANDING),
    (TOO_WIDE, "Filled with it: a number too wide for its column; m, then up, makes that wider."),
    ("dim", "A core's or package's value, said again on its other CPUs."),
    ("coloured", "How much a value is of what is possible, in nine steps from cool and dim to warm and bright."),
    ("■■··", "A bar up to what is possible: each mark has the colour of the level where it stands."),
    ("•", "Tagged, or lit by i: a task ran there."),
    ("…", "Cut here: more follows than there is room for. A terminal without this character has ~ or .. for it."),
    ("›", "More columns than fit: → goes there."),
    ("Σ", "A sum over the rows below it, or over the tagged ones."),
)
"""Marks in and around cells."""

STATES: tuple[tuple[str, str], ...] = (
    ("SIMULATED", "A model stands for a machine (--machine): no number was measured."),
    ("RECORDED", "The files of another machine, or of another time, are shown: no number is of this machine."),
    ("PAST", "A moment of the past is shown; Esc or backspace returns to now."),
    ("PAUSED", "The picture stands still, measuring goes on; Esc or p goes on with the picture."),
    ("DIFFERENCES", "Cells say how much changed since a moment; Esc or b shows values again."),
    ("● REC", "A recording is written; ctrl+r ends it. NOT RECORDING: it cannot be written any more."),
    ("LATE", "CPUs did not answer in time, and their numbers are old; a longer interval (+) helps."),
    ("filter", "Rows that do not pass the filter are hidden; Esc shows all, \\ changes it."),
    ("TCC … BY HAND", "Temperatures count down from what D was told, where the processor slows itself down."),
    ("own", "What turbotui itself takes: of one CPU, of memory, and of time to read everything once."),
    ("#", "The number of the interval that is shown; the seconds before it are how long that was."),
)
"""Words in capital letters at the edges of the screen, and the texts beside them."""


def help_items(watch: Watch, screens: tuple[tuple[str, str, str], ...], here: str | None = None,
               actions: tuple[Action, ...] = ACTIONS) -> list[Item]:
    """Keys of the current screen, all keys by place, marks, and every column that is available here.

    Args:
        here: the place whose keys come first, all of them.
        actions: with the keys that hold.
    """
    items = list(_mistakes(*watch.mistakes))
    places = (here, *(where for where in PLACES if where != here)) if here is not None else tuple(PLACES)
    for where in places:
        members = [action for action in actions if (where in action.where if where == here else
                                                    action.where[0] == where and here not in action.where)]
        if not members:
            continue
        items.append(Item(((PLACES[where], StyleRole.SORTED),)))
        items += [Item(((f"  {action.shown:<12}", StyleRole.KEY), (action.help, StyleRole.PLAIN)))
                  for action in members]
        if where == EVERYWHERE:
            for _, number, word in screens:
                items.append(Item(((f"  {number:<12}", StyleRole.KEY), (f"Screen: {word}.", StyleRole.PLAIN))))
        items.append(Item(()))
    for heading, table in (("Marks", SIGNS), ("Words at the edges of the screen", STATES)):
        items.append(Item(((heading, StyleRole.SORTED),)))
        items += [Item(((f"  {mark:<14}", StyleRole.KEY), (text, StyleRole.PLAIN))) for mark, text in table]
        items.append(Item(()))
    items += [Item((("Columns of this machine (C shows all, with reasons)", StyleRole.SORTED),))]
    columns = [column for column in watch.session.catalog.columns if watch.why_absent(column) is None]
    wide = max((len(column.id) for column in columns), default=0) + 2
    for column in columns:
        unit = f"{column.unit}; " if column.unit else ""
        items.append(Item(((f"  {column.id:<{wide}}", StyleRole.KEY), (f"{unit}{column.help}", StyleRole.PLAIN))))
    return items


def _mistakes(file: str, problems: Sequence[str]) -> Iterator[Item]:
    """Lines on what is wrong in the settings, of which the status line shows the first at the start."""
    if problems:
        yield Item(((f"Mistakes in the settings, {file}" if file else "Mistakes in the settings", StyleRole.SORTED),))
        yield from (Item((("  ", StyleRole.KEY), (problem, StyleRole.PLAIN))) for problem in problems)
        yield Item(())


def matching(items: Sequence[Item], text: str) -> list[Item]:
    """The lines with every word of a text, in any case, below their headings; all lines for an empty text."""
    if not (words := text.lower().split()):
        return list(items)
    fitting: list[Item] = []
    heading: Item | None = None
    for item in items:
        if len(item.segments) == 1:
            heading = item
        elif item.segments and all(word in "".join(text for text, _ in item.segments).lower() for word in words):
            if heading is not None:
                fitting += [*([Item(())] if fitting else []), heading]
                heading = None
            fitting.append(item)
    return fitting or [Item(((f"Nothing matches {one_line(text)}: Esc shows everything", StyleRole.PLAIN),))]


def _laid_out(item: Item, width: int) -> list[Item]:
    """Wrap a line, with further lines below its text."""
    if len(item.segments) < 2:
        return [item]
    key, (text, role) = item.segments
    indent = len(key[0])
    first, *others = textwrap.wrap(text, max(_NARROWEST, width - indent)) or [""]
    return [Item((key, (first, role))), *(Item(((" " * indent, role), (line, role))) for line in others)]


class Help(MenuWindow[None]):
    """The searchable window with the keys and the columns."""

    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "page(1)", "page down", show=False),
        Binding("home", "move(-100000)", "top", show=False),
        Binding("end", "move(100000)", "bottom", show=False),
        Binding("slash,f3", "search", "search", show=False),
        Binding("question_mark,f1", "close", "close", show=False),
    ]

    DEFAULT_CSS = """
    Help > .window { height: 90%; max-width: 110; }
    Help Input { display: none; }
    Help.-searching Input { display: block; }
    """

    heading = "keys and columns"
    hint = "/ search · ↓ PgDn scroll · Esc close"
    page = 20

    def __init__(self, watch: Watch, screens: tuple[tuple[str, str, str], ...], here: str | None = None) -> None:
        super().__init__()
        self._watch = watch
        self._screens = screens
        self._here = here
        self._items: list[Item] = []

    def parts(self) -> Iterable[Widget]:
        """Parts of the window: the field that / shows, and the lines."""
        return (Input(placeholder="search keys, marks and columns", select_on_focus=False), Listing())

    def on_mount(self) -> None:
        """Fill the window with keys and columns."""
        self._items = help_items(self._watch, self._screens, self._here, actions_of(self.app))
        self._fill()

    def on_listing_resized(self) -> None:
        """Lay the lines out for the width, which is known after the first layout."""
        self._fill()

    def _fill(self) -> None:
        listing = self.query_one(Listing)
        items = matching(self._items, self.query_one(Input).value)
        listing.show([line for item in items for line in _laid_out(item, listing.size.width - 1)])

    def action_search(self) -> None:
        """Send typed letters to the field."""
        self.add_class("-searching")
        self.query_one(Input).focus()

    def on_input_changed(self) -> None:
        """Show the lines that match."""
        self._fill()
        self.query_one(Listing).scroll_to(y=0, animate=False, immediate=True)

    def on_input_submitted(self) -> None:
        """Keep the matching lines, and send keys to the window again."""
        self.set_focus(None)

    def action_close(self) -> None:
        """Show all lines again; close if all are shown."""
        if self.has_class("-searching"):
            self.remove_class("-searching")
            self.query_one(Input).value = ""
            self.set_focus(None)
        else:
            super().action_close()
