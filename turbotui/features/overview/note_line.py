"""The last line of the overview: load, memory, uptime, and sources that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.cell_widths import flush_right
from turbotui.features.overview.top_tasks import MachineStatus

_GAP: Final = 3
_DAY: Final = 86400


def note_line(facts: MachineStatus, mute: int, sources: int, width: int) -> str:
    """Draw load, memory and uptime at the left as far as they fit, and unreadable sources at the right."""
    said = list(_in_words(facts))
    told = ("", "") if not mute else (f"{mute} of {sources} sources of numbers cannot be read here: 9 says why",
                                      f"{mute} of {sources} sources missing: 9")
    for right in told:
        if _fits(said, right, width):
            break
    while said and not _fits(said, right, width):
        said.pop()
    left = " · ".join(said)
    return f" {left}{flush_right(right, width - len(left) - 2) if left else right}".rstrip()


def _fits(said: Sequence[str], right: str, width: int) -> bool:
    return len(" · ".join(said)) + len(right) + (_GAP if said and right else 0) + 2 <= width


def _in_words(facts: MachineStatus) -> Iterator[str]:
    if facts.load is not None:
        yield "load " + " ".join(f"{one:.2f}" if one < 10 else f"{one:.1f}" for one in facts.load)
    if facts.memory is not None:
        used, total = (one / 1e9 for one in facts.memory)
        yield f"memory {used:.1f} of {total:.1f} GB"
    if facts.up is not None:
        days, left = divmod(int(facts.up), _DAY)
        yield f"up {f'{days} d ' if days else ''}{left // 3600}:{left % 3600 // 60:02}"
