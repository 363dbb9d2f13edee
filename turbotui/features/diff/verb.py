"""`turbotui diff`: differences between two recordings beyond chance, and broken limits."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from turbotui.commands.formats import add_format_arguments, print_tables, terminal_room, text_lines
from turbotui.commands.long_work import LongWork, long_work, stopped_at
from turbotui.features.diff.comparing import SIGNIFICANT, ComparedColumn, compared, notes_of
from turbotui.features.diff.limits import BROKEN, DOUBTFUL, Limit, LimitResult, checked, exit_status, parse_limit
from turbotui.features.diff.series import GatheredSeries, Side, comparable_columns, side_of
from turbotui.features.diff.spans import RecordedSpan, common_interval, open_span
from turbotui.features.diff.tables import DRIFTS, TABLES, diff_tables, facts_of, span_line, text_table
from turbotui.machine.host import HostKind
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.moments import parse_duration
from turbotui.quantities.scope import Scope
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import TEXT


def diff_lines(envelope: Envelope, sides: tuple[Side, Side], columns: Sequence[ComparedColumn],
               results: Sequence[LimitResult], *, everything: bool, room: int | None) -> Iterator[str]:
    """Format the sides and their differences; with `everything`, also equal columns and those not compared."""
    yield f"# diff, {envelope.kind.value} machine {envelope.machine}"
    yield from (span_line(letter, side.facts) for letter, side in zip("AB", sides, strict=True))
    yield from (f"note: {note}" for note in envelope.notes)
    able = [column for column in columns if column.p is not None]
    differing = [column for column in able if column.differs]
    unable = [column for column in columns if column.p is None]
    yield f"{len(differing)} of {len(able)} differ by more than chance (p < {SIGNIFICANT} among all of them)"
    drifting = [column for column in unable if column.effect is not None and (everything or column.size == "large")]
    shown = [*(able if everything else differing), *drifting]
    if shown:
        yield from text_lines(envelope, text_table(shown, verdicts=everything), room=room)
        yield "A, B: medians; IQR: width of the middle half; effect: -1 all lower, +1 higher"
    if drifting:
        yield (f"{DRIFTS}: {len(drifting)} differences of so few independent values may be chance; compare longer or "
               "steadier times")
    if everything:
        yield from (f"not compared: {_named(column)}: {column.why.detail}"
                    for column in unable if column.why is not None)
    elif len(columns) > len(shown):
        yield f"--all shows the other {len(columns) - len(shown)}, and why {len(unable)} could not be compared"
    yield from (result.sentence for result in results)


def _named(compared: ComparedColumn) -> str:
    where = f" of {compared.row.scope.value} {'.'.join(map(str, compared.row.key))}" if compared.row.key else ""
    return f"{compared.column.id}{where}"


_LEVELS: Final = {"machine": Scope.SYSTEM, "package": Scope.PACKAGE, "cpu": Scope.CPU}
_MOST_VALUES: Final = 4_000_000  # most values of each side in memory: 130 MB
_STEPS: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    for letter, text in (("A", "a recording, or a span of one: FILE@FROM..TO, as run.ttj@14:03..14:08, run.ttj@..+5m"),
                         ("B", "the recording or span to compare with A")):
        parser.add_argument(letter.lower(), metavar=letter, help=text)
    parser.add_argument("--by", choices=tuple(_LEVELS), default="machine",
                        help="rows: one for the machine (default), for each package, for each CPU")
    parser.add_argument("--columns", metavar="NAMES", default="",
                        help="only these columns or categories, comma separated; with fewer columns, fewer differ by "
                        "chance")
    parser.add_argument("--all", action="store_true",
                        help="also print what does not differ, and what cannot be compared, with the reason")
    parser.add_argument("--limit", metavar="SPEC", action="append", default=[],
                        help=f'check: "PkgWatt +5%%" or "Bzy_MHz -2%%": exit status {BROKEN} if the median in B is '
                        f"higher (lower) by more than this and by more than chance, {DOUBTFUL} if that is uncertain; "
                        "may be given several times")
    parser.add_argument("--every", metavar="TIME", default="",
                        help="compare in intervals of this length (10s, 1m) instead of the recorded one")
    add_format_arguments(parser, TABLES)


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and check the limits."""
    limits = [parse_limit(text) for text in arguments.limit]
    every = parse_duration(arguments.every, "--every") if arguments.every else 0.0
    level = _LEVELS[arguments.by]
    with contextlib.ExitStack() as opened:
        spans = (_opened(arguments.a, opened), _opened(arguments.b, opened))
        columns, named = _chosen(spans, arguments.columns, limits)
        work = opened.enter_context(long_work("reading recordings"))
        first, second, notes = _sides(spans, every, level, columns, work)
    comparisons = compared(first, second, named)
    results = [checked(limit, comparisons) for limit in limits]
    names = dict.fromkeys(side.facts.machine for side in (first, second))
    envelope = Envelope(", ".join(names), HostKind.RECORDED, max(first.facts.end_ns, second.facts.end_ns),
                        facts=facts_of(first, second), notes=(*notes, *notes_of(first, second, comparisons)))
    shown: Sequence[ComparedColumn] = comparisons if arguments.all else [column
                                                                         for column in comparisons if column.differs]
    print_tables(arguments, envelope, diff_tables(shown, results),
                 lambda: diff_lines(envelope, (first, second), comparisons, results, everything=arguments.all,
                                    room=terminal_room()))
    if arguments.format != TEXT:
        for result in results:
            if result.verdict != "kept":
                print(f"turbotui: {result.sentence}", file=sys.stderr)
    return work.status or exit_status(results)


