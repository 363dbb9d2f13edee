"""Intel servers: every derived value through all layers, compared with the model, and sums that must agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from model_truth import truth_of
from uncorewatch import SECONDS, UncoreWatch

from turbotui.features.uncore.counters import Reading
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.features.uncore.traffic import find_edges
from turbotui.quantities.uncore import EdgeKind, Metric
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES
from turbotui.simulated.shapes import Block

NS = SECONDS * 1e9
REMOTE = 0.2  # of a package's memory traffic, where there are two packages
DCLK = {"sapphire-2s": 2.4, "icelake-2s": 1.6, "cascade-2s": 2.933 / 2, "forest-1s": 1.6, "granite-2s": 2.2,
        "server-psu": 2.4, "snow-ridge": 2.933 / 2, "grand-ridge": 1.4}
WIDTH = {"sapphire-2s": 16, "icelake-2s": 16, "cascade-2s": 16, "forest-1s": 32, "granite-2s": 32, "server-psu": 16,
         "snow-ridge": 16, "grand-ridge": 32}
"""Bytes in a cycle of DCLK."""
# GHz, slots a cycle, links
LINK = {"sapphire-2s": (2.0, 3.0, 3), "icelake-2s": (1.4, 2.5, 3), "cascade-2s": (1.3, 2.5, 3),
        "granite-2s": (3.0, 3.0, 6)}
CHANNELS = {"granite-2s": 12, "cascade-2s": 6, "snow-ridge": 2, "grand-ridge": 2}  # of a package; 8 of the others
NO_CXL = ("icelake-2s", "cascade-2s", "snow-ridge", "grand-ridge")
PORTS = {"cascade-2s": (0.6, 0.0, 0.3, 0.1)}
RIDGES = {
    # processors of base stations, with one package and few channels
    name: replace(SHAPES["forest-1s"], name=name, model=model, blocks=(Block(24, 0, 4, 24),), memory_channels=2,
                  memory_mts=rate)
    for name, model, rate in (("snow-ridge", 0x86, 2933), ("grand-ridge", 0xB6, 5600))
}
PCIE = 16.0 * (16 + 4 + 4) * 128 / 130 / 8  # GB/s of a package's three devices


class UncoreInterval:
    """An interval of a machine with every derived value counted, and the bytes that the model moved."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.watch = UncoreWatch(RIDGES.get(shape, shape), whole=shape == "sapphire-2s")  # sums of 112 units
        kinds = {units.kind.id: units for units in self.watch.counters.kinds}
        for units in kinds.values():
            self.watch.counters.show(units, units.metrics)
        marks: list[list[tuple[float, float, float, float]]] = []
        self.frame: Frame = self.watch.frames(2, lambda _sampler, _number: marks.append(self.counted()))[-1]
        pairs = zip(marks[-1], self.counted(), strict=True)
        moved = [tuple((new - old) / NS for old, new in zip(before, after, strict=True)) for before, after in pairs]
        self.read, self.written, self.io_read, self.io_written = (list(item) for item in zip(*moved, strict=True))

    def counted(self) -> list[tuple[float, float, float, float]]:
        model = truth_of(self.watch.host)
        truths = [model.package_truth(package) for package in range(self.watch.host.shape.packages)]
        return [(item.read_bytes, item.written_bytes, item.io_read_bytes, item.io_written_bytes) for item in truths]

    def reading(self, kind: str, package: int, metric: str) -> Reading:
        units = self.watch.units_of(kind)
        row = next(row for row in units.rows if row.package == package and row.parent is None and not row.is_machine)
        column = next(item for item in units.metrics if item.id == metric)
        return self.watch.counters.reading(self.frame, units, row, column)


@pytest.fixture(scope="module", params=list(DCLK))
def watched(request: pytest.FixtureRequest) -> UncoreInterval:
    return UncoreInterval(request.param)


