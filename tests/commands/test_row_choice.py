"""--show, --filter, --sort and --top: which columns and rows of a table are printed, and in which order."""

from __future__ import annotations

import argparse

import pytest

from turbotui.commands.row_choice import row_choice
from turbotui.errors import UsageError
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable

Fruit = tuple[str, float | None]
NAME = Column[Fruit]("Name", "", -1, (), lambda row: row[0], identity=True)
WEIGHT = Column[Fruit]("Weight", "g", 0, (), lambda row: row[1])
RARE = Column[Fruit]("Rare", "", -1, (), lambda _row: "yes", default=False)
ROWS: tuple[Fruit, ...] = (("apple", 150.0), ("berry", None), ("cherry", 8.0), ("melon", 900.0))


def _chosen(show: str = "", filtered: str = "", sort: str = "", top: int | None = None,
            form: str = "text") -> tuple[list[str], list[str]]:
    words = argparse.Namespace(show=show, filter=filtered, sort=sort, top=top, format=form)
    choice = row_choice(words, (NAME, WEIGHT, RARE), "fruit", lambda row: row[0], always=(NAME,), busiest="Weight")
    table = choice.of(RowTable("fruit", "fruit", choice.columns, ROWS))
    return [column.id for column in choice.columns], [row[0] for row in table.rows]


def test_people_see_the_columns_by_default_and_programs_all() -> None:
    everything = [row[0] for row in ROWS]
    assert _chosen() == (["Name", "Weight"], everything)
    assert _chosen(form="json") == _chosen("all") == (["Name", "Weight", "Rare"], everything)
    assert _chosen("rare", form="csv") == (["Name", "Rare"], everything)


def test_rows_are_those_that_pass_with_the_greatest_first_and_the_unknown_last() -> None:
    assert _chosen(filtered="Weight>10")[1] == ["apple", "melon"]
    assert _chosen(filtered="err")[1] == ["berry", "cherry"]
    assert _chosen(sort="weight")[1] == ["melon", "apple", "cherry", "berry"]
    assert _chosen(top=2)[1] == ["melon", "apple"], "the first of those that --sort would have put there"


@pytest.mark.parametrize(("words", "said"), [
    ({"show": "Colour"}, "there is no column 'Colour' of fruit; there are Name, Weight, Rare"),
    ({"sort": "Colour"}, "there is no column 'Colour' of fruit"),
    ({"filtered": "Weight>"}, "--filter: "),
])
def test_a_wrong_word_is_named_with_what_there_is(words: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _chosen(**words)  # type: ignore[arg-type]  # the words are texts
