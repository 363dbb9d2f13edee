"""The panel of one package: power, heat and clock against their limits, reasons, and missing values.

This module does not use Textual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from turbotui.cell_widths import flush_left, flush_right
from turbotui.dataclass import dataclass
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.limit_sentences import mark, name_of, sentence, short
from turbotui.diagnosis.limits import AT_CLOCK, WORDS, LimitState
from turbotui.features.power.domains import (
    LEFT,
    NUMBER,
    WORD,
    PowerSource,
    amount,
    domain_lines,
    fitted,
    socket_columns,
)
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.sentences import as_sentence
from turbotui.widgets.bars import BarMark, bar, labels
from turbotui.widgets.cells import MARK_AMBER, MARK_RED, StyleRole, number
from turbotui.widgets.levels import role_of, whole_role_of
from turbotui.widgets.panel import Line, Panel, Span, Target, wrapped

_GAP = Span(" ")
_NEAR_TJ = 10.0  # °C below tj_max from which the temperature is marked
_AT_LIMIT = 0.95
_FEW = 5  # lines of a panel without bars
_WIDE = 90  # width below which a verdict's sentence takes two lines


_STATES = {LimitState.HELD: "held back", LimitState.AT_TOP: "not held back", LimitState.FREE: "not held back",
           LimitState.IDLE: "idle",
           LimitState.UNKNOWN: "? cannot be told"}

_Named: TypeAlias = tuple[str, float, Target | None]
"""The word, value and origin of a mark."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """A bar: its value, its end (0: no bar), and marks of other columns.

    `beside`: whether the words of the only mark stand behind the bar instead of below it. `figure`: the value in the
    unit for people, which may differ from the bar's unit.
    """

    word: str
    value: float | None
    figure: str
    target: Target | None
    top: float
    marks: tuple[tuple[BarMark, Target | None], ...]
    role: StyleRole | None = None
    note: str = ""
    note_target: Target | None = None
    beside: bool = False


def package_panel(source: PowerSource, verdict: LimitVerdict, width: int, *, alone: bool) -> Panel:
    """Draw the panel of one package.

    Args:
        alone: whether it is the only package, whose sentence stands above the panel.

    Returns:
        The panel; each missing value has a line with its reason.
    """
    lines: list[Line] = []
    if not alone:
        most = 2 if width >= _WIDE else 3
        text = wrapped(as_sentence(sentence(verdict)), width,
                       StyleRole.AMBER if verdict.state is LimitState.HELD else StyleRole.PLAIN, most=most)
        lines += [*text, *[()] * (most - len(text))]  # a constant number of lines, so that panels do not jump
    for scale in (_watts(source, verdict), _heat(verdict, source), _clock(source, verdict)):
        lines += [] if scale is None else _bar_lines(scale, width, source.share(scale.target, scale.value))
    lines += _reasons(source, verdict, width)
    lines += domain_lines(source, verdict, width)
    # If hardly anything is known there is room for the full reasons.
    lines += _missing(source, verdict, width, most=3 if len(lines) < _FEW else 1)
    return Panel(_title(verdict), StyleRole.AMBER if verdict.state is LimitState.HELD else StyleRole.SUMMARY,
                 tuple(lines))


def _title(verdict: LimitVerdict) -> str:
    name = name_of(verdict)
    if verdict.state is LimitState.HELD and verdict.hold is not None:
        return f"{name} · {mark(verdict)} {short(verdict.hold.holder)}"
    if verdict.state in {LimitState.FREE, LimitState.AT_TOP} and not verdict.facts.well_known:
        return f"{name} · nothing seen"
    return f"{name} · {_STATES[verdict.state]}"


# Bars


def _bar_lines(scale: _Scale, width: int, share: float | None) -> list[Line]:
    """Draw a bar and the words of its marks below; `share` is the value's share of the possible range."""
    room = max(0, width - LEFT) if scale.top else 0
    flag = {StyleRole.AMBER: MARK_AMBER, StyleRole.RED: MARK_RED}.get(scale.role, " ") if scale.role else " "
    drawn = bar(scale.value, scale.top, room, [level.value for level, _ in scale.marks])
    painted = scale.role or (StyleRole.SPARK if share is None else role_of(share))
    first = (
        Span(flush_left(scale.word, WORD), StyleRole.TITLE),
        Span(flush_right(scale.figure, NUMBER), scale.role or whole_role_of(share), scale.target),
        Span(flag, scale.role or StyleRole.PLAIN),
        _GAP,
        Span(drawn, painted),
    )
    if scale.beside and scale.marks:
        only, target = scale.marks[0]
        drawn = bar(scale.value, scale.top, max(0, room - len(only.label) - 1), [only.value])
        return [(*first[:-1], Span(drawn, painted), _GAP, Span(only.label, StyleRole.DIM, target))]
    if not scale.marks and not scale.note:
        return [first]
    note = scale.note[:LEFT]
    spans: list[Span] = [Span(note, StyleRole.DIM, scale.note_target), Span(" " * (LEFT - len(note)))]
    at = 0
    for placed in labels([level for level, _ in scale.marks], scale.top, room):
        spans.append(Span(" " * (placed.at - at)))
        spans.append(Span(placed.text, StyleRole.DIM, scale.marks[placed.mark][1]))
        at = placed.at + len(placed.text)
    return [first, tuple(spans)]


