"""Keys of roofline."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

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
