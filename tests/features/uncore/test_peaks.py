"""The peaks that traffic is compared with: links by their files, and reasons for unknown peaks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from knownmachines import known_machine
from model_truth import truth_of
from uncoretree import EIGHT, GRACE_INFO, INTEL_INFO, machine
from uncorewatch import SECONDS, UncoreWatch

from turbotui.cli import main
from turbotui.features.uncore.kinds import find_kinds
from turbotui.features.uncore.stacks import link_of
from turbotui.quantities.columns import PERCENT
from turbotui.quantities.uncore.kinds import PMUS, kind_of, metrics_of
from turbotui.simulated import SHAPES, ManualClock, simulated_host

PORT = {"class": "0x060400", "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}
SPEED = 16 * 8 * 128 / 130 / 8


def devices(root: Path, result: dict[str, dict[str, str]]) -> None:
    for name, files in result.items():
        folder = root / "sys/bus/pci/devices" / name
        folder.mkdir(parents=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(f"{text}\n")


@pytest.mark.parametrize(("pmu", "expected"), [
    ("dwc_rootport_3018", None),  # domains 0 and 2 have a 30:03.0, and old kernels say no domain
    ("dwc_rootport_3118", SPEED),
    ("dwc_rootport_23018", 2 * SPEED),
    ("dwc_rootport_24018", None),
])
def test_a_root_port_is_identified_by_its_address(tmp_path: Path, pmu: str, expected: float | None) -> None:
    wide = {**PORT, "current_link_width": "16"}
    devices(tmp_path, {"0000:30:03.0": PORT, "0002:30:03.0": wide, "0001:31:03.0": PORT})
    names = ("rx_pcie_tlp_data_payload", "tx_pcie_tlp_data_payload")
    files = {"cpumask": "0", **EIGHT, **{f"events/{name}": f"event={at}" for at, name in enumerate(names)}}
    result = machine(tmp_path, {pmu: files}, GRACE_INFO, ((0, 1),))
    (units,) = find_kinds(result)
    assert {"in used", "out used"} <= {metric.what for metric in units.starting}
    assert link_of(result.host, units.units[0], ()) == (None if expected is None else pytest.approx(expected))


def test_a_memory_device_on_cxl_is_below_its_pci_device(tmp_path: Path) -> None:
    devices(tmp_path, {"0000:30:00.0": {**PORT, "mem0/serial": "1"}, "0000:31:00.0": {**PORT, "mem1/serial": "2"},
                       "0000:32:00.0": PORT})
    names = ("s2m_drs_memdata", "m2s_rwd_memwr", "m2s_rwd_memwrptl")
    files = {"cpumask": "0", **EIGHT, **{f"events/{name}": f"event={at}" for at, name in enumerate(names)}}
    result = machine(tmp_path, {"cxl_pmu_mem1.0": files, "cxl_pmu_mem2.0": files}, INTEL_INFO, ((0, 1),))
    (units,) = find_kinds(result)
    assert [link_of(result.host, unit, ()) for unit in units.units] == [pytest.approx(SPEED), None]
    assert "used %" in {metric.id for metric in units.starting}


def test_memory_devices_on_cxl_tell_what_the_model_moved() -> None:
    shape = SHAPES["granite-2s"]
    watch = UncoreWatch(replace(shape, blocks=(replace(shape.blocks[0], cores=2, l3=2),)))
    units = watch.units_of("cxl_pmu_mem")
    watch.counters.show(units, units.metrics)
    marks: list[list[tuple[float, float]]] = []

    def moved() -> list[tuple[float, float]]:
        truths = [truth_of(watch.host).package_truth(package) for package in (0, 1)]
        return [(truth.read_bytes, truth.written_bytes) for truth in truths]

    frame = watch.frames(2, lambda _sampler, _number: marks.append(moved()))[-1]
    pairs = zip(marks[-1], moved(), strict=True)
    moves = [tuple((new - old) / SECONDS / 1e9 for old, new in zip(*pair, strict=True)) for pair in pairs]
    link = 32 * 8 * 128 / 130 / 8
    assert [row.label for row in units.rows] == ["Σ", "#0.0", "#1.0"]
    for row, behind in zip(units.rows, (moves, moves[:1], moves[1:]), strict=True):
        read, written = (0.01 * sum(item[way] for item in behind) for way in (0, 1))
        expected = {"rd bandwidth GB/s": read, "wr bandwidth GB/s": written, "row hits %": 70.0, "frequency GHz": 1.0,
                    "used %": 100 * max(read, written) / (link * len(behind)),
                    "peak bandwidth GB/s": link * len(behind), "rd requests M/s": read / 64 * 1000}
        result = {metric.id: watch.counters.reading(frame, units, row, metric).value for metric in units.metrics}
        assert result == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name not in ("big-8s", "guest")])
def test_every_panel_has_a_total_and_a_share_or_says_why_not(shape: str) -> None:
    for units in find_kinds(known_machine(simulated_host(shape, ManualClock()))):
        packages = {unit.package for unit in units.units}
        assert units.rows[0].units == units.units, "the first row is the whole machine"
        assert units.rows[0].is_machine == (len(packages) > 1)
        shares = any(metric.scale is PERCENT for metric in units.metrics)
        assert bool(units.no_peak) == (not shares and bool(units.metrics)), units.kind.id


def test_no_reason_stands_where_there_is_a_share() -> None:
    for name, values in PMUS.tables():
        if "no_peak" in values:
            assert kind_of(name).no_peak == values["no_peak"]
            assert not any(metric.scale is PERCENT for metric in metrics_of(name)), name


def test_the_reason_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["uncore", "--machine", "grace-2s", "-k", "cnvlink", "-i", "0.1", "-n", "1"]
    assert main(words) == 0
    assert "no share of a peak: no file says how fast the link runs" in capsys.readouterr().out
    assert main([*words, "--format", "json"]) == 0
    text = json.loads(capsys.readouterr().out.splitlines()[0])
    assert text["facts"]["nvidia_cnvlink_pmu"].endswith("no file says how fast the link runs")
