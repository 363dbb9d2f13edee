"""The cache-aware roofline: a machine's peaks, the position of an application below them, and its bound.

Definitions: for a window of time, F floating-point operations, B bytes of the loads and stores that the core issued, T
seconds; arithmetic intensity AI = F / B, performance P = F / T. B is the same for every level of the memory, so an
application is one point (Ilic, Pratas, Sousa: Cache-aware Roofline model, IEEE CAL 13(1), 2014; Antao et al.,
Monitoring Performance and Power for Application Characterization with the Cache-aware Roofline Model, PPAM 2013).
"""

from typing import Final

from turbotui.feature import PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec, key

KEYS: Final = (
    key("roof_rows", "t F5", "Show points for CPUs, cores, packages, the whole machine or threads.", "rows",
        call="rows", rank=0, after="last"),
    key("roof_trail", "v", "Show the past of the point under the cursor, of all points, or none.", "trail",
        call="trail", rank=2),
    key("roof_width", "w", "Change how many bytes a load or store is assumed to have.", "width", call="width", rank=3),
    key("roof_roofs", "R", "Show measured roofs, or theoretical ones.", call="roofs"),
    key("roof_flats", "r",
        "Show flat roofs of double, single or half precision, of int8, or those of the point under the cursor.",
        call="flats"),
    key("roof_nearer", "]", "Zoom in around the cursor.", "nearer", call="zoom(1)", rank=3),
    key("roof_further", "[", "Zoom out.", call="zoom(-1)"),
    key("roof_whole", "A", "Show all roofs and working points again; pressed again, also idle points.", "whole",
        call="whole", rank=4),
    key("roof_left", "←", "Go to the nearest point to the left.", call="to_point(-1, 0)"),
    key("roof_right", "→", "Go to the nearest point to the right.", call="to_point(1, 0)"),
    key("roof_up", "↑", "Go to the nearest point above.", call="to_point(0, 1)"),
    key("roof_down", "↓", "Go to the nearest point below.", call="to_point(0, -1)"),
    key("roof_row_down", "j", "Go to the next row of the table, as n does before a search.", call="move(1)"),
    key("roof_row_up", "k", "Go to the previous row.", call="move(-1)"),
    key("roof_column_left", "h", "Go to the previous column of the table.", call="sideways(-1)"),
    key("roof_column_right", "l", "Go to the next column.", call="sideways(1)"),
    key("roof_pan_left", "Shift+← H", "Move the picture.", call="pan(-1, 0)"),
    key("roof_pan_right", "Shift+→ L", "Move the picture.", call="pan(1, 0)"),
    key("roof_pan_up", "Shift+↑ K", "Move the picture.", call="pan(0, 1)"),
    key("roof_pan_down", "Shift+↓ J", "Move the picture.", call="pan(0, -1)"),
    key("roof_svg", "S", "Save the picture as SVG in the current folder.", "save", call="save_svg", rank=4),
    key("roof_csv", "X", "Save the points and their past as CSV in the current folder.", "data", call="save_csv"),
    key("roof_levels", "E",
        "Show the point under the cursor by the bytes of each memory level, with the binding level, or hide this.",
        "levels", call="levels", rank=3),
    key("roof_functions", "f",
        "Show the functions that run on the point's CPUs or in its thread, sampled for ten seconds.", "functions",
        call="functions", rank=2),
    key("roof_curve", "c",
        "Show bandwidth over the size of the working set, with its plateaus; Enter measures for ten seconds.",
        call="curve"),
)
FEATURE = Feature(
    "roofline",
    commands=(
        Command("roofline", "turbotui.features.roofline.verb", "how close a command, or the machine, comes to its "
                "roofs, and what limits it", group="now", examples=(
                    ("turbotui roofline --machine sapphire-2s -- calculix",
                     "how close a simulated program comes to its roofs"),
                    ("turbotui roofline --machine laptop-old -n 1", "how close a whole machine comes to its roofs"))),
        Command("roofs", "turbotui.features.roofline.roofs_verb", "the peaks of cores and caches: the roofs of the "
                "roofline model", group="know", examples=(
                    ("turbotui roofs --machine sapphire-2s", "the roofs of a simulated server, at once"),
                    ("turbotui roofs --quick", "of this machine, in some seconds"),
                    ("turbotui roofs --theory i7-3770K", "what a data sheet promises of a chip"))),
    ),
    screens=(ScreenSpec("roofline", "6", "roofline", "turbotui.features.roofline.screen", "RooflineScreen"),),
    places=(KeyPlace("roofline", "Roofline", (*ROWS, *PAST, "pages", "ends")),),
    keys="turbotui.features.roofline:KEYS",
    recorded="turbotui.features.roofline.traffic:RECORDED",
    memory="turbotui.features.roofline.memory_watch:MemoryWatch",
)
