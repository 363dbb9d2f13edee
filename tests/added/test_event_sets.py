"""Event sets: the shipped ones compared with the model, and messages about wrong files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from added_columns import SYSTEM_ROW, Adding, Moment, adding, cell, package
from hypothesis import given
from hypothesis import strategies as st
from smallmachines import small_shape

from turbotui.errors import UsageError
from turbotui.events.set_files import SetError, known_sets, model_id, parse_sets, shipped_sets
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import read_machine
from turbotui.quantities.expressions import parse_expression
from turbotui.quantities.metric_table import definition
from turbotui.quantities.unavailable import Reason
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.simulated.named import named_shape
from turbotui.simulated.workloads import WORKLOADS

Truth = Callable[[Moment, Moment, float], float]


def summed(field: str) -> Callable[[Moment, Moment], float]:
    return lambda a, b: sum(getattr(y, field) - getattr(x, field) for x, y in zip(a.cpus, b.cpus, strict=True))


def moved(field: str) -> Callable[[Moment, Moment], float]:
    return lambda a, b: sum(getattr(y, field) - getattr(x, field) for x, y in zip(a.packages, b.packages, strict=True))


instructions, cycles = summed("instructions"), summed("cycles")
TRUTHS: dict[str, Truth] = {
    "IPC": lambda a, b, _t: instructions(a, b) / cycles(a, b),
    "BrMiss%": lambda a, b, _t: 100 * summed("branch_misses")(a, b) / summed("branches")(a, b),
    "BrMPKI": lambda a, b, _t: 1000 * summed("branch_misses")(a, b) / instructions(a, b),
    "LLCmiss%": lambda a, b, _t: 100 * summed("cache_misses")(a, b) / summed("cache_references")(a, b),
    "LLC-MPKI": lambda a, b, _t: 1000 * summed("cache_misses")(a, b) / instructions(a, b),
    "nJ_ins": lambda a, b, _t: 1e9 * moved("joules")(a, b) / instructions(a, b),
    "nJ_cyc": lambda a, b, _t: 1e9 * moved("joules")(a, b) / cycles(a, b),
    "GFLOPs": lambda a, b, t: summed("flops")(a, b) / t / 1e9,
    "MemRdGBs": lambda a, b, t: moved("read_bytes")(a, b) / t / 1e9,
    "MemWrGBs": lambda a, b, t: moved("written_bytes")(a, b) / t / 1e9,
    "MemGBs": lambda a, b, t: (moved("read_bytes")(a, b) + moved("written_bytes")(a, b)) / t / 1e9,
}


def values(here: Adding, *sets: str) -> tuple[dict[str, float], Moment, Moment]:
    """The columns of sets that can be had, over the whole machine in two seconds."""
    columns = [column for name in sets for column in here.add(f"set:{name}")]
    here.start()
    frame, before, after = here.interval(2.0)
    can = [column for column in columns if here.why(column) is None]
    return {column.id: cell(frame, column, SYSTEM_ROW) for column in can}, before, after


@pytest.mark.parametrize(("machine", "sets", "lacking"), [
    ("sapphire-2s", ("ipc", "branches", "energy"), set()),
    ("sapphire-2s", ("memory", "flops"), set()),
    ("sapphire-2s", ("caches",), set()),
    ("turin-2s", ("ipc", "branches", "energy", "flops"), set()),
    ("turin-2s", ("memory",), set()),
    ("turin-2s", ("caches",), set()),
    ("vera-2s", ("ipc", "branches", "memory", "flops", "caches"), set()),
    ("grace-2s", ("branches", "memory", "flops", "energy"), {"nJ_ins", "nJ_cyc"}),
    ("laptop", ("branches", "memory", "energy"), set()),
    ("forest-1s", ("flops", "memory"), set()),
])
def test_a_shipped_set_shows_what_happened(machine: str, sets: tuple[str, ...], lacking: set[str]) -> None:
    with adding(machine) as here:
        result, before, after = values(here, *sets)
        wanted = {column.name for name in sets for column in shipped_sets()[name].columns}
        assert wanted - set(result) == lacking
        known = {name: truth for name, truth in TRUTHS.items() if name in result}
        assert known
        for name, truth in known.items():
            # estimates of counters that share their time are off by what happened while they were not counted
            assert result[name] == pytest.approx(truth(before, after, 2.0), rel=2e-3), name


def _multiplying(clock: ManualClock) -> SimulatedHost:
    """A small server of AMD's whose CPUs add products of int8 numbers in a fifth of their instructions."""
    shape, _ = named_shape("turin-2s")
    works = (replace(WORKLOADS[0], name="products in int8", vnni=0.2),) * len(WORKLOADS)
    kinds = tuple(replace(kind, works=works) for kind in shape.core_types)
    return SimulatedHost(small_shape(replace(shape, core_types=kinds)), clock, seed=3)


