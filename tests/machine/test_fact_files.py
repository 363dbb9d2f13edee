"""Every row of every table of facts can be read, uses known names, and agrees with its neighbours."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from every_row import of_every

import turbotui
from turbotui.errors import InternalError
from turbotui.features.roofline.dram import configured_memory
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platform_features import CoreState, FeatureSet, LimitReasons, PackageState, RaplRegister
from turbotui.machine.platforms import CSTATE_LIMITS, FEATURE_SETS, L2_EVENTS, cstate_limits, feature_set
from turbotui.machine.processors import AMD, ARM, INTEL, Processor, processors
from turbotui.machine.registers import COUNTERS, SETTINGS, Register, registers_of
from turbotui.quantities.catalog.limits import LIMIT_REASONS, limit_bits
from turbotui.quantities.facts import FactFile
from turbotui.quantities.metric_table import METRIC_DEFINITIONS
from turbotui.quantities.metric_table import definition as definition_of

PACKAGE = Path(turbotui.__file__).parent
PEOPLES = "sets"  # event sets have the form of the files that people write
NESTED = "features/topdown/trees.toml"
"""A file whose rows hold rows: its own reader is tests/features/topdown's."""
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.toml") if path.parent.name != PEOPLES)
DOCUMENTS = (
    "AMD PPR", "Antao et al.", "Arm Architecture Reference Manual DDI 0487", "Intel SDM vol. 4", "Intel perfmon",
    "NVIDIA Grace CPU data sheet", "NVIDIA Vera CPU product description", "Neoverse N1 Technical Reference Manual",
    "linux tools/perf/pmu-events",
)  # fmt: skip
"""What citations begin with."""

REGISTERS = {file.path: registers_of(file) for file in (COUNTERS, SETTINGS)}
ALL_REGISTERS = [(path, register) for path, registers in REGISTERS.items() for register in registers]
PROCESSORS = [row for file in (INTEL, AMD, ARM) for row in processors(file).values()]
MACHINES = [
    CpuModel(architecture="x86_64", vendor=vendor, flags=frozenset(flags.split()))
    for vendor in ("GenuineIntel", "AuthenticAMD")
    for flags in ("", "tsc aperfmperf dtherm pts epb hwp_epp")
]


def whole(path: str) -> list[tuple[str, Mapping[str, object]]]:
    """A file through tomllib, in the form of `FactFile.tables`."""
    result = tomllib.loads((PACKAGE / path).read_text("utf-8"))
    return [(name, row) for name, value in result.items() for row in (value if isinstance(value, list) else [value])]


@pytest.mark.parametrize("path", [path for path in FILES if path != NESTED])
def test_our_reader_and_the_standard_library_read_the_same(path: str) -> None:
    ours = list(FactFile(path).tables())
    assert ours == whole(path)
    assert FactFile(path).names() == tuple(name for name, _ in ours)
    once = [(name, row) for name, row in ours if [other for other, _ in ours].count(name) == 1]
    if (PACKAGE / path).read_text("utf-8").find("\n[[") < 0:
        assert [(name, FactFile(path).find(name)) for name, _ in once] == ours


def rows_of(path: str) -> list[Mapping[str, object]]:
    """Every row of a file, those below other rows too: tables of `NESTED` are named, and hold lists of rows."""
    if path != NESTED:
        return [row for _, row in whole(path)]
    named = [row for value in tomllib.loads((PACKAGE / path).read_text("utf-8")).values() for row in value.values()]
    return named + [inner for row in named for value in row.values() if isinstance(value, list)
                    for inner in value if isinstance(inner, dict)]


@pytest.mark.parametrize("path", FILES)
def test_a_file_says_what_its_keys_mean_and_where_they_are_from(path: str) -> None:
    text = (PACKAGE / path).read_text("utf-8")
    head = text[: text.index("\n[")]
    assert "# Documents: " in head
    keys = {key for row in rows_of(path) for key in row}
    explained = {"symbol", "name", "title", "document"}  # say it themselves
    assert {key for key in keys - explained if key.removeprefix("has_") not in head} == set()


def test_what_a_file_names_is_there() -> None:
    there = {
        "features": FEATURE_SETS.names(), "l2": L2_EVENTS.names(),
        "metrics": METRIC_DEFINITIONS.names(), "metrics_e": METRIC_DEFINITIONS.names(),
        "metrics_lp": METRIC_DEFINITIONS.names(),
    }  # fmt: skip
    for row in PROCESSORS:
        for key, names in there.items():
            value = getattr(row, key)
            named = value if isinstance(value, tuple) else (value,) if value else ()
            assert set(named) <= set(names), (row.key, key)


def test_nothing_is_in_a_table_that_no_processor_names() -> None:
    assert {name for row in PROCESSORS for name in row.l2} == set(L2_EVENTS.names())
    assert {name for row in PROCESSORS for name in (row.metrics, row.metrics_e, row.metrics_lp) if name} == set(
        METRIC_DEFINITIONS.names()
    )
    rows = dict(FEATURE_SETS.tables())
    assert {row["cst_limit"] for row in rows.values() if "cst_limit" in row} == set(CSTATE_LIMITS.names())


def test_no_processor_is_there_twice() -> None:
    for file in (INTEL, AMD, ARM):
        assert [name for name, count in Counter(file.names()).items() if count > 1] == []
    symbols = Counter(row.symbol for row in PROCESSORS if row.symbol)
    assert [symbol for symbol, count in symbols.items() if count > 1] == []


