"""The two lines on top: the machine and turbotui's own cost, and the state of the whole machine."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turbotui.cell_widths import cell_count, centred, cut, flush_right
from turbotui.dataclass import dataclass
from turbotui.machine.host import HostKind
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.units import Unit
from turbotui.widgets.cells import UNKNOWN, StyleRole
from turbotui.widgets.levels import whole_role_of
from turbotui.widgets.painter import TextSegment, nice_top
from turbotui.widgets.spark import spark

_WIDE: Final = 104
"""From this width on, there is room for the memory that turbotui holds."""
_WIDEST: Final = 140
"""From this width on, there is room for the time that a reading takes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Contents of the summary's first line."""

    name: str  # of the machine
    model: str  # of its CPUs, with the number of packages before it
    counts: str  # cores and CPUs
    kernel: str  # release
    interval: float | None  # seconds from tick to tick as measured, None on the first one
    own_percent: float | None = None  # of one CPU that the program itself used
    own_bytes: int | None = None  # of memory it holds
    sample_ms: float | None = None  # from the first to the last read of a tick


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge of the second line."""

    label: str
    column: CounterColumn
    value: float | None  # None if unknown
    values: Sequence[float] = ()  # history for the spark, oldest first; empty for none
    top: float | None = None  # of the sparkline's scale; None for its peak
    note: str = ""  # text after the sparkline ("of 700", "cpu17")
    alarm: StyleRole | None = None  # AMBER or RED past a threshold
    share: float | None = None  # position of the value in its range, 0 to 1; None if unknown
    signs: str = ""  # of the value's marks


_NOISE = re.compile(r"\((?:R|TM|tm|r)\)|\bCPU\b|\bProcessor\b|@.*$|\b\d+-Core\b|\bwith Radeon.*$")


def short_model(name: str) -> str:
    """A CPU model's name without the words that all names contain."""
    return " ".join(_NOISE.sub(" ", name).split())


def place_line(place: Place, width: int) -> list[TextSegment]:
    """The first line; its left part is cut first if there is no room."""
    interval = UNKNOWN if place.interval is None else f"over {place.interval:.2f} s"
    right: list[TextSegment] = [(interval, StyleRole.PLAIN), (f"{_own_cost(place, width)} ", StyleRole.DIM)]
    room = width - sum(len(text) for text, _ in right)
    left: list[TextSegment] = [(f" {place.name}", StyleRole.SUMMARY)]
    used = len(place.name) + 1
    for word in (place.model, place.counts, place.kernel):
        text = f"{'   ' if word == place.model else ' · '}{word}"
        if word and used + len(text) <= room - 2:
            left.append((text, StyleRole.PLAIN if word == place.model else StyleRole.DIM))
            used += len(text)
    return [*left, (" " * max(1, room - used), StyleRole.PLAIN), *right]


def _own_cost(place: Place, width: int) -> str:
    """What turbotui itself uses; "" of a recording, which was made by another."""
    if place.own_percent is None and place.own_bytes is None:
        return ""
    text = f" · turbotui {UNKNOWN if place.own_percent is None else f'{place.own_percent:.1f} %'}"
    if width >= _WIDEST:
        text += " of a CPU"
    if place.own_bytes is not None and width >= _WIDE:
        text += f", {place.own_bytes / (1 << 20):.0f} MiB"
    if place.sample_ms is not None and width >= _WIDEST:
        text += f", {place.sample_ms:.1f} ms a reading"
    return text


def _thousands(value: float) -> str:
    if value >= 999_950:
        return f"{value / 1e6:.1f} M "
    return f"{value / 1e3:.1f} k " if value >= 10_000 else f"{value:,.0f} "


def _figure(gauge: Gauge) -> str:
    unit = gauge.column.shown_unit
    if gauge.value is None:
        return f"{UNKNOWN:>5} {unit}"
    if unit == "%":
        return f"{gauge.value:5.1f} %"
    if unit == "/s":
        return f"{_thousands(gauge.value):>8}irq/s"
    if gauge.column.unit == Unit.CELSIUS.value:
        return flush_right(gauge.column.amount(gauge.value), 3 + len(unit) + 1)
    if unit == "W":
        return f"{gauge.value:5.1f} W" if gauge.value < 100 else f"{gauge.value:5,.0f} W"
    return f"{gauge.value:5,.0f} {unit}"


def gauge_line(gauges: Sequence[Gauge], width: int, seq: int) -> list[TextSegment]:
    """The second line; if there is no room, sparklines become shorter, then gaps and notes go, and at last names."""
    for size in (20, 10, 6, 4, 0):
        line = _gauges(gauges, size, seq)
        if (size < 20 or width >= 180) and sum(len(text) for text, _ in line) <= width:
            return line
    for close in (gauges, [replace(gauge, note="") for gauge in gauges]):
        line = _gauges(close, 0, seq, gap="")
        if sum(len(text) for text, _ in line) <= width:
            return line
    return _gauges([replace(gauge, label="") for gauge in gauges], 0, seq)


def _gauges(gauges: Sequence[Gauge], size: int, seq: int, gap: str = " ") -> list[TextSegment]:
    segments: list[TextSegment] = []
    for gauge in gauges:
        segments.append((f" {gauge.label} " if gauge.label else " ", StyleRole.DIM))
        mark = "▲ " if gauge.alarm is StyleRole.AMBER else "! " if gauge.alarm is StyleRole.RED else ""
        calm = StyleRole.DIM if gauge.value is None else whole_role_of(gauge.share)
        figure = _figure(gauge)
        number = figure.lstrip()
        segments.append((mark + flush_right(gauge.signs, len(figure) - len(number)) + number, gauge.alarm or calm))
        if gauge.values and size:
            known = [value for value in gauge.values if not math.isnan(value)]
            top = gauge.top or nice_top(max(known, default=0.0))
            segments.append((" " + spark(gauge.values, top, size, seq), StyleRole.SPARK))
        if gauge.note:
            segments.append((f" {gauge.note}", StyleRole.DIM))
        segments.append((gap, StyleRole.PLAIN))
    return segments


def remote_banner(kind: HostKind, machine: str, way: str, trouble: str, width: int) -> str:
    """Text of this width that names the machine and says whether its readings still arrive.

    Args:
        kind: of the machine; a real one needs no word.
        way: how the machine is reached.
        trouble: why no readings arrive; "" while they do.
    """
    who = machine if kind is HostKind.REAL else f"{kind.value} {machine}"
    words: tuple[str, ...]
    if trouble:
        words = (f"{who}: {trouble}", trouble)
    else:
        unreal = "" if kind is HostKind.REAL else ": no number on this screen was measured"
        if kind is HostKind.RECORDED:
            unreal = ": these numbers are old"
        words = (f"{who}, read through {way}{unreal}", f"{who}, read through {way}", f"{who}, by {way}", who)
    text = next((phrase for phrase in words if cell_count(phrase) + 2 <= width), words[-1])
    return centred(cut(text, width), width)