def test_products_of_short_numbers_are_counted() -> None:
    with adding("", make=_multiplying) as here:
        result, before, after = values(here, "products")
        assert set(result) == {"VNNI_M"}  # AMD's cores have no matrix tiles
        assert result["VNNI_M"] == pytest.approx(0.2 * instructions(before, after) / 2.0 / 1e6, rel=2e-3)


@pytest.mark.parametrize(("model", "events"), [
    ("sapphire-2s", {"cpu/event=0xe7,umask=0x10/", "cpu/event=0xe7,umask=0x20/", "cpu/event=0xb7,umask=0x2/",
                     "cycles"}),
    ("laptop", {"cpu_core/event=0xe7,umask=0x10/", "cpu_core/event=0xe7,umask=0x20/"}),
    ("grace-2s", set()),
])
def test_products_are_asked_for_by_the_codes_of_the_processor(model: str, events: set[str]) -> None:
    name = model_id(read_machine(simulated_host(model)).model)
    columns = shipped_sets()["products"].columns
    fitting = [alternative for column in columns for alternative in column.alternatives
               if any(re.fullmatch(pattern, name) for pattern in alternative.models)]
    assert {event for item in fitting for event in parse_expression(item.formula).names} - {"dt"} == events


def _formulas(name: str, model: int) -> list[str]:
    """The formulas of a set on a model of Intel's family 6."""
    processor = CpuModel(vendor="GenuineIntel", family=6, model=model)
    return [next(alternative.formula for alternative in column.alternatives if alternative.suits(processor))
            for column in shipped_sets()[name].columns]


@pytest.mark.parametrize("model", [0x2A, 0x2D, 0x3A, 0x3E])
def test_flops_of_sandy_and_ivy_bridge_are_those_of_the_roofline(model: int) -> None:
    (formula,) = _formulas("flops", model)
    terms = parse_expression(formula)
    counted = definition("ivybridge")
    codes = {event.key: f"cpu/event={event.config & 0xFF:#x},umask={event.config >> 8:#x}/" for event in counted.events}
    expected = {codes[term.event]: term.weight for term in counted.flops}
    assert set(terms.names) - {"dt"} == set(expected)
    for name, flops in expected.items():
        weight = terms.evaluate({**dict.fromkeys(terms.names, 0.0), name: 1e9, "dt": 1.0})
        assert weight == flops, name


def test_the_papers_set_beyond_the_core_on_its_processors() -> None:
    names = [set(parse_expression(formula).names) - {"dt"} for formula in _formulas("offcore", 0x3A)]
    assert names == [{"cpu/event=0x51,umask=0x1/"}, {"cache-references"}, {"cpu/event=0x24,umask=0x20/"},
                     {"cpu/event=0xb7,umask=0x1,offcore_rsp=0x3f80400091/"}]
    with adding("sapphire-2s", frozenset({0})) as here:
        lines, references, *_rest = here.add("set:offcore")
        assert here.why(references) is None
        assert here.why(lines) is not None


