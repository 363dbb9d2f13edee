"""Every derived value of the uncore, read through all layers, compared with the model."""

from __future__ import annotations

import pytest
from model_truth import truth_of
from uncorewatch import SECONDS, UncoreWatch

from turbotui.quantities.uncore import metrics_of
from turbotui.quantities.uncore.kinds import PMUS
from turbotui.sampling.frame import Frame
from turbotui.simulated.pmus_amd import FAR_NS, NEAR_NS

ELSEWHERE = {
    *(("amd_umc", literal) for literal in ("of peak %", "bus use %")),
    *(("amd_df", f"xgmi {way} bandwidth GB/s") for way in ("in", "out")),
}
"""What test_uncore_amd.py holds against the model."""

METRICS = tuple(metric for pmu in PMUS.names() for metric in metrics_of(pmu)
                if not metric.chosen)

NS = SECONDS * 1e9
PORTS = {0: 11, 1: 10, -1: 21}
"""Root ports of Vera's packages and of the machine (docs/specs/nvidia.md 5), each of 16 lanes at 32 GT/s."""
SLC = 1.8  # system-level cache traffic of the model for each byte of its DRAM

CONSTANTS: dict[str, dict[str, float | None]] = {
    # kind -> metric -> what the model is made of (nvidia_pmus.toml)
    "nvidia_ucf_pmu": {"frequency GHz": 2.5, "slc rd hits %": 100 * 0.8 / 1.8},
    "nvidia_cmem_latency_pmu": {"frequency GHz": 1.2, "rd latency cycles": 174.0, "rd latency ns": 145.0},
    "nvidia_pcie_pmu": {"frequency GHz": 1.95, "rd latency cycles": 1248.0, "rd latency ns": 640.0},
    "nvidia_pcie_tgt_pmu": {"frequency GHz": 1.04},
    "nvidia_nvlink_c2c_pmu": {
        "frequency GHz": 1.1,
        **{
            f"{way} latency {unit}": ns * (1.1 if unit == "cycles" else 1.0)
            for way, ns in (("in_rd", 410.0), ("in_wr", 300.0), ("out_rd", 520.0), ("out_wr", 350.0))
            for unit in ("cycles", "ns")
        },
    },
    "nvidia_nvclink_pmu": {
        "frequency GHz": 1.1,
        **{
            f"{way} latency {unit}": ns * (1.1 if unit == "cycles" else 1.0)
            for way, ns in (("in_rd", 410.0), ("out_rd", 520.0))
            for unit in ("cycles", "ns")
        },
    },
    "nvidia_nvdlink_pmu": {"frequency GHz": 1.1, "in_rd latency cycles": None, "in_rd latency ns": None,
                           "in_rd requests M/s": 0.0},
    "nvidia_scf_pmu": {
        "frequency GHz": 3.0,
        "scf refills %": 100 / 1.8,
        **{
            f"{way} rd latency {unit}": ns * (3.0 if unit == "cycles" else 1.0)
            for way, ns in (("cmem", 125.0), ("gmem", 480.0), ("remote", 260.0), ("skt0", 140.0), ("skt1", 140.0))
            for unit in ("cycles", "ns")
        },
        **{f"{way} rd latency {unit}": None for way in ("skt2", "skt3") for unit in ("cycles", "ns")},
    },
    **{
        kind: {
            "frequency GHz": hertz,
            **{
                f"rd {way} latency {unit}": 700.0 * (hertz if unit == "cycles" else 1.0)
                for way in ("loc", "rem")
                for unit in ("cycles", "ns")
            },
        }
        for kind, hertz in (
            ("nvidia_grace_pcie", 1.9),
            ("nvidia_nvlink_c2c0_pmu", 2.0),
            ("nvidia_nvlink_c2c1_pmu", 2.0),
            ("nvidia_cnvlink_pmu", 2.0),
        )
    },
    "amd_umc": {"frequency GHz": 3.0},
    "amd_l3": {"miss latency ns": 0.9 * NEAR_NS + 0.1 * FAR_NS},
}

