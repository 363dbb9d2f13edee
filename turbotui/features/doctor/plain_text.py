"""The text of `turbotui doctor` in a pipe: a line for each source, so that grep finds whole sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from turbotui.cell_widths import cell_count, flush_left
from turbotui.features.doctor.model import Diagnosis, SignalReport, SourceReport, State
from turbotui.machine.perf_errors import OR
from turbotui.quantities.by_key import lists_by_key

MARKS = {State.READY: "✓", State.PARTIAL: "◐", State.ABSENT: "✗"}
TO_HAVE_MORE = "To have more (nothing of this was run):"
_TITLES = ("source", "state", "what it gives", "why, and what to do")
_GAP = "  "


def plain_lines(diagnosis: Diagnosis, *, verbose: bool) -> Iterator[str]:
    """Return the lines of a diagnosis, with every signal if `verbose`."""
    if diagnosis.simulated:
        yield f" {diagnosis.simulated}: nothing below is about the machine in front of you "
    yield from _aligned([tuple(fact) for fact in diagnosis.facts])
    yield from (f"note: {note}" for note in diagnosis.notes)
    yield ""
    rows: list[tuple[str, ...]] = [_TITLES]
    for source in diagnosis.sources:
        rows.append((source.title, f"{MARKS[source.state]} {source.state.value}", source.gives,
                     f"{source.detail} {advice(source)}".strip()))
        rows.extend((f"  {signal.id}", "✓" if signal.usable else "✗", "", signal_text(signal))
                    for signal in (source.signals if verbose else ()))
    yield from _aligned(rows)
    helped = remedies(diagnosis)
    if helped:
        yield ""
        yield TO_HAVE_MORE
    for remedy, titles in helped.items():
        yield f"{', '.join(titles)}:"
        yield from (f"  {way}" for way in remedy.split(OR))


def signal_text(signal: SignalReport) -> str:
    """Return where a signal is read, or why it cannot be."""
    if not signal.usable:
        return f"{signal.reason}: {signal.detail}"
    if signal.compared:
        return f"{signal.origin} (another source is read, and compared with this one)"
    return f"{signal.origin}{'' if signal.chosen else ' (read from another source)'}"


def remedies(diagnosis: Diagnosis) -> Mapping[str, Sequence[str]]:
    """Return the sources that each remedy helps, by the remedy."""
    return lists_by_key((source.remedy, source.title) for source in diagnosis.sources if source.remedy)


def advice(source: SourceReport) -> str:
    """Return an arrow and the first of a source's remedies; "" for a source without."""
    first, *others = source.remedy.split(OR)
    return f"→ {first}{'; other ways are below' if others else ''}" if first else ""


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(cell_count, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _GAP.join(flush_left(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
