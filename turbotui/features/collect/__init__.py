"""Collectors: send readings to other processes through a pipe, a socket or ssh; and the screen of a pipe."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "collect",
    commands=(
        Command("collect", "turbotui.features.collect.verb", "send readings to a screen elsewhere, through a pipe or "
                "a socket", group="many", examples=(
                    ("turbotui collect --socket /tmp/turbotui.sock",
                     "readings for turbotui --connect /tmp/turbotui.sock"),
                    ("ssh node turbotui collect | turbotui view -", "the dashboard of another machine"))),
        Command("view", "turbotui.features.collect.view_verb", "the dashboard for readings that turbotui collect sends",
                group="many", examples=(
                    ("ssh node turbotui collect | turbotui view -", "the dashboard of another machine"),
                    ("turbotui collect | turbotui view -", "of this machine, by way of a pipe"))),
    ),
)
