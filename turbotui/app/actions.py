"""The one table of keys, from which bindings, footer, help and palette are made."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from turbotui.dataclass import dataclass

if TYPE_CHECKING:
    from textual.binding import BindingType


class Where(Enum):
    """A place in which an action works; the value is its heading in the help."""

    APP = "Everywhere"
    OVERVIEW = "Overview"
    TABLE = "CPUs and topology"
    MAP = "Map"
    POWER = "Power"
    UNCORE = "Uncore"
    INFO = "Info"
    DOCTOR = "Doctor"
    ROOFLINE = "Roofline"
    TOPDOWN = "Top-down"
    TASKS = "Tasks"
    GROUPS = "Groups"
    FLEET = "Fleet"


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user.

    Attributes:
        id: unique; also the binding's id.
        call: Textual action of the app (APP) or of the screen.
        keys: Textual names of keys; the first is the one shown.
        shown: the keys as shown to people.
        label: for the footer; "" keeps the action out of the footer.
        help: a sentence for the help and the palette.
        where: see `Where`.
        rank: 0 stays longest in a narrow footer.
        priority: whether it works even while a text field is open.
    """

    id: str
    call: str
    keys: tuple[str, ...]
    shown: str
    help: str
    label: str = ""
    where: tuple[Where, ...] = (Where.APP,)
    rank: int = 5
    priority: bool = False


_OVERVIEW = (Where.OVERVIEW,)
_TABLE = (Where.TABLE,)
_MEASURED = (Where.TABLE, Where.TASKS, Where.GROUPS, Where.UNCORE, Where.ROOFLINE, Where.TOPDOWN, Where.FLEET)
"""Screens with a table of changing numbers."""
_ROW_TABLES = (*_MEASURED, Where.INFO, Where.DOCTOR)
"""Screens whose table has the keys of `TableKeys`; those of `_MEASURED` have numbers with a past, too."""
_ARROWS = tuple(where for where in _ROW_TABLES if where not in (Where.UNCORE, Where.ROOFLINE))
"""Screens where arrows move the cursor of a single table; on the roofline, from point to point."""
_TASKS = (Where.TASKS,)
_MAP = (Where.MAP,)
_UNCORE = (Where.UNCORE,)
_POINTING = (Where.TABLE, Where.MAP, Where.TASKS)
_SORT = (*_ROW_TABLES, Where.MAP)
_ROOFLINE = (Where.ROOFLINE,)
_POINTED = (*_SORT, Where.POWER, Where.OVERVIEW)
_SEARCHED = (*_ROW_TABLES, Where.MAP, Where.POWER, Where.OVERVIEW)
_GRAPHED = (*_MEASURED, Where.MAP, Where.POWER, Where.OVERVIEW)
_GRIDS = (*_ARROWS, Where.MAP, Where.UNCORE)
_SIDEWAYS = (*_ARROWS, Where.POWER)
_FOLDED = (*_TABLE, Where.UNCORE, Where.TASKS, Where.GROUPS, Where.FLEET)
_PAGES = (*_SIDEWAYS, Where.ROOFLINE)
_ROWS = (*_PAGES, Where.MAP, Where.UNCORE)
_STEPS = (*_SIDEWAYS, Where.MAP, Where.UNCORE)

