"""Batteries of a simulated laptop against its model: live, recorded, scraped; no layer knows the kind by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsontables import tables
from knownmachines import known_machine
from model_truth import truth_of

from turbotui.cli import main
from turbotui.features.batteries import BATTERIES
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindRow, row_table
from turbotui.sampling.rows import Columns
from turbotui.simulated import ManualClock, simulated_host
from turbotui.simulated.shapes import BATTERY_SECONDS, BATTERY_SHARE

pytestmark = pytest.mark.usefixtures("moved_time")

LAPTOP = ("--machine", "laptop-gpu")
FULL = 80 * 3600.0


def test_energy_power_and_time_left_are_those_of_the_model() -> None:
    clock = ManualClock()
    host = simulated_host("laptop-gpu", clock)
    reader = BATTERIES.source.open(known_machine(host))
    columns = Columns(BATTERIES.source.kind, BATTERIES.source.quantities)

    def values() -> dict[str, object]:
        columns.begin(host.now_ns(), host.now_ns())
        reader.read(columns)  # type: ignore[union-attr]  # it has batteries
        rows = RowDifferences(None, columns.tick())
        slot = rows.newer.roster.slots["BAT0", 0]
        row = KindRow(rows, slot, rows.newer.roster.rows[slot])
        return {column.id: row_table(BATTERIES, rows).cell(column, row).value for column in BATTERIES.columns}

    before, first = values(), truth_of(host).system_truth().platform_joules
    clock.advance(BATTERY_SECONDS)
    after, joules = values(), (truth_of(host).system_truth().platform_joules - first) / BATTERY_SHARE
    assert float(str(before["Energy"])) - float(str(after["Energy"])) == pytest.approx(joules / 3600, abs=2e-6)
    assert after["Watt"] == pytest.approx(joules / BATTERY_SECONDS, rel=1e-5)
    assert after["Charge%"] == pytest.approx(80 - 100 * joules / FULL, abs=1e-3)
    assert after["Left"] == pytest.approx((0.8 * FULL - joules) * BATTERY_SECONDS / joules / 3600, rel=1e-4)


def test_a_recording_gives_the_rows_of_every_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = str(tmp_path / "a.ttj")
    assert main(["record", recording, *LAPTOP, "-i", "0.1", "-n", "2", "--tables", "batteries"]) == 0
    capsys.readouterr()
    assert main(["batteries", "--replay", recording, "--json"]) == 0
    for table in tables(capsys.readouterr().out):
        first, second, mouse = table["rows"]
        assert (first["battery"], second["battery"], mouse["type"]) == ("BAT0", "BAT1", "peripheral")
        assert (first["values"]["State"], first["values"]["Full"]) == ("Discharging", 80)
        assert (second["values"]["Charge%"], second["values"]["Charge"]) == (pytest.approx(97), pytest.approx(2.037))
        assert second["why"]["Energy"] == "no driver: the driver counts charge in place of energy"
        assert mouse["why"]["Charge%"] == "no driver: the driver has no energy_now, charge_now or capacity"


@pytest.mark.parametrize("form", ["csv", "openmetrics", "text"])
def test_other_formats_have_every_battery(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batteries", *LAPTOP, "-i", "0.1", "-n", "1", "--format", form]) == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("BAT0", "BAT1", "hidpp_battery_0"))


def test_a_scrape_has_gauges_in_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--rows", "batteries", *LAPTOP, "-i", "0.1"]) == 0
    lines = dict(line.rsplit(" ", 1) for line in capsys.readouterr().out.splitlines() if line.startswith("turbotui_b"))
    labels = '{battery="BAT0",simulated="true",type="battery"}'
    assert float(lines[f"turbotui_battery_full_joules{labels}"]) == FULL
    assert float(lines[f"turbotui_battery_charge_ratio{labels}"]) == pytest.approx(0.8, abs=0.01)
    assert f"turbotui_battery_left_seconds{labels}" in lines
    assert not [name for name in lines if name.startswith("turbotui_battery_left_seconds") and "BAT1" in name]


def test_a_gathered_machine_has_its_batteries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = str(tmp_path / "laptop.tar.gz")
    assert main(["gather", archive, "--yes", "--seconds", "1", *LAPTOP]) == 0
    capsys.readouterr()
    assert main(["batteries", "--machine", archive, "-i", "0.1", "-n", "1", "--json"]) == 0
    (table,) = tables(capsys.readouterr().out)
    values = {row["battery"]: row["values"] for row in table["rows"]}
    assert (values["BAT0"]["Volt"], values["hidpp_battery_0"]["Level"]) == (15.46, "Normal")
