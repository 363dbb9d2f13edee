"""@: a time to show or a condition to look for, typed at the bottom."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.app.past import TimeCursor
from turbotui.app.prompt import Prompt
from turbotui.errors import UsageError
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.filters import FilterError, parse_filter
from turbotui.quantities.moments import is_moment, parse_moment


def past_prompt(cursor: TimeCursor, find: Callable[[str], CounterColumn | None],
                answered: Callable[[TimeCursor], None], example: str) -> tuple[Prompt, Callable[[str | None], None]]:
    """The prompt for a time or a condition, and the function that takes its answer and then calls `answered`.

    Args:
        example: name of a column that is here.
    """
    here = cursor.timeline.times[cursor.index]

    def typed(text: str) -> str:
        try:
            _take(cursor, text, here, find, move=False)
        except (UsageError, FilterError) as error:
            return str(error)
        return ""

    def done(text: str | None) -> None:
        if text is None or not text.strip():
            return
        try:
            _take(cursor, text, here, find, move=True)
        except (UsageError, FilterError):
            return
        answered(cursor)

    before = "" if cursor.condition is None else cursor.condition.text
    return Prompt(f"time (14:03:20, -5m), or condition ({example}>90)", before, typed), done


def _take(cursor: TimeCursor, text: str, here: int, find: Callable[[str], CounterColumn | None], *,
          move: bool) -> None:
    """Parse a text and, if asked to, move the cursor or set its condition."""
    times = cursor.timeline.times
    if is_moment(text) or not text.strip():
        if text.strip():
            time_ns = parse_moment(text, here, times[0], times[-1])
            if move:
                cursor.condition = None
                cursor.jump(time_ns)
        return
    condition = parse_filter(text, find)
    if not condition.columns:
        raise FilterError(f'"{text.strip()}" is neither a time nor a condition of columns')
    if move:
        cursor.condition = condition
