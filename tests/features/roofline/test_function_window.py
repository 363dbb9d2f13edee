"""Functions of a point of the roofline screen: samples, and the window that shows them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from patience import PATIENCE, least_disturbed
from replayed_frames import ReplayedSession, roofline

from turbotui.features.roofline import function_watch
from turbotui.features.roofline.function_points import FunctionPoint, Functions, function_points, sampled_events
from turbotui.features.roofline.function_watch import FunctionWatch, SampledFunctions
from turbotui.features.roofline.screen_functions import FunctionsWindow, SampledPlace, function_lines, place_of
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.ip_records import AddressSpaces, IpSample
from turbotui.machine.ip_sampling import IpSampler, SampledCode
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, Term
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable

_BUSY = "import hashlib\nprint(flush=True)\nwhile 1: hashlib.sha256(b'x' * 1000000).digest()"
_NO_COUNTERS = Unavailable(Reason.VIRTUALISED, "made for this test")


@pytest.fixture
def busy() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-c", _BUSY], stdout=subprocess.PIPE)  # noqa: S603 - this Python
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.wait()
    process.stdout.close()


def _sampled(code: SampledCode, enough: Callable[[SampledFunctions], bool],
             longest: float = PATIENCE) -> SampledFunctions:
    """Sample until there is enough; what is sampled may have to wait for a CPU of a busy machine."""
    published: list[SampledFunctions] = []

    def publish(sampled: SampledFunctions) -> None:
        published.append(sampled)
        if enough(sampled):
            watch.stop()

    watch = FunctionWatch(read_machine(LinuxHost()), code, Sizing(), publish, _NO_COUNTERS, longest=longest)
    watch.start()
    assert watch.wait(2 * PATIENCE)
    return published[-1]


@pytest.mark.real
@least_disturbed
def test_a_thread_that_runs_already_is_sampled_with_the_files_it_has_mapped(busy: int) -> None:
    value = _sampled(SampledCode.of_thread(busy), lambda sampled: sampled.functions.samples > 20)
    if value.why is not None:
        pytest.skip(value.why.sentence())
    assert not value.over
    name_of_task = Path(f"/proc/{busy}/comm").read_text("utf-8").strip()  # that of a link, where Python is one
    assert [name for name, _share in value.tasks] == [f"{name_of_task} {busy}"]
    assert sum(function_point.share for function_point in value.functions.points) == pytest.approx(1.0)
    by_file: dict[str, float] = {}
    for point in value.functions.points:
        by_file[point.file] = by_file.get(point.file, 0.0) + point.share
    assert max(by_file, key=lambda file: by_file[file]).split(".")[0].rstrip("0123456789-") in {
        "libcrypto", "_sha", "_hashlib", "python", "libpython"}
    assert all(item.flops is None and item.why is not None for item in value.functions.points)
    assert value.uncounted is _NO_COUNTERS
    assert value.cost > 0


@pytest.mark.real
@least_disturbed
def test_cpus_are_sampled_while_something_runs_there(busy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_watch, "_TASKS", 10_000)  # others may run more
    machine = read_machine(LinuxHost())

    def has_busy(sampled: SampledFunctions) -> bool:
        return any(name.endswith(f" {busy}") for name, _share in sampled.tasks)

    functions = _sampled(SampledCode.of_cpus(machine.topology.cpus), has_busy)
    if functions.why is not None:
        pytest.skip(functions.why.sentence())
    assert has_busy(functions)
    # the clock does not count idle time
    assert functions.functions.samples <= 1.15 * 1e3 * functions.seconds * len(machine.topology.cpus)


@pytest.mark.real
def test_it_ends_by_itself(busy: int) -> None:
    assert _sampled(SampledCode.of_thread(busy), lambda _sampled: False, longest=0.0).over


def _point(name: str, share: float, flops: float | None, size: float | None) -> FunctionPoint:
    return FunctionPoint(name, "prog", 10, share, 0.01, flops, size)


_PLACE = SampledPlace("core 1", SampledCode.of_cpus((1, 3)), "CPUs 1,3")


def test_a_table_has_rates_where_they_are_sampled_and_shares_always() -> None:
    points = (_point("dgemm", 0.75, 8e9, 2e9), _point("f" * 200, 0.25, 1e9, None))
    tasks = (("a 1", 0.6), ("b 2", 0.4))
    functions = SampledFunctions(2.0, 0.01, True, Functions(points, 40, ("functions: a note",)), tasks)
    lines = list(function_lines(functions, _PLACE, 90))
    assert lines[0] == "CPUs 1,3: 40 samples in 2.0 s (over); reading and naming them took 0.01 s of CPU time"
    assert lines[1] == "tasks: a 1 60 %, b 2 40 %"
    assert " ".join(lines[4].split()) == "75.0 % 1.0 4 4 1 dgemm prog"  # flop/B, GFLOP/s, GB/s
    assert " ".join(lines[5].split())[:22] == "25.0 % 1.0 — 0.5 — fff"
    assert lines[-1] == "a note"
    assert max(map(len, lines[2:])) <= 90
    plain = list(function_lines(SampledFunctions(2.0, 0.01, False, Functions((_point("f", 1.0, None, None),), 40),
                                                 uncounted=_NO_COUNTERS), _PLACE, 90))
    assert plain[1].startswith("No intensity: virtual machine: made for this test")
    assert not any("GF/s" in line for line in plain)


@pytest.mark.parametrize("width", [66, 94, 200])
@pytest.mark.parametrize("counted", [True, False])
def test_files_are_whole_and_long_names_go_first_where_there_is_little_room(width: int, counted: bool) -> None:
    flops = 1e9 if counted else None
    long, short = (FunctionPoint(name, "libcrypto.so.3", 40, 0.5, 0.1, flops, flops)
                   for name in ("void std::__introsort_loop<double*, long>(double*, double*, long, long, long)", "f"))
    functions = SampledFunctions(2.0, 0.01, False, Functions((long, short), 80))
    lines = [line for line in function_lines(functions, _PLACE, width) if " % " in line][-2:]
    assert max(map(len, lines)) <= width
    assert lines[1].endswith("  libcrypto.so.3") or width == 66
    assert lines[0].endswith(("  libcrypto.so.3", "…"))
    assert "void std::" in lines[0]


@pytest.mark.parametrize(("found", "words"), [
    (SampledFunctions(), "sampling CPUs 1,3 for 10 s"),
    (SampledFunctions(3.0, 0.0, True), "nothing ran there in 3.0 s"),
    (SampledFunctions(over=True, why=Unavailable(Reason.NOT_PERMITTED, "kernel.perf_event_paranoid is 2", "sudo")),
     "Not sampled: kernel.perf_event_paranoid is 2\nto do: sudo"),
])
def test_what_is_not_sampled_is_reported(found: SampledFunctions, words: str) -> None:
    assert words in "\n".join(function_lines(found, _PLACE, 90))


async def test_the_window_is_of_the_point_under_the_cursor_and_says_that_nothing_runs_there() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (app, pilot, screen):
        point = screen.view.under_cursor
        assert point is not None
        await pilot.press("f")
        await pilot.pause()
        window = app.screen
        assert isinstance(window, FunctionsWindow)
        while not window.result.over:
            await pilot.pause()
        title, lines = window.tell(80)
        assert title == f"functions of {point.name}"
        assert "a simulated machine runs no code" in lines[0]
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is screen


async def test_a_point_is_its_cpus_or_its_thread() -> None:
    async with roofline(ReplayedSession("laptop-old+calculix")) as (_app, pilot, screen):
        topology = screen.watch_state.session.machine.topology
        place = place_of(screen.view, topology)
        point = screen.view.under_cursor
        assert place is not None
        assert point is not None
        instance = topology.instance(point.row)
        assert instance is not None
        assert point.row.scope is Scope.CORE
        assert place.code == SampledCode.of_cpus(instance.cpus)
        await pilot.press("t", "t")
        await pilot.pause()
        assert screen.view.tasks
        assert screen.view.under_cursor is None
        whole = place_of(screen.view, topology)
        assert whole is not None
        assert whole.code == SampledCode.of_cpus(topology.cpus)


async def test_without_counters_the_whole_machine_is_sampled() -> None:
    async with roofline(ReplayedSession("guest")) as (app, pilot, _screen):
        await pilot.press("f")
        await pilot.pause()
        assert isinstance(app.screen, FunctionsWindow)
        assert app.screen.tell(80)[0] == "functions of the whole machine"


class _Taken(IpSampler):
    """A sampler that has seen two events of one function, the first of which was on a quarter of the time."""

    def __init__(self) -> None:
        self.spaces = AddressSpaces()
        self.keys = {1: -1, 2: 0, 3: 1}
        self.refused = {}
        self.user_only = False
        self.damaged = 0

    def shares(self) -> dict[int, float]:
        return {0: 0.25, 1: 1.0}


def test_multiplexed_events_are_scaled_to_the_whole_time() -> None:
    definition = MetricDefinition(
        slug="software", name="software", pmu=("software",),
        events=(MetricEvent("operations", 2, "page-faults"), MetricEvent("loads", 5, "minor-faults")),
        flops=(Term("operations", 1),), accesses=(Term("loads", 1),), widths=(), counters=4, note="a stand-in",
        source="perf_event_open(2)", instructions=1)
    events = sampled_events([CountedCoreType(definition, Pmu("software", 1), frozenset({0}))])
    assert [event.sampled.cpus for event in events] == [frozenset({0})] * 2
    sampler = _Taken()
    for event, period, number in ((1, 1, 10), (2, 100, 5), (3, 100, 5)):
        for _ in range(number):
            sampler.spaces.take(IpSample(1, event, 7, 0, True, period))
    functions = function_points(sampler, events, Sizing(WidthModel.GIVEN, 8.0), 0.0)
    (point,) = functions.points
    assert (point.name, point.flops, point.bytes) == ("(kernel)", 4 * 500, 8 * 500)
    assert any("one of them counted 25 % of the time" in note for note in functions.notes)
