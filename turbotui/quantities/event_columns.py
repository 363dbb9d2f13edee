"""Columns of events that a user asks for: what --add accepts beside turbostat's grammar.

    EVENT[,name=TITLE][,rate][,EVENT ...]       perf's event strings and groups {A,B}; one column for each event,
                                                and for each that a pattern stands for (sched:sched_wak*)
    TITLE=FORMULA[,unit=TEXT][,decimals=N]      arithmetic over events; names that hold / - or : stand in 'quotes',
                                                except where such an event is all of it
    set:NAME                                    a set of such columns by name; SET: and METRIC: are the same prefixes
    metric:NAME[,NAME ...]                      metrics, or groups of them, of the vendor's tables (`events.metrics`)

This module handles only the text; `turbotui.sources.event_source` finds what an event is on a machine.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.quantities.added import AddError
from turbotui.quantities.expressions import Expression, parse_expression
from turbotui.quantities.grammar import ExpressionError
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.signals import SignalId
from turbotui.untrusted import one_line

SET = "set:"
METRIC = "metric:"
ELAPSED = "dt"
"""Name of the interval's length in seconds in a formula."""
_PERFS_OWN: Mapping[str, str] = {"duration_time": ELAPSED, "user_time": "stat.user", "system_time": "stat.system"}
"""What perf measures itself (perf-stat(1)), by its name in a formula: in s, where perf reports ns."""
_OWN = "|".join(_PERFS_OWN)
_NAMED = rf"(?ai)'(?:tool/)?(\w+)/?'|'[^']*'|(?<![\w.])({_OWN})(?![\w.])"
_TOOL = rf"(?ai)(?:tool/)?({_OWN})/?"
_TITLE = r"(?a)\s*([A-Za-z_][\w%+.-]*)\s*=(?!=)"
_PMU = r"[^/\s'()+*,]+"
_EVENT = (rf"(?a)\s*(?:[^/\s'()+,]+/[^/'+()]*/|{_PMU}/\w+=[^/'+*()]*/[A-Za-z]*|[\w*?-]+:[\w:.*?\[\]-]+)\s*")
"""Matches an event that cannot be a formula: TITLE=EVENT names its column."""
_SIGNAL = r"(?a)[a-z_]\w*(?:\.\w+)+\Z"
_MODIFIERS = frozenset("ukhpPGHSDIWebRX")
_TITLE_LENGTH = 18  # longer events are titled by their name alone
_LONGEST_TITLE = 40  # vendors' names differ at the end: mem_inst_retired.all_loads and .all_stores
_OPTIONS = ("name", "rate", "delta")
_TERMS: Final = frozenset({"config", "config1", "config2", "config3", "event", "umask", "cmask", "edge", "inv", "any",
                           "ldlat", "period", "freq"})
"""Terms that perf's users write between slashes, and that would be titles of formulas here without them."""
_FORMULA_OPTIONS = ("unit", "decimals")
_MOST_DECIMALS = 9


Parts: TypeAlias = tuple[tuple[str, Expression], ...]
"""Expressions with names by which others refer to them."""


