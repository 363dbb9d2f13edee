"""The formats beside turbostat's: every cell present, units, reasons, and SIMULATED in each."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence

import pytest
from statscripts import SERVER, Script, signal

from turbotui.errors import UsageError
from turbotui.machine.host import HostKind
from turbotui.quantities.catalog import STATIC_COLUMNS, catalog_for
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, SignalId
from turbotui.sampling.frame import Frame
from turbotui.tables.formats import NAMES as FORMATS
from turbotui.tables.frame_formats import make_frame_format
from turbotui.tables.layout import Layout
from turbotui.tables.openmetrics import metric_names

SIGNALS = (
    signal("tsc", Scope.CPU, Reduce.MEAN),
    signal("mperf", Scope.CPU, Reduce.MEAN),
    signal("cstate.core.c6", Scope.CORE, Reduce.MEAN),
    signal("energy.pkg", Scope.PACKAGE, Reduce.SUM, 0.5),
    signal("energy.psys", Scope.SYSTEM, Reduce.SUM),
    signal("cpufreq.governor", Scope.CPU, Reduce.SAME, behavior=Behavior.GAUGE),
)
GAINS: dict[SignalId, Sequence[Raw]] = {
    "tsc": [2_000_000_000] * 6, "mperf": [None, 400_000_000, 0, 1_000_000_000, 2_000_000_000, 0],
    "cstate.core.c6": [500_000_000, 1_000_000_000, 0], "energy.pkg": [100, 301], "energy.psys": [400],
    "cpufreq.governor": ["powersave"] * 5 + ["performance"],
}
NAMES = ("Package", "Core", "CPU", "Busy%", "Governor", "CPU%c6", "PkgWatt", "SysWatt")


def frames(count: int = 1) -> tuple[Script, list[Frame]]:
    script = Script(SERVER, SIGNALS)
    return script, [script.frame(GAINS, seconds=2) for _ in range(count)]


def written(name: str, count: int = 1, kind: HostKind = HostKind.REAL) -> list[str]:
    script, intervals = frames(count)
    columns = catalog_for(script.signals).select(NAMES)
    shown = make_frame_format(name, Layout(columns, machine='a "machine"', kind=kind))
    return [*(line for frame in intervals for line in shown.lines(frame)), *shown.end()]


@pytest.mark.parametrize("name", FORMATS)
def test_simulated_numbers_say_so_in_every_format(name: str) -> None:
    text = "\n".join(written(name, kind=HostKind.SIMULATED))
    assert "SIMULATED" in text or 'simulated="true"' in text
    assert "SIMULATED" not in "\n".join(written(name))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="text, table, csv"):
        make_frame_format("xml", Layout(()))


def test_a_table_has_every_cell_under_its_title() -> None:
    first, header, summary, *rows = written("table")
    assert first == "# cpus, 2023-11-14T22:13:23.000Z, 2.000 s"
    assert header.split() == list(NAMES)
    assert summary.split() == ["-", "-", "-", "34.00*", "-", "25.00", "100.25", "200.00"]
    cells = [row.split() for row in rows]
    assert [row[:3] for row in cells] == [["0", "0x0", "0"], ["0", "0x0", "4"], ["0", "0x1a", "1"], ["0", "0x1a", "5"],
                                          ["1", "0x0", "2"], ["1", "0x0", "6"]]
    assert cells[0][3:] == ["-", "powersave", "25.00", "25.00", "200.00"]
    assert cells[1][3:] == ["20.00", "powersave", "25.00", "25.00", "200.00"]  # a sibling repeats its core and package
    ends = [match.end() for match in re.finditer(r"\S+", header)]
    for row in rows:
        for at, name in enumerate(NAMES):
            if name != "Governor":
                assert row.ljust(200)[ends[at] - 1] != " "


def test_csv_has_one_header_and_as_many_cells_in_every_row() -> None:
    lines = written("csv", 2)
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))
    assert len(rows) == 14
    assert sum(line.startswith("time,") for line in lines) == 1
    assert {len(row) for row in rows} == {12 + 5}
    assert None not in rows[0]
    assert rows[0]["row"] == "system"
    assert rows[0]["machine"] == 'a "machine"'
    cells = [rows[0][name] for name in ("cpu", "Busy%", "Governor", "SysWatt")]
    assert cells == ["", "", "", "200.00"]  # a mean of which a part is unknown is unknown
    cells = [rows[2][name] for name in ("cpu", "Busy%", "PkgWatt", "SysWatt")]
    assert cells == ["4", "20.00", "25.00", "200.00"]
    assert rows[1]["Busy%"] == ""
    assert [row["time"] for row in rows[::7]] == ["2023-11-14T22:13:23.000Z", "2023-11-14T22:13:25.000Z"]
    assert {row["seconds"] for row in rows} == {"2.000000"}


def test_json_lines_have_units_and_a_reason_for_every_null() -> None:
    lines = written("json", 2, kind=HostKind.SIMULATED)
    assert len(lines) == 2
    report = json.loads(lines[0])
    assert (report["kind"], report["table"]) == ("SIMULATED", "cpus")
    units = {column["id"]: column["unit"] for column in report["columns"]}
    assert units == {"Busy%": "%", "Governor": "", "CPU%c6": "%", "PkgWatt": "W", "SysWatt": "W"}
    assert report["seconds"] == 2.0
    assert len(report["rows"]) == 7
    whole, first, second = report["rows"][:3]
    assert whole["row"] == "system"
    assert whole["values"]["PkgWatt"] == 100.25
    assert whole["partial"] == ["Busy%"]
    assert "mperf" in whole["why"]["Busy%"]
    assert (first["cpu"], first["core"], first["package"]) == (0, 0, 0)
    assert first["values"]["Busy%"] is None
    assert "mperf" in first["why"]["Busy%"]
    assert first["values"]["SysWatt"] == 200.0
    for row in report["rows"]:
        unknown = {name for name, value in row["values"].items() if value is None}
        assert set(row.get("why", {})) == unknown | {*row.get("partial", ())}
    assert second["values"]["Busy%"] == 20.0


_SAMPLE = re.compile(r'(turbotui_[a-z0-9_]+)\{([a-z0-9_]+="(?:[^"\\]|\\.)*",?)+\} \S+\Z')


def test_openmetrics_is_one_exposition_an_interval() -> None:
    lines = written("openmetrics", kind=HostKind.SIMULATED)
    assert [at for at, line in enumerate(lines) if line == "# EOF"] == [len(lines) - 1]
    family = ""
    units: dict[str, str] = {}
    values: dict[str, list[float]] = {}
    for line in lines:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in values, "a family comes once"
            values[family] = []
        elif line.startswith("# UNIT "):
            units[family] = line.split()[3]
            assert family.endswith(f"_{units[family]}")
        elif not line.startswith("#"):
            assert _SAMPLE.match(line), line
            assert line.startswith((family + "{", family + "_info{"))
            assert 'simulated="true"' in line
            assert 'machine="a \\"machine\\""' in line
            values[family].append(float(line.rsplit(" ", 1)[1]))
    assert values["turbotui_pkg_watts"] == [25.0, 75.25]
    assert values["turbotui_sys_watts"] == [200.0]
    assert values["turbotui_busy_ratio"] == pytest.approx([0.2, 0.0, 0.5, 1.0, 0.0])  # the unknown one is left out
    assert values["turbotui_cpu_c6_ratio"] == pytest.approx([0.25, 0.5, 0.0])
    assert units["turbotui_pkg_watts"] == "watts"
    assert sum('value="performance"' in line for line in lines) == 1


def test_metric_names_are_one_to_one() -> None:
    first_of_each = {column.id: column for column in STATIC_COLUMNS}
    names = metric_names(tuple(first_of_each.values()))
    assert len(set(names.values())) == len(first_of_each)
    assert names["Busy%"] == "turbotui_busy_ratio"
    assert names["nJ/ins"] == "turbotui_energy_per_instruction_joules"
    for column_id, column in first_of_each.items():  # a name does not depend on which other columns are shown
        assert metric_names([column])[column_id] == names[column_id]
    for name in names.values():
        assert re.fullmatch(r"turbotui(_[a-z0-9]+)+", name), name


@pytest.mark.parametrize("intervals", [2, 3, None])
def test_several_intervals_are_one_exposition(intervals: int | None) -> None:
    """`# EOF` ends an exposition: what comes after it is lost to whoever reads one (issue 11)."""
    script, seen = frames(3)
    layout = Layout(catalog_for(script.signals).select(NAMES), machine="m")
    series = make_frame_format("openmetrics", layout, intervals)
    lines = [line for frame in seen for line in series.lines(frame)] + list(series.end())
    assert [at for at, line in enumerate(lines) if line == "# EOF"] == [len(lines) - 1]
    types = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(types) == len(set(types)), "a family comes once"
    samples = [line for line in lines if not line.startswith("#")]
    item = [line for line in make_frame_format("openmetrics", layout).lines(seen[0]) if not line.startswith("#")]
    assert len(samples) == 3 * len(item)
    stamps: dict[str, list[float]] = {}
    for line in samples:
        metric, _value, stamp = line.rsplit(" ", 2)
        stamps.setdefault(metric, []).append(float(stamp))
    assert all(times == sorted(set(times)) and len(times) == 3 for times in stamps.values())
    if intervals is not None:
        order = [line.rsplit(" ", 2)[0] for line in samples]
        assert order == [metric for metric in stamps for _ in range(3)], "the points of a metric stand together"
        for line in lines:  # and the metrics of a family
            if line.startswith("# TYPE "):
                family = line.split()[2]
            elif not line.startswith("#"):
                assert line.startswith((family + "{", family + "_info{"))


def test_one_interval_is_written_without_its_time() -> None:
    script, seen = frames()
    layout = Layout(catalog_for(script.signals).select(NAMES), machine="m")
    series = make_frame_format("openmetrics", layout, 1)
    assert list(series.lines(seen[0])) == list(make_frame_format("openmetrics", layout).lines(seen[0]))


def test_a_recorded_machine_passes_for_no_real_one_in_openmetrics() -> None:
    samples = [line for line in written("openmetrics", kind=HostKind.RECORDED) if not line.startswith("#")]
    assert samples
    assert all('kind="RECORDED"' in line for line in samples)
    assert not any("kind=" in line for line in written("openmetrics"))
