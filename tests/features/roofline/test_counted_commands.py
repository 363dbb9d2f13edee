"""Counting a command: real commands with software events, and the arithmetic of multiplexed sets."""

from __future__ import annotations

import resource
import signal
import sys

import pytest
from jsontables import tables
from patience import least_disturbed

from turbotui.counting.commands import CommandCounters
from turbotui.errors import MachineError, TurbotuiError
from turbotui.features.roofline.command import follow, speed_of
from turbotui.features.roofline.engine import count_command
from turbotui.features.roofline.result_tables import result_tables
from turbotui.features.roofline.text import report_lines
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.host import HostError, HostKind, PerfAttr
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, Term, Width
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

SOFTWARE = 1  # PERF_TYPE_SOFTWARE
CLOCK, FAULTS, SWITCHES = PerfAttr(SOFTWARE, 1), PerfAttr(SOFTWARE, 2), PerfAttr(SOFTWARE, 3)

_CHILDREN = """
import os, sys
for _ in range(2):
    if not os.fork():
        area = bytearray(16 << 20)
        os._exit(0)
for _ in range(2):
    os.wait()
sys.exit(int(sys.argv[1]))
"""
_PAGES = (2 * 16 << 20) // resource.getpagesize()


def _stand_in(slug: str, pmu: Pmu, counters: int = 3) -> CountedCoreType:
    """A definition of events that every kernel counts: faults stand in for operations, switches for accesses.

    Run time stands in for instructions.
    """
    definition = MetricDefinition(
        slug=slug, name="software", pmu=("software",),
        events=(MetricEvent("operations", 2, "page-faults"), MetricEvent("loads", 3, "context-switches"),
                MetricEvent("wide", 2, "page-faults", config1=0)),
        flops=(Term("operations", 1),), accesses=(Term("loads", 1),), widths=(Width("wide", 16, "SSE"),),
        counters=counters, note="a stand-in", source="perf_event_open(2)", instructions=1,
    )
    return CountedCoreType(definition, pmu, None)


@pytest.mark.real
def test_counts_begin_at_the_exec_and_hold_what_children_did() -> None:
    held = HeldCommand([sys.executable, "-c", _CHILDREN, "0"])
    counters = CommandCounters(LinuxHost(), [[CLOCK], [FAULTS, SWITCHES]], held.pid)
    try:
        assert [list(item)[2:] for item in counters.read()] == [[0], [0, 0]]
        held.go()
        while held.status is None:
            pass
        (_enabled, _running, clock), (enabled, running, faults, _switches) = counters.read()
    finally:
        counters.close()
    assert clock > 0
    if not counters.user_only:
        # transparent huge pages may serve 2 MiB at a fault, but the interpreter alone makes hundreds
        assert faults >= min(_PAGES, 500)
    assert running == enabled > 0


@pytest.mark.real
def test_a_command_is_followed_to_its_end_and_its_status_kept() -> None:
    machine = read_machine(LinuxHost())
    core_type = _stand_in("software", Pmu("software", SOFTWARE))
    started: list[bool] = []
    followed = follow(machine, (core_type,), [sys.executable, "-c", _CHILDREN, "7"], 0.05,
                      sizing=Sizing(WidthModel.GIVEN, 8.0), ready=lambda: started.append(True))
    assert (followed.status, followed.interrupted) == (7, 0)
    assert started == [True]
    assert followed.points
    assert sum(point.gflops * point.length for point in followed.points) * 1e9 > 500  # faults
    assert followed.points[-1].seconds == pytest.approx(sum(point.length for point in followed.points))
    assert 0 < followed.busy < 16


@pytest.mark.real
@pytest.mark.parametrize("counters", [8, 1])
def test_an_interrupt_is_waited_out_and_reported(counters: int) -> None:
    """The command sends it to the one that follows it, and ends by itself."""
    core_type = _stand_in("software", Pmu("software", SOFTWARE), counters=counters)
    code = "import os, signal; os.kill(os.getppid(), signal.SIGINT)"
    followed = follow(read_machine(LinuxHost()), (core_type,), [sys.executable, "-c", code], 0.05,
                      sizing=Sizing(WidthModel.GIVEN, 8.0))
    assert (followed.status, followed.interrupted) == (0, signal.SIGINT)


_STEADY = """
import mmap
for _ in range(400):
    area = mmap.mmap(-1, 4 << 20)
    for place in range(0, 4 << 20, mmap.PAGESIZE):
        area[place] = 1
    area.close()
"""


