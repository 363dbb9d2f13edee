"""Tables from directories, from perf and from the cache, and the engine that uses them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import open_engine
from turbotui.events.errors import DescriptionError, NoTablesError, TracepointError, UnknownEventError
from turbotui.events.event_tables.cached import cached
from turbotui.events.event_tables.devices import is_instance
from turbotui.events.event_tables.errors import VendorTablesError
from turbotui.events.event_tables.opening import NOTHING, name_event_tables, open_vendor_tables
from turbotui.events.event_tables.perf_list import parse_list, parse_text
from turbotui.events.event_tables.pmu_events import DirectoryTables
from turbotui.events.perf_encoder import PerfEncoder, table_encoder
from turbotui.machine.linux import LinuxHost

CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
stepping\t: 8
flags\t\t: fpu
"""
PMUS = {
    "cpu": {"type": "4", "format/event": "config:0-7", "format/umask": "config:8-15", "format/cmask": "config:24-31",
            "format/offcore_rsp": "config1:0-63", "events/instructions": "event=0xc0"},
    "uncore_imc_0": {"type": "20", "cpumask": "0", "format/event": "config:0-7", "format/umask": "config:8-15",
                     "events/cas_count_read": "event=0x05,umask=0xcf"},
    "uncore_imc_1": {"type": "21", "cpumask": "0", "format/event": "config:0-7", "format/umask": "config:8-15"},
    "uncore_imc_free_running_0": {"type": "22", "cpumask": "0", "format/event": "config:0-7"},
    "imx8_ddr0": {"type": "30", "cpumask": "0", "identifier": "rev2", "format/event": "config:0-7"},
}
CORE = [
    {"EventName": "MEM_INST_RETIRED.ALL_LOADS", "EventCode": "0xd0", "UMask": "0x81", "SampleAfterValue": "1000003",
     "BriefDescription": "Loads that retired"},
    {"EventName": "OCR.READS", "EventCode": "0x2A,0x2B", "UMask": "0x1", "MSRIndex": "0x1a6,0x1a7",
     "MSRValue": "0x10001"},
    {"EventName": "FRONTEND.NEW", "EventCode": "0xc6", "MSRIndex": "0x3F7", "MSRValue": "0x11"},
    {"CountersNumGeneric": "8", "Unit": "core"},
]
UNCORE = [{"EventName": "UNC_M_CAS_COUNT.RD", "EventCode": "0x05", "UMask": "0xcf", "Unit": "iMC", "PerPkg": "1",
           "ScaleUnit": "64Bytes"}]
METRICS = [{"MetricName": "ipc", "MetricExpr": "INST / CLK", "MetricGroup": "Ret;Summary", "BriefDescription": "x."}]
SYSTEM = [{"EventName": "reads", "EventCode": "0x23", "Unit": "imx8_ddr", "Compat": "rev[12]"},
          {"EventName": "writes", "EventCode": "0x24", "Unit": "imx8_ddr", "Compat": "rev1"}]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LinuxHost:
    """A Sapphire Rapids of files; what is kept is kept in the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TURBOTUI_EVENT_TABLES")
    root = tmp_path / "machine"
    files = {"proc/cpuinfo": CPUINFO, "sys/devices/system/cpu/online": "0\n"}
    files |= {f"sys/bus/event_source/devices/{pmu}/{file}": f"{text}\n"
              for pmu, content in PMUS.items() for file, text in content.items()}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return LinuxHost(str(root))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """A folder as the kernel's source has it."""
    arch = tmp_path / "pmu-events/arch/x86"
    for path, rows in (("model/cache.json", CORE), ("model/uncore-memory.json", UNCORE),
                       ("model/model-metrics.json", METRICS), ("model/metricgroups.json", {"Ret": "what retired"}),
                       ("vendor/board/sys/ddr.json", SYSTEM), ("standard.json", [])):
        (arch / path).parent.mkdir(parents=True, exist_ok=True)
        (arch / path).write_text(json.dumps(rows))
    (arch / "mapfile.csv").write_text("Family-model,Version,Filename,EventType\nGenuineIntel-6-8F,v1,model,core\n")
    return tmp_path / "pmu-events"