def expected(item: UncoreInterval, package: int) -> dict[str, dict[str, float | None]]:
    """Return the expected value of each metric of each kind of PMU for a package."""
    other = 1 - package
    several = len(item.read) > 1
    share = REMOTE if several else 0.0
    read, written = item.read[package], item.written[package]
    near, served, served_writes = read * (1 - share), read * share, written * share
    far = item.read[other] * share if several else 0.0
    far_writes = item.written[other] * share if several else 0.0
    dclk, width = DCLK[item.shape], WIDTH[item.shape]
    mesh = item.reading("uncore_cha", package, "frequency GHz").value or 0.0
    assert 0.8 <= mesh <= 2.2  # between what the model's mesh runs at; latencies are made of cycles of it
    late = {"near": 190 / mesh, "far": 320 / mesh, "mean": (near * 190 + far * 320) / (near + far) / mesh}
    io_read, io_written = item.io_read[package], item.io_written[package]
    peak = CHANNELS.get(item.shape, 8) * width * dclk
    persistent = 0.02 if item.shape == "icelake-2s" else 0.0
    asked = (io_read + io_written) / 64 * 1000
    result: dict[str, dict[str, float | None]] = {
        "uncore_imc": {
            "rd bandwidth GB/s": read, "wr bandwidth GB/s": written, "used %": 100 * (read + written) / peak,
            "row hits %": 65.0, "row conflicts %": 15.0, "row empties %": 20.0, "peak bandwidth GB/s": peak,
            "frequency GHz": dclk, "self-refresh %": 0.0, "throttled %": 0.3,
            "rapl throttled %": 0.2, "heat throttled %": 0.1, "pmem rd bandwidth GB/s": persistent * read,
            "pmem wr bandwidth GB/s": persistent * written, "pmem rd latency ns": 400 / dclk if persistent else None,
            "near memory hits %": None, "clockticks GHz": dclk / 2,
            **{f"{way} queue {part}latency ns": cycles / dclk for way, cycles in (("rd", 36), ("wr", 90))
               for part in ("", "0 ", "1 ")},
        },
        "uncore_cha": {
            "rd loc bandwidth GB/s": 0.8 * near, "rd rem bandwidth GB/s": 0.8 * far,
            "rd bandwidth GB/s": 0.8 * near, "home rd bandwidth GB/s": read, "home wr bandwidth GB/s": written,
            "rem reads %": 100 * far / (near + far), "llc hits %": 60.0, "miss latency ns": late["mean"],
            "loc latency ns": late["near"], "rem latency ns": late["far"],
            "ddio rd bandwidth GB/s": io_read, "ddio wr bandwidth GB/s": io_written, "ddio hits %": 80.0,
            "ddio rd hits %": 70.0, "data hits %": 60.0, "frequency GHz": mesh,
            "home rd loc bandwidth GB/s": near, "home rd rem bandwidth GB/s": served,
            "home wr loc bandwidth GB/s": written - served_writes, "home wr rem bandwidth GB/s": served_writes,
            **{f"{name}{part} M/s": amount * share / 64 * 1000
               for name, amount, missed in (("pcirdcur", io_read, 0.3), ("itom", 0.9 * io_written, 0.2),
                                            ("itomcachenear", 0.1 * io_written, 0.2), ("rfo", 0.0, 0.0))
               for part, share in (("", 1.0), (" misses", missed), (" hits", 1 - missed))},
            "ucrdf M/s": 0.02 * io_read / 8 * 1000, "wil M/s": 0.03 * io_written / 8 * 1000, "wcil M/s": 0.0,
            "wcilf M/s": 0.0, "pmem latency ns": 560 / mesh if persistent else None,
            "cxl rd bandwidth GB/s": 0.008 * read, "cxl latency ns": 420 / mesh,
        },
        "uncore_iio": {
            "used %": 100 * max(io_read, io_written) / PCIE, "mem rd bandwidth GB/s": io_read,
            "mem wr bandwidth GB/s": io_written, "mmio rd bandwidth GB/s": 0.02 * io_read,
            "mmio wr bandwidth GB/s": 0.03 * io_written, "frequency GHz": 1.0, "iotlb lookups M/s": asked,
            "iotlb misses M/s": 0.04 * asked, "iotlb hits %": 96.0, "context hits %": 95.0,
            "iommu memory accesses M/s": 0.12 * asked, "peak bandwidth GB/s": PCIE,
            **{f"iotlb {page} hits M/s": 0.96 * part * asked for page, part in (("4k", 0.2), ("2m", 0.7), ("1g", 0.1))},
            **{f"{way} port {port} bandwidth GB/s": part * amount
               for way, amount in (("rd", io_read), ("wr", io_written))
               for port, part in enumerate(PORTS.get(item.shape, (0.6, 0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.0)))},
            "vt-d hits M/s": 0.96 * asked, "vt-d iotlb misses M/s": 0.04 * asked,
            "vt-d context misses M/s": 0.002 * asked, "vt-d memory reads M/s": 0.12 * asked,
            **{f"vt-d l{level} misses M/s": 0.04 * part * asked for level, part in ((1, 0.5), (2, 0.3), (3, 0.1))},
        },
    }  # fmt: skip
    if item.shape == "cascade-2s":
        result["uncore_cha"] |= skylake(item, package)
    if item.shape not in NO_CXL:
        result["uncore_cxlcm"] = {"rd bandwidth GB/s": 0.01 * read}
        result["uncore_cxldp"] = {"wr bandwidth GB/s": 0.01 * written}
    if item.shape == "server-psu":  # HBM of 32 channels at 3.2 GT/s, which has three of four lines that are asked for
        most = 32 * 16 * 3.2
        result["uncore_hbm"] = {
            "rd bandwidth GB/s": 4 * read, "wr bandwidth GB/s": 4 * written, "used %": 400 * (read + written) / most,
            "row hits %": 65.0, "peak bandwidth GB/s": most, "frequency GHz": 1.6, "rd queue latency ns": 36 / 1.6,
            "wr queue latency ns": 90 / 1.6,
        }  # fmt: skip
    result["uncore_b2cmi" if item.shape in ("forest-1s", "granite-2s", "grand-ridge") else "uncore_m2m"] = {
        "near memory hits %": 75.0 if item.shape == "server-psu" else None,
        "rd bandwidth GB/s": read, "wr bandwidth GB/s": written, "dir lookups M/s": read / 64 * 1000,
        "dir updates M/s": 0.1 * written / 64 * 1000, "dir snooped %": 5.0, "frequency GHz": mesh,
    }  # fmt: skip
    if several:
        hertz, slots, links = LINK[item.shape]
        sent, heard, most = served + far_writes, far + served_writes, links * slots * hertz * 64 / 9
        result["uncore_upi"] = {
            "tx data bandwidth GB/s": sent, "rx data bandwidth GB/s": heard, "tx other bandwidth GB/s": sent / 4,
            "rx other bandwidth GB/s": heard / 4, "tx used %": 125 * sent / most, "rx used %": 125 * heard / most,
            "peak bandwidth GB/s": most, "rate GT/s": 8 * hertz, "frequency GHz": hertz,
        }  # fmt: skip
    return result


