"""Batteries as drivers report them: energy or charge, any sign of a current, what is missing, what comes and goes."""

from __future__ import annotations

import errno

import pytest
from prochost import Content, machine_of

from turbotui.features.batteries import BATTERIES, COLUMNS, BatteryReader
from turbotui.machine.host import HostKind
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindRow, row_table
from turbotui.sampling.rows import Columns

RACK = "no machine takes so much: a whole rack takes 200 kW"
CLASS = "/sys/class/power_supply"
WATT_HOURS: dict[str, Content] = {
    "status": "Discharging\n", "power_now": "12000000\n", "voltage_now": "15000000\n", "energy_now": "40000000\n",
    "energy_full": "50000000\n", "energy_full_design": "62500000\n", "cycle_count": "214\n", "capacity": "79\n",
    "manufacturer": "LGC\n", "model_name": "5B10W13930\n"}
AMPERE_HOURS: dict[str, Content] = {
    "status": "Discharging\n", "current_now": "-800000\n", "voltage_now": "15000000\n", "charge_now": "2000000\n",
    "charge_full": "4000000\n", "charge_full_design": "5000000\n"}


def supply(name: str = "BAT0", kind: str = "Battery", /, **files: Content) -> dict[str, Content]:
    return {f"{CLASS}/{name}/type": f"{kind}\n", **{f"{CLASS}/{name}/{file}": text for file, text in files.items()}}


class Bench:
    """A reader over files that a test changes, and its ticks."""

    def __init__(self, *supplies: dict[str, Content]) -> None:
        self.host, machine = machine_of({path: text for item in supplies for path, text in item.items()})
        self.host.kind = HostKind.REAL
        self.reader = BatteryReader(machine)
        self.columns = Columns(BATTERIES.source.kind, BATTERIES.source.quantities)

    def tick(self, seconds: int = 1) -> Unavailable | None:
        self.host.clock_ns += seconds * 10**9
        self.columns.begin(self.host.clock_ns, self.host.clock_ns)
        why = self.reader.read(self.columns)
        self.rows = RowDifferences(None, self.columns.tick())
        return why

    def cells(self, name: str = "BAT0") -> dict[str, object]:
        """The values of a row, and the reasons in place of those that it lacks."""
        slot = self.rows.newer.roster.slots[name, 0]
        row = KindRow(self.rows, slot, self.rows.newer.roster.rows[slot])
        cells = {column.id: row_table(BATTERIES, self.rows).cell(column, row) for column in COLUMNS}
        return {name: cell.why if cell.value is None else cell.value for name, cell in cells.items()}

    def why(self, column: str, name: str = "BAT0") -> str:
        why = self.cells(name)[column]
        assert isinstance(why, Unavailable), why
        return why.detail

    def names(self) -> list[str]:
        return [row.key for slot, row in self.rows.newer.roster.rows.items() if slot not in self.rows.newer.died]


def measured(*supplies: dict[str, Content], seconds: int = 1) -> Bench:
    bench = Bench(*supplies)
    bench.tick(seconds)
    return bench


def test_watt_hours() -> None:
    bench = measured(supply(**WATT_HOURS))
    cells = bench.cells()
    assert {name: cells[name] for name in ("Type", "State", "Cycles", "Device", "Age")} == {
        "Type": "battery", "State": "Discharging", "Cycles": 214, "Device": "LGC 5B10W13930", "Age": 0}
    for name, value in {"Charge%": 80, "Watt": 12, "Left": 40 / 12, "Energy": 40, "Full": 50, "New": 62.5,
                        "Health%": 80, "Volt": 15}.items():
        assert cells[name] == pytest.approx(value), name
    assert bench.why("Charge") == "the driver counts energy in place of charge"


def test_ampere_hours_whose_current_is_negative() -> None:
    bench = measured(supply(**AMPERE_HOURS))
    cells = bench.cells()
    for name, value in {"Charge%": 50, "Watt": 12, "Left": 2.5, "Charge": 2, "Health%": 80}.items():
        assert cells[name] == pytest.approx(value), name
    assert bench.why("Energy") == "the driver counts charge in place of energy"


@pytest.mark.parametrize(("files", "left"), [(WATT_HOURS, 10 / 12), (AMPERE_HOURS, 2 / 0.8)])
def test_a_battery_that_is_charged_takes_watts_until_it_is_full(files: dict[str, Content], left: float) -> None:
    cells = measured(supply(**{**files, "status": "Charging\n"})).cells()
    assert cells["Watt"] == pytest.approx(-12)
    assert cells["Left"] == pytest.approx(left)


@pytest.mark.parametrize(("status", "watts"), [("Full", 0), ("Not charging", 0), ("Unknown", None), ("", None)])
def test_one_that_is_neither_has_no_time_left(status: str, watts: float | None) -> None:
    bench = measured(supply(**{**WATT_HOURS, "status": f"{status}\n"}))
    assert bench.why("Left") == "the battery is neither charged nor discharged"
    if watts is None:
        assert bench.why("Watt") == "the status does not say whether the battery gives power or takes it"
    else:
        assert bench.cells()["Watt"] == watts


