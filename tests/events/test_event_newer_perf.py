"""Syntax of newer perf (7.2: tools/perf/util/parse-events.l, tests/parse-events.c), compared with its -vv output."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_machines import INTEL, hybrid, pmu, tree, xeon

from turbotui.events import errors as faults
from turbotui.events.encoder import EventEncoder
from turbotui.machine.pmus import EventError
from turbotui.quantities.event_columns import parse_requests
from turbotui.sources.event_bundles import counted

RELOADS = {**INTEL, "acr_mask": "config2:0-63"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> EventEncoder:
    return EventEncoder(xeon(tmp_path_factory.mktemp("xeon")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu-cycles/period=100000,config2/", [(0, 0, 0, 1)]),
        ("cpu/config/", [(4, 1, 0, 0)]),
        ("4:0x6530160/name=numpmu/", [(4, 0x6530160, 0, 0)]),
        ("4:0x1a8/period=5/u", [(4, 0x1A8, 0, 0)]),
        ("software/r0x1a/", [(1, 26, 0, 0)]),
        ("cpu/r0x1a8/", [(4, 0x1A8, 0, 0)]),
        ("cycles:uX", [(0, 0, 0, 0)]),
        ("cpu/CYCLES/", [(0, 0, 0, 0)]),
        ("cpu/L1-DCACHE-LOADS/", [(3, 0, 0, 0)]),
        ("cpu/legacy-hardware-config=1/", [(0, 1, 0, 0)]),
        ("cpu/legacy-cache-config=0x10000/", [(3, 0x10000, 0, 0)]),
        ("cpu-cycles/cmask=1/", [(4, 0x100003C, 0, 0)]),
        ("instructions/inv,cmask=2/u", [(4, 0x28000C0, 0, 0)]),
        ("cycles/cpu=0-1/", [(0, 0, 0, 0)]),
    ],
)
def test_words(encoder: EventEncoder, text: str, expected: list[tuple[int, ...]]) -> None:
    attrs = [event.attr for event in encoder.encode(text)]
    assert [(attr.type, attr.config, attr.config1, attr.config2) for attr in attrs] == expected


def test_a_wildcard_leaves_out_the_pmus_that_lack_the_term(encoder: EventEncoder) -> None:
    events = encoder.encode("*/event=1/")
    assert {event.pmu for event in events} >= {"cpu", "power", "uncore_imc_0", "uncore_imc_1"}
    assert not {event.pmu for event in events} & {"wide", "software", "breakpoint"}


def test_cpus_by_number_and_by_pmu(tmp_path: Path) -> None:
    encoder = EventEncoder(hybrid(tmp_path))
    assert encoder.encode("cpu_core/event=1,cpu=2-3/")[0].cpus == (2, 3)
    assert encoder.encode("cpu-clock/cpu=cpu_atom/")[0].cpus == (8, 9, 10, 11)


@pytest.mark.parametrize(
    ("text", "fault", "says"),
    [
        ("cycles/cpu=nothing/", faults.UnknownPmuError, "no PMU 'nothing', whose CPUs"),
        ("cycles/cpu=3-/", faults.TermValueError, "neither a list of CPUs"),
        ("cycles/aux-action=zz/", faults.TermValueError, "start-paused, pause, resume"),
        ("{cycles,instructions/period=9,ratio-to-prev=0/}", faults.TermValueError, "no ratio above 0"),
        ("{cycles,instructions/period=9,ratio-to-prev=2/}", faults.UnknownTermError, "no format field acr_mask"),
        ("cycles/period=9,ratio-to-prev=2/", faults.GroupError, "event before it in a group"),
        ("event=0x3c", faults.UnknownEventError, "slashes of their PMU, as cpu/event=0x3c/"),
        ("tool/user_time/", faults.NoCounterError, "perf itself.*stat.user"),
        ("NUM_CPUS", faults.NoCounterError, "turbotui info"),
        ("target_cpu", faults.NoCounterError, "how perf itself was called"),
        ("hwmon_x/temp1/", faults.NoCounterError, "no sensor chip 'x'"),
        ("drm_xe/drm-active-ccs/", faults.NoCounterError, "fdinfo"),
        ("1:3/config=4/", faults.ConflictError, "event 1:3 is not counted with another config"),
    ],
)
def test_refused_with_what_to_do(encoder: EventEncoder, text: str, fault: type[EventError], says: str) -> None:
    with pytest.raises(fault, match=says):
        encoder.encode(text)


def test_a_sensor_is_reported_with_its_file(tmp_path: Path) -> None:
    chip = "sys/class/hwmon/hwmon3"
    host = tree(tmp_path, {f"{chip}/name": "coretemp", f"{chip}/temp1_input": "41000",
                           f"{chip}/temp1_label": "Package id 0"})
    for event in ("temp1", "temp_package_id_0"):
        with pytest.raises(faults.NoCounterError, match=r"--add /sys/class/hwmon/hwmon3/temp1_input,raw"):
            EventEncoder(host).encode(f"hwmon_coretemp/{event}/")
    with pytest.raises(faults.NoCounterError, match="has no value 'temp9'"):
        EventEncoder(host).encode("hwmon_coretemp/temp9/")


def test_auto_counter_reload(tmp_path: Path) -> None:
    """Masks of tools/perf/arch/x86/util/evsel.c: the first reloads at the second's overflow, the second at both."""
    encoder = EventEncoder(tree(tmp_path, {**pmu("cpu_atom", 10, RELOADS, cpus="0-3")}))
    first, second = encoder.encode("{cpu_atom/event=0x3c/,cpu_atom/event=0xc0,period=200000,ratio-to-prev=2.0/}")
    assert (first.attr.config2, second.attr.config2) == (0b10, 0b11)
    assert (first.attr.sample_period, second.attr.sample_period) == (100_000, 200_000)
    with pytest.raises(faults.ConflictError, match="period of one of"):
        encoder.encode("{cpu_atom/event=0x3c/,cpu_atom/event=0xc0,ratio-to-prev=2.0/}")


def test_perfs_own_times_are_columns_over_the_kernels() -> None:
    (request,) = parse_requests("user_time")
    assert (request.columns[0].name, request.others, request.events) == ("user_time", ("stat.user",), ())
    (request,) = parse_requests("duration_time")
    assert (request.columns[0].name, request.others, request.events) == ("duration_time", (), ())
    (request,) = parse_requests("share=('tool/system_time/' + user_time) / duration_time")
    assert request.others == ("stat.system", "stat.user")
    (request,) = parse_requests("x='cpu/event=1,name=user_time/' / duration_time")
    assert request.events == ("cpu/event=1,name=user_time/",)


def test_a_latency_is_not_shown_as_a_count(encoder: EventEncoder) -> None:
    assert counted(encoder.encode("cycles"))
    with pytest.raises(faults.ModifierError, match="retirement latency"):
        counted(encoder.encode("cpu/event=0x3c/R"))
