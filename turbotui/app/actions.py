"""The one table of keys, from which bindings, footer, help and palette are made: common ones, and those of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from turbotui.feature import EVERYWHERE, Action
from turbotui.feature_list import FEATURES, INSTALLED, REFUSED, parts_of

if TYPE_CHECKING:
    from textual.binding import BindingType

PLACES: Final = {EVERYWHERE: "Everywhere"} | {place.id: place.title for feature in FEATURES for place in feature.places}
"""Headings of the places in which keys work, in the order of the help."""

_COMMON: Final = (
    Action("help", "help", ("question_mark", "f1"), "? F1", "Show the keys and what the columns mean.", "help", rank=0),
    Action("columns", "columns", ("C", "f2"), "C F2", "Choose columns: search, show, hide, read what they mean.",
           "columns", ("table",), rank=0),
    Action("arrange", "arrange", ("m",), "m",
           "Move the column under the cursor, or change its width; the mouse drags titles and their right borders.", "",
           ("table",)),
    Action("search", "search", ("slash", "f3"), "/ F3", "Find as you type: a row, a CPU, a name, a panel.", "find",
           ("screen",), rank=2),
    Action("search_next", "search_next", ("n",), "n", "Find the next match.", "", ("screen",)),
    Action("filter", "filter", ("backslash", "f4"), "\\ F4",
           "Show only rows that pass: words, comparisons such as Busy%>50 or Type=E, joined by and, or, not.", "filter",
           ("table",), rank=3),
    Action("add", "add", ("a",), "a", "Add or remove counters: an event, a register, a file.", "",
           ("adding",)),
    Action("sort_menu", "sort_menu", ("o", "f6"), "o F6", "Choose the column to sort by, or to colour the map by.",
           "sort", ("sorted",), rank=1),
    Action("sort_next", "sort_step(1)", ("greater_than_sign",), ">", "Sort (colour the map) by the next column.", "",
           ("sorted",)),
    Action("sort_previous", "sort_step(-1)", ("less_than_sign",), "<", "Sort (colour the map) by the previous column.",
           "", ("sorted",)),
    Action("reverse", "reverse", ("I",), "I", "Reverse the order.", "", ("table",)),
    Action("explain", "explain", ("e",), "e", "Explain the cell: formula, numbers, sources, or why it is missing.",
           "explain", ("screen",), rank=1),
    Action("graph", "graph", ("g",), "g", "Graph the cell, and those of the tagged rows, over the whole past.",
           "graph", ("graphed",), rank=2),
    Action("tag_row", "tag", ("x",), "x", "Tag the row, which pins it on top.", "",
           ("tagged",)),
    Action("untag", "untag", ("V",), "V", "Clear all tags.", "", ("table",)),
    Action("mark", "mark", ("b",), "b", "Compare with this moment: cells show differences, or values again.", "compare",
           ("compared",), rank=5),
    Action("copy_rows", "copy_rows", ("Y",), "Y", "Copy the row, or the tagged ones, as comma-separated values.", "",
           ("table",)),
    Action("fold_all", "fold_all", ("asterisk",), "*", "Fold or unfold all groups.", "", ("folded",)),
    Action("acts", "acts", ("X",), "X",
           "Show command lines for the task or group (renice, taskset, kill, systemctl, mkdir, perf), which are copied "
           "and "
           "never run.", "act", ("acts",), rank=2),
    Action("point", "point", ("i",), "i",
           "On a CPU, show the tasks that run there; on a task, pin and highlight the CPUs on which it ran. Esc "
           "returns.", "", ("pointing",)),
    Action("why", "why", ("W",), "W",
           "Show why the machine is slow: the causes, the worst first, the tasks behind them, and remedies.",
           "why", rank=1),
    Action("alerts", "alerts", ("exclamation_mark",), "!",
           "List what happened, with times: alerts, findings, marks, gaps. Enter goes to that moment."),
    Action("pause", "pause", ("space", "p"), "space p",
           "Pause the picture, or continue; measuring continues in any case.", "pause", rank=2),
    Action("past_back", "past_step(-1)", ("comma",), ",", "Go one interval back: every screen shows the past.", "past",
           rank=3),
    Action("past_on", "past_step(1)", ("full_stop",), ".", "Go one interval forward, at the end to now."),
    Action("past_far_back", "past_step(-10)", ("left_curly_bracket",), "{", "Go ten intervals back."),
    Action("past_far_on", "past_step(10)", ("right_curly_bracket",), "}", "Go ten intervals forward."),
    Action("past_jump", "past_jump", ("at",), "@",
           "Jump to a time (14:03:20, -5m), or look back for a condition (Busy%>90 and Bzy_MHz<2000)."),
    Action("past_event_before", "past_event(-1)", ("left_parenthesis",), "(",
           "Go back to the previous event, mark, or moment at which the condition of @ begins to hold."),
    Action("past_event_after", "past_event(1)", ("right_parenthesis",), ")", "Go forward to the next one."),
    Action("past_mark", "past_mark", ("M",), "M", "Mark this moment on the time bar."),
    Action("record", "record", ("ctrl+r",), "ctrl+r", "Record to a file from now on, or end the recording."),
    Action("past_now", "past_now", ("backspace",), "Backspace", "Return to now."),
    Action("remember", "remember", ("ctrl+s",), "ctrl+s",
           "Remember theme, interval, screen and columns for every start; of simulated and recorded machines, columns "
           "alone (docs/settings.md)."),
    Action("open", "open", ("enter",), "Enter",
           "Open what the cursor is on: the tasks of a CPU, the CPUs of a task, a number of the overview, a level of "
           "screen "
           "d; if there is nothing to open, end the interval, as in turbostat.", "now", rank=4),
    Action("end_interval", "end_interval", ("ctrl+j",), "ctrl+j",
           "End the interval now, even where Enter opens something."),
    Action("longer", "step_interval(1)", ("plus", "equals_sign"), "+", "Make the interval longer."),
    Action("shorter", "step_interval(-1)", ("minus", "underscore"), "-", "Make the interval shorter."),
    Action("reset", "reset", ("z",), "z", "Reset least, greatest and mean values."),
    Action("tcc", "tcc", ("D",), "D",
           "Enter the temperature at which the processor slows itself down (TCC), from which its sensors count down."),
    Action("copy", "copy", ("y",), "y",
           "Copy the cell under the cursor with its row and unit; in a window, copy its text or command line."),
    Action("save_screen", "save_screen", ("P",), "P",
           "Save what is shown as a picture (SVG) and as text in the current folder.", "picture", rank=6),
    Action("theme", "next_theme", ("T",), "T",
           "Change to the next theme: calm, high contrast, light, the terminal's 16 colours.", "theme",
           rank=6),
    Action("tour", "tour", ("B",), "B", "Begin the tour of five steps, or go to its next step."),
    Action("tour_end", "end_tour", ("Q",), "Q", "End the tour, which is not offered again."),
    Action("next_screen", "next_screen(1)", ("tab",), "Tab", "Show the next screen."),
    Action("previous_screen", "next_screen(-1)", ("shift+tab",), "Shift+Tab", "Show the previous screen."),
    Action("palette", "command_palette", ("ctrl+p",), "ctrl+p", "List every action by name.", "all", rank=6),
    Action("close", "close", ("escape",), "Esc",
           "Close what is open, or undo what is newest: an order, groups, columns, a filter, a search, tags, a "
           "comparison, the past, a pause, a screen that Enter opened; never quits."),
    Action("quit", "quit", ("q", "f10"), "q F10", "Quit.", "quit", rank=0),
    Action("suspend", "suspend", ("ctrl+z",), "ctrl+z", "Stop and give the terminal back to the shell; fg continues.",
           priority=True),
    Action("redraw", "redraw", ("ctrl+l",), "ctrl+l",
           "Draw the screen anew, over what another program has written on it.", priority=True),
    Action("interrupt", "interrupt", ("ctrl+c",), "ctrl+c",
           "Quit, whatever is open; while the past is searched, stop that; while a command runs beside the dashboard "
           "(turbotui -- COMMAND), interrupt it.",
           priority=True),
    Action("output", "output", ("O",), "O", "Show the output of the command that runs beside the dashboard."),
    Action("up", "move(-1)", ("up", "k"), "↑ k",
           "Move up, on the power screen by a package; above the first row are the pinned ones.", "",
           ("steps",)),
    Action("down", "move(1)", ("down", "j"), "↓ j", "Move down, on the power screen by a package.", "", ("steps",)),
    Action("left", "sideways(-1)", ("left", "h"), "← h",
           "Go to the previous column, or number on the power screen; fold a group.", "",
           ("sideways",)),
    Action("right", "sideways(1)", ("right", "l"), "→ l",
           "Go to the next column, or number on the power screen; unfold a group.", "",
           ("sideways",)),
    Action("column_left", "column(-1)", ("shift+left", "H"), "Shift+← H", "Go to the previous column, on groups too.",
           "", ("grid",)),
    Action("column_right", "column(1)", ("shift+right", "L"), "Shift+→ L",
           "Go to the next column, on groups too.", "", ("grid",)),
    Action("page_up", "page(-1)", ("pageup", "ctrl+b"), "PgUp",
           "Move one page up; on the doctor screen, scroll the report.", "",
           ("pages",)),
    Action("page_down", "page(1)", ("pagedown", "ctrl+f"), "PgDn",
           "Move one page down; on the doctor screen, scroll the report.", "",
           ("pages",)),
    Action("first", "end(-1)", ("home",), "Home", "Go to the first row.", "", ("ends",)),
    Action("last", "end(1)", ("end", "G"), "End G", "Go to the last row.", "", ("ends",)),
)
"""Keys that no feature owns. Beside the sets that a place names, each place has "screen"."""


_TAKES: Final = {EVERYWHERE: {EVERYWHERE}} | {
    place.id: {"screen", place.id, *place.takes} for feature in FEATURES for place in feature.places}
"""Sets of keys of each place."""


def _placed(action: Action) -> Action:
    return replace(action, where=tuple(place for place, sets in _TAKES.items() if not sets.isdisjoint(action.where)))


def _with_features() -> Iterator[Action]:
    """Every action, those of features behind the common ones that they name, with the places where it works."""
    followers: dict[str, list[Action]] = {}
    common = tuple(map(_placed, _COMMON))
    known = list(common)
    for feature in FEATURES:
        after = ""
        for action in map(_placed, parts_of(feature, "keys", Action)):
            taken = next((other.id for other in known if other.id == action.id or (
                meet(other, action) and not set(other.keys).isdisjoint(action.keys))),
                         "") if feature in INSTALLED else ""
            if taken:
                REFUSED.append(f"the action {action.id} of the feature {feature.name} is left out: {taken} has its key "
                               "or name")
                continue
            after = action.after or after
            known.append(action)
            followers.setdefault(after, []).append(action)
    return chain(*((action, *followers.pop(action.id, ())) for action in common), *followers.values())


def meet(action: Action, other: Action) -> bool:
    """Tell whether two actions are available on a common screen."""
    return EVERYWHERE in action.where or EVERYWHERE in other.where or not set(action.where).isdisjoint(other.where)


ACTIONS: Final = tuple(_with_features())
"""Every action of the user."""


KEYLESS: Final = tuple(map(_placed, (
    Action("default_columns", "default_columns", (), "C, first lines",
           "Default columns: those that a table has before somebody chooses others.", "", ("table",)),
    Action("default_settings", "default_settings", (), "C, first lines",
           "Default settings: forget the theme, interval, screen and columns that Ctrl+S wrote."),
)))
"""Actions of the palette and the list of columns that have no key."""


def bindings_for(where: str) -> list[BindingType]:
    """The Textual bindings of one place."""
    from textual.binding import Binding  # noqa: PLC0415 - the help of the opening is made of this table too

    return [
        Binding(
            ",".join(action.keys),
            action.call,
            action.label or action.help,
            id=action.id,
            show=bool(action.label),
            priority=action.priority,
            key_display=action.shown,
        )
        for action in ACTIONS
        if where in action.where
    ]


def actions_of(app: object) -> tuple[Action, ...]:
    """The actions with an app's own keys."""
    actions: tuple[Action, ...] = getattr(app, "actions", ACTIONS)
    return actions


CATEGORY_KEYS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("f", "clock", ("FREQUENCY",)),
    ("i", "idle", ("IDLE",)),
    ("p", "power", ("POWER",)),
    ("t", "thermal", ("THERMAL",)),
    ("k", "kernel", ("KERNEL", "INTERRUPT")),
    ("w", "waits", ("PRESSURE",)),
    ("x", "pmu", ("CACHE", "OTHER")),
    ("u", "uncore", ("uncore.",)),
    ("s", "ids", ("TOPOLOGY",)),
)
"""Letter after `c`, word, and names of `Category` or prefixes of the signals that a column needs."""
