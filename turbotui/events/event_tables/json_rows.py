"""Converts an object of a pmu-events JSON file to a row: each key becomes one of perf's terms.

Keys and what they become: kernel tools/perf/pmu-events/jevents.py, by which perf is built.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from turbotui.events.event_tables.model import DEFAULT_CORE, VendorEvent, VendorMetric

JsonRow = Mapping[str, str]

_PMUS = {
    # Unit -> PMU, where it is not uncore_UNIT
    "CBO": "uncore_cbox", "QPI LL": "uncore_qpi", "SBO": "uncore_sbox", "iMPH-U": "uncore_arb", "UPI LL": "uncore_upi",
    "CPU-M-CF": "cpum_cf", "CPU-M-SF": "cpum_sf", "PAI-CRYPTO": "pai_crypto", "PAI-EXT": "pai_ext",
    "L3PMC": "amd_l3", "DFPMC": "amd_df", "UMCPMC": "amd_umc",
    **{name: name for name in (
        "hisi_sicl,cpa", "hisi_sccl,ddrc", "hisi_sccl,hha", "hisi_sccl,l3c", "imx8_ddr", "imx9_ddr", "ali_drw",
        "arm_cmn", "cpu_core", "cpu_atom", "software", "tool")},
}
_WHOLE = (
    ("ConfigCode", "config"),
    ("EventidCode", "eventid"),
    ("LegacyConfigCode", "legacy-hardware-config"),
    ("LegacyCacheCode", "legacy-cache-config"),
)
"""Keys that replace an event's code."""
_FIELDS = (
    ("AnyThread", "any"), ("PortMask", "ch_mask"), ("CounterMask", "cmask"), ("EdgeDetect", "edge"),
    ("FCMask", "fc_mask"), ("Invert", "inv"), ("SampleAfterValue", "period"), ("UMask", "umask"), ("NodeType", "type"),
    ("RdWrMask", "rdwrmask"), ("EnAllCores", "enallcores"), ("EnAllSlices", "enallslices"), ("SliceId", "sliceid"),
    ("ThreadMask", "threadmask"),
)
OMR_REGISTERS = range(0x3E0, 0x3E4)
"""Offcore module response, Diamond Rapids and Nova Lake (kernel arch/x86/include/asm/msr-index.h, MSR_OMR_0)."""
_MSRS = {0x3F6: "ldlat", 0x1A6: "offcore_rsp", 0x1A7: "offcore_rsp", 0x3F7: "frontend",
         **dict.fromkeys(OMR_REGISTERS, "offcore_rsp")}
"""Registers beside an event's select register, by the term that fills them (Intel SDM vol. 4)."""
_FIXED = {
    # Events of fixed counters, by the codes that the kernel accepts for them, whatever a table says
    "inst_retired.any": "event=0xc0,period=2000003",
    "inst_retired.any_p": "event=0xc0,period=2000003",
    "cpu_clk_unhalted.ref": "event=0x0,umask=0x03,period=2000003",
    "cpu_clk_unhalted.thread": "event=0x3c,period=2000003",
    "cpu_clk_unhalted.core": "event=0x3c,period=2000003",
    "cpu_clk_unhalted.thread_any": "event=0x3c,any=1,period=2000003",
}
COMPUTED = ("Metrics that perf's build computes (the kernel's tools/perf/pmu-events/*_metrics.py: lpm_* ...) stand "
            "in no folder of JSON; perf's own tables have them.")
"""The metrics that the JSON of the kernel and of Intel lacks: 126 of 466 for Sapphire Rapids in perf 7.2."""
_SCALE = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")


