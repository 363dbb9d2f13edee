"""Questions: whatever a client sends, a command line holds the words of the table, and values behind their options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.features.mcp.questions import QUESTIONS, RECORDING

_BY_NAME = {question.name: question for question in QUESTIONS}
_RECORDINGS = {"run.ttj": "/somewhere/run.ttj"}
_OPTIONS = {parameter.option for question in QUESTIONS for parameter in question.parameters if parameter.option}


@pytest.mark.parametrize(("name", "arguments"), [
    ("stat", {"columns": "--add=/etc/shadow"}),
    ("stat", {"columns": "/etc/shadow"}),
    ("stat", {"columns": "Busy% -o /tmp/written"}),
    ("stat", {"columns": "Busy%\n--out=x"}),
    ("stat", {"columns": ["Busy%"]}),
    ("stat", {"add": "/etc/shadow"}),
    ("stat", {"machine": "/etc"}),
    ("stat", {"recording": "/etc/passwd"}),
    ("stat", {"recording": "../run.ttj"}),
    ("stat", {"recording": ["run.ttj"]}),
    ("stat", {"from": "-5m"}),
    ("stat", {"recording": "run.ttj", "seconds": 1}),
    ("stat", {"seconds": 1e9}),
    ("stat", {"seconds": True}),
    ("stat", {"seconds": "1"}),
    ("stat", {"seconds": float("nan")}),
    ("stat", {"intervals": 60, "seconds": 60}),
    ("stat", {"intervals": 1.5}),
    ("stat", {"rows": 0}),
    ("tasks", {"by": "thread; touch x"}),
    ("columns", {"recording": "run.ttj"}),
])
def test_nothing_that_was_not_named_at_the_start_can_be_asked_for(name: str, arguments: Mapping[str, Any]) -> None:
    with pytest.raises(UsageError):
        _BY_NAME[name].command(arguments, (), _RECORDINGS)


@given(st.sampled_from(QUESTIONS), st.data())
def test_a_value_stays_behind_its_option(question: Any, data: st.DataObject) -> None:
    names = [parameter.name for parameter in question.parameters]
    values = st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.text()),
                       *(st.from_regex(parameter.form, fullmatch=True) for parameter in question.parameters
                         if parameter.form))
    asked = data.draw(st.dictionaries(st.sampled_from([*names, RECORDING, "rows", "other"]),
                                      values | st.just("run.ttj"), max_size=4))
    try:
        words = question.command(asked, ("--machine", "laptop"), _RECORDINGS)
    except UsageError:
        return
    replayed = RECORDING in asked
    fixed = [*question.words, "--replay=/somewhere/run.ttj"] if replayed else [
        *question.words, *question.live, "--machine", "laptop"]
    assert words[:len(fixed)] == fixed
    for word in words[len(fixed):]:
        assert word.startswith(tuple(_OPTIONS))
        assert not {"\n", "\0"} & set(word)


def test_what_a_question_takes_of_a_machine_and_of_a_recording() -> None:
    assert _BY_NAME["stat"].command({"seconds": 0.5, "intervals": 2}, (), {}) == [
        "stat", "--format=json", "-n2", "-i0.5"]
    assert _BY_NAME["stat"].command({RECORDING: "run.ttj", "from": "+5m"}, ("--machine", "laptop"), _RECORDINGS) == [
        "stat", "--format=json", "--replay=/somewhere/run.ttj", "--every=10000h", "--from=+5m"]
    assert RECORDING not in _BY_NAME["why"].schema([])["properties"]
    assert _BY_NAME["why"].schema(["run.ttj"])["properties"][RECORDING]["enum"] == ["run.ttj"]
    assert "from" not in _BY_NAME["why"].schema([])["properties"]
