"""What holds for every test."""

from __future__ import annotations

import asyncio
import functools
import gc
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, Final, Protocol, cast

import pytest
import textual
from hypothesis import HealthCheck, settings
from rich.console import RenderableType
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.pilot import Pilot

# what every folder's tests share, and the screens' tests, is found whatever pytest's import mode is
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "app")]

pytest_plugins = ("comparisons",)

# Images of containers often forbid bytecode. Then each of the programs that tests start, and each of xdist's processes,
# compiles all of turbotui anew: more than half of what `turbotui stat` costs.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    sys.dont_write_bytecode = False

# How long an example takes, or is drawn, says something of what else the machine does, and nothing of the code.
settings.register_profile("turbotui", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("turbotui"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "turbotui"))

# A suite that a shell began in the background, or nohup(1), ignores these, and what is ignored stays so across exec:
# the programs of tests could not be interrupted. What is caught is as usual in them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)

# what tests start is looked at by nobody who could end the tour
os.environ["TURBOTUI_TOUR"] = "0"
# nor do the settings, roofs and alerts of the person who runs the suite decide anything, or grow by it
if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the folder
    os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))  # guests' kernels, fetched once
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    HOME: Final = tempfile.TemporaryDirectory(prefix="turbotui-home-")
    os.environ["HOME"] = HOME.name
# a perf of this machine, if there is one, decides no test
os.environ["TURBOTUI_EVENT_TABLES"] = "none"

_SWITCH = 0.006
"""Seconds: a thread that waits for the interpreter's lock is woken every 5 ms (sys.getswitchinterval)."""
_MOST_WAIT, _LEAST_LOOKS = 1.0, 40
"""Seconds after which the pilot goes on whatever other threads do, as Textual's does, if it has looked so often: a busy
machine may stop this process for that long between two looks."""
_NEAR = 0.05
"""Seconds: what an event loop does within these follows on what it does now."""


async def _loop_is_idle() -> None:
    """Wait until the event loop has nothing to do, and what follows soon is done: layout, picture, bars."""
    loop = cast(_Loop, asyncio.get_running_loop())
    for _ in range(6):
        quiet = 0
        while quiet < 2:  # each time around, the loop also asks for input
            await asyncio.sleep(0)
            quiet = 0 if loop._ready else quiet + 1
        due = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
        rest = min(due, default=math.inf) - loop.time()
        if rest > _NEAR:
            return
        await asyncio.sleep(max(0.0, rest))


async def _threads_are_idle(others: Iterable[threading.Thread]) -> None:
    """Wait until the event loop has nothing to do, and no other thread was woken while a lock's wait lasts."""
    end = time.monotonic() + _MOST_WAIT
    await _loop_is_idle()
    switches, looks = _switches(others), 0
    while time.monotonic() < end or looks < _LEAST_LOOKS:
        looks += 1
        await asyncio.sleep(_SWITCH)
        await _loop_is_idle()
        before, switches = switches, _switches(others)
        if switches and switches == before:
            return


def _switches(threads: Iterable[threading.Thread]) -> frozenset[str]:
    """Each thread with its numbers of context switches; nothing if one of them runs (proc_pid_status(5))."""
    result = set()
    for thread in threads:
        try:
            with open(f"/proc/self/task/{thread.native_id}/status", encoding="utf-8") as file:
                text = file.read()
        except OSError:  # it has just ended
            return frozenset()
        if "\nState:\tS" not in text:
            return frozenset()
        result.add(f"{thread.native_id} {text[text.index('voluntary_ctxt_switches'):]}")
    return frozenset(result)


class _Loop(Protocol):
    """What an event loop of asyncio has to do, and what it will (Lib/asyncio/base_events.py)."""

    _ready: Sized
    _scheduled: Iterable[asyncio.TimerHandle]

    def time(self) -> float: ...


