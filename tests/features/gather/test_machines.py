"""Gathered machines of users: each file in tests/machines tests topology, doctor and stat."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from turbotui import recording
from turbotui.cli import main
from turbotui.machine.gathered.documents import read_gathered
from turbotui.machine.gathered.host import GatheredHost, gathered_host
from turbotui.machine.host import HostKind
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Signal
from turbotui.sampling.capabilities import probe_sources
from turbotui.sources import SOURCES

MACHINES = sorted((Path(__file__).parents[2] / "machines").glob("*gz"))
HERE_ONLY = {"rdtsc"}  # executes an instruction, which no file can
LARGEST = 200_000

gathered = pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.name.split(".")[0])


def test_there_are_machines() -> None:
    assert MACHINES


@gathered
def test_the_file_is_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST, "a large machine belongs beside the repository"


@gathered
def test_its_topology_obeys_the_laws(path: Path) -> None:
    host = gathered_host(str(path))
    topology = read_machine(host).topology
    assert topology.cpus
    for scope in Scope:
        instances = topology.instances(scope)
        assert sorted(cpu for instance in instances for cpu in instance.cpus) == sorted(topology.cpus)
        assert len({instance.row for instance in instances}) == len(instances)
        assert all(instance.label >= -1 for instance in instances)


@gathered
def test_no_counter_of_one_instant_has_an_increase(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "-q", "-n", "1", "-i", "0.1", "--format", "json", "--machine", str(path)]) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[0])
    counted = {item["id"] for item in table["columns"] if "Δ" in item["formula"]}
    assert counted
    for row in table["rows"]:
        assert {name: value for name, value in row["values"].items() if name in counted and value is not None} == {}
        assert counted & row["values"].keys() <= row["why"].keys()


@gathered
def test_doctor_finds_what_it_found_there(path: Path) -> None:
    """What could be read where the file was gathered can be read here, and what could not cannot."""
    machine, documents = read_gathered(str(path))
    tables = [json.loads(line) for line in documents["doctor.json"].decode().splitlines()]
    signals = next(table for table in tables if table["table"] == "signals")
    there = {(row["source"], row["signal"]): row["values"]["usable"] == "yes" for row in signals["rows"]}
    assert any(there.values())
    probes = probe_sources(read_machine(GatheredHost(machine, "x")), SOURCES).probes
    known = {(source, name): isinstance(result, Signal)
             for source, probe in probes.items() for name, result in probe.signals.items()}
    both = {key for key in there.keys() & known.keys() if key[0] not in HERE_ONLY}
    assert len(both) > len(there) // 2, "most of what the file tells of has another name now: gather it again"
    assert {key: known[key] for key in both} == {key: there[key] for key in both}


@gathered
def test_stat_says_recorded_and_no_number_that_was_not_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stat", "--machine", str(path), "-n", "1", "-i", "0.1", "--format", "json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert table["kind"] == "RECORDED"
    host = gathered_host(str(path))
    cpus = [row["cpu"] for row in table["rows"] if row["row"] == "cpu"]
    assert sorted(cpus) == sorted(read_machine(host).topology.cpus)
    for row in table["rows"]:
        unknown = {name for name, value in row["values"].items() if value is None}
        assert unknown <= row.get("why", {}).keys(), "nothing is unknown without a reason"
    sentences = {why for row in table["rows"] for why in row.get("why", {}).values()}
    assert not [why for why in sentences if why.startswith("failed")], "nothing failed: it was recorded"
    assert main(["stat", "--machine", str(path), "-n", "1", "-i", "0.1"]) == 0
    assert "RECORDED machine" in capsys.readouterr().out


@gathered
def test_nothing_of_it_tells_whose_it_was(path: Path) -> None:
    machine, _ = read_gathered(str(path))
    assert machine.origin in HostKind
    telling = ("hostname", "machine-id", "boot_id", "_serial", "uuid")
    assert {machine.files[name] for name in machine.files if name.endswith(telling)} <= {b"scrubbed\n"}
    assert b"root=" not in machine.files.get("/proc/cmdline", b"")


@gathered
def test_the_counters_of_its_recording_only_rise(path: Path) -> None:
    """A recording that is decoded by other rules than it was written by has readings of no machine."""
    with recording.read(str(path)) as journal:
        assert journal.check() == ()
        frames = [frame for frame in journal.frames() if frame.older is not None]
    assert frames
    for frame in frames:
        signals, begin, end = frame.capabilities.signals, frame.newer.started_ns, frame.newer.started_ns + 10**10
        assert all(begin <= stamp < end for stamps in frame.newer.stamps.values() for stamp in stamps if stamp)
        for name, readings in frame.newer.values.items():
            signal, before = signals[name], frame.older_values(name)
            if signal.behavior is Behavior.COUNTER and signal.width_bits >= 64 and before is not None:
                assert all(old <= new for old, new in zip(before, readings, strict=True)
                           if isinstance(old, int) and isinstance(new, int)), name