def _attrs(encoder: EventEncoder | PerfEncoder, text: str) -> list[tuple[str, int, int]]:
    return [(event.pmu, event.attr.config, event.attr.config1) for event in encoder.encode(text)]


def test_a_directory_from_any_level_has_the_same_tables(host: LinuxHost, tables: Path) -> None:
    for folder in (tables, tables / "arch/x86"):
        vendor_tables = DirectoryTables(host, str(folder)).read()
        assert vendor_tables.source == f"{tables}/arch/x86/model (mapfile.csv GenuineIntel-6-8F)"
        assert vendor_tables.events().names() == ["frontend.new", "mem_inst_retired.all_loads", "ocr.reads", "reads",
                                                  "unc_m_cas_count.rd", "writes"]
    named = DirectoryTables(host, str(tables / "arch/x86/model")).read()
    assert named.source.endswith("(named, whatever the CPU)")
    assert len(named.events()) == 6


def test_metrics_and_their_groups(host: LinuxHost, tables: Path) -> None:
    vendor_tables = DirectoryTables(host, str(tables)).read()
    (metric,) = vendor_tables.metric("IPC")
    assert (metric.expression, metric.brief) == ("INST / CLK", "x")
    assert vendor_tables.group("summary") == (metric,)
    assert (vendor_tables.group_names(), vendor_tables.group_words) == (("Ret", "Summary"), {"Ret": "what retired"})


def test_names_in_any_case_with_modifiers_terms_groups_and_pmus(host: LinuxHost, tables: Path) -> None:
    name_event_tables(host, str(tables))
    encoder = PerfEncoder(host)
    assert _attrs(encoder, "MEM_INST_RETIRED.ALL_LOADS") == [("cpu", 0x81D0, 0)]
    assert _attrs(encoder, "mem_inst_retired.all_loads:u") == [("cpu", 0x81D0, 0)]
    assert _attrs(encoder, "cpu/mem_inst_retired.all_loads,cmask=1/") == [("cpu", 0x10081D0, 0)]
    assert _attrs(encoder, "ocr.reads") == [("cpu", 0x12A, 0x10001)]
    assert _attrs(encoder, "{instructions,mem_inst_retired.all_loads}")[1] == ("cpu", 0x81D0, 0)
    assert _attrs(encoder, "unc_m_cas_count.rd") == [("uncore_imc_0", 0xCF05, 0), ("uncore_imc_1", 0xCF05, 0)]
    assert _attrs(encoder, "uncore_imc_1/unc_m_cas_count.rd/") == [("uncore_imc_1", 0xCF05, 0)]
    (load,) = encoder.encode("mem_inst_retired.all_loads")
    assert (load.engine, load.attr.sample_period, load.description) == ("tables", 1000003, "Loads that retired")
    assert load.table == f"{tables}/arch/x86/model (mapfile.csv GenuineIntel-6-8F)"
    assert encoder.encode("cpu/mem_inst_retired.all_loads,period=7/")[0].attr.sample_period == 7
    read = encoder.encode("unc_m_cas_count.rd")[0]
    assert (read.unit, read.scale, read.per_package, read.uncore) == ("Bytes", 64.0, False, True)


def test_sysfs_comes_first(host: LinuxHost, tables: Path) -> None:
    (tables / "arch/x86/model/own.json").write_text(json.dumps([
        {"EventName": "cas_count_read", "EventCode": "0x77", "Unit": "iMC"}]))
    name_event_tables(host, str(tables))
    for encoder in (PerfEncoder(host), table_encoder(host)):
        events = encoder.encode("uncore_imc_0/cas_count_read/")
        assert [(event.attr.config, event.engine) for event in events] == [(0xCF05, "own")]


def test_what_the_kernel_lacks_is_named(host: LinuxHost, tables: Path) -> None:
    name_event_tables(host, str(tables))
    with pytest.raises(DescriptionError, match=r"frontend\.new of the PMU cpu uses the term 'frontend'.*newer kernel"):
        PerfEncoder(host).encode("frontend.new")
    with pytest.raises(UnknownEventError, match=r"did you mean mem_inst_retired\.all_loads"):
        PerfEncoder(host).encode("mem_inst_retired.all_load")


