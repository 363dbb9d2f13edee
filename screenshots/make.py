"""Draws the pictures of the README: `python screenshots/make.py` writes screenshots/*.svg.

Every picture is of a simulated machine whose clock is moved by hand, so that the same program gives the same pictures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from textual.pilot import Pilot

from turbotui.app import TurbotuiApp
from turbotui.errors import UsageError
from turbotui.machine.machine import read_machine
from turbotui.machine.simulated import ManualClock, simulated_host
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import CounterColumn, ColumnId
from turbotui.sampling.census import take_census
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import available_columns, signals_of
from turbotui.sampling.session import OwnCost
from turbotui.sources import SOURCES

HERE = Path(__file__).parent
SEED = 7
WARM_UP = 20.0  # simulated seconds: temperatures have settled by then


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: its name, machine, terminal, keys to press before it is taken, and theme."""

    name: str
    machine: str
    size: tuple[int, int]
    keys: Sequence[str] = ()
    frames: int = 61
    theme: str = "calm"


SCENES: tuple[Scene, ...] = (
    Scene("cpus-120x36", "sapphire-2s", (120, 36)),
    Scene("cpus-200x60", "turin-2s", (200, 60), frames=31),
    Scene("cpus-80x24", "laptop", (80, 24)),
    Scene("guest-80x24", "guest", (80, 24)),
    Scene("contrast-80x24", "laptop", (80, 24), theme="contrast"),
    Scene("topology-120x36", "laptop", (120, 36), ("2",)),
    Scene("map-120x36", "big-8s", (120, 36), ("3",), frames=4),
    Scene("info-120x36", "sapphire-2s", (120, 36), ("8",), frames=4),
    Scene("doctor-120x36", "guest", (120, 36), ("9", "down"), frames=4),
    Scene("columns-120x36", "guest", (120, 36), ("C", *"watt"), frames=4),
    Scene("explain-120x36", "sapphire-2s", (120, 36), ("e",)),
    Scene("graph-120x36", "laptop", (120, 36), ("right", "g")),
    Scene("help-120x36", "laptop", (120, 36), ("question_mark",), frames=4),
)


class Stills:
    """A session that hands out frames taken before (`screens.watch.WatchedSession`)."""

    def __init__(self, machine: str, count: int) -> None:
        clock = ManualClock(0)
        host = simulated_host(machine, clock, seed=SEED)
        clock.advance(WARM_UP)
        self.machine = read_machine(host)
        self.census = take_census(self.machine, SOURCES)
        self.catalog = catalog_for(self.census.signals)
        self.latest: Frame | None = None
        self.added: tuple[AddedCounter, ...] = ()
        self.interval = 1.0
        self.frames: list[Frame] = []
        columns = available_columns(self.catalog, self.census, self.machine.topology)
        # The host's clock stands still between readings, so the sampler's own deadline never comes: every interval is
        # ended by hand.
        sampler = Sampler(self.machine, self.census, signals_of(columns, self.census), self.interval)
        frames = self.frames

        class Box:
            """A mailbox that moves the clock."""

            @staticmethod
            def put(frame: Frame) -> None:
                """Take a frame and end the next interval a second later."""
                frames.append(frame)
                if len(frames) <= count:
                    clock.advance(1.0)
                    sampler.end_interval()

        sampler.bus.attach(Box())
        asyncio.run(sampler.run(count))

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        """Keep who wants frames."""
        del intervals, on_end
        self._on_frame = on_frame

    def play(self, frame: Frame) -> None:
        """Hand out one frame."""
        self.latest = frame
        self._on_frame(frame)

    def add(self, text: str) -> CounterColumn:
        """Stills show what was read when they were taken."""
        raise UsageError(f"{text}: nothing can be added to pictures that were taken before")

    def remove(self, name: ColumnId) -> None:
        """Nothing was added."""

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Everything was read."""

    def end_interval(self) -> None:
        """No interval is under way."""

    def set_interval(self, seconds: float) -> None:
        """The frames have theirs."""

    def stop(self) -> None:
        """Nothing is open."""

    def own_cost(self) -> OwnCost:
        """Unknown: it would not be the same twice."""
        return OwnCost(None, None, 0.0, 0, 0)


@cache
def stills(machine: str, count: int) -> Stills:
    """The frames of one machine, taken once for all its scenes."""
    return Stills(machine, count)


async def draw(scene: Scene) -> None:
    """Write one picture."""
    session = stills(scene.machine, scene.frames)
    app = TurbotuiApp(session, theme=scene.theme)
    async with app.run_test(size=scene.size) as pilot:
        await pilot.pause()
        for frame in session.frames[:-1]:
            session.play(frame)
            await pilot.pause()
        await _press(pilot, scene.keys)
        session.play(session.frames[-1])
        await pilot.pause()
        await pilot.pause()
        picture = app.export_screenshot(title=f"turbotui --machine {scene.machine}")
        (HERE / f"{scene.name}.svg").write_text(picture, encoding="utf-8")
    print(scene.name)


async def _press(pilot: Pilot[int], keys: Sequence[str]) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


def main() -> None:
    """Draw every scene."""
    for scene in SCENES:
        stills(scene.machine, scene.frames)
        asyncio.run(draw(scene))


if __name__ == "__main__":
    main()
