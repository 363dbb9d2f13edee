from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.features.tasks.applications import Application, parse_application, parse_targets, refuse_duplicates

NAMES = st.text("abcdefgh-_.", min_size=1, max_size=8)
EVENTS = st.sampled_from(["", "cycles,instructions", "cycles:u,cpu/event=0xc7,umask=0x10/", "r1a8:k", "flops,faults"])


@given(NAMES, st.one_of(
    st.lists(st.integers(1, 2**22), min_size=1, max_size=3, unique=True).map(lambda pids: {"pids": tuple(pids)}),
    st.sampled_from(["/user.slice", "/a:b", "x/y"]).map(lambda path: {"cgroup": path}),
    st.just({"everything": True}),
    st.lists(st.sampled_from(["a", "b c", "--x=1", "q'"]), min_size=1).map(lambda words: {"command": tuple(words)}),
), EVENTS)
def test_what_is_written_is_read_back(name: str, what: dict[str, object], events: str) -> None:
    application = Application(name, events=events, **what)  # type: ignore[arg-type]  # one kind each
    assert parse_application(application.text) == application


@pytest.mark.parametrize(("text", "says"), [
    ("", "not understood"),
    ("web", "say one of"),
    ("web:pid=x", '"x" is not a process id'),
    ("web:pid=0", '"0" is not a process id'),
    ("web:pid=1:pid=2", "pid is given twice"),
    ("web:pid=1:all", "say one of"),
    ("web:cgroup=", "cgroup= needs a value"),
    ("web:pid=1:events=", "events= needs a value"),
    (":pid=1", "not understood"),
    ("a:b:pid=1", "not understood"),
    ("a:run='x", "run= is not understood"),
])
def test_what_cannot_be_understood_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_application(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_events_stand_last_and_take_the_rest() -> None:
    application = parse_application("a:cgroup=/x:events=cycles:u,instructions:pid=7")
    assert (application.cgroup, application.pids, application.events) == ("/x", (), "cycles:u,instructions:pid=7")


def test_what_is_typed_into_the_screen() -> None:
    value = parse_targets("all 12 /user.slice web:pid=1,2:events=cycles")
    assert [(item.everything, item.pids, item.cgroup, item.events) for item in value] == [
        (True, (), None, ""), (False, (12,), None, ""), (False, (), "/user.slice", ""), (False, (1, 2), None, "cycles")]


@pytest.mark.parametrize(("text", "says"), [
    ("  ", "say what to watch"), ("12 12", 'called "12"'), ("a:run=true", "for the command line"),
    ("'x", "not understood"), ("0", "not a process id"), ("nonsense", "say one of"),
])
def test_the_screen_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_targets(text)


def test_names_tell_applications_apart() -> None:
    with pytest.raises(UsageError, match='two applications are called "a"'):
        refuse_duplicates([Application("a", pids=(1,)), Application("a", pids=(2,))])


def test_a_container_is_named_by_itself_or_as_an_application() -> None:
    assert parse_targets("container=web") == (Application("web", container="web"),)
    application = parse_application("shop:container=prod/shop-0:events=cycles")
    assert application == Application("shop", container="prod/shop-0", events="cycles")
    assert parse_application(application.text) == application
    assert application.whole_cpus
    with pytest.raises(UsageError, match="needs a value"):
        parse_application("shop:container=")
