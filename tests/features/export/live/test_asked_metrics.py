"""Metrics on request (columns, groups, tasks): hostile names in a scrape, and the number of those left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scraped import COST, names, series_of, text_of, values, watched

from turbotui.cli import main
from turbotui.features.export.live.exposition import ExposedMetric
from turbotui.features.export.live.group_metrics import GroupMetrics
from turbotui.features.export.live.machine_metrics import ExportRequest, MachineMetrics, RequestedPart
from turbotui.features.export.live.rendering import OPENMETRICS, PLAIN, RenderedScrape
from turbotui.features.export.live.task_metrics import TaskMetrics
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import Scope
from turbotui.simulated import ManualClock, simulated_host

STAT = ("{pid} ({name}) S 1 1 1 0 -1 4194304 100 0 7 0 {ticks} 50 0 0 20 0 2 0 123 1000000 25 18446744073709551615 "
        "1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")


def asked(shape: str, *parts: RequestedPart, columns: tuple[str, ...] = (), per: str = "") -> str:
    machine, frames = watched(shape, 2)
    catalog = catalog_for(frames[0].capabilities.signals)
    request = ExportRequest(per, columns=[catalog.by_id[name] for name in columns], parts=parts)
    metrics = MachineMetrics(machine, frames[0].capabilities, catalog, request)
    metrics.feed(frames[-1])
    return text_of(RenderedScrape(metrics.metrics(frames[-1], COST)))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A machine of files: control groups of version 2, and processes in them."""
    mounts = tmp_path / "proc/self/mountinfo"
    mounts.parent.mkdir(parents=True)
    mounts.write_text("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    return tmp_path


def process(tree: Path, pid: int, group: str, name: str, ticks: int) -> None:
    folder = tree / f"sys/fs/cgroup/{group}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "cgroup.procs").open("a") as file:
        file.write(f"{pid}\n")
    (tree / f"proc/{pid}").mkdir()
    (tree / f"proc/{pid}/stat").write_text(STAT.format(pid=pid, name=name, ticks=ticks))
    (tree / f"proc/{pid}/schedstat").write_text("1000000000 250000000 10\n")


def test_columns_are_gauges_in_base_units_of_the_levels_there_are() -> None:
    text = asked("laptop-old", columns=("Busy%", "Bzy_MHz", "CoreTmp", "Governor"), per="cpu")
    _machine, frames = watched("laptop-old", 2)
    column = catalog_for(frames[0].capabilities.signals).by_id["Bzy_MHz"]
    rows = frames[-1].rows(Scope.CPU)
    clocks = dict(zip((str(row.key[0]) for row in rows), frames[-1].cells(column, rows), strict=True))
    result = values(text, "turbotui_cpu_column_bzy_hertz", "cpu")
    assert result == pytest.approx({cpu: float(value or 0) * 1e6 for cpu, value in clocks.items()})
    assert max(values(text, "turbotui_machine_column_busy_ratio").values()) <= 1.1
    assert "turbotui_cpu_column_core_celsius" not in names(text), "a core's is told of the core"
    assert not [name for name in names(text) if "governor" in name]


def test_groups_of_a_simulated_machine() -> None:
    clock = ManualClock()
    host = simulated_host("forest-1s", clock)
    clock.advance(5.0)
    text = asked("laptop-old", GroupMetrics(host, "/", 3))
    assert len(values(text, "turbotui_group_cpu_seconds_total", "group")) == 3
    assert values(text, "turbotui_resctrl_group_core_energy_joules_total", "resctrl_group")
    assert values(text, "turbotui_export_left_out", "part")["groups"] > 0
    assert not [name for name in names(asked("laptop-old")) if "group" in name], "nobody asked"


def test_tasks_of_a_group_those_that_used_most_and_how_many_there_are_beside(tree: Path) -> None:
    process(tree, 11, "db.slice/one.service", "postgres", 300)
    process(tree, 12, "db.slice/one.service", "writer", 900)
    process(tree, 13, "db.slice", "shell", 5)
    process(tree, 14, "web.slice", "nginx", 9000)
    text = asked("laptop-old", TaskMetrics(LinuxHost(str(tree)), "db.slice", 2))
    assert values(text, "turbotui_task_cpu_seconds_total", "task") == {"12": 9.5, "11": 3.5}
    assert values(text, "turbotui_task_run_delay_seconds_total", "task") == {"12": 0.25, "11": 0.25}
    assert values(text, "turbotui_export_left_out", "part") == {"tasks": 1.0}
    places = [dict(labels) for name, labels in series_of(text) if name == "turbotui_task_info"]
    assert {(place["task"], place["name"], place["group"]) for place in places} == {
        ("12", "writer", "/db.slice/one.service"), ("11", "postgres", "/db.slice/one.service")}


def test_a_hostile_name_stays_in_its_label(tree: Path) -> None:
    hostile = 'x"} 1\n# HELP evil\nevil 1\\\x1b]0;owned\x07'
    process(tree, 21, "evil.slice", hostile, 100)
    text = asked("laptop-old", TaskMetrics(LinuxHost(str(tree)), "/", 9))
    (info,) = [dict(labels) for name, labels in series_of(text) if name == "turbotui_task_info"]
    assert info["name"].startswith('x"} 1')
    assert "evil" not in names(text)
    assert "\x1b" not in text
    assert len([line for line in text.splitlines() if "evil.slice" in line]) == 1


def test_a_hostile_help_text_stays_in_its_line() -> None:
    metric = ExposedMetric("turbotui_x", "gauge", 'a\nb\\ "c" \x1b[31m', [({"l": '\n\\"\udcff'}, 1.0)])
    for form in (PLAIN, OPENMETRICS):
        lines = RenderedScrape([metric]).body(form, packed=False).decode().splitlines()
        # OpenMetrics 1.0, ABNF "escaped-char": a label's backslash and quotation mark have a backslash
        sample = next(line for line in lines if not line.startswith("#"))
        assert sample.startswith(r'turbotui_x{l="␊\\\"⟪xff⟫"} 1')
        assert len(lines) == (3 if form == PLAIN else 4)
        assert "\x1b" not in "".join(lines)


def test_this_machine_tells_of_this_process(capsys: pytest.CaptureFixture[str]) -> None:
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        if not any(line.startswith("0::") for line in file):
            pytest.skip("no control groups of version 2")
    assert main(["export", "--once", "-i", "0.2", "--tasks", "/", "--groups", "--most", "100000"]) == 0
    text = capsys.readouterr().out
    if "turbotui_task_cpu_seconds_total" not in text:
        pytest.skip("this process's control groups cannot be seen here")
    assert str(os.getpid()) in values(text, "turbotui_task_cpu_seconds_total", "task")


@pytest.mark.parametrize("words", [("--most", "0"), ("--series", "many"), ("--size", "-1")])
def test_a_number_that_is_none_is_reported(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--machine", "guest", "--groups", *words]) == 2
    assert f'{words[0]} "{words[1]}" is no whole number' in capsys.readouterr().err