@dataclass(frozen=True, slots=True)
class EventColumn:
    """One column over events."""

    name: str  # its title, which is also its id
    event: str = ""  # the event string where there is no formula
    # over event strings, ids of catalog signals and `dt`; None where the column is an event's count
    formula: Expression | None = None
    rate: bool = False  # per second instead of per interval
    unit: str = ""  # the unit of a formula as the user names it; "" for the unit that its dimension gives
    decimals: int | None = None  # None for the number that suits the unit
    help: str = ""  # the meaning, "" if nobody gave one
    document: str = ""  # where the meaning is written down
    parts: Parts = ()  # expressions that the formula names, each after those that it names itself
    rule: Expression | None = None  # is not 0 where the value stands out; None without a rule
    rule_parts: Parts = ()  # expressions that the rule names beside `parts`
    whole: bool = False  # whether the value makes sense for the whole machine only

    def __post_init__(self) -> None:
        """Make the name one line without TABs, so that it stays in its cell."""
        object.__setattr__(self, "name", one_line(self.name))

    @property
    def source_text(self) -> str:
        """The text of the events, as written."""
        if self.formula is None:
            return self.event
        where = "; ".join(f"{name} = {part.text}" for name, part in self.parts)
        return f"{self.formula.text}; where {where}" if where else self.formula.text

    @property
    def names(self) -> tuple[str, ...]:
        """The events, signals and `dt` that the formula uses."""
        if self.formula is None:
            return (self.event,)
        return _leaves((*(part for _name, part in self.parts), self.formula), {name for name, _part in self.parts})

    @property
    def rule_names(self) -> tuple[str, ...]:
        """The events, signals and `dt` that the rule uses."""
        if self.rule is None:
            return ()
        parts = (*self.parts, *self.rule_parts)
        return _leaves((*(part for _name, part in parts), self.rule), {name for name, _part in parts})

    def value(self, values: Mapping[str, float | None]) -> float | None:
        """The value of the formula; None where it is unknown."""
        return None if self.formula is None else self.formula.evaluate(_with_parts(values, self.parts))

    def stands_out(self, values: Mapping[str, float | None]) -> float | None:
        """1 where the rule holds, 0 where it does not; None where that is unknown."""
        if self.rule is None:
            return None
        value = self.rule.evaluate(_with_parts(values, (*self.parts, *self.rule_parts)))
        return None if value is None else float(value != 0.0)

    def fault(self, values: Mapping[str, float | None]) -> str:
        """The reason why there is no value, as a clause; "" where no divisor is zero."""
        if self.formula is None:
            return ""
        parts = _with_parts(values, self.parts)
        faults = (part.fault(parts, name) for name, part in self.parts if parts[name] is None)
        return self.formula.fault(parts, self.name if self.parts else "") or next(filter(None, faults), "")


def _leaves(expressions: Iterable[Expression], parts: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for expression in expressions for name in expression.names if name not in parts))


def _with_parts(values: Mapping[str, float | None], parts: Parts) -> Mapping[str, float | None]:
    if not parts:
        return values
    joined = dict(values)
    for name, part in parts:
        joined[name] = part.evaluate(joined)
    return joined


@dataclass(frozen=True, slots=True)
class EventRequest:
    """Columns whose events are opened together."""

    text: str  # as written
    items: tuple[str, ...]  # event strings and groups in braces, each for the encoder
    events: tuple[str, ...]  # the single event strings in them, which are signals
    columns: tuple[EventColumn, ...]
    others: tuple[SignalId, ...] = ()  # ids of catalog signals that a formula uses
    together: bool = False  # whether the items are to form one group, as far as they fit
    raw: bool = False  # whether formulas use plain counts, ignoring a PMU's unit and scale, as vendors' metrics do

    @property
    def by_item(self) -> tuple[tuple[str, ...], ...]:
        """The event strings of each item."""
        return tuple(tuple(_members(item)) for item in self.items)

    def with_events(self, events: Sequence[str], items: tuple[str, ...]) -> EventRequest:
        """The request with one column for each event that a pattern matches.

        Raises:
            AddError: several columns have the same name.
        """
        pattern = self.columns[0]
        if len(events) > 1 and pattern.name != short_title(pattern.event):
            raise AddError(f'--add "{self.text}": name={pattern.name} cannot be the title of {len(events)} columns: '
                           "leave it out")
        columns = tuple(EventColumn(short_title(event), event=event, rate=pattern.rate) for event in events)
        return replace(self, items=items, events=tuple(events), columns=columns)

    def signal(self, event: str) -> SignalId:
        """Id of the signal that carries an event of this request; column names are unique, so ids are too."""
        name = next((column.name for column in self.columns if column.event == event), self.columns[0].name)
        return f"added.{event}" if name == event else f"added.{event} ({name})"


@dataclass(slots=True)
class _Item:
    text: str
    options: dict[str, str] = field(default_factory=dict)


