"""!: current and past alerts, and the conditions that are watched."""

from __future__ import annotations

import textwrap

from turbotui.app.text_window import TextWindow
from turbotui.app.watch import Watch

_HOW = ("No alert is in your settings. An alert is a table of settings.toml:", "", "[[alert]]",
        'when = "PkgTmp>95 for 10s"', "",
        "It colours the cell, shows a line on every screen, rings the bell, goes to a log; see docs/settings.md.")


def alerts_window(watch: Watch) -> TextWindow:
    """Make the window that lists the user's alerts."""

    def tell(width: int) -> tuple[str, list[str]]:
        lines = _HOW if watch.alerts is None else watch.alerts.window_lines()
        return "alerts", [part for line in lines for part in _wrapped(line, width)]

    return TextWindow(tell)


def _wrapped(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=f"{indent}  ") or [""]
