"""Rules about the clock: limits of packages, clocks below base, and time taken by firmware."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from turbotui.diagnosis import limits
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.limit_sentences import holding
from turbotui.diagnosis.limits import POWER_HOLDERS, EvidenceKind, Facts, Hold, Holder, LimitState
from turbotui.diagnosis.rules import NEVER, Certainty, JudgedFrame, NoFinding, Observed, RankedBy, SlownessRule, opening
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import RowId, Scope

_LEAST: Final = 0.01  # share of the work; less would go unnoticed
_UNKNOWN_LOSS: Final = 0.1  # share of a package's work, if its clock cannot be read
_WORKING: Final = 20.0  # percent busy from which a package's clock matters
_HARD: Final = 50.0  # percent busy from which a package would run above its base clock
_BELOW_BASE: Final = 0.95
_FAR_BELOW: Final = 0.7  # share of its highest clock; with all cores busy, the clock of a single core is out of reach
_LEAVING: Final = 15.0  # percent of a CPU's time
_LOADED: Final = 3.0  # percent busy; below, nobody waits
_MOST_BY_EXITS: Final = 0.4  # share of the work; latencies are the maximum for leaving a state
_SMI: Final = 20.0  # a second, on one CPU
_SMI_SECONDS: Final = 100e-6  # all CPUs stop meanwhile; firmware takes tens to hundreds of microseconds

_HIGHER: Final = (
    "cpupower frequency-set -u CLOCK allows a higher one; what set the limit may set it again: tuned, TLP, thermald, "
    "power-profiles-daemon, or no_turbo in /sys/devices/system/cpu/intel_pstate"
)
_SURE: Final[Mapping[EvidenceKind, Certainty]] = {
    EvidenceKind.COUNTED: Certainty.CERTAIN,
    EvidenceKind.STATE: Certainty.CERTAIN,
    EvidenceKind.SETTING: Certainty.CERTAIN,
    EvidenceKind.EVENTS: Certainty.LIKELY,
    EvidenceKind.LOG: Certainty.LIKELY,
    EvidenceKind.INFERRED: Certainty.POSSIBLE,
}


def _holds(verdict: LimitVerdict) -> tuple[Hold, ...]:
    if verdict.state is not LimitState.HELD or verdict.hold is None:
        return ()
    return (verdict.hold, *verdict.others)


def _lost(facts: Facts) -> float:
    """Share of a package's work that its clock costs, compared with the clock of all cores together."""
    everyone, single = facts.number("TurboAll"), facts.number("Turbo1") or facts.top_mhz
    if facts.loaded_share is not None:
        shared = everyone / single if everyone and single else 1.0
        return max(0.0, 1.0 - facts.loaded_share / min(1.0, shared))
    possible = facts.possible_mhz
    if facts.mhz is None or not possible:
        return _UNKNOWN_LOSS
    return max(0.0, 1.0 - facts.mhz / possible)


def _weight(moment: JudgedFrame, facts: Facts) -> float:
    """A package's share of the machine's work."""
    total = math.fsum(verdict.facts.busy or 0.0 for verdict in moment.limits)
    return (facts.busy or 0.0) / total if total else 1.0 / max(1, len(moment.limits))


def _is_open(verdict: LimitVerdict, evidence: Collection[ColumnId]) -> bool:
    """Whether a package may be held back without being seen to be."""
    facts = verdict.facts
    return verdict.state is LimitState.UNKNOWN or (
        verdict.state is LimitState.FREE and facts.slow and all(facts.cells.get(name) is None for name in evidence))


