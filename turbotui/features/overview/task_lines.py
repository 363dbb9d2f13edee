"""Draws the processes that use the CPUs as lines; without Textual."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from turbotui.cell_widths import cell_count, cut, fitted, flush_right
from turbotui.features.overview.top_tasks import TopTask
from turbotui.widgets.cells import StyleRole, number
from turbotui.widgets.levels import flat_bar, role_of
from turbotui.widgets.panel import Line, Span

_NAME: Final = 16
_FEW: Final = ("process", "memory")
"""The columns that stay beside the arguments if not all fit, as arguments tell more than threads."""
_LEAST_BAR: Final = 10
_FIXED: Final = ((" process", 9), (" state", 6), (" threads", 8), ("  CPU", 5), (" memory", 9), ("   CPU time", 11))
"""Titles after the name, with their widths; they are dropped from the right."""
_CPU_PERCENT: Final = 8
_LONG: Final = 10.0
"""Seconds from which a time has no decimals."""
_BAR: Final = 16
_ARGUMENTS: Final = 16
"""The width from which arguments are shown, which tell processes of one interpreter apart."""


def task_lines(tasks: Sequence[TopTask], width: int, count: int, before: str = "", *,
               seconds: float = 0.0, absent: str = "", unseen: str = "") -> list[Line]:
    """Draw a title, and a line of exactly `width` characters for each process.

    Args:
        seconds: the time of the shares, which is not that of the numbers of CPUs.
        count: the most lines of tasks.
        before: the text between these lines and what stands at their left.
        absent: why there are no tasks, if they are never polled.
        unseen: what tasks cannot be seen, which takes lines of theirs; "" if all can.
    """
    inner = width - len(before)
    fixed = list(_FIXED)
    while fixed and _NAME + _CPU_PERCENT + sum(size for _, size in fixed) + 12 > inner:
        fixed.pop()
    free = inner - _NAME - _CPU_PERCENT - sum(size for _, size in fixed) - 2
    words = free - _BAR if len(fixed) == len(_FIXED) and free >= _BAR + _ARGUMENTS else 0
    if not words and any(task.arguments for task in tasks[:count]):
        few = [column for column in _FIXED if column[0].strip() in _FEW]
        left = inner - _NAME - _CPU_PERCENT - sum(size for _, size in few) - 2
        if left >= _LEAST_BAR + _ARGUMENTS:
            fixed, free, words = few, left, left - min(_BAR, max(_LEAST_BAR, left - 2 * _ARGUMENTS))
    bar = max(0, min(40, free - words))
    edge = [Span(before, StyleRole.RULE)] if before else []
    time = f", over {seconds:.{int(seconds < _LONG)}f} s" if tasks and seconds else ""
    title = fitted(f" task{time}", _NAME + bar + 1) + flush_right("CPU%", _CPU_PERCENT - 1)
    title += " " + "".join(flush_right(word, size) for word, size in fixed)
    title += "  arguments" if words else ""
    lines: list[Line] = [(*edge, Span(fitted(title, inner), StyleRole.TITLE))]
    sentence, role = (absent, StyleRole.DIM) if absent and not tasks else (unseen, StyleRole.AMBER)
    sentence_lines = textwrap.wrap(sentence, max(1, inner - 1))[:count]
    lines += [(*edge, Span(fitted(f" {line}", inner), role)) for line in sentence_lines]
    count -= len(sentence_lines)
    top = max((task.percent for task in tasks[:count]), default=100.0)
    for task in tasks[:count]:
        level = role_of(min(1.0, task.percent / 100))
        cpu = "—" if task.cpu < 0 else str(task.cpu)
        texts = (str(task.pid), task.state, f"{task.threads:,}", cpu, _bytes(task.bytes), _time(task.running))
        by_title = {title: text for text, (title, _) in zip(texts, _FIXED, strict=True)}
        rest = "".join(flush_right(by_title[title], size) for title, size in fixed)
        if words:
            rest += f"  {cut(task.arguments, words - 3)}"
        drawn = flat_bar(task.percent / max(100.0, top), bar, level)
        parts = [(f" {fitted(task.name, _NAME - 2)} ", StyleRole.PLAIN), *drawn,
                 (flush_right(number(task.percent, 1, _CPU_PERCENT), _CPU_PERCENT) + " ", level),
                 (rest, StyleRole.DIM)]
        parts.append((" " * max(0, inner - sum(cell_count(text) for text, _ in parts)), StyleRole.PLAIN))
        lines.append((*edge, *(Span(*part, action=f"open_task({task.pid})") for part in parts)))
    return lines


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 999.5:
            return f"{value:.0f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _time(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