Counted = tuple[str, float, tuple[float, float] | None]
TRAFFIC: dict[str, dict[str, Counted]] = {
    # kind -> metric -> (what the model counts in bytes, share that is counted, divisor: None for GB/s, else
    # bytes a request and GHz)
    "nvidia_ucf_pmu": {
        "slc rd bandwidth GB/s": ("read_bytes", SLC, None),
        "slc wr bandwidth GB/s": ("written_bytes", SLC, None),
        "mem rd bandwidth GB/s": ("read_bytes", 1.0, None),
        "mem wr bandwidth GB/s": ("written_bytes", 1.0, None),
        "slc rd requests 1/cycle": ("read_bytes", SLC, (64, 2.5)),
        "slc wr requests 1/cycle": ("written_bytes", SLC, (64, 2.5)),
        "mem rd requests 1/cycle": ("read_bytes", 1.0, (64, 2.5)),
        "mem wr requests 1/cycle": ("written_bytes", 1.0, (64, 2.5)),
    },
    "nvidia_cmem_latency_pmu": {"rd bandwidth GB/s": ("read_bytes", 1.0, None)},
    "nvidia_nvlink_c2c_pmu": {  # requests / ns * 1000 of 32 bytes
        "in_rd requests M/s": ("read_bytes", 0.08 / 32 * 1000, None),
        "in_wr requests M/s": ("written_bytes", 0.06 / 32 * 1000, None),
        "out_rd requests M/s": ("read_bytes", 0.03 / 32 * 1000, None),
        "out_wr requests M/s": ("written_bytes", 0.02 / 32 * 1000, None),
    },
    "nvidia_nvclink_pmu": {
        "in_rd requests M/s": ("read_bytes", 0.08 / 32 * 1000, None),
        "out_rd requests M/s": ("read_bytes", 0.03 / 32 * 1000, None),
    },
    "nvidia_scf_pmu": {
        **{f"{way} wr bandwidth GB/s": ("written_bytes", share, None)
           for way, share in (("cmem", 1.0), ("gmem", 0.04), ("remote", 0.1))},
        **{f"{way} rd requests 1/cycle": ("read_bytes", share, (64, 3.0))
           for way, share in (("cmem", 1.0), ("gmem", 0.04), ("remote", 0.1))},
    },
    **{
        kind: {
            f"{way} {side} {word}": (
                "read_bytes" if way == "rd" else "written_bytes",
                (read if way == "rd" else write) * (remote if side == "rem" else 1 - remote),
                None if word == "bandwidth GB/s" else (64, 2.0),
            )
            for way in ("rd", "wr")
            for side in ("loc", "rem")
            for word in ("bandwidth GB/s", "requests 1/cycle")
        }
        for kind, read, write, remote in (
            ("nvidia_nvlink_c2c0_pmu", 0.05, 0.04, 0.2),
            ("nvidia_nvlink_c2c1_pmu", 0.01, 0.01, 0.2),
            ("nvidia_cnvlink_pmu", 0.06, 0.05, 0.5),
        )
    },
    "amd_umc": {"rd bandwidth GB/s": ("read_bytes", 1.0, None), "wr bandwidth GB/s": ("written_bytes", 1.0, None)},
    "amd_df": {f"dma {way} bandwidth GB/s": (f"io_{way}_bytes", 1.0, None) for way in ("rd", "wr")},
    "amd_l3": {
        "lookups M/s": ("lookups", 1000.0, None),  # events / ns * 1000
        "hits %": ("hits", 100.0, (1.0, 1 / NS)),
        "miss bandwidth GB/s": ("misses", 64.0, None),
    },
    "uncore_imc_free_running": {
        "rd bandwidth GB/s": ("read_bytes", 1.0, None),
        "wr bandwidth GB/s": ("written_bytes", 1.0, None),
        "all bandwidth GB/s": ("all_bytes", 1.0, None),
    },
}  # fmt: skip
PCI: dict[str, dict[str, Counted]] = {
    # kind -> metric -> (what the model counts in bytes, share, divisor)
    "nvidia_pcie_pmu": {
        f"{way} {word}": (f"io_{way}_bytes", 1.0, None if word == "bandwidth GB/s" else (128, 1.95))
        for way in ("rd", "wr")
        for word in ("bandwidth GB/s", "requests 1/cycle")
    },
    "nvidia_pcie_tgt_pmu": {
        f"{way} {word}": (f"io_{way}_bytes", share, None if word == "bandwidth GB/s" else (8, 1.04))
        for way, share in (("rd", 0.02), ("wr", 0.03))
        for word in ("bandwidth GB/s", "requests 1/cycle")
    },
    "nvidia_grace_pcie": {
        f"{way} {side} {word}": (
            f"io_{way}_bytes", 0.1 if side == "rem" else 0.9, None if word == "bandwidth GB/s" else (64, 1.9)
        )
        for way in ("rd", "wr")
        for side in ("loc", "rem")
        for word in ("bandwidth GB/s", "requests 1/cycle")
    },
}  # fmt: skip


