"""Thermal zones and cooling devices as drivers report them: trips, states, what is off, what comes and goes."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from jsontables import tables
from prochost import Content, machine_of

from turbotui.cli import main
from turbotui.features.cooling import CLASS, COLUMNS, COOLING, CoolingReader
from turbotui.machine.host import HostKind
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindRow, row_table
from turbotui.sampling.rows import Columns

pytestmark = pytest.mark.usefixtures("moved_time")

LAPTOP = ("--machine", "laptop-gpu")
ZONE: dict[str, Content] = {
    "type": "acpitz\n", "temp": "71500\n", "policy": "step_wise\n",
    "trip_point_0_type": "critical\n", "trip_point_0_temp": "105000\n",
    "trip_point_1_type": "passive\n", "trip_point_1_temp": "95000\n",
    "trip_point_2_type": "passive\n", "trip_point_2_temp": "88000\n",
    "trip_point_3_type": "passive\n", "trip_point_3_temp": "-274000\n"}
PROCESSOR: dict[str, Content] = {"type": "Processor\n", "cur_state": "3\n", "max_state": "12\n"}


def files(name: str = "thermal_zone0", /, **contents: Content) -> dict[str, Content]:
    return {f"{CLASS}/{name}/{file}": text for file, text in contents.items()}


class Bench:
    """A reader over files that a test changes, and its ticks."""

    def __init__(self, *parts: dict[str, Content]) -> None:
        self.host, machine = machine_of({path: text for part in parts for path, text in part.items()})
        self.host.kind = HostKind.REAL
        self.reader = CoolingReader(machine)
        self.columns = Columns(COOLING.source.kind, COOLING.source.quantities)
        self.said = self.tick()

    def tick(self) -> Unavailable | None:
        self.host.clock_ns += 10**9
        self.columns.begin(self.host.clock_ns, self.host.clock_ns)
        why = self.reader.read(self.columns)
        self.rows = RowDifferences(None, self.columns.tick())
        return why

    def cells(self, name: str = "thermal_zone0") -> dict[str, object]:
        """The values of a row, and the details of the reasons in place of those that it lacks."""
        slot = self.rows.newer.roster.slots[name, 0]
        row = KindRow(self.rows, slot, self.rows.newer.roster.rows[slot])
        cells = {column.id: row_table(COOLING, self.rows).cell(column, row) for column in COLUMNS}
        return {name: cell.why.detail if cell.why else cell.value for name, cell in cells.items()}

    def names(self) -> list[str]:
        return [row.key for slot, row in self.rows.newer.roster.rows.items() if slot not in self.rows.newer.died]


def test_a_zone_has_its_lowest_trips_and_the_room_below_them() -> None:
    cells = Bench(files(**ZONE)).cells()
    assert [cells[name] for name in ("Type", "Temp", "Passive", "Room", "Critical", "Policy")] == [
        "acpitz", 71.5, 88.0, 16.5, 105.0, "step_wise"]
    assert cells["Cooling%"] == "cooling devices have it, thermal zones do not"


def test_a_device_has_a_share_of_its_strongest_state() -> None:
    cells = Bench(files("cooling_device4", **PROCESSOR)).cells("cooling_device4")
    assert [cells[name] for name in ("Type", "Cooling%", "State", "States")] == ["Processor", 25.0, 3, 12]
    assert cells["Temp"] == "thermal zones have it, cooling devices do not"


def test_powerclamp_says_minus_one_while_it_does_nothing() -> None:
    cells = Bench(files("cooling_device0", type="intel_powerclamp\n", cur_state="-1\n", max_state="100\n")).cells(
        "cooling_device0")
    assert (cells["State"], cells["Cooling%"]) == (0, 0)


def test_rows_come_in_the_kernel_s_order_and_go() -> None:
    bench = Bench(files("cooling_device10", **PROCESSOR), files("thermal_zone2", **ZONE), files(**ZONE),
                  files("cooling_device9", **PROCESSOR), files("hwmon3", type="other\n"))
    assert bench.names() == ["thermal_zone0", "thermal_zone2", "cooling_device9", "cooling_device10"]
    for path in [path for path in bench.host.files if "zone2" in path or "device9" in path]:
        del bench.host.files[path]
    bench.tick()
    assert bench.names() == ["thermal_zone0", "cooling_device10"]


def test_trips_are_read_at_every_fifth_tick_and_temperatures_at_each() -> None:
    bench = Bench(files(**ZONE))
    bench.host.files |= files(temp="90000\n", trip_point_2_temp="91000\n")
    seen = []
    for _ in range(5):
        bench.tick()
        seen.append((bench.cells()["Temp"], bench.cells()["Passive"]))
    assert {temperature for temperature, _passive in seen} == {90.0}
    assert [passive for _temperature, passive in seen].count(91.0) < 5
    assert seen[-1][1] == 91.0


def test_a_type_that_another_driver_gives_a_number_is_read_again() -> None:
    bench = Bench(files(**ZONE) | files(type=errno.EIO))
    assert bench.cells()["Type"] == f"{CLASS}/thermal_zone0/type says nothing"
    for kind in ("iwlwifi_1", "acpitz"):
        bench.host.files |= files(type=f"{kind}\n")
        for _ in range(5):
            bench.tick()
        assert bench.cells()["Type"] == kind


@pytest.mark.parametrize(("changed", "column", "why"), [
    ({"temp": errno.ENODATA}, "Room", f"{CLASS}/thermal_zone0/temp: No data available (ENODATA)"),
    ({"temp": "nan\n"}, "Temp", f"{CLASS}/thermal_zone0/temp: 'nan' cannot be"),
    ({"temp": "99999999\n"}, "Temp", f"{CLASS}/thermal_zone0/temp: '99999999' cannot be"),
    ({"trip_point_0_type": "hot\n"}, "Critical", "the zone has no critical trip"),
    ({"trip_point_1_temp": errno.EIO}, "Passive", f"{CLASS}/thermal_zone0/trip_point_1_temp: Input/output error (EIO)"),
    ({"trip_point_2_temp": errno.EIO}, "Passive", f"{CLASS}/thermal_zone0/trip_point_2_temp: Input/output error (EIO)"),
    ({"trip_point_3_type": errno.EIO}, "Critical", f"{CLASS}/thermal_zone0/trip_point_3_type says nothing"),
    ({"policy": "\n"}, "Policy", f"{CLASS}/thermal_zone0/policy says nothing"),
])
def test_what_is_missing_or_cannot_be_is_unknown_with_the_file(changed: dict[str, Content], column: str,
                                                              why: str) -> None:
    assert Bench(files(**{**ZONE, **changed})).cells()[column] == why


def test_a_device_without_states_has_no_share() -> None:
    assert Bench(files("cooling_device0", **{**PROCESSOR, "cur_state": "0\n", "max_state": "0\n"})).cells(
        "cooling_device0")["Cooling%"] == "the device has one state, 0: it cannot cool"


def test_a_state_above_the_strongest_cannot_be() -> None:
    cells = Bench(files("cooling_device0", **{**PROCESSOR, "cur_state": "13\n"})).cells("cooling_device0")
    assert cells["State"] == cells["Cooling%"] == f"{CLASS}/cooling_device0/cur_state: 13 is above max_state, 12"


def test_a_machine_without_any_says_so() -> None:
    assert Bench({}).said == Unavailable(
        Reason.NO_HARDWARE, f"{CLASS} has neither a thermal zone nor a cooling device")


def test_a_recording_gives_the_rows_of_every_interval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = str(tmp_path / "a.ttj")
    assert main(["record", recording, *LAPTOP, "-i", "0.1", "-n", "2", "--tables", "cooling"]) == 0
    capsys.readouterr()
    assert main(["cooling", "--replay", recording, "--json"]) == 0
    result = list(tables(capsys.readouterr().out))
    assert result
    for table in result:
        assert [row["type"] for row in table["rows"]] == ["acpitz", "x86_pkg_temp", "Processor", "Fan",
                                                          "intel_powerclamp"]
        zone, package, processor = table["rows"][:3]
        assert zone["values"]["Room"] == pytest.approx(90 - zone["values"]["Temp"])
        assert package["why"]["Room"] == "not set: the zone has no passive trip"
        assert (processor["values"]["State"], processor["values"]["States"]) == (0, 10)


def test_a_scrape_has_gauges_in_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--rows", "cooling", *LAPTOP, "-i", "0.1"]) == 0
    lines = dict(line.rsplit(" ", 1) for line in capsys.readouterr().out.splitlines() if line.startswith("turbotui_c"))
    assert float(lines['turbotui_cooling_critical_celsius{name="thermal_zone0",simulated="true",type="acpitz"}']) == 119