def _together(marks: Sequence[_Named]) -> tuple[tuple[BarMark, Target | None], ...]:
    """Join the labels of marks at one value: "TDP PL1 350"."""
    together = lists_by_key((round(value), (word, target)) for word, value, target in marks)
    return tuple((BarMark(value, f"{' '.join(word for word, _ in words)} {value:,.0f}"), words[-1][1])
                 for value, words in together.items())


def _watts(source: PowerSource, verdict: LimitVerdict) -> _Scale | None:
    facts, row = verdict.facts, verdict.row
    if (watts := facts.number("PkgWatt")) is None:
        return None
    limits = {name: facts.limit(name) for name in ("TDP", "PL1", "PL2", "PL4")}
    known = {name: watt for name, watt in limits.items() if watt is not None}
    plain = max([watt for name, watt in known.items() if name != "PL4"] or known.values(), default=0.0)
    # PL4 is a peak of a few milliseconds, often far beyond the rest of the scale.
    beyond = known.pop("PL4") if known.get("PL4", 0.0) > 1.6 * plain else None
    limit = facts.limit("PL1") or facts.limit("PL2")
    at_limit = limit is not None and watts >= _AT_LIMIT * limit
    unlimited = [name for name in ("PL1", "PL2") if facts.number(name) is not None and facts.limit(name) is None]
    note, origin = "", None
    if unlimited:
        note, origin = f"{' and '.join(unlimited)}: no limit", source.target(unlimited[0], row)
    elif beyond is not None:
        note, origin = f"PL4 {beyond:,.0f}", source.target("PL4", row)
    return _Scale(
        "power", watts, amount(watts, "W", 1), source.target("PkgWatt", row),
        max([*known.values(), watts]) * 1.04 if known else 0.0,
        _together([(name, watt, source.target(name, row)) for name, watt in known.items()]),
        StyleRole.AMBER if at_limit else None, note, origin,
    )


def _heat(verdict: LimitVerdict, source: PowerSource) -> _Scale | None:
    facts, row = verdict.facts, verdict.row
    celsius, hottest = facts.celsius, facts.number("TjMax")
    if celsius is None:
        return None
    name = "PkgTmp" if facts.number("PkgTmp") is not None else "CoreTmp"
    if hottest is None:
        return _Scale("heat", celsius, facts.amount(name), source.target(name, row), 0.0, ())
    below = hottest - celsius
    role = StyleRole.RED if below <= 1 else StyleRole.AMBER if below <= _NEAR_TJ else None
    words = BarMark(hottest, f"tj_max {facts.amount('TjMax', unit=False)}")
    return _Scale("heat", celsius, facts.amount(name), source.target(name, row), hottest * 1.04,
                  ((words, source.target("TjMax", SYSTEM_ROW)),), role, beside=True)


