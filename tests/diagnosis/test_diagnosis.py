"""The diagnosis over time: the duration of causes, their order, and the text if there is no finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest
from judged_frames import frames
from watched_machines import frames_of_machine

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.rules import (
    NEVER,
    Certainty,
    JudgedFrame,
    MemoryShare,
    NoFinding,
    Observed,
    SlownessRule,
)
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import RowId, Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame

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
    diagnosis = MachineDiagnosis(CATALOG, rules, kept)
    for frame in FRAMES:
        diagnosis.push(frame)
    return diagnosis


def test_a_cause_that_has_always_been_there_says_for_how_long() -> None:
    (finding,) = diagnosed(rule("a", in_intervals({1, 2, 3, 4}))).findings()
    assert (finding.seconds, finding.share, finding.window) == pytest.approx((4.0, 1.0, 4.0))
    assert finding.how == "certain, 50 % lost; for 4.0 s"


def test_a_cause_that_comes_and_goes_says_its_share() -> None:
    (finding,) = diagnosed(rule("a", in_intervals({1, 2, 4}))).findings()
    assert (finding.seconds, finding.share) == pytest.approx((1.0, 0.75))
    assert finding.since == "75 % of the last 4.0 s"


def unknown_from(first: int, otherwise: Observed | NoFinding) -> Callable[[JudgedFrame], Observed | NoFinding]:
    """Cannot be judged from this interval on, counted from 1."""
    return lambda moment: NoFinding.UNKNOWN if moment.frame.seq - FRAMES[0].seq >= first else otherwise


def test_the_last_verdict_stands_over_an_interval_that_could_not_be_judged() -> None:
    verdict = diagnosed(rule("a", unknown_from(4, Observed(0.5, "It is so", Certainty.CERTAIN)))).verdict()
    assert verdict.sentence == "It is so"
    assert verdict.findings[0].since == "for 3.0 s, seen 1.0 s ago"
    assert [(unjudged.rule.id, unjudged.answer) for unjudged in verdict.unjudged] == [("a", NoFinding.LATE)]


def test_a_verdict_is_not_kept_for_longer_than_its_intervals() -> None:
    verdict = diagnosed(rule("a", unknown_from(2, Observed(0.5, "It is so", Certainty.CERTAIN))), kept=2).verdict()
    assert not verdict.findings


def test_a_cause_that_is_over_is_no_finding() -> None:
    diagnosis = diagnosed(rule("a", in_intervals({1, 2, 3})))
    assert diagnosis.findings() == ()
    assert diagnosis.verdict().sentence.startswith("No bottleneck found: ")


def test_what_costs_more_goes_first_and_a_guess_counts_half() -> None:
    every = {1, 2, 3, 4}
    diagnosis = diagnosed(
        rule("guess", in_intervals(every, 0.6, Certainty.POSSIBLE)), rule("small", in_intervals(every, 0.2)),
        rule("counted", in_intervals(every, 0.4)),
    )  # fmt: skip
    assert [finding.rule.id for finding in diagnosis.findings()] == ["counted", "guess", "small"]


BLIND = SlownessRule("b", "b", (("Lic2%",),), lambda _: NoFinding.UNKNOWN, "the source of b", "1", "")


def test_rules_that_are_blind_are_counted_and_named_with_their_reason() -> None:
    verdict = diagnosed(rule("a", in_intervals(())), replace(BLIND, decides_from=NEVER)).verdict()
    assert re.fullmatch(r"No bottleneck found among 1 of 2 causes: \d+ % busy; the source of b cannot be read here "
                        r"\(1 of 2 causes\)", verdict.sentence)
    assert verdict.reasons[0].startswith("the source of b cannot be read here (b not judged): no hardware: ")
    assert verdict.sure


def test_a_blind_rule_that_matters_at_this_load_leaves_the_verdict_open() -> None:
    verdict = diagnosed(rule("a", in_intervals(())), BLIND).verdict()
    assert verdict.sentence.startswith("Nothing found; the source of b cannot be read here (1 of 2 causes): ")
    assert not verdict.sure


def test_a_rule_whose_columns_nobody_reads_was_not_asked_for() -> None:
    asked = replace(BLIND, needs=(("IRQ/s",),))
    (unjudged,) = diagnosed(asked).verdict().unjudged
    assert unjudged.answer is NoFinding.NOT_ASKED
    assert diagnosed(asked).verdict().sentence.endswith("W looks for 1 more")


def test_a_recording_never_gets_the_columns_that_it_lacks() -> None:
    diagnosis = MachineDiagnosis(CATALOG, (replace(BLIND, needs=(("IRQ/s",),), decides_from=NEVER),), recorded=True)
    for frame in FRAMES:
        diagnosis.push(frame)
    assert [unjudged.answer for unjudged in diagnosis.verdict().unjudged] == [NoFinding.BLIND]
    assert not diagnosis.verdict().sure, "the machine could have shown it"


def test_a_rule_that_answers_without_a_late_cpu_is_late() -> None:
    _, seen = frames_of_machine("laptop-old", 2, columns=("Busy%", "Load%"), small=True)
    newer = replace(seen[-1].newer, late=frozenset({0}),
                    values={name: [None, *values[1:]] if name in ("tsc", "mperf") else values
                            for name, values in seen[-1].newer.values.items()})
    diagnosis = MachineDiagnosis(catalog_for(seen[0].capabilities.signals), (
        replace(rule("a", lambda _: NoFinding.CLEAR), needs=(("Busy%",),)),))
    diagnosis.push(seen[-2])
    assert diagnosis.verdict().unjudged == ()
    diagnosis.push(Frame(seen[-1].older, newer, seen[-1].capabilities))
    assert [unjudged.answer for unjudged in diagnosis.verdict().unjudged] == [NoFinding.LATE]
    assert diagnosis.verdict().sure, "the last verdict stands"


def test_news_are_no_loss_and_come_last() -> None:
    def news(_moment: JudgedFrame) -> Observed:
        return Observed(0.0, "One is full", Certainty.LIKELY, news=True)

    alone = diagnosed(rule("news", news)).verdict()
    assert alone.findings[0].how == "likely; for 4.0 s"
    assert not alone.is_loss
    both = diagnosed(rule("news", news), rule("small", in_intervals({1, 2, 3, 4}, 0.01))).verdict()
    assert [finding.rule.id for finding in both.findings] == ["small", "news"]
    assert both.is_loss


def test_the_same_frame_twice_is_one_interval() -> None:
    diagnosis = MachineDiagnosis(CATALOG, (rule("a", in_intervals({1})),))
    for _ in range(3):
        diagnosis.push(FRAMES[1])
    worst = diagnosis.findings()[0]
    assert worst.window == pytest.approx(1.0)


def test_a_gap_in_the_frames_begins_the_time_again() -> None:
    diagnosis = MachineDiagnosis(CATALOG, (rule("a", in_intervals({1, 4})),), kept=2)
    diagnosis.push(FRAMES[1])
    diagnosis.push(FRAMES[4])
    worst = diagnosis.findings()[0]
    assert (worst.window, worst.share) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(("present", "since"), [
    ({1, 2, 3, 4}, "for 4.0 s or longer"), ({2, 3, 4}, "75 % of the last 4.0 s"), ({1, 2, 4}, "75 % of the last 4.0 s"),
])
def test_a_cause_that_was_there_in_the_first_interval_may_be_older_if_others_went_before(
        present: set[int], since: str) -> None:
    later = MachineDiagnosis(CATALOG, (rule("a", in_intervals(present)),))
    later.continues = True
    for frame in FRAMES:
        later.push(frame)
    assert later.findings()[0].since == since


def test_after_a_gap_a_cause_may_be_older() -> None:
    after = MachineDiagnosis(CATALOG, (rule("a", in_intervals({1, 4})),), kept=2)
    after.push(FRAMES[1])
    assert after.findings()[0].since == "for 1.0 s"
    after.push(FRAMES[4])
    assert after.findings()[0].since == "for 1.0 s or longer"


def test_a_line_that_is_always_shown_reads_what_is_cheap() -> None:
    cheap = rule("a", in_intervals(()))
    dear = SlownessRule("b", "b", (("user%",),), in_intervals(()), "b", "1", "", costly=True)
    diagnosis = MachineDiagnosis(CATALOG, (cheap, dear))
    assert [column.id for column in diagnosis.wanted(lambda _: True, costly=False)] == ["Load%"]
    assert [column.id for column in diagnosis.wanted(lambda _: True)] == ["Load%", "user%"]


def test_full_cpus_are_not_called_free_of_causes_after_an_instant() -> None:
    short, long = (MachineDiagnosis(CATALOG, ()) for _ in range(2))
    for diagnosis, seconds in ((short, 0.2), (long, 2.0)):
        for frame in frames("guest+overload", 1, seconds=seconds):
            diagnosis.push(frame)
    assert short.verdict().sentence == "The CPUs are 100 % busy; 0.2 s do not show yet whether there is a bottleneck"
    assert long.verdict().sentence == "No bottleneck found: 100 % busy"


@pytest.mark.parametrize(("row", "at_most", "said"), [
    (0, False, "memory moves 12.3 of 307 GB/s (4 %)"), (0, True, "memory moves 12.3 of at most 307 GB/s (4 % or more)"),
    (1, False, "memory of package 1 moves 12.3 of 307 GB/s (4 %)"),
])
def test_a_quiet_sentence_says_what_memory_moves(row: int, said: str, *, at_most: bool) -> None:
    def quiet(memory: MemoryShare | Unavailable) -> str:
        diagnosis = MachineDiagnosis(CATALOG, ())
        diagnosis.memory = lambda _: memory
        for frame in frames("sapphire-2s+calm" if row else "guest", 1):
            diagnosis.push(frame)
        return diagnosis.verdict().sentence

    assert quiet(MemoryShare(RowId(Scope.PACKAGE, (row,)), 12.3e9, 307.2e9, at_most)).endswith(f", {said}")
    assert "memory" not in quiet(Unavailable(Reason.NO_HARDWARE, "none"))
