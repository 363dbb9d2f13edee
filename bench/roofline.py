"""Measures the CPU time of one redraw of the roofline: 2,000 past points, and a point for each of 224 CPUs."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from textual.app import App, ComposeResult

from turbotui.app.themes import THEMES, TUI_DEFAULTS
from turbotui.features.roofline.plot import build_plot
from turbotui.features.roofline.roof_plot import Dot, Picture, RoofPlot
from turbotui.features.roofline.screen_view import MOST
from turbotui.features.roofline.theory import chip_roofs

_CPUS = 224
_ROUNDS = 60
_WIDTHS = ("scalar", "SSE", "AVX", "AVX-512")


class _Bench(App[list[float]]):
    """An application with a roofline and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.plot = RoofPlot()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the variables of the widget's colours."""
        return TUI_DEFAULTS

    def compose(self) -> ComposeResult:
        """Lay out the plot."""
        yield self.plot


def pictures(rounds: int = _ROUNDS) -> list[Picture]:
    """Return pictures in which every point has moved since the previous one."""
    plot = build_plot(chip_roofs("i7-3770K", "all"))

    def place(step: int, speed: float) -> tuple[float, float]:
        return plot.x.value((step * speed) % 1.0), plot.y.value((step * speed * 1.618) % 1.0)

    pictures = []
    for number in range(rounds):
        trail = tuple(place(at + number * 7, 0.00317) for at in range(MOST))
        dots = tuple(Dot(*place(at + number * 3, 0.0171), _WIDTHS[at % len(_WIDTHS)]) for at in range(_CPUS))
        pictures.append(Picture(plot, dots, number % _CPUS, trail))
    return pictures


async def _measured(size: tuple[int, int], shown: Sequence[Picture]) -> list[float]:
    app = _Bench()
    times: list[float] = []
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for picture in shown:
            began = time.thread_time()
            app.plot.show_picture(picture)
            for y in range(app.plot.size.height):
                app.plot.render_line(y)
            times.append(time.thread_time() - began)
    return times


def redraw_seconds(size: tuple[int, int] = (200, 60)) -> tuple[float, float]:
    """Return median and 95th percentile of one redraw's CPU time, which other work does not affect."""
    times = sorted(asyncio.run(_measured(size, pictures())))
    return statistics.median(times), times[int(len(times) * 0.95)]
