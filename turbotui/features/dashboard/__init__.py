"""The dashboard: opens the machine or recording that the command line names, and runs the application."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "dashboard",
    commands=(
        Command("", "turbotui.features.dashboard.verb", "the interactive dashboard", behind="command", examples=(
                    ("turbotui", "every CPU, its clock, power, heat and load, live; ? shows the keys"),
                    ("turbotui why", "one look: what slows this machine down, since when, who, and what to do"),
                    ("turbotui -- make -j2", "run a command, watch the machine meanwhile, and report on both"))),
    ),
)
