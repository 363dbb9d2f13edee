"""The diagnosis over time: the duration of causes, their order, and the text if there is no finding."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from judged_frames import frames

from turbotui.diagnosis.diagnosis import MachineDiagnosis, verdict
from turbotui.diagnosis.rules import Certainty, JudgedFrame, NoFinding, Observed, SlownessRule
from turbotui.quantities.catalog import catalog_for

FRAMES = frames("guest", 4)
CATALOG = catalog_for(FRAMES[0].capabilities.signals)


def in_intervals(numbers: Collection[int], lost: float = 0.5, sure: Certainty = Certainty.CERTAIN
                 ) -> Callable[[JudgedFrame], Observed | NoFinding]:
    """Holds in these intervals, counted from 1."""

    def judge(moment: JudgedFrame) -> Observed | NoFinding:
        return Observed(lost, "It is so", sure) if moment.frame.seq - FRAMES[0].seq in numbers else NoFinding.CLEAR

    return judge


def rule(name: str, judge: Callable[[JudgedFrame], Observed | NoFinding]) -> SlownessRule:
    return SlownessRule(name, name, (("Load%",),), judge, f"the source of {name}", "1", "do this")


def diagnosed(*rules: SlownessRule, kept: int = 4) -> MachineDiagnosis:
    found = MachineDiagnosis(CATALOG, rules, kept)
    for frame in FRAMES:
        found.push(frame)
    return found


def test_a_cause_that_has_always_been_there_says_for_how_long() -> None:
    finding = diagnosed(rule("a", in_intervals({1, 2, 3, 4}))).verdict()
    assert finding is not None
    assert (finding.seconds, finding.share, finding.window) == pytest.approx((4.0, 1.0, 4.0))
    assert finding.line == "It is so (for 4.0 s)"


def test_a_cause_that_comes_and_goes_says_its_share() -> None:
    finding = diagnosed(rule("a", in_intervals({1, 2, 4}))).verdict()
    assert finding is not None
    assert (finding.seconds, finding.share) == pytest.approx((1.0, 0.75))
    assert finding.since == "75 % of the last 4.0 s"


def test_a_cause_that_was_not_seen_last_has_not_been_there_for_no_time() -> None:
    def judge(moment: JudgedFrame) -> Observed | NoFinding:
        late = moment.frame.seq == FRAMES[-1].seq
        return NoFinding.UNKNOWN if late else Observed(0.5, "It is so", Certainty.CERTAIN)

    (finding,) = diagnosed(rule("a", judge)).findings(over=0.25)
    assert finding.line == "It is so (100 % of the last 3.0 s)"


def test_a_cause_that_is_over_is_no_finding() -> None:
    found = diagnosed(rule("a", in_intervals({1, 2, 3})))
    assert found.findings() == ()
    assert found.quiet().startswith("Nothing is in the way: ")


def test_what_costs_more_goes_first_and_a_guess_counts_half() -> None:
    every = {1, 2, 3, 4}
    found = diagnosed(
        rule("guess", in_intervals(every, 0.6, Certainty.POSSIBLE)), rule("small", in_intervals(every, 0.2)),
        rule("counted", in_intervals(every, 0.4)),
    )  # fmt: skip
    assert [one.rule.id for one in found.findings()] == ["counted", "guess", "small"]


def test_causes_that_could_not_be_judged_are_reported_in_one_line() -> None:
    found = diagnosed(rule("a", in_intervals(())), rule("b", lambda _: NoFinding.UNKNOWN))
    assert found.not_judged() == ("1 of 2 causes could not be judged: the source of b cannot be read here "
                                  "(key 9, turbotui doctor)")


def test_a_cause_is_judged_where_only_its_newest_interval_was_not_read() -> None:
    def late(moment: JudgedFrame) -> NoFinding:
        return NoFinding.UNKNOWN if moment.frame.seq >= FRAMES[3].seq else NoFinding.CLEAR

    assert not diagnosed(rule("a", late)).not_judged()
    assert diagnosed(rule("a", late), kept=2).not_judged().startswith("1 of 1 causes could not be judged")


def test_the_same_frame_twice_is_one_interval() -> None:
    found = MachineDiagnosis(CATALOG, (rule("a", in_intervals({1})),))
    for _ in range(3):
        found.push(FRAMES[1])
    worst = found.verdict()
    assert worst is not None
    assert worst.window == pytest.approx(1.0)


def test_a_gap_in_the_frames_begins_the_time_again() -> None:
    found = MachineDiagnosis(CATALOG, (rule("a", in_intervals({1, 4})),), kept=2)
    found.push(FRAMES[1])
    found.push(FRAMES[4])
    worst = found.verdict()
    assert worst is not None
    assert (worst.window, worst.share) == pytest.approx((1.0, 1.0))


def test_a_line_that_is_always_shown_reads_what_is_cheap() -> None:
    cheap = rule("a", in_intervals(()))
    dear = SlownessRule("b", "b", (("user%",),), in_intervals(()), "b", "1", "", costly=True)
    found = MachineDiagnosis(CATALOG, (cheap, dear))
    assert [column.id for column in found.wanted(lambda _: True, costly=False)] == ["Load%"]
    assert [column.id for column in found.wanted(lambda _: True)] == ["Load%", "user%"]


def test_the_verdict_on_frames_of_the_past() -> None:
    assert verdict(FRAMES[:1], CATALOG) is None


def test_full_cpus_are_not_called_free_of_causes_after_an_instant() -> None:
    short, long = (MachineDiagnosis(CATALOG, ()) for _ in range(2))
    for found, seconds in ((short, 0.2), (long, 2.0)):
        for frame in frames("guest+overload", 1, seconds=seconds):
            found.push(frame)
    assert short.quiet() == "The CPUs are 100 % busy; 0.2 s do not show yet whether something is in the way"
    assert long.quiet().startswith("Nothing is in the way: 100 % busy")