def test_libpfms_spelling_of_an_event_of_the_tables_is_reported(host: LinuxHost, tables: Path) -> None:
    name_event_tables(host, str(tables))
    for text in ("MEM_INST_RETIRED:ALL_LOADS", "MEM_INST_RETIRED:ALL_LOADS:u"):
        with pytest.raises(UnknownEventError, match=r"tables call MEM_INST_RETIRED\.ALL_LOADS: write that"):
            PerfEncoder(host).encode(text)
    with pytest.raises(TracepointError, match="neither a PMU here nor a libpfm"):
        PerfEncoder(host).encode("MEM_INST_RETIRED:NOTHING")


def test_events_of_systems_go_by_the_identifier(host: LinuxHost, tables: Path) -> None:
    name_event_tables(host, str(tables))
    assert _attrs(PerfEncoder(host), "reads") == [("imx8_ddr0", 0x23, 0)]
    with pytest.raises(UnknownEventError):
        PerfEncoder(host).encode("writes")


def test_instances() -> None:
    result = {(word, name) for word in ("uncore_imc", "hisi_sccl,l3c", "amd_l3")
              for name in ("uncore_imc_0", "uncore_imc_free_running_0", "imc", "hisi_sccl3_l3c7", "hisi_sccl3_hha1",
                           "amd_l3", "amd_l3_1") if is_instance(word, name)}
    assert result == {("uncore_imc", "uncore_imc_0"), ("uncore_imc", "imc"), ("hisi_sccl,l3c", "hisi_sccl3_l3c7"),
                      ("amd_l3", "amd_l3"), ("amd_l3", "amd_l3_1")}


FAULTS = (
    ({"mapfile.csv": "h\nGenuineIntel-6-AA,v1,model,core\n"},
     r"no row for the CPU GenuineIntel-6-8F-8 \(its 1 rows are of other CPUs, GenuineIntel-6-AA first\): name"),
    ({"mapfile.csv": "h\nGenuineIntel-6-8F,v1,gone,core\n"}, "names the folder .*gone, which is not there"),
    ({"model/cache.json": "{"}, "cache.json cannot be read, it is not JSON.*: get the file anew, or name"),
    ({"model/cache.json": "{}"}, "holds no list of events"),
    ({"model/cache.json": '[{"EventName": []}]'}, "something else than objects with texts"),
    ({"model/cache.json": '[{"ArchStdEvent": "X"}]'}, "standard event 'x', which the folder above it does not have"),
)


@pytest.mark.parametrize(("files", "said"), FAULTS)
def test_faults_of_directories_are_reported(host: LinuxHost, tables: Path, files: dict[str, str], said: str) -> None:
    for path, text in files.items():
        (tables / "arch/x86" / path).write_text(text)
    with pytest.raises(VendorTablesError, match=said):
        name_event_tables(host, str(tables))


@pytest.mark.parametrize("folder", ["arch/x86/model", "arch/x86", "arch/x86/sys", "arch/common/common"])
def test_files_are_bounded_together(host: LinuxHost, tables: Path, folder: str) -> None:
    """Sixty files of 5 MB, each of which may be read, took 2.3 GB: those of a model, and those that all models use."""
    for place in ("arch/x86/model/0.json", "arch/x86/model/1.json", f"{folder}/2.json"):
        (tables / place).parent.mkdir(parents=True, exist_ok=True)
        with (tables / place).open("w") as file:
            file.truncate(20 << 20)
    with pytest.raises(VendorTablesError, match="model has more than 50,331,648 bytes of tables"):
        name_event_tables(host, str(tables))


def test_a_row_with_a_wrong_number_is_reported_when_it_is_asked_for(host: LinuxHost, tables: Path) -> None:
    (tables / "arch/x86/model/cache.json").write_text('[{"EventName": "A.B", "EventCode": "zz"}]')
    vendor_tables = DirectoryTables(host, str(tables)).read()
    with pytest.raises(VendorTablesError, match=r"event A\.B in .* cannot be used, its EventCode 'zz' is no number: "):
        vendor_tables.event("a.b")


