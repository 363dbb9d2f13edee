"""How --add parses events, groups, formulas and options, and what it refuses."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.errors import UsageError
from turbotui.quantities.added import AddError, is_turbostats
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.catalog.added import with_events
from turbotui.quantities.catalog.events import event_column
from turbotui.quantities.event_columns import EventRequest, joined_metrics, parse_requests, renamed, short_title
from turbotui.quantities.event_traits import EventTraits, dimension_of, known_unit
from turbotui.quantities.expressions import UnitError
from turbotui.quantities.scope import Scope


def named(text: str) -> list[tuple[str, str]]:
    return [(column.name, column.source_text) for request in parse_requests(text) for column in request.columns]


@pytest.mark.parametrize("text", ["msr0x10", "perf/cpu/cycles", "/sys/x,delta", "pmt,name=x", "name,msr16", "x,/y"])
def test_turbostats_grammar_stays_turbostats(text: str) -> None:
    assert is_turbostats(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cycles:u", [("cycles:u", "cycles:u")]),
        ("r01c2", [("r01c2", "r01c2")]),
        ("msr/tsc/", [("msr/tsc/", "msr/tsc/")]),
        ("sched:sched_switch", [("sched:sched_switch", "sched:sched_switch")]),
        ("mem:0x1000/8:rw,cycles", [("mem:0x1000/8:rw", "mem:0x1000/8:rw"), ("cycles", "cycles")]),
        ("skl::INST_RETIRED:ANY", [("skl::INST_RETIRED:ANY", "skl::INST_RETIRED:ANY")]),
        ("cpu/event=0x3c,umask=0/u,name=UCYC", [("UCYC", "cpu/event=0x3c,umask=0/u")]),
        ("cycles,name=C,instructions,name=I,rate", [("C", "cycles"), ("I", "instructions")]),
        ("{cycles,cpu/event=0x1,umask=2/}:u", [("cycles", "cycles"),
                                               ("cpu/event=0x1,umask=2/", "cpu/event=0x1,umask=2/")]),
        ("g{a,b}:W , c", [("a", "a"), ("b", "b"), ("c", "c")]),
        ("uncore_imc/cas_count_read/", [("cas_count_read", "uncore_imc/cas_count_read/")]),
        ("uncore_imc/event=4,umask=3,name=rd/", [("rd", "uncore_imc/event=4,umask=3,name=rd/")]),
        ("RD=uncore_imc/cas_count_read/", [("RD", "uncore_imc/cas_count_read/")]),
        ("U=cycles:u", [("U", "cycles:u")]),
        ("C=cpu/event=0x3c,umask=0/u", [("C", "cpu/event=0x3c,umask=0/u")]),
        ("D=a/b/c", [("D", "a/b/c")]),
        ("D=a/2/c", [("D", "a/2/c")]),
        ("IPC1=instructions/cycles", [("IPC1", "instructions/cycles")]),
        ("M%=100*'cache-misses'/min('cache-references',1e9),unit=%,decimals=1",
         [("M%", "100*'cache-misses'/min('cache-references',1e9)")]),
    ],
)
def test_texts(text: str, expected: list[tuple[str, str]]) -> None:
    assert not is_turbostats(text)
    assert named(text) == expected


def test_options_and_names_of_a_formula() -> None:
    (request,) = parse_requests("E=1e9*energy.pkg/instructions/dt,unit=nJ/s,decimals=1")
    assert request.events == ("instructions",)
    assert request.others == ("energy.pkg",)
    assert request.together
    assert (request.columns[0].unit, request.columns[0].decimals) == ("nJ/s", 1)
    (plain,) = parse_requests("{cycles,instructions}:W,rate")
    assert [column.rate for column in plain.columns] == [True, True]
    assert plain.items == ("{cycles,instructions}:W",)
    assert not plain.together


@pytest.mark.parametrize("text", ["", " , ", "name=x,cycles", "cycles,name=", "cycles,rate=2", "{a,b},name=x",
                                  "{a,a}", "X=1+2", "X=a/b,decimals=x", "X=a/b,decimals=10", "X=a/b,width=3",
                                  "X=a/", "X=", "X=a b"])
def test_what_cannot_be_read_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_requests(text)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="abz019_:/{},='%*+-(). ", max_size=30))
def test_any_text_is_requests_or_one_error(text: str) -> None:
    if is_turbostats(text):
        return  # the turbostat grammar's own tests have it
    try:
        requests = parse_requests(text)
    except UsageError:
        return
    assert requests
    for request in requests:
        assert request.columns
        assert len({request.signal(event) for event in request.events}) == len(request.events)


@given(st.lists(st.sampled_from(["cpu/event=0x1,umask=1/", "cpu/event=0x1,umask=2/", "cycles", "x/cycles/",
                                 f"{'unc_cha_tor_inserts.' * 2}ia_miss", f"{'unc_cha_tor_inserts.' * 2}ia_hit"]),
                min_size=1, max_size=4, unique=True))
def test_shortened_titles_are_distinguished(events: list[str]) -> None:
    taken: set[str] = set()
    for event in events:
        (request,) = parse_requests(event)
        (column,) = renamed(request, frozenset(taken)).columns
        assert len(column.name) <= 40
        if column.formula is None and event != "cycles":
            assert column.name not in taken
        taken.add(column.name)


def test_a_title_that_somebody_chose_is_not_changed() -> None:
    (request,) = parse_requests("cycles,name=Busy%")
    assert renamed(request, frozenset({"Busy%"})).columns[0].name == "Busy%"
    column = event_column(request.columns[0], request, {}, {})
    with pytest.raises(UsageError, match="Busy% already"):
        with_events(catalog_for({}).columns, [column])


def made(text: str, **traits: EventTraits) -> tuple[EventRequest, str, Scope]:
    (request,) = parse_requests(text)
    column = event_column(request.columns[0], request, traits, {})
    return request, column.unit, column.scope


def test_units_follow_the_dimension() -> None:
    energy = EventTraits(Scope.PACKAGE, "Joules", scaled=True)
    memory = EventTraits(Scope.DIE, "MiB", scaled=True)
    assert made("X=instructions/cycles")[1] == ""
    assert made("X=instructions/dt")[1] == "/s"
    assert made("X=e/instructions", e=energy)[1:] == ("J", Scope.PACKAGE)
    assert made("X=m/dt", m=memory)[1:] == ("B/s", Scope.DIE)
    assert made("m,rate", m=memory)[1] == "MiB/s"
    with pytest.raises(UnitError):
        made("X=e+m", e=energy, m=memory)
    assert made("X=e/m,unit=J/MB", e=energy, m=memory)[1] == "J/MB"


def test_units_of_pmus() -> None:
    assert known_unit("MiB").factor == 1048576
    assert dimension_of(EventTraits(unit="Furlongs")) == {"Furlongs": 1}
    assert dimension_of(EventTraits()) == {}


def test_titles() -> None:
    assert short_title("power/energy-pkg/") == "power/energy-pkg/"
    assert short_title("power/energy-core/") == "power/energy-core/"
    assert short_title("power/energy-cores/") == "energy-cores"
    assert short_title("nvidia_ucf_pmu_0/slc_bytes_rd,src_rem=1/") == "slc_bytes_rd"
    assert short_title("mem:0x123456789abcdef/8:rw") == "mem:0x123456789abcdef/8:rw"
    assert short_title("mem_inst_retired.all_loads:u") == "mem_inst_retired.all_loads:u"
    assert short_title("syscalls:sys_enter_openat") == "sys_enter_openat"
    assert short_title("cycles/name=foo/u") == short_title("cpu/event=0x3c,umask=0,name='foo'/") == "foo"


@pytest.mark.parametrize(("texts", "joined"), [
    ((), ()),
    (("cycles", "cycles"), ("cycles", "cycles")),
    (("cycles", "metric:A", "X=a/b", "metric:B,C:u", "cs"), ("cycles", "metric:A,B,C:u", "X=a/b", "cs")),
])
def test_metrics_of_several_texts_become_one(texts: tuple[str, ...], joined: tuple[str, ...]) -> None:
    assert joined_metrics(texts) == joined


@pytest.mark.parametrize("text", ["config=0x3c", "event=0x3c,umask=1", "umask=1"])
def test_terms_without_their_pmu_are_no_formula(text: str) -> None:
    with pytest.raises(AddError, match=re.escape(f"as cpu/{text}/")):
        parse_requests(text)
    (request,) = parse_requests("umask=instructions/cycles")
    assert request.columns[0].name == "umask"
