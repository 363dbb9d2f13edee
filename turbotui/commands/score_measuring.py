"""Measures the performance ratio once: APERF and MPERF of every CPU from the start of a load to its end."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from turbotui.analysis.score import CpuRatio, Run, Throttling, judge
from turbotui.errors import MachineError, TurbotuiError
from turbotui.machine.launching import Held
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.census import take_census
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.sources import SOURCES

_FOREVER = 1e6  # nominal interval in seconds: the command's end ends it
_RATIO = ("Ratio", "Busy%")
_HOLDING = ("CoreThr", "PkgThr", "PKG_%", "Throttle")  # what can hold cores back, where the machine counts it
_NOTHING = "none"  # what Throttle says when nothing does


@dataclass(frozen=True, slots=True)
class Load:
    """What is run while the ratio is measured.

    Attributes:
        command: its words; empty: whatever runs on the machine.
        pattern: finds the score in what the command prints: the first group, or all of the match; the last line that
            matches holds. None: nobody looks.
    """

    command: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None


def measure(machine: Machine, seconds: float, load: Load = Load()) -> tuple[Run, float | None]:
    """One measurement: the difference of two readings of APERF and MPERF on every CPU.

    Args:
        machine: to measure.
        seconds: the interval, where there is no command.
        load: the interval is the run of its command.

    Returns:
        The measurement, and the score that the command printed.

    Raises:
        MachineError: there is no APERF and MPERF.
        TurbotuiError: the command cannot be run, or failed.
    """
    census = take_census(machine, SOURCES)
    catalog = catalog_for(census.signals)
    for name in ("aperf", "mperf", "tsc"):
        if name not in census.signals:
            raise MachineError(f"the performance ratio is APERF over MPERF of each CPU, and {name.upper()} cannot be "
                               f"had here ({census.why_missing(name).sentence()}): turbotui doctor says more")
    columns = [column for name in (*_RATIO, *_HOLDING) if (column := catalog.get(name)) is not None]
    sampler = Sampler(machine, census, signals_of(columns, census), _FOREVER if load.command else seconds)
    with _held(load) as command:
        frames, printed = asyncio.run(_sampled(sampler, command))
    frame = frames[-1]
    found = [_ratio_of(frame, catalog, cpu) for cpu in machine.topology.cpus]
    return judge(frame.seconds or 0.0, found, _throttling(frame, catalog)), printed


def _ratio_of(frame: Frame, catalog: Catalog, cpu: int) -> CpuRatio:
    ratio, busy = (_cell(frame, catalog, name, cpu_row(cpu)) for name in _RATIO)
    return CpuRatio(cpu, ratio if isinstance(ratio, float) else None,
                    busy / 100.0 if isinstance(busy, int | float) else None,
                    frame.inputs(cpu_row(cpu)).core_type() or "")


def _throttling(frame: Frame, catalog: Catalog) -> Throttling:
    """What the counters of heat and power limits did, as far as there are any."""
    episodes = [count for name in ("CoreThr", "PkgThr")
                if isinstance(count := _cell(frame, catalog, name, SYSTEM_ROW), int | float)]
    packages = frame.rows(Scope.PACKAGE)
    shares = [share / 100.0 for row in packages
              if isinstance(share := _cell(frame, catalog, "PKG_%", row), int | float)]
    texts = [text for row in packages if isinstance(text := _cell(frame, catalog, "Throttle", row), str)]
    words = dict.fromkeys(word for text in texts for word in text.split()
                          if word != _NOTHING and ":" not in word)  # GFX: and Ring: hold back no core
    return Throttling(
        heat=int(sum(episodes)) if episodes else None,
        limited=max(shares, default=None),
        reasons=tuple(words) if texts else None,
    )


def _cell(frame: Frame, catalog: Catalog, name: ColumnId, row: RowId) -> Value:
    column = catalog.get(name)
    return None if column is None else frame.cell(column, row)


async def _sampled(sampler: Sampler, command: _Command | None) -> tuple[list[Frame], float | None]:
    frames: list[Frame] = []
    loop = asyncio.get_running_loop()
    first = asyncio.Event()
    printed: float | None = None

    class Box:
        """Keeps frames, and says when the first reading is done."""

        @staticmethod
        def put(frame: Frame) -> None:
            frames.append(frame)
            loop.call_soon_threadsafe(first.set)

    sampler.bus.attach(Box())
    sampling = asyncio.create_task(sampler.run(1))
    if command is not None:
        await first.wait()
        try:
            printed = await asyncio.to_thread(command.run)
        finally:
            sampler.end_interval()
    await sampling
    return frames, printed


class _Command:
    """A load that is held until it is to run; its output goes to stderr, for stdout is the report's.

    Args:
        words: the command.
        pattern: finds the score in what it prints; None: nobody looks.
    """

    def __init__(self, words: tuple[str, ...], pattern: re.Pattern[str] | None) -> None:
        self._pattern = pattern
        self._ran = False
        self._output: int | None = None
        if pattern is None:
            self._held = Held(words, sys.stderr.fileno())
            return
        self._output, end = os.pipe()
        self._held = Held(words, end)
        os.close(end)

    def run(self) -> float | None:
        """Run it; the score that it printed.

        Raises:
            TurbotuiError: it cannot be run, or failed.
        """
        started = time.monotonic()
        found: float | None = None
        self._ran = True
        self._held.go()
        if self._output is not None and self._pattern is not None:
            with open(self._output, encoding="utf-8", errors="replace", closefd=False) as lines:
                for line in lines:
                    sys.stderr.write(line)
                    number = score_in(line, self._pattern)
                    found = found if number is None else number
        code = self._held.wait()
        if code:
            raise TurbotuiError(f"the load {self._held.name} failed with status {code} after "
                                f"{time.monotonic() - started:.1f} s: nothing is concluded from it")
        return found

    def close(self) -> None:
        """Give its pipe back, and end it if it never ran."""
        if not self._ran:
            self._held.give_up()
        if self._output is not None:
            os.close(self._output)


@contextlib.contextmanager
def _held(load: Load) -> Iterator[_Command | None]:
    """The load's command, made before there are threads; None where there is none."""
    if not load.command:
        yield None
        return
    command = _Command(load.command, load.pattern)
    try:
        yield command
    finally:
        command.close()


def score_in(line: str, pattern: re.Pattern[str]) -> float | None:
    """The score in a line of a benchmark's output; None where there is none."""
    match = pattern.search(line)
    if match is None:
        return None
    try:
        value = float((match[1] if pattern.groups else match[0]) or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None