def _clock(source: PowerSource, verdict: LimitVerdict) -> _Scale | None:
    facts, row = verdict.facts, verdict.row
    if facts.mhz is None:
        return None
    marks: list[_Named] = []
    for word, name in (("base", "BaseMHz"), ("all", "TurboAll")):
        value = facts.base_mhz if name == "BaseMHz" else facts.number(name)
        if value is not None:
            marks.append((word, value, _most(source, name, row)))
    single = facts.number("Turbo1")
    highest = single or facts.top_mhz
    if highest is not None:
        marks.append(("one", highest, _most(source, "Turbo1", row)) if single else
                     ("top", highest, _most(source, "TopMHz", row)))
        if facts.cap_mhz is not None and facts.cap_mhz < AT_CLOCK * highest:
            marks.append(("allowed", facts.cap_mhz, _most(source, "MaxMHz", row)))
    name = "Bzy_MHz" if facts.number("Bzy_MHz") is not None else "CurMHz"
    busy = "" if facts.busy is None else f"{facts.busy:.0f} % busy"
    load = "Busy%" if facts.number("Busy%") is not None else "Load%"
    return _Scale("clock", facts.mhz, amount(facts.mhz, "MHz", 0), source.target(name, row),
                  0.0 if highest is None else max(highest, facts.mhz) * 1.04, _together(marks),
                  StyleRole.AMBER if verdict.state is LimitState.HELD else None, busy, source.target(load, row))


def _most(source: PowerSource, name: ColumnId, row: RowId) -> Target | None:
    """Return the CPU of a package with the highest value of a column, or the machine for values that exist once."""
    column = source.catalog.get(name)
    if column is None or column.scope is Scope.SYSTEM:
        return source.target(name, SYSTEM_ROW)
    rows = source.frame.rows(Scope.CPU)
    cells = ((source.frame.cell(column, rows[at]), rows[at]) for at in source.frame.topology.parts(row, Scope.CPU))
    known = [(value, cpu) for value, cpu in cells if isinstance(value, int | float)]
    return (column, max(known, key=lambda pair: pair[0])[1]) if known else None


# Reasons


def _reasons(source: PowerSource, verdict: LimitVerdict, width: int) -> list[Line]:
    facts, row = verdict.facts, verdict.row
    lines: list[Line] = []
    counted: list[Span] = []
    for word, name in (("power", "PKG_%"), ("heat", "PkgThr%")):
        if (percent := facts.number(name)) is not None:
            over = percent >= 0.5
            flag = f"{MARK_AMBER if over else ' '}{word} "
            counted += [Span(flag, StyleRole.AMBER if over else StyleRole.DIM),
                        Span(flush_right(number(percent, 1, 5), 5) + " %", StyleRole.AMBER if over else StyleRole.PLAIN,
                             source.target(name, row)), Span("  ")]
    if counted:
        lines.append((Span(flush_left("held by", WORD), StyleRole.TITLE), *counted))
    for word, names in (("now", ("Throttle", "CoreLimit")), ("logged", ("ThrLog", "CoreLog"))):
        texts = [(name, text) for name in names if isinstance(text := facts.cells.get(name), str)]
        if not texts:
            continue
        spans = [Span(flush_left(word, WORD), StyleRole.TITLE)]
        for name, text in texts:
            bad = word == "now" and any(segment in WORDS for segment in text.split())
            label = "cores: " if name.startswith("Core") else ""
            shown = f"{MARK_AMBER if bad else ' '}{label}{text}"
            spans += [Span(shown, StyleRole.AMBER if bad else StyleRole.PLAIN if word == "now" else StyleRole.DIM,
                           source.target(name, row)), Span("  ")]
        lines.append(fitted(spans, width, cut=True))
    return lines


# Missing values


def _missing(source: PowerSource, verdict: LimitVerdict, width: int, *, most: int) -> list[Line]:
    """Draw a line for each value that is missing in the panel, with a short reason; Explain has all of it."""
    facts = verdict.facts
    asked = (
        ("power", "PkgWatt", any(source.target(name, SYSTEM_ROW) for _word, name in socket_columns(verdict.row))),
        ("power limits", "PL1", facts.number("PL2") is not None),
        ("temperature", "PkgTmp", facts.celsius is not None),
        ("tj_max", "TjMax", facts.celsius is None),
        ("clock", "Bzy_MHz", facts.mhz is not None),
        ("throttle reasons", "Throttle", False),
    )
    lines: list[Line] = []
    for what, name, needless in asked:
        why = None if needless else facts.why.get(name)
        if why is not None:
            target = source.target(name, verdict.row)
            lines += wrapped(f"No {what}: {why.sentence()}", width, StyleRole.DIM, target, most=most)
    return lines
