"""Tasks: counts of each thread, process and command, sampled at switches (KerMon without a kernel patch)."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "tasks",
    commands=(
        Command(
            "tasks",
            "turbotui.features.tasks.verb",
            "what each thread, process or command did, sampled at its switches",
            group="now", examples=(
                ("turbotui tasks --all -n 1", "which tasks had the CPUs for one second"),
                ("turbotui tasks --all --by command -n 1", "the same by program"),
                ("turbotui tasks -- sleep 1", "everything that a command starts, and what it took"),
            )),
    ),
    screens=(
        ScreenSpec("tasks", "7", "tasks", "turbotui.features.tasks.screen", "TasksScreen",
                   finds="turbotui.features.tasks.columns:names_of_columns"),
    ),
    places=(KeyPlace("tasks", "Tasks", (*ROWS, *ARROWS, *PAST, "folded", "pointing", "acts")),),
    keys="turbotui.features.tasks.keys:KEYS",
    background=(("tasks", "turbotui.features.tasks.background"),),
    recorded="turbotui.features.tasks.recorders:RECORDED",
    waits="turbotui.features.tasks.recorded_waits:CommandWaits",
    traced="turbotui.features.tasks.traced:trace_of",
)
