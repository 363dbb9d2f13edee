"""Measures what recording adds to sampling this machine once a second, by alternating with and without it.

`python -m bench.recording_beside --seconds 240` samples every default column and records in every other spell. Beside
the difference of the spells, which holds everything and the noise of the machine, it tells the CPU time of the writing
alone, by the clock of the thread that does it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Final

from turbotui.app.live_recorder import LiveRecorder
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.recording.recorder import Recorder
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import default_columns
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

_SPELL: Final = 15  # ticks: fdatasync comes every 10 s
_FIRST: Final = 3  # ticks that are left out: probing, first frames


@dataclass(slots=True)
class Spells:
    """Percent of one CPU in each spell, and ms of CPU time for writing each tick."""

    plain: list[float] = field(default_factory=list)
    recording: list[float] = field(default_factory=list)
    writing: list[float] = field(default_factory=list)


def spells(seconds: float) -> Spells:
    """Sample at 1 Hz for a time, and record in every other spell."""
    machine = read_machine(LinuxHost())
    session = Session(machine, SOURCES, 1.0, LinuxHost())
    session.want(column.id for column in default_columns(session.catalog, session.capabilities, machine.topology,
                                                         extras=True))
    shares, ticks, began = Spells(), 0, (0.0, 0.0)
    recorder: LiveRecorder | None = None
    with tempfile.TemporaryDirectory() as folder:

        def take(frame: Frame) -> None:
            nonlocal ticks, began, recorder
            ticks += 1
            if ticks < _FIRST:
                return
            if (ticks - _FIRST) % _SPELL == 0:
                now = time.process_time(), time.monotonic()
                if ticks > _FIRST:
                    percent = 100.0 * (now[0] - began[0]) / (now[1] - began[1])
                    (shares.plain if recorder is None else shares.recording).append(percent)
                if recorder is None:
                    path = f"{folder}/{ticks}.ttj"
                    recorder = LiveRecorder(path, Recorder(path, machine))
                else:
                    recorder.stop()
                    recorder = None
                began = time.process_time(), time.monotonic()
            if recorder is not None:
                before = time.thread_time()
                recorder.take(frame)
                if (ticks - _FIRST) % _SPELL:  # the first tick of a file has the header and the layout, too
                    shares.writing.append(1e3 * (time.thread_time() - before))

        session.start(take)
        threading.Event().wait(seconds)
        session.stop()
        if recorder is not None:
            recorder.stop()
    return shares


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.recording_beside", description=__doc__)
    parser.add_argument("--seconds", type=float, default=240.0)
    shares = spells(parser.parse_args().seconds)
    plain, recording = statistics.median(shares.plain), statistics.median(shares.recording)
    print(f"sampling {plain:.3f} %, with recording {recording:.3f} % of a CPU (medians of {len(shares.plain)} and "
          f"{len(shares.recording)} spells of {_SPELL} s): {recording - plain:+.3f} %")
    print(f"writing: median {statistics.median(shares.writing):.3f} ms, p95 "
          f"{sorted(shares.writing)[int(len(shares.writing) * 0.95)]:.3f} ms of CPU time a tick; to reach: 2 ms, 0.2 %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
