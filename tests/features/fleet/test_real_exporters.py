"""Eight exporters of simulated machines, scraped by Prometheus: the slowed machine is in row 1."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from fleetbed import Started, missing, prometheus, until
from free_ports import free_port

from turbotui.cli import main
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.model import FleetReading
from turbotui.features.fleet.server import Server, ServerAccess, ServerError

NODES = 8
SLOWED = 5


@contextmanager
def exporter(port: int, machine: str, folder: Path) -> Iterator[None]:
    """`turbotui export --listen` of a simulated machine."""
    words = [sys.executable, "-m", "turbotui", "export", "--listen", f"127.0.0.1:{port}", "--machine", machine,
             "-i", "1"]
    with (folder / f"{port}.log").open("ab") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "XDG_DATA_HOME": str(folder)})  # noqa: S603 - our own words
    try:
        yield
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[Started, list[int]]]:
    """A server, and the ports of the nodes that it scrapes."""
    why = missing("prometheus")
    if why:
        pytest.skip(why)
    ports = [free_port() for _ in range(NODES)]
    config = tmp_path / "prometheus.yml"
    targets = ", ".join(f"'127.0.0.1:{port}'" for port in ports)
    config.write_text(f"global: {{scrape_interval: 2s}}\nscrape_configs:\n- job_name: turbotui\n"
                      f"  static_configs: [{{targets: [{targets}]}}]\n", encoding="utf-8")
    with ExitStack() as stack:
        for at, port in enumerate(ports):
            machine = "laptop-old+heat" if at == SLOWED else "laptop-old+calculix"
            stack.enter_context(exporter(port, machine, tmp_path))
        server = prometheus(tmp_path, config)
        stack.callback(server.kill)
        server.start()
        yield server, ports


def test_the_slowed_machine_is_row_1(cluster: tuple[Started, list[int]], capsys: pytest.CaptureFixture[str]) -> None:
    server, ports = cluster
    reader = FleetReader(Server(ServerAccess(server.url)), FleetQuestion(window="20s", seconds=20.0))
    readings: list[FleetReading] = []

    def is_whole() -> bool:
        """On a busy machine scrapes come late, and a window may have one node's beginning alone."""
        try:
            readings.append(reader.read())
        except ServerError:  # nothing was scraped yet
            return False
        nodes = readings[-1].nodes
        text = {oddity.column for oddity in nodes[0].findings} if nodes else set()
        return (sum("Bzy_MHz" in node.values for node in nodes) == NODES and text >= {"Bzy_MHz", "Throttled%"}
                and nodes[0].odd > 2.0 * nodes[1].odd)  # the others may differ by what is left of their turbo

    until(is_whole, "all nodes have a clock, and the first of them is held back, twice as odd as any other")
    first = readings[-1].nodes[0]
    assert first.name == f"127.0.0.1:{ports[SLOWED]}"
    assert first.simulated
    assert {oddity.column for oddity in first.findings} >= {"Bzy_MHz", "Throttled%"}
    assert first.values["CPUs"] == 8
    words = ["fleet", "check", "--prometheus", server.url, "--slower", "5", "--window", "20s"]
    until(lambda: main(words) == 7, "the check has found it too")
    assert first.name in capsys.readouterr().out
