"""Columns of the clock at moments: where they are shown, their error beside them, and why a cell has no value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from watched_machines import focused_sources, frames_of_machine

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.clock_moments import CLOCK, VERDICT
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.tables.frame_evidence import frame_evidence

COLUMNS = ("NowMHz", "NowErr%", "NowSpread%", "Load%")


@cache
def seen(shape: str, intervals: int = 3) -> tuple[Machine, tuple[Frame, ...], Catalog]:
    machine, frames = frames_of_machine(shape, intervals, columns=COLUMNS, small=True)
    return machine, tuple(frames), catalog_for(frames[0].capabilities.signals)


@pytest.mark.parametrize(("shape", "shown"), [("guest", True), ("laptop-old", False), ("grace-2s", False)])
def test_moments_are_shown_from_the_start_only_where_nothing_counts_cycles(shape: str, shown: bool) -> None:
    catalog = seen(shape)[2]
    assert (catalog.by_id["NowMHz"].default, catalog.by_id["NowErr%"].default) == (shown, shown)


def test_who_asks_for_the_clock_gets_its_error() -> None:
    catalog = seen("guest")[2]
    assert [column.id for column in catalog.select(["NowMHz"])] == ["NowMHz", "NowErr%"]


def test_the_clock_is_the_models_and_each_cell_is_an_estimate_with_its_error() -> None:
    _machine, frames, catalog = seen("guest+overload")
    frame, clock = frames[-1], catalog.by_id["NowMHz"]
    for row in (SYSTEM_ROW, *frame.rows(Scope.CPU)):
        assert frame.cell(clock, row) == pytest.approx(2600, rel=1e-3)
        assert frame.estimated(clock, row)
        assert frame.signs(clock, row) == "~"
        remarks = frame_evidence(frame, clock, row).remarks
        assert remarks[0] == "± 2.4 %, by NowErr%: Expected error (rms) of NowMHz as the mean clock of the interval."
    assert not frame.ran_throughout(clock)
    assert frame.bare_cells(clock, frame.rows(Scope.CPU)) == frame.cells(clock, frame.rows(Scope.CPU))


def test_idle_cpus_are_no_gap_and_say_that_they_are_idle() -> None:
    _machine, frames, catalog = seen("guest+idle")
    frame, clock = frames[-1], catalog.by_id["NowMHz"]
    row = frame.rows(Scope.CPU)[0]
    for item in (row, SYSTEM_ROW):
        why = frame.why(clock, item)
        assert why is not None
        assert why.reason is Reason.ASLEEP
        assert not frame.partial(clock, item)
        assert frame.signs(clock, item) == "", "an unknown clock is no estimate"
    assert seen("guest+overload")[1][-1].signs(clock, SYSTEM_ROW) == "~"
    first = frames[0].why(clock, row)
    assert first is not None
    assert first.reason is Reason.FIRST_TICK


def test_ten_moments_have_a_smaller_error_and_a_spread() -> None:
    _machine, frames = frames_of_machine("guest+overload", 3, columns=COLUMNS, small=True, sources=focused_sources())
    frame, catalog = frames[-1], catalog_for(frames[0].capabilities.signals)
    row = frame.rows(Scope.CPU)[0]
    error, spread = (frame.cell(catalog.by_id[name], row) for name in ("NowErr%", "NowSpread%"))
    assert error == pytest.approx(0.3, abs=0.02)
    assert spread == pytest.approx(0.0, abs=0.02)
    few = seen("guest+overload")[1][1]
    why = few.why(catalog.by_id["NowSpread%"], few.rows(Scope.CPU)[0])
    assert why is not None
    assert why.detail == "fewer than 10 moments are known of each CPU"


def test_a_verdict_that_no_version_knows_is_a_reason_and_no_failure() -> None:
    _machine, frames, catalog = seen("guest")
    newer, rows = frames[-1].newer, frames[-1].rows(Scope.CPU)
    clocks: dict[SignalId, Sequence[Raw]] = {
        CLOCK: [None] * len(rows), VERDICT: [3, *[100_000_002, 8, (1 << 64) - 1] * len(rows)][:len(rows)]}
    frame = Frame(frames[-1].older, replace(newer, values={**newer.values, **clocks}), frames[-1].capabilities)
    first, *others = [frame.why(catalog.by_id["NowMHz"], row) for row in rows]
    assert first is not None
    assert first.reason is Reason.INTERRUPTED
    assert all(why is not None and why.reason is not Reason.INTERRUPTED for why in others)