ACTIONS: tuple[Action, ...] = (
    Action("help", "help", ("question_mark", "f1"), "? F1", "Show the keys and what the columns mean.", "help", rank=0),
    Action("columns", "columns", ("C", "f2"), "C F2", "Choose columns: search, show, hide, read what they mean.",
           "columns", _ROW_TABLES, rank=0),
    Action("arrange", "arrange", ("m",), "m",
           "Move the column under the cursor, or change its width; the mouse drags titles and their right borders.", "",
           _ROW_TABLES),
    Action("category", "category", ("c",), "c",
           "Show or hide a category of columns, by the letter that follows.", "", _TABLE),
    Action("search", "search", ("slash", "f3"), "/ F3", "Find as you type: a row, a CPU, a name, a panel.", "find",
           _SEARCHED, rank=2),
    Action("search_next", "search_next", ("n",), "n", "Find the next match.", "", _SEARCHED),
    Action("filter", "filter", ("backslash", "f4"), "\\ F4",
           "Show only rows that pass: words, comparisons such as Busy%>50 or Type=E, joined by and, or, not.", "filter",
           _ROW_TABLES, rank=3),
    Action("save", "save", ("s",), "s", "Save this view as a profile; the palette lists saved ones.", "", _TABLE),
    Action("joules", "joules", ("J",), "J", "Show watts, or joules.", "", _TABLE),
    Action("add", "add", ("a",), "a", "Add or remove counters: an event, a register, a file.", "",
           (*_TABLE, Where.GROUPS)),
    Action("spies", "spies", ("S",), "S",
           "Choose event sets for single CPUs, which may change while they are counted.", "", _TABLE),
    Action("group", "group", ("t", "f5"), "t F5",
           "Show a flat list, or group by package, die, L3, node or core; the topology screen always has every level.",
           "group", _TABLE, rank=3),
    Action("sort_menu", "sort_menu", ("o", "f6"), "o F6", "Choose the column to sort by, or to colour the map by.",
           "sort", _SORT, rank=1),
    Action("sort_next", "sort_step(1)", ("greater_than_sign",), ">", "Sort (colour the map) by the next column.", "",
           _SORT),
    Action("sort_previous", "sort_step(-1)", ("less_than_sign",), "<", "Sort (colour the map) by the previous column.",
           "", _SORT),
    Action("reverse", "reverse", ("I",), "I", "Reverse the order.", "", _ROW_TABLES),
    Action("explain", "explain", ("e",), "e", "Explain the cell: formula, numbers, sources, or why it is missing.",
           "explain", _POINTED, rank=1),
    Action("filters", "filters", ("f",), "f", "Filter what the PMU counts: sources, destinations, devices, addresses.",
           "filters", _UNCORE, rank=0),
    Action("traffic", "traffic", ("t",), "t",
           "Show the map of traffic between packages, memory, links and devices, or the tables again.",
           "map", _UNCORE, rank=1),
    Action("graph", "graph", ("g",), "g", "Graph the cell, and those of the tagged rows, over the whole past.",
           "graph", _GRAPHED, rank=2),
    Action("tag", "tag", ("v",), "v", "Tag the row, which pins it on top, with a sum of the tagged rows.", "tag",
           _TABLE, rank=4),
    Action("tag_row", "tag", ("x",), "x", "Tag the row, which pins it on top.", "",
           tuple(where for where in _ROW_TABLES if where not in _TABLE)),
    Action("untag", "untag", ("V",), "V", "Clear all tags.", "", _ROW_TABLES),
    Action("mark", "mark", ("b",), "b", "Compare with this moment: cells show differences, or values again.", "compare",
           _MEASURED, rank=5),
    Action("copy_rows", "copy_rows", ("Y",), "Y", "Copy the row, or the tagged ones, as comma-separated values.", "",
           _ROW_TABLES),
    Action("follow", "follow", ("F",), "F",
           "Choose what the cursor follows: its CPU, nothing, or the hottest, busiest or slowest CPU.", "", _TABLE,
           rank=5),
    Action("fold_all", "fold_all", ("asterisk",), "*", "Fold or unfold all groups.", "", _FOLDED),
    Action("acts", "acts", ("X",), "X",
           "Show command lines for the task or group (renice, taskset, kill, systemctl, mkdir, perf), which are copied "
           "and "
           "never run.", "act", (Where.TASKS, Where.GROUPS), rank=2),
    Action("group_rows", "rows", ("t", "f5"), "t F5",
           "Show control groups as a tree, as a list, or the groups of resctrl.", "rows", (Where.GROUPS,), rank=1),
    Action("topdown_rows", "rows", ("t", "f5"), "t F5",
           "Show a row for each core, CPU, package, core type, busy thread, or marked region.", "rows",
           (Where.TOPDOWN,), rank=1),
    Action("fleet_rows", "rows", ("t", "f5"), "t F5",
           "Show nodes as a list, or grouped by model or by a label.", "by label", (Where.FLEET,), rank=1),
    Action("point", "point", ("i",), "i",
           "On a CPU, show the tasks that run there; on a task, pin and highlight the CPUs on which it ran. Esc "
           "returns.", "", _POINTING),
    Action("watch", "watch", ("w",), "w", "Choose what to watch: all, a process, a control group, applications.",
           "watch", _TASKS, rank=0),
    Action("start_stop", "start_stop", ("s",), "s", "Stop watching, which closes every counter, or start again.",
           "stop/start", _TASKS, rank=2),
    Action("rows", "rows", ("t", "f5"), "t F5",
           "Change what a row is: a thread, a process, a process in a tree, a command, or a container or unit.",
           "rows", _TASKS,
           rank=1),
    Action("timeline", "timeline", ("v",), "v", "Show numbers, or where each thread ran, with time from left to right.",
           "timeline", _TASKS, rank=1),
    Action("window_longer", "window(1)", ("right_square_bracket",), "]", "Make the timeline longer.", "", _TASKS),
    Action("window_shorter", "window(-1)", ("left_square_bracket",), "[", "Make the timeline shorter.", "", _TASKS),
    Action("why", "why", ("W",), "W",
           "Show why the machine is slow: the causes, the worst first, the tasks behind them, and remedies.",
           "why", rank=1),
    Action("alerts", "alerts", ("exclamation_mark",), "!",
           "List the alerts of your settings: current ones, past ones, and the conditions that are watched."),
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
    Action("past_now", "past_now", ("backspace",), "⌫", "Return to now."),
    Action("remember", "remember", ("ctrl+s",), "ctrl+s",
           "Remember theme, interval, screen and columns for every start (docs/settings.md)."),
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
           "Change to the next theme: calm, high contrast, the terminal's 16 colours.", "theme",
           rank=6),
    Action("tour", "tour", ("B",), "B", "Begin the tour of five steps, or go to its next step."),
    Action("tour_end", "end_tour", ("Q",), "Q", "End the tour, which is not offered again."),
    Action("next_screen", "next_screen(1)", ("tab",), "Tab", "Show the next screen."),
    Action("previous_screen", "next_screen(-1)", ("shift+tab",), "Shift+Tab", "Show the previous screen."),
    Action("palette", "command_palette", ("ctrl+p",), "ctrl+p", "List every action by name.", "all", rank=6),
    Action("close", "close", ("escape",), "Esc",
           "Close what is open, return from what i showed, or drop the cursor of the overview; never quits."),
    Action("quit", "quit", ("q", "f10"), "q F10", "Quit.", "quit", rank=0),
    Action("suspend", "suspend", ("ctrl+z",), "ctrl+z", "Stop and give the terminal back to the shell; fg continues.",
           priority=True),
    Action("interrupt", "interrupt", ("ctrl+c",), "ctrl+c",
           "Quit, whatever is open; while a command runs beside the dashboard (turbotui -- COMMAND), interrupt it.",
           priority=True),
    Action("output", "output", ("O",), "O", "Show the output of the command that runs beside the dashboard."),
    Action("up", "move(-1)", ("up", "k"), "↑ k",
           "Move up, on the power screen by a package; above the first row are the pinned ones.", "",
           _STEPS),
    Action("down", "move(1)", ("down", "j"), "↓ j", "Move down, on the power screen by a package.", "", _STEPS),
    Action("left", "sideways(-1)", ("left", "h"), "← h",
           "Go to the previous column, or number on the power screen; fold a group.", "",
           _SIDEWAYS),
    Action("right", "sideways(1)", ("right", "l"), "→ l",
           "Go to the next column, or number on the power screen; unfold a group.", "",
           _SIDEWAYS),
    Action("map_left", "sideways(-1)", ("left", "h"), "← h", "Go to the CPU to the left.", "", _MAP),
    Action("map_right", "sideways(1)", ("right", "l"), "→ l", "Go to the CPU to the right.", "", _MAP),
    Action("uncore_left", "sideways(-1)", ("left", "h"), "← h",
           "Go to the previous column; at the first column of a sum, "
           "fold or unfold its units.", "", _UNCORE),
    Action("uncore_right", "sideways(1)", ("right", "l"), "→ l", "Go to the next column.", "", _UNCORE),
    Action("column_left", "column(-1)", ("shift+left", "H"), "Shift+← H", "Go to the previous column, on groups too.",
           "", _GRIDS),
    Action("column_right", "column(1)", ("shift+right", "L"), "Shift+→ L",
           "Go to the next column, on groups too.", "", _GRIDS),
    Action("page_up", "page(-1)", ("pageup", "ctrl+b"), "PgUp",
           "Move one page up; on the doctor screen, scroll the report.", "",
           _PAGES),
    Action("page_down", "page(1)", ("pagedown", "ctrl+f"), "PgDn",
           "Move one page down; on the doctor screen, scroll the report.", "",
           _PAGES),
    Action("map_back", "page(-1)", ("pageup", "ctrl+b"), "PgUp", "Go sixteen CPUs back.", "", _MAP),
    Action("map_on", "page(1)", ("pagedown", "ctrl+f"), "PgDn", "Go sixteen CPUs forward.", "", _MAP),
    Action("uncore_previous", "page(-1)", ("pageup", "ctrl+b"), "PgUp", "Go to the previous table.", "", _UNCORE),
    Action("uncore_next", "page(1)", ("pagedown", "ctrl+f"), "PgDn", "Go to the next table.", "", _UNCORE),
    Action("overview_up", "move(-1)", ("up", "k"), "↑ k", "Go to the number above.", "", _OVERVIEW),
    Action("overview_down", "move(1)", ("down", "j"), "↓ j", "Go to the number below.", "", _OVERVIEW),
    Action("overview_left", "sideways(-1)", ("left", "h"), "← h", "Go to the number to the left.", "", _OVERVIEW),
    Action("overview_right", "sideways(1)", ("right", "l"), "→ l", "Go to the number to the right.", "", _OVERVIEW),
    Action("overview_first", "end(-1)", ("home",), "Home", "Go to the first number.", "", _OVERVIEW),
    Action("overview_last", "end(1)", ("end", "G"), "End G", "Go to the last number.", "", _OVERVIEW),
    Action("first", "end(-1)", ("home",), "Home", "Go to the first row.", "", _ROWS),
    Action("last", "end(1)", ("end", "G"), "End G", "Go to the last row.", "", _ROWS),
    Action("roof_rows", "rows", ("t", "f5"), "t F5",
           "Show points for CPUs, cores, packages, the whole machine or threads.", "rows",
           _ROOFLINE, rank=0),
    Action("roof_trail", "trail", ("v",), "v", "Show the past of the point under the cursor, of all points, or none.",
           "trail", _ROOFLINE, rank=2),
    Action("roof_width", "width", ("w",), "w",
           "Change how many bytes a load or store is assumed to have.", "width", _ROOFLINE,
           rank=3),
    Action("roof_roofs", "roofs", ("R",), "R", "Show measured roofs, or theoretical ones.", "", _ROOFLINE),
    Action("roof_flats", "flats", ("r",), "r",
           "Show flat roofs of double, single or half precision, of int8, or those of the point under the cursor.", "",
           _ROOFLINE),
    Action("roof_nearer", "zoom(1)", ("right_square_bracket",), "]", "Zoom in around the cursor.", "nearer", _ROOFLINE,
           rank=3),
    Action("roof_further", "zoom(-1)", ("left_square_bracket",), "[", "Zoom out.", "", _ROOFLINE),
    Action("roof_whole", "whole", ("A",), "A",
           "Show all roofs and working points again; pressed again, also idle points.", "whole", _ROOFLINE, rank=4),
    Action("roof_left", "to_point(-1, 0)", ("left",), "←", "Go to the nearest point to the left.", "", _ROOFLINE),
    Action("roof_right", "to_point(1, 0)", ("right",), "→", "Go to the nearest point to the right.", "", _ROOFLINE),
    Action("roof_up", "to_point(0, 1)", ("up",), "↑", "Go to the nearest point above.", "", _ROOFLINE),
    Action("roof_down", "to_point(0, -1)", ("down",), "↓", "Go to the nearest point below.", "", _ROOFLINE),
    Action("roof_row_down", "move(1)", ("j",), "j", "Go to the next row of the table, as n does before a search.",
           "", _ROOFLINE),
    Action("roof_row_up", "move(-1)", ("k", "N"), "k N", "Go to the previous row.", "", _ROOFLINE),
    Action("roof_column_left", "sideways(-1)", ("h",), "h", "Go to the previous column of the table.", "", _ROOFLINE),
    Action("roof_column_right", "sideways(1)", ("l",), "l", "Go to the next column.", "", _ROOFLINE),
    Action("roof_pan_left", "pan(-1, 0)", ("shift+left", "H"), "Shift+← H", "Move the picture.", "", _ROOFLINE),
    Action("roof_pan_right", "pan(1, 0)", ("shift+right", "L"), "Shift+→ L", "Move the picture.", "", _ROOFLINE),
    Action("roof_pan_up", "pan(0, 1)", ("shift+up", "K"), "Shift+↑ K", "Move the picture.", "", _ROOFLINE),
    Action("roof_pan_down", "pan(0, -1)", ("shift+down", "J"), "Shift+↓ J", "Move the picture.", "", _ROOFLINE),
    Action("roof_svg", "save_svg", ("S",), "S", "Save the picture as SVG in the current folder.", "save", _ROOFLINE,
           rank=4),
    Action("roof_csv", "save_csv", ("X",), "X", "Save the points and their past as CSV in the current folder.", "data",
           _ROOFLINE, rank=5),
    Action("roof_levels", "levels", ("E",), "E",
           "Show the point under the cursor by the bytes of each memory level, with the binding level, or hide this.",
           "levels", _ROOFLINE, rank=3),
    Action("roof_functions", "functions", ("f",), "f",
           "Show the functions that run on the point's CPUs or in its thread, sampled for ten seconds.",
           "functions", _ROOFLINE, rank=2),
    Action("roof_curve", "curve", ("c",), "c",
           "Show bandwidth over the size of the working set, with its plateaus; Enter measures for ten seconds.", "",
           _ROOFLINE),
)


def bindings_for(where: Where) -> list[BindingType]:
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
