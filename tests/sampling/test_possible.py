"""Readings that no machine can have are unknown, with the reason, in every row, maximum and total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import capabilities_of, column, counter, place, snapshot

from turbotui.machine.machine import read_machine
from turbotui.machine.topology import topology_of
from turbotui.quantities.bounds import bounds_of, in_words
from turbotui.quantities.catalog.formulas import value_of
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Reason
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.frame import Frame
from turbotui.sampling.possible import READ_SECONDS
from turbotui.simulated import simulated_host
from turbotui.sources import SOURCES

SECOND = 1_000_000_000
TWO = topology_of([place(0), place(1, package=1)])
ROWS = {scope: [item.row for item in TWO.instances(scope)] for scope in (Scope.CPU, Scope.PACKAGE, Scope.SYSTEM)}


def frame_of(signal: Signal, items: Sequence[Raw], constants: Sequence[Signal] = (), seconds: float = 1.0) -> Frame:
    """Return a frame in which a counter rose by its item from 10, or a gauge ends with it."""
    rises = signal.behavior is Behavior.COUNTER
    older = {signal.id: [10 if rises else item for item in items]}
    newer = {signal.id: [10 + item if rises and isinstance(item, int) else item for item in items]}
    begin, end = ({signal.id: [at] * len(items)} for at in (SECOND, SECOND + round(seconds * SECOND)))
    return Frame(snapshot(TWO, older, begin), snapshot(TWO, newer, end, seq=1), capabilities_of(signal, *constants))


def gauge(name: str, scope: Scope, unit: Unit, scale: float = 1.0, reduce: Reduce = Reduce.MAX) -> Signal:
    return replace(counter(name, scope, reduce, behavior=Behavior.GAUGE), unit=unit, scale=scale)


def rising(name: str, scope: Scope, unit: Unit, scale: float = 1.0) -> Signal:
    return replace(counter(name, scope), unit=unit, scale=scale)


def hertz(name: str, clock: float) -> Signal:
    return replace(counter(name, Scope.SYSTEM, Reduce.SAME, behavior=Behavior.CONSTANT), unit=Unit.HERTZ,
                   constant=round(clock))


CLOCKS = (hertz("turbo.single", 4e9), hertz("base_hz", 2e9), hertz("tsc_hz", 2e9))
READOUT = replace(gauge("temp.core", Scope.CPU, Unit.CELSIUS, -1.0), offset=100.0, width_bits=7, low_bit=16)


@pytest.mark.parametrize(("signal", "bad", "good", "shown"), [
    (gauge("temp.pkg", Scope.PACKAGE, Unit.CELSIUS, 1e-3), 65_262_000, 40_000, 40.0),
    (gauge("temp.pkg", Scope.PACKAGE, Unit.CELSIUS, 1e-3), -273_150, 40_000, 40.0),
    (READOUT, 127 << 16, 40 << 16, 60.0),
    (gauge("cpufreq.cur", Scope.CPU, Unit.HERTZ, 1e3), 0, 2_000_000, 2e9),
    (gauge("cpufreq.cur", Scope.CPU, Unit.HERTZ, 1e3), 4_294_967_295, 2_000_000, 2e9),
    (gauge("uncore.cur", Scope.PACKAGE, Unit.HERTZ, 1e3), 4_294_967_295, 2_000_000, 2e9),
    (gauge("gfx.act", Scope.CPU, Unit.HERTZ, 1e6), 4_294_967_295, 0, 0.0),
    (gauge("stat.blocked", Scope.CPU, Unit.COUNT), 1 << 64, 3, 3.0),
    (gauge("load.1", Scope.CPU, Unit.COUNT, 0.01), 1 << 40, 300, 3.0),
    (gauge("meter.meter.0.power", Scope.CPU, Unit.WATT, 1e-6), 65_000_000_000_000, 95_000_000, 95.0),
    (gauge("meter.meter.0.power", Scope.CPU, Unit.WATT, 1e-6), 0, 95_000_000, 95.0),
    (gauge("meter.psu.0.power", Scope.CPU, Unit.WATT, 1e-6), 65_000_000_000_000, 0, 0.0),
    (gauge("meter.fan.0.turns", Scope.CPU, Unit.COUNT), 1_350_000, 0, 0.0),
    (gauge("meter.battery.0.volts", Scope.CPU, Unit.VOLT, 1e-6), 4_294_967_295_000, 12_000_000, 12.0),
    (gauge("meter.battery.0.amperes", Scope.CPU, Unit.AMPERE, 1e-6), 18_446_744_073_709_551_615, -1_500_000, -1.5),
    (gauge("meter.battery.0.capacity", Scope.CPU, Unit.RATIO, 1e-2), 255, 100, 1.0),
    (gauge("hsmp.c0", Scope.PACKAGE, Unit.RATIO, 1e-2), (1 << 32) - 1, 55, 0.55),
    (gauge("mem.available", Scope.CPU, Unit.BYTE, 1024.0), (1 << 64) - 4, 1 << 20, float(1 << 30)),
])  # fmt: skip
def test_a_gauge_outside_of_what_is_possible_is_unknown(signal: Signal, bad: int, good: int, shown: float) -> None:
    for items, known, unknown in (((bad, good), 1, 0), ((good, bad), 0, 1)):
        frame = frame_of(signal, items)
        counter_column = replace(column(signal.id, (signal.id,), signal.scope), compute=value_of(signal.id))
        rows = ROWS[signal.scope]
        assert frame.cell(counter_column, rows[known]) == pytest.approx(shown)
        assert frame.cells(counter_column, rows)[unknown] is None
        why = frame.why(counter_column, rows[unknown])
        assert why is not None
        assert why.reason is Reason.OUT_OF_RANGE
        assert frame.cell(counter_column, SYSTEM_ROW) == pytest.approx(shown), "out of maxima"


@pytest.mark.parametrize(("signal", "bad", "good"), [
    (rising("energy.pkg", Scope.PACKAGE, Unit.JOULE, 1e-6), 0xA000000000000, 30_000_000),
    (rising("energy.pkg", Scope.PACKAGE, Unit.JOULE, 1e-6), 262_143_328_850, 30_000_000),
    (rising("resctrl.mbm_total", Scope.PACKAGE, Unit.BYTE), 608_261_219 * 10**9, 50 * 10**9),
    (rising("aperf", Scope.CPU, Unit.CYCLE), 352_072_857_000_000, 3_900_000_000),
    (rising("mperf", Scope.CPU, Unit.CYCLE), 7_000_000_000, 2_000_000_000),
    (rising("cycles", Scope.CPU, Unit.CYCLE), 6_500_000_000, 4_100_000_000),
    (rising("tsc", Scope.CPU, Unit.CYCLE), 2_500_000_000, 2_001_000_000),
    (rising("tsc", Scope.CPU, Unit.CYCLE), 1_000_000_000, 1_999_000_000),
    (rising("cstate.core.c6", Scope.CPU, Unit.CYCLE), 4_500_000_000, 1_999_000_000),
    (rising("cstate.pkg.c2", Scope.PACKAGE, Unit.CYCLE), 1 << 40, 1_999_000_000),
    (rising("psi.cpu.some", Scope.CPU, Unit.SECOND, 1e-6), 1_500_000, 1_000_000),
    (rising("throttle.core.time", Scope.CPU, Unit.SECOND, 1e-3), 4_294_000, 900),
    (rising("throttle.core.count", Scope.CPU, Unit.COUNT), (1 << 32) - 1, 100),
    (rising("irq.total", Scope.CPU, Unit.COUNT), 1 << 40, 50_000),
    (rising("instructions", Scope.CPU, Unit.COUNT), 1 << 47, 20_000_000_000),
    (rising("vm.swap_in", Scope.CPU, Unit.COUNT), 1 << 62, 10_000),
])  # fmt: skip
def test_a_counter_that_rose_by_more_than_it_can_is_unknown(signal: Signal, bad: int, good: int) -> None:
    shown = good * signal.scale
    for items, known, unknown in (((bad, good), 1, 0), ((good, bad), 0, 1)):
        frame = frame_of(signal, items, CLOCKS)
        counter_column = column(signal.id, (signal.id,), signal.scope)
        rows = ROWS[signal.scope]
        assert frame.cell(counter_column, rows[known]) == pytest.approx(shown)
        assert frame.cell(counter_column, rows[unknown]) is None
        assert frame.deltas(signal.id)[unknown] is None, "exports add these up"
        why = frame.why(counter_column, rows[unknown])
        assert why is not None
        assert why.reason is Reason.OUT_OF_RANGE
        whole = frame.cell(counter_column, SYSTEM_ROW)
        assert whole is None if signal.unit is Unit.JOULE else whole == pytest.approx(shown)


def test_a_constant_outside_of_what_is_possible_is_unknown() -> None:
    frame = frame_of(rising("tsc", Scope.CPU, Unit.CYCLE), (5, 5), (hertz("turbo.single", 2.0**32 * 1e6),))
    counter_column = replace(column("turbo.single", ("turbo.single",), Scope.SYSTEM), compute=value_of("turbo.single"))
    assert frame.cell(counter_column, SYSTEM_ROW) is None
    why = frame.why(counter_column, SYSTEM_ROW)
    assert why is not None
    assert why.reason is Reason.OUT_OF_RANGE


@given(seconds=st.floats(0.01, 3600.0), share=st.floats(0.0, 1.0))
def test_what_is_possible_is_shown_however_long_the_interval(seconds: float, share: float) -> None:
    for signal in (rising("energy.pkg", Scope.PACKAGE, Unit.JOULE, 1e-6),
                   rising("psi.cpu.some", Scope.CPU, Unit.SECOND, 1e-6)):
        most = bounds_of(signal).most * seconds
        frame = frame_of(signal, [int(share * most / signal.scale), 5], seconds=seconds)
        assert frame.deltas(signal.id)[0] is not None


@given(seconds=st.floats(1e-3, 3600.0), share=st.floats(0.5, 3.0), other=st.sampled_from([0, 5, None]))
def test_what_exceeds_the_longest_time_between_two_readings_is_unknown(seconds: float, share: float,
                                                                       other: int | None) -> None:
    for signal in (rising("energy.pkg", Scope.PACKAGE, Unit.JOULE, 1e-6), rising("aperf", Scope.CPU, Unit.CYCLE)):
        step = int(share * bounds_of(signal).most * (seconds + READ_SECONDS) / signal.scale)
        frame = frame_of(signal, [step, other], seconds=seconds)
        [span, _] = frame.spans(signal.id)
        assert span is not None
        beyond = step * signal.scale > bounds_of(signal).most * (span + READ_SECONDS)
        assert (frame.deltas(signal.id)[0] is None) == beyond


def test_a_number_that_no_machine_has_is_outside_for_every_unit() -> None:
    # all ones, as a bus without a device answers, and what is left of a subtraction below zero
    for name in ("laptop", "sapphire-2s", "turin-2s", "grace-2s", "server-psu", "laptop-gpu"):
        capabilities = probe_sources(read_machine(simulated_host(name)), SOURCES)
        for signal in capabilities.signals.values():
            if signal.unit in {Unit.TEXT, Unit.BITS} or signal.behavior is Behavior.CONSTANT or signal.width_bits < 64:
                continue
            bounds = bounds_of(signal)
            if signal.id.startswith(("clock.", "apic", "x2apic", "cgroup.", "hwp.", "moment.")) or signal.id.endswith(
                    (".age", ".enabled", ".running", ".latency")):
                continue  # moments, ids, times that may be added, and what turbotui itself times and judges
            assert not bounds.least <= signal.offset + signal.scale * (2**64 - 1) <= bounds.most, signal.id


def test_a_missing_core_is_named_with_its_package() -> None:
    two = topology_of([place(0, core=0), place(1, package=1, core=0)])
    signal = gauge("temp.core", Scope.CORE, Unit.CELSIUS)
    begin, end = ({signal.id: [at] * 2} for at in (SECOND, 2 * SECOND))
    frame = Frame(snapshot(two, {signal.id: [40, 40]}, begin),
                  snapshot(two, {signal.id: [40, 65_262]}, end, seq=1), capabilities_of(signal))
    hottest = replace(column("hot", (signal.id,), Scope.CORE), compute=value_of(signal.id))
    assert frame.cell(hottest, SYSTEM_ROW) == 40
    assert "core 0 of package 1: " in str(frame.lacking(hottest, SYSTEM_ROW))


def test_numbers_have_their_unit() -> None:
    assert in_words(65_262.0, gauge("temp.pkg", Scope.CPU, Unit.CELSIUS)) == "65,262 °C"
    assert in_words(3.0, gauge("stat.blocked", Scope.CPU, Unit.COUNT)) == "3"


