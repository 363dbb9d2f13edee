"""`python -m bench.floors`: costs below which no program in Python, with Textual, or that reads /proc can go.

Each floor is measured in one run with the figure that it is the floor of: on a machine that is slow today both are.
Without `--large`, which adds those of 1,024 CPUs, it takes two minutes at rest. The floor of the screen of tasks reads
every switch of the machine: it needs root, as that screen does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial

from bench.beside_peers import CPUS, TASKS, TURBOTUI, Peer, Share, beside, installed_peers
from bench.dashboard import cost_without_model
from bench.start import cpu_ms
from bench.terminal import Terminal
from turbotui.dataclass import dataclass

_SIZE = (200, 50)
_SECONDS = 60.0
_FILES = ("/proc/stat", "/proc/stat", "/proc/interrupts", "/proc/softirqs", "/proc/pressure/cpu",
          "/proc/pressure/memory", "/proc/pressure/io", "/proc/vmstat", "/proc/meminfo")
"""Files of /proc about all CPUs that the overview reads, where the kernel has them."""

_READS = f"""
import os, time
def read(path):
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.read(descriptor, 1 << 16)
    except OSError:
        pass
    os.close(descriptor)
turn, kept = 0, {{}}
while True:
    time.sleep(1.0)
    for path in {_FILES!r}:
        read(path)
    if turn % 3 == 0:
        for name in os.listdir("/proc"):
            try:
                if name.isdigit():
                    if name not in kept:
                        kept[name] = os.open(f"/proc/{{name}}/schedstat", os.O_RDONLY)
                    os.pread(kept[name], 2048, 0)
            except OSError:
                pass
    turn += 1
"""
"""Reads what the overview reads and does nothing with it: files of all CPUs every second, processes every third."""

_STATS = _READS.replace("    turn += 1", """
    for name in [name for name in kept if isinstance(name, str)][-40:]:
        try:
            if ("stat", name) not in kept:
                kept["stat", name] = os.open(f"/proc/{name}/stat", os.O_RDONLY)
            os.pread(kept["stat", name], 2048, 0)
        except OSError:
            pass
    turn += 1""")
"""Reads the stat files of as many tasks as the screen of tasks shows, too."""

_DRAWN = ((17, 9, "the overview"), (10, 12, "the table of CPUs"), (39, 12, "tasks"))
"""How many lines a screen of two CPUs draws anew each second (200x50), how many segments each has, and which screen."""
_LARGE = ((43, 12, "the overview of 1,024 CPUs"), (46, 34, "the table of 1,024 rows"))
"""Lines and segments of each, and where."""

_COUNTERS = """
import time
from array import array
from operator import truediv
from turbotui.sampling.arithmetic import rises
older = [array("Q", range(at, at + 1024)) for at in range(50)]
newer = [array("Q", (value + 1000 for value in words)) for words in older]
spans = [1.0] * 1024
while True:
    time.sleep(1.0)
    for before, after in zip(older, newer):
        sum(map(truediv, rises(before, after), spans))
"""
"""50 counters of 1,024 CPUs, each as a rate a second, added up: no name, no row, no cell, no line."""

_SCROLLS = """
import sys
from textual.app import App
from textual.strip import Strip
from textual.widget import Widget
from rich.segment import Segment
from rich.style import Style
class Lines(Widget):
    turn = 0
    count = int(sys.argv[2])
    width = 203 // count
    styles_of = [Style(color=f"#{40 + 20 * (one % 7):02x}8080", bgcolor="#101010") for one in range(count)]
    def render_line(self, y):
        text = f"{self.turn * (y + 1):>{self.width}}"[-self.width:]
        return Strip([Segment(text, style) for style in self.styles_of], self.width * self.count)
class Scrolls(App):
    def compose(self):
        yield Lines()
    def on_mount(self):
        self.query_one(Lines).styles.height = int(sys.argv[1])
        self.set_interval(1.0, self.turned)
    def turned(self):
        lines = self.query_one(Lines)
        lines.turn += 1
        lines.refresh()
Scrolls().run()
"""
"""So many lines of so many segments that say something else every second, as charts do, by Textual alone."""

_RSS = 'print(int(open("/proc/self/statm").read().split()[1]) * {page} / 1e6)'
_NO_TLS = "from turbotui.app.loading import load_asyncio\nload_asyncio()\n"
_FIRST = f"{_NO_TLS}import turbotui.app.dashboard, turbotui.app.running, turbotui.features.overview.screen"
_EVERY = """
import importlib
from turbotui.app.screen_table import SCREENS
for screen in SCREENS:
    importlib.import_module(screen.module)
