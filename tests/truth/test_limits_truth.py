"""Verdicts on simulated packages that are held back, compared with the models."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from model_truth import PackageTruth, truth_of
from sampled_machine import Watched

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.limit_history import KEPT, LimitVerdict, general
from turbotui.diagnosis.limit_sentences import sentence
from turbotui.diagnosis.limits import COLUMNS, STAND_INS, EvidenceKind, Holder, LimitState
from turbotui.quantities.scope import Scope
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES

SECONDS = 1.0
HOLDERS = {"heat": Holder.HEAT, "pl1": Holder.PL1, "pl2": Holder.PL2}


@dataclass(frozen=True)
class Interval:
    """One package in one interval: the verdict, and the model's values."""

    verdict: LimitVerdict
    limited: float
    throttled: float
    begin: str
    end: str


def only(watched: Watched) -> Watched:
    """Nothing is read but what the screen reads."""
    watched.columns = tuple(
        column for column in watched.columns if column.id in {*COLUMNS, *STAND_INS.values()}
    )
    return watched


def intervals(shape: str, count: int, warm_up: float) -> tuple[list[Interval], list[Frame]]:
    """`count` seconds of every package of a machine."""
    watched = only(Watched(shape, warm_up=warm_up, whole=True))
    packages = [instance.row.key[0] for instance in watched.machine.topology.instances(Scope.PACKAGE)]
    truths: list[list[PackageTruth]] = [[truth_of(watched.host).package_truth(number) for number in packages]]
    frames = watched.frames(
        SECONDS, count, lambda _: truths.append([truth_of(watched.host).package_truth(number) for number in packages])
    )
    diagnosis, result = MachineDiagnosis(watched.catalog, ()), []
    for frame, before, after in zip(frames, truths[:-1], truths[1:], strict=True):
        diagnosis.push(frame)
        for verdict, old, new in zip(diagnosis.limits, before, after, strict=True):
            limited = new.limited_seconds - old.limited_seconds
            throttled = new.throttled_seconds - old.throttled_seconds
            result.append(Interval(verdict, limited, throttled, old.limit, new.limit))
    return result, frames


@pytest.mark.parametrize("shape", ["laptop", "laptop-old", "laptop-arrow", "sapphire-2s", "icelake-2s", "forest-1s"])
def test_the_share_and_the_kind_of_limit_are_those_of_the_model(shape: str) -> None:
    start = SHAPES[shape].schedule.phases[1].first - 6.0
    seen: set[str] = set()
    result, _ = intervals(shape, 26, start)
    for interval in result:
        most = max(interval.limited, interval.throttled)
        hold = interval.verdict.hold
        if most < 0.2:
            assert interval.verdict.state is not LimitState.HELD, sentence(interval.verdict)
            continue
        if most < 0.3:
            continue  # at the border between "is" and "was"
        assert interval.verdict.state is LimitState.HELD, sentence(interval.verdict)
        assert hold is not None
        assert hold.sure is EvidenceKind.COUNTED
        assert hold.share == pytest.approx(most, abs=0.003)
        if abs(interval.limited - interval.throttled) > 0.02:
            assert general(hold.holder) is (Holder.HEAT if interval.throttled > interval.limited else Holder.POWER)
        seen.add(interval.end)
    assert "pl1" in seen


def test_clients_name_the_power_limit_by_its_bit() -> None:
    result, _ = intervals("laptop", 26, SHAPES["laptop"].schedule.phases[1].first - 3.0)
    named = {
        (item.end, item.verdict.hold.holder)
        for item in result
        if item.verdict.hold is not None and item.begin == item.end and max(item.limited, item.throttled) > 0.95
    }
    assert named == set(HOLDERS.items())


def test_servers_name_the_power_limit_where_the_watts_are_close_to_it() -> None:
    result, _ = intervals("sapphire-2s", 20, SHAPES["sapphire-2s"].schedule.phases[1].first - 1.0)
    text = 0
    for interval in result:
        hold = interval.verdict.hold
        if hold is not None and hold.holder in {Holder.PL1, Holder.PL2} and interval.begin == interval.end:
            assert hold.holder is HOLDERS[interval.end]
            text += 1
    assert text >= 8