def skylake(interval: UncoreInterval, package: int) -> dict[str, float | None]:
    """Return the expected values that differ on Skylake's CHAs, whose home agents tell local from remote reads.

    Devices read by RdCur, and write whole lines by ItoM, parts of lines by RFO, which pcm-pcie takes for reads too.
    """
    io_read, io_written = interval.io_read[package], interval.io_written[package]
    near, served = interval.read[package] * (1 - REMOTE), interval.read[package] * REMOTE
    parts = {
        # in lines, and accesses of 8 bytes of cores to devices, none of which is in a cache
        "pcirdcur": (io_read / 64, 0.3), "itom": (0.9 * io_written / 64, 0.2), "rfo": (0.1 * io_written / 64, 0.2),
        "crd": (0.0, 0.0), "drd": (0.0, 0.0), "prd": (0.02 * io_read / 8, 1.0), "wil": (0.03 * io_written / 8, 1.0),
    }  # fmt: skip
    return {
        "rem reads %": 100 * served / (near + served), "pcie wr bandwidth GB/s": io_written,
        "pcie rd bandwidth GB/s": io_read + 0.1 * io_written,
        **{f"{name}{word} M/s": amount * share * 1000 for name, (amount, missed) in parts.items()
           for word, share in (("", 1.0), (" misses", missed), (" hits", 1 - missed))},
    }  # fmt: skip


