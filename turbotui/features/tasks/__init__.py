"""Tasks: counts of each thread, process and command, sampled at switches (KerMon without a kernel patch)."""

from typing import Final

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("watch", "w", "Choose what to watch: all, a process, a control group, applications.", "watch", rank=0,
        after="point"),
    key("start_stop", "s", "Stop watching, which closes every counter, or start again.", "stop/start", rank=2),
    key("rows", "t F5",
        "Change what a row is: a thread, a process, a process in a tree, a command, or a container or unit.", "rows",
        rank=1),
    key("span", "K",
        "Show CPU time, bytes and energy since the mark (M), those of the last minute, or numbers of each interval.",
        "amounts", rank=1),
    key("timeline", "v", "Show numbers, or where each thread ran, with time from left to right.", "timeline", rank=1),
    key("window_longer", "]", "Make the timeline longer.", call="window(1)"),
    key("window_shorter", "[", "Make the timeline shorter.", call="window(-1)"),
)
FEATURE = Feature(
    "tasks",
    commands=(
        Command("tasks", "turbotui.features.tasks.verb", "what each thread, process or command did, sampled at its "
                "switches", group="now", examples=(
                    ("turbotui tasks --all -n 1", "which tasks had the CPUs for one second"),
                    ("turbotui tasks --all --by command -n 1", "the same by program"),
                    ("turbotui tasks -- sleep 1", "everything that a command starts, and what it took"))),
    ),
    screens=(
        ScreenSpec("tasks", "7", "tasks", "turbotui.features.tasks.screen", "TasksScreen",
                   finds="turbotui.features.tasks.columns:names_of_columns"),
    ),
    places=(KeyPlace("tasks", "Tasks", (*ROWS, *ARROWS, *PAST, "folded", "pointing", "acts")),),
    keys="turbotui.features.tasks:KEYS",
    background=(("tasks", "turbotui.features.tasks.background:BackgroundTasks"),),
    recorded="turbotui.features.tasks.recorders:RECORDED",
    waits="turbotui.features.tasks.recorded_waits:CommandWaits",
    traced="turbotui.features.tasks.traced:trace_of",
)
