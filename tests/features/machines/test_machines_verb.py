"""The list of simulated machines agrees with what is found on each machine."""

from __future__ import annotations

import pytest
from every_row import of_every
from jsontables import by, tables

from turbotui.cli import main
from turbotui.commands.sessions import named_host
from turbotui.simulated import SHAPES, SimulatedHost
from turbotui.simulated.causes import CAUSES


@of_every(SHAPES)
def test_a_listed_machine_can_be_opened_and_has_the_listed_cpus(name: str) -> None:
    host = named_host(name, "/")
    assert isinstance(host, SimulatedHost)
    assert host.name == name
    assert host.shape.cpus == len(host.model.online)


def test_the_list_has_every_machine_application_and_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines", "--format", "json"]) == 0
    machines, applications, causes = tables(capsys.readouterr().out)
    assert {name: (row["packages"], row["CPUs"]) for name, row in by(machines, "name").items()} == {
        shape.name: (shape.packages, shape.cpus) for shape in SHAPES.values()}
    assert by(causes, "name").keys() == CAUSES.keys()
    for application in by(applications, "name"):
        assert named_host(f"laptop+{application}", "/").name == f"laptop+{application}"
