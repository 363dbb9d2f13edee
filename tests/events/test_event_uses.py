"""Uses of encoded events: an added column, and the reasons of events that cannot be opened."""

from __future__ import annotations

import threading

import pytest
from knownmachines import known_machine
from patience import PATIENCE

from turbotui.events.encoder import EventEncoder
from turbotui.events.listing import try_open
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.perf_errors import circumstances
from turbotui.quantities.added import parse_added
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.simulated import ManualClock, SimulatedHost, simulated_host
from turbotui.sources import SOURCES
from turbotui.sources.added import added_source


def probe(machine: Machine, text: str) -> Signal | Unavailable:
    counter = parse_added(text)
    return added_source(counter).probe(machine).signals[counter.signal]


@pytest.fixture(scope="module")
def vera() -> Machine:
    return known_machine(simulated_host("vera-2s", ManualClock()))


@pytest.mark.parametrize(
    "text",
    [
        "perf/nvidia_ucf_pmu_0/event=0x113,src_loc_cpu=1,dst_loc_cmem=1,package,B",
        "perf/nvidia_ucf_pmu_1/SLC_BYTES_RD,package,B",
        "perf/nvidia_pcie_pmu_0_rc_4/rd_bytes,src_bdf=0x2709,src_bdf_en=1,package,B",
        "perf/cpu/instructions,I",
        "perf/cpu/event=0x11/u,C",
    ],
)
def test_the_whole_grammar_can_be_added(vera: Machine, text: str) -> None:
    assert isinstance(probe(vera, text), Signal), probe(vera, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("perf/nvidia_pcie_pmu_0_rc/rd_bytes,package,B", "6 PMUs"),
        ("perf/nvidia_ucf_pmu_0/slc_bytes_dr,B", "slc_bytes_rd"),
        ("perf/nvidia_ufc_pmu_0/cycles,B", "nvidia_ucf_pmu_0"),
        ("perf/nvidia_ucf_pmu_0/event=0x200000000,B", "33 bits"),
        ("perf/cpu/event=0x11/z,C", "'z'"),
    ],
)
def test_what_cannot_be_added_has_a_reason(vera: Machine, text: str, says: str) -> None:
    result = probe(vera, text)
    assert isinstance(result, Unavailable)
    assert says in result.sentence()


def test_scale_follows_the_event_whatever_stands_beside_it() -> None:
    machine = known_machine(simulated_host("sapphire-2s", ManualClock()))
    for text in ("perf/power/energy-pkg,package,E", "perf/power/energy-pkg,config1=0,package,E"):
        result = probe(machine, text)
        assert isinstance(result, Signal)
        assert result.scale == pytest.approx(2.0**-32)


@pytest.mark.parametrize(("level", "opens"), [(-1, True), (0, True), (1, False), (2, False)])
def test_paranoid_levels_have_a_reason_and_a_remedy(level: int, opens: bool) -> None:
    host: SimulatedHost = simulated_host("sapphire-2s", ManualClock())
    host.set_privileges(uid=1000, capabilities=0, paranoid=level)
    machine = read_machine(host)
    for text in ("cycles", "power/energy-pkg/", "cs"):
        (event,) = EventEncoder(host).encode(text)
        why = try_open(host, event, circumstances(machine), tuple(machine.topology.cpus))
        assert (why is None) == opens
        if why is not None:
            assert why.reason is Reason.NOT_PERMITTED
            assert f"perf_event_paranoid is {level}" in why.sentence()
            assert "CAP_PERFMON" in why.sentence()


def test_a_filter_that_the_kernel_refuses_has_a_reason(vera: Machine) -> None:
    (event,) = EventEncoder(vera.host).encode("nvidia_ucf_pmu_0/cycles/u")  # these PMUs refuse every exclude bit
    why = try_open(vera.host, event, circumstances(vera), tuple(vera.topology.cpus))
    assert why is not None
    assert "nvidia_ucf_pmu_0/cycles/u" in why.sentence()


def test_a_fabric_of_one_socket_fills_only_that_sockets_row() -> None:
    clock = ManualClock(1_000_000_000)
    host = simulated_host("vera-2s", clock)
    session = Session(read_machine(host), SOURCES, 3600.0, host)
    column = session.add("perf/nvidia_ucf_pmu_1/cycles,package,fabric")
    session.want([column.id])
    arrived = threading.Semaphore(0)
    frames: list[Frame] = []

    def take(frame: Frame) -> None:
        frames.append(frame)
        arrived.release()

    try:
        session.start(take)
        assert arrived.acquire(timeout=PATIENCE)
        clock.advance(0.1)
        session.end_interval()
        assert arrived.acquire(timeout=PATIENCE)
        frame = frames[-1]
    finally:
        session.stop()
    assert session.failure is None
    first, second = (frame.cell(column, row) for row in frame.rows(Scope.PACKAGE))
    assert first is None
    assert second == pytest.approx(2.5e8, rel=1e-6)  # docs/specs/nvidia.md 1: 2.5 GHz over 0.1 s
