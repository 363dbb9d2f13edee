"""Runs turbostat and `turbotui stat` on one simulated machine, and takes what they print apart."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import newest_turbostat
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

INTERVALS = 3
_UNTIL_TOLD = 1e6
"""Seconds of an interval that only `end_interval` ends: the clock is moved by hand between two readings."""


@dataclass(frozen=True, slots=True)
class Turbostat:
    """A release of turbostat on this machine.

    Attributes:
        program: its path, "" where it is not installed.
        libraries: folder of the libraries that it is loaded with, "" for the system's.
        package: where it comes from.
        words: options that it needs to read what `turbotui stat` reads of registers of a real machine, whose perf
            counters would be the model's.
    """

    program: str
    libraries: str
    package: str
    words: tuple[str, ...]

    def missing(self, release: str) -> str:
        """Return what a comparison with this release lacks here; "" if nothing is missing."""
        return why_not() or cannot_trace() or self._not_it(release)

    def _not_it(self, release: str) -> str:
        if not self.program:
            return f"turbostat {release} is not installed ({self.package})"
        program: tuple[str, ...] = (self.program,)
        if self.libraries:
            program = (f"{self.libraries}/{newest_turbostat.LINKER.name}", "--library-path", self.libraries, *program)
        # 2022.10.04 prints it on stderr
        process = subprocess.run((*program, "--version"), capture_output=True, text=True, check=False)  # noqa: S603 - as found
        version = (process.stdout + process.stderr).split()[2:3]
        return "" if version == [release] else f"turbostat is {version}, and DIFFERENCES.md is about {release}"


TURBOSTATS: Final[Mapping[str, Turbostat]] = {
    "2022.10.04": Turbostat(shutil.which("turbostat") or "", "", "Debian 12: linux-cpupower", ("--hide", "IPC")),
    "2026.09.28": Turbostat(
        str(newest_turbostat.PROGRAM) if newest_turbostat.PROGRAM.exists() else "",
        str(newest_turbostat.LIBRARIES), "python tests/bed/newest_turbostat.py", ("--no-perf",),
    ),
}  # fmt: skip
"""By release: what Debian 12 has, and the newest."""


@dataclass
class Printed:
    """The output of one run: configuration lines, and a table for each interval, by row and column.

    Attributes:
        sources: ids of the sources behind each column of turbotui's.
    """

    header: list[str]
    titles: list[str]
    tables: list[list[dict[str, str]]] = field(default_factory=list)
    sources: Mapping[str, frozenset[str]] = field(default_factory=dict)


def _tables(lines: Sequence[str]) -> Printed:
    printed = Printed([], [])
    for line in lines:
        cells = line.split("\t")
        if not printed.titles or cells == printed.titles:
            printed.titles = cells
            printed.tables.append([])
        else:
            printed.tables[-1].append(dict(zip(printed.titles, cells, strict=False)))
    return printed


def turbostat(release: str, case: Case, *more: str) -> Printed:
    """Return the output of turbostat on the machine."""
    theirs = TURBOSTATS[release]
    words = (*(theirs.words if case.registers else ()), "-i", "1", "-n", str(INTERVALS), *case.words, *more)
    host = case.host()
    machine = FakeMachine(host, traced=True, cpuid=getattr(host, "cpuid", None), libraries=theirs.libraries)
    with machine.started([theirs.program, *words]) as running:
        output, errors = running.process.communicate(timeout=PATIENCE)
    if running.process.returncode:
        pytest.fail(f"turbostat ended with {running.process.returncode}: {errors[-400:]}")
    printed = _tables(output.splitlines())
    printed.header = errors.strip().splitlines()
    return printed


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
    value = _tables(lines)
    provider = session.capabilities.provider
    value.sources = {column.id: frozenset(provider[need].id for need in column.needs if need in provider)
                     for column in session.catalog.columns}
    of_columns = "turbotui: "  # about columns that are not available here: those are compared by themselves
    value.header = [line for line in (*complaints.getvalue().splitlines(), *header) if not line.startswith(of_columns)]
    return value
