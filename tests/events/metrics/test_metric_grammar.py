"""Metric expressions: the values and events that perf finds for them (figures of kernel tools/perf/tests/expr.c)."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from known_constants import PLAIN

from turbotui.events.metrics.errors import MetricError, MetricSyntaxError
from turbotui.events.metrics.folding import Folded, fold
from turbotui.events.metrics.names import event_text, scale_and_unit
from turbotui.events.metrics.syntax import parse_metric
from turbotui.quantities.expression_text import text_of
from turbotui.quantities.expressions import Expression, parse_expression

VALUES = {"FOO": 1.0, "BAR": 2.0}


def folded(text: str, runtime: int = 0) -> Folded:
    return fold(parse_metric(text, runtime), PLAIN)


def value_of(result: Folded, values: dict[str, float | None]) -> float | None:
    text = text_of(result.steps)
    made = parse_expression(text)
    assert made.steps == result.steps  # what is written down, in recordings too, is what is computed
    return made.evaluate(values)


@pytest.mark.parametrize(("text", "expected"), [
    ("1+1", 2), ("FOO+BAR", 3), ("(BAR/2)%2", 1), ("1 - -4", 5), ("(FOO-1)*2 + (BAR/2)%2 - -4", 5), ("1-1 | 1", 1),
    ("1-1 & 1", 0), ("min(1,2) + 1", 2), ("max(1,2) + 1", 3), ("1+1 if 3*4 else 0", 2),
    ("100 if 1 else 200 if 1 else 300", 100), ("100 if 0 else 200 if 1 else 300", 200),
    ("100 if 1 else 200 if 0 else 300", 100), ("100 if 0 else 200 if 0 else 300", 300), ("1.1 + 2.1", 3.2),
    (".1 + 2.", 2.1), ("d_ratio(1, 2)", 0.5), ("d_ratio(2.5, 0)", 0), ("1.1 < 2.2", 1), ("2.2 > 1.1", 1),
    ("1.1 < 1.1", 0), ("2.2 > 2.2", 0), ("2.2 < 1.1", 0), ("1.1 > 2.2", 0), ("1.1e10 < 1.1e100", 1),
    ("1.1e2 > 1.1e-2", 1), ("FOO/0", None), ("d_ratio(FOO, BAR - 2)", 0), ("FOO / (BAR - 2)", None),
    ("FOO & BAR > 3", 0), ("FOO | 0", 1), ("BAR | 0", 1), ("FOO ^ BAR", 0), ("FOO ^ 0", 1), ("2 ^ 0", 1), ("1 ^ 1", 0),
    ("FOO < BAR < 3", 1), ("BAR > FOO & FOO", 1), ("-FOO * 2", -2), ("7 % 4", 3), ("(0 - 7) % 4", -3),
    ("7.9 % 4.9", 3), ("BAR % (FOO - 0.5)", None), ("NaN", None), ("FOO + NaN", None), ("0 & NaN", 0), ("1 | NaN", 1),
    ("FOO if BAR - 2 else BAR", 2), ("#smt_on * 3", 3), ("FOO / #num_packages", 0.5), ("GONE + 1", None),
    ("max(GONE, 0)", None), ("max(0, FOO / (BAR - 2))", None), ("BAR if FOO else GONE", 2), ("GONE & FOO - 1", 0),
    ("strcmp_cpuid_str(GenuineIntel\\-6\\-8F)", 1), ("strcmp_cpuid_str(0x0)", 0), ("1e9", 1e9), ("1e308 * 10", None),
])  # fmt: skip
def test_values(text: str, expected: float | None) -> None:
    result = value_of(folded(text), dict(VALUES))
    assert result == (None if expected is None else pytest.approx(expected, rel=1e-15))


@pytest.mark.parametrize(("text", "names"), [
    ("EVENT1\\,param\\=?@ + EVENT2\\,param\\=?@", ("EVENT1,param=3@", "EVENT2,param=3@")),
    ("dash\\-event1 - dash\\-event2", ("dash-event1", "dash-event2")),
    ("EVENT1 if #smt_on else EVENT2", ("EVENT1",)), ("EVENT1 if #smt_on - 1 else EVENT2", ("EVENT2",)),
    ("1.0 if EVENT1 > 100.0 else 1.0", ()), ("0 & EVENT1 > 0", ()), ("EVENT1 > 0 & 0", ()),
    ("1 & EVENT1 > 0", ("EVENT1",)), ("EVENT1 > 0 & 1", ("EVENT1",)), ("1 | EVENT1 > 0", ()), ("EVENT1 > 0 | 1", ()),
    ("0 | EVENT1 > 0", ("EVENT1",)), ("EVENT1 > 0 | 0", ("EVENT1",)), ("source_count(EVENT1)", ("EVENT1",)),
    ("aggr_nr(EVENT1)", ("EVENT1",)), ("d_ratio(EVENT1, 0)", ()), ("EVENT1 / 0", ()),
    ("EVENT1 if has_event(EVENT1) else 0", ()), ("EVENT1 if min(1, 2) else EVENT2", ("EVENT1", "EVENT2")),
    ("cha@UNC\\,config1\\=0x40433@ * 2", ("cha@UNC,config1=0x40433@",)), ("msr@tsc\\,cpu=cpu_core@",
                                                                          ("msr@tsc,cpu=cpu_core@",)),
    ("iffy + else_where + min_x", ("iffy", "else_where", "min_x")), ("4_FLOPS / 128B.X:u", ("4_FLOPS", "128B.X:u")),
    ("1e9x + 0x10", ("1e9x", "0x10")),
])  # fmt: skip
def test_events_that_are_needed(text: str, names: tuple[str, ...]) -> None:
    assert folded(text, runtime=3).names == names


def test_an_event_that_is_there_chooses_its_branch() -> None:
    text = "stalled\\-cycles / cycles if has_event(stalled\\-cycles) else 0"
    there = dataclasses.replace(PLAIN, known=frozenset({"stalled-cycles"}))
    assert fold(parse_metric(text), there).names == ("stalled-cycles", "cycles")
    assert folded(text).names == ()


@pytest.mark.parametrize(("text", "position"), [
    ("", 0), ("BAR/", 4), ("(a", 2), ("a)", 1), ("a b", 2), ("a if b", 6), ("min(a)", 5), ("min(a, b, c)", 8),
    ("a $ b", 2), ("max(a if b else c, d)", 6), ("has_event(1)", 10), ("a if else b", 5), ("* a", 0), ("a +", 3),
    ("#", 0), ("(" * 60 + "1" + ")" * 60, 51), ("1e999", 0),
])  # fmt: skip
def test_faults_name_their_place(text: str, position: int) -> None:
    with pytest.raises(MetricSyntaxError) as caught:
        parse_metric(text)
    assert caught.value.position == position


@pytest.mark.parametrize("text", ["1 % 0", "#num_unknown + 1"])
def test_what_is_no_metric_on_this_machine(text: str) -> None:
    with pytest.raises(MetricError):
        folded(text)


# An evaluation that shares nothing with the parser: made of Python's own operators, fully in parentheses.
_NUMBERS = st.sampled_from([0.0, 1.0, 2.5, 100.0])
_LEAVES = st.sampled_from(["A", "B", "C"]).map(lambda name: (name, name)) | _NUMBERS.map(lambda n: (f"{n:g}", repr(n)))
_SIGNS = {"+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "/": "over({}, {})", "<": "less({}, {})",
          ">": "less({1}, {0})", "&": "both({}, {})", "|": "either({}, {})", "^": "one({}, {})"}


def _grown(inner: st.SearchStrategy[tuple[str, str]]) -> st.SearchStrategy[tuple[str, str]]:
    pairs = st.tuples(inner, st.sampled_from(sorted(_SIGNS)), inner).map(
        lambda got: (f"({got[0][0]}) {got[1]} ({got[2][0]})", _SIGNS[got[1]].format(got[0][1], got[2][1])))
    ratios = st.tuples(inner, inner).map(lambda got: (f"d_ratio({_in(got[0][0])}, {_in(got[1][0])})",
                                                      f"ratio({got[0][1]}, {got[1][1]})"))
    choices = st.tuples(inner, inner, inner).map(
        lambda got: (f"({got[0][0]}) if ({got[1][0]}) else ({got[2][0]})",
                     f"choice({got[0][1]}, {got[1][1]}, {got[2][1]})"))
    return pairs | ratios | choices | inner.map(lambda got: (f"-({got[0]})", f"(-{got[1]})"))


def _in(text: str) -> str:
    return f"({text})"


def _over(first: float, second: float) -> float:
    return first / second if second else math.nan


def _less(first: float, second: float) -> float:
    return math.nan if math.isnan(first) or math.isnan(second) else float(first < second)


def _choice(value: float, condition: float, otherwise: float) -> float:
    assume(not math.isnan(condition) or value != otherwise)  # two constants that are the same need no condition
    return math.nan if math.isnan(condition) else value if condition else otherwise


def _logic(kind: str, first: float, second: float) -> float:
    known = [item for item in (first, second) if not math.isnan(item)]
    if kind == "and" and any(item == 0 for item in known):
        return 0.0
    if kind == "or" and any(item != 0 for item in known):
        return 1.0
    if len(known) < 2:
        return math.nan
    return float({"and": True, "or": False, "one": (first != 0) is not (second != 0)}[kind])


@given(st.recursive(_LEAVES, _grown, max_leaves=10), st.tuples(*[st.sampled_from([0.0, 1.0, 3.0, 7.5])] * 3))
def test_values_are_those_of_an_independent_evaluation(pair: tuple[str, str], counts: tuple[float, ...]) -> None:
    text, python = pair
    values = dict(zip("ABC", counts, strict=True))
    expected = _evaluated(python, values)
    result = value_of(folded(text), dict(values))
    assert result == (None if math.isnan(expected) or math.isinf(expected) else pytest.approx(expected, rel=1e-12))


def _evaluated(python: str, values: dict[str, float]) -> float:
    names = {
        "over": _over, "choice": _choice, "ratio": lambda a, b: 0.0 if b == 0 else a / b,
        "both": lambda a, b: _logic("and", a, b), "either": lambda a, b: _logic("or", a, b),
        "one": lambda a, b: _logic("one", a, b), "less": _less, "__builtins__": {},
    }
    try:
        return float(eval(python, names, values))  # noqa: S307 - the oracle, over names and numbers of this test
    except OverflowError:
        return math.nan


@given(st.text(alphabet="abE.019 +-*/%&|^<>()\\,=@:?#_ifelsmnx", max_size=60) | st.text(max_size=30))
def test_any_text_is_an_expression_or_one_error(text: str) -> None:
    try:
        result = folded(text)
    except MetricError:
        return
    assert parse_expression(text_of(result.steps)).steps == result.steps


def test_names_as_event_strings() -> None:
    assert event_text("cycles") == "cycles"
    assert event_text("cycles", "u") == "cycles:u"
    assert event_text("cpu@UOPS.X,cmask=1@", "u") == "cpu/UOPS.X,cmask=1/u"
    assert event_text("msr@tsc@") == "msr/tsc/"


@pytest.mark.parametrize(("text", "expected"), [
    ("100%", (100.0, "%")), ("1per_instr", (1.0, "per_instr")), ("6.4e-5MB/s", (6.4e-5, "MB/s")), ("4", (4.0, "")),
    ("", (1.0, "")), ("9.765625e-4KB", (9.765625e-4, "KB")), ("1e3per_1k_instr", (1e3, "per_1k_instr")),
    ("100percent of slots", (100.0, "percent of slots")),
])  # fmt: skip
def test_scale_and_unit(text: str, expected: tuple[float, str]) -> None:
    assert scale_and_unit(text) == expected


def test_an_expression_of_steps_is_what_was_written() -> None:
    result = folded("100 * (A + B) / (C - 1) if A > B & C else d_ratio(A, B)")
    assert text_of(result.steps) == "100 * (A + B) / (C - 1) if A > B and C else d_ratio(A, B)"
    assert isinstance(parse_expression(text_of(result.steps)), Expression)
