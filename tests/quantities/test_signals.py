"""Wraps, fields, scale and offset of raw signals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal
from turbotui.quantities.units import Unit

COUNTER = Signal("c", Scope.CPU, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, origin="register")
WIDTHS = st.sampled_from((8, 32, 40, 48))
SCALES = st.sampled_from((1.0, 2.0**-14, 1e-6, 0.01))


@given(width=WIDTHS, start=st.integers(0, 2**64 - 1), increase=st.integers(0, 2**48 - 1), scale=SCALES)
def test_a_narrow_counter_that_wraps_at_most_once_gives_its_increase(
    width: int, start: int, increase: int, scale: float
) -> None:
    increase %= 1 << (width - 1)
    signal = replace(COUNTER, width_bits=width, scale=scale)
    older, newer = start % (1 << width), (start + increase) % (1 << width)
    assert signal.delta(older, newer) == increase * scale


@given(width=WIDTHS, start=st.integers(0, 2**64 - 1), fall=st.integers(1, 2**48 - 1))
def test_a_narrow_counter_that_goes_down_by_less_than_half_was_set_back(width: int, start: int, fall: int) -> None:
    """A throttled time that began anew would else be 419,430,341 % of a second."""
    older = start % (1 << width)
    newer = older - min(older, fall % (1 << (width - 1)) + 1)
    assert replace(COUNTER, width_bits=width).delta(older, newer) == (None if newer < older else 0)


@given(width=WIDTHS, start=st.integers(0, 2**64 - 1), increase=st.integers(0, 2**52))
def test_with_wraps_counted_any_number_of_them_gives_the_increase(width: int, start: int, increase: int) -> None:
    signal = replace(COUNTER, width_bits=width)
    start %= 1 << width
    wraps, newer = divmod(start + increase, 1 << width)
    assert signal.delta(start, newer, wraps) == increase


@given(
    field=st.tuples(WIDTHS, st.integers(0, 16)), start=st.integers(0, 2**64 - 1), increase=st.integers(0, 2**48 - 1),
    noise=st.tuples(st.integers(0, 2**16 - 1), st.integers(0, 2**16 - 1)), above=st.integers(0, 255),
)
def test_bits_outside_the_field_do_not_count(
    field: tuple[int, int], start: int, increase: int, noise: tuple[int, int], above: int
) -> None:
    width, low = field
    mask = (1 << width) - 1
    increase &= mask >> 1
    signal = replace(COUNTER, width_bits=width, low_bit=low)
    older = (start & mask) << low | noise[0] % (1 << low)
    newer = ((start + increase) & mask) << low | noise[1] % (1 << low) | above << (low + width)
    assert signal.delta(older, newer) == increase


@given(older=st.integers(0, 2**53), newer=st.integers(0, 2**53), scale=SCALES)
def test_a_64_bit_counter_that_goes_back_has_no_delta(older: int, newer: int, scale: float) -> None:
    assert replace(COUNTER, scale=scale).delta(older, newer) == ((newer - older) * scale if newer >= older else None)


@pytest.mark.parametrize("pair", [(None, 1), (1, None), ("a", 1), (1, "a"), (None, None)])
def test_nothing_and_texts_have_no_delta(pair: tuple[int | str | None, int | str | None]) -> None:
    assert COUNTER.delta(*pair) is None
    assert replace(COUNTER, width_bits=32).delta(*pair) is None


def test_a_temperature_field_is_taken_out_and_subtracted_from_its_offset() -> None:
    # docs/specs/turbostat.md 13: MSR 0x1B1 = 0x88200800 with tj_max 100 is 68 °C; the readout is bits 22:16
    readout = replace(COUNTER, behavior=Behavior.GAUGE, width_bits=7, low_bit=16, scale=-1.0, offset=100.0)
    assert readout.value(0x88200800) == 68.0
    assert readout.value(None) is None
    assert readout.value("0x88200800") is None


@given(raw=st.integers(0, 2**64 - 1), scale=SCALES, offset=st.floats(-200, 200))
def test_a_whole_register_is_scaled_and_offset(raw: int, scale: float, offset: float) -> None:
    assert replace(COUNTER, scale=scale, offset=offset).value(raw) == offset + scale * raw


def test_energy_of_one_interval_in_the_units_of_the_manual() -> None:
    # docs/specs/turbostat.md 13: 0x606 = 0x000A0E03 is 2**-14 J; from 0xFFFFFF00 up over zero to 0x100 are 0x200 units
    energy = replace(COUNTER, width_bits=32, scale=2.0**-14)
    assert energy.delta(0xFFFFFF00, 0x100) == 0x200 * 6.103515625e-05
