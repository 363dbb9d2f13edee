"""The times of a CPU add up to the interval: more is unknown, less is named, and what is lost takes its sum along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import capabilities_of, counter, place, snapshot

from turbotui.machine.topology import topology_of
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.catalog.kernel import COLUMNS
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, Scope, cpu_row
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal
from turbotui.quantities.unavailable import Reason
from turbotui.quantities.units import Unit
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import signals_of
from turbotui.sources.proc_stat import times_together

SECOND = 1_000_000_000
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
TWO = topology_of([place(0), place(1)])
SHARES = {column.id: column for column in COLUMNS}
START = 1_000_000  # ticks in every state at the start


def ticks(name: str) -> Signal:
    return replace(counter(f"stat.{name}"), unit=Unit.SECOND, scale=0.01)


SIGNALS = {f"stat.{name}": ticks(name) for name in STATES}
SIGNALS |= times_together(SIGNALS)


def frame_of(*cpus: Mapping[str, int | None], seconds: float = 1.0) -> Frame:
    """Return a frame of two CPUs whose states rose by these ticks; None: not read at its end."""
    older: dict[str, Sequence[Raw]] = {f"stat.{name}": [START, START] for name in STATES}
    newer: dict[str, Sequence[Raw]] = {
        f"stat.{name}": [None if (step := cpu.get(name, 0)) is None else START + step for cpu in cpus]
        for name in STATES
    }
    begin, end = ({name: [at, at] for name in older} for at in (SECOND, SECOND + round(seconds * SECOND)))
    return Frame(snapshot(TWO, older, begin), snapshot(TWO, newer, end, seq=1), capabilities_of(*SIGNALS.values()))


GOOD = {"user": 30, "idle": 70}


def cell(frame: Frame, name: str, cpu: int = 0) -> object:
    return frame.cell(SHARES[name], cpu_row(cpu))


def reason(frame: Frame, name: str, cpu: int = 0) -> tuple[Reason, str]:
    assert cell(frame, name, cpu) is None
    unavailable = frame.why(SHARES[name], cpu_row(cpu))
    assert unavailable is not None
    return unavailable.reason, unavailable.detail


@pytest.mark.parametrize(("steps", "kind", "said"), [
    ({"user": 30, "idle": -7000}, Reason.WENT_BACK, "stat.idle"),
    ({"user": -700, "idle": 70}, Reason.WENT_BACK, "stat.user"),
    ({"user": 30, "idle": 370, "iowait": 0}, Reason.CONTRADICTED, "4.00 s on cpu 0 in 1 s"),
    ({"user": 10_000, "idle": 0}, Reason.CONTRADICTED, "100.00 s"),
    ({"steal": 2_000, "user": 30, "idle": 70}, Reason.CONTRADICTED, "21.00 s"),
    ({}, Reason.STANDS_STILL, "gVisor"),
])  # fmt: skip
def test_times_that_cannot_be_leave_every_share_of_their_cpu_unknown(
    steps: dict[str, int], kind: Reason, said: str
) -> None:
    frame = frame_of(steps, GOOD)
    for name in ("Load%", "user%", "sys%", "iowait%", "steal%"):
        result, detail = reason(frame, name)
        assert (result, said in detail) == (kind, True), (name, detail)
        assert cell(frame, name, cpu=1) == pytest.approx({"Load%": 30.0, "user%": 30.0}.get(name, 0.0))
    assert frame.cell(SHARES["Load%"], SYSTEM_ROW) == pytest.approx(30.0)  # of the CPU that is known
    assert frame.deltas("stat.user")[0] is None  # exports add the increases up


@pytest.mark.parametrize("excess", [-8, -2, 2, 8])
def test_what_ticks_and_sampling_explain_is_part_of_the_whole(excess: int) -> None:
    frame = frame_of({"user": 30, "idle": 70 + excess}, GOOD)
    assert cell(frame, "Load%") == pytest.approx(100.0 * 30 / (100 + excess))
    assert cell(frame, "unbooked%") == 0.0
    assert not frame.disputed(SHARES["Load%"], cpu_row(0))


def test_time_that_nobody_booked_is_named_and_divides_nothing_away() -> None:
    frame = frame_of({"user": 30, "idle": 20}, GOOD)
    assert cell(frame, "Load%") == pytest.approx(30.0)
    assert cell(frame, "unbooked%") == pytest.approx(50.0)
    assert frame.cell(SHARES["Load%"], SYSTEM_ROW) == pytest.approx(30.0)
    assert frame.cell(SHARES["unbooked%"], SYSTEM_ROW) == pytest.approx(25.0)
    (said,) = frame.disputed(SHARES["Load%"], cpu_row(0))
    assert "booked 0.50 s of 1 s" in said
    assert not frame.disputed(SHARES["Load%"], cpu_row(1))


def test_a_long_interval_excuses_little() -> None:
    assert cell(frame_of({"user": 3000, "idle": 7100}, GOOD, seconds=100.0), "Load%") is not None
    assert cell(frame_of({"user": 3000, "idle": 7400}, GOOD, seconds=100.0), "Load%") is None


@given(steps=st.lists(st.integers(-20_000, 20_000), min_size=8, max_size=8), seconds=st.floats(0.1, 100.0))
def test_shares_are_unknown_or_add_up_to_the_interval(steps: list[int], seconds: float) -> None:
    frame = frame_of(dict(zip(STATES, steps, strict=True)), GOOD, seconds=seconds)
    inputs = frame.inputs(cpu_row(0))
    whole, parts = inputs.delta("stat.whole"), [inputs.delta(f"stat.{name}") for name in STATES]
    total = sum(steps) / 100
    if whole is None:
        assert parts == [None] * 8
        assert min(steps) < 0 or not total or total > seconds
    else:
        assert min(steps) >= 0
        assert sum(part or 0.0 for part in parts) <= whole + 1e-9
        assert whole <= seconds + 0.02 + 0.13 * seconds**0.5 + 1e-9


# cpuidle


def idle_frame(*times: Sequence[int | None]) -> tuple[Frame, CounterColumn]:
    """Return a frame of 1 s in which idle states took these microseconds on each CPU, and the first state's column."""
    signals = [replace(counter(f"cpuidle.{at}.time", reduce=Reduce.MEAN), unit=Unit.SECOND, scale=1e-6)
               for at in range(len(times))]
    names = [replace(counter(f"cpuidle.{at}.name", Scope.SYSTEM, behavior=Behavior.CONSTANT), constant=f"C{at}")
             for at in range(len(times))]
    older: dict[str, Sequence[Raw]] = {signal.id: [7, 7] for signal in signals}
    newer: dict[str, Sequence[Raw]] = {
        signal.id: [None if step is None else 7 + step for step in steps]
        for signal, steps in zip(signals, times, strict=True)
    }
    begin, end = ({signal.id: [at * SECOND] * 2 for signal in signals} for at in (1, 2))
    capabilities = capabilities_of(*signals, *names)
    column = catalog_for(capabilities.signals).get("C0%")
    assert column is not None
    return Frame(snapshot(TWO, older, begin), snapshot(TWO, newer, end, seq=1), capabilities), column


