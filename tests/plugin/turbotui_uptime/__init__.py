"""A feature of another package: how long the machine is up. Only `turbotui.feature` may be imported here."""

from turbotui.feature import ARROWS, ROWS, Action, Command, Feature, KeyPlace, ScreenSpec

KEYS = (Action("uptime_days", "days", ("a",), "a", "Show days, or seconds.", "days", ("uptime",), rank=0),)
FEATURE = Feature(
    "uptime",
    commands=(Command("uptime", "turbotui.commands.row_verb", "how long the machine is up",
                      rows="turbotui_uptime.rows:CLOCKS"),),
    screens=(ScreenSpec("uptime", "U", "uptime", "turbotui_uptime.screen", "UptimeScreen"),),
    places=(KeyPlace("uptime", "Uptime", (*ROWS, *ARROWS)),),
    keys="turbotui_uptime:KEYS",
    sources="turbotui_uptime.measured:SOURCES",
    columns="turbotui_uptime.measured:COLUMNS",
    kept="turbotui_uptime.measured:kept",
    rows="turbotui_uptime.rows:CLOCKS",
    exported="turbotui_uptime.families:FAMILIES",
)