def test_a_folder_without_tables_is_reported(host: LinuxHost, tmp_path: Path) -> None:
    with pytest.raises(VendorTablesError, match=r"neither a mapfile\.csv nor JSON"):
        name_event_tables(host, str(tmp_path))
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe/mapfile.csv")
    (tmp_path / "models/b").mkdir(parents=True)
    (tmp_path / "models/b/x.json").write_text("[]")
    for name, said in (("gone", "are not there: name a folder"), ("models/b/x.json", "are a file, not a folder"),
                       ("pipe/mapfile.csv", "are a FIFO, not a folder"),
                       ("pipe", "mapfile.csv cannot be read, it is a "),
                       ("models", "neither .*: name that of one model in it, as .*models/b"),
                       ("x" * 300, "cannot be read: File name too long")):
        with pytest.raises(VendorTablesError, match=said):
            name_event_tables(host, str(tmp_path / name))


def test_kept_tables_are_the_same_and_follow_the_files(host: LinuxHost, tables: Path, tmp_path: Path) -> None:
    first = cached(DirectoryTables(host, str(tables)))
    (kept,) = (tmp_path / "cache/turbotui").iterdir()
    second = cached(DirectoryTables(host, str(tables)))
    assert (list(second.events()), list(second.metrics())) == (list(first.events()), list(first.metrics()))
    assert (second.source, second.group_words) == (first.source, first.group_words)
    assert second.lacks_metrics == first.lacks_metrics != ""
    kept.write_text("damaged\n")
    assert len(cached(DirectoryTables(host, str(tables))).events()) == 6
    (tables / "arch/x86/model/more.json").write_text('[{"EventName": "MORE.X", "EventCode": "0x9"}]')
    assert cached(DirectoryTables(host, str(tables))).event("more.x")[0].terms == "event=9"


LISTED = [
    {"Unit": "cpu", "Topic": "cache", "EventName": "mem.loads", "Encoding": "cpu/event=0xd0,umask=0x81/",
     "BriefDescription": "loads", "ScaleUnit": "64Bytes"},
    {"Unit": "amd_df", "Topic": "data fabric", "EventName": "amd_df/beats/", "Encoding": "amd_df/event=0x55f/"},
    {"Unit": "cpu", "EventName": "instructions OR cpu/instructions/", "Encoding": "cpu/event=0xc0/"},
    {"Unit": "tool", "Topic": "tool", "EventName": "duration_time", "Encoding": "tool/config=1/"},
    {"MetricName": "ipc", "MetricExpr": "a / b", "MetricGroup": "Ret", "Unit": "default_core"},
    {"MetricName": "ipc", "MetricExpr": "a / b", "MetricGroup": "Summary", "Unit": "default_core"},
]


def test_what_perf_lists() -> None:
    found = parse_list(json.dumps(LISTED).encode(), "perf 7.2 list -j")
    assert [(event.name, event.pmu, event.terms, event.scale, event.unit) for event in found.events()] == [
        ("beats", "amd_df", "event=0x55f", 1.0, ""), ("mem.loads", "cpu", "event=0xd0,umask=0x81", 64.0, "Bytes")]
    assert [(one.name, one.groups, one.constraint) for one in found.metrics()] == [("ipc", ("Ret", "Summary"), None)]
    with pytest.raises(NoTablesError, match="cannot be read: it is not JSON"):
        parse_list(b"[,", "perf")


def _perf(folder: Path, script: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "perf").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "perf").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


ANSWERING = """if [ "$1" = version ]; then echo perf version 9.9; exit; fi
[ "$PERF_CPUID" = GenuineIntel-6-8F-8 ] && [ -e "$SYSFS_PATH/bus/event_source/devices/cpu/type" ] && echo '%s'
echo run >> %s"""


