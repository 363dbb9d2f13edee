"""Draws the pictures of the README: `python screenshots/make.py` writes screenshots/*.svg.

Scenes have a simulated machine and a clock that is moved by hand, so that the same program gives the same pictures.
Live scenes are of what watches with threads and counters of its own, over seconds of real time. Text scenes are what a
verb prints about a command on this machine, which should do nothing else meanwhile.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rich.console import Console
from rich.text import Text
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.errors import UsageError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.added import AddedCounter
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import available_columns, signals_of
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources import SOURCES

HERE = Path(__file__).parent
SEED = 7
_MOMENT = 0.01
_LOOK = 1.0  # seconds in which a thread has looked at the processes
_NEVER = 86_400.0  # seconds after which a reading would be late, however busy this machine is
WARM_UP = 20.0  # simulated seconds: temperatures have settled by then


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: its name, machine, terminal, keys to press before it is taken, theme, and screen to begin with."""

    name: str
    machine: str
    size: tuple[int, int]
    keys: Sequence[str] = ()
    frames: int = 61
    theme: str = "calm"
    screen: str = ""


@dataclass(frozen=True, slots=True)
class LiveScene:
    """One picture of a dashboard that ran: its name, machine, terminal, each key with the seconds before it, a rest."""

    name: str
    machine: str
    size: tuple[int, int]
    keys: Sequence[tuple[float, str]]
    rest: float = 8.0


SCENES: tuple[Scene, ...] = (
    Scene("overview-120x36", "sapphire-2s", (120, 36), frames=37, screen="overview"),
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


LIVE: tuple[LiveScene, ...] = (
    LiveScene("power-120x36", "laptop-gpu", (120, 36), ((1.0, "4"),), rest=24.0),
    LiveScene("uncore-120x36", "vera-2s", (120, 36), ((1.0, "5"),), rest=20.0),
    LiveScene("roofline-120x36", "laptop-old+calculix", (120, 36), ((1.0, "6"),), rest=12.0),
    LiveScene("topdown-120x36", "sapphire-2s", (120, 36), ((1.0, "d"), (4.0, "enter"), (3.0, "enter")), rest=14.0),
    LiveScene("tasks-120x36", "genoa-1s", (120, 36), ((1.0, "7"),), rest=15.0),
    LiveScene("timeline-120x36", "laptop", (120, 36), ((1.0, "7"), (2.0, "v")), rest=24.0),
)


@dataclass(frozen=True, slots=True)
class TextScene:
    """One picture of what a verb prints on this machine: its name, the verb's words, and the columns that are shown."""

    name: str
    words: Sequence[str]
    columns: int


TEXTS: tuple[TextScene, ...] = (
    TextScene("long-120", ("tasks", "--timeline", "--", "make", "-s", "-j2", "-f", "long.mk"), 120),
)


class Stills:
    """A session that hands out frames taken before (`screens.watch.WatchedSession`)."""

    def __init__(self, machine: str, count: int) -> None:
        clock = self._clock = ManualClock(0)
        host = simulated_host(machine, clock, seed=SEED)
        clock.advance(WARM_UP)
        self.machine = read_machine(host)
        self.capabilities = probe_sources(self.machine, SOURCES)
        self.catalog = catalog_for(self.capabilities.signals)
        self.latest: Frame | None = None
        self.collector = None
        self.added: tuple[AddedCounter, ...] = ()
        self.interval = 1.0
        self.frames: list[Frame] = []
        self.is_started = False  # whether a dashboard takes frames
        columns = available_columns(self.catalog, self.capabilities, self.machine.topology)
        # The host's clock stands still between readings, so the sampler's own deadline never comes: every interval is
        # ended by hand.
        sampler = Sampler(self.machine, self.capabilities, signals_of(columns, self.capabilities), _NEVER)
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
        self.is_started = True

    def play(self, frame: Frame) -> None:
        """Hand out one frame, a second after the one before for whoever looks at processes meanwhile."""
        self._clock.advance(1.0)
        self.latest = frame
        self._on_frame(frame)

    def add(self, text: str) -> CounterColumn:
        """Stills show what was read when they were taken."""
        raise UsageError(f"{text}: nothing can be added to pictures that were taken before")

    def remove(self, name: ColumnId) -> None:
        """Nothing was added."""

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Everything was read."""

    find_sets: Callable[[], dict[str, object]] = staticmethod(dict)
    spied: tuple[CounterColumn, ...] = ()
    spy_note = ""

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        """Nothing was added."""
        return ()

    def typed(self) -> tuple[str, ...]:
        """Nothing was added."""
        return ()

    def read_also(self, sources: object, signals: object) -> None:
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
    app = TurbotuiApp(session, theme=scene.theme, screen=scene.screen)
    async with app.run_test(size=scene.size) as pilot:
        await pilot.pause()
        while not session.is_started:
            await pilot.pause(_MOMENT)
        for frame in session.frames[:-1]:
            session.play(frame)
            await pilot.pause()
            while app.watched.frame is not None and app.watched.frame.seq < frame.seq:  # it would be a gap in charts
                await pilot.pause(_MOMENT)
        await _press(pilot, scene.keys)
        session.play(session.frames[-1])
        await pilot.pause(_LOOK if scene.screen else 0.0)
        await pilot.pause()
        picture = app.export_screenshot(title=f"turbotui --machine {scene.machine}")
        (HERE / f"{scene.name}.svg").write_text(picture, encoding="utf-8")
    print(scene.name)


async def _press(pilot: Pilot[int], keys: Sequence[str]) -> None:
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


class LiveSession(Session):
    """A session whose own cost is unknown: the model's is a part of it, and it would not be the same twice."""

    def own_cost(self) -> OwnCost:
        """Unknown."""
        return OwnCost(None, None, 0.0, 0, 0)


async def draw_live(scene: LiveScene) -> None:
    """Write one picture of a dashboard that runs for a while."""
    machine = read_machine(simulated_host(scene.machine, seed=SEED))
    session = LiveSession(machine, SOURCES, 1.0, LinuxHost())
    app = TurbotuiApp(session, available_columns(session.catalog, session.capabilities, machine.topology))
    async with app.run_test(size=scene.size) as pilot:
        for seconds, key in scene.keys:
            await pilot.pause(seconds)
            await pilot.press(key)
        await pilot.pause(scene.rest)
        picture = app.export_screenshot(title=f"turbotui --machine {scene.machine}")
        (HERE / f"{scene.name}.svg").write_text(picture, encoding="utf-8")
    session.stop()
    print(scene.name)


def draw_text(scene: TextScene) -> None:
    """Write one picture of a verb's output."""
    words = [sys.executable, "-m", "turbotui", *scene.words]
    printed = subprocess.run(words, cwd=HERE, check=True, capture_output=True,  # noqa: S603 - the words above
                             encoding="utf-8").stdout
    console = Console(record=True, width=scene.columns, file=io.StringIO())
    for line in printed.splitlines():
        console.print(Text(line), no_wrap=True, overflow="ellipsis", crop=True)
    title = f"turbotui {' '.join(scene.words)}"
    (HERE / f"{scene.name}.svg").write_text(console.export_svg(title=title), encoding="utf-8")
    print(scene.name)


def main() -> None:
    """Draw every scene, or those that are named."""
    named = set(sys.argv[1:])
    for scene in SCENES:
        if not named or scene.name in named:
            stills(scene.machine, scene.frames)
            asyncio.run(draw(scene))
    for live in LIVE:
        if not named or live.name in named:
            asyncio.run(draw_live(live))
    for text in TEXTS:
        if not named or text.name in named:
            draw_text(text)


if __name__ == "__main__":
    main()
