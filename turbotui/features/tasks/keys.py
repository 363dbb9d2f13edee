"""Keys of tasks."""

from __future__ import annotations

from typing import Final

from turbotui.feature import Action

KEYS: Final = (
    Action("watch", "watch", ("w",), "w", "Choose what to watch: all, a process, a control group, applications.",
           "watch", ("tasks",), rank=0, after="point"),
    Action("start_stop", "start_stop", ("s",), "s", "Stop watching, which closes every counter, or start again.",
           "stop/start", ("tasks",), rank=2),
    Action("rows", "rows", ("t", "f5"), "t F5",
           "Change what a row is: a thread, a process, a process in a tree, a command, or a container or unit.",
           "rows", ("tasks",),
           rank=1),
    Action("span", "span", ("K",), "K",
           "Show CPU time, bytes and energy of the last minute, those since the mark (M), or numbers of each interval.",
           "amounts", ("tasks",), rank=1),
    Action("timeline", "timeline", ("v",), "v", "Show numbers, or where each thread ran, with time from left to right.",
           "timeline", ("tasks",), rank=1),
    Action("window_longer", "window(1)", ("right_square_bracket",), "]", "Make the timeline longer.", "", ("tasks",)),
    Action("window_shorter", "window(-1)", ("left_square_bracket",), "[", "Make the timeline shorter.", "", ("tasks",)),
)