def test_a_ups_says_how_long_it_lasts() -> None:
    bench = measured(supply("ups0", "UPS", status="Discharging\n", capacity="64\n", time_to_empty_now="5400\n"))
    cells = bench.cells("ups0")
    assert (cells["Type"], cells["Charge%"], cells["Left"]) == ("UPS", pytest.approx(64), pytest.approx(1.5))
    assert bench.why("Watt", "ups0") == "the driver has no power_now"


def test_a_mouse_is_a_peripheral_and_is_asked_seldom() -> None:
    bench = measured(supply("hidpp_battery_0", scope="Device\n", capacity_level="Normal\n", status="Discharging\n"))
    assert bench.cells("hidpp_battery_0")["Type"] == "peripheral"
    assert bench.cells("hidpp_battery_0")["Level"] == "Normal"
    assert bench.why("Charge%", "hidpp_battery_0") == "the driver has no energy_now, charge_now or capacity"
    asked = 0
    for _ in range(5):
        bench.host.files[f"{CLASS}/hidpp_battery_0/capacity_level"] = "Low\n"
        before = bench.host.texts
        bench.tick()
        asked += bench.host.texts - before > 3
    assert asked == 1
    assert bench.cells("hidpp_battery_0")["Level"] == "Low"


def test_supplies_without_energy_and_empty_bays_are_no_rows() -> None:
    bench = measured(supply("AC", "Mains"), supply("ucsi", "USB"), supply(present="0\n", **WATT_HOURS),
                     supply("BAT1", **WATT_HOURS))
    assert bench.names() == ["BAT1"]


def test_a_battery_that_is_taken_out_and_another_one() -> None:
    bench = measured(supply(**WATT_HOURS), supply("BAT1", **AMPERE_HOURS))
    bench.host.files[f"{CLASS}/BAT1/present"] = "0\n"
    bench.tick()
    assert bench.names() == ["BAT0"]
    bench.host.files[f"{CLASS}/BAT1/present"] = "1\n"
    bench.host.files[f"{CLASS}/BAT1/status"] = "Full\n"
    bench.tick()
    assert bench.names() == ["BAT0", "BAT1"]
    assert bench.cells("BAT1")["State"] == "Full"
    for path in [path for path in bench.host.files if path.startswith(CLASS)]:
        del bench.host.files[path]
    assert bench.tick() is None
    assert bench.names() == []


@pytest.mark.parametrize("files", [{}, supply("AC", "Mains")])
def test_a_machine_without_any_says_so(files: dict[str, Content]) -> None:
    why = Bench(files).tick()
    assert why == Unavailable(Reason.NO_HARDWARE, f"{CLASS} has no battery")


@pytest.mark.parametrize(("file", "content", "column", "why"), [
    ("energy_now", errno.ENODATA, "Energy", f"{CLASS}/BAT0/energy_now: No data available (ENODATA)"),
    ("energy_now", "nan\n", "Energy", f"{CLASS}/BAT0/energy_now: 'nan' cannot be"),
    ("energy_now", "-1\n", "Left", f"{CLASS}/BAT0/energy_now: '-1' cannot be"),
    ("energy_full", "0\n", "Charge%", "the driver reports 0 for what this is divided by"),
    ("power_now", "0\n", "Left", "the driver reports 0 for what this is divided by"),
    ("power_now", "900000000000000\n", "Watt",
     f"{CLASS}/BAT0: power_now, or voltage_now x current_now; status has the sign: 900,000,000 W: {RACK}"),
])
def test_what_cannot_be_is_unknown_with_the_file(file: str, content: Content, column: str, why: str) -> None:
    files = {name: text for name, text in WATT_HOURS.items() if name != "capacity"}
    assert measured(supply(**{**files, file: content})).why(column) == why


def test_a_share_beyond_full_is_unknown() -> None:
    bench = measured(supply(status="Unknown\n", capacity="200\n"))
    assert bench.why("Charge%") == f"{CLASS}/BAT0/capacity: '200' cannot be"


def test_the_age_is_since_the_numbers_changed() -> None:
    bench = measured(supply(**WATT_HOURS))
    ages = []
    for text, seconds in (("12000000\n", 8), ("12000000\n", 2), ("13000000\n", 1), ("13000000\n", 3)):
        bench.host.files[f"{CLASS}/BAT0/power_now"] = text
        bench.tick(seconds)
        ages.append(bench.cells()["Age"])
    assert ages == [8, 10, 0, 3]


def test_names_from_a_device_are_one_line_without_escapes() -> None:
    cells = measured(supply(**{**WATT_HOURS, "model_name": "a\x1b[2J\nb\n"})).cells()
    assert "\x1b" not in str(cells["Device"])
    assert "\n" not in str(cells["Device"])


