"""The one table of keys, from which bindings, footer, help and palette are made: common ones, and those of features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from turbotui.feature import EVERYWHERE, Action, Feature, key
from turbotui.feature_list import FEATURES, INSTALLED, REFUSED, parts_of

if TYPE_CHECKING:
    from textual.binding import BindingType

PLACES: Final = {EVERYWHERE: "Everywhere"} | {place.id: place.title for feature in FEATURES for place in feature.places}
"""Headings of the places in which keys work, in the order of the help."""

_COMMON: Final = (
    key("help", "? F1", "Show the keys and what the columns mean.", "help", rank=0),
    key("columns", "C F2", "Choose columns: search, show, hide, read what they mean.", "columns", ("table",), rank=0),
    key("arrange", "m",
        "Move the column under the cursor, or change its width; the mouse drags titles and their right borders.", "",
        ("table",)),
    key("search", "/ F3", "Find as you type: a row, a CPU, a name, a panel.", "find", ("screen",), rank=2),
    key("search_next", "n", "Find the next match.", "", ("screen",)),
    key("filter", "\\ F4",
        "Show only rows that pass: words, comparisons such as Busy%>50 or Type=E, joined by and, or, not.", "filter",
        ("table",), rank=3),
    key("add", "a", "Add or remove counters: an event, a register, a file.", "", ("adding",)),
    key("sort_menu", "o F6", "Choose the column to sort by, or to colour the map by.", "sort", ("sorted",), rank=1),
    key("sort_next", ">", "Sort (colour the map) by the next column.", "", ("sorted",), call="sort_step(1)"),
    key("sort_previous", "<", "Sort (colour the map) by the previous column.", "", ("sorted",), call="sort_step(-1)"),
    key("reverse", "I", "Reverse the order.", "", ("table",)),
    key("explain", "e", "Explain the cell: formula, numbers, sources, or why it is missing.", "explain", ("screen",),
        rank=1),
    key("graph", "g", "Graph the cell, and those of the tagged rows, over the whole past.", "graph", ("graphed",),
        rank=2),
    key("tag_row", "x", "Tag the row, which pins it on top.", "", ("tagged",), call="tag"),
    key("untag", "V", "Clear all tags.", "", ("table",)),
    key("mark", "b", "Compare with this moment: cells show differences, or values again.", "compare", ("compared",)),
    key("copy_rows", "Y", "Copy the row, or the tagged ones, as comma-separated values.", "", ("table",)),
    key("fold_all", "*", "Fold or unfold all groups.", "", ("folded",)),
    key("acts", "X",
        "Show command lines for the task or group (renice, taskset, kill, systemctl, mkdir, perf), which are copied "
        "and never run.", "act", ("acts",), rank=2),
    key("point", "i",
        "On a CPU, show the tasks that run there; on a task, pin and highlight the CPUs on which it ran. Esc returns.",
        "", ("pointing",)),
    key("why", "W", "Show why the machine is slow: the causes, the worst first, the tasks behind them, and remedies.",
        "why", rank=1),
    key("alerts", "!", "List what happened, with times: alerts, findings, marks, gaps. Enter goes to that moment."),
    key("pause", "space p", "Pause the picture, or continue; measuring continues in any case.", "pause", rank=2),
    key("past_back", ",", "Go one interval back: every screen shows the past.", "past", call="past_step(-1)", rank=3),
    key("past_on", ".", "Go one interval forward, at the end to now.", call="past_step(1)"),
    key("past_far_back", "{", "Go ten intervals back.", call="past_step(-10)"),
    key("past_far_on", "}", "Go ten intervals forward.", call="past_step(10)"),
    key("past_jump", "@", "Jump to a time (14:03:20, -5m), or look back for a condition (Busy%>90 and Bzy_MHz<2000)."),
    key("past_event_before", "(",
        "Go back to the previous event, mark, or moment at which the condition of @ begins to hold.",
        call="past_event(-1)"),
    key("past_event_after", ")", "Go forward to the next one.", call="past_event(1)"),
    key("past_mark", "M", "Mark this moment on the time bar."),
    key("record", "ctrl+r", "Record to a file from now on, or end the recording."),
    key("past_now", "Backspace", "Return to now."),
    key("remember", "ctrl+s",
        "Remember theme, interval, screen and columns for every start; of simulated and recorded machines, columns "
        "alone (docs/settings.md)."),
    key("open", "Enter",
        "Open what the cursor is on: the tasks of a CPU, the CPUs of a task, a number of the overview, a level of "
        "screen d; if there is nothing to open, end the interval, as in turbostat.", "now", rank=4),
    key("end_interval", "ctrl+j", "End the interval now, even where Enter opens something."),
    key("longer", "+", "Make the interval longer.", call="step_interval(1)"),
    key("shorter", "-", "Make the interval shorter.", call="step_interval(-1)"),
    key("reset", "z", "Reset least, greatest and mean values."),
    key("tcc", "D",
        "Enter the temperature at which the processor slows itself down (TCC), from which its sensors count down."),
    key("copy", "y",
        "Copy the cell under the cursor with its row and unit; in a window, copy its text or command line."),
    key("save_screen", "P", "Save what is shown as a picture (SVG) and as text in the current folder.", "picture",
        rank=6),
    key("theme", "T", "Change to the next theme: calm, high contrast, light, the terminal's 16 colours.", "theme",
        call="next_theme", rank=6),
    key("tour", "B", "Begin the tour of five steps, or go to its next step."),
    key("tour_end", "Q", "End the tour, which is not offered again.", call="end_tour"),
    key("next_screen", "Tab", "Show the next screen.", call="next_screen(1)"),
    key("previous_screen", "Shift+Tab", "Show the previous screen.", call="next_screen(-1)"),
    key("palette", "ctrl+p", "List every action by name.", "all", call="command_palette", rank=6),
    key("close", "Esc",
        "Close what is open, or undo what is newest: an order, groups, columns, a filter, a search, tags, a "
        "comparison, the past, a pause, a screen that Enter opened; never quits."),
    key("quit", "q F10", "Quit.", "quit", rank=0),
    key("suspend", "ctrl+z", "Stop and give the terminal back to the shell; fg continues.", priority=True),
    key("redraw", "ctrl+l", "Draw the screen anew, over what another program has written on it.", priority=True),
    key("interrupt", "ctrl+c",
        "Quit, whatever is open; while the past is searched, stop that; while a command runs beside the dashboard "
        "(turbotui -- COMMAND), interrupt it.", priority=True),
    key("output", "O", "Show the output of the command that runs beside the dashboard."),
    key("up", "↑ k", "Move up, by a row or a package; above the first row are the pinned ones.", "",
        ("steps",), call="move(-1)"),
    key("down", "↓ j", "Move down, by a row or a package.", "", ("steps",), call="move(1)"),
    key("left", "← h", "Go to the previous column or number; fold a group.", "", ("sideways",),
        call="sideways(-1)"),
    key("right", "→ l", "Go to the next column or number; unfold a group.", "", ("sideways",),
        call="sideways(1)"),
    key("column_left", "Shift+← H", "Go to the previous column, on groups too.", "", ("grid",), call="column(-1)"),
    key("column_right", "Shift+→ L", "Go to the next column, on groups too.", "", ("grid",), call="column(1)"),
    key("page_up", "PgUp", "Move one page up, in a table or a report.", "", ("pages",),
        call="page(-1)"),
    key("page_down", "PgDn", "Move one page down, in a table or a report.", "", ("pages",),
        call="page(1)"),
    key("first", "Home", "Go to the first row.", "", ("ends",), call="end(-1)"),
    key("last", "End G", "Go to the last row.", "", ("ends",), call="end(1)"),
)
"""Keys that no feature owns. Beside the sets that a place names, each place has "screen"."""


_TAKES: Final = {EVERYWHERE: {EVERYWHERE}} | {
    place.id: {"screen", place.id, *place.takes} for feature in FEATURES for place in feature.places}
"""Sets of keys of each place."""


def _placed(action: Action, feature: Feature | None = None) -> Action:
    where = action.where or ((feature.places[0].id,) if feature is not None and feature.places else (EVERYWHERE,))
    return replace(action, where=tuple(place for place, sets in _TAKES.items() if not sets.isdisjoint(where)))


def _with_features() -> Iterator[Action]:
    """Every action, those of features behind the common ones that they name, with the places where it works."""
    followers: dict[str, list[Action]] = {}
    common = tuple(map(_placed, _COMMON))
    known = list(common)
    for feature in FEATURES:
        after = ""
        for action in (_placed(action, feature) for action in parts_of(feature, "keys", Action)):
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