def test_the_share_of_the_time_is_the_model_s() -> None:
    result, frames = intervals("sapphire-2s", 70, 15.0)
    selected = [item for item in result if item.verdict.row.key == (0,)]
    for at, interval in enumerate(selected):
        recent = selected[max(0, at + 1 - KEPT) : at + 1]
        seconds = sum(frame.seconds or 0.0 for frame in frames[max(0, at + 1 - KEPT) : at + 1])
        assert interval.verdict.window == pytest.approx(seconds)
        share = sum(other.limited for other in recent) / seconds
        if interval.verdict.state is LimitState.HELD:
            assert interval.verdict.share == pytest.approx(share, abs=0.003)
        elif share > 0.02:
            assert interval.verdict.earlier is not None
            assert interval.verdict.earlier[0] is Holder.POWER
            assert interval.verdict.earlier[1] == pytest.approx(share, abs=0.003)


def test_amd_without_limits_and_reasons_admits_that_it_cannot_tell() -> None:
    result, _ = intervals("turin-2s", 16, 18.0)
    assert all(interval.verdict.state is not LimitState.HELD for interval in result)
    bound = [interval.verdict for interval in result if interval.limited > 0.95]
    assert len(bound) > 8
    assert {verdict.state for verdict in bound} == {LimitState.UNKNOWN}
    for verdict in bound:
        assert {what for what, _ in verdict.missing_evidence()} == {"throttle reasons", "power limits"}
        assert "cannot be told" in sentence(verdict)


def test_grace_at_its_highest_clock_is_not_called_held() -> None:
    result, _ = intervals("grace-2s", 12, 18.0)
    assert all(interval.verdict.state not in {LimitState.HELD, LimitState.UNKNOWN} for interval in result)
    busy = [interval.verdict for interval in result if (interval.verdict.facts.busy or 0) > 99]
    assert busy
    assert {verdict.state for verdict in busy} == {LimitState.AT_TOP}


def test_a_guest_says_why_nothing_can_be_told() -> None:
    result, _ = intervals("guest", 4, 20.0)
    for interval in result:
        assert interval.verdict.state is LimitState.UNKNOWN
        assert "clock cannot be read" in sentence(interval.verdict)
        assert len(interval.verdict.missing_evidence()) == 5
        assert all(why.detail for _, why in interval.verdict.missing_evidence())


def test_the_same_frame_twice_and_frames_after_a_gap() -> None:
    watched = only(Watched("laptop", warm_up=17.0))
    frames = watched.frames(SECONDS, 12)
    once, twice = MachineDiagnosis(watched.catalog, ()), MachineDiagnosis(watched.catalog, ())
    for frame in frames:
        once.push(frame)
        twice.push(frame)
        twice.push(frame)
    assert once.limits == twice.limits
    # Log bits that were set while nobody looked tell of no interval.
    gap = MachineDiagnosis(watched.catalog, ())
    gap.push(frames[0])
    gap.push(frames[-1])
    for verdict in gap.limits:
        assert verdict.hold is None or verdict.hold.sure is not EvidenceKind.LOG
        assert verdict.window == pytest.approx(2 * SECONDS)


def test_a_window_holds_no_more_than_it_should_and_starts_again_after_a_long_absence() -> None:
    watched = only(Watched("sapphire-2s", warm_up=19.0, whole=True))
    frames = watched.frames(SECONDS, 12)
    short = MachineDiagnosis(watched.catalog, (), kept=4)
    for frame in frames[:8]:
        short.push(frame)
    assert [verdict.window for verdict in short.limits] == pytest.approx([4 * SECONDS] * 2)
    absent = MachineDiagnosis(watched.catalog, (), kept=4)
    absent.push(frames[0])
    absent.push(frames[11])
    assert [verdict.window for verdict in absent.limits] == pytest.approx([SECONDS] * 2)
