"""F1: the keys, made from the table of actions, and the columns, made from the catalog."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from turbotui.app.actions import ACTIONS, Action, Where, actions_of
from turbotui.app.list_window import MenuWindow
from turbotui.app.watch import Watch
from turbotui.widgets.cells import (
    MARK_AMBER,
    MARK_DISPUTED,
    MARK_ESTIMATED,
    MARK_OLD,
    MARK_PARTIAL,
    MARK_RED,
    UNKNOWN,
    StyleRole,
)
from turbotui.widgets.listing import Item, Listing

MARKS: tuple[tuple[str, str], ...] = (
    (UNKNOWN, "unknown; e says why, and what would help. Never 0."),
    (MARK_AMBER, "past the first threshold."),
    (MARK_RED, "past the second threshold."),
    (MARK_ESTIMATED, "estimated: the counter ran part of the interval and was scaled."),
    (MARK_OLD, "old: a CPU behind it did not answer in time; a longer interval (+) helps."),
    (MARK_PARTIAL, "partial: a CPU inside this row did not answer."),
    (MARK_DISPUTED, "disputed: another counter contradicts this one; e shows both."),
    ("dim", "a core's or package's value, said again on its other CPUs."),
    ("•", "tagged."),
    ("›", "more columns than fit: → goes there."),
)


def help_items(watch: Watch, screens: tuple[tuple[str, str, str], ...], here: Where | None = None,
               actions: tuple[Action, ...] = ACTIONS) -> list[Item]:
    """Keys of the screen that is shown, keys by place, marks, and every column that is to be had here.

    Args:
        watch: for the columns.
        screens: mode, key and name of each.
        here: the place whose keys come first, all of them.
        actions: with the keys that hold.
    """
    items: list[Item] = []
    places = (here, *(where for where in Where if where is not here)) if here is not None else tuple(Where)
    for where in places:
        members = [action for action in actions if (where in action.where if where is here else
                                                    action.where[0] is where and here not in action.where)]
        if not members:
            continue
        items.append(Item(((where.value, StyleRole.SORTED),)))
        items += [
            Item(((f"  {action.shown:<12}", StyleRole.KEY), (action.help, StyleRole.PLAIN))) for action in members
        ]
        if where is Where.APP:
            for _, number, word in screens:
                items.append(Item(((f"  {number:<12}", StyleRole.KEY), (f"Screen: {word}.", StyleRole.PLAIN))))
        items.append(Item(()))
    items.append(Item((("Marks", StyleRole.SORTED),)))
    items += [Item(((f"  {mark:<12}", StyleRole.KEY), (text, StyleRole.PLAIN))) for mark, text in MARKS]
    items += [Item(()), Item((("Columns of this machine (C shows all, with reasons)", StyleRole.SORTED),))]
    columns = [column for column in watch.session.catalog.columns if watch.why_absent(column) is None]
    wide = max((len(column.id) for column in columns), default=0) + 2
    for column in columns:
        unit = f"{column.unit}; " if column.unit else ""
        items.append(Item(((f"  {column.id:<{wide}}", StyleRole.KEY), (f"{unit}{column.help}", StyleRole.PLAIN))))
    return items


class Help(MenuWindow[None]):
    """Window with the keys and the columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "page(1)", "page down", show=False),
        Binding("home", "move(-100000)", "top", show=False),
        Binding("end", "move(100000)", "bottom", show=False),
        Binding("question_mark,f1", "close", "close", show=False),
    ]

    DEFAULT_CSS = """
    Help > .window { height: 90%; max-width: 110; }
    """

    heading = "keys and columns"
    hint = "↓ PgDn scroll · Esc close"
    page = 20

    def __init__(self, watch: Watch, screens: tuple[tuple[str, str, str], ...], here: Where | None = None) -> None:
        super().__init__()
        self._watch = watch
        self._screens = screens
        self._here = here

    def on_mount(self) -> None:
        """Fill the window with keys and columns."""
        self.query_one(Listing).show(help_items(self._watch, self._screens, self._here, actions_of(self.app)))