def parse_requests(text: str) -> tuple[EventRequest, ...]:
    """Parse the columns that one --add argument asks for, in order.

    Raises:
        AddError: the argument names no event, or an option does not fit.
        ExpressionError: a formula cannot be read.
    """
    if (title := re.match(_TITLE, text)) is not None:
        if re.compile(_EVENT).fullmatch(text, title.end()):
            return parse_requests(f"{text[title.end() :].strip()},name={title[1]}")
        try:
            return (_derived(text, title),)
        except (AddError, ExpressionError) as error:
            if title[1] not in _TERMS:
                raise
            raise AddError(f'--add "{text}": {title[1]} is a term of an event; terms stand between the slashes of '
                           f"their PMU, as cpu/{text}/") from error
    items: list[_Item] = []
    for piece in _pieces(text):
        name, equals, value = piece.partition("=")
        if name in _OPTIONS and "/" not in name:
            if not items:
                raise AddError(f'--add "{text}" names no counter: {name} stands behind the event that it is for')
            if (name == "name") != bool(equals and value):
                raise AddError(f'--add "{text}": {piece!r} is not complete: write name=TITLE, rate or delta')
            items[-1].options[name] = value
        else:
            items.append(_Item(piece))
    if not items:
        raise AddError(f'--add "{text}" names no counter and no event')
    return tuple(_event_request(text, item) for item in items)


def _derived(text: str, title: re.Match[str]) -> EventRequest:
    """Parse TITLE=FORMULA with its options.

    Raises:
        AddError: an option does not fit, or the formula contains no event.
        ExpressionError: the formula cannot be read.
    """
    pieces = list(_pieces(text[title.end() :], formula=True))
    item = _Item(pieces[0] if pieces else "")
    for option in pieces[1:]:
        name, equals, value = option.partition("=")
        if name not in _FORMULA_OPTIONS or not equals or not value:
            raise AddError(f'--add "{text}": {option!r} is no option of a formula: write unit=TEXT or decimals=N')
        item.options[name] = value
    return formula_request(text, title[1], item.text, item.options)


def usual_prefix(text: str) -> str:
    """The text with "set:" or "metric:" in lower case and no blank before it; unchanged if it begins with neither."""
    begins = text.lstrip()
    for prefix in (SET, METRIC):
        if begins[:len(prefix)].lower() == prefix:
            return prefix + begins[len(prefix):]
    return text


