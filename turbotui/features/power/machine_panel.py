"""The panel of the whole machine: power, its parts, the rest elsewhere, batteries, supplies and fans.

This module does not use Textual.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from turbotui.cell_widths import flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.power.balance import Balance, PlatformFigure
from turbotui.features.power.composed import elsewhere_target, platform_target
from turbotui.features.power.consumers import BalanceRole, Consumer
from turbotui.features.power.domains import LEFT, WORD, PowerSource, amount, difference, fitted, newest
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.meters import PowerMeter, meters_of
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.sentences import as_sentence
from turbotui.widgets.bars import EMPTY, bar
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.levels import whole_role_of
from turbotui.widgets.painter import nice_top
from turbotui.widgets.panel import Line, Panel, Span, Target, wrapped
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.spark import begun, length_of, spark

_SHARE: Final = 6
"""Characters for a share of the whole."""
_MANY: Final = 2
"""The most packages with a line each; more packages share one line."""
_LOW: Final = 3
"""Lines of a picture that has no room for the time it covers."""
_CHARACTERS: Final = {"processor": "█", "memory": "▓", "graphics": "▒", "": "■", "elsewhere": "░"}
_COLOURS: Final = {"processor": StyleRole.LANE_0, "memory": StyleRole.LANE_2, "graphics": StyleRole.LANE_1,
                   "": StyleRole.LANE_3, "elsewhere": StyleRole.DIM}
_SORTS: Final = {"package": "processor", "socket": "processor", "rail": "processor", "sysio": "processor",
                 "apu": "processor", "memory": "memory", "gpu": "graphics", "nvidia": "graphics"}
"""The sort of each kind of consumer; each sort has its own character and colour."""
_SUMMED: Final[dict[str, tuple[str, ColumnId]]] = {"package": ("packages", "PkgWatt"), "memory": ("memory", "RAMWatt")}


@dataclass(frozen=True, slots=True)
class _Part:
    word: str  # the name
    sort: str  # a word of `_COLOURS`
    watts: float | None  # of the interval
    past: Sequence[float]  # watts of earlier intervals, oldest first
    target: Target | None  # the line's cell
    note: str = ""  # a text in place of the share, for parts without watts


def machine_panel(source: PowerSource, balance: Balance, width: int, *, tall: int) -> Panel | None:
    """Draw the panel; None if no power is known.

    Args:
        tall: lines of the picture of the past; 0 for no picture.
    """
    parts = sorted(_parts(source, balance), key=lambda part: list(_COLOURS).index(part.sort))
    if balance.total is None:
        return None
    meters = meters_of(source.frame.capabilities.signals)
    top = nice_top(max([balance.total, *(value for part in parts for value in part.past if not math.isnan(value))]))
    lines = [_whole_bar(source, parts, balance, width), *_rows(source, parts, balance, top, width),
             *_beside(source, balance, meters, width)]
    for text in balance.contradictions:
        lines += wrapped(f"{MARK_AMBER} {as_sentence(text)}", width, StyleRole.AMBER, most=2)
    if tall:
        lines += _picture(parts, balance, width, tall)
    figure = balance.total_figure
    title = f"whole machine · {balance.total:,.1f} W " + ("counted" if figure is None else f"by {figure.name}")
    return Panel(title, StyleRole.SUMMARY, tuple(lines))


# Parts


def _parts(source: PowerSource, balance: Balance) -> Iterator[_Part]:
    """Return the parts that are added up, the processor first, and the watts elsewhere."""
    done: set[str] = set()
    for consumer in balance.parts:
        same = [other for other in balance.parts if other.kind == consumer.kind]
        if len(same) <= _MANY or consumer.kind not in _SUMMED:
            yield _Part(consumer.name, _SORTS.get(consumer.kind, ""), consumer.watts, _past(source, consumer),
                        consumer.target, "" if consumer.why is None else consumer.why.reason.value)
        elif consumer.kind not in done:
            done.add(consumer.kind)
            word, name = _SUMMED[consumer.kind]
            known = [other.watts for other in same if other.watts is not None]
            yield _Part(word, _SORTS[consumer.kind], math.fsum(known) if len(known) == len(same) else None,
                        source.past(name, SYSTEM_ROW), source.target(name, SYSTEM_ROW))
    if balance.elsewhere is not None and balance.platform is not None:
        counted = [_watts_or_asleep(source, part) for part in balance.parts]
        yield _Part("elsewhere", "elsewhere", balance.elsewhere,
                    difference(_sum(source, balance.platform), counted), elsewhere_target(source.frame, balance))


def _past(source: PowerSource, consumer: Consumer) -> Sequence[float]:
    return () if consumer.target is None else source.history.series(*consumer.target, HISTORY)


def _watts_or_asleep(source: PowerSource, consumer: Consumer) -> Sequence[float]:
    """Return the past of a part, with 0 while it slept, when its watts count as elsewhere."""
    past = _past(source, consumer)
    sleeps = consumer.target is not None and consumer.target[0].refusal is not None
    return [0.0 if math.isnan(value) else value for value in past] if sleeps else past


def _sum(source: PowerSource, figure: PlatformFigure) -> list[float]:
    """Return the past of the sum of several meters."""
    pasts = [_past(source, member) for member in figure.members]
    longest = max((len(past) for past in pasts), default=0)
    return [math.fsum(values) for values in zip(*(newest(past, longest) for past in pasts), strict=True)]


# Lines


def _whole_bar(source: PowerSource, parts: Sequence[_Part], balance: Balance, width: int) -> Line:
    """Draw the total, and all its parts in one bar up to the right edge."""
    total = balance.total or 0.0
    target = platform_target(source.frame, balance)
    room = max(0, width - LEFT)
    spans = [Span(flush_left("total", WORD), StyleRole.TITLE),
             Span(amount(balance.total, "W", 1), StyleRole.SUMMARY, target), Span("  ")]
    drawn, reached = 0, 0.0
    for part in parts:
        reached += part.watts or 0.0
        end = max(drawn, min(room, round(reached / total * room))) if total else drawn
        spans.append(Span(_CHARACTERS[part.sort] * (end - drawn), _COLOURS[part.sort]))
        drawn = end
    return (*spans, Span(EMPTY * (room - drawn), StyleRole.RULE))


def _rows(source: PowerSource, parts: Sequence[_Part], balance: Balance, top: float, width: int) -> Iterator[Line]:
    """Draw a line for each part: watts, share as number and bar, and past at the right edge."""
    room = max(0, width - (LEFT + _SHARE))
    past = min(HISTORY, max(0, room - max(8, room // 2) - 1))
    for part in parts:
        share = None if part.watts is None or not balance.total else part.watts / balance.total
        share_text = flush_left(part.note if share is None else flush_right(f"{100 * share:3.0f} %", _SHARE - 1),
                                _SHARE)
        length = room - past - 1 if past else room
        drawn = "" if share is None else bar(share, 1.0, length)
        yield (
            Span(f"{_CHARACTERS[part.sort]} ", _COLOURS[part.sort]),
            Span(flush_left(part.word, WORD - 2), StyleRole.TITLE),
            Span(amount(part.watts, "W", 1), StyleRole.PLAIN, part.target),
            Span("  "), Span(share_text, StyleRole.DIM),
            Span(flush_left(drawn, max(0, length - max(0, len(share_text) - _SHARE))), _COLOURS[part.sort]),
            Span(" " if past else ""),
            Span(spark(part.past, top, past, source.frame.seq) if past else "", StyleRole.SPARK),
        )
    if balance.elsewhere is None and balance.why is not None:
        yield from wrapped(f"elsewhere: {balance.why.detail}", width, StyleRole.DIM, most=2)


def _beside(source: PowerSource, balance: Balance, meters: Sequence[PowerMeter], width: int) -> Iterator[Line]:
    yield from (fitted(_battery(source, meter), width) for meter in meters if meter.kind.id == "battery")
    busy = [consumer for consumer in balance.consumers if consumer.role is BalanceRole.NO_WATTS]
    for neighbour in busy:
        spans = [Span(flush_left(neighbour.name, WORD), StyleRole.TITLE)]
        spans += _cells(source, neighbour.name, (("%", " % busy", 1), ("MHz", " MHz", 0)))
        yield fitted(spans, width)
    fans = [meter for meter in meters if meter.kind.id == "fan"]
    if fans:
        spans = [Span(flush_left("fans", WORD), StyleRole.TITLE)]
        for meter in fans:
            spans += _cells(source, meter.column, (("RPM", "", 0),))
        yield fitted([*spans, Span("rpm", StyleRole.DIM)], width)


def _battery(source: PowerSource, meter: PowerMeter) -> list[Span]:
    """Draw one line: charge left, remaining time, power, and wear."""
    name = meter.column
    state, charge = _value(source, f"{name}State"), _value(source, f"{name}%")
    target = source.target(f"{name}%", SYSTEM_ROW)
    spans = [Span(flush_left("battery" if name == "Bat0" else name, WORD), StyleRole.TITLE)]
    if isinstance(charge, int | float):
        column = source.catalog.get(f"{name}%")
        low = column is not None and column.thresholds is not None and charge <= column.thresholds.amber
        spans += [Span(f"{charge:3.0f} % ", StyleRole.AMBER if low else whole_role_of(None), target),
                  Span(bar(charge, 100.0, 10), StyleRole.AMBER if low else StyleRole.LANE_2), Span(" ")]
    if isinstance(state, str):
        spans.append(Span(f"{state.lower()}  ", StyleRole.PLAIN, source.target(f"{name}State", SYSTEM_ROW)))
    left = _value(source, f"{name}Left")
    if isinstance(left, int | float):
        minutes = round(left * 60)
        spans.append(Span(f"{minutes // 60}:{minutes % 60:02d} h left  ", StyleRole.SUMMARY,
                          source.target(f"{name}Left", SYSTEM_ROW)))
    spans += _cells(source, name, (("Watt", " W", 1), ("Health%", " % health", 0), ("Cycles", " cycles", 0),
                                   ("Age", " s old", 0)))
    return spans


def _value(source: PowerSource, name: ColumnId) -> Value:
    cell = source.cell(name, SYSTEM_ROW)
    return None if cell is None else cell[1]


def _cells(source: PowerSource, name: str, asked: Sequence[tuple[str, str, int]]) -> list[Span]:
    """Return the known numbers of a device, each with its unit."""
    spans: list[Span] = []
    for suffix, unit, decimals in asked:
        value = _value(source, f"{name}{suffix}")
        if isinstance(value, int | float):
            target = source.target(f"{name}{suffix}", SYSTEM_ROW)
            spans += [Span(f"{value:,.{decimals}f}{unit}", StyleRole.PLAIN, target), Span("  ")]
    return spans


# The past


def _picture(parts: Sequence[_Part], balance: Balance, width: int, tall: int) -> list[Line]:
    """Draw the last minute of all parts stacked, over the full width however short the past is."""
    shown = [part for part in parts if len(part.past)]
    longest = max((len(begun(part.past[-HISTORY:])) for part in shown), default=0)
    if not longest:
        return []
    kept = [newest(part.past, longest) for part in shown]
    known = [not math.isnan(value) for value in kept[-1]]  # the watts elsewhere, if known
    pasts = [[0.0 if math.isnan(value) or not known[at] else value for at, value in enumerate(past)] for past in kept]
    totals = [sum(values) for values in zip(*pasts, strict=True)]
    top = nice_top(max([*totals, balance.total or 0.0]))
    label = f"{top:,.0f} W "
    room = width - len(label) - 1
    length = f"{' ' * len(label)}└ {length_of(longest * balance.seconds)} "
    axis = [(Span(length, StyleRole.DIM), Span("─" * (width - len(length)), StyleRole.RULE))] if tall > _LOW else []
    tall -= len(axis)
    lines: list[Line] = []
    for at in range(tall):
        middle = (tall - at - 0.5) * top / tall
        head = label if at == 0 else flush_right("0 W ", len(label)) if at == tall - 1 else " " * len(label)
        edge = "┐" if at == 0 else "┤" if axis and at == tall - 1 else "┘" if at == tall - 1 else "│"
        spans = [Span(f"{head}{edge}", StyleRole.DIM)]
        columns = [_sort_at([past[time] for past in pasts], shown, middle) for time in range(longest)]
        columns = columns[-room:]
        columns = [columns[place * len(columns) // room] for place in range(room)]
        for sort, alike in groupby(columns):
            mark, role = (" ", StyleRole.PLAIN) if sort is None else (_CHARACTERS[sort], _COLOURS[sort])
            spans.append(Span(mark * len(list(alike)), role))
        lines.append(tuple(spans))
    return [*lines, *axis]


def _sort_at(values: Sequence[float], parts: Sequence[_Part], at: float) -> str | None:
    """Return the sort of the part at a height of the stack; None above all parts."""
    total = 0.0
    for value, part in zip(values, parts, strict=True):
        total += max(0.0, value)
        if at <= total:
            return part.sort
    return None
