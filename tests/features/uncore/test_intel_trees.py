"""PMUs of Intel servers as files with the kernel's names and formats: offered events and their encodings."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path

import pytest
from uncoretree import INTEL_INFO, machine

from turbotui.events.encoder import EventEncoder
from turbotui.events.uncore.stacks import link_speed, read_stack
from turbotui.features.uncore.counters import bundles_of
from turbotui.features.uncore.kinds import UncoreUnits, find_kinds
from turbotui.features.uncore.stacks import StackMap
from turbotui.machine.machine import Machine
from turbotui.quantities.facts import FactFile
from turbotui.quantities.uncore import filter_of
from turbotui.quantities.uncore.kinds import INTEL, PMUS, metrics_of

PLAIN = {"event": "config:0-7", "umask": "config:8-15", "edge": "config:18", "inv": "config:23",
         "thresh": "config:24-31"}
SKX_CHA = {
    **PLAIN, "tid_en": "config:19", "filter_tid": "config1:0-8", "filter_state": "config1:17-26",
    "filter_rem": "config1:32", "filter_loc": "config1:33", "filter_nm": "config1:36", "filter_all_op": "config1:35",
    "filter_not_nm": "config1:37", "filter_opc0": "config1:41-50", "filter_opc1": "config1:51-60",
    "filter_nc": "config1:62", "filter_isoc": "config1:63",
}  # fmt: skip
SKX_IIO = {**PLAIN, "thresh": "config:24-35", "ch_mask": "config:36-43", "fc_mask": "config:44-46"}
SNR_IIO = {**PLAIN, "thresh": "config:24-35", "ch_mask": "config:36-47", "fc_mask": "config:48-50"}


def wide(bits: str) -> dict[str, str]:
    return {**PLAIN, "umask": bits}


SKX_UPI = wide("config:8-15,32-43,45-55")
RAW = wide("config:8-15,32-55")
FORMATS = {
    # processor -> PMU -> format (kernel arch/x86/events/intel/uncore_snbep.c)
    0x55: {"cha": SKX_CHA, "upi": SKX_UPI, "iio": SKX_IIO, "m2m": SKX_UPI, "imc": PLAIN},
    0x6A: {"cha": wide("config:8-15,32-57"), "upi": RAW, "iio": SNR_IIO, "m2m": wide("config:8-15,32-39"),
           "imc": PLAIN},
    0x8F: {"cha": wide("config:8-15,32-63"), "upi": RAW, "iio": SNR_IIO, "m2m": RAW, "imc": RAW, "hbm": RAW,
           "cxlcm": RAW, "cxldp": RAW},
    0xAD: {"cha": wide("config:8-15,32-63"), "upi": RAW, "iio": SNR_IIO, "b2cmi": RAW, "imc": RAW, "cxlcm": RAW,
           "cxldp": RAW},
}  # fmt: skip
FORMATS[0xDD] = FORMATS[0xAD]
FORMATS[0x86] = {"cha": wide("config:8-15,32-57"), "iio": SNR_IIO, "m2m": wide("config:8-15,32-39"), "imc": PLAIN}
FORMATS[0xB6] = {kind: FORMATS[0xAD][kind] for kind in ("cha", "iio", "b2cmi", "imc")}
BUSES = {"die0": "0000:40", "die1": "0000:c0"}
LINKS = {"die0": "upi_1,die_1", "die1": "upi_0,die_0"}
IMC = {"clockticks": "event=0x00,umask=0x00", "cas_count_read": "event=0x04,umask=0x03",
       "cas_count_write": "event=0x04,umask=0x0c"}


def tree(root: Path, model: int) -> Machine:
    pmus: dict[str, dict[str, str]] = {}
    for name, formats in FORMATS[model].items():
        files = {"cpumask": "0,2", **{f"format/{field}": bits for field, bits in formats.items()}}
        files |= BUSES if name == "iio" else LINKS if name == "upi" else {}
        files |= {f"events/{event}": terms for event, terms in IMC.items()} if name == "imc" else {}
        pmus |= {f"uncore_{name}_{number}": files for number in (0, 1)}
    return machine(root, pmus, INTEL_INFO.replace("143", str(model)), ((0, 1), (2, 3)))


def of(result: Machine, kind: str) -> UncoreUnits:
    return next(units for units in find_kinds(result) if units.kind.id == kind)


@pytest.mark.parametrize(
    ("model", "kind", "event", "words"),
    [
        (0x55, "cha", "UNC_CHA_TOR_OCCUPANCY.IA_MISS_DRD", (0x2136, 0x40433 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS", (0x2135, 0x3B << 32)),
        (0x55, "cha", "UNC_CHA_REQUESTS.READS_REMOTE", (0x250, 0)),
        (0x55, "cha", "UNC_CHA_CLOCKTICKS", (0x0, 0)),
        (0x55, "imc", "UNC_M_PRE_COUNT.PAGE_MISS", (0x102, 0)),
        (0x55, "iio", "UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.ALL_PARTS", (0x70F000000483, 0)),
        (0x55, "iio", "UNC_IIO_TXN_REQ_OF_CPU.MEM_READ.VTD1", (0x720000000484, 0)),
        (0x55, "iio", "UNC_IIO_VTD_ACCESS.TLB_MISS", (0x2041, 0)),
        (0x55, "m2m", "UNC_M2M_IMC_WRITES.ALL", (0x1038, 0)),
        (0x6A, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_LOCAL", (0xC816FE00000135, 0)),
        (0x6A, "imc", "UNC_M_ACT_COUNT.ALL", (0xB01, 0)),
        (0x6A, "m2m", "UNC_M2M_IMC_WRITES.ALL", (0x1C00001038, 0)),
        (0x6A, "upi", "UNC_UPI_TxL_FLITS.NON_DATA", (0x9702, 0)),
        (0x8F, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_CXL_ACC", (0x10C8178200000135, 0)),
        (0x8F, "cha", "UNC_CHA_TOR_OCCUPANCY.IA_MISS_DRD", (0xC817FE00000136, 0)),
        (0x8F, "imc", "UNC_M_CLOCKTICKS", (0x101, 0)),
        (0x8F, "m2m", "UNC_M2M_IMC_READS.ALL", (0x300000424, 0)),
        (0x8F, "hbm", "UNC_MCHBM_CAS_COUNT.RD", (0xCF05, 0)),
        (0x8F, "cxldp", "UNC_CXLDP_TxC_AGF_INSERTS.M2S_DATA", (0x2002, 0)),
        (0x8F, "iio", "UNC_IIO_DATA_REQ_BY_CPU.MEM_WRITE.ALL_PARTS", (0x70FF0000001C0, 0)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_MISS_RDCUR", (0x2435, 0x43C33 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_HIT_ITOM", (0x1435, 0x49033 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_MISS_RFO", (0x2435, 0x40033 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_HIT_CRD", (0x1435, 0x40233 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_MISS_DRD", (0x2435, 0x40433 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_MISS_CRD_DRD", (0x2435, (0x40233 | 0x202 << 19) << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IO_HIT_ITOM_RFO", (0x1435, (0x49033 | 0x200 << 19) << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_PRD", (0x2135, 0x40040E33 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_WIL", (0x2135, 0x40041E33 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_LOCAL", (0x2135, 0x40432 << 32)),
        (0x55, "cha", "UNC_CHA_TOR_OCCUPANCY.IA_MISS_DRD_REMOTE", (0x2136, 0x40431 << 32)),
        (0x86, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_OPT_PREF", (0xC8A7FE00000135, 0)),
        (0x86, "cha", "UNC_CHA_REQUESTS.READS", (0x350, 0)),
        (0x86, "imc", "UNC_M_RPQ_INSERTS.PCH0_PCH1", (0x310, 0)),
        (0x86, "m2m", "UNC_M2M_IMC_READS.ALL", (0x700000437, 0)),
        (0x86, "iio", "UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.ALL_PARTS", (0x70FF000000483, 0)),
        (0xB6, "cha", "UNC_CHA_TOR_INSERTS.IO_ITOMCACHENEAR", (0xCD43FF00000435, 0)),
        (0xB6, "cha", "UNC_CHA_CLOCKTICKS", (0x1, 0)),
        (0xB6, "imc", "UNC_M_CAS_COUNT_SCH0.ALL", (0xFF05, 0)),
        (0xB6, "b2cmi", "UNC_B2CMI_IMC_WRITES.ALL", (0x100001025, 0)),
        (0xB6, "iio", "UNC_IIO_IOMMU1.NUM_MEM_ACCESSES", (0xC041, 0)),
        (0xAD, "imc", "UNC_M_CAS_COUNT_SCH1.ALL", (0xFF06, 0)),
        (0xAD, "b2cmi", "UNC_B2CMI_IMC_READS.ALL", (0x100000424, 0)),
        (0xAD, "cxlcm", "UNC_CXLCM_RxC_PACK_BUF_INSERTS.MEM_DATA", (0x1041, 0)),
        (0xDD, "cha", "UNC_CHA_TOR_INSERTS.IA_MISS_DRD_OPT_LOCAL", (0xC826FE00000135, 0)),
        (0xAD, "iio", "UNC_IIO_DATA_REQ_OF_CPU.MEM_READ.PART7", (0x7080000000483, 0)),
    ],
)
def test_encodings(tmp_path: Path, model: int, kind: str, event: str, words: tuple[int, int]) -> None:
    result = tree(tmp_path, model)
    units = of(result, f"uncore_{kind}")
    terms = next(terms for metric in units.metrics for terms, name in metric.vendor.items() if name == event)
    (encoded,) = EventEncoder(result.host).encode(f"uncore_{kind}_1/{terms}/")
    assert (encoded.attr.config, encoded.attr.config1) == words


@pytest.mark.parametrize("model", FORMATS)
def test_every_processor_has_its_values(tmp_path: Path, model: int) -> None:
    result = tree(tmp_path, model)
    for units in find_kinds(result):
        assert units.metrics, units.kind.id
        assert all(len(item.needs) <= 4 or item.additive for item in units.metrics), "a PMU has four counters"
        ids = [item.id for item in units.metrics]
        assert len(set(ids)) == len(ids), units.kind.id
        for metric in units.metrics:
            settings = {filter_of(event) for event in metric.needs} - {()}
            assert len(settings) <= 1 or metric.additive, "events of other filters are never counted in the same time"
            for bundle in bundles_of([metric]):
                assert len({filter_of(event) for event in bundle} - {()}) <= 1, metric.id
    assert any(item.id == "used %" for item in of(result, "uncore_imc").metrics)
    assert any(item.id == "miss latency ns" for item in of(result, "uncore_cha").metrics)


@pytest.mark.parametrize(("model", "events", "expected"), [
    (0x4F, ("clockticks", "cas_count_read", "cas_count_write"), ("used %", "row hits %")),
    (0x9E, ("data_reads", "data_writes"), ("used %",)),
])
def test_memory_of_older_processors_is_held_against_its_peak(tmp_path: Path, model: int, events: tuple[str, ...],
                                                             expected: tuple[str, ...]) -> None:
    files = {"cpumask": "0", **{f"format/{field}": bits for field, bits in PLAIN.items()},
             **{f"events/{event}": f"event={at + 1:#x}" for at, event in enumerate(events)}}
    result = machine(tmp_path, {"uncore_imc": files}, INTEL_INFO.replace("143", str(model)), ((0, 1),))
    units = of(result, "uncore_imc")
    shown = [metric.id for metric in units.starting]
    assert shown[:2] == ["rd bandwidth GB/s", "wr bandwidth GB/s"]
    assert set(expected) <= set(shown)
    assert len(shown) == len(set(shown))
    assert [edge.peak for edge in units.edges] == ["peak bandwidth"]


def test_a_kernel_that_does_not_know_the_processor_gives_narrower_fields(tmp_path: Path) -> None:
    files = {"cpumask": "0", **{f"format/{field}": bits for field, bits in PLAIN.items()}}
    result = machine(tmp_path, {"uncore_type_0_3": files, "uncore_cha_0": files}, INTEL_INFO, ((0, 1),))
    unnamed, cha = find_kinds(result)[::-1]
    assert (unnamed.kind.id, unnamed.units[0].numbers) == ("uncore_type_0", (3,))
    assert unnamed.metrics == ()
    offered = {metric.id for metric in cha.metrics}
    assert "frequency GHz" in offered
    assert "miss latency ns" not in offered


def test_cxl_devices_count_for_themselves(tmp_path: Path) -> None:
    names = {name: f"vid=0x1e98,gid={gid:#x},mask=0x1" for name, gid in (
        ("clock_ticks", 0), ("s2m_drs_memdata", 0x24), ("m2s_rwd_memwr", 0x21), ("m2s_rwd_memwrptl", 0x21))}
    formats = {"format/mask": "config:0-31", "format/gid": "config:32-47", "format/vid": "config:48-63"}
    files = {"cpumask": "0", **formats, **{f"events/{name}": terms for name, terms in names.items()}}
    result = machine(tmp_path, {"cxl_pmu_mem1.0": files}, INTEL_INFO, ((0, 1),))
    units = of(result, "cxl_pmu_mem")
    assert units.units[0].numbers == (1, 0)
    assert [metric.id for metric in units.metrics if not metric.chosen] == [
        "rd bandwidth GB/s", "wr bandwidth GB/s", "used %", "frequency GHz"]


def test_a_stack_has_its_devices_and_a_link_its_other_end(tmp_path: Path) -> None:
    result = tree(tmp_path, 0x8F)
    below = "0000:c0:01.0/0000:c1:00.0"
    for path, kind, width in (("0000:c0:01.0", "0x060400", "8"), (below, "0x020000", "8"),
                              ("0000:c1:00.0", "0x020000", "8"), ("0000:c0:02.0", "0x088000", "0")):
        folder = tmp_path / "sys/bus/pci/devices" / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (("class", kind), ("vendor", "0x15b3"), ("device", "0x1021"),
                           ("current_link_speed", "32.0 GT/s PCIe"), ("current_link_width", width)):
            (folder / name).write_text(f"{text}\n")
    stacks = StackMap(result.host)
    first, second = of(result, "uncore_iio").find(0)[0], of(result, "uncore_iio").find(1)[0]
    assert (first.peer, second.peer) == ("0000:40", "0000:c0")
    assert (stacks.note(first), stacks.link(first)) == ("", None)
    assert stacks.note(second) == "c1:00.0 15b3:1021"
    assert stacks.link(second) == pytest.approx(32 * 8 * 128 / 130 / 8)
    assert stacks.note(of(result, "uncore_upi").find(0)[0]) == "die 1 #1"
    assert read_stack(result.host, "").devices == ()


@pytest.mark.parametrize(
    ("rate", "width", "expected"),
    [("8.0 GT/s PCIe", "16", 15.75), ("5.0 GT/s PCIe", "4", 2.0), ("64.0 GT/s PCIe", "16", 121.0),
     ("Unknown", "16", None), ("16.0 GT/s PCIe", "0", None), ("", "", None)],
)  # fmt: skip
def test_speed_of_a_link(rate: str, width: str, expected: float | None) -> None:
    assert link_speed(rate, width) == (None if expected is None else pytest.approx(expected, rel=1e-3))


@pytest.mark.parametrize("file", [PMUS, INTEL], ids=["pmus", "intel"])
def test_the_tables_are_toml(file: FactFile) -> None:
    path = resources.files("turbotui") / file.path
    assert dict(file.tables()) == tomllib.loads(path.read_text("utf-8"))


def test_every_table_of_intel_is_named_and_whole() -> None:
    named = {table for _, values in PMUS.tables() for table, _pattern in values.get("processors", ())}  # type: ignore[attr-defined]
    assert set(INTEL.names()) <= named
    for name, values in INTEL.tables():
        metrics = metrics_of(name)
        events = dict(values.get("events", ()))  # type: ignore[call-overload]
        assert {vendor for metric in metrics for vendor in metric.vendor.values()} == events.keys(), name
        assert all(metric.document.startswith("Intel perfmon, ") for metric in metrics)
        assert all(metric.needs or metric.formula == "link" for metric in metrics)
        assert {metric.unit for metric in metrics} <= {"GB/s", "%", "ns", "GHz", "M/s", "GT/s"}
        assert len({metric.id for metric in metrics}) == len(metrics)