def test_perf_is_run_once(host: LinuxHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    answer = json.dumps([{**LISTED[0], "Encoding": "cpu/event=0xd1/"}])
    monkeypatch.setenv("PATH", _perf(tmp_path / "bin", ANSWERING % (answer, log)))
    (event,) = open_engine(host).encode("MEM.LOADS")
    assert (event.attr.config, event.engine, event.table) == (0xD1, "tables", "perf 9.9 list -j")
    again = LinuxHost(str(tmp_path / "machine"))
    assert open_engine(again).encode("mem.loads")[0].attr.config == 0xD1
    assert log.read_text() == "run\n"


IN_TEXT = """
cache:
  l1d.replacement
       [Counts the lines replaced in L1 data
        cache]
        cpu/event=0x51,period=0x186a3,umask=0x1/
  msr/tsc/                                           [Kernel PMU event]

uncore memory:
  unc_m_act_count.all
       [DRAM Activate Count. Unit: uncore_imc]
        uncore_imc_0/event=0x1,umask=0xb/

Metrics:

  IPC
       [Instructions per cycle]
       [INST_RETIRED.ANY / CPU_CLK_UNHALTED.THREAD]
"""
"""What perf 6.1 prints for `list --details`, shortened; with it each event has a space behind its line."""


def test_a_perf_without_json_tells_of_events_of_cores(host: LinuxHost, tmp_path: Path,
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text").write_text(IN_TEXT)
    script = f"""[ "$2" != -j ] || exec sh -c "echo 'Error: unknown switch j' >&2; exit 129"
[ "$2" != --details ] || exec cat {tmp_path}/text
echo perf version 6.1.192"""
    monkeypatch.setenv("PATH", _perf(tmp_path / "bin", script))
    engine = open_engine(host)
    (encoded_event,) = engine.encode("L1D.REPLACEMENT")
    assert (encoded_event.attr.config, encoded_event.table) == (0x151, "perf 6.1.192 list")
    for name in ("unc_m_act_count.all", "no.such_event"):
        with pytest.raises(UnknownEventError, match=r"perf before 6\.2 lists no units of events.* package linux-perf"):
            engine.encode(name)
    tables = parse_text(IN_TEXT.encode(), "perf")
    assert [(event.name, event.brief) for event in tables.events()] == [
        ("l1d.replacement", "Counts the lines replaced in L1 data cache")]
    assert not len(tables.metrics())
    assert "package linux-perf" in tables.lacks_metrics


FAILING = (
    ("[ \"$2\" = -j ] || exec echo msr/tsc/; echo '  Error: unknown switch `j'\"'\" >&2; exit 129",
     r"perf msr/tsc/ lists none for the CPU GenuineIntel-6-8F-8 .*; install a newer package linux-perf .*, or name "),
    ("echo 'WARNING: perf not found for kernel 9.9' >&2; exit 2", "fails: WARNING: perf not found for kernel 9.9"),
    ("echo '[]'", r"perf \[\] lists none for the CPU GenuineIntel-6-8F-8"),
    ("printf '\\033[31mno' >&2; exit 1", "fails: ␛"),
)


@pytest.mark.parametrize(("script", "said"), FAILING)
def test_what_perf_says_when_it_fails_is_reported(host: LinuxHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                  script: str, said: str) -> None:
    monkeypatch.setenv("PATH", _perf(tmp_path / "bin", script))
    with pytest.raises(UnknownEventError, match=said):
        open_engine(host).encode("mem.loads")
    with pytest.raises(UnknownEventError, match=r"^This machine has no event 'mem_loads'[^:]*$"):
        open_engine(host).encode("mem_loads")


def test_what_perf_does_not_list_is_reported(host: LinuxHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = tmp_path / "machine/sys/bus/event_source/devices"
    answer = json.dumps([{**LISTED[0], "Encoding": "cpu/event=0xd1/"}])
    monkeypatch.setenv("PATH", _perf(tmp_path / "bin", ANSWERING % (answer, tmp_path / "log")))
    with pytest.raises(UnknownEventError, match="perf lists no event that its vendor calls deprecated"):
        open_engine(host).encode("mem.stores")
    assert open_vendor_tables(host).lacks_metrics == ""
    for name in ("cpu_core", "cpu_atom"):
        (devices / name).mkdir()
        (devices / name / "type").write_text("9\n")
    again = LinuxHost(str(tmp_path / "machine"))
    assert "that of cpu_core" in open_vendor_tables(again).lacks_metrics


def test_without_perf(host: LinuxHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoTablesError, match=r"perf is not installed \(package linux-perf\)"):
        open_vendor_tables(host)


def test_what_is_known_to_be_missing_keeps_nothing_of_those_who_asked(host: LinuxHost) -> None:
    """An exception that is raised again keeps every frame that it passed, and with each a closed window."""
    name_event_tables(host, NOTHING)
    passed = []
    for _ in range(3):
        with pytest.raises(NoTablesError, match="switched off") as caught:
            open_vendor_tables(host)
        passed.append(len(caught.traceback))
    assert passed == [2, 2, 2]
