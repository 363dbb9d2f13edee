"""A vendor's tables that a test makes up of metrics over events that sysfs knows."""

from __future__ import annotations

from turbotui.events.event_tables.model import VendorEvent, VendorMetric, VendorRows, VendorTables


def made_tables(*metrics: VendorMetric) -> VendorTables:
    rows: dict[str, list[object]] = {}
    for metric in metrics:
        rows.setdefault(metric.name.lower(), []).append(metric)
    return VendorTables("made tables", VendorRows({}, _none), VendorRows(rows, _metric))


def _metric(row: object) -> VendorMetric:
    assert isinstance(row, VendorMetric)
    return row


def _none(row: object) -> VendorEvent:
    raise AssertionError(row)


SLOTS = "(topdown\\-fe\\-bound + topdown\\-bad\\-spec + topdown\\-retiring + topdown\\-be\\-bound)"
SAPPHIRE = made_tables(
    VendorMetric("tma_retiring", f"topdown\\-retiring / {SLOTS}", ("TopdownL1",), "Useful work.", scale_unit="100%",
                 threshold="tma_retiring > 0.7 | tma_heavy > 0.1", no_group=("TopdownL1",)),
    VendorMetric("tma_heavy", f"topdown\\-heavy\\-ops / {SLOTS}", ("TopdownL2",), scale_unit="100%"),
    VendorMetric("tma_backend", f"topdown\\-be\\-bound / {SLOTS}", ("TopdownL1",), scale_unit="100%",
                 threshold="tma_backend > 0.05", no_group=("TopdownL1",)),
    VendorMetric("tma_memory", f"topdown\\-mem\\-bound / {SLOTS}", ("TopdownL2", "Mem"), scale_unit="100%",
                 threshold="tma_memory > 0.01 & tma_backend > 2"),
    VendorMetric("cycles_per", "cycles / instructions if #smt_on | 1 else GONE", ("Work",), scale_unit="1per_instr",
                 constraint="NO_GROUP_EVENTS"),
    VendorMetric("faults", "instructions / (cycles - cycles)", ("Work",)),
    VendorMetric("read_rate", "64 * uncore_imc@cas_count_read@ / 1e6 / duration_time", ("Mem",), scale_unit="1MB/s"),
    VendorMetric("reads_per", "1e6 * uncore_imc@cas_count_read@ / instructions", ("Mem",)),
    VendorMetric("of_packages", "uncore_imc@cas_count_read@ / (source_count(uncore_imc@cas_count_read@) * "
                                "#num_packages)", ("Mem",)),
    VendorMetric("unruled", "instructions / cycles", ("Rules",), "Has a rule.", threshold="unruled > missing"),
    VendorMetric("watched", "instructions / branches", ("Rules",), constraint="NO_GROUP_EVENTS_NMI"),
    VendorMetric("threaded", "branches / cycles", ("Rules",), constraint="NO_GROUP_EVENTS_SMT"),
    VendorMetric("elsewhere", "instructions / cycles", ("Work",), compat="imx93.*", pmu="imx9_ddr"),
    VendorMetric("atoms", "cpu_atom@instructions@ / cpu_atom@cycles@"),
    VendorMetric("missing", "NOT_AN_EVENT / cycles", ("Work",)),
    VendorMetric("ringed", "ringed2 + 1"), VendorMetric("ringed2", "ringed * 2"),
    VendorMetric("all_cpus", "#num_cpus_online * 2", scale_unit="1CPUs", threshold="all_cpus > 100"),
    VendorMetric("seconds", "duration_time * 2", threshold="seconds < 10"), VendorMetric("time", "duration_time"),
    VendorMetric("pmem", "64 * instructions if #has_pmem > 0 else 0"),
    VendorMetric("undivided", "instructions / #has_pmem"),
    VendorMetric("nothing", "5 if has_event(NOT_AN_EVENT) else 0"),
    VendorMetric("power", "power@energy\\-pkg@ * 61 / (duration_time * 1e6)"),
    VendorMetric("power_both", "(power@energy\\-pkg@ * 61 + 15.6 * power@energy\\-ram@) / (duration_time * 1e6)"),
    VendorMetric("power_time", "power@energy\\-pkg@ * 15.6 / (time * 1e6)"),
    VendorMetric("power_right", "d_ratio(power@energy\\-pkg@ * 232.83064365386963e-12, duration_time)"),
    VendorMetric("IPC", "instructions / cycles"),
)
