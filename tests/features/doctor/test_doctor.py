"""The doctor's report: each signal works from one source or has a reason, and the counts are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from dashboard_driver import dashboard
from jsontables import table
from knownmachines import known_machine
from simulated_session import SimulatedSession

from turbotui.cli import main
from turbotui.features.doctor.model import State, diagnose
from turbotui.features.doctor.screen import DoctorRow, DoctorScreen
from turbotui.sampling.capabilities import probe_sources
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources import SOURCES


def _rows(capsys: pytest.CaptureFixture[str], machine: str, name: str) -> Iterator[dict[str, Any]]:
    assert main(["doctor", "--machine", machine, "--format", "json", "--table", name]) == 0
    for row in table(capsys.readouterr().out, name)["rows"]:
        yield {key: value for key, value in row.items() if key not in ("row", "values")} | row["values"]


@pytest.mark.parametrize("machine", ["laptop", "guest"])
def test_a_signal_works_or_has_a_reason_and_is_read_from_one_source(
        machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    signals = list(_rows(capsys, machine, "signals"))
    assert all(bool(row["origin"]) == (row["usable"] == "yes") for row in signals)
    assert all(bool(row["reason"] and row["detail"]) == (row["usable"] == "no") for row in signals)
    chosen = Counter(row["signal"] for row in signals if row["chosen"] == "yes")
    assert set(chosen.values()) == {1}
    assert chosen.keys() == {row["signal"] for row in signals if row["usable"] == "yes"}


@pytest.mark.parametrize("machine", ["laptop", "guest"])
def test_the_state_of_a_source_is_that_of_its_signals(machine: str, capsys: pytest.CaptureFixture[str]) -> None:
    works = Counter(row["source"] for row in _rows(capsys, machine, "signals") if row["usable"] == "yes")
    for row in _rows(capsys, machine, "sources"):
        assert row["usable"] == works[row["source"]]
        state = "absent" if not row["usable"] else "partial" if row["missing"] else "ready"
        assert row["state"] == state, row["source"]
        assert row["detail"] or not row["missing"]


@pytest.mark.parametrize("machine", ["laptop", "guest"])
def test_a_short_reason_of_some_signals_is_not_that_of_the_source(machine: str) -> None:
    known = known_machine(simulated_host(machine, ManualClock(), seed=7))
    partial = [source for source in diagnose(known, probe_sources(known, SOURCES)).sources
               if source.state is State.PARTIAL]
    assert partial
    for source in partial:
        shown = DoctorRow(source).fitted(50)  # beside the names at 80 characters
        missing = sum(not signal.usable for signal in source.signals)
        counted = f"{missing} of {len(source.signals)} missing: "
        assert shown.startswith((counted, "without ")) or len(counted + source.in_short[-1]) > 50


async def test_a_long_title_of_added_columns_takes_no_room_of_the_reasons() -> None:
    async with dashboard(SimulatedSession("guest"), size=(120, 36), screen="doctor") as (app, pilot):  # type: ignore[arg-type]
        screen = app.screen
        assert isinstance(screen, DoctorScreen)

        def width_of_reasons() -> int:
            content = screen.table.content
            assert content is not None
            return next(column.width for column in content.whole.columns if column.id == "why")

        before = width_of_reasons()
        first, *others = screen._diagnosis.sources
        screen._diagnosis = replace(screen._diagnosis, sources=(replace(first, title="added " * 12), *others))
        screen.show_columns()
        await pilot.pause()
        assert before - width_of_reasons() < 10, "of the 54 characters more that the title has"


async def test_a_column_is_found_at_the_source_for_want_of_which_it_is_missing() -> None:
    async with dashboard(SimulatedSession("guest")) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
        await pilot.press("9", "slash", *"IPC", "enter")
        await pilot.pause()
        assert isinstance(app.screen, DoctorScreen)
        report = app.screen.report.text
        assert report.startswith(" perf hardware")
        assert "no core PMU" in report
        assert "its columns: IPC" in report


async def test_no_reason_loses_a_word_at_80_columns() -> None:
    cut, drawn = [], 0
    for machine in ("guest", "laptop", "turin-2s", "grace-2s", "cascade-2s", "server-psu"):
        session = SimulatedSession(machine, few=True)
        async with dashboard(session, size=(80, 120)) as (app, pilot):  # type: ignore[arg-type]  # has what is asked for
            await pilot.press("9")
            await pilot.pause()
            assert isinstance(app.screen, DoctorScreen)
            shown = app.screen.table
            lines = ["".join(segment.text for segment in shown.render_line(y)) for y in range(shown.size.height)]
            drawn += sum("▲" in line or "—" in line for line in lines)
            cut += [f"{machine}: {line}" for line in lines if "…" in line]
    assert drawn > 60
    assert not cut