@pytest.mark.parametrize("times", [
    ([20_620_000, 500_000], [0, 500_000]), ([700_000, 500_000], [600_000, 500_000]),
    ([700_000, 500_000], [600_000, None]),
])  # fmt: skip
def test_idle_states_do_not_take_longer_than_the_interval(times: tuple[list[int | None], ...]) -> None:
    frame, column = idle_frame(*times)
    assert frame.cell(column, cpu_row(0)) is None
    why = frame.why(column, cpu_row(0))
    assert why is not None
    assert why.reason in (Reason.CONTRADICTED, Reason.OUT_OF_RANGE)
    assert frame.cell(column, cpu_row(1)) == pytest.approx(50.0)
    assert frame.cell(column, SYSTEM_ROW) == pytest.approx(50.0)


def test_readings_some_ms_apart_are_no_contradiction() -> None:
    frame, column = idle_frame([1_050_000, 500_000])
    assert frame.cell(column, cpu_row(0)) == pytest.approx(105.0)


def test_whoever_reads_one_state_reads_them_all() -> None:
    capabilities = capabilities_of(*SIGNALS.values(), ticks("guest"))
    assert signals_of((), capabilities, ["stat.user"]) == {f"stat.{name}" for name in STATES}
    assert signals_of((), capabilities, ["stat.whole", "stat.guest"]) == {f"stat.{name}" for name in (*STATES, "guest")}
