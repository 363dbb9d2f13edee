from __future__ import annotations

import pytest

from turbotui.features.roofline.spec_sheets import CHIPS, CORES, Core, chip_of, core_of
from turbotui.machine.processors import AMD, ARM, INTEL, processors


def test_every_sheet_that_a_processor_names_is_there_and_the_other_way_round() -> None:
    rows = [row for file in (INTEL, AMD, ARM) for row in processors(file).values()]
    named = {sheet for row in rows for sheet in (row.sheet, row.sheet_e, row.sheet_lp) if sheet}
    assert named == set(CORES.names())


@pytest.mark.parametrize("core", [core_of(name) for name in CORES.names()], ids=lambda core: core.name)
def test_a_sheet_is_whole(core: Core) -> None:
    bits = [width for _, width in core.widths]
    assert bits == sorted(bits)
    assert core.units.keys() == {0, *bits}
    assert all(0 <= count <= 8 for counts in core.units.values() for count in counts)
    for moved in (core.load, core.store, core.both):
        assert moved
        assert moved.keys() <= {0, *bits}
    assert all(core.load[width] <= core.both[width] for width in core.load.keys() & core.both.keys())
    assert core.l2_shared is None or (core.l2 is not None and core.l2_shared >= core.l2)
    assert all(unit.flops % 2 == 0 and unit.flag and unit.bits >= bits[0] for unit in core.products)
    assert core.half in {"", "avx512_fp16", "asimdhp"}
    assert core.document


@pytest.mark.parametrize("name", CHIPS.names())
def test_a_chip_has_a_core_of_the_table(name: str) -> None:
    chip = chip_of(name)
    assert chip.core in CORES.names()
    assert chip.cores > 0
    assert 1e9 < chip.hertz < 1e10
    assert 1e9 < chip.dram < 1e13