def test_top_down_fills_the_pipeline() -> None:
    with adding("sapphire-2s", frozenset(range(4))) as here:
        result, _before, _after = values(here, "topdown")
        assert set(result) == {"Retire%", "BadSpec%", "FrontEnd%", "BackEnd%"}
        assert all(0.0 < share < 100.0 for share in result.values())


def test_translation_buffers_miss_seldom() -> None:
    with adding("turin-2s", frozenset(range(4))) as here:
        result, _before, _after = values(here, "tlb")
        assert set(result) == {"dTLB-MPKI", "iTLB-MPKI"}
        assert result["iTLB-MPKI"] == pytest.approx(result["dTLB-MPKI"] / 5, rel=1e-2)  # as the model has it


@pytest.mark.parametrize("name", ["sapphire-2s", "icelake-2s", "laptop-old"])
def test_a_load_that_misses_takes_as_long_as_the_model_says(name: str) -> None:
    with adding(name, frozenset({0, 1})) as here:
        result, _before, _after = values(here, "latency")
        assert result == {"L1MissCyc": pytest.approx(21.0, rel=1e-3)}


def test_user_and_kernel_mode_make_the_whole() -> None:
    with adding("sapphire-2s", frozenset(range(4))) as here:
        result, _before, _after = values(here, "ipc")
        assert min(result["uIPC"], result["kIPC"]) <= result["IPC"] <= max(result["uIPC"], result["kIPC"])
        assert 0.0 < result["kIns%"] < 100.0


def test_what_a_machine_lacks_is_reported_with_every_way_that_was_tried() -> None:
    with adding("guest", frozenset({0})) as here:
        (column, *_more) = here.add("set:memory")
        why = here.why(column)
        assert why is not None
        assert "uncore_imc" in why.detail
        assert "amd_umc" in why.detail
        assert "events sets memory" in why.remedy
    with adding("forest-1s", frozenset({0})) as here:
        topdown = here.add("set:topdown")[0]
        why = here.why(topdown)
        assert why is not None
        assert "slots" in why.detail


@pytest.mark.parametrize("name", ["sapphire-2s", "icelake-2s"])
def test_the_slots_of_a_simulated_core_add_up(name: str) -> None:
    with adding(name, frozenset({0})) as here:
        result, _before, _after = values(here, "topdown")
        assert sum(result.values()) == pytest.approx(100.0, abs=0.01)


def test_a_raw_event_of_another_processor_is_never_opened() -> None:
    with adding("forest-1s", frozenset({0})) as here:
        column = next(counter_column for counter_column in here.add("set:caches") if counter_column.id == "L2miss%")
        why = here.why(column)
        assert why is not None
        assert why.reason in (Reason.UNKNOWN_MODEL, Reason.NO_HARDWARE)


def test_adding_a_set_twice_changes_nothing_and_its_columns_can_be_removed() -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        first = here.add("set:branches")
        assert here.add("set:branches") == first
        here.session.remove("BrMPKI")
        assert [name for name, _text in here.session.by_hand()] == ["BrMiss%"]
        with pytest.raises(UsageError, match="did you mean branches"):
            here.add("set:branch")
        with pytest.raises(UsageError, match="there are branches, caches"):
            here.add("set:zzzz")


def test_every_shipped_formula_can_be_read_and_has_a_document_or_generic_names() -> None:
    sets = shipped_sets()
    assert set(sets) == {"ipc", "branches", "caches", "tlb", "energy", "flops", "memory", "topdown", "latency",
                         "products", "offcore"}
    for event_set in sets.values():
        assert event_set.title
        for column in event_set.columns:
            for alternative in column.alternatives:
                names = parse_expression(alternative.formula).names
                assert names
                raw = any("event=" in name or name.startswith("r8") for name in names)
                assert alternative.document or not raw
                assert alternative.models or not any("cpu" in name and "event=" in name for name in names)


