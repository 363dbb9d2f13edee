"""The lines of the opening in plain ASCII: machine, load and a bar for each CPU, or the help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.opening.readings import OpeningReading

Line = tuple[tuple[str, str], ...]
"""Pieces of a line, each with one of `PLAIN`, `DIM`, `STRONG`, `BAR`."""
PLAIN: Final = "plain"
DIM: Final = "dim"
STRONG: Final = "strong"
BAR: Final = "bar"
_EMPTY: Final[Line] = ()
_NARROWEST: Final = 22  # width of a CPU's bar, with its name and number
_AROUND: Final = 6  # lines other than bars: two on top, two below, and a blank one beside each
_GIB: Final = 1 << 20  # KiB


@dataclass(frozen=True, slots=True)
class OpeningView:
    """Values that the opening shows."""

    known: OpeningReading | None  # what could be read in a millisecond; None for another machine than this one
    busy: Mapping[int, float | None]  # percent of each CPU; empty before the second reading
    doing: str  # what is being waited for, such as "probing what can be read here"
    seconds: float = 0.0  # how long it has taken so far
    keys_wait: bool = False  # whether keys are being kept for their screen


def opening_lines(moment: OpeningView, width: int, height: int) -> list[Line]:
    """The whole screen, in lines no longer than the width and no more than the height."""
    known = moment.known
    top = [((" turbotui", STRONG),)] if known is None else [_place(known, width), _load(known)]
    bars = [] if known is None else _bars(moment.busy or dict.fromkeys(known.ticks), width, height - _AROUND)
    since = f" ... {moment.seconds:.0f} s" if moment.seconds >= 2 else " ..."
    waiting = "  keys wait for their screen; Ctrl+C leaves" if moment.keys_wait else ""
    below: list[Line] = [((f" {moment.doing}{since}{waiting}", DIM),),
                         ((" ?", STRONG), (" help  ", DIM), ("q", STRONG), (" quit", DIM))]
    upper = [*top, _EMPTY, *bars][: max(0, height - len(below))]
    blank = [_EMPTY] * (height - len(upper) - len(below))
    return [_cut(line, width) for line in (*upper, *blank, *below)][:height]


def help_lines(keys: Sequence[Line], scrolled: int, width: int, height: int) -> list[Line]:
    """A page of the help."""
    page = keys[scrolled:scrolled + max(1, height - 2)]
    blank = [_EMPTY] * (height - 2 - len(page))
    foot: Line = ((" ?", STRONG), (" close  ", DIM), ("arrows", STRONG), (" scroll  ", DIM), ("ctrl+c", STRONG),
                  (" quit", DIM))
    return [_cut(line, width) for line in (*page, *blank, _EMPTY, foot)][:height]


def _place(known: OpeningReading, width: int) -> Line:
    counts = f"{len(known.ticks)} CPU{'s' * (len(known.ticks) != 1)}" if known.ticks else ""
    words = [known.model, counts, f"Linux {known.kernel}"]
    text, used = "", len(known.name) + 1
    for word in words:
        if word and used + len(text) + len(word) + 3 <= width:
            text += f"   {word}"
    return (f" {known.name}", STRONG), (text, PLAIN)


def _load(known: OpeningReading) -> Line:
    pieces: list[tuple[str, str]] = []
    if known.loads:
        pieces += [(" Load ", DIM), ("  ".join(f"{load:.2f}" for load in known.loads), STRONG)]
    if known.tasks:
        running, _, existing = known.tasks.partition("/")
        pieces += [("   Tasks ", DIM), (f"{running} of {existing} run", PLAIN)]
    if known.memory_kib is not None:
        free, whole = known.memory_kib
        pieces += [("   Memory ", DIM), (f"{(whole - free) / _GIB:.1f} of {whole / _GIB:.1f} GiB", PLAIN)]
    return tuple(pieces)


def _bars(busy: Mapping[int, float | None], width: int, room: int) -> list[Line]:
    """Bars of the CPUs in columns; a sentence if there are more than fit."""
    if not busy or room < 1:
        return []
    digits = len(str(max(busy)))
    columns = max(1, min(width // _NARROWEST, -(-len(busy) // room)))
    if columns * room < len(busy):
        known = [value for value in busy.values() if value is not None]
        full = f", {sum(value > 90 for value in known)} of them above 90 %" if known else ""
        mean = f"{sum(known) / len(known):.1f} % busy" if known else "not yet known"
        return [((f" {len(busy)} CPUs: ", DIM), (mean, STRONG), (full, PLAIN))]
    rows = -(-len(busy) // columns)
    size = min(60, width // columns)
    lines: list[list[tuple[str, str]]] = [[] for _ in range(rows)]
    for number, (cpu, value) in enumerate(busy.items()):
        lines[number % rows] += _bar(f" {cpu:>{digits}} ", value, size)
    return [tuple(line) for line in lines]


def _bar(name: str, value: float | None, size: int) -> list[tuple[str, str]]:
    number = "     - % " if value is None else f" {value:5.1f} % "
    room = size - len(name) - len(number) - 2
    full = 0 if value is None else round(room * value / 100)
    return [(f"{name}[", DIM), ("|" * full, BAR), (" " * (room - full), PLAIN), ("]", DIM), (number, PLAIN)]


def _cut(line: Line, width: int) -> Line:
    kept: list[tuple[str, str]] = []
    left = width
    for text, style in line:
        kept.append((text[:left], style))
        left -= len(kept[-1][0])
    return tuple(kept)
