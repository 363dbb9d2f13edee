"""Regions of a command from samples of its threads, with page faults in place of a core's events."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_faults import TOUCH
from patience import least_disturbed

from turbotui.cli import main
from turbotui.features.tasks.task_regions import TaskRegions, region_table
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.linux import LinuxHost
from turbotui.machine.region_pipes import RegionPipe, RegionProcesses
from turbotui.machine.timed_reads import clock_offset

_PAGES = 12_000
_PROGRAM = TOUCH + f"""
import turbotui

with turbotui.region("all of it"):
    for _ in range(3):
        with turbotui.region("much"):
            touch({3 * _PAGES})
        with turbotui.region("little"):
            touch({_PAGES})
"""
_NAMES = (RUN, "events")


@pytest.mark.real
@least_disturbed
def test_each_region_has_its_own_counts(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "-e", "page-faults", "--json", "--", sys.executable, "-c", _PROGRAM]) == 0
    tables = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    tasks, regions = tables[0], tables[-1]
    assert regions["table"] == "regions"
    result = {row["region"]: row["values"] for row in regions["rows"]}
    assert {name: row["Entered"] for name, row in result.items()} == {"all of it": 1, "much": 3, "little": 3}
    faults = {name: row["page-faults"] for name, row in result.items()}
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert faults["all of it"] == pytest.approx(12 * _PAGES, rel=0.1)
    assert faults["much"] + faults["little"] == pytest.approx(faults["all of it"], rel=0.1)
    assert 0 < result["much"]["Run%"] < result["all of it"]["Run%"] <= 100.0
    assert any("at least one thread" in note for note in tasks["notes"])


@pytest.mark.real
def test_text_has_the_regions_below_the_tasks(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "--", sys.executable, "-c", _PROGRAM]) == 0
    written = capfd.readouterr().out
    assert "# marked regions" in written
    assert "all of it" in written
    assert main(["tasks", "--", "true"]) == 0
    assert "regions" not in capfd.readouterr().out


def _write(pipe: RegionPipe, *marks: str) -> None:
    descriptor = os.open(pipe.path, os.O_WRONLY)
    os.write(descriptor, "".join(f"{mark}\n" for mark in marks).encode())
    os.close(descriptor)


def _raw(ns: int) -> int:
    """The perf clock at a time of the marks' clock."""
    return ns + clock_offset(partial(time.clock_gettime_ns, time.CLOCK_MONOTONIC_RAW), time.monotonic_ns)


def test_a_slice_is_shared_out_by_the_time_that_a_region_was_open_in_it() -> None:
    base = time.monotonic_ns() - 20 * 10**9
    second = 10**9
    with RegionPipe() as pipe:
        regions = TaskRegions(pipe, _NAMES)
        _write(pipe, f"B {base + 1 * second} 7 7 0 solve", f"B {base + 2 * second} 7 8 0 solve", "what is this",
               f"E {base + 3 * second} 7 7 2 solve", f"E {base + 5 * second} 7 8 0 solve",
               f"E {base + 6 * second} 7 8 0 never")
        at = _raw(base)
        regions.add(at, at + 2 * second, (2 * second, 100))  # half of it
        regions.add(at + 2 * second, at + 4 * second, (2 * second, 1000))  # all of it
        regions.add(at + 5 * second, at + 9 * second, (4 * second, 7))  # none of it
        regions.settle()
        (region,) = regions.rows()
        notes = " ".join(regions.notes)
    assert (region.name, region.entries) == ("solve", 2)
    assert region.seconds == pytest.approx(4.0)
    assert region.counts["events"] == pytest.approx(50 + 1000, abs=1)
    assert region.counts[RUN] == pytest.approx(3 * second, rel=1e-3)
    assert region.of_run == pytest.approx(3 / 8, rel=1e-3)
    assert region.apportioned >= 1 / 3 - 1e-3
    assert "2 marks of regions were lost" in notes
    assert "1 ends of regions that had not begun" in notes
    assert "1 lines in TURBOTUI_REGIONS were no marks" in notes
    table = region_table((region,))
    column = next(column for column in table.columns if column.id == "events")
    assert table.cell(column, region).estimated


def test_a_region_that_a_process_left_open_ends_with_it() -> None:
    begun = time.monotonic_ns() - 10**9
    with RegionPipe() as pipe, subprocess.Popen(["sleep", "600"]) as running:  # noqa: S607
        regions = TaskRegions(pipe, _NAMES, writers=RegionProcesses(LinuxHost(), pipe))
        _write(pipe, f"B {begun} {running.pid} {running.pid} 0 solve", f"B {begun} {os.getpid()} 8 0 other")
        running.kill()
        running.wait()
        regions.settle()
        first, again = regions.rows(), regions.rows()
        at = _raw(begun) + 3 * 10**9
        regions.add(at, at + 10**9, (10**9, 100))
        regions.settle()
        counts = {region.name: region.counts.get("events", 0.0) for region in regions.rows()}
        notes = " ".join(regions.notes)
    assert {region.name for region in first if region in again} == {"solve"}  # the other one goes on
    assert counts == {"solve": 0.0, "other": 100.0}
    assert "2 regions had not ended" in notes


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 100)), max_size=20),
       st.lists(st.integers(0, 100), min_size=2, max_size=20, unique=True))
def test_parts_of_slices_add_up(spans: list[tuple[int, int]], cuts: list[int]) -> None:
    """However time is cut into slices, a region gets the same share of it as of the whole."""
    ms = 10**6
    base = time.monotonic_ns() - 10**9
    marks = sorted((base + at * ms, kind, number) for number, (start, length) in enumerate(spans)
                   for at, kind in ((start, "B"), (start + length, "E")))
    with RegionPipe() as pipe:
        regions = TaskRegions(pipe, _NAMES)
        for ns, kind, number in marks:
            _write(pipe, f"{kind} {ns} 7 {number + 1} 0 it")
        edges = sorted(cuts)
        at = _raw(base)
        for start, end in itertools.pairwise(edges):
            regions.add(at + start * ms, at + end * ms, ((end - start) * ms, end - start))
        regions.settle()
        task_regions = regions.rows()
    inside = sum(any(start <= ms_at < start + length for start, length in spans)
                 for ms_at in range(edges[0], edges[-1]))
    counted = task_regions[0].counts["events"] if task_regions else 0.0
    assert counted == pytest.approx(inside, abs=0.5)


def test_counts_of_multiplexed_sets_are_unknown_with_the_reason() -> None:
    with RegionPipe() as pipe:
        regions = TaskRegions(pipe, _NAMES, 2)
        _write(pipe, "B 1 7 7 0 solve")
        regions.settle()
        table = region_table(regions.rows())
    (row,) = table.rows
    column = next(column for column in table.columns if column.id == "Run%")
    why = table.cell(column, row).why
    assert why is not None
    assert "multiplexed" in why.detail