def moved(watch: UncoreWatch) -> list[dict[str, float]]:
    """Bytes so far by package; the last are the machine's, whose rows have the package -1."""
    model, places = truth_of(watch.host), watch.machine.topology.places
    packages = range(watch.host.shape.packages)
    truths = [model.package_truth(package) for package in packages]
    cores = [[model.truth(cpu) for cpu, place in places.items() if place.package == package] for package in packages]
    result = [
        {
            "lookups": sum(cpu.cache_references for cpu in cpus),
            "misses": sum(cpu.cache_misses for cpu in cpus),
            "hits": 0.0,
            "all_bytes": truth.read_bytes + truth.written_bytes,
            "read_bytes": truth.read_bytes,
            "written_bytes": truth.written_bytes,
            "io_rd_bytes": truth.io_read_bytes,
            "io_wr_bytes": truth.io_written_bytes,
        }
        for truth, cpus in zip(truths, cores, strict=True)
    ]
    return [*result, {name: sum(item[name] for item in result) for name in result[0]}]


@pytest.mark.parametrize("shape", ["vera-2s", "grace-2s", "turin-2s", "laptop", "laptop-old"])
def test_every_metric(shape: str) -> None:
    watch = UncoreWatch(shape)
    marks: list[list[dict[str, float]]] = []
    frame: Frame = watch.frames(2, lambda _sampler, _number: marks.append(moved(watch)))[-1]
    before, after = marks[-1], moved(watch)
    checked: set[tuple[str, str]] = set()
    for units in watch.counters.kinds:
        kind = units.kind.id
        for row in units.rows:
            if not row.is_sum and len(units.find(row.package)) > 1:
                continue  # parts of a sum are checked through it
            for metric in watch.counters.shown(units):
                if (kind, metric.id) in ELSEWHERE:
                    checked.add((kind, metric.id))
                    continue
                reading = watch.counters.reading(frame, units, row, metric)
                expected: float | None
                if (kind, metric.id) == ("uncore_imc_free_running", "used %"):
                    both = (after[row.package]["all_bytes"] - before[row.package]["all_bytes"]) / NS
                    expected = 100 * both / 38.4 if shape == "laptop-old" else None  # two channels of DDR4-2400
                elif (kind, metric.id) == ("nvidia_pcie_pmu", "used %"):
                    new, old = after[row.package], before[row.package]
                    most = max(new[way] - old[way] for way in ("io_rd_bytes", "io_wr_bytes"))
                    expected = 100 * most / NS / (PORTS[row.package] * 32 * 16 * 128 / 130 / 8)
                elif metric.id in CONSTANTS.get(kind, {}):
                    expected = CONSTANTS[kind][metric.id]
                else:
                    name, share, divisor = {**TRAFFIC.get(kind, {}), **PCI.get(kind, {})}[metric.id]
                    bytes_moved = (after[row.package][name] - before[row.package][name]) * share
                    if name == "hits":
                        new, old = after[row.package], before[row.package]
                        lost, asked = (new[literal] - old[literal] for literal in ("misses", "lookups"))
                        bytes_moved = share * (1 - lost / asked)
                    expected = bytes_moved / NS
                    if divisor is not None:
                        expected = bytes_moved / divisor[0] / (divisor[1] * NS)
                    assert expected > 0
                if expected is None:
                    assert reading.value is None, metric
                    assert reading.why is not None
                else:
                    assert reading.value == pytest.approx(expected, rel=2e-3), (kind, row.label, metric.id)
                checked.add((kind, metric.id))
    kinds = {units.kind.id for units in watch.counters.kinds}
    assert kinds
    offered = {(units.kind.id, item.id) for units in watch.counters.kinds for item in units.starting}
    assert checked == offered
    if shape in ("vera-2s", "grace-2s"):  # every row of the tables is there, but for PMUs that the kernel cannot name
        assert offered == {(item.pmu, item.id) for item in METRICS if item.pmu in kinds}