def _held_by(holders: Collection[Holder],
             evidence: Collection[ColumnId]) -> Callable[[JudgedFrame], Observed | NoFinding]:
    """Make the judgement of a rule: whether one of these holders limits a package."""

    def judge(moment: JudgedFrame) -> Observed | NoFinding:
        held = [(verdict, hold) for verdict in moment.limits for hold in _holds(verdict) if hold.holder in holders
                and (verdict.facts.busy is None or verdict.facts.busy >= _WORKING)]
        if not held:
            unseen = not moment.limits or any(_is_open(verdict, evidence) for verdict in moment.limits)
            return NoFinding.UNKNOWN if unseen else NoFinding.CLEAR
        parts = {verdict.row: _weight(moment, verdict.facts) * _lost(verdict.facts) * hold.share
                 for verdict, hold in held}
        worst, hold = max(held, key=lambda pair: parts[pair[0].row])
        lost = math.fsum(parts.values())
        if lost < _LEAST and hold.sure is EvidenceKind.INFERRED:
            return NoFinding.CLEAR
        more = len(parts) - 1
        also = f"; {more} more {'package is' if more == 1 else 'packages are'}" if more else ""
        return Observed(max(_LEAST, min(1.0, lost)), opening(holding(worst, hold)) + also, _SURE[hold.sure], worst.row,
                        remedy=_HIGHER if hold.holder is Holder.POLICY else "")

    return judge


def _below_base(moment: JudgedFrame) -> Observed | NoFinding:
    if any(_holds(verdict) for verdict in moment.limits):
        return NoFinding.CLEAR  # the finding about the holder reports it
    observations = [observed for observed in (_slow_clock(moment, verdict) for verdict in moment.limits)
                    if observed is not None]
    if not observations:
        return NoFinding.CLEAR if moment.limits and all(map(_has_clocks, moment.limits)) else NoFinding.UNKNOWN
    worst, more = max(observations, key=lambda observed: observed.lost), len(observations) - 1
    also = f"; {more} more {'package is' if more == 1 else 'packages are'} as slow" if more else ""
    return replace(worst, lost=min(1.0, math.fsum(observed.lost for observed in observations)),
                   sentence=worst.sentence + also)


def _has_clocks(verdict: LimitVerdict) -> bool:
    """Whether a package's clock can be compared with one that it should reach."""
    facts = verdict.facts
    return None not in (facts.mhz, facts.busy) and bool(facts.base_mhz or facts.loaded_share is not None)


def _slow_clock(moment: JudgedFrame, verdict: LimitVerdict) -> Observed | None:
    """A package whose busy CPUs are slower than its base clock, or far below what they can reach."""
    facts = verdict.facts
    mhz, base, top, busy = facts.mhz or 0.0, facts.base_mhz or 0.0, facts.possible_mhz or 0.0, facts.busy or 0.0
    fastest = mhz if facts.fastest is None else max(mhz, facts.fastest[0])
    name, rest = f"Package {facts.row.key[0]}", f"while {busy:.0f} % busy, and nothing readable says why"
    if busy < _HARD:
        return None
    if fastest < _BELOW_BASE * base:
        return Observed(_weight(moment, facts) * (1.0 - mhz / base),
                        f"{name} runs at {mhz:,.0f} MHz, below its base clock of {base:,.0f}, {rest}",
                        Certainty.LIKELY, facts.row)
    share = facts.loaded_share
    if verdict.state is LimitState.UNKNOWN and share is not None and share < _FAR_BELOW:
        return Observed(_weight(moment, facts) * (1.0 - share), f"{name} runs at {mhz:,.0f} of {top:,.0f} MHz {rest}",
                        Certainty.POSSIBLE, facts.row)
    return None


def _firmware(moment: JudgedFrame) -> Observed | NoFinding:
    counts, seconds = moment.numbers("SMI"), moment.frame.seconds
    if not counts or not seconds:
        return NoFinding.UNKNOWN
    spans: Mapping[RowId, float | None] = {}
    if "smi" in moment.frame.capabilities.signals:  # a CPU that answered late has the count of more than the interval
        spans = dict(zip(moment.frame.rows(Scope.CPU), moment.frame.spans("smi"), strict=True))
    rate = max(count / (spans.get(row) or seconds) for row, count in counts.items())
    if rate < _SMI:
        return NoFinding.CLEAR
    return Observed(min(1.0, rate * _SMI_SECONDS), f"Firmware interrupts every CPU {rate:,.0f} times a second (SMI)",
                    Certainty.POSSIBLE)