"""
IMPORTS: tuple[tuple[str, str], ...] = (
    ("Python alone", ""),
    ("asyncio", "import asyncio"),
    ("Textual", "import textual.app, textual.screen, textual.widget"),
    ("Textual without TLS", f"{_NO_TLS}import textual.app, textual.screen, textual.widget"),
    ("and modules of the first screen", _FIRST),
    ("and modules of every screen", f"{_FIRST}\n{_EVERY}"),
)


@dataclass(frozen=True, slots=True)
class Floor:
    """A name and a figure."""

    name: str
    value: float


def running(seconds: float) -> Sequence[Share]:
    """Measure the percent of one CPU of screens, of their floors and of their peers, at the same time."""
    return beside(seconds, _SIZE, (
        TURBOTUI, CPUS, TASKS, Peer("Python that reads its files", (sys.executable, "-c", _READS)),
        Peer("the same and 40 stat files", (sys.executable, "-c", _STATS)),
        Peer("each switch added up by thread", (sys.executable, "-m", "bench.switches")),
        *(Peer(f"Textual: lines of {where}", _scrolling(lines, colours)) for lines, colours, where in _DRAWN),
        *installed_peers(),
    ))


def running_large(seconds: float) -> Sequence[Floor]:
    """Measure the dashboard of 1,024 CPUs without their model, and then its floors at the same time."""
    costs = [cost_without_model(f"{screen} of 1,024 CPUs, no model", ["--machine", "big-8s", "--screen", screen], 12)
             for screen in ("overview", "cpus")]
    shares = beside(seconds, _SIZE, (
        Peer("50 counters of 1,024 CPUs added up", (sys.executable, "-c", _COUNTERS)),
        *(Peer(f"Textual: lines of {where}", _scrolling(lines, colours)) for lines, colours, where in _LARGE),
    ))
    return [*(Floor(cost.name, cost.all) for cost in costs), *(Floor(share.name, share.percent) for share in shares)]


def _scrolling(lines: int, colours: int) -> tuple[str, ...]:
    return sys.executable, "-c", _SCROLLS, str(lines), str(colours)


def memory() -> Sequence[Floor]:
    """Return the resident megabytes of processes that only import, from Python alone to the whole dashboard."""
    floors = []
    for name, text in IMPORTS:
        words = [sys.executable, "-c", f"{text}\n{_RSS.format(page=os.sysconf('SC_PAGE_SIZE'))}"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603 - of this file
        floors.append(Floor(name, float(done.stdout)))
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal([sys.executable, "-m", "turbotui"], *_SIZE, {"XDG_CONFIG_HOME": folder})
        terminal.drain(8.0)
        floors.append(Floor("turbotui that shows the overview", terminal.usage().rss_bytes / 1e6))
        terminal.end()
    return floors


def importing(runs: int) -> Sequence[Floor]:
    """Return the milliseconds of CPU time of a process that imports what stat imports, and of stat itself."""
    commands = {
        "Python alone": (sys.executable, "-c", "pass"),
        "imports of stat": (sys.executable, "-c", "import gc, turbotui.features.stat.running; gc.freeze()"),
        "stat -n1 -i0.01": (sys.executable, "-m", "turbotui", "stat", "-n1", "-i0.01"),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, words in commands.items():
            times[name].append(cpu_ms(words))
    return [Floor(name, sorted(values)[runs // 2]) for name, values in times.items()]


def main() -> None:
    """Measure, and print each part as soon as it is measured."""
    print(f"% of one CPU, {_SIZE[0]}x{_SIZE[1]}, 1 Hz, {_SECONDS:g} s", flush=True)
    for share in running(_SECONDS):
        print(f"  {share.name:<34} {share.percent:8.2f} {share.kb_per_second:6.1f} kB/s   turbotui {share.ratio:.2f} x",
              flush=True)
    parts: list[tuple[str, Callable[[], Sequence[Floor]]]] = [
        ("resident MB", memory), ("ms of CPU time", partial(importing, 5))]
    if "--large" in sys.argv[1:]:
        parts.append(("% of one CPU, 1,024 CPUs", partial(running_large, 30.0)))
    for title, measure in parts:
        print(title, flush=True)
        for floor in measure():
            print(f"  {floor.name:<34} {floor.value:8.2f}", flush=True)


if __name__ == "__main__":
    main()
