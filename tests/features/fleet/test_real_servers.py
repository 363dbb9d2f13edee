"""A fleet with real servers: Prometheus and VictoriaMetrics scrape exporters of nodes, one of which is slow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleetbed import Node, Started, exporters, missing, prometheus, scrape_targets, until, victoria_metrics

from turbotui.features.fleet.columns import MEASURED
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.model import FleetReading
from turbotui.features.fleet.server import Server, ServerAccess, ServerError

SERVERS = {"prometheus": prometheus, "victoria-metrics": victoria_metrics}
QUESTION = FleetQuestion(window="4s", seconds=4.0)


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Started, dict[str, Node]]]:
    """A server that scrapes eight nodes, one of them slow."""
    why = missing(request.param)
    if why:
        pytest.skip(why)
    nodes = {f"n{at}": Node() for at in range(8)}
    nodes["n5"] = Node(hertz=2.5e9, celsius=97.0, throttled=0.3)
    with exporters(nodes) as port:
        config = scrape_targets(tmp_path, port, [*nodes, "never"], "1s")
        make: Callable[[Path, Path], Started] = SERVERS[request.param]
        started = make(tmp_path, config)
        started.start()
        try:
            yield started, nodes
        finally:
            started.kill()


_EXPORTED = {column.id for column in MEASURED} - {"NowMHz", "NowErr%"}  # which only virtual machines have


def _whole(reader: FleetReader, many: int = 8) -> FleetReading:
    """Return a reading in which a given number of nodes have every value."""
    readings: list[FleetReading] = []

    def is_whole() -> bool:
        try:
            reading = reader.read()
        except ServerError:  # nothing was scraped yet
            return False
        readings.append(reading)
        return sum(node.values.keys() >= _EXPORTED and not node.gone
                   for node in reading.nodes) == many

    until(is_whole, f"{many} nodes have every value")
    return readings[-1]


def energies_of(reader: FleetReader) -> dict[str, set[str]]:
    """The columns of energy that nodes have, of those that lack one."""
    energies = {"PkgWatt", "nJ/instr"}
    return {node.name: energies & node.values.keys() for node in reader.read().nodes
            if not energies <= node.values.keys()}


def test_the_slow_node_is_row_1_and_goes_and_comes(server: tuple[Started, dict[str, Node]]) -> None:
    started, nodes = server
    reader = FleetReader(Server(ServerAccess(started.url)), QUESTION)
    reading = _whole(reader)
    first, second = reading.nodes[:2]
    assert first.name == "n5"
    assert not second.findings
    assert "500 MHz slower than its peers (2,500, median 3,000)" in first.why
    assert "30 % of the time held back by heat" in first.why
    assert "17 % slower than its own baseline" in first.why
    assert first.labels["rack"] == "r1"
    values = second.values
    assert values["Busy%"] == pytest.approx(80.0, abs=0.5)
    assert values["Bzy_MHz"] == pytest.approx(3000.0, abs=5.0)
    assert values["PkgWatt"] == pytest.approx(250.0, abs=2.0)
    assert values["nJ/instr"] == pytest.approx(250.0 / (8 * 0.8 * 3.0e9 * 1.5) * 1e9, rel=0.02)
    past = reader.past(next(column for column in MEASURED if column.id == "CoreTmp"), ["n5", "n1"],
                       reading.wall_ns / 1e9 - 10.0, reading.wall_ns / 1e9, 10)
    assert {value for _at, value in past["n5"]} == {97.0}
    assert {value for _at, value in past["n1"]} == {60.0}

    nodes["n3"].unmeasured_cpus, nodes["n4"].unmeasured_packages = 4, 1
    until(lambda: energies_of(reader) == {"n3": {"PkgWatt"}, "n4": {"nJ/instr"}},
          "energy is not divided by a part of the CPUs, and that of a part of the packages is not the node's")
    nodes["n3"].unmeasured_cpus = nodes["n4"].unmeasured_packages = 0

    del nodes["n2"]
    until(lambda: any(node.gone for node in reader.read().nodes), "the dead node is told of")
    gone = next(node for node in reader.read().nodes if node.name == "n2")
    assert gone.why.startswith("no samples for")
    assert gone.values["CoreTmp"] == 60.0

    started.kill()
    with pytest.raises(ServerError, match="refuses the connection"):
        reader.read()
    started.start()
    assert _whole(reader, 7).nodes[0].name == "n5"


def test_a_thousand_nodes_are_one_query_and_less_than_a_megabyte(tmp_path: Path) -> None:
    why = missing("prometheus")
    if why:
        pytest.skip(why)
    nodes = {f"node{at:04d}.cluster.example:9177": Node(hertz=3.0e9 + at % 7 * 1e6) for at in range(1000)}
    slow = "node0404.cluster.example:9177"
    nodes[slow] = Node(hertz=2.6e9)
    with exporters(nodes) as port:
        config = tmp_path / "prometheus.yml"
        config.write_text("scrape_configs:\n- job_name: all\n  honor_labels: true\n  metrics_path: /all\n"
                          f"  scrape_interval: 3s\n  static_configs: [{{targets: ['127.0.0.1:{port}']}}]\n",
                          encoding="utf-8")
        started = prometheus(tmp_path, config)
        started.start()
        try:
            patient = ServerAccess(started.url, timeout=120.0)
            reader = FleetReader(Server(patient), FleetQuestion(window="1m", seconds=60.0))
            first = _whole(reader, 1000)
            again = reader.read()
        finally:
            started.kill()
    assert [node.name for node in first.nodes if node.findings] == [slow]
    assert again.cost.queries == 1
    assert again.cost.sent < again.cost.unpacked / 5
    assert again.cost.sent < 200_000
