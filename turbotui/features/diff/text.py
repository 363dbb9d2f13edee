"""A comparison of recordings for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from turbotui.commands.formats import text_lines
from turbotui.features.diff.comparing import SIGNIFICANT, ComparedColumn
from turbotui.features.diff.limits import LimitResult
from turbotui.features.diff.series import Side
from turbotui.features.diff.tables import DRIFTS, span_line, text_table
from turbotui.tables.envelope import Envelope


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
    drifting = [one for one in unable if one.effect is not None and (everything or one.size == "large")]
    shown = [*(able if everything else differing), *drifting]
    if shown:
        yield from text_lines(envelope, text_table(shown, verdicts=everything), room=room)
        yield "A, B: medians; IQR: width of the middle half; effect: -1 all lower, +1 higher"
    if drifting:
        yield (f"{DRIFTS}: {len(drifting)} differences of so few independent values may be chance; compare longer or "
               "steadier times")
    if everything:
        yield from (f"not compared: {_named(one)}: {one.why.detail}" for one in unable if one.why is not None)
    elif len(found) > len(shown):
        yield f"--all shows the other {len(found) - len(shown)}, and why {len(unable)} could not be compared"
    yield from (one.sentence for one in results)


def _named(one: ComparedColumn) -> str:
    where = f" of {one.row.scope.value} {'.'.join(map(str, one.row.key))}" if one.row.key else ""
    return f"{one.column.id}{where}"