def event_row(row: JsonRow, standard: JsonRow | None, topic: str) -> VendorEvent:
    """Make an event of a row.

    Args:
        standard: the architecture's event that the row refers to, whose code and other keys fill the row's gaps.

    Raises:
        ValueError: the row has an invalid number.
    """
    merged = row if standard is None else {**standard, **{key: value for key, value in row.items() if value}}
    name = merged["EventName"].lower()
    extra = _remarks(row)
    scale, unit = scale_of(merged.get("ScaleUnit", ""))
    brief, long = (_sentence(merged.get(key, "")) for key in ("BriefDescription", "PublicDescription"))
    return VendorEvent(
        name=name,
        pmu=pmu_of(row.get("Unit", "")),
        terms=_FIXED.get(name) or _terms(row if standard is None else standard),
        brief=brief and brief + extra,
        description="" if long == brief else long and long + extra,
        unit=unit,
        scale=scale,
        per_package=merged.get("PerPkg") == "1",
        aggregation=merged.get("AggregationMode", ""),
        topic=topic,
        deprecated=merged.get("Deprecated") == "1",
        compat=merged.get("Compat", ""),
    )


def metric_row(row: JsonRow, standard: JsonRow | None, topic: str) -> VendorMetric:
    """Make a metric of a row; arguments as for an event."""
    merged = row if standard is None else {**standard, **{key: value for key, value in row.items() if value}}
    brief, long = (_sentence(merged.get(key, "")) for key in ("BriefDescription", "PublicDescription"))
    return VendorMetric(
        name=merged["MetricName"],
        expression=merged.get("MetricExpr", ""),
        groups=_list(merged.get("MetricGroup", "")),
        brief=brief,
        description="" if long == brief else long,
        scale_unit=merged.get("ScaleUnit", ""),
        threshold=merged.get("MetricThreshold", ""),
        constraint=merged.get("MetricConstraint", ""),
        no_group=_list(merged.get("MetricgroupNoGroup", "")),
        default_group=merged.get("DefaultMetricgroupName", ""),
        pmu=pmu_of(row.get("Unit", "")),
        aggregation=merged.get("AggregationMode", ""),
        compat=merged.get("Compat", ""),
        topic=topic,
    )


def pmu_of(unit: str) -> str:
    """Return the kernel's PMU for a table's unit: "uncore_imc" for "iMC", `DEFAULT_CORE` for no unit."""
    return _PMUS.get(unit) or f"uncore_{unit.lower()}" if unit else DEFAULT_CORE


def scale_of(text: str) -> tuple[float, str]:
    """Split a ScaleUnit into factor and unit: "6.1e-05MiB" -> (6.1e-05, "MiB")."""
    match = _SCALE.match(text)
    return (float(match[0]), text[match.end() :]) if match else (1.0, text)


def _terms(row: JsonRow) -> str:
    first = next((f"{term}={_number(_integer(row, key))}" for key, term in _WHOLE if key in row), "")
    if not first:
        first = f"event={_number(_integer(row, 'EventCode') | _integer(row, 'ExtSel') << 8)}"
    parts = [first]
    for key, term in _FIELDS:
        if value := _integer(row, key):
            parts.append(f"{term}={_number(value) if row[key].startswith('0x') else value}")
    if row.get("Filter"):
        parts.append(row["Filter"])
    if register := _integer(row, "MSRIndex"):  # 0 means none
        if register not in _MSRS:
            raise ValueError(f"its MSRIndex {register:#x} is no register that the kernel fills")
        parts.append(f"{_MSRS[register]}={row.get('MSRValue', '0')}")
    return ",".join(parts)


def _integer(row: JsonRow, key: str) -> int:
    text = (row.get(key) or "0").partition(",")[0].strip()
    try:
        return int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        raise ValueError(f"its {key} {row[key]!r} is no number") from None


def _number(value: int) -> str:
    return str(value) if value < 10 else hex(value)


def _remarks(row: JsonRow) -> str:
    """Return the remarks that perf appends to an event's description."""
    words = ""
    if "Data_LA" in row:
        words += "  Supports address when precise" + ("." if "Errata" in row else "")
    if "Errata" in row:
        words += f"  Spec update: {row['Errata']}"
    if row.get("PEBS") and "(Precise Event)" not in row.get("BriefDescription", ""):
        words += " (Must be precise)" if row["PEBS"] == "2" else " (Precise event)"
    return words


def _sentence(text: str) -> str:
    return text.strip().removesuffix(".")


def _list(text: str) -> tuple[str, ...]:
    return tuple(word for word in (part.strip() for part in text.split(";")) if word)
