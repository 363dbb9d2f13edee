"""The files of `turbotui export --print` with the programs that use them: promtool, Prometheus, systemd, PCP."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from free_ports import free_port
from patience import PATIENCE
from scraped import scrapes, text_of, values
from serving import Exported, exported

from turbotui.cli import main
from turbotui.features.export.live import rules
from turbotui.features.export.live.families import COUNTERS, GAUGES, SPREADS, metric_name
from turbotui.features.export.live.files import FILES, PANELS, dashboard_text, of_instances
from turbotui.features.export.live.machine_metrics import ExportRequest
from turbotui.features.export.live.verb import PRINTED
from turbotui.simulated import SHAPES

ROOT = Path(__file__).parents[4]
needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus") or not shutil.which("promtool"),
                                      reason="package prometheus is missing")


def known_names() -> set[str]:
    """Every metric that some machine exports."""
    result = {metric_name(level, family.stem) + "_total" for family in COUNTERS for level in family.levels}
    result |= {metric_name(family.level, family.stem) for family in GAUGES}
    result |= {metric_name(level, family.stem) for family in SPREADS for level in family.levels}
    for shape in SHAPES:
        result |= {line.split("{")[0].split(" ")[0] for line in text_of(scrapes(shape, small=True)[-1]).splitlines()}
    return result | {"turbotui_machine_baseline_performance_ratio", "turbotui_cpu_info",
                     "turbotui_meter_energy_joules_total"}


def expressions() -> list[str]:
    return [*(rule.expression for rule in rules.RECORDING), *(rule.expression for rule in rules.ALERTS),
            *(query for panel in PANELS for query, _legend in panel.queries)]


def test_rules_and_panels_ask_for_what_is_exported() -> None:
    known, recorded = known_names(), {rule.name for rule in rules.RECORDING}
    for expression in expressions():
        for match in re.finditer(r"[a-z]+:turbotui_[a-z_]+:[a-z]+|turbotui_[a-z0-9_]+", expression):
            assert match[0] in known | recorded, match[0]


@needs_prometheus
def test_promtool_finds_nothing_to_say(tmp_path: Path) -> None:
    panels = [{"record": f"panel:query{at}:value", "expr": of_instances(query).replace("$__rate_interval", "5m")}
              for at, query in enumerate(query for panel in PANELS for query, _legend in panel.queries)]
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "panels", "rules": panels}]}))  # JSON is YAML
    for name in ("rules", "alerts"):
        (tmp_path / f"{name}.yml").write_text(FILES[name].text())
    process = subprocess.run(["promtool", "check", "rules", "--lint-fatal", *map(str, sorted(tmp_path.glob("*.yml")))],  # noqa: S603, S607
                             capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    assert f"SUCCESS: {len(rules.RECORDING)} rules found" in process.stdout


@needs_prometheus
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_promtool_has_no_fault_to_find_with_a_scrape(shape: str) -> None:
    text = text_of(scrapes(shape, ExportRequest(per="core"), small=True)[-1])
    process = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,  # noqa: S607
                             check=False)
    assert (process.returncode, process.stdout + process.stderr) == (0, "")


CASES = {
    # alert -> series, each a value a minute; the labels and the sentence that it must have after 40 minutes
    "TurbotuiThrottledByHeat": ({"turbotui_machine_heat_throttled_seconds_total": "0+6x60",
                                 "turbotui_machine_packages": "2x60", "turbotui_sampled_seconds_total": "0+60x60"},
                                "5% of the time"),
    "TurbotuiHeldByPowerLimit": ({"turbotui_machine_power_throttled_seconds_total": "0+60x60",
                                  "turbotui_machine_packages": "1x60", "turbotui_sampled_seconds_total": "0+60x60"},
                                 "100% of the time"),
    "TurbotuiSlowerThanBaseline": ({"turbotui_machine_lowest_performance_ratio": "0.9x60",
                                    'turbotui_machine_baseline_performance_ratio{benchmark="linpack"}': "1.2x60",
                                    'turbotui_machine_baseline_performance_ratio{benchmark="stream"}': "1.4x60"},
                                   "runs at 900m of the base clock"),
    "TurbotuiCounterLost": ({'turbotui_source_up{source="msr"}': "1x20 0x40",
                             'turbotui_source_reason_info{source="msr",reason="not permitted"}': "_x20 1x40",
                             'turbotui_source_up{source="hsmp"}': "0x60",
                             'turbotui_source_reason_info{source="hsmp",reason="no driver"}': "1x60"}, "not permitted"),
    "TurbotuiCollectorStalled": ({"turbotui_snapshot_timestamp_seconds": "0x60",
                                  "turbotui_snapshot_interval_seconds": "15x60"}, "ago"),
}
QUIET = {
    "turbotui_machine_heat_throttled_seconds_total": "0x60",
    "turbotui_machine_power_throttled_seconds_total": "0+20x60",
    "turbotui_machine_packages": "1x60", "turbotui_sampled_seconds_total": "0+60x60",
    "turbotui_machine_lowest_performance_ratio": "1.19x60",
    'turbotui_machine_baseline_performance_ratio{benchmark="linpack"}': "1.2x60",
    'turbotui_source_up{source="msr"}': "1x60", 'turbotui_source_up{source="hsmp"}': "0x60",
    'turbotui_source_reason_info{source="hsmp",reason="x"}': "1x60",
    "turbotui_snapshot_timestamp_seconds": "0+60x60", "turbotui_snapshot_interval_seconds": "15x60",
}
"""What no alert is about."""


def with_node(series: str) -> str:
    name, brace, rest = series.partition("{")
    return f'{name}{{instance="node7",job="turbotui"{"," + rest if brace else "}"}'


def alerts_of(folder: Path, series: dict[str, str]) -> dict[str, str]:
    """The alerts that fire after 40 minutes, and their descriptions, as promtool works them out."""
    for name in ("rules", "alerts"):
        (folder / f"{name}.yml").write_text(FILES[name].text())
    expected = [{"eval_time": "40m", "alertname": rule.name, "exp_alerts": []} for rule in rules.ALERTS]
    test = {"rule_files": ["rules.yml", "alerts.yml"], "evaluation_interval": "1m", "tests": [{
        "interval": "1m", "alert_rule_test": expected,
        "input_series": [{"series": with_node(name), "values": values} for name, values in series.items()]}]}
    (folder / "test.yml").write_text(json.dumps(test))
    process = subprocess.run(["promtool", "test", "rules", "test.yml"], cwd=folder, capture_output=True, text=True,  # noqa: S607
                             check=False)
    said = process.stdout + process.stderr
    assert "FAILED" in said or "SUCCESS" in said, said
    return {name: text for name, text in re.findall(r'alertname="(\w+)".*?description="([^"]*)"', said, re.DOTALL)
            if "got:[" in said}


@needs_prometheus
@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_for_what_it_is_about_and_alone(name: str, tmp_path: Path) -> None:
    series, said = CASES[name]
    steady = {"turbotui_snapshot_timestamp_seconds": "0+60x60"} if name != "TurbotuiCollectorStalled" else {}
    result = alerts_of(tmp_path, {**series, **steady})
    assert list(result) == [name]
    assert said in result[name]


@needs_prometheus
def test_no_alert_fires_on_a_machine_that_does_well(tmp_path: Path) -> None:
    assert alerts_of(tmp_path, QUIET) == {}


def test_printed_are_the_files_that_come_with_turbotui(capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(FILES) == PRINTED
    for name, file in FILES.items():
        assert main(["export", "--print", name]) == 0
        assert capsys.readouterr().out == (ROOT / "share" / file.path).read_text()


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    """What Grafana's own schema of dashboards wants of the parts that are there."""
    board = json.loads(dashboard_text())
    assert board["schemaVersion"] >= 36
    assert {item["name"] for item in board["templating"]["list"]} == {"datasource", "instance"}
    places: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & places, f"{panel['title']} lies over another panel"
        places |= cells
        assert panel["type"] in {"stat", "timeseries", "table"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            assert 'instance=~"$instance"' in target["expr"]
            assert target["datasource"]["uid"] == "${datasource}"
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


_NEVER = threading.Event()


class Server:
    """A Prometheus on loopback."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> dict[str, float]:
        """Values by instance."""
        question = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self.address}/api/v1/query?{question}", timeout=PATIENCE) as answer:  # noqa: S310
            result: Any = json.load(answer)
        return {item["metric"].get("instance", ""): float(item["value"][1]) for item in result["data"]["result"]}

    def until(self, expression: str, count: int) -> dict[str, float]:
        """Return the values by instance, once there are a given number of them.

        A share of counters that stood still between two scrapes is 0/0: a busy machine has not ended an interval there.
        """
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError):
                result = {place: value for place, value in self.query(expression).items() if not math.isnan(value)}
                if len(result) >= count:
                    return result
            assert time.monotonic() < end, expression
            _NEVER.wait(0.2)  # a second passes between two scrapes


@contextlib.contextmanager
def prometheus(folder: Path, targets: list[str], scheme: str = "") -> Iterator[Server]:
    """A Prometheus that scrapes these every second, with our rules."""
    for name in ("rules", "alerts"):
        (folder / f"{name}.yml").write_text(FILES[name].text())
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml", "alerts.yml"],
        "scrape_configs": [{"job_name": "turbotui", "static_configs": [{"targets": targets}],
                            **(json.loads(scheme) if scheme else {})}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    port = free_port()
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
               f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        try:
            yield Server(port)
        finally:
            process.kill()


def busy_of(server: Exported) -> float:
    text = server.get()[0]
    mperf, tsc = (values(text, f"turbotui_machine_{name}_cycles_total")[""] for name in ("mperf", "tsc"))
    return mperf / tsc


@needs_prometheus
def test_prometheus_records_the_known_busy_share(tmp_path: Path) -> None:
    with (exported("--machine", "laptop-old+governor", "-i", "1") as full,
          exported("--machine", "laptop-old+idle", "-i", "1") as idle,
          prometheus(tmp_path, [full.place, idle.place]) as server):
        busy = server.until("instance:turbotui_busy:ratio", 2)
        assert busy[full.place] == pytest.approx(busy_of(full), abs=0.05)
        assert busy[full.place] > 0.9
        assert busy[idle.place] == pytest.approx(busy_of(idle), abs=0.05)
        assert busy[idle.place] < 0.2
        watts = server.until("instance:turbotui_package_energy:watts", 2)
        assert watts[full.place] > watts[idle.place] > 0.0
        assert set(server.query('up{job="turbotui"} == 1')) == {full.place, idle.place}
        assert server.query("scrape_samples_scraped")[full.place] < 300
        clock = server.until("instance:turbotui_busy:hertz", 2)
        assert 5e8 < clock[full.place] < 6e9


def test_the_units_of_systemd_are_of_one_kind() -> None:
    """What the service of the exporter may is what that of the collector may, but for the network."""
    ours, other = ({line for line in (ROOT / "share/systemd" / name).read_text().splitlines() if "=" in line}
                   for name in ("turbotui-export.service", "turbotui-collect.service"))
    said = {line for line in other if line.startswith(("Description", "Documentation", "ExecStart"))}
    assert other - ours - said == {
        "SupplementaryGroups=turbotui", "RuntimeDirectory=turbotui", "RuntimeDirectoryMode=0755", "PrivateNetwork=yes",
        "RestrictAddressFamilies=AF_UNIX", "SystemCallFilter=sched_setaffinity setrlimit prlimit64 chown fchownat"}
    assert {"IPAddressDeny=any", "IPAddressAllow=localhost"} <= ours


def test_systemd_takes_the_unit() -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("package systemd is missing")
    process = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=30",  # noqa: S603, S607
                              str(ROOT / "share/systemd/turbotui-export.service")], capture_output=True, text=True,
                             check=False, env={**os.environ, "SYSTEMD_PAGER": "", "COLUMNS": "200"})
    assert process.returncode == 0, process.stdout[-400:] + process.stderr
