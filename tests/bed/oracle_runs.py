"""Runs turbostat and `turbotui stat` on one simulated machine, and takes what they print apart."""

from __future__ import annotations

import contextlib
import io
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from fake_machine import FakeMachine, why_not
from instruction_tracer import cannot_trace
from oracle_machines import Case
from patience import PATIENCE

from turbotui.features.info.model import configuration
from turbotui.features.stat.opening import open_stat
from turbotui.features.stat.options import parse_options
from turbotui.sampling.frame import Frame
from turbotui.simulated import ManualClock
from turbotui.tables.frame_formats import make_frame_format

THEIRS = shutil.which("turbostat") or "/usr/sbin/turbostat"
INTERVALS = 3
_UNTIL_TOLD = 1e6
"""Seconds of an interval that only `end_interval` ends: the clock is moved by hand between two readings."""


def missing() -> str:
    """Return what a comparison lacks here; "" if nothing is missing."""
    if shutil.which("turbostat") is None:
        return "turbostat is not installed (Debian: linux-cpupower)"
    return why_not() or cannot_trace()


@dataclass
class Printed:
    """The output of one run: configuration lines, and a table for each interval, by row and column."""

    header: list[str]
    titles: list[str]
    tables: list[list[dict[str, str]]] = field(default_factory=list)


def _tables(lines: Sequence[str]) -> Printed:
    found = Printed([], [])
    for line in lines:
        cells = line.split("\t")
        if not found.titles or cells == found.titles:
            found.titles = cells
            found.tables.append([])
        else:
            found.tables[-1].append(dict(zip(found.titles, cells, strict=False)))
    return found


def turbostat(case: Case, *more: str) -> Printed:
    """Return the output of turbostat on the machine."""
    words = ("-i", "1", "-n", str(INTERVALS), *case.words, *more)
    host = case.host()
    with FakeMachine(host, traced=True, cpuid=getattr(host, "cpuid", None)).started([THEIRS, *words]) as running:
        output, errors = running.process.communicate(timeout=PATIENCE)
    if running.process.returncode:
        pytest.fail(f"turbostat ended with {running.process.returncode}: {errors[-400:]}")
    found = _tables(output.splitlines())
    found.header = errors.strip().splitlines()
    return found


def turbotui(case: Case, *more: str) -> Printed:
    """Return the output of `turbotui stat` on the same machine: the real command, with a clock advanced by the test."""
    host = case.host()
    clock = host._clock
    assert isinstance(clock, ManualClock)
    alone = ("--no-perf",) if case.registers else ()  # the counters of perf are the model's
    options = parse_options(("-i", "1", "-n", str(INTERVALS), *alone, *case.words, *more))
    complaints = io.StringIO()
    with contextlib.redirect_stderr(complaints):
        opened = open_stat(replace(options, interval=_UNTIL_TOLD), host)
    text = make_frame_format("text", opened.layout)
    session = opened.session
    header = [line.text for section in configuration(session.machine, beyond=False) for line in section.lines]
    ended = threading.Event()
    lines: list[str] = []

    def take(frame: Frame) -> None:
        if frame.older is not None:
            lines.extend(line for line in text.lines(frame) if not line.startswith("#"))
        clock.advance(options.interval)
        session.end_interval()

    session.start(take, intervals=INTERVALS, on_end=ended.set)
    try:
        assert ended.wait(PATIENCE)
    finally:
        session.stop()
    assert session.failure is None, session.failure
    found = _tables(lines)
    found.header = [*complaints.getvalue().splitlines(), *header]
    return found
