"""Skylake's CHAs: one register selects the requests of all counters of a unit, so other requests are multiplexed."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from uncorewatch import UncoreWatch

from turbotui.events.perf_encoder import PerfEncoder
from turbotui.events.uncore.unapplied import unapplied
from turbotui.features.uncore.explaining import evidence_of
from turbotui.features.uncore.tables import uncore_table
from turbotui.machine.host import HostError
from turbotui.machine.pmus import read_pmu
from turbotui.simulated import SHAPES, ManualClock, simulated_host
from turbotui.simulated.shapes import Block

OPCODES = "event=0x35,umask=0x34,filter_loc=1,filter_rem=1,filter_nm=1,filter_not_nm=1,filter_opc0"


@pytest.fixture(scope="module")
def watch() -> UncoreWatch:
    return UncoreWatch(replace(SHAPES["cascade-2s"], packages=1, blocks=(Block(2, 0, 1, 2),)))


def test_the_kernel_refuses_two_filters_in_one_group(watch: UncoreWatch) -> None:
    encoder = PerfEncoder(watch.host)

    def opened(terms: str, leader: int) -> int:
        (event,) = encoder.encode(f"uncore_cha_0/{terms}/")
        return watch.host.perf_event_open(event.attr, -1, 0, leader)

    leader = opened(f"{OPCODES}=0x21e", -1)
    others = [opened(terms, leader) for terms in (f"{OPCODES}=0x21e,inv=1",
                                                  "event=0x50,umask=0x1")]
    with pytest.raises(HostError) as refused:
        opened(f"{OPCODES}=0x248", leader)
    assert refused.value.errno == errno.EINVAL
    for item in (*reversed(others), leader):
        watch.host.close(item)


def test_values_of_several_filters_are_multiplexed_and_say_so(watch: UncoreWatch) -> None:
    units = watch.units_of("uncore_cha")
    shown = {metric.id: metric for metric in units.metrics}
    names = ("home rd loc bandwidth GB/s", "ddio rd bandwidth GB/s", "pcie rd bandwidth GB/s")
    watch.counters.show(units, [shown[name] for name in names])
    frame = watch.frames()[-1]
    row = units.rows[0]
    home, ddio, pcie = (watch.counters.reading(frame, units, row, shown[name]) for name in names)
    ran = {name: reading.ran or 0.0 for name, reading in zip(names, (home, ddio, pcie), strict=True)}
    assert list(ran.values())[1:] == pytest.approx([1 / 3, 1 / 3])  # RdCur, RFO, and CRd with DRd
    assert ran[names[0]] > 0.5, "what needs no filter does not wait for those that do"
    assert [ddio.estimated, pcie.estimated] == [True, True]
    assert (pcie.value or 0.0) > (ddio.value or 0.0) > 0
    evidence = evidence_of(watch.counters, units, row, shown["pcie rd bandwidth GB/s"], pcie, ports=None)
    assert any("33.3 % of the interval, as a unit has one register" in remark for remark in evidence.remarks)
    assert "filters: those of the events alone" in evidence.readings[-1]
    evidence = evidence_of(watch.counters, units, row, shown["home rd loc bandwidth GB/s"], home, ports=None)
    assert "filters: none set, everything is counted" in evidence.readings[-1]


def test_what_the_kernel_does_not_filter_says_so(watch: UncoreWatch) -> None:
    """A filter of a person stands beside the units, and the driver applies it to the events of the TOR alone."""
    units = watch.units_of("uncore_cha")
    shown = {metric.id: metric for metric in units.metrics}
    watch.counters.show(units, [shown["home rd loc bandwidth GB/s"], shown["llc hits %"]])
    watch.counters.set_filters([unit.pmu.name for unit in units.units], {"filter_opc0": 0x202, "filter_state": 1})
    table = uncore_table(watch.counters, units, watch.frames()[-1])
    loc, hits = table.unfiltered()
    assert loc == ("home rd loc GB/s: the kernel does not apply filter_opc0, filter_state to "
                   "UNC_CHA_REQUESTS.READS_LOCAL: everything is counted of that")
    assert hits.startswith("llc hits %: the kernel does not apply filter_state to UNC_CHA_TOR_INSERTS.IA_HIT, ")
    evidence = table.evidence(shown["home rd loc bandwidth GB/s"], units.rows[0])
    assert evidence.remarks[0].startswith("the kernel does not apply filter_opc0, filter_state to UNC_CHA_REQUESTS")
    watch.counters.set_filters([unit.pmu.name for unit in units.units], {})
    assert uncore_table(watch.counters, units, None).unfiltered() == ()


@pytest.mark.parametrize(("terms", "ignored"), [
    ("event=0x35,umask=0x21", ("filter_state", "filter_tid")), ("event=0x34,umask=0x11", ("filter_opc0", "filter_tid")),
    ("event=0x34,umask=0x12", ("filter_opc0", "filter_state", "filter_tid")),
    ("event=0x38,umask=0x1", ("filter_opc0", "filter_state"))])
def test_fields_go_with_the_events_of_the_driver(watch: UncoreWatch, terms: str, ignored: tuple[str, ...]) -> None:
    (event,) = PerfEncoder(watch.host).encode(f"uncore_cha_0/{terms}/")
    pmu = watch.units_of("uncore_cha").units[0].pmu
    assert unapplied(pmu, event.attr, ("filter_opc0", "filter_state", "filter_tid")) == ignored


def test_newer_boxes_filter_threads_where_the_event_says_so() -> None:
    host = simulated_host("granite-2s", ManualClock())
    pmu = read_pmu(host, "uncore_cha_0")
    assert pmu is not None
    for terms, ignored in (("event=0x35,umask=0x1", ("filter_tid",)), ("event=0x35,umask=0x1,tid_en=1", ())):
        (event,) = PerfEncoder(host).encode(f"uncore_cha_0/{terms}/")
        assert unapplied(pmu, event.attr, ("filter_tid",)) == ignored


def test_units_that_refuse_for_one_reason_have_one_sentence(watch: UncoreWatch) -> None:
    units = watch.units_of("uncore_cha")
    shown = {metric.id: metric for metric in units.metrics}
    watch.counters.show(units, [shown["miss latency ns"]])
    watch.counters.set_filters([unit.pmu.name for unit in units.units], {"filter_opc0": 0x202})
    (why,) = uncore_table(watch.counters, units, watch.frames()[-1]).reasons()
    assert why.startswith("failed: perf uncore_cha/event=0x36")
    assert why.endswith(f"write one of them (of {len(units.units)} PMUs)")
    watch.counters.set_filters([unit.pmu.name for unit in units.units], {})