@pytest.fixture(autouse=True)
def _the_pilot_knows_what_idle_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make Textual's pilot continue as soon as the program is idle, instead of when it uses little CPU time.

    Where all of it runs in one event loop, that loop knows it at once; of other threads the kernel knows whether they
    sleep. A key took 60 ms of nothing but waiting, and on a busy machine a second.
    """
    if "textual._wait" not in sys.modules:
        return
    known = set(threading.enumerate())  # xdist's

    async def wait(*_seconds: float) -> None:
        others = set(threading.enumerate()) - known
        await (_threads_are_idle(others) if others else _loop_is_idle())

    for module in ("textual.app", "textual.pilot"):
        if module in sys.modules:
            monkeypatch.setattr(sys.modules[module], "wait_for_idle", wait)


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """Compare a picture when the past that its charts show has been read, however long the machine takes for it."""
    from dashboard_driver import until_read  # noqa: PLC0415 - loads the dashboard

    from turbotui.app.frames import FramesApp  # noqa: PLC0415 - as above

    def compare(app: Any, *, run_before: Callable[[Pilot[int]], Awaitable[object]], **how: Any) -> bool:
        async def run(pilot: Pilot[int]) -> None:
            await run_before(pilot)
            if isinstance(pilot.app, FramesApp):
                await until_read(pilot.app, pilot)

        return snap_compare(app, run_before=run, **how)

    return compare


@pytest.fixture(autouse=True, scope="session")
def _style_sheets_are_parsed_once() -> Iterator[None]:
    """Share parsed style sheets among all apps of a process, which saves a sixth of the time of a screen's test.

    Textual parses the sheet of each widget for each app, and all of them again when the theme is set. What comes of it
    depends on the sheet and on the theme's variables alone, and nobody changes it.
    """
    parse = Stylesheet._parse_rules
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}
    known: list[tuple[dict[str, str], frozenset[tuple[str, str]]]] = []  # the last theme, which has 170 variables

    def parse_once(self: Stylesheet, css: str, **more: Any) -> list[RuleSet]:
        if not known or known[0][0] is not self._variables:
            known[:] = [(self._variables, frozenset(self._variables.items()))]
        key = (known[0][1], css, *more.items())
        if key not in parsed:
            parsed[key] = parse(self, css, **more)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _what_no_terminal_takes_is_not_put_together() -> Iterator[None]:
    """Draw each widget, and leave out what Textual throws away where there is no terminal: the lines cut and joined.

    A picture, and what a test asks the compositor for, is put together as ever.
    """
    put_together = Compositor.render_update

    def draw(self: Compositor, full: bool = False, screen_stack: list[Any] | None = None,
             simplify: bool = False) -> RenderableType | None:
        app = active_app.get()
        if full or simplify or not app.is_headless:
            return put_together(self, full, screen_stack, simplify)
        visible_screen_stack.set([] if screen_stack is None else screen_stack)
        changed, whole = self._dirty_regions.copy(), self.size.region
        self._dirty_regions.clear()
        if changed:
            for _widget in self._get_renders(Region.from_union(changed).intersection(whole)):
                pass  # its lines are drawn when the compositor comes to them
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", draw)
        yield


@pytest.fixture
def one_time_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let times of day be in UTC, for pictures that have some."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def few_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each simulated machine few cores, also those that a command line names: for files not about size."""
    from smallmachines import small_shapes  # noqa: PLC0415 - loads the simulation

    monkeypatch.setattr("turbotui.simulated.named.SHAPES", small_shapes())


@pytest.fixture
def all_cores(few_cores: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give them all cores, for the tests of such a file that need them."""
    from turbotui.simulated import SHAPES  # noqa: PLC0415 - as above

    monkeypatch.setattr("turbotui.simulated.named.SHAPES", SHAPES)


@pytest.fixture(scope="module")
def moved_time() -> Iterator[None]:
    """Let intervals of commands on simulated machines pass at once, and none of their readings be late.

    For files that start no other program and measure nothing real: this machine's own time goes on.
    """
    from moved_clock import move_time  # noqa: PLC0415 - loads the sampler

    with pytest.MonkeyPatch.context() as patch:
        move_time(patch)
        yield


@pytest.fixture
def objects_of_the_test_alone() -> None:
    """Have the collector leave out what there is.

    In a process that ran other tests that is a million objects, which it looks through in half a second.
    """
    gc.collect()
    gc.freeze()


_LONG = ("guest", "e2e", "bed", "terminal", "app", "truth")
"""Folders with the longest files, which are begun first: those that wait for emulated machines and terminals end while
others compute, and at the end of the suite no worker has a long file left while the others have nothing."""


_HERE: Final = Path(__file__).parent
_TEXTUAL_OF_PICTURES: Final = pytest.mark.skipif(textual.__version__ != "8.2.8",
                                                 reason="the pictures were made with Textual 8.2.8")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each of xdist's workers import other files first, where all tests are asked for.

    On a clean checkout nothing is compiled yet. In one order, each worker would compile everything: 64 of 85 s of CPU
    time for four of them. In orders of their own, each finds compiled what others came to before.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(word).resolve() for word in session.config.args] == [_HERE]:
        files = sorted(map(str, _HERE.rglob("test_*.py")))
        first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        session.config.args = files[first:] + files[:first]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest; the order within a file stays (xdist: --no-loadscope-reorder).

    What compares a picture is marked here, so that `-m snapshot` leaves none out.
    """
    items.sort(key=lambda item: _place(str(item.path)))
    for item in items:
        if "snap_compare" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.snapshot)
            item.add_marker(_TEXTUAL_OF_PICTURES)


@functools.cache
def _place(file: str) -> tuple[int, str]:
    """Return the sort key of a test file, computed once for the many tests of the file."""
    folder = Path(file).relative_to(_HERE).parts[0]
    return _LONG.index(folder) if folder in _LONG else len(_LONG), file


def pytest_collection_finish() -> None:
    """Have the garbage collector leave alone what was imported: to look through it again and again takes a tenth.

    Through what tests make it looks after 100,000 new objects instead of 700: an eighth of what screens' tests take,
    for 4 MB more.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Look once through what the tests left; pytest looks five times for objects that end with an error.

    Those are found by the first look. Each costs a worker that has seen the whole suite a second.
    """
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are CPUs for `-n auto`: at any time some wait for a terminal, a machine or a pilot.

    With one more, workers waited for half of the seconds of their tests, and CPUs for a quarter of the suite's.
    """
    return len(os.sched_getaffinity(0)) + 2