def test_ranges_of_models_neither_overlap_nor_leave_out() -> None:
    ranges: dict[str, list[tuple[int, int]]] = {}
    for key in AMD.names():
        vendor, family, first, last = key.split("-")
        ranges.setdefault(f"{vendor}-{family}", []).append((int(first, 16), int(last, 16)))
    for family, spans in ranges.items():
        assert [number for first, last in spans for number in range(first, last + 1)] == list(range(256)), family


@of_every([row for row in PROCESSORS if row.memory])
def test_memory_is_within_what_is_built(row: Processor) -> None:
    memory = configured_memory(row, "a data sheet")
    assert memory.channels in (2, 4, 6, 8, 12)
    assert 1000 <= memory.mts <= 10000
    assert row.memory == f"{memory.channels} x {memory.words.split(' of ')[1]}"


@of_every([row for row in PROCESSORS if row.kinds == "one"])
def test_one_kind_of_core_has_no_other_kinds(row: Processor) -> None:
    assert [row.metrics_e, row.metrics_lp, row.sheet_e, row.sheet_lp] == [""] * 4
    assert len(row.l2) <= 1


@of_every(ALL_REGISTERS, lambda row: f"{row[0]}: {row[1].name}")
def test_a_register_is_whole(row: tuple[str, Register]) -> None:
    path, register = row
    high, low = register.bits
    assert path
    assert 0 <= low <= high <= 63
    assert not low <= register.valid_bit <= high
    assert register.valid_bit < 64
    assert register.document.startswith(DOCUMENTS)
    assert register.name.partition("[")[0] in register.document
    assert register.name.endswith(f"[{high}:{low}]") or "[" not in register.name
    for condition in register.when:
        known(condition)


def known(condition: str) -> None:
    """Fails where what a condition names does not exist."""
    word, _, rest = condition.partition(" ")
    match word:
        case "has" | "no":
            assert f"has_{rest}" in FeatureSet.__dataclass_fields__
        case "core":
            CoreState(rest)
        case "package":
            PackageState(rest)
        case "rapl":
            assert rest in RaplRegister.__members__
        case "limit_reasons":
            assert rest in LimitReasons.__members__
        case "features":
            assert set(rest.removeprefix("not ").split()) <= set(FEATURE_SETS.names())
        case "vendor":
            assert rest in {"GenuineIntel", "AuthenticAMD"}
        case _:
            assert word == "flag"


@of_every(FEATURE_SETS.names())
def test_fields_of_one_register_do_not_overlap(name: str) -> None:
    for model in MACHINES:
        for registers in REGISTERS.values():
            taken: dict[int, int] = {}
            signals: Counter[str] = Counter()
            for register in registers:
                if register.present(feature_set(name), model):
                    bits = (1 << register.width_bits) - 1 << register.low_bit
                    assert taken.get(register.address, 0) & bits == 0, register.name
                    taken[register.address] = taken.get(register.address, 0) | bits
                    signals[register.signal] += 1
            assert [signal for signal, count in signals.items() if count > 1] == []


@of_every(CSTATE_LIMITS.names())
def test_a_field_of_four_bits_has_sixteen_meanings(name: str) -> None:
    assert len(cstate_limits(name)) == 16


@of_every(METRIC_DEFINITIONS.names())
def test_a_metric_definition_is_whole(slug: str) -> None:
    definition = definition_of(slug)
    keys = [event.key for event in definition.events]
    codes = [(event.config, event.config1) for event in definition.events]
    assert len(set(keys)) == len(keys)
    assert len(set(codes)) == len(codes)
    assert all(0 <= config < 1 << 64 for config, _ in codes)
    assert any(document in definition.source for document in DOCUMENTS)


@pytest.mark.parametrize(("row", "why"), [
    ('kinds = "one"\nmodel = 3', "'model' means nothing here; known are "),
    ('kind = "one"', "'kind' means nothing here; did you mean kinds?"),
    ('kinds = "two"', "kinds is 'two', and has to be \"one\" or \"several\""),
    ("memory_rate = true", "memory_rate is True, and has to be a number"),
    ("name = 7", "name is 7, and has to be a text"),
    ("l2 = [1]", "l2 is [1], and has to be a list of texts"),
    ("name", "'name' is no line of the form key = value with a new key"),
    ('name = "a"\nname = "b"', "is no line of the form key = value with a new key"),
    ("name = yes", "'yes' is no value"),
    ('name = ["a"', "is no value"),
])  # fmt: skip
def test_a_row_that_is_wrong_is_refused_with_its_file_and_table(row: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.toml"
    file.write_text(f"# rows\n\n[GenuineIntel-6-8F]\n{row}\n")
    with pytest.raises(InternalError) as failure:
        processors(FactFile(str(file)))
    assert str(failure.value).startswith(f"turbotui/{file}, [GenuineIntel-6-8F]: ")
    assert why in str(failure.value)


def test_the_bits_of_limit_reasons_are_those_of_registers_that_are_read() -> None:
    addresses = {register.signal: f"0x{register.address:X} {register.name}" for _, register in ALL_REGISTERS
                 if register.signal.startswith("reasons.")}
    rows = {name: limit_bits(name) for name in LIMIT_REASONS.names()}
    assert {name: row.register for name, row in rows.items()} == addresses
    for name, row in rows.items():
        states, logs = row.words_of(logged=False), row.words_of(logged=True)
        assert len(states) == len(row.words), f"{name} names a bit twice"
        assert len(set(states.values())) == len(states), f"{name} has a word twice"
        assert not states.keys() & logs.keys(), f"{name} has a bit that is state and log"
        assert max(logs) < 32
