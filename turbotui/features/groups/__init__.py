"""Resource use of containers, jobs and services: reads control groups and resctrl groups periodically."""

from typing import Final

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("group_rows", "t F5", "Show control groups as a tree, as a list, or the groups of resctrl.", "rows",
        call="rows", rank=1, after="acts"),
)
FEATURE = Feature(
    "groups",
    commands=(
        Command("groups", "turbotui.features.groups.verb", "what each container, job or service uses: control groups, "
                "and resctrl groups", group="now", examples=(
                    ("turbotui groups -n 1", "which container, job or service uses the machine"),
                    ("turbotui groups --top 5 -n 1", "only the five that use most"))),
    ),
    screens=(
        ScreenSpec("groups", "u", "groups", "turbotui.features.groups.screen", "GroupsScreen",
                   finds="turbotui.features.groups.columns:names_of_columns"),
    ),
    places=(KeyPlace("groups", "Groups", (*ROWS, *ARROWS, *PAST, "folded", "adding", "acts")),),
    keys="turbotui.features.groups:KEYS",
    totals="turbotui.features.groups.totals:GroupTotalsReader",
    background=(("groups", "turbotui.features.groups.background:BackgroundGroups"),),
    recorded="turbotui.features.groups.recorders:RECORDED",
)
