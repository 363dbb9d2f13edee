"""The numbers of the summary line: bright if low, in the colour of their level if high."""

from __future__ import annotations

import pytest

from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.levels import CALM, LEVELS, STEPS, cell_role_of, share_of, whole_role_of
from turbotui.widgets.summary import Gauge, gauge_line

BUSY = next(column for column in STATIC_COLUMNS if column.id == "Busy%")


def role(value: float | None, share: float | None, alarm: StyleRole | None = None) -> StyleRole:
    line = gauge_line([Gauge("Busy", BUSY, value, share=share, alarm=alarm)], 80, 0)
    return next(role for text, role in line if "%" in text)


@pytest.mark.parametrize("step", range(STEPS))
def test_a_share_has_the_level_that_it_has_in_a_table_and_is_bright_where_that_is_calm(step: int) -> None:
    share = (step + 0.5) / STEPS
    assert role(100 * share, share) is (StyleRole.SUMMARY if step < CALM else LEVELS[step])
    assert (whole_role_of(share) is cell_role_of(share)) is (step >= CALM)


def test_alarms_and_unknown_numbers_go_before_levels() -> None:
    assert role(99.0, 0.99, StyleRole.RED) is StyleRole.RED
    assert role(None, None) is StyleRole.DIM
    assert role(99.0, None) is StyleRole.SUMMARY


def test_a_share_of_a_limit_that_is_not_known_is_not_known() -> None:
    assert share_of(50.0, 200.0) == 0.25
    assert share_of(500.0, 200.0) == 1.0
    assert share_of(None, 200.0) is share_of(50.0, None) is share_of(50.0, 0.0) is None


def test_names_stay_longest_where_a_line_is_narrow() -> None:
    gauges = [Gauge(label, BUSY, 10.7, values=(1.0, 2.0), note=note)
              for label, note in (("Busy", ""), ("Bzy", ""), ("Pkg", "of 700"), ("Hot", "cpu81"))]
    full, close, bare, least = ("".join(text for text, _ in gauge_line(gauges, width, 0)) for width in (80, 62, 52, 40))
    assert full.startswith(" Busy  10.7 %")
    assert full.count("cpu81") == 1
    number = ("10.7", "%")
    assert close.split() == ["Busy", *number, "Bzy", *number, "Pkg", *number, "of", "700", "Hot", *number, "cpu81"]
    assert bare.split() == ["Busy", *number, "Bzy", *number, "Pkg", *number, "Hot", *number]
    assert least.split() == [*number, *number, *number, "of", "700", *number, "cpu81"]
