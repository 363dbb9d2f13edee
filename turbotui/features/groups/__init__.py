"""What containers, jobs and services use: control groups and resctrl groups, read again and again."""

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