@pytest.mark.real
@least_disturbed
def test_multiplexed_sets_are_joined_by_what_every_set_counts() -> None:
    machine = read_machine(LinuxHost())
    core_type = _stand_in("software", Pmu("software", SOFTWARE), counters=1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    followed = follow(
        machine, (core_type,), [sys.executable, "-c", _STEADY], 0.25, sizing=Sizing(WidthModel.GIVEN, 8.0)
    )
    faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    assert followed.status == 0
    assert followed.sets == 3
    # each event was on for a third of the run only
    assert sum(point.gflops * point.length for point in followed.points) * 1e9 == pytest.approx(faults, rel=0.15)
    assert all(point.estimated for point in followed.points[:-1])
    assert all(point.dominant == "SSE" for point in followed.points[:-1])


@pytest.mark.real
@least_disturbed
def test_a_rotation_reaches_children_that_began_before_it() -> None:
    host = LinuxHost()
    held = HeldCommand([sys.executable, "-c", _CHILDREN, "0"])
    counters = CommandCounters(host, [[CLOCK], [CLOCK, FAULTS], [CLOCK, FAULTS]], held.pid, frozenset({2}))
    try:
        held.go()
        while counters.read_set(1)[2] == 0:
            pass
        counters.rotate(1, 2)
        stopped = counters.read_set(1)
        while held.status is None:
            pass
        whole, first, second = counters.read_set(0), counters.read_set(1), counters.read_set(2)
    finally:
        counters.close()
    assert first == stopped  # nothing more, in no child
    assert second[2] > 0
    assert first[2] + second[2] == pytest.approx(whole[2], rel=0.05)


@pytest.mark.real
def test_the_report_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    machine = read_machine(LinuxHost())
    core_type = _stand_in("software", Pmu("software", SOFTWARE))
    result = count_command(machine, [sys.executable, "-c", _CHILDREN, "3"], 0.05, core_types=(core_type,),
                           sizing=Sizing(WidthModel.GIVEN, 8.0), theory=True)
    assert result.status == 3
    assert result.kind is HostKind.REAL
    envelope = Envelope(result.host, result.kind, 0, result.seconds)
    text = "\n".join(report_lines(envelope, result, plot=True, width=80, coloured=False))
    assert "CPUs busy: compared with the roofs of" in text
    assert "software: a stand-in" in text
    assert sys.executable in text
    assert (result.joules is None) == bool(result.why_no_energy)
    writer = JsonLines()
    outcome = tables("\n".join(line for table in result_tables(result) for line in writer.lines(envelope, table)))
    assert {row["name"] for row in outcome[0]["rows"]} <= {sys.executable}
    assert capsys.readouterr().out == ""


@pytest.mark.real
def test_a_command_that_cannot_be_counted_is_not_run(tmp_path: object) -> None:
    machine = read_machine(LinuxHost())
    core_type = _stand_in("none", Pmu("nothing", 0x7FFF_FFFF))
    mark = f"{tmp_path}/ran"
    with pytest.raises(MachineError, match="the command was not run"):
        follow(machine, (core_type,), ["touch", mark], 0.05, sizing=Sizing())
    assert not LinuxHost().exists(mark)


@pytest.mark.real
def test_a_command_that_does_not_exist_is_one_sentence() -> None:
    machine = read_machine(LinuxHost())
    with pytest.raises(TurbotuiError, match="no-such-command cannot be run"):
        follow(machine, (_stand_in("software", Pmu("software", SOFTWARE)),), ["no-such-command"], 0.05,
               sizing=Sizing(WidthModel.GIVEN))


@pytest.mark.real
def test_no_counter_stays_open_after_a_refusal() -> None:
    host = LinuxHost()
    held = HeldCommand(["true"])
    before = host.list_dir("/proc/self/fd")
    with pytest.raises(HostError):
        CommandCounters(host, [[CLOCK], [PerfAttr(0x7FFF_FFFF, 1)]], held.pid)
    assert len(host.list_dir("/proc/self/fd")) == len(before)
    held.close()


def _counts(value: int, running: int, enabled: int = 1000) -> list[int]:
    return [enabled, running, value, 10 * value]


def test_kinds_of_core_are_scaled_by_the_time_on_their_own_cores() -> None:
    """A command ran 600 of 1,000 ns on P cores and 400 on E cores; the E cores' set had to be multiplexed."""
    core_types = (_stand_in("big", Pmu("cpu_core", 4)), _stand_in("small", Pmu("cpu_atom", 10)))
    sets = tuple((core_type.definition.events[:2],) for core_type in core_types)
    zero = [[0] * 3, [0] * 4] * 2
    newer = [[1000, 600, 1], _counts(60, 600), [1000, 400, 1], _counts(20, 200)]
    speed, estimated = speed_of(core_types, sets, newer, zero, 2.0, sizing=Sizing(WidthModel.GIVEN, 4.0))
    assert speed is not None
    assert speed.flops == (60 + 40) / 2.0
    assert speed.bytes == 4.0 * 10 * (60 + 40) / 2.0
    assert estimated


def test_one_kind_of_core_is_scaled_by_the_time_it_was_enabled() -> None:
    core_type = _stand_in("one", Pmu("cpu", 4))
    sets = ((core_type.definition.events[:2],),)
    speed, estimated = speed_of((core_type,), sets, [_counts(50, 500)], [[0] * 4], 1.0,
                                sizing=Sizing(WidthModel.GIVEN, 8.0))
    assert speed is not None
    assert (speed.flops, speed.bytes, estimated) == (100.0, 8000.0, True)
    whole, estimated = speed_of((core_type,), sets, [_counts(50, 1000)], [[0] * 4], 1.0,
                                sizing=Sizing(WidthModel.GIVEN, 8.0))
    assert whole is not None
    assert (whole.flops, estimated) == (50.0, False)
    never, _ = speed_of((core_type,), sets, [_counts(0, 0)], [[0] * 4], 1.0, sizing=Sizing())
    assert never is None