GOOD = """
[mine]
title = "my own"
[[mine.column]]
name = "Sw"
formula = "cs / dt"
unit = "/s"
decimals = 1
"""


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    home = tmp_path / "config" / "turbotui"
    home.mkdir(parents=True)
    (home / "events.toml").write_text(GOOD.replace("mine", "home"))
    sets = known_sets({"XDG_CONFIG_HOME": str(tmp_path / "config")}, str(file))
    assert {"mine", "home", "ipc"} <= set(sets)
    assert "mine" not in known_sets({"HOME": str(tmp_path)})
    with adding("sapphire-2s", frozenset({0, 1})) as here:
        here.session.find_sets = lambda: sets
        (column,) = here.add("set:mine")
        here.start()
        frame, before, after = here.interval(2.0)
        real = sum(after.cpus[cpu].switches - before.cpus[cpu].switches for cpu in (0, 1))
        assert cell(frame, column, package(frame, 0)) == pytest.approx(real / 2.0, rel=1e-2)


@pytest.mark.parametrize(("text", "part"), [
    ("[mine\n", "line 1"),
    ("[mine]\ntitle = 'x\n", "line 2"),
    ("mine = 3\n", "line 1: 'mine' is no set"),
    ("[mine]\ntitle = 'x'\n", "has no [[mine.column]]"),
    (GOOD.replace("formula", "formul"), "line 6: 'formul' means nothing here; did you mean formula?"),
    (GOOD.replace("cs / dt", "cs / "), "line 6: The expression"),
    (GOOD.replace('"cs / dt"', "7"), "line 6: formula is 7, and has to be a text"),
    (GOOD.replace("decimals = 1", "decimals = 12"), "line 8: decimals is 12, and has to be a whole number from 0 to 9"),
    (GOOD.replace('"Sw"', '""'), "line 5: name is '', and has to be the name of a column"),
    (GOOD + '[[mine.column]]\nname = "Sw"\n', "two columns Sw"),
    (GOOD + '[[mine.column]]\nname = "X"\nalternative = 3\n',
     "alternative is 3, and has to be tables, written [[mine.column.alternative]]"),
    (GOOD + '[[mine.column]]\nname = "X"\n[[mine.column.alternative]]\nmodels = ["("]\nformula = "cs"\n',
     "line 12: '(' is no pattern"),
    (GOOD + '[[mine.column]]\nname = "X"\n[[mine.column.alternative]]\nmodels = "x"\nformula = "cs"\n',
     "line 12: models is 'x', and has to be a list of texts"),
    (GOOD + '[[mine.column]]\nname = "X"\n[[mine.column.alternative]]\ndocument = "x"\n', "formula is missing"),
])
def test_a_file_that_is_wrong_is_one_sentence_with_its_line(text: str, part: str) -> None:
    with pytest.raises(SetError) as caught:
        parse_sets(text, "mine.toml")
    assert part in str(caught.value)
    assert "mine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SetError, match="cannot be read: No such file"):
        known_sets({}, str(tmp_path / "absent.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SetError, match="not UTF-8, at byte 1"):
        known_sets({}, str(tmp_path / "bytes.toml"))


@given(st.text(max_size=60))
def test_any_text_is_sets_or_one_error(text: str) -> None:
    try:
        parse_sets(text, "x")
    except SetError:
        return


def test_processors_have_the_names_that_models_match() -> None:
    assert model_id(CpuModel(vendor="GenuineIntel", family=6, model=0x8F)) == "GenuineIntel-6-8F"
    assert model_id(CpuModel(vendor="AuthenticAMD", family=26, model=2)) == "AuthenticAMD-26-2"
    assert model_id(CpuModel(vendor="Arm", implementer=0x41, part=0xD4F)) == "0x41-0xd4f"
    assert model_id(CpuModel()) == ""
