"""Whether a host lowered a clock: spans of moments, their errors, and the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_frames import MadeFrame, made
from watched_machines import focused_sources, frames_of_machine

from turbotui.diagnosis.core_clocks import ClockTick, LoweredClock, lowered
from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import NoFinding, Observed
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import RowId, cpu_row

RULE = next(rule for rule in RULES if rule.id == "host-clock")
ONE, TEN = 0.0095, 0.004  # errors of one moment and of ten


def ticks(*clocks: float, error: float = TEN, moments: float = 10) -> list[ClockTick]:
    return [ClockTick(clock, error, moments) for clock in clocks]


@pytest.mark.parametrize(("past", "found"), [
    (ticks(4090, 3490), LoweredClock(4090, 3490)),
    (ticks(4090, 3490, 4090), None),  # it is back
    (ticks(3490, 4090), None),  # it rose
    (ticks(4090, 4000), None),  # 2 %: hosts do that within a second
    (ticks(4090), None),
    (ticks(), None),
    (ticks(4090, 3490, error=0.03), None),  # not more than the errors explain
    (ticks(*[4090] * 10, *[3490] * 10, error=ONE, moments=1), LoweredClock(4090, 3490)),
    (ticks(*[4090] * 20, 3490, error=ONE, moments=1), None),  # one moment
    (ticks(*[4090] * 9, *[3490] * 10, error=ONE, moments=1), None),  # nine moments before are no span
])
def test_a_fall_of_the_clock(past: list[ClockTick], found: LoweredClock | None) -> None:
    assert lowered(past) == found


@given(st.lists(st.floats(-3.0, 3.0), max_size=60), st.floats(0.002, 0.03))
def test_noise_within_three_errors_is_no_fall(noise: list[float], error: float) -> None:
    past = [ClockTick(4000 * (1 + off * error * 0.4), error, 10) for off in noise]  # at most 2.4 errors apart
    assert lowered(past) is None or 2.4 * error > 0.03


@given(st.floats(0.5e3, 6e3), st.floats(0.5, 0.96), st.integers(1, 30), st.integers(1, 30))
def test_a_lasting_fall_is_found_however_long_it_is_ago(mhz: float, share: float, before: int, since: int) -> None:
    clock = lowered(ticks(*[mhz] * before, *[mhz * share] * since))
    assert clock == LoweredClock(mhz, mhz * share)


def judged(clocks: Mapping[int, LoweredClock | None]) -> Observed | NoFinding:
    rows: dict[RowId, LoweredClock | None] = {cpu_row(cpu): fall for cpu, fall in clocks.items()}
    moment: MadeFrame = replace(made(cpus={"NowMHz": dict.fromkeys(clocks, 3490.0)}), clocks=rows)
    return RULE.judge(moment)


def test_the_sentence_and_what_is_lost() -> None:
    result = judged({0: LoweredClock(4090, 3490), 1: None})
    assert isinstance(result, Observed)
    assert result.sentence == "The host lowered the clock of virtual CPU 0 from 4.09 to 3.49 GHz"
    assert result.lost == pytest.approx((1 - 3490 / 4090) / 2)
    several = judged({0: LoweredClock(4000, 3800), 1: LoweredClock(4090, 3490), 2: LoweredClock(4000, 3800)})
    assert isinstance(several, Observed)
    assert several.sentence == ("The host lowered the clock of virtual CPU 1 from 4.09 to 3.49 GHz; 2 more CPUs are "
                                "slower too")
    assert several.row == cpu_row(1)


def test_no_fall_and_nothing_known() -> None:
    assert judged({0: None}) is NoFinding.CLEAR
    assert judged({}) is NoFinding.UNKNOWN
    assert RULE.judge(made(cpus={"NowMHz": {0: 4000.0}})) is NoFinding.CLEAR  # too few moments yet
    assert RULE.judge(made("laptop-old")) is NoFinding.CLEAR, "where the clock is counted, other rules judge it"


def test_a_host_that_lowers_the_clock_is_found_apart_from_steal() -> None:
    _, frames = frames_of_machine("guest+host-clock+steal", 10, columns=("NowMHz", "NowErr%", "Load%", "steal%"),
                                  sources=focused_sources())
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals))
    sentences = []
    for frame in frames:
        diagnosis.push(frame)
        sentences.append([finding.sentence for finding in diagnosis.findings() if finding.rule.id == "host-clock"])
    assert not any(sentences[:8]), "it begins with the lower clock, and rises in the fourth second"
    (sentence,) = sentences[-1]
    assert sentence.startswith("The host lowered the clock of virtual CPU 0 from 2.60 to 2.21 GHz; 3 more CPUs are ")
    assert "steal" in {finding.rule.id for finding in diagnosis.findings()}
