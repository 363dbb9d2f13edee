"""Filters of rows: words and comparisons, joined; the same arithmetic as in formulas."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.columns import Value
from turbotui.quantities.filters import FilterError, parse_filter


@dataclass(frozen=True)
class Named:
    """A column, as far as a filter goes."""

    id: str
    decimals: int = 2


COLUMNS = {name.lower(): Named(name, decimals) for name, decimals in (
    ("Busy%", 2), ("Type", -1), ("Switch/s", 0), ("PkgWatt", 2), ("CorWatt", 2), ("CPU%c6", 2), ("Command", -1),
    ("CPU", 0))}


def find(name: str) -> Named | None:
    return COLUMNS.get(name.lower())


def holds(text: str, words: str = "", **given_values: Value) -> bool:
    values = {name.replace("_percent", "%").replace("_per_s", "/s"): value for name, value in given_values.items()}
    return parse_filter(text, find).passes(words, lambda column: values.get(column.id))


def test_terms_beside_each_other_must_all_hold() -> None:
    assert holds("cpu1 busy%>50 Type=e", "cpu17 core3 e", Busy_percent=60.0, Type="E")
    assert not holds("cpu1 busy%>50 Type=e", "cpu2 core3 e", Busy_percent=60.0, Type="E")
    assert not holds("cpu1 busy%>50 Type=e", "cpu17 core3 e", Busy_percent=50.0, Type="E")


@pytest.mark.parametrize(("text", "passes"), [
    ("Busy%>90 and PkgWatt<200", True), ("Busy%>99 or PkgWatt<200", True), ("Busy%>99 or PkgWatt>200", False),
    ("not Busy%>99", True), ("not (Busy%>90 or Type=P)", False), ("50<Busy%<96", True), ("50 < Busy% < 90", False),
    ("PkgWatt-CorWatt>60", True), ("PkgWatt - CorWatt > 70", False), ("(PkgWatt-CorWatt)/2 >= 32.5", True),
    ("max(PkgWatt, CorWatt) = 100", True), ("Busy%>2*47", True), ("Switch/s>1000", True), ("Switch/s/2>1000", False),
    ("Type=E", True), ("Type!=e", False), ("Type=P or Type=E", True), ("'Type'=E", True), ("Type==E", True),
    ("Command=kworker/0:1-events", True), ("Command!=CPU-hog", True), ("Busy%=95", True), ("Busy%=95.00", True),
    ("Busy%=95.01", False), ("Busy%>Switch/s", False), ("CPU%c6>0", False), ("not CPU%c6>0", True),
    ("cpu17", True), ("'kworker/0:1'", True), ("CPU-hog", False), ("(cpu17 or cpu18) Busy%>1", True), ("", True),
])
def test_conditions_by_hand(text: str, passes: bool) -> None:
    if text == "CPU-hog":  # CPU is a column: arithmetic is no condition, so a word with it is quoted
        with pytest.raises(FilterError, match="comparison"):
            parse_filter(text, find)
        return
    assert holds(text, "cpu17 kworker/0:1-events", Busy_percent=95.001, Type="E", PkgWatt=100.0, CorWatt=35.0,
                 Switch_per_s=1200.0, Command="kworker/0:1-events", CPU=17) is passes


@pytest.mark.parametrize("sign", [">", "<", ">=", "<=", "=", "!="])
def test_an_unknown_value_passes_no_comparison(sign: str) -> None:
    assert not holds(f"Busy%{sign}1")


@pytest.mark.parametrize(("text", "says"), [
    ("Nonsense>3", "no column is called Nonsense"), ("Busy%>", "is missing"),
    ("Busy%>many", "needs a number, not many"), ("(Busy%>3", "never closed"), ("Busy%>3 and", "is missing"),
    ("min(Busy%)", "a comparison is missing"),
    ("Busy%+1", "a comparison is missing"), ("Busy%>3 or or", "not expected"), (")", "not expected"),
    ("PkgWatt-nothing>3", "no column is called nothing"), ("(" * 500, "nested"), ("Type>E", "needs a number"),
])
def test_a_filter_that_cannot_be_understood_says_so(text: str, says: str) -> None:
    with pytest.raises(FilterError, match=says):
        parse_filter(text, find)


def test_the_columns_of_a_filter_are_those_that_it_compares() -> None:
    chosen = parse_filter("cpu1 (PkgWatt-CorWatt)/2>3 or not 5<Busy%", find)
    assert {column.id for column in chosen.columns} == {"PkgWatt", "CorWatt", "Busy%"}


def test_a_row_of_which_only_the_words_are_known_may_pass_any_comparison() -> None:
    assert parse_filter("cpu1 Busy%>50", find).may_pass("cpu1")
    assert not parse_filter("cpu2 Busy%>50", find).may_pass("cpu1")
    assert parse_filter("cpu2 or Busy%>50", find).may_pass("cpu1")
    assert parse_filter("not Busy%>50", find).may_pass("cpu1")


@given(st.text(max_size=30) | st.lists(st.sampled_from(
    ["Busy%", "Type", "Switch/s", ">", "<=", "=", "!=", "(", ")", "and", "or", "not", "min(", ",", "-", "3", " ", "x",
     "'"]), max_size=14).map("".join))
def test_any_text_is_a_filter_or_a_sentence(text: str) -> None:
    try:
        chosen = parse_filter(text, find)
    except FilterError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
    else:
        chosen.passes("cpu1", lambda column: "E" if column.decimals < 0 else 2.0)
        chosen.passes("cpu1", lambda _column: None)
