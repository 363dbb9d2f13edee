"""Resource use of containers, jobs and services: reads control groups and resctrl groups periodically."""

from turbotui.feature import Command, Feature, ScreenSpec

FEATURE = Feature(
    "groups",
    commands=(
        Command(
            "groups",
            "turbotui.features.groups.verb",
            "what each container, job or service uses: control groups, and resctrl groups",
        ),
    ),
    screens=(
        ScreenSpec("groups", "u", "groups", "turbotui.features.groups.screen", "GroupsScreen"),
    ),
    background=(("groups", "turbotui.features.groups.background"),),
)