UNCOUNTED = {"prefetch hits %", "dram latency ns"}
"""What the model has nothing of."""


def test_every_value_is_what_the_model_moved(watched: UncoreInterval) -> None:
    for package in range(len(watched.read)):
        for kind, values in expected(watched, package).items():
            offered = {item.id for item in watched.watch.units_of(kind).metrics}
            assert offered - values.keys() <= UNCOUNTED
            for metric in offered & values.keys():
                reading = watched.reading(kind, package, metric)
                if values[metric] is None:
                    assert reading.value is None, (kind, package, metric)
                    continue
                if metric in ("rem latency ns", "rem reads %") and len(watched.read) == 1:
                    continue  # nothing is remote
                assert reading.value == pytest.approx(values[metric], rel=5e-3, abs=1e-9), (kind, package, metric)


def test_totals_add_up(watched: UncoreInterval) -> None:
    """Channels, the homes of the CHAs, the links and the requesters tell of the same bytes."""
    packages = range(len(watched.read))

    def total(kind: str, metric: str) -> float:
        return sum(watched.reading(kind, package, metric).value or 0.0 for package in packages)

    channels = total("uncore_imc", "rd bandwidth GB/s")
    wheres = ("",) if watched.shape in RIDGES else ("loc ", "rem ")
    homes = [total("uncore_cha", f"home rd {where}bandwidth GB/s") for where in wheres]
    assert sum(homes) == pytest.approx(channels, rel=5e-3)
    asked = [total("uncore_cha", f"rd {where}bandwidth GB/s") for where in wheres]
    for way in ("rd", "wr"):
        devices = total("uncore_iio", f"mem {way} bandwidth GB/s")
        assert total("uncore_cha", f"ddio {way} bandwidth GB/s") == pytest.approx(devices, rel=5e-3)
    assert asked == pytest.approx([0.8 * home for home in homes], rel=5e-3)  # demand and L2's prefetches
    if len(watched.read) > 1:
        writes = total("uncore_cha", "home wr rem bandwidth GB/s")
        for way in ("tx", "rx"):
            assert total("uncore_upi", f"{way} data bandwidth GB/s") == pytest.approx(homes[1] + writes, rel=5e-3)


def small(tiers: str) -> UncoreWatch:
    shape = SHAPES["icelake-2s"]
    return UncoreWatch(replace(shape, packages=1, blocks=(replace(shape.blocks[0], cores=2, l3=2),), tiers=tiers))


def shown(watch: UncoreWatch, kind: str) -> set[str]:
    return {metric.what for metric in watch.units_of(kind).starting}


@pytest.mark.parametrize(("tiers", "imc", "cha", "mesh"), [
    ("", set(), set(), set()),
    ("pmem", {"pmem rd bandwidth", "pmem wr bandwidth", "pmem rd latency"}, {"pmem latency"}, set()),
    ("2lm", {"pmem rd bandwidth", "pmem wr bandwidth", "pmem rd latency", "near memory hits"}, {"pmem latency"},
     {"near memory hits"}),
    ("hbm", set(), set(), {"near memory hits"}),
])
def test_memory_that_few_machines_have_is_shown_where_there_is_some(tiers: str, imc: set[str], cha: set[str],
                                                                    mesh: set[str]) -> None:
    watch = small(tiers)
    for kind, expected in (("uncore_imc", imc), ("uncore_cha", cha), ("uncore_m2m", mesh)):
        assert {item for item in shown(watch, kind) if item.startswith(("pmem", "near"))} == expected, kind
        offered = {metric.what for metric in watch.units_of(kind).metrics}
        assert offered >= shown(small("2lm"), kind), "the others can be chosen"
    edges = {edge.end for edge in find_edges(watch.machine, watch.counters.kinds) if edge.place.kind is EdgeKind.MEMORY}
    assert edges == {"memory 0", *(["pmem 0"] if imc else []), *(["HBM 0"] if tiers == "hbm" else [])}