def joined_metrics(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts of several --add with all metrics in the first text, so that shared counters are opened once.

    The prefixes are as `usual_prefix` writes them.
    """
    every = tuple(map(usual_prefix, texts))
    metrics = [text for text in every if text.startswith(METRIC)]
    if not metrics:
        return every
    at = every.index(metrics[0])
    joined = METRIC + ",".join(text.removeprefix(METRIC) for text in metrics)
    return (*every[:at], joined, *(text for text in every[at:] if not text.startswith(METRIC)))


def formula_request(text: str, name: str, formula: str, options: Mapping[str, str]) -> EventRequest:
    """Make the request for a derived column.

    Args:
        options: "unit", "decimals", "help", "document".

    Raises:
        AddError: the formula contains no event, or the decimals are not a number.
        ExpressionError: the formula cannot be parsed.
    """
    expression = parse_expression(re.sub(_NAMED, _in_seconds, formula))
    decimals = options.get("decimals")
    number = None if decimals is None else whole_number(decimals)
    if decimals is not None and (number is None or number > _MOST_DECIMALS):
        raise AddError(f'--add "{text}": decimals={decimals} is no number from 0 to {_MOST_DECIMALS}')
    names = [name for name in expression.names if name != ELAPSED]
    others = tuple(name for name in names if is_signal(name))
    events = tuple(name for name in names if not is_signal(name))
    if not expression.names:
        raise AddError(f'--add "{text}": the formula holds no event')
    column = EventColumn(name=name, formula=expression, unit=options.get("unit", ""), decimals=number,
                         help=options.get("help", ""), document=options.get("document", ""))
    return EventRequest(text, events, events, (column,), others, together=True)


def _in_seconds(match: re.Match[str]) -> str:
    """The formula's word for what perf measures itself; any other name unchanged."""
    return _PERFS_OWN.get((match[1] or match[2] or "").lower(), match[0])


def is_signal(name: str) -> bool:
    """Whether a name in a formula is a signal of the catalog (these contain dots: "energy.pkg") or the TSC."""
    return name == "tsc" or re.match(_SIGNAL, name) is not None


def _event_request(text: str, item: _Item) -> EventRequest:
    events = tuple(_members(item.text))
    if len(set(events)) < len(events):
        raise AddError(f'--add "{text}": the group {item.text} holds an event twice')
    name = item.options.get("name", "")
    if (own := re.fullmatch(_TOOL, item.text)) is not None and "rate" not in item.options:
        return formula_request(text, name or own[1], own[1], {})
    if name and len(events) > 1:
        raise AddError(f'--add "{text}": name={name} cannot be the title of {len(events)} columns: leave it out')
    rate = "rate" in item.options
    columns = tuple(EventColumn(name or short_title(event), event=event, rate=rate) for event in events)
    options = "".join(f",{key}={value}" if value else f",{key}" for key, value in item.options.items())
    return EventRequest(item.text + options, (item.text,), events, columns)


def short_title(event: str) -> str:
    """A title for an event without one: the event itself if short, otherwise its name in its PMU."""
    pmu, slash, rest = event.partition("/")
    terms = rest.partition("/")[0].split(",") if slash and not pmu.startswith("mem:") else []
    named = next((term.removeprefix("name=").strip("'") for term in terms if term.startswith("name=")), "")
    if len(event) <= _TITLE_LENGTH:
        return named or event
    inner = named or next((term for term in terms if "=" not in term), "")
    if not slash and "::" not in event and not event.startswith("mem:"):
        tail = event.partition(":")[2]
        inner = "" if set(tail) <= _MODIFIERS else tail  # a tracepoint's name, without its system
    return (inner or event)[:_LONGEST_TITLE]


def renamed(request: EventRequest, taken: frozenset[str]) -> EventRequest:
    """The request with unique titles, if shortening gave two events the same title."""
    seen = set(taken)
    columns = []
    for column in request.columns:
        name, number = column.name, 2
        automatic = column.formula is None and name == short_title(column.event)
        while automatic and name in seen:
            name, number = f"{column.name[: _LONGEST_TITLE - 2]}~{number}", number + 1
        seen.add(name)
        columns.append(replace(column, name=name))
    return replace(request, columns=tuple(columns))


def _members(item: str) -> Iterator[str]:
    """The events of an item: the members of a group in braces, or the item itself."""
    opening, closing = item.find("{"), item.rfind("}")
    inside = list(_pieces(item[opening + 1 : closing])) if 0 <= opening < closing else []
    if not inside or "/" in item[:opening]:
        yield item  # not a group, or a malformed one that the encoder will report
    else:
        yield from inside


def _pieces(text: str, *, formula: bool = False) -> Iterator[str]:
    """Parts between commas outside braces, parentheses, quotes and (of events) pairs of slashes."""
    depth, slash, quoted, start = 0, False, False, 0
    for at, character in enumerate(text):
        if character == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif character == "/" and not formula and _opens_terms(text, start, at):
            slash = not slash
        elif character in "{(" and not slash:
            depth += 1
        elif character in "})" and not slash:
            depth -= 1
        elif character == "," and not slash and depth <= 0:
            if text[start:at].strip():
                yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()


def _opens_terms(text: str, start: int, at: int) -> bool:
    """Whether a slash opens a PMU's terms; the slash of mem:ADDRESS/LENGTH does not."""
    begin = max(text.rfind(",", start, at), text.rfind("{", start, at)) + 1
    return not text[max(begin, start) : at].strip().startswith("mem:")
