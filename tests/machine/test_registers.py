from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from every_row import of_every
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.platforms import FEATURE_SETS as FEATURE_FILE
from turbotui.machine.platforms import Platform, feature_set
from turbotui.machine.registers import COUNTERS, Register, decode, present_registers, registers_of
from turbotui.quantities.units import Unit

REFERENCE = Path(__file__).parents[2] / "../shared/reference/turbostat-msrs.json"
FEATURE_SETS = {name: feature_set(name) for name in FEATURE_FILE.names()}
REGISTERS = registers_of(COUNTERS)
FLAGS = frozenset({"tsc", "aperfmperf", "dtherm", "pts"})


def present(name: str) -> tuple[Register, ...]:
    model = CpuModel(architecture="x86_64", flags=FLAGS)
    return present_registers(Platform(True, "", FEATURE_SETS[name]), model, REGISTERS)


@of_every(sorted(FEATURE_SETS))
def test_a_platform_has_one_register_for_a_signal(name: str) -> None:
    counts = Counter(register.signal for register in present(name))
    assert [signal for signal, count in counts.items() if count > 1] == []


@of_every(sorted(FEATURE_SETS))
def test_a_platform_has_the_residencies_of_its_table(name: str) -> None:
    features = FEATURE_SETS[name]
    signals = {register.signal for register in present(name)}
    counted = {f"cstate.core.{state.value}" for state in features.core_cstates} - {"cstate.core.c1"}
    if features.has_core_c1_res:
        counted.add("cstate.core.c1")
    if features.has_module_c6_res:
        counted.add("cstate.module.c6")
    counted |= {f"cstate.pkg.{state.value}" for state in features.pkg_cstates}
    assert {signal for signal in signals if signal.startswith("cstate.")} == counted


@of_every(REGISTERS, lambda register: f"{register.signal}-{register.address:x}")
def test_every_row_is_complete(register: Register) -> None:
    assert register.name
    assert register.document
    assert 0 <= register.low_bit < register.low_bit + register.width_bits <= 64
    assert register.width_bits == 32 or not register.is_energy
    assert (register.limit is not None) == register.signal.startswith("cstate.pkg.")
    assert (register.unit is Unit.JOULE) == register.is_energy


def test_addresses_and_names_are_those_of_the_reference() -> None:
    if not REFERENCE.exists():
        pytest.skip("the register reference is not beside this checkout")
    rows = json.loads(REFERENCE.read_text())
    known = {int(row["addr"], 16): row["name"] for row in rows}
    for register in REGISTERS:
        assert register.address in known
        assert register.name.split("_")[-1] in known[register.address], register.title


@given(st.integers(0, 2**64 - 1))
def test_registers_are_little_endian(value: int) -> None:
    assert decode(value.to_bytes(8, "little")) == value