def test_memory_mode() -> None:
    watch = small("2lm")
    frame = watch.frames(1)[-1]
    for kind in ("uncore_imc", "uncore_m2m"):
        units = watch.units_of(kind)
        metrics = {metric.what: metric for metric in units.starting}

        def value(what: str, metrics: dict[str, Metric] = metrics, units: UncoreUnits = units) -> float:
            return watch.counters.reading(frame, units, units.rows[0], metrics[what]).value or 0.0

        assert value("near memory hits") == pytest.approx(75.0)
        if kind == "uncore_imc":
            assert value("pmem rd bandwidth") == pytest.approx(value("rd bandwidth") / 4, rel=5e-3)


def test_a_share_of_the_machine_is_of_all_its_units(watched: UncoreInterval) -> None:
    units = watched.watch.units_of("uncore_imc")
    used = next(metric for metric in units.metrics if metric.id == "used %")
    rows = [row for row in units.rows if not row.is_sum]
    shares = [watched.watch.counters.reading(watched.frame, units, row, used).value or 0.0 for row in rows]
    machine = watched.watch.counters.reading(watched.frame, units, units.rows[0], used)
    assert machine.value == pytest.approx(sum(shares) / len(shares), rel=5e-3)
    assert machine.inputs["units"] == len(rows)


@pytest.mark.parametrize(("shape", "shares"), [("icelake-2s", (0.6, 0.0, 0.3, 0.0, 0.1, 0.0, 0.0, 0.0)),
                                               ("cascade-2s", (0.6, 0.0, 0.3, 0.1))])
def test_counters_that_always_run(shape: str, shares: tuple[float, ...]) -> None:
    """The kernel's uncore_imc_free_running and uncore_iio_free_running, which nobody has to program."""
    watched = UncoreInterval(shape)
    kinds = {units.kind.id: units for units in watched.watch.counters.kinds}

    def value(kind: str, metric: str) -> float | None:
        units = kinds[kind]
        (column,) = [item for item in units.metrics if item.id == metric]
        return watched.watch.counters.reading(watched.frame, units, units.rows[0], column).value

    ports = kinds["uncore_iio_free_running"]
    assert len(ports.units) == len(kinds["uncore_iio"].units)
    for port, share in enumerate(shares):
        expected = sum(watched.io_written) * share
        assert value("uncore_iio_free_running", f"in port {port} GB/s") == pytest.approx(expected, rel=2e-3)
    assert value("uncore_iio_free_running", "frequency GHz") == pytest.approx(1.0)
    if shape == "cascade-2s":  # its memory controllers have none
        assert "uncore_imc_free_running" not in kinds
        return
    for name, moved in (("rd", sum(watched.read)), ("wr", sum(watched.written))):
        assert value("uncore_imc_free_running", f"{name} bandwidth GB/s") == pytest.approx(moved, rel=2e-3)
        assert value("uncore_imc_free_running", f"pmem {name} bandwidth GB/s") == pytest.approx(0.02 * moved, rel=2e-3)
    assert value("uncore_imc_free_running", "frequency GHz") == pytest.approx(DCLK[shape])
    edges = find_edges(watched.watch.machine, watched.watch.counters.kinds)
    assert not any(edge.units.kind.id == "uncore_imc_free_running" for edge in edges), "uncore_imc counts the same"
