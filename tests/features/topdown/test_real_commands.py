"""Commands, their regions and their threads, with page faults in place of slots, as every kernel counts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from page_fault_tree import StandIn, this_machine
from page_faults import TOUCH
from patience import PATIENCE, least_disturbed

from turbotui.commands.intervals import IntervalOutput
from turbotui.errors import MachineError
from turbotui.features.topdown.command_counters import RegionCounts, added, follow_command
from turbotui.features.topdown.counter_parts import PartCount
from turbotui.features.topdown.followed import FollowRequest, run_followed
from turbotui.features.topdown.places import CpuSet, RowLevel
from turbotui.features.topdown.printing import TopdownPrinter
from turbotui.features.topdown.thread_counters import ThreadCounters
from turbotui.features.topdown.thread_rows import counted_row, thread_rows
from turbotui.features.topdown.thread_search import ProcessThreads
from turbotui.machine.observing import observe
from turbotui.machine.region_pipes import GivenPipe, RegionPipe
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.region_marks import VARIABLE
from turbotui.tables.formats import Writer

_PAGES = 12_000
_TOUCH = TOUCH + "import os, sys, threading, time, turbotui\n"
_REGIONS = _TOUCH + f"""
with turbotui.region("all of it"):
    for _ in range(3):
        with turbotui.region("much"):
            touch({3 * _PAGES})
        with turbotui.region("little"):
            touch({_PAGES})
"""
_THREADS = _TOUCH + f"""
def work(pages):
    time.sleep(0.4)
    touch(pages)
    time.sleep(0.4)

both = [threading.Thread(target=work, args=(pages,)) for pages in ({_PAGES}, {3 * _PAGES})]
for one in both:
    one.start()
for one in both:
    one.join()