def _idle_exits(moment: JudgedFrame) -> Observed | NoFinding:
    leaving, load = moment.number("IdleExit%"), moment.load
    if leaving is None or load is None:
        return NoFinding.UNKNOWN
    if leaving < _LEAVING or load < _LOADED:
        return NoFinding.CLEAR
    lost = min(_MOST_BY_EXITS, leaving / (leaving + load))
    return Observed(lost, f"CPUs take up to {leaving:.0f} % of their time to leave idle states, and work for "
                          f"{load:.0f} %: each wake-up waits for that", Certainty.POSSIBLE)


_CLOCKS: Final[tuple[tuple[ColumnId, ...], ...]] = (("Busy%", "Load%"), ("Bzy_MHz", "CurMHz"))
_SOURCE: Final = "clock and limits"


def _rule(name: str, cause: str, holders: tuple[Holder, ...], remedy: str,
          *needs: tuple[ColumnId, ...]) -> SlownessRule:
    named = {name for group in (*_CLOCKS, *needs) for name in group}
    wants = tuple(name for name in (*limits.COLUMNS, *limits.STAND_INS.values()) if name not in named)
    names = [name for group in needs for name in group]
    return SlownessRule(name, cause, (*_CLOCKS, *needs), _held_by(holders, names), _SOURCE, "4", remedy, RankedBy.CPU,
                        wants, decides_from=_HARD)


RULES: Final[tuple[SlownessRule, ...]] = (
    _rule("power-limit", "a power limit", tuple(POWER_HOLDERS),
          "turbotui info shows the limits, powercap-info -p intel-rapl their zones. Fewer busy cores or narrower "
          "vectors leave more for each", ("PKG_%", "Throttle", "PkgWatt")),
    _rule("heat", "heat", (Holder.PROCHOT, Holder.HEAT, Holder.REGULATOR),
          "Look at fans, filters and air: sensors shows them, ipmitool sensor on servers",
          ("PkgThr%", "PkgThr", "Throttle", "PkgTmp", "CoreTmp")),
    _rule("current-limit", "a limit of current", (Holder.CURRENT,),
          "The board's regulators give no more: firmware settings (TDC, EDC) or fewer busy cores help", ("Throttle",)),
    _rule("firmware-limit", "a limit that the processor does not name", (Holder.OTHER,),
          "Firmware or the board asks for less: look at its power and thermal profiles", ("Throttle",)),
    _rule("governor", "a clock that settings keep down", (Holder.POLICY, Holder.PREFERENCE),
          "cpupower frequency-set -g performance asks for the highest clock; on a laptop powerprofilesctl set "
          "performance",
          ("MaxMHz", "Governor", "EPP")),
    SlownessRule("below-base", "clocks below the base clock, or far below the highest",
                 (*_CLOCKS, ("BaseMHz", "TopMHz")), _below_base,
                 _SOURCE, "4",
                 "turbotui info shows limits and settings; dmesg | grep -i -e throttl -e power may name the reason",
                 RankedBy.CPU, decides_from=_HARD),
    SlownessRule("idle-exits", "time to leave idle states", (("IdleExit%",), ("Load%", "Busy%")), _idle_exits,
                 "idle exits", "1", "cpupower idle-set -D 50 keeps CPUs out of states that take more than 50 us to "
                 "leave; a program can hold /dev/cpu_dma_latency open", RankedBy.WAKES, costly=True,
                 decides_from=NEVER),
    SlownessRule("smi", "time that firmware takes", (("SMI",),), _firmware, "SMI counts", "1",
                 "A firmware update, or its settings for power and USB legacy support, make such interrupts fewer",
                 decides_from=NEVER),
)
