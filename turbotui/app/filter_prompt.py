"""f: a filter of rows, typed at the bottom, applied with every letter."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.app.prompt import Prompt
from turbotui.quantities.filters import C, Filter, FilterError, parse_filter


def filter_prompt(before: Filter[C], find: Callable[[str], C | None],
                  take: Callable[[Filter[C]], None]) -> tuple[Prompt, Callable[[str | None], None]]:
    """The prompt for a filter, and the function that takes its answer; Esc restores the earlier filter.

    Args:
        take: shows the rows that a filter leaves; an empty filter leaves all.
    """

    def typed(text: str) -> str:
        try:
            chosen = parse_filter(text, find)
        except FilterError as error:
            return str(error)
        take(chosen)
        return ""

    def done(text: str | None) -> None:
        if text is None:
            take(before)

    return Prompt("filter", before.text, typed), done