sys.exit(7)
"""


@pytest.mark.real
@least_disturbed
def test_regions_have_their_own_counts_and_the_command_all_of_them() -> None:
    machine = this_machine()
    with RegionPipe() as pipe, observe([sys.executable, "-c", _REGIONS], prepare=pipe.announce) as seen:
        topdown = follow_command(machine, StandIn(machine), seen, pipe)
    regions = {row.place.name: row for row in topdown.regions}
    assert {name: row.extent.entries for name, row in regions.items() if row.extent is not None} == {
        "all of it": 1, "much": 3, "little": 3}
    faults = {name: row.slots() or 0.0 for name, row in regions.items()}
    # A busy machine reads the counters late after a mark, and regions that follow each other then mix.
    assert 1.5 < faults["much"] / faults["little"] < 6
    assert faults["all of it"] == pytest.approx(12 * _PAGES, rel=0.3)
    assert (topdown.whole.slots() or 0.0) >= faults["all of it"]
    whole = regions["all of it"].extent
    assert whole is not None
    assert whole.of_slots == pytest.approx(faults["all of it"] / (topdown.whole.slots() or 1.0))
    assert 0.0 < whole.of_time < 1.0
    assert topdown.whole.total() == pytest.approx(100.0)
    assert "while the region was open in at least one thread" in " ".join(topdown.notes)


@pytest.fixture
def written() -> list[str]:
    return []


def printer(counters: StandIn, level: RowLevel, written: list[str]) -> TopdownPrinter:
    return TopdownPrinter(counters, level, 1, IntervalOutput(Writer("json", written.extend)))


@pytest.mark.real
@least_disturbed
def test_a_command_and_its_regions_are_two_tables(written: list[str]) -> None:
    written.clear()
    machine = this_machine()
    counters = StandIn(machine)
    asked = FollowRequest([sys.executable, "-c", _REGIONS], (), 1.0, 1)
    assert run_followed(machine, counters, printer(counters, RowLevel.COMMAND, written), asked) == 0
    whole, regions = map(json.loads, written)
    (command,) = whole["rows"]
    assert command["values"]["retiring%"] + command["values"]["backend%"] == pytest.approx(100.0)
    assert regions["table"] == "regions"
    by_name = {row["region"]: row["values"] for row in regions["rows"]}
    assert by_name["much"]["Entered"] == 3
    assert by_name["all of it"]["Slots%"] > by_name["much"]["Slots%"] > by_name["little"]["Slots%"] > 0


@pytest.mark.real
@least_disturbed
def test_programs_that_run_are_counted_by_region_until_they_end(tmp_path: Path, written: list[str]) -> None:
    path = tmp_path / "marks"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    written.clear()
    machine = this_machine()
    counters = StandIn(machine)
    program = _TOUCH + f"touch({20 * _PAGES})  # nobody counts this: no mark was made yet" + _REGIONS.replace(
        _TOUCH, "\n") + "turbotui.region('never ends').__enter__()\n"
    pipe = GivenPipe(str(path))
    environment = {**os.environ, VARIABLE: str(path)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment) as running:  # noqa: S603 - this interpreter
        asked = FollowRequest((), (), 1e7, 1, pipe)
        assert run_followed(machine, counters, printer(counters, RowLevel.COMMAND, written), asked) == 0
        assert running.wait() == 0
    whole, regions = map(json.loads, written)
    (row,) = whole["rows"]
    assert row["values"]["retiring%"] + row["values"]["backend%"] == pytest.approx(100.0, abs=0.01)  # read one by one
    by_name = {row["region"]: row["values"] for row in regions["rows"]}
    assert {name: values["Entered"] for name, values in by_name.items()} == {
        "all of it": 1, "much": 3, "little": 3, "never ends": 1}
    assert by_name["all of it"]["GSlots"] * 1e9 == pytest.approx(12 * _PAGES, rel=0.3)
    assert 1.5 < by_name["much"]["GSlots"] / by_name["little"]["GSlots"] < 6
    assert "1 regions had not ended with the program" in whole["notes"]


@pytest.mark.real
def test_a_fifo_in_which_nobody_marks_is_reported(tmp_path: Path, written: list[str]) -> None:
    os.mkfifo(tmp_path / "marks")
    counters = StandIn(this_machine())
    asked = FollowRequest((), (), 0.1, 1, GivenPipe(str(tmp_path / "marks")))
    assert run_followed(this_machine(), counters, printer(counters, RowLevel.COMMAND, written), asked) == 0
    (whole,) = map(json.loads, written)
    assert whole["rows"][0]["values"]["retiring%"] is None
    assert "no program marked a region" in " ".join(whole["notes"])


@pytest.mark.real
@least_disturbed
def test_threads_of_a_command_are_rows_and_its_status_is_ours(written: list[str]) -> None:
    written.clear()
    machine = this_machine()
    counters = StandIn(machine)
    asked = FollowRequest([sys.executable, "-c", _THREADS], (), 1.0, 1)
    assert run_followed(machine, counters, printer(counters, RowLevel.THREAD, written), asked) == 7
    (table,) = map(json.loads, written)
    faults = sorted(round(row["values"]["GSlots"] * 1e9) for row in table["rows"])
    assert len(faults) == 3  # the first thread, and both that it made
    assert _PAGES <= faults[-2] < 1.5 * _PAGES or _PAGES <= faults[-3] < 1.5 * _PAGES
    assert 3 * _PAGES <= faults[-1] < 4 * _PAGES
    assert len({row["tid"] for row in table["rows"]}) == 3


@pytest.mark.real
@least_disturbed
def test_a_process_that_runs_is_counted_until_it_ends(written: list[str]) -> None:
    written.clear()
    machine = this_machine()
    counters = StandIn(machine)
    program = _TOUCH + "print('ready', flush=True)\nwhile True:\n    touch(500)\n"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        assert running.stdout is not None
        running.stdout.readline()
        assert run_followed(machine, counters, printer(counters, RowLevel.THREAD, written),
                            FollowRequest((), (running.pid,), 0.3, 2)) == 0
        running.send_signal(signal.SIGKILL)
    assert len(written) == 2
    for line in written:
        (row,) = json.loads(line)["rows"]
        assert row["tid"] == running.pid
        assert row["values"]["retiring%"] == pytest.approx(100.0, abs=1.0)
    with pytest.raises(MachineError, match="no process"):
        ProcessThreads(machine.host, (running.pid,))


@pytest.mark.real
def test_children_of_a_command_are_found() -> None:
    machine = this_machine()
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        pytest.skip("this kernel has no /proc/PID/task/TID/children")
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"]) as shell:  # noqa: S607
        finder = ProcessThreads(machine.host, (shell.pid,), family=True)
        threads = ThreadCounters(machine, StandIn(machine), finder)
        try:
            end = time.monotonic() + PATIENCE
            while len(finder.find()) < 2:
                assert time.monotonic() < end
            threads.look()
            rows = thread_rows(StandIn(machine).branches, threads.measure())
            assert {row.place.pid for row in rows} > {shell.pid}
        finally:
            threads.close()
            for pid in finder.find():
                if pid != shell.pid:
                    os.kill(pid, signal.SIGKILL)


def test_a_region_gets_its_share_of_what_is_read_together() -> None:
    counters = StandIn(this_machine())

    def counted(number: float) -> dict[tuple[str, str], tuple[PartCount, ...] | Unavailable]:
        return {("software", ""): (PartCount({"all": number, "minor": number, "major": 0.0}, 1e9, 1e9),)}

    with RegionPipe() as pipe:
        totals = RegionCounts(10.0)
        with open(pipe.path, "wb", buffering=0) as marks:
            marks.write(b"B 11000000000 7 7 0 solve\n")
            for mark in pipe.take():
                totals.times.take(mark)
            totals.take(counted(400.0), 12.0)  # half of these two seconds
            totals.take(counted(800.0), 15.0)  # all of these three
            marks.write(b"E 15000000000 7 7 2 solve\nwhat is this\n")
            for mark in pipe.take():
                totals.times.take(mark)
            totals.take(counted(100.0), 16.0)
        whole = counted_row(CpuSet(RowLevel.COMMAND, ("command", 0), "it", ()), counters.branches, counted(2000.0), 6.0)
        (row,) = totals.rows(counters, whole, 6.0)
        notes = " ".join(totals.notes(pipe))
    assert row.slots() == pytest.approx(400 / 2 + 800)
    assert row.extent is not None
    assert row.extent.seconds == pytest.approx(4.0)
    assert row.extent.apportioned == pytest.approx(0.25)
    assert row.extent.of_time == pytest.approx(4 / 6)
    assert row.extent.of_slots == pytest.approx(0.5)
    assert "2 marks of regions were lost" in notes
    assert "1 lines in TURBOTUI_REGIONS were no marks" in notes


def test_counts_that_are_unknown_stay_so_with_their_reason() -> None:
    why = Unavailable(Reason.NO_HARDWARE, "no such event")
    key = "software", ""
    assert added({}, {key: why})[key] is why
    known = (PartCount({"all": 1.0}, 1.0, 1.0),)
    assert added({key: known}, {key: why})[key] == known
