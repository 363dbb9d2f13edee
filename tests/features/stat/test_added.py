"""--add: grammar, columns and sources, on small machines and simulated ones (docs/specs/turbostat.md 1.6, 8.4, 9)."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statscripts import PAIR, SERVER, FilesHost, Script, intel, machine_of, signal

from turbotui.machine.delegating_host import RestrictedHost
from turbotui.machine.machine import Machine
from turbotui.quantities.added import (
    AddedCounter,
    AddError,
    EventAt,
    FileAt,
    RegisterAt,
    Shape,
    TelemetryAt,
    Ticks,
    join_instances,
    parse_added,
)
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.catalog.added import added_column, with_added
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Unavailable
from turbotui.sources import SOURCES
from turbotui.sources.added import added_source
from turbotui.sources.source import Source

SAPPHIRE = intel(0x8F)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("msr0x10", AddedCounter("M0X10", RegisterAt(0x10))),
        ("msr16,u32", AddedCounter("M0x10", RegisterAt(0x10), width=32)),
        ("msr0x3FC,percent", AddedCounter("M0X3fc%", RegisterAt(0x3FC), shape=Shape.PERCENT)),
        ("u32,raw,core,msr0x19c,Therm", AddedCounter("Therm", RegisterAt(0x19C), Scope.CORE, 32, shape=Shape.RAW)),
        ("package,average,msr0x610,my name", AddedCounter("my", RegisterAt(0x610), Scope.PACKAGE,
                                                          shape=Shape.AVERAGE)),
        ("msr0x10,123456789012345678901", AddedCounter("123456789012345678", RegisterAt(0x10))),
        ("msr0x10,u16", AddedCounter("u16", RegisterAt(0x10))),
        ("/sys/x/y", AddedCounter("M0X0", FileAt("/sys/x/y"))),
        ("/sys/x/y,usec,percent,cpu", AddedCounter("M0X0%", FileAt("/sys/x/y"), ticks=Ticks.USEC,
                                                   shape=Shape.PERCENT)),
        ("perf/cpu/cpu-cycles", AddedCounter("perf/cpu-cycles", EventAt("cpu", "cpu-cycles"))),
        ("perf/power/energy-pkg/,package,E", AddedCounter("E", EventAt("power", "energy-pkg"), Scope.PACKAGE)),
        ("perf/cpu/event=0x3c,umask=0x1,cmask=2,C", AddedCounter("C", EventAt("cpu", "event=0x3c,umask=0x1,cmask=2"))),
        # turbostat takes names that begin with a keyword for the keyword (docs/specs/turbostat.md 1.6); names here
        ("msr0x10,rawish", AddedCounter("rawish", RegisterAt(0x10))),
        ("msr0x10,cpu_load", AddedCounter("cpu_load", RegisterAt(0x10))),
    ],
)
def test_the_grammar(text: str, expected: AddedCounter) -> None:
    assert parse_added(text) == expected


@pytest.mark.parametrize("text", ["", "name", "u32,raw", "msr0", "msr0x0", "perf/cpu", "perf//x", "perf/", "msr0xg",
                                  "msr0x100000000"])
def test_what_names_no_counter_is_refused(text: str) -> None:
    with pytest.raises(AddError):
        parse_added(text)


TELEMETRY = "pmt,name=Xtal,type=txtal_time,domain=package0,offset=120,lsb=0,msb=63,guid=0x1a067102,seq=a"


def test_the_grammar_of_telemetry() -> None:
    folder = "/sys/class/intel_pmt/telem3"
    place = TelemetryAt(0x1A067102, 10, "", 120, 0, 63)
    assert parse_added(TELEMETRY) == AddedCounter(
        "Xtal", place, Scope.PACKAGE, ticks=Ticks.CRYSTAL, shape=Shape.PERCENT, by_instance={0: place})
    by_path = parse_added(f"pmt,name=abcdefghijklmnopq,domain=core7,offset=8,lsb=4,msb=35,path={folder}")
    place = TelemetryAt(0, 0, folder, 8, 4, 35)
    assert by_path == AddedCounter("abcdefghijklmno", place, Scope.CORE, 32, shape=Shape.RAW, by_instance={7: place})


@pytest.mark.parametrize("wrong", ["name=", "domain=cpu", "domain=die0", "lsb=64", "msb=64", "lsb=5,msb=4", "type=x",
                                   "format=percent", "seq=z", "offset=-1", "nonsense=1", "nonsense", "guid=,path="])
def test_wrong_telemetry_is_refused(wrong: str) -> None:
    with pytest.raises(AddError):
        parse_added(f"{TELEMETRY},{wrong}")


@given(st.text(alphabet="msr0xu3264/,perfcoakgdltwnvi=%", max_size=40))
def test_any_text_is_a_counter_or_an_error(text: str) -> None:
    try:
        counter = parse_added(text)
    except AddError:
        return
    assert counter.name
    assert added_column(counter).id == counter.name


def test_added_columns_end_their_block_the_last_one_first() -> None:
    base = catalog_for({}).columns
    texts = ["msr0x10,A", "perf/x/y,P", "msr0x11,B", "msr0x12,core,C", "msr0x13,package,D", "/x,package,F",
             "pmt,name=T,domain=package0,offset=0,lsb=0,msb=1,guid=1"]
    names = [column.id for column in with_added(base, [parse_added(text) for text in texts])]
    first = names.index("B")
    assert names[first:first + 3] == ["B", "A", "P"]
    assert names[first + 3] in ("CPU%c1e", "CPU%c1")
    assert names[names.index("C") + 1] == "PkgTmp"
    first = names.index("F")
    assert names[first:first + 3] == ["F", "D", "T"]
    assert names[first + 3] in ("Die%c6", "SysWatt")


def shown(text: str, gains: list[Raw], row: RowId, seconds: int = 2) -> object:
    """A cell of an added counter whose signal gained, or is, this on two CPUs with a TSC of 1 GHz."""
    counter = parse_added(text)
    level = counter.shape in (Shape.RAW, Shape.AVERAGE)
    item = signal(counter.signal, counter.scope, Reduce.SAME if counter.shape is Shape.RAW else Reduce.MEAN,
                  behavior=Behavior.GAUGE if level else Behavior.COUNTER)
    script = Script(PAIR, (item, signal("tsc", Scope.CPU, Reduce.MEAN)))
    frame = script.frame({counter.signal: gains, "tsc": [seconds * 1_000_000_000] * 2}, seconds=seconds)
    return frame.cell(added_column(counter), row)


@pytest.mark.parametrize(
    ("text", "gains", "of_cpu_0", "of_all"),
    [
        ("msr0x10,x", [7, 10], 7, 8),  # the mean of a summary is of integers (docs/specs/turbostat.md 1.6)
        ("msr0x10,x,average", [7, 10], 7, 8),
        ("msr0x10,x,percent", [500_000_000, 1_500_000_000], 25.0, 50.0),
        ("msr0x10,x,percent", [2_300_000_000, 0], None, 57.5),  # above 110 % is unknown
        ("/x,x,percent,usec", [1_000_000, 0], 50.0, 25.0),
        ("/x,x,percent,seconds", [1, 0], 50.0, 25.0),
        ("msr0x10,x,raw", ["000000000000000a", "000000000000000b"], "000000000000000a", None),
        ("msr0x10,x,raw", ["000000000000000a", "000000000000000a"], "000000000000000a", "000000000000000a"),
    ],
)
def test_values_and_summaries(text: str, gains: list[Raw], of_cpu_0: object, of_all: object) -> None:
    assert shown(text, gains, cpu_row(0)) == of_cpu_0
    assert shown(text, gains, SYSTEM_ROW) == of_all


def probed(machine: Machine, text: str) -> tuple[Source, Signal | Unavailable]:
    counter = parse_added(text)
    source = added_source(counter)
    return source, source.probe(machine).signals[counter.signal]


def read(machine: Machine, text: str, cpu: int) -> Raw:
    source, result = probed(machine, text)
    assert isinstance(result, Signal), result
    reader = source.open(machine, cpu, frozenset({result.id}))
    value = reader.read()[0]
    reader.close()
    return value


def test_a_register_is_read_on_each_cpu_whole_and_as_digits() -> None:
    host = FilesHost(registers={(cpu, 0x10): cpu + 0xFFFF_FFFF_0000_0000 for cpu in SERVER.cpus})
    machine = machine_of(host, SAPPHIRE)
    assert read(machine, "msr0x10", 5) == 0xFFFF_FFFF_0000_0005
    assert read(machine, "msr0x10,raw", 5) == "ffffffff00000005"
    assert read(machine, "msr0x10,raw,u32", 5) == "00000005"
    assert host.open_descriptors == 0


def test_a_register_that_is_not_there_costs_one_column_with_its_reason() -> None:
    machine = machine_of(FilesHost(registers={(0, 0x11): 1}), SAPPHIRE)
    _source, result = probed(machine, "msr0x10")
    assert isinstance(result, Unavailable)
    assert "MSR 0x10" in result.detail


def test_no_msr_and_no_perf_are_never_opened() -> None:
    host = FilesHost(registers={(0, 0x10): 1})
    restricted = RestrictedHost(host, msr=False, perf=False)
    machine = machine_of(host, SAPPHIRE)
    guarded = Machine(restricted, machine.topology, machine.model, machine.platform, machine.privileges)
    for source in SOURCES:
        source.probe(guarded)
    _source, result = probed(guarded, "msr0x10")
    assert isinstance(result, Unavailable)
    assert host.touched == []


def test_a_file_is_read_for_every_package() -> None:
    """DEFECT upstream: on the first visit to package 1 the program ends with status 246."""
    host = FilesHost({"/sys/x": "42\n"})
    machine = machine_of(host, SAPPHIRE)
    assert read(machine, "/sys/x,package", 0) == 42
    assert read(machine, "/sys/x,package", 2) == 42
    assert read(machine, "/sys/x,raw,u32", 2) == "0000002a"
    for path in ("/sys/absent", "/sys/text"):
        host.files["/sys/text"] = "forty-two"
        assert isinstance(probed(machine, f"{path},package")[1], Unavailable)


def region(guid: int, words: list[int]) -> dict[str, str | bytes]:
    return {"guid": f"{guid:#x}\n", "size": f"{8 * len(words)}\n", "offset": "0\n",
            "telem": struct.pack(f"<{len(words)}Q", *words)}


def test_telemetry_bits_are_64_bit_arithmetic_and_belong_to_one_instance() -> None:
    """DEFECT upstream: the mask is built in 32 bits, wrong for msb from 31 to 62."""
    files: dict[str, str | bytes] = {}
    for name, content in (("telem10", region(0xABC, [0, 0xFEDC_BA98_7654_3210])), ("telem2", region(0xABC, [1, 2])),
                          ("telem3", region(0xDEF, [3, 4]))):
        files |= {f"/sys/class/intel_pmt/{name}/{file}": text for file, text in content.items()}
    machine = machine_of(FilesHost(files), SAPPHIRE)
    text = "pmt,name=T,domain=package1,offset=8,guid=abc,seq=1"
    assert read(machine, f"{text},lsb=4,msb=43", 2) == "000000a987654321"
    assert read(machine, f"{text},lsb=0,msb=31", 2) == "76543210"
    assert read(machine, f"{text},lsb=0,msb=62", 2) == "7edcba9876543210"
    assert read(machine, f"{text},lsb=0,msb=31", 0) is None  # package 0 has no such counter
    assert isinstance(probed(machine, f"{text},lsb=0,msb=1,seq=2")[1], Unavailable)
    assert isinstance(probed(machine, "pmt,name=T,domain=cpu0,offset=16,guid=def,lsb=0,msb=1")[1], Unavailable)
    joined = join_instances(parse_added(f"{text},lsb=0,msb=31"),
                            parse_added("pmt,name=T,domain=package0,offset=0,guid=def,lsb=0,msb=31"))
    source = added_source(joined)
    assert [source.open(machine, cpu, frozenset({joined.signal})).read()[0] for cpu in (0, 2)] == [
        "00000003", "76543210"]
    with pytest.raises(AddError):
        join_instances(parse_added(f"{text},lsb=0,msb=31"), parse_added("msr0x10,T"))


def test_telemetry_clocks_are_real_divisions() -> None:
    """DEFECT upstream: integer division makes percentages move in steps of 100 / interval."""
    files = {f"/sys/class/intel_pmt/telem0/{file}": text for file, text in region(1, [0]).items()}
    host = FilesHost(files, leaves={(0, 0): (0x20, 0, 0, 0), (0x15, 0): (2, 100, 38_400_000, 0)})
    _source, result = probed(machine_of(host, SAPPHIRE),
                             "pmt,name=T,type=txtal_time,domain=package0,offset=0,lsb=0,msb=63,guid=1")
    assert isinstance(result, Signal)
    assert result.delta(0, 57_600_000) == pytest.approx(1.5)
    _source, result = probed(machine_of(host, SAPPHIRE),
                             "pmt,name=T,type=tcore_clock,domain=package0,offset=0,lsb=0,msb=63,guid=1")
    assert isinstance(result, Signal)
    assert result.delta(0, 600_000_000) == pytest.approx(0.75)


PMU = "/sys/bus/event_source/devices"
TERMS: dict[str, str | bytes] = {
    f"{PMU}/cpu/type": "4\n",
    f"{PMU}/cpu/format/event": "config:0-7\n",
    f"{PMU}/cpu/format/umask": "config:8-15,40-47\n",
    f"{PMU}/cpu/format/inv": "config:23\n",
    f"{PMU}/cpu/format/cmask": "config:24-31\n",
    f"{PMU}/cpu/format/offcore_rsp": "config1:0-63\n",
    f"{PMU}/cpu/events/stalls": "event=0x3c,umask=0x101,inv=1,cmask=0x10,offcore_rsp=0x80\n",
}


def test_every_term_of_an_event_counts() -> None:
    """DEFECT upstream: keys other than event and umask are ignored, and config is cut to 32 bits."""
    host = FilesHost(dict(TERMS), counts=True)
    machine = machine_of(host, SAPPHIRE)
    for text in ("perf/cpu/stalls", "perf/cpu/event=0x3c,umask=0x101,inv=1,cmask=16,offcore_rsp=0x80"):
        source, result = probed(machine, text)
        assert isinstance(result, Signal)
        source.open(machine, 5, frozenset({result.id})).close()
        cpu, attr = host.opened[-1]
        assert (cpu, attr.type, attr.config, attr.config1) == (5, 4, 0x0000_0100_1080_013C, 0x80)


def test_cpu_means_each_kind_of_core_of_a_hybrid() -> None:
    files: dict[str, str | bytes] = {}
    for name, kind, cpus in (("cpu_core", 4, "0-1,4-5"), ("cpu_atom", 10, "2,6")):
        files |= {path.replace("/cpu/", f"/{name}/"): text for path, text in TERMS.items()}
        files |= {f"{PMU}/{name}/type": str(kind), f"{PMU}/{name}/cpus": cpus}
    host = FilesHost(files, counts=True)
    machine = machine_of(host, SAPPHIRE)
    source, result = probed(machine, "perf/cpu/stalls")
    assert isinstance(result, Signal)
    for cpu, kind in ((1, 4), (6, 10)):
        host.opened.clear()
        source.open(machine, cpu, frozenset({result.id})).close()
        assert [(at, attr.type) for at, attr in host.opened] == [(cpu, kind)]


def test_an_event_is_opened_on_the_cpu_that_its_pmu_names() -> None:
    files = {**{path.replace("/cpu/", "/unc/"): text for path, text in TERMS.items()}, f"{PMU}/unc/cpumask": "4,6\n"}
    _source, result = probed(machine_of(FilesHost(files, counts=True), SAPPHIRE), "perf/unc/stalls,package")
    assert isinstance(result, Signal)
    assert result.readers == (4, 6)


@pytest.mark.parametrize(("text", "part"), [("perf/cpu/event=0x3c,nonsense=1", "nonsense"),
                                            ("perf/cpu/stals", "stalls"), ("perf/cpus/stalls", "cpu")])
def test_a_wrong_event_is_reported_with_what_may_have_been_meant(text: str, part: str) -> None:
    _source, result = probed(machine_of(FilesHost(dict(TERMS), counts=True), SAPPHIRE), text)
    assert isinstance(result, Unavailable)
    assert part in result.sentence()
