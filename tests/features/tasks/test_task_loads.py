"""Load latency of tasks: simulated machines with known values, refusals of the kernel, perf's encodings."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from test_simulated_tasks import passes, watching

from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskInputs, measured
from turbotui.features.tasks.load_watch import LoadEvent, LoadWatch, load_events, period_of
from turbotui.features.tasks.loads import LOAD_BY_ID, LOADS, SampledLoads, sampled_together
from turbotui.features.tasks.recorded_rows import loads_facts, loads_from
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.task_table import judge_task, task_table
from turbotui.machine.host import CAP_PERFMON, HostError, PerfAttr
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.load_records import LoadCounts, Served
from turbotui.machine.tasks.proc_facts import TaskLooks
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.json_values import packed, unpacked
from turbotui.simulated import simulated_host
from turbotui.simulated.clock import ManualClock
from turbotui.simulated.loads import LATENCY, served
from turbotui.simulated.threads import process_of
from turbotui.simulated.workloads import COMPUTE, INTEGER, MEMORY

pytestmark = pytest.mark.usefixtures("few_cores")

EXCLUDE_KERNEL, EXCLUDE_GUEST = 1 << 5, 1 << 20
LEVELS = {"L1": Served.L1, "L2": Served.L2, "L3": Served.L3, "memory": Served.MEMORY, "far": Served.FAR}


def opened(name: str, attr: PerfAttr, *before: PerfAttr) -> int:
    """The errno of opening an event below others, 0 if it opens."""
    host = simulated_host(name, ManualClock())
    try:
        leader = -1
        for perf_attr in (*before, attr):
            number = host.perf_event_open(perf_attr, -1, 0, leader)
            leader = number if leader < 0 else leader
    except HostError as error:
        return error.errno or 0
    return 0


def events_of(name: str) -> tuple[LoadEvent, ...]:
    result = load_events(simulated_host(name, ManualClock()), 8)
    assert not isinstance(result, Unavailable)
    return result


@pytest.mark.parametrize("name", ["sapphire-2s", "icelake-2s", "turin-2s", "laptop-old", "forest-1s"])
def test_what_serves_loads_and_how_long_it_takes_is_the_models(name: str) -> None:
    with watching(name) as (host, applications, application):
        applications.watch_loads(True)
        passes(host, applications, 100)
        applications.report(application, Grouping.PROCESS)
        passes(host, applications, 150)
        report = applications.report(application, Grouping.PROCESS, whole=True)
        works = host.shape.core_types[0].works
        packages = host.shape.packages
    checked = 0
    for kind in (COMPUTE, MEMORY, INTEGER):
        row = next((row for row in report.rows if row.pid == process_of(kind)), None)
        if row is None or row.sampled is None or row.sampled.counts is None or row.sampled.counts.number < 2_000:
            continue
        checked += 1
        counts, truth = row.sampled.counts, served(works[kind], packages)
        assert {word: counts.share(level) for word, level in LEVELS.items()} == pytest.approx(truth, abs=0.012)
        beyond = 1.0 - truth["L1"]
        mean = sum(truth[word] * LATENCY[word] for word in LEVELS if word != "L1") / beyond
        assert counts.mean is not None
        assert counts.mean_error is not None
        assert abs(counts.mean - mean) < 4 * counts.mean_error + 1.0
    assert checked >= 1


@pytest.mark.parametrize("events", ["", "cycles"])
def test_a_sample_is_of_one_row_however_many_event_sets_are_multiplexed(events: str) -> None:
    with watching("turin-2s", Application("all", everything=True, events=events)) as (host, applications, application):
        applications.watch_loads(True)
        passes(host, applications, 20)
        applications.report(application, Grouping.PROCESS)
        passes(host, applications, 60)
        report = applications.report(application, Grouping.PROCESS)
        assert applications._loads is not None
        samples = sum(counts.number for tid, counts in applications._loads._interval.items() if tid)
    assert report.set_count == (1 if events else 4)
    in_rows = sum(row.sampled.counts.number for row in report.rows if row.sampled and row.sampled.counts)
    assert 0.9 * samples < in_rows <= samples


def test_nothing_is_opened_or_said_until_it_is_asked_for() -> None:
    with watching("turin-2s") as (host, applications, application):
        before = host.open_descriptors
        passes(host, applications, 5)
        report = applications.report(application, Grouping.PROCESS)
        assert host.open_descriptors == before
        assert report.sampling == ""
        assert all(row.sampled is None for row in report.rows)
        plain = task_table(report, Grouping.PROCESS, {}, None, TaskLooks(None))
        assert not {column.id for column in plain.columns} & LOAD_BY_ID.keys()
        applications.watch_loads(True)
        assert host.open_descriptors == before + len(applications._cpus)
        passes(host, applications, 5)
        first = applications.report(application, Grouping.PROCESS)
        assert all(row.sampled is None for row in first.rows)  # a part of an interval is not shown as the whole
        passes(host, applications, 20)
        second = applications.report(application, Grouping.PROCESS)
        assert any(row.sampled is not None and row.sampled.counts is not None and row.sampled.counts.number
                   for row in second.rows)
        assert "micro-operations of each CPU (ibs_op/cnt_ctl=1/)" in second.sampling
        table = task_table(second, Grouping.PROCESS, {}, None, TaskLooks(None))
        assert {column.id for column in table.columns} >= LOAD_BY_ID.keys()
        for column in (column for column in table.columns if LOADS in column.needs):
            for row in table.rows:
                cell = table.judge(column, row, column.compute(row))
                assert (cell.value is None) == (cell.why is not None)
        applications.watch_loads(False)
        assert host.open_descriptors == before


def test_nanoseconds_are_cycles_by_the_rows_own_clock() -> None:
    counts = LoadCounts([0, 0, 0, 0, 0, 2, 0, 0], 2, 600, 180_000)
    assert LOAD_BY_ID["LoadLat"].of(counts, None).value == 300.0
    assert LOAD_BY_ID["LoadNs"].of(counts, 2.5).value == 120.0
    unknown = LOAD_BY_ID["LoadNs"].of(counts, None)
    assert unknown.value is None
    assert unknown.why is not None
    assert "clock is not known" in unknown.why.detail


def test_few_samples_are_marked_and_many_are_not() -> None:
    few, many = (LoadCounts([n, 0, 0, 0, 0, n, 0, 0], n, 100 * n, 10_000 * n) for n in (3, 3_000))
    assert LOAD_BY_ID["LoadRAM%"].of(few, None).estimated
    assert not LOAD_BY_ID["LoadRAM%"].of(many, None).estimated
    counts = LoadCounts([0, 0, 0, 0, 0, 1, 0, 0], 1, 100, 10_000)
    assert LOAD_BY_ID["LoadLat"].of(counts, None).estimated


def test_a_row_whose_threads_have_no_number_has_no_samples_and_not_none() -> None:
    with watching("turin-2s") as (host, applications, application):
        applications.watch_loads(True)
        passes(host, applications, 20)
        applications.report(application, Grouping.PROCESS)
        passes(host, applications, 40)
        report = applications.report(application, Grouping.PROCESS)
        assert applications._loads is not None
        row = max(report.rows, key=lambda row: len(row.ran))
        threads = application.aggregate.threads([row])
        [nobody] = applications._loads.rows([row], {}, whole=False)
        some = dict(list(threads.items())[1:])
        [part] = applications._loads.rows([row], some, whole=False)
        [every] = applications._loads.rows([row], threads, whole=False)
    column = next(column for column in TASK_COLUMNS if column.id == "LoadSmp")
    cells = [judge_task(None)(column, inputs, column.compute(inputs)) for each in (nobody, part, every)
             for inputs in [TaskInputs(each, 1.0)]]
    assert cells[0].value is None
    assert cells[0].why is not None
    assert "by a thread's number" in cells[0].why.detail
    assert [cell.partial for cell in cells] == [False, True, False]
    mixed = sampled_together([nobody.sampled, every.sampled])
    assert mixed is not None
    assert (mixed.partial, mixed.why) == (True, None)
    assert mixed.counts == (None if every.sampled is None else every.sampled.counts)
    stored = unpacked(packed(loads_facts([nobody, part, every]) or {}), "loads")
    back = loads_from(stored, 3)
    assert [None if each is None else each.partial for each in back] == [None, True, False]


def test_the_loads_of_rows_together_are_unknown_where_those_of_one_are() -> None:
    known = SampledLoads(LoadCounts([1, 0, 0, 0, 0, 0, 0, 0]))
    both = sampled_together([known, known])
    assert both is not None
    assert both.counts is not None
    assert both.counts.number == 2
    assert sampled_together([known, None]) is None
    assert sampled_together([]) is None


@pytest.mark.parametrize(("change", "number"), [
    # perf_ibs_init, arch/x86/events/amd/ibs.c (Linux 7.2)
    ({}, 0),
    ({"flags": EXCLUDE_KERNEL}, errno.EINVAL),  # without swfilt: what ordinary users have to leave out cannot be
    ({"flags": EXCLUDE_KERNEL, "config2": 1}, 0),
    ({"flags": EXCLUDE_GUEST}, errno.EINVAL),
    ({"sample_period": 0}, errno.EINVAL),  # it samples, and counts nothing
    ({"sample_period": 0x8F}, errno.EINVAL),
    ({"sample_period": 0x90}, 0),
    ({"sample_period": 0, "config": 1 << 19 | 0x1000}, 0),
    ({"config": 1 << 19 | 0x1000}, errno.EINVAL),
    ({"config": 1}, errno.EINVAL),
    ({"config": 1 << 30}, errno.EINVAL),
    ({"config1": 127}, errno.EINVAL),
    ({"config1": 128}, 0),
    ({"config1": 2049}, errno.EINVAL),
])
def test_ibs_refuses_what_the_kernel_refuses(change: dict[str, int], number: int) -> None:
    attr = events_of("turin-2s")[0].attrs[-1]
    assert opened("turin-2s", replace(attr, **change)) == number


def test_load_latency_of_sapphire_rapids_needs_the_event_before_it() -> None:
    before, attr = events_of("sapphire-2s")[0].attrs
    assert opened("sapphire-2s", attr, before) == 0
    assert opened("sapphire-2s", attr) == errno.ENODATA
    assert [len(event.attrs) for event in events_of("icelake-2s")] == [1]


def test_imprecise_samples_say_nothing_of_loads_and_that_is_the_reason() -> None:
    host = simulated_host("icelake-2s", clock := ManualClock())
    event = events_of("icelake-2s")[0]
    watch = LoadWatch(host, (0, 1), beginning=True)
    assert watch._sampler is not None
    imprecise = replace(event.attrs[-1], flags=event.attrs[-1].flags & ~(3 << 15), sample_period=100)
    watch._sampler.close()
    watch._sampler = type(watch._sampler)(host, [(0, (imprecise,)), (1, (imprecise,))])
    clock.advance(5.0)
    watch.end_interval("all")
    assert watch.why is not None
    assert "what the instruction did" in watch.why.detail
    assert host.open_descriptors == 0


def test_a_user_without_rights_is_told_so() -> None:
    host = simulated_host("turin-2s", ManualClock())
    host.set_privileges(uid=1000, capabilities=0, paranoid=1)
    watch = LoadWatch(host, range(4), beginning=True)
    assert watch.why is not None
    assert watch.why.reason is Reason.NOT_PERMITTED
    assert "CAP_PERFMON" in watch.why.remedy
    assert host.open_descriptors == 0
    host.set_privileges(capabilities=1 << CAP_PERFMON)
    able = LoadWatch(host, range(4), beginning=True)
    assert able.why is None
    able.close()


@pytest.mark.parametrize("name", ["vera-2s", "guest"])
def test_a_machine_that_measures_no_loads_says_so(name: str) -> None:
    with watching(name) as (host, applications, application):
        applications.watch_loads(True)
        passes(host, applications, 5)
        report = applications.report(application, Grouping.PROCESS)
    assert report.sampling.startswith("loads are not sampled: no hardware: no PMU here measures loads")
    cell = measured("LoadLat", TaskInputs(report.rows[0], 1.0))
    assert cell.value is None
    assert cell.why is not None
    assert cell.why.reason is Reason.NO_HARDWARE


def test_many_cpus_together_give_as_many_samples_as_a_few() -> None:
    assert period_of(1_000, 4) == period_of(1_000, 8) == 1_000
    assert period_of(1_000, 256) == 32_000
    assert all(event.attrs[-1].sample_period % 16 == 0 for event in events_of("turin-2s"))


def _tree(root: Path) -> LinuxHost:
    files = {
        "cpu/type": "4", "cpu/format/event": "config:0-7", "cpu/format/umask": "config:8-15",
        "cpu/format/ldlat": "config1:0-15", "cpu/events/mem-loads": "event=0xcd,umask=0x1,ldlat=3",
        "cpu/events/mem-loads-aux": "event=0x03,umask=0x82", "cpu/caps/max_precise": "3",
        "ibs_op/type": "11", "ibs_op/format/cnt_ctl": "config:19", "ibs_op/format/ldlat": "config1:0-11",
        "ibs_op/caps/zen4_ibs_extensions": "1",
    }
    for name, text in files.items():
        path = root / "sys/bus/event_source/devices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return LinuxHost(str(root))


def _perfs(root: Path, event: str) -> tuple[int, ...]:
    """Type, config and config1 as perf record opens them: it prints what is refused."""
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("linux-perf")
    environment = {**os.environ, "LC_ALL": "C", "SYSFS_PATH": str(root / "sys")}
    text = subprocess.run(  # noqa: S603 - no shell
        [perf, "record", "-vv", "-W", "-d", "-c", "100000", "-a", "-o", "/dev/null", "-e", event, "true"],
        env=environment, capture_output=True, check=False).stderr.decode()
    block = text.partition("perf_event_attr:")[2]
    if not block:
        pytest.skip("linux-perf that says what it opens")
    matches = (re.search(rf"^  {word} +(0x[0-9a-f]+|\d+)", block, re.MULTILINE)
               for word in ("type", "config", r"\{ bp_addr, config1 \}"))
    return tuple(0 if match is None else int(match[1], 0) for match in matches)


def test_events_are_encoded_as_perf_encodes_them(tmp_path: Path) -> None:
    host = _tree(tmp_path / "amd")
    amd = load_events(host, 4)
    assert not isinstance(amd, Unavailable)
    assert (amd[0].attrs[0].type, amd[0].attrs[0].config, amd[0].attrs[0].config1) == _perfs(
        tmp_path / "amd", "ibs_op/cnt_ctl=1/")
    host = _tree(tmp_path / "intel")
    shutil.rmtree(tmp_path / "intel/sys/bus/event_source/devices/ibs_op")
    intel = load_events(host, 4)
    assert not isinstance(intel, Unavailable)
    for attr, event in zip(intel[0].attrs, ("cpu/mem-loads-aux/", "cpu/mem-loads/P"), strict=True):
        assert (attr.type, attr.config, attr.config1) == _perfs(tmp_path / "intel", event)
    assert intel[0].attrs[-1].config1 == 3
    assert intel[0].attrs[-1].flags >> 15 & 3 == 2


