"""Keys of tasks."""

from __future__ import annotations

from typing import Final

from turbotui.feature import key

KEYS: Final = (
    key("watch", "w", "Choose what to watch: all, a process, a control group, applications.", "watch", rank=0,
        after="point"),
    key("start_stop", "s", "Stop watching, which closes every counter, or start again.", "stop/start", rank=2),
    key("rows", "t F5",
        "Change what a row is: a thread, a process, a process in a tree, a command, or a container or unit.", "rows",
        rank=1),
    key("span", "K",
        "Show CPU time, bytes and energy since the mark (M), those of the last minute, or numbers of each interval.",
        "amounts", rank=1),
    key("timeline", "v", "Show numbers, or where each thread ran, with time from left to right.", "timeline", rank=1),
    key("window_longer", "]", "Make the timeline longer.", call="window(1)"),
    key("window_shorter", "[", "Make the timeline shorter.", call="window(-1)"),
)
