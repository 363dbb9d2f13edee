"""A dashboard session that hands out frames of a simulated machine which were taken before, one a tick."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from roofline_bed import Bed
from textual.pilot import Pilot

from turbotui.app.dashboard import TurbotuiApp
from turbotui.events.set_files import EventSet
from turbotui.features.roofline.screen import RooflineScreen
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources.source import Source


@functools.cache
def _recorded(name: str, count: int, seconds: float) -> tuple[Bed, Sequence[Frame]]:
    """Watch a machine, and return it with its frames, which tests share."""
    bed = Bed(name, warm_up=0.1, whole=True)
    watts = bed.catalog.get("PkgWatt")
    if watts is not None and all(need in bed.capabilities.signals for need in watts.needs):
        bed.columns = (*bed.columns, watts)
    return bed, bed.frames(seconds, count)


class ReplayedSession:
    """Frames of exactly one second; the same machine, clock and seed give the same frames."""

    def __init__(self, name: str, count: int = 14, *, seconds: float = 1.0) -> None:
        bed, frames = _recorded(name, count, seconds)
        clock = ManualClock(bed.clock.now_ns())
        self.machine: Machine = replace(bed.machine, host=simulated_host(name, clock, seed=7))
        self.capabilities: Capabilities = bed.capabilities
        self.catalog: Catalog = bed.catalog
        self.latest: Frame | None = None
        self.find_sets: Callable[[], Mapping[str, EventSet]] = dict
        self.interval = seconds
        self.wanted: frozenset[ColumnId] = frozenset()
        self.beside: frozenset[SignalId] = frozenset()
        self._frames: Iterator[Frame] = iter(frames)
        self._on_frame: Callable[[Frame], None] | None = None

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        self._on_frame = on_frame

    def want(self, columns: Iterable[ColumnId]) -> None:
        self.wanted = frozenset(columns)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Frames hold what they hold; what was asked for is noted."""
        self.beside = signals

    def add_all(self, text: str) -> tuple[CounterColumn, ...]:
        raise NotImplementedError

    def typed(self) -> tuple[str, ...]:
        return ()

    def by_hand(self) -> tuple[tuple[ColumnId, str], ...]:
        return ()

    @property
    def collector(self) -> None:
        """None, because tests need no other process."""

    def set_tcc(self, degrees: int | None) -> None:
        """Frames are what they are."""

    def remove(self, name: ColumnId) -> None:
        raise NotImplementedError

    def end_interval(self) -> None:
        """Frames come from `tick`."""

    def set_interval(self, seconds: float) -> None:
        """Frames are of one second."""

    def stop(self) -> None:
        """Nothing is open."""

    def own_cost(self) -> OwnCost:
        return OwnCost(0.7, 41_000_000, 0.9, 0, 0)

    @property
    def started(self) -> bool:
        """Whether the dashboard has begun to listen."""
        return self._on_frame is not None

    def tick(self) -> None:
        self.latest = next(self._frames)
        assert self._on_frame is not None
        self._on_frame(self.latest)


@asynccontextmanager
async def roofline(session: ReplayedSession, size: tuple[int, int] = (120, 36),
                   ticks: int = 3) -> AsyncIterator[tuple[TurbotuiApp, Pilot[int], RooflineScreen]]:
    """The dashboard on its roofline screen after some frames."""
    app = TurbotuiApp(session)
    async with app.run_test(size=size) as pilot:
        while not session.started:  # a busy machine shows the first screen later
            await pilot.pause()
        await pilot.press("6")
        await pilot.pause()
        for _ in range(ticks):
            session.tick()
            await pilot.pause()
        screen = app.screen_stack[0]
        assert isinstance(screen, RooflineScreen)
        yield app, pilot, screen
