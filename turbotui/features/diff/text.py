"""A comparison of recordings for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turbotui.commands.formats import text_lines
from turbotui.features.diff.comparing import SIGNIFICANT, ComparedColumn
from turbotui.features.diff.limits import LimitResult
from turbotui.features.diff.series import Side
from turbotui.features.diff.tables import span_line, text_table
from turbotui.tables.envelope import Envelope

_MOST_NAMED: Final = 8  # of what drifts, the greatest effects first; --all has a line for each


def diff_lines(envelope: Envelope, sides: tuple[Side, Side], found: Sequence[ComparedColumn],
               results: Sequence[LimitResult], *, everything: bool, room: int | None) -> Iterator[str]:
    """What differs, below what was compared; with `everything`, also what does not, and what could not be compared.

    Args:
        envelope: of the tables, with what is to be said above them.
        sides: what was compared.
        found: all comparisons.
        results: of the limits.
        everything: whether more than what differs is told.
        room: characters of a line, None for any number.
    """
    yield f"# diff, {envelope.kind.value} machine {envelope.machine}"
    yield from (span_line(letter, side.facts) for letter, side in zip("AB", sides, strict=True))
    yield from (f"note: {note}" for note in envelope.notes)
    able = [one for one in found if one.p is not None]
    differing = [one for one in able if one.differs]
    unable = [one for one in found if one.p is None]
    yield f"{len(differing)} of {len(able)} differ by more than chance (p < {SIGNIFICANT} among all of them)"
    shown = able if everything else differing
    if shown:
        yield from text_lines(envelope, text_table(shown, verdicts=everything), room=room)
        yield "medians; IQR: width of the middle half; effect: -1 (all of B lower) to +1 (all higher)"
    drifting = [one for one in unable if one.effect is not None]
    if drifting:
        more = len(drifting) - _MOST_NAMED
        yield (f"cannot be told, as they drift and so few values count: "
               f"{', '.join(map(_moved, drifting[:_MOST_NAMED]))}" + (f" and {more} more" if more > 0 else ""))
    if everything:
        yield from (f"not compared: {_named(one)}: {one.why.detail}" for one in unable if one.why is not None)
    elif len(able) > len(differing) or unable:
        yield f"--all shows the other {len(able) - len(differing)}, and why {len(unable)} could not be compared"
    yield from (one.sentence for one in results)


def _moved(one: ComparedColumn) -> str:
    digits = max(one.column.decimals, 0)
    medians = " to ".join(f"{spread.median:.{digits}f}" for spread in one.spreads if spread is not None)
    return f"{_named(one)} {medians} {one.column.unit}".rstrip()


def _named(one: ComparedColumn) -> str:
    where = f" of {one.row.scope.value} {'.'.join(map(str, one.row.key))}" if one.row.key else ""
    return f"{one.column.id}{where}"
