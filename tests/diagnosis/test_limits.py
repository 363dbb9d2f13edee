"""Limits that hold a package back, from invented numbers; tests/truth has those of simulated machines."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_frames import frames

from turbotui.diagnosis.limit_history import LimitVerdict, unheld
from turbotui.diagnosis.limit_sentences import headline, how_known, mark, sentence
from turbotui.diagnosis.limits import WORDS, EvidenceKind, Facts, Hold, Holder, LimitState, holds_of, prefers_less
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import JudgedFrame, NoFinding
from turbotui.quantities.catalog import STATIC_COLUMNS, catalog_for
from turbotui.quantities.columns import ColumnId, Value
from turbotui.quantities.scope import RowId, Scope, cpu_row
from turbotui.quantities.unavailable import Reason, Unavailable

PACKAGE = RowId(Scope.PACKAGE, (0,))
BUSY: Mapping[ColumnId, Value] = {
    "Busy%": 99.0, "Bzy_MHz": 2100.0, "TurboAll": 3000.0, "Turbo1": 3800.0, "PkgWatt": 300.0, "PL1": 350.0,
    "PL2": 420.0, "TjMax": 96, "PkgTmp": 70,
}  # fmt: skip
QUIET: Mapping[ColumnId, Value] = {"Throttle": "none", "ThrLog": "none", "PKG_%": 0.0, "PkgThr%": 0.0}


def facts(cells: Mapping[ColumnId, Value] = {}, *, fastest: float | None = 2200.0, loaded: float | None = None,
          top: float | None = 3800.0, cap: float | None = 3800.0, why: Mapping[ColumnId, Unavailable] = {}) -> Facts:
    """A busy server package, changed by `cells`."""
    clock = None if fastest is None else (fastest, cpu_row(3))
    return Facts(PACKAGE, {**BUSY, **cells}, clock, loaded, 2000.0, top, cap, why,
                 {column.id: column for column in STATIC_COLUMNS})


def held(cells: Mapping[ColumnId, Value], before: Facts | None = None) -> list[tuple[Holder, EvidenceKind, float]]:
    return [(hold.holder, hold.sure, hold.share) for hold in holds_of(facts(cells), before)]


def verdict(of: Facts, state: LimitState, hold: Hold | None = None, *, share: float = 0.0, window: float = 60.0,
            earlier: tuple[Holder, float] | None = None, setting: tuple[ColumnId, str] | None = None) -> LimitVerdict:
    return LimitVerdict(of, state, hold, (), share, window, earlier, setting)


def test_nothing_holds_a_package_whose_bits_and_counters_are_quiet() -> None:
    assert held(QUIET) == []


def test_counted_time_comes_before_bits_and_gives_the_share() -> None:
    cells = {**QUIET, "PKG_%": 62.0, "Throttle": "PowerLimit PL1", "PkgWatt": 349.0}
    assert held(cells) == [(Holder.PL1, EvidenceKind.COUNTED, 0.62)]
    assert held({**QUIET, "PkgThr%": 40.0, "PKG_%": 30.0, "Throttle": "PL2"}) == [
        (Holder.HEAT, EvidenceKind.COUNTED, 0.4), (Holder.PL2, EvidenceKind.COUNTED, 0.3),
    ]  # fmt: skip
    assert held({**QUIET, "PKG_%": 100.4})[0][2] == 1.0


def test_the_noise_of_two_stamps_is_no_throttling() -> None:
    assert held({**QUIET, "PKG_%": 0.2, "PkgThr%": 0.3}) == []


@pytest.mark.parametrize(("word", "holder"), WORDS.items())
def test_every_word_that_means_a_limit_is_one(word: str, holder: Holder) -> None:
    result = held({"Throttle": word, "ThrLog": word, "PkgWatt": 200.0})
    assert result == [(holder, EvidenceKind.STATE, 1.0)]


@pytest.mark.parametrize("word", ["GFX:PL1", "Ring:Thermal", "MaxTurbo", "MultiCoreTurbo", "Transitions", "AutoHWP",
                                  "BelowTurbo", "bit2", "CrossDomain"])  # fmt: skip
def test_words_that_slow_no_core_or_name_no_cause_are_none(word: str) -> None:
    assert held({"Throttle": word, "ThrLog": word, "CoreLimit": word, "PkgWatt": 349.0}) == []


def test_a_core_s_own_bits_count() -> None:
    assert held({"Throttle": "none", "CoreLimit": "PROCHOT"}) == [(Holder.PROCHOT, EvidenceKind.STATE, 1.0)]


def test_a_log_bit_tells_of_this_interval_only_if_it_is_new() -> None:
    quiet, logged = {"Throttle": "none", "ThrLog": "none"}, {"Throttle": "none", "ThrLog": "Thermal"}
    assert held(logged, facts(quiet)) == [(Holder.HEAT, EvidenceKind.LOG, 1.0)]
    assert held(logged, facts(logged)) == []
    assert held(logged) == []  # nobody saw the reading before
    assert held(logged, facts({})) == []  # nor what it said


def test_a_counter_says_for_how_long_and_one_that_stands_still_does_not_silence_a_state_bit() -> None:
    assert held({**QUIET, "Throttle": "PL1", "PKG_%": 3.0}) == [(Holder.PL1, EvidenceKind.COUNTED, 0.03)]
    assert held({**QUIET, "Throttle": "PL1"}) == [(Holder.PL1, EvidenceKind.STATE, 1.0)]
    assert held({**QUIET, "Throttle": "PowerLimit", "PKG_%": None}) == [(Holder.POWER, EvidenceKind.STATE, 1.0)]
    fresh = {**QUIET, "ThrLog": "PL1"}
    assert held(fresh, facts(QUIET)) == []  # shorter than the counter sees
    assert held({**fresh, "PKG_%": None}, facts(QUIET)) == [(Holder.PL1, EvidenceKind.LOG, 1.0)]


@pytest.mark.parametrize(
    ("watts", "bits", "log", "holder"),
    [
        (349.0, "none", "none", Holder.PL1),
        (352.0, "none", "none", Holder.PL1),
        (419.0, "none", "none", Holder.PL2),
        (440.0, "none", "none", Holder.PL2),
        (390.0, "none", "none", Holder.POWER),  # between the two: it cannot be told
        (200.0, "none", "none", Holder.POWER),
        (390.0, "PL1", "PL1 PL2", Holder.PL1),
        (349.0, "PL2", "none", Holder.PL2),
        (390.0, "none", "PL2", Holder.PL2),
        (390.0, "none", "PL1 PL2", Holder.POWER),
    ],
)
def test_which_power_limit_it_is(watts: float, bits: str, log: str, holder: Holder) -> None:
    cells: dict[ColumnId, Value] = {"PkgWatt": watts, "Throttle": bits, "ThrLog": log, "PKG_%": 50.0, "PkgThr%": 0.0}
    assert held(cells)[0][0] is holder


def test_limits_that_are_no_limits_are_not_reached() -> None:
    boundless = {"PL1": 4095.0, "PL2": 4095.0, "PkgWatt": 4000.0, "PKG_%": 50.0}
    assert held(boundless)[0][0] is Holder.POWER
    assert facts(boundless).limit("PL1") is None
    assert facts({"PL1": 0.0}).limit("PL1") is None


def test_heat_that_the_kernel_counted_without_its_time() -> None:
    assert held({"Throttle": "none", "PkgThr": 3}) == [(Holder.HEAT, EvidenceKind.EVENTS, 1.0)]
    assert held({"Throttle": "none", "PkgThr": 0}) == []
    assert held({"Throttle": "none", "PkgThr": 3, "PkgThr%": 0.0}) == []


def test_without_bits_and_counters_numbers_at_their_limits_are_what_there_is() -> None:
    assert held({"PkgWatt": 349.0}) == [(Holder.PL1, EvidenceKind.INFERRED, 1.0)]
    assert held({"PkgTmp": 95}) == [(Holder.HEAT, EvidenceKind.INFERRED, 1.0)]
    assert held({"PkgTmp": 95, "PkgWatt": 419.0}) == [
        (Holder.HEAT, EvidenceKind.INFERRED, 1.0), (Holder.PL2, EvidenceKind.INFERRED, 1.0),
    ]  # fmt: skip
    assert held({"PkgTmp": 90, "PkgWatt": 300.0}) == []
    assert held({"PkgTmp": 95, "PkgWatt": 349.0, **QUIET}) == []  # the bits would say so


def test_nothing_is_inferred_of_a_package_at_full_clock_or_at_rest() -> None:
    assert held({"PkgWatt": 349.0, "Bzy_MHz": 3000.0}) == []
    assert held({"PkgWatt": 349.0, "Busy%": 5.0}) == []
    assert held({"PkgWatt": 349.0, "Bzy_MHz": None}) == []


def test_a_policy_s_cap_holds_cpus_that_reach_it() -> None:
    capped = facts(QUIET, fastest=1195.0, cap=1200.0)
    assert [(hold.holder, hold.sure, hold.evidence) for hold in holds_of(capped, None)] == [
        (Holder.POLICY, EvidenceKind.SETTING, "MaxMHz")
    ]
    assert holds_of(facts(QUIET, fastest=900.0, cap=1200.0), None) == ()
    assert holds_of(facts(QUIET, fastest=3790.0, cap=3800.0), None) == ()
    assert holds_of(facts(QUIET, fastest=None, cap=1200.0), None) == ()


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ({"EPP": "balance_power"}, ("EPP", "balance_power")),
        ({"EPP": "power"}, ("EPP", "power")),
        ({"EPP": 255}, ("EPP", "255")),
        ({"EPP": "balance_performance"}, None),
        ({"EPP": 128}, None),
        ({"EPP": "performance", "Governor": "powersave"}, None),  # the normal governor where EPP decides
        ({"Governor": "powersave"}, ("Governor", "powersave")),
        ({"Governor": "schedutil"}, None),
        ({}, None),
    ],
)
def test_settings_that_save_energy(cells: Mapping[ColumnId, Value], found: tuple[str, str] | None) -> None:
    assert prefers_less(facts(cells)) == found


def words(*more: str) -> st.SearchStrategy[str]:
    return st.sets(st.sampled_from([*WORDS, *more])).map(lambda chosen: " ".join(chosen) or "none")


@given(
    st.fixed_dictionaries({}, optional={
        "PKG_%": st.floats(0, 110), "PkgThr%": st.floats(0, 110), "PkgWatt": st.floats(0, 500),
        "Throttle": words("GFX:PL1", "MaxTurbo"), "ThrLog": words(),
        "PkgTmp": st.integers(20, 110), "Busy%": st.floats(0, 100), "Bzy_MHz": st.floats(400, 4000),
    })
)
def test_whatever_the_numbers_each_holder_is_named_once_and_in_order(cells: dict[str, Value]) -> None:
    holds = holds_of(Facts(PACKAGE, cells, None, None, None, None, None, {}), None)
    assert len({hold.holder for hold in holds}) == len(holds)
    assert all(0 < hold.share <= 1 for hold in holds)
    shares = [round(hold.share, 2) for hold in holds]
    assert shares == sorted(shares, reverse=True)
    holders = {hold.holder for hold in holds}
    assert Holder.POWER not in holders or holders.isdisjoint({Holder.PL1, Holder.PL2})


# Sentences

PL1 = Hold(Holder.PL1, EvidenceKind.COUNTED, 1.0, "PKG_%")


def test_the_sentence_of_the_issue() -> None:
    busy = facts({**QUIET, "PkgWatt": 350.4, "Bzy_MHz": 2904.0})
    assert sentence(verdict(busy, LimitState.HELD, PL1, share=0.62)) == (
        "package 0 is held at 2,904 MHz by PL1 (350 of 350 W, power limits 62 % of the last 60 s)"
    )
    assert how_known(verdict(busy, LimitState.HELD, PL1)) == "PKG_%: the processor or the kernel counted the time"


def test_other_sentences() -> None:
    quiet = facts({**QUIET, "Busy%": 41.2, "Bzy_MHz": 3500.0})
    assert sentence(verdict(quiet, LimitState.FREE)) == "nothing holds package 0 back: 41 % busy at 3,500 MHz"
    assert sentence(verdict(quiet, LimitState.FREE, earlier=(Holder.HEAT, 0.2))).endswith(
        "; heat did for 20 % of the last 60 s")
    heat = Hold(Holder.HEAT, EvidenceKind.STATE, 1.0, "Throttle")
    assert sentence(verdict(facts({**QUIET, "PkgTmp": 95}), LimitState.HELD, heat, share=1.0, window=4.0)) == (
        "package 0 is held at 2,100 MHz by heat (95 °C, tj_max 96 °C, 100 % of the last 4.0 s)")
    cap = Hold(Holder.POLICY, EvidenceKind.SETTING, 1.0, "MaxMHz")
    assert "scaling_max_freq 1,200 of 3,800 MHz" in sentence(verdict(facts(cap=1200.0), LimitState.HELD, cap,
                                                                     share=1.0))
    epp = Hold(Holder.PREFERENCE, EvidenceKind.INFERRED, 1.0, "EPP")
    said = verdict(facts(), LimitState.HELD, epp, share=1.0, setting=("EPP", "power"))
    assert sentence(said) == "package 0 is held at 2,100 MHz by a setting that saves energy: EPP is power"
    assert mark(said) == "~"


def test_what_cannot_be_known_is_reported_with_what_is_missing() -> None:
    why = {"Throttle": Unavailable(Reason.NO_HARDWARE, "no register"), "PL1": Unavailable(Reason.NO_HARDWARE, "none"),
           "Bzy_MHz": Unavailable(Reason.VIRTUALISED, "not given", "ask the host")}
    blind = verdict(facts({"Bzy_MHz": None}, why=why), LimitState.UNKNOWN)
    assert sentence(blind) == (
        "whether anything holds package 0 back cannot be told: 99 % busy, and its clock cannot be read here")
    assert [what for what, _ in blind.missing_evidence()] == ["throttle reasons", "power limits", "clock"]
    del why["Bzy_MHz"]
    slow = verdict(facts(why=why), LimitState.UNKNOWN)
    assert sentence(slow) == ("what holds package 0 at 2,100 of 3,800 MHz cannot be told: "
                              "no throttle reasons or power limits can be read here")
    assert mark(slow) == "?"
    free = verdict(facts({"Bzy_MHz": 3000.0}, why=why), LimitState.FREE)
    assert sentence(free).startswith("nothing is seen to hold package 0 back")
    assert how_known(free) == "without throttle reasons and power limits, which cannot be read here"


def test_what_is_late_can_be_read_here_all_the_same() -> None:
    late = Unavailable(Reason.LATE, "cpu 0 did not answer in time")
    blind = verdict(facts({"Bzy_MHz": None}, why={"Bzy_MHz": late}), LimitState.UNKNOWN)
    assert sentence(blind).endswith("and its clock is late in this interval")
    why = {"Throttle": late, "PL1": late}
    assert sentence(verdict(facts(why=why), LimitState.UNKNOWN)).endswith(
        "cannot be told: throttle reasons and power limits are late in this interval")
    free = facts({"Bzy_MHz": 3000.0}, why=why)
    assert how_known(verdict(free, LimitState.FREE)) == (
        "without throttle reasons and power limits, which are late in this interval")


def test_the_headline_is_about_the_package_that_needs_a_look() -> None:
    second = Facts(RowId(Scope.PACKAGE, (1,)), {**BUSY, **QUIET}, None, None, None, None, None, {})
    free, bound = verdict(facts(QUIET), LimitState.FREE), verdict(second, LimitState.HELD, PL1, share=0.5)
    assert headline([free, bound]).startswith("package 1 is held")
    assert headline([free, bound]).endswith("; the other is not")
    assert headline([free, free, bound]).endswith("; the other 2 are not")
    assert headline([bound, bound, free]).endswith("; 1 more is held back")
    assert headline([free, free]) == (
        "nothing holds the 2 packages back; the busiest is package 0: 99 % busy at 2,100 MHz")
    assert headline([free]) == sentence(free)
    assert headline([]) == "no package is measured"


@given(st.floats(0, 1), st.floats(0.01, 10_000))
def test_a_share_and_a_span_are_always_said_in_numbers(share: float, window: float) -> None:
    text = sentence(verdict(facts(QUIET), LimitState.HELD, PL1, share=share, window=window))
    assert "nan" not in text
    assert not math.isinf(window)
    assert "of the last" in text


BARE: Mapping[ColumnId, Value] = dict.fromkeys(QUIET)
"""No evidence of limits at all."""


@pytest.mark.parametrize(("loaded", "share", "cells", "state"), [
    (True, None, BARE, LimitState.UNKNOWN),  # nobody knows how fast a busy CPU should be
    (True, 0.5, BARE, LimitState.UNKNOWN),
    (True, 0.97, BARE, LimitState.FREE),
    (False, None, BARE, LimitState.FREE),  # no CPU wants more
    (True, None, QUIET, LimitState.FREE),  # the processor would say so
])
def test_a_busy_package_without_evidence_is_not_called_free(
        loaded: bool, share: float | None, cells: Mapping[ColumnId, Value],
        state: LimitState) -> None:
    result = replace(facts(cells, loaded=share, top=None), loaded=loaded)
    assert unheld(result, idle=False)[0] is state


@pytest.mark.parametrize(("rule", "cells", "answer"), [
    ("current-limit", BARE, NoFinding.UNKNOWN), ("current-limit", {**BARE, "Throttle": "none"}, NoFinding.CLEAR),
    ("power-limit", {**BARE, "PKG_%": 0.0, "PkgWatt": None}, NoFinding.CLEAR),
    ("current-limit", {**BARE, "PKG_%": 0.0}, NoFinding.UNKNOWN),
])
def test_a_slow_package_is_judged_by_what_would_show_the_cause(
        rule: str, cells: Mapping[ColumnId, Value], answer: NoFinding) -> None:
    moment = JudgedFrame(frames("guest")[-1], catalog_for({}), (verdict(facts(cells, loaded=0.5), LimitState.FREE),))
    assert next(slowness_rule for slowness_rule in RULES if slowness_rule.id == rule).judge(moment) is answer