def _opened(text: str, opened: contextlib.ExitStack) -> RecordedSpan:
    span = open_span(text)
    opened.callback(span.journal.close)
    return span


def _chosen(spans: tuple[RecordedSpan, RecordedSpan], words: str,
            limits: Sequence[Limit]) -> tuple[Sequence[Sequence[CounterColumn]], Collection[ColumnId]]:
    """Return the columns to compare, from each span's catalog, and the names of requested ones.

    Raises:
        UsageError: a word is in neither catalog.
    """
    catalogs = [span.journal.catalog for span in spans]
    named = _names(catalogs, [limit.column for limit in limits])
    if not words:
        return [[*comparable_columns(catalog.columns, named)] for catalog in catalogs], named
    named |= _names(catalogs, [word.strip() for word in words.split(",")])
    return [[column for column in catalog.columns if column.id in named] for catalog in catalogs], named


def _names(catalogs: Sequence[Catalog], words: Sequence[str]) -> set[ColumnId]:
    names: set[ColumnId] = set()
    for word in words:
        knowing = [catalog for catalog in catalogs if word in catalog.words()]
        for catalog in knowing or catalogs[:1]:  # the first catalog's error suggests similar names
            names |= {column.id for column in catalog.select([word])}
    return names


def _sides(spans: tuple[RecordedSpan, RecordedSpan], every: float, level: Scope,
           columns: Sequence[Sequence[CounterColumn]], work: LongWork) -> tuple[Side, Side, list[str]]:
    first, second = spans
    notes = []
    seconds, *asked = common_interval(spans, every)
    most = max(span.seconds / seconds * len(chosen) * len(span.journal.machine.topology.rows(level))
               for span, chosen in zip(spans, columns, strict=True))
    if most > _MOST_VALUES and not every:
        longer = next((step for step in _STEPS if step >= seconds * most / _MOST_VALUES), _STEPS[-1])
        seconds, *asked = common_interval(spans, longer)
        notes.append(f"compared in intervals of {seconds:g} s, as there are many values: --every or fewer --columns "
                     "change that")
    own = [span.interval() for span in spans]
    if not every and not math.isclose(own[0], own[1], rel_tol=0.05):
        notes.append(f"another interval: {own[0]:.3g} s in A, {own[1]:.3g} s in B; both are compared in intervals of "
                     f"{seconds:.3g} s")
    if first.overlaps(second):
        notes.append("A and B are times of one recording that overlap: what they share cannot differ")
    both = [GatheredSeries(chosen, level, seconds) for chosen in columns]
    # in turns, so that there is something of both to compare when a signal ends it
    for frames in zip_longest(*(work.frames(span.frames(every), span.begin_ns, span.end_ns, letter)
                                for letter, span, every in zip("AB", spans, asked, strict=True))):
        for gathered, frame in zip(both, frames, strict=True):
            if frame is not None:
                gathered.take(frame)
    if work.number:
        untils = [max(gathered.ends, default=span.end_ns) for gathered, span in zip(both, spans, strict=True)]
        notes += [f"{letter}: {stopped_at(until)}" for letter, until, span in zip("AB", untils, spans, strict=True)
                  if until < min(span.end_ns, span.journal.last_ns)]
    side, other = (side_of(span, number, gathered, seconds)
                   for number, (span, gathered) in enumerate(zip(spans, both, strict=True)))
    return side, other, notes
