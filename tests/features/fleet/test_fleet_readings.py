"""Readings of a fleet: queries, vanished nodes, hostile labels, and the verb that prints them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping

import pytest
from fleetbed import NORMAL, Asked, Reply, fleet_answer, info, nodes, series, stub, success
from free_ports import free_port
from jsontables import tables

from turbotui.cli import main
from turbotui.features.fleet.columns import MEASURED, NODE
from turbotui.features.fleet.engine import FleetQuestion, FleetReader
from turbotui.features.fleet.screen_rows import fleet_content
from turbotui.features.fleet.server import Server, ServerAccess, ServerError
from turbotui.features.fleet.tables import fleet_table
from turbotui.untrusted import guarded


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_a_refresh_is_one_query_and_labels_are_asked_for_once_a_minute() -> None:
    clock = Clock()
    with stub(fleet_answer(nodes(4))) as server:
        reader = FleetReader(Server(ServerAccess(server.url)), FleetQuestion(), clock)
        first = reader.read()
        clock.seconds = 15.0
        second = reader.read()
        clock.seconds = 75.0
        third = reader.read()
    assert [reading.cost.queries for reading in (first, second, third)] == [2, 1, 2]
    assert 0 < first.cost.sent < first.cost.unpacked
    assert [node.labels["model"] for node in second.nodes] == ["EPYC 9754"] * 4


def test_a_new_node_is_asked_for_its_labels_at_once() -> None:
    values = nodes(3)
    with stub(fleet_answer(values)) as server:
        reader = FleetReader(Server(ServerAccess(server.url)), FleetQuestion())
        reader.read()
        values["n9"] = dict(NORMAL)
        reading = reader.read()
    assert reading.cost.queries == 2
    assert {node.name for node in reading.nodes if node.labels.get("model")} == {"n0", "n1", "n2", "n9"}


def test_every_column_is_in_the_one_query_with_what_was_asked() -> None:
    question = FleetQuestion(by=("cluster", "instance"), window="5m", select='rack="r7"')
    with stub(fleet_answer(nodes(3))) as server:
        FleetReader(Server(ServerAccess(server.url)), question).read()
    query = server.asked[0].words["query"]
    for column in MEASURED:
        assert f'"c", "{column.id}"' in query
        assert question.query(column) in query
    assert query.count("{") == query.count("}")
    assert 'temperature_celsius{stat="max",rack="r7"}' in query
    assert 'rate(turbotui_machine_tsc_cycles_total{rack="r7"}[5m])' in query
    assert "by (cluster,instance)" in query
    assert not {"{by}", "{s}", "{w}"} & set(query.split())


def test_a_node_that_vanished_keeps_its_last_values_with_their_age() -> None:
    clock = Clock()
    values: dict[str, dict[str, float]] = nodes(4)
    with stub(fleet_answer(values)) as server:
        reader = FleetReader(Server(ServerAccess(server.url)), FleetQuestion(), clock)
        reader.read()
        values["n2"] = {"Age": 95.0, "Busy%": 80.0}  # rates outlive the node by their window
        clock.seconds = 30.0
        gone = next(node for node in reader.read().nodes if node.name == "n2")
        del values["n2"]  # the server has forgotten it
        clock.seconds = 600.0
        later = reader.read()
        forgotten = next(node for node in later.nodes if node.name == "n2")
    assert gone.gone
    assert gone.values["Bzy_MHz"] == 3002.0
    assert gone.age == 95.0
    assert gone.why == "no samples for 95 s"
    assert forgotten.gone
    assert forgotten.age == 605.0
    table = fleet_table(later)
    temperature = next(column for column in table.columns if column.id == "CoreTmp")
    assert table.cell(temperature, forgotten).old
    assert "10 min ago" in " ".join(table.evidence(temperature, forgotten).remarks)


def test_a_node_that_vanished_before_is_there_without_values() -> None:
    values = {**nodes(3), "dead": {"Age": 1800.0}}
    with stub(fleet_answer(values)) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
    dead = next(node for node in reading.nodes if node.name == "dead")
    assert (dead.gone, dead.why) == (True, "no samples for 30 min")
    table = fleet_table(reading)
    why = table.cell(next(column for column in table.columns if column.id == "PkgWatt"), dead).why
    assert why is not None
    assert "vanished before" in why.detail


@pytest.mark.parametrize(("column", "value"), [
    ("Bzy_MHz", -5.0), ("Busy%", 1e9), ("CoreTmp", 1e30), ("PkgWatt", -50.0), ("CPUs", 0.0), ("Age", 1e18),
])
def test_a_value_that_no_machine_can_have_is_unknown_and_no_finding(column: str, value: float) -> None:
    with stub(fleet_answer(nodes(4, n1={column: value}))) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
    (node,) = (fleet_node for fleet_node in reading.nodes if fleet_node.name == "n1")
    assert (node.findings, node.gone, column in node.values) == ((), False, False)
    table = fleet_table(reading, MEASURED)
    (cell,) = (table.cell(item, node) for item in MEASURED if item.id == column)
    assert cell.why is not None
    assert f"the server's value is {value:g}, which no machine can have" in cell.why.detail


def test_a_server_without_nodes_is_no_fleet_of_none() -> None:
    with stub(lambda _asked: success([])) as server, pytest.raises(ServerError, match="knows of no node"):
        FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()


def test_two_series_of_one_name_are_reported() -> None:
    def answer(asked: Asked) -> Reply:
        if "label_replace" in asked.words["query"]:
            return success([series("n0", "Busy%", 1.0), series("n0", "CPUs", 8.0)])
        return success([info("n0", cluster="a"), info("n0", cluster="b")])

    with stub(answer) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
    assert "--node instance,LABEL" in reading.notes[0]


def test_a_window_shorter_than_two_scrapes_is_reported() -> None:
    with stub(fleet_answer({"n0": {"CPUs": 8.0, "CoreTmp": 50.0}})) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
    assert "--window 10m" in reading.notes[0]


def test_the_past_of_some_nodes() -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("query_range"):
            return success([{"metric": {"instance": "a.b"}, "values": [[100, "1.5"], [115, "NaN"], [130, "2"]]}],
                           kind="matrix")
        return fleet_answer({"a.b": NORMAL, 'x"\n': NORMAL})(asked)

    with stub(answer) as server:
        reader = FleetReader(Server(ServerAccess(server.url)), FleetQuestion())
        names = [node.name for node in reader.read().nodes]
        column = next(column for column in MEASURED if column.id == "CoreTmp")
        result = reader.past(column, names, 100.0, 130.0, 2)
    assert result == {"a.b": ((100.0, 1.5), (130.0, 2.0))}
    asked = server.asked[-1].words
    assert asked["step"] == "15"
    # a text of PromQL has Go's escapes: the regular expression is a\.b|x"<newline>
    assert r'instance=~"a\\.b|x\"\n"' in asked["query"]


HOSTILE = "evil\x1b]0;owned\x07\u202e\n"


def test_labels_that_a_terminal_would_obey_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    values: Mapping[str, Mapping[str, float]] = {**nodes(3), HOSTILE: {**NORMAL, "CoreTmp": 99.0}}
    labels = {HOSTILE: {"model": "EPYC 9754", "rack\x1b[2J": "\x1b[31m", "container": "\x9b5n"}}
    with stub(fleet_answer(values, labels)) as server:
        assert main(["fleet", "--prometheus", server.url, "-n", "1", "--format", "table"]) == 0
    text = capsys.readouterr().out
    assert "evil␛]0;owned" in text
    assert guarded(text) == text
    assert "\x1b" not in text


def _fleet(capsys: pytest.CaptureFixture[str], values: Mapping[str, Mapping[str, float]], *words: str,
           status: int = 0) -> str:
    with stub(fleet_answer(values, {name: {"rack": f"r{name[-1]}"} for name in values})) as server:
        assert main(["fleet", *words, "--prometheus", server.url]) == status
    return capsys.readouterr().out


def test_text_has_the_odd_node_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = _fleet(capsys, nodes(8, n5={"Bzy_MHz": 2500.0}), "-n", "1").splitlines()
    assert "8 nodes, 1 odd" in lines[0]
    first = next(line for line in lines if line.startswith("n"))
    assert first.split()[0] == "n5"
    assert "slower than its peers" in first


def test_filter_sort_and_top(capsys: pytest.CaptureFixture[str]) -> None:
    values = nodes(8, n5={"CoreTmp": 70.0}, n6={"CoreTmp": 68.0})
    text = _fleet(capsys, values, "-n", "1", "--sort", "CoreTmp", "--top", "2", "--show", "CoreTmp")
    assert [line.split() for line in text.splitlines() if line.startswith("n")] == [["n5", "70"], ["n6", "68"]]
    text = _fleet(capsys, values, "-n", "1", "--filter", "CoreTmp>69 or r2", "--show", "CoreTmp")
    assert {line.split()[0] for line in text.splitlines() if line.startswith("n")} == {"n5", "n2"}


def test_json_is_the_schema_s_object_and_groups_are_a_second_table(capsys: pytest.CaptureFixture[str]) -> None:
    result = tables(_fleet(capsys, nodes(8, n5={"Ratio%": 80.0}), "--format", "json", "--group", "rack"))
    assert [item["table"] for item in result] == ["fleet", "fleet_groups"]
    row = result[0]["rows"][0]
    assert row["node"] == "n5"
    assert row["values"]["Ratio%"] == 80.0
    assert result[0]["facts"]["queries"] == 2
    assert result[1]["rows"][0]["group"] == "r5"
    assert result[1]["rows"][0]["values"]["OddNodes"] == 1


def test_what_a_group_adds_up_says_how_many_nodes_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    values = nodes(4)
    del values["n2"]["PkgWatt"], values["n3"]["PkgWatt"], values["n3"]["CoreTmp"]
    labels = {name: {"rack": "r0" if name < "n3" else "r1"} for name in values}
    with stub(fleet_answer(values, labels)) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
        assert main(["fleet", "--format", "json", "--group", "rack", "--prometheus", server.url]) == 0
    first, second = sorted(tables(capsys.readouterr().out)[1]["rows"], key=lambda row: str(row["group"]))
    assert (first["values"]["PkgWatt"], first["partial"]) == (500.0, ["PkgWatt"])
    assert first["why"]["PkgWatt"].endswith("1 node of 3 without a value now, n2 first")
    assert (second["values"]["PkgWatt"], second["values"]["CoreTmp"], second.get("partial")) == (None, None, None)
    shown = fleet_content(reading, 1, "rack", MEASURED)
    assert {column.id for column in MEASURED if shown.cell(column, (True, "r0 · 3")).partial} == {"PkgWatt"}


def test_csv_and_openmetrics(capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(_fleet(capsys, nodes(3), "--format", "csv"))))
    assert [row["node"] for row in rows] == ["n0", "n1", "n2"]
    assert rows[0]["PkgWatt"] == "250.0"
    text = _fleet(capsys, nodes(3), "--format", "openmetrics")
    assert text.rstrip().endswith("# EOF")
    assert 'node="n0"' in text


def test_simulated_nodes_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    with stub(fleet_answer(nodes(3), {"n1": {"simulated": "true"}})) as server:
        assert main(["fleet", "--prometheus", server.url, "-n", "1"]) == 0
    assert "SIMULATED" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(("values", "words", "status", "said"), [
    (nodes(8), ("--slower", "5"), 0, "fine: 8 nodes"),
    (nodes(8, n5={"Bzy_MHz": 2500.0}), ("--slower", "5"), 7, "n5: 5"),
    (nodes(8, n5={"CoreTmp": 90.0}), ("--slower", "5", "--hotter", "10"), 7, "n5: 30 °C hotter"),
    (nodes(8, n5={"CoreTmp": 90.0}), ("--slower", "5"), 0, "fine"),
    (nodes(8, n5={"CoreTmp": 90.0}), (), 7, "n5: 30 °C hotter"),
    (nodes(2), ("--slower", "5"), 6, "no sure answer"),
    (nodes(2), ("--throttled", "5"), 0, "fine"),
])
def test_check(values: Mapping[str, Mapping[str, float]], words: tuple[str, ...], status: int, said: str,
               capsys: pytest.CaptureFixture[str]) -> None:
    assert said in _fleet(capsys, values, "check", *words, status=status)


def test_check_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    text = _fleet(capsys, nodes(8, n5={"Bzy_MHz": 2500.0}), "check", "--slower", "5", "--json", status=7)
    result = tables(text)[0]
    assert result["facts"] == {"check": "found", "nodes": 8, "found": 1} | {
        name: value for name, value in result["facts"].items() if name == "why"}
    assert [row["node"] for row in result["rows"]] == ["n5"]


def test_a_partial_answer_is_no_sure_answer(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(asked: Asked) -> Reply:
        reply = fleet_answer(nodes(8))(asked)
        if reply.headers:
            return success([series(name, column, value) for name, selected in nodes(8).items()
                            for column, value in selected.items()], warnings=["a store did not answer"])
        return reply

    with stub(answer) as server:
        assert main(["fleet", "check", "--prometheus", server.url]) == 6
    assert "a store did not answer" in capsys.readouterr().out


def test_no_server_is_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fleet", "check", "--prometheus", f"http://127.0.0.1:{free_port()}"]) == 3
    assert "refuses the connection" in capsys.readouterr().err


@pytest.mark.parametrize("words", [
    ("--slower", "5"), ("--window", "fast"), ("--node", "a-b"), ("--select", "rack"), ("--user", "ann"),
    ("--tenant", "a b"), ("--show", "Nothing"), ("--filter", "Nothing>1"), ("-n", "0"), ("--timeout", "-1"),
    ("check", "--slower", "x"), ("--peers", ","),
])
def test_words_that_cannot_be_meant(words: tuple[str, ...]) -> None:
    assert main(["fleet", *words, "--prometheus", "http://127.0.0.1:1"]) == 2


def test_the_server_may_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TURBOTUI_PROMETHEUS", raising=False)
    assert main(["fleet", "-n", "1"]) == 2
    with stub(fleet_answer(nodes(3))) as server:
        monkeypatch.setenv("TURBOTUI_PROMETHEUS", server.url)
        assert main(["fleet", "-n", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1] or "{}") is not None


def test_a_server_that_fails_once_is_reported_and_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    asked_for = 0

    def answer(asked: Asked) -> Reply:
        nonlocal asked_for
        asked_for += 1
        return Reply(503) if asked_for == 3 else fleet_answer(nodes(3))(asked)

    with stub(answer) as server:
        assert main(["fleet", "--prometheus", server.url, "-n", "3", "-i", "0.05"]) == 0
    output = capsys.readouterr()
    assert output.out.count("3 nodes") == 2
    assert output.err.count("not ready") == 1


def test_the_evidence_of_a_cell_is_its_promql() -> None:
    with stub(fleet_answer(nodes(8, n5={"Bzy_MHz": 2500.0}))) as server:
        reading = FleetReader(Server(ServerAccess(server.url)), FleetQuestion()).read()
    table = fleet_table(reading)
    column = next(column for column in table.columns if column.id == "Bzy_MHz")
    evidence = table.evidence(column, reading.nodes[0])
    assert "rate(turbotui_machine_aperf_cycles_total[2m])" in evidence.arithmetic[0]
    assert any("median of 8 busy nodes" in remark for remark in evidence.remarks)
    assert table.identify(reading.nodes[0]).names == {"node": "n5"}
    assert table.columns[0] is NODE
