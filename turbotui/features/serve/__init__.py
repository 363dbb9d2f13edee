"""`turbotui serve`: the dashboard in a browser, each tab with a process and a terminal of its own."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "serve",
    commands=(
        Command("serve", "turbotui.features.serve.verb", "the dashboard in a browser of this machine",
                behind="option", group="many", examples=(
                    ("turbotui serve", "the dashboard in a browser, at the address that is printed"),
                    ("turbotui serve -- --screen tasks -i 2", "with options of the dashboard"))),
    ),
)
