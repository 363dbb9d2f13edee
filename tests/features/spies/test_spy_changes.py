"""Plans that change while frames are held back: every sample has the counts of its time."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest
from jsontables import tables
from patience import PATIENCE
from spy_files import plan_text

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.spies import SpyPlan, typed_spy
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.sampling.spy_file import SpyFile
from turbotui.sources import SOURCES

REFERENCE = "task-clock"
BEFORE, AFTER = "context-switches,page-faults", "context-switches,cpu-migrations"


def write(path: Path, events: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(plan_text(SpyPlan((typed_spy("all", events),), REFERENCE)))
    os.replace(new, path)


@pytest.mark.real
def test_a_plan_that_changes_amid_frames_that_were_held_back_is_that_of_the_next_ones(tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    write(path, BEFORE)
    host = LinuxHost()
    session = Session(read_machine(host), SOURCES, 0.05, host)
    session.spy_by(SpyFile(str(path)))
    if session.spy_notes:
        pytest.skip("; ".join(session.spy_notes))
    taken: list[tuple[Frame, SpyPlan, tuple[CounterColumn, ...]]] = []
    ended = threading.Event()

    def take(frame: Frame) -> None:
        taken.append((frame, session.spies, session.spied))
        if frame.newer.behind == 2 and len({id(item[1]) for item in taken}) == 1:
            write(path, AFTER)

    session.start(take, intervals=16, on_end=ended.set, hold=0.2)
    assert ended.wait(PATIENCE)
    assert session.failure is None
    plans = [plan.events for _frame, plan, _spied in taken]
    changed = next(number for number, names in enumerate(plans) if "cpu-migrations" in names)
    assert taken[changed - 1][0].newer.behind == 0, "all frames that were read together have one plan"
    assert plans == [plans[0]] * changed + [plans[-1]] * (len(plans) - changed)
    for number, (frame, _plan, spied) in enumerate(taken[1:], 1):
        assert all(frame.can(column) for column in spied), number
        known = {column.id for column in spied if frame.cell(column, SYSTEM_ROW) is not None}
        lacks = {"cpu-migrations"} if number == changed else set()
        assert {column.id for column in spied} - known == lacks, "what begins has no older reading, all else is known"


def started(path: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "turbotui", "spy", "--config", str(path), "-i", "0.05", "-n", "40", *words]
    return subprocess.Popen(  # noqa: S603 - the test's own words
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def rest_after_change(path: Path, out: IO[str], lines: int) -> list[str]:
    """Return every line, with the plan changed after a number of lines."""
    result = [out.readline() for _ in range(lines)]
    if not all(result):
        pytest.skip("no software events can be counted on whole CPUs here")
    write(path, AFTER)
    return result + list(out)


def late_answers(process: subprocess.Popen[str]) -> int:
    """Return how often a CPU answered too late; its next interval contains these counts."""
    assert process.stderr is not None
    match = re.search(r"(\d+) answers? of (?:CPUs|a CPU) came too late", process.stderr.read())
    return 0 if match is None else int(match[1])


@pytest.mark.real
def test_no_sample_that_is_printed_late_loses_its_values(tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    write(path, BEFORE)
    with started(path, "--format", "csv") as process:
        assert process.stdout is not None
        lines = rest_after_change(path, process.stdout, 3)
        late = late_answers(process)
    assert process.returncode == 0
    heads = [number for number, line in enumerate(lines) if line.startswith("time,")]
    assert len(heads) == 2, "the header is printed anew where the columns change"
    times: list[str] = []
    for begin, end, last in ((0, heads[1], "page-faults"), (heads[1], len(lines), "cpu-migrations")):
        rows = list(csv.DictReader(lines[begin:end]))
        fresh = rows[0]["time"]
        moments = list(dict.fromkeys(row["time"] for row in rows))
        silent = [moments.index(row["time"]) for row in rows if row["row"] == "cpu" and not row["context-switches"]]
        late -= len(silent)
        unsure = {moments[at] for item in silent for at in (item, item + 1) if at < len(moments)}
        for row in rows:
            if row["time"] not in unsure:
                assert row[REFERENCE], row
                assert row["context-switches"], row
                assert row[last] or (row["time"] == fresh and begin), row
        times += moments
    assert late >= 0, "whoever has no number answered too late"
    assert len(times) == 40


@pytest.mark.real
def test_no_interval_that_is_joined_loses_its_counts(tmp_path: Path) -> None:
    path = tmp_path / "spies.toml"
    write(path, BEFORE)
    with started(path, "--joined", "--json") as process:
        assert process.stdout is not None
        result = tables("".join(rest_after_change(path, process.stdout, 2)))
        late = late_answers(process)
    assert process.returncode == 0
    rows = [row for item in result for row in item["rows"]]
    seen = [(row["cpu"], row["seq"]) for row in rows]
    cpus = {cpu for cpu, _seq in seen}
    expected = {(cpu, seq) for cpu in cpus for seq in range(1, 41)}
    assert len(seen) == len(set(seen))
    assert set(seen) <= expected
    assert len(expected - set(seen)) <= late, "an interval is missing only where its CPU answered too late"
    for cpu in cpus:
        names = [{name for name, value in row["values"].items() if value is not None}
                 - {"length", REFERENCE, "context-switches"} for row in rows if row["cpu"] == cpu]
        changed = next(number for number, item in enumerate(names) if item != {"page-faults"})
        # what begins to be counted in the first interval of a plan has no older reading in it
        assert names[changed] <= {"cpu-migrations"}
        assert all(name == {"cpu-migrations"} for name in names[changed + 1:])
