"""The overview's last line about the machine, and the arguments of its tasks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from turbotui.diagnosis.rules import MemoryTotal
from turbotui.features.overview.lines import note_line
from turbotui.features.overview.task_lines import task_lines
from turbotui.features.overview.top_tasks import MachineStatus, TopTask, look, machine_status
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.process_stats import ReadProcesses

_FACTS = MachineStatus((11.26, 9.04, 0.5), (round(2.31 * 2**30), round(23.5 * 2**30)), 2 * 86400 + 7 * 3600 + 35 * 60)


def note(facts: MachineStatus, mute: int, sources: int, width: int) -> str:
    """The text of the line."""
    return "".join(span.text for span in note_line(facts, mute, sources, width))


@pytest.mark.parametrize(("width", "said"), [
    (140, (" load 11.3 9.04 0.50 · memory ■········· 2.3 of 23.5 GiB · up 2 d 7:35             "
           "21 of 36 sources of numbers cannot be read here: 9 says why")),
    (130, " load 11.3 9.04 0.50 · memory ■········· 2.3 of 23.5 GiB · up 2 d 7:35    9 doctor: 21 sources missing"),
    (98, " load 11.3 9.04 0.50 · mem ■···· 2.3 of 23.5 GiB · up 2 d 7:35    9 doctor: 21 sources missing"),
    (90, " load 11.3 9.04 0.50 · memory ■········· 2.3 of 23.5 GiB     9 doctor: 21 sources missing"),
    (80, " load 11.3 9.04 0.50 · mem ■···· 2.3 of 23.5 GiB    9 doctor: 21 sources missing"),
])
def test_the_line_says_as_much_as_fits(width: int, said: str) -> None:
    result = note(_FACTS, 21, 36, width)
    assert " ".join(result.split()) == " ".join(said.split())
    assert len(result) <= width - 1


def test_threads_and_swap_are_told_where_nothing_becomes_shorter_for_them() -> None:
    facts = replace(_FACTS, threads=(5, 1192), swap=(3 << 29, 4 << 30))
    assert " up 2 d 7:35 · 5 of 1,192 threads run · swap 1.5 of 4.0 GiB   " in note(facts, 21, 36, 200)
    assert " up 2 d 7:35 · 5 of 1,192 threads run   " in note(facts, 21, 36, 165)
    assert note(facts, 21, 36, 140) == note(_FACTS, 21, 36, 140)


@pytest.mark.parametrize(("load", "words"), [
    ((43.1, 120.4, 9.0), "load 43.1 120 9.00 · mem ■···· 256 of 1,024 GiB   9 doctor: 14 sources missing"),
    ((43.1, 43.2, 43.0), "load 43.1 43.2 43.0 · mem ■···· 256 of 1,024 GiB  9 doctor: 14 sources missing"),
])
def test_a_big_machine_has_its_bar_of_memory_on_a_small_screen(load: tuple[float, ...], words: str) -> None:
    assert note(MachineStatus(load, (256 << 30, 1024 << 30), 93_780.0), 14, 46, 80) == f" {words}"


def test_threads_and_swap_are_those_of_proc(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "loadavg").write_text("1.50 0.75 0.25 3/412 4711\n")
    (proc / "meminfo").write_text("MemTotal: 8 kB\nMemAvailable: 2 kB\nSwapTotal: 1024 kB\nSwapFree: 256 kB\n")
    status = machine_status(LinuxHost(str(tmp_path)))
    assert (status.load, status.threads, status.swap) == ((1.5, 0.75, 0.25), (3, 412), (768 << 10, 1024 << 10))
    (proc / "loadavg").write_text("1.50 0.75 0.25 3/many 4711\n")
    (proc / "meminfo").write_text("MemTotal: 8 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
    status = machine_status(LinuxHost(str(tmp_path)))
    assert (status.load, status.threads, status.swap) == ((1.5, 0.75, 0.25), None, None)
    (proc / "meminfo").write_text("SwapTotal: 1024 kB\n")
    assert machine_status(LinuxHost(str(tmp_path))).swap is None, "and not all of it used"


def test_what_is_not_reported_takes_no_room() -> None:
    assert note(MachineStatus(), 3, 9, 80) == " 3 of 9 sources of numbers cannot be read here: 9 says why"
    assert note(MachineStatus(up=59.0), 0, 9, 80) == " up 0:00"
    assert note(MachineStatus(), 0, 9, 80) == ""


def _drawn(width: int, arguments: str) -> list[str]:
    task = TopTask(4242, "python3", "R", 3, 1, 61.5, 128_000_000, 75.0, arguments)
    return ["".join(span.text for span in line) for line in task_lines([task], width, 1)]


@pytest.mark.parametrize("width", [50, 80])
@pytest.mark.parametrize("which", ["absent", "unseen"])
def test_why_there_are_no_tasks_is_not_cut(width: int, which: str) -> None:
    sentence = "not kept of the past: 7 has tasks of times when it was shown or recorded, of all of them or some"
    draw = partial(task_lines, absent=sentence) if which == "absent" else partial(task_lines, unseen=sentence)
    _title, *lines = draw([], width, 4)
    assert " ".join("".join(span.text for span in line).strip() for line in lines) == sentence
    assert len(draw([], width, 1)) == 2


def test_arguments_stand_where_there_is_room_and_end_with_the_line() -> None:
    title, row = _drawn(120, "-m pytest tests/a/very/long/path/that/does/not/fit/into/the/line.py")
    assert title.rstrip().endswith("CPU time  arguments")
    assert "1:15  -m pytest tests/a" in row
    assert row.rstrip().endswith("…")
    assert len(row) == len(title) == 120
    title, row = _drawn(60, "-m pytest")
    assert "arguments" not in title
    assert "pytest" not in row


def test_a_small_screen_leaves_out_threads_for_the_arguments() -> None:
    title, row = _drawn(80, "-m pytest")
    assert title.split() == ["task", "CPU%", "process", "memory", "arguments"]
    assert row.rstrip().endswith("-m pytest")
    assert len(row) == len(title) == 80
    title, row = _drawn(80, "")
    assert title.split()[-2:] == ["CPU", "memory"]


@pytest.mark.real
def test_this_machine_tells_its_load_memory_and_time() -> None:
    host = LinuxHost()
    facts = look(host, ReadProcesses(), None).machine
    assert facts.load is not None
    assert len(facts.load) == 3
    assert facts.memory is not None
    assert 0 < facts.memory[0] < facts.memory[1]
    assert facts.up is not None
    assert facts.up > 0


def test_the_bytes_that_memory_moves_stand_beside_how_full_it_is() -> None:
    def said(traffic: MemoryTotal | None) -> str:
        return note(replace(_FACTS, traffic=traffic), 0, 9, 140)

    assert "GiB · 33.6 of 614 GB/s (5 %), 75 % local · up" in said(MemoryTotal(33.6e9, 614.4e9, local=25.2e9))
    assert "GiB · 33.6 of at most 614 GB/s (5 % or more) · up" in said(MemoryTotal(33.6e9, 614.4e9, at_most=True))
    assert "GiB · 33.6 GB/s · up" in said(MemoryTotal(33.6e9, None)), "a peak that nobody tells is none"
    assert "GiB · 0.0 GB/s · up" in said(MemoryTotal(0.0, None, local=0.0)), "no bytes have no local share"
    assert "GB/s" not in said(None)
