"""Measures the CPU time from a key that shows another moment of the past to its picture, on every screen.

`python -m bench.stepping FILE --screens cpus,map` takes a recording of many CPUs; without FILE one of 224 is made.
Moments come from the file, as in `turbotui replay`, or with `--ring` from the ring of the last hour, as in the
dashboard. Steps follow each other at once, as a held key gives them: sparks are drawn when the key is let go.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from turbotui.app.dashboard import TurbotuiApp
from turbotui.app.journal_past import JournalPast
from turbotui.app.past import LivePast, PastFrames, TimeCursor
from turbotui.app.player import Player
from turbotui.app.recorded_session import RecordedSession
from turbotui.app.running import freeze_objects
from turbotui.app.screen_table import SCREENS
from turbotui.cli import main as turbotui
from turbotui.recording import read
from turbotui.recording.journal import Journal

SIZE = (200, 60)


@dataclass(frozen=True, slots=True)
class Steps:
    """Milliseconds of CPU time of the steps on one screen."""

    screen: str
    times: Sequence[float]

    @property
    def line(self) -> str:
        """Median, 95th percentile and maximum."""
        times = sorted(self.times)
        return (f"{self.screen:12} {statistics.median(times):8.1f} {times[int(len(times) * 0.95)]:8.1f} "
                f"{times[-1]:8.1f}")


def moments_of(journal: Journal, *, ring: bool) -> PastFrames:
    """Return the moments of a recording, from its file or from a ring with its frames."""
    if not ring:
        return JournalPast(journal)
    past = LivePast()
    for frame in journal.frames():
        past.take(frame)
    return past


async def steps(journal: Journal, past: PastFrames, screen: str, count: int, by: int) -> Steps:
    """Step this many times on one screen: back from the end, or forward from the beginning."""
    cursor = TimeCursor(past, live=False)
    cursor.go_to(0 if by > 0 else len(past.times) - 1)
    app = TurbotuiApp(RecordedSession(journal, 1.0), player=Player(cursor, 1.0), screen=screen, on_shown=freeze_objects)
    times: list[float] = []
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        app.action_past_step(by)
        await pilot.pause()
        freeze_objects()
        for _ in range(count):
            began = time.thread_time()
            app.action_past_step(by)
            await pilot.pause()
            times.append(1e3 * (time.thread_time() - began))
    return Steps(screen, times)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.stepping", description=__doc__)
    parser.add_argument("file", nargs="?")
    parser.add_argument("--screens", default=",".join(spec.id for spec in SCREENS))
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--ring", action="store_true", help="moments of the last hour in memory")
    parser.add_argument("--on", action="store_true", help="step on, not back")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.file or str(Path(folder) / "steps.ttj")
        if arguments.file is None:
            turbotui(["record", path, "--machine", "sapphire-2s", "-i", "0.5", "-n", "100", "--tables",
                      "uncore,tasks,groups"])
        with read(path) as journal:
            print(f"{'ms of CPU':12} {'median':>8} {'p95':>8} {'worst':>8}")
            for screen in arguments.screens.split(","):
                past = moments_of(journal, ring=arguments.ring)
                cost = asyncio.run(steps(journal, past, screen, arguments.count, 1 if arguments.on else -1))
                print(cost.line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
