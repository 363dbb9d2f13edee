"""Columns of a kernel's files, beside an independent reading of this kernel's files before and after each tick.

What grew between the inner readings is the least that a cell may show, and between the outer ones the most.
"""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from comparisons import Comparisons
from patience import PATIENCE

from turbotui.features.stat.opening import open_stat
from turbotui.features.stat.options import parse_options
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.scope import SYSTEM_ROW, RowId, cpu_row
from turbotui.sampling.frame import Frame

pytestmark = pytest.mark.real
_UNTIL_TOLD: Final = 1e6
_SECONDS: Final = 0.5
_TICK: Final = 0.01  # seconds, USER_HZ (proc_stat(5)); times of /proc/stat are rounded down to it
_FILES: Final = ("interrupts", "softirqs", "stat", "vmstat", "loadavg", "meminfo")
_KINDS: Final = {"Timer/s": "LOC", "Resch/s": "RES", "Call/s": "CAL", "TLB/s": "TLB", "Therm/s": "TRM"}
_SOFT: Final = {"NetRx/s": "NET_RX", "NetTx/s": "NET_TX", "Block/s": "BLOCK", "Sched/s": "SCHED", "RCU/s": "RCU"}
_TIMES: Final = {"user%": (1, 2), "sys%": (3,), "iowait%": (5,), "hardirq%": (6,), "softirq%": (7,), "steal%": (8,)}
"""Fields of a row of /proc/stat (proc_stat(5))."""
_OF_SYSTEM: Final = {
    "CSW/s": ("stat", "ctxt"), "Fork/s": ("stat", "processes"), "MajFlt/s": ("vmstat", "pgmajfault"),
    "SwapIn/s": ("vmstat", "pswpin"), "SwapOut/s": ("vmstat", "pswpout"), "OOMKills": ("vmstat", "oom_kill"),
}  # fmt: skip
_LOADS: Final = {"Load1": 0, "Load5": 1, "Load15": 2}

Texts = Mapping[str, str]


def _read() -> Texts:
    idle = {str(path): path.read_text() for path in Path("/sys/devices/system/cpu").glob("cpu*/cpuidle/state*/*")
            if path.name in ("name", "usage", "time")}
    return {**idle, **{name: Path(f"/proc/{name}").read_text() for name in _FILES}}


def _words(text: str, name: str) -> list[str]:
    return next((words for line in text.splitlines() if (words := line.split())[:1] == [name]), [name])


def _row(text: str, name: str, cpu: int) -> float:
    """The count of a row of /proc/interrupts or /proc/softirqs for a CPU."""
    result = _words(text, f"{name}:")
    return float(result[cpu + 1]) if len(result) > cpu + 1 else 0.0


def _every(text: str, cpu: int) -> float:
    """All counts of a CPU of such a file; a row with one number has none of a CPU."""
    count = len(text.splitlines()[0].split())
    rows = (re.findall(r"\d+\b", line.partition(":")[2])[:count] for line in text.splitlines()[1:])
    return float(sum(int(row[cpu]) for row in rows if len(row) == count))


def _counters(texts: Texts, cpus: tuple[int, ...]) -> dict[tuple[str, RowId], float]:
    """What grows, in the unit of the column times the length of the interval."""
    result: dict[tuple[str, RowId], float] = {}
    for cpu in cpus:
        row = cpu_row(cpu)
        result["IRQ", row] = result["IRQ/s", row] = _every(texts["interrupts"], cpu)
        result["NMI", row] = _row(texts["interrupts"], "NMI", cpu)
        result |= {(column, row): _row(texts["interrupts"], name, cpu) for column, name in _KINDS.items()}
        result |= {(column, row): _row(texts["softirqs"], name, cpu) for column, name in _SOFT.items()}
        result["SoftIRQ/s", row] = _every(texts["softirqs"], cpu)
        times = _words(texts["stat"], f"cpu{cpu}")
        result |= {(column, row): 100 * _TICK * sum(int(times[at]) for at in fields)
                   for column, fields in _TIMES.items()}
        for path, text in texts.items():
            if path.endswith("/name") and f"/cpu{cpu}/" in path:
                folder, state = path.removesuffix("name"), text.strip()
                result[state, row] = float(texts[f"{folder}usage"])
                result[f"{state}%", row] = 100 * 1e-6 * float(texts[f"{folder}time"])
    for column, (file, name) in _OF_SYSTEM.items():
        words = _words(texts[file], name)
        if len(words) > 1:
            result[column, SYSTEM_ROW] = float(words[1])
    return result


def test_cells_are_what_this_kernels_files_say(comparisons: Comparisons) -> None:
    with contextlib.redirect_stderr(io.StringIO()):
        opened = open_stat(replace(parse_options(("--show", "all,extra")), interval=_UNTIL_TOLD), LinuxHost())
    session, ended = opened.session, threading.Event()
    texts, instants, frames = list[Texts](), list[float](), list[Frame]()

    def read() -> None:
        """Read the files; the instant is outside of what turbotui reads between two of them."""
        instants.append(time.monotonic())
        texts.append(_read())
        if len(texts) in (2, 4):
            instants[-1] = time.monotonic()

    def take(frame: Frame) -> None:
        read()
        frames.append(frame)
        if len(frames) == 1:
            ended.wait(_SECONDS)
            read()
            session.end_interval()

    done = threading.Event()
    read()
    session.start(take, intervals=1, on_end=done.set)
    try:
        assert done.wait(PATIENCE)
    finally:
        ended.set()
        session.stop()
    assert session.failure is None, session.failure
    frame = frames[-1]
    before, after_first, before_last, after = (_counters(text, tuple(session.machine.topology.cpus)) for text in texts)
    wrong, shown = list[str](), set[str]()
    # a rate is of the time between its own two readings
    longest, shortest = instants[3] - instants[0], instants[2] - instants[1]
    provider = session.capabilities.provider

    def check(title: str, row: RowId, least: float, most: float) -> None:
        column = session.catalog.get(title)
        value = None if column is None else frame.cell(column, row)
        if column is None or value is None:
            return
        shown.add(title)
        slack = 200 * _TICK / shortest if title in _TIMES else 1e-6 * most  # two ticks where times are kept in ticks
        if not least - slack <= float(value) <= most + slack:
            wrong.append(f"{title} of {row}: {value}, and the files say {least} to {most}")
            return
        sources = {provider[need].id for need in column.needs if need in provider}
        for subject in (f"column {title}", *(f"source {source}" for source in sources)):
            comparisons.agreed("kernel", subject)

    for (title, row), last in after.items():
        least = before_last[title, row] - after_first[title, row]
        rate = title.endswith(("/s", "%"))
        check(title, row, least / (longest if rate else 1), (last - before[title, row]) / (shortest if rate else 1))
    for title, at in _LOADS.items():
        both = [float(text["loadavg"].split()[at]) for text in texts[2:]]
        check(title, SYSTEM_ROW, min(both), max(both))
    memory = [{line.split(":")[0]: int(line.split()[1]) for line in text["meminfo"].splitlines()} for text in texts[2:]]
    free = [100 * item["MemAvailable"] / item["MemTotal"] for item in memory]
    check("MemAvail%", SYSTEM_ROW, min(free), max(free))
    assert wrong == []
    assert {"IRQ", "SoftIRQ/s", "user%", "CSW/s", "Load1", "MemAvail%"} <= shown
