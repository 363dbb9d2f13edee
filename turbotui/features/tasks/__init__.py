"""Tasks: counts of each thread, process and command, sampled at switches (KerMon without a kernel patch)."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "tasks",
    commands=(
        Command(
            "tasks",
            "turbotui.features.tasks.verb",
            "what each thread, process or command did, sampled at its switches",
        ),
    ),
    screens=(
        ScreenSpec("tasks", "7", "tasks", "turbotui.features.tasks.screen", "TasksScreen"),
    ),
    places=(KeyPlace("tasks", "Tasks", (*ROWS, *ARROWS, *PAST, "folded", "pointing", "acts")),),
    keys="turbotui.features.tasks.keys:KEYS",
    background=(("tasks", "turbotui.features.tasks.background"),),
    recorded="turbotui.features.tasks.recorders:RECORDED",
)
