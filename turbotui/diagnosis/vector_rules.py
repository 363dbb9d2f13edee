"""The rule about turbo lost to dense vectors: Intel's cores have lower turbo schedules for AVX2, AVX-512 and AMX.

There are two kinds of evidence. Cores from Skylake to Ice Lake count the cycles on each schedule. Later ones only show
CPUs that never pause and stay below the clock that all cores together can reach, without a reported limit and with many
512-bit instructions. That is a guess, and is ranked as one. AVX-512 state of a task in the kernel
(/proc/PID/arch_status) is no evidence, because glibc's string functions leave such state behind in every program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.limits import AT_CLOCK, EvidenceKind, LimitState
from turbotui.diagnosis.rules import NEVER, Certainty, JudgedFrame, NoFinding, Observed, RankedBy, SlownessRule
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import Scope

_LICENSED: Final = 20.0  # percent of the cycles; less costs less than a clock bin
_WORKING: Final = 20.0  # percent busy from which a package's clock matters
_UNKNOWN_LOSS: Final = 0.1  # share of the work on a licence, if the clock cannot be read
_DENSE: Final = 0.02  # 512-bit instructions a cycle; with fewer a core runs as fast as with scalar ones
_SCHEDULES: Final[Mapping[ColumnId, str]] = {"Lic1%": "AVX2", "Lic2%": "AVX-512"}


def _judge(moment: JudgedFrame) -> Observed | NoFinding:
    known = [verdict for verdict in moment.limits if verdict.facts.busy is not None]
    look = next((look for name, look in _EVIDENCE if moment.can(name)), None)
    if not known or look is None:
        return NoFinding.UNKNOWN
    observations = [look(moment, verdict) for verdict in known if _is_slow(verdict)]
    slow = [observation for observation in observations if observation is not None]
    if not slow:
        return NoFinding.CLEAR if len(known) == len(moment.limits) else NoFinding.UNKNOWN
    busy = {verdict.row: verdict.facts.busy or 0.0 for verdict in known}
    lost = math.fsum(observed.lost * busy[observed.row] for observed in slow) / max(1.0, math.fsum(busy.values()))
    worst, more = max(slow, key=lambda observed: observed.lost), len(slow) - 1
    also = f"; {more} more {'package is' if more == 1 else 'packages are'} as slow" if more else ""
    return replace(worst, lost=min(1.0, lost), sentence=worst.sentence + also)


def _is_slow(verdict: LimitVerdict) -> bool:
    """Whether a package works below the clock of all its cores without a known limit."""
    facts = verdict.facts
    everyone, mhz = facts.number("TurboAll"), facts.mhz
    holds = () if verdict.hold is None else (verdict.hold, *verdict.others)
    # an inferred limit does not count: the vectors may cause it
    held = verdict.state is LimitState.HELD and any(hold.sure is not EvidenceKind.INFERRED for hold in holds)
    fast = everyone is not None and mhz is not None and mhz >= AT_CLOCK * everyone
    return not held and not fast and (facts.busy or 0.0) >= _WORKING


def _by_licences(moment: JudgedFrame, verdict: LimitVerdict) -> Observed | None:
    """Judge by the cycles that the cores count on each schedule."""
    facts = verdict.facts
    everyone, mhz, name = facts.number("TurboAll"), facts.mhz, f"Package {facts.row.key[0]}"
    shares = {licence: moment.number(licence, row=facts.row) or 0.0 for licence in _SCHEDULES}
    share = math.fsum(shares.values())
    if share < _LICENSED:
        return None
    schedule = _SCHEDULES[max(shares, key=lambda licence: shares[licence])]
    took = f"turbo is lower for dense vectors in {share:.0f} % of its cycles, mostly by the schedule for {schedule}"
    if everyone is None or mhz is None:
        return Observed(_UNKNOWN_LOSS * share / 100.0, f"{name}: {took}", Certainty.POSSIBLE, facts.row)
    return Observed((1.0 - mhz / everyone) * share / 100.0, f"{name} runs at {mhz:,.0f} of {everyone:,.0f} MHz: {took}",
                    Certainty.LIKELY, facts.row)


def _by_instructions(moment: JudgedFrame, verdict: LimitVerdict) -> Observed | None:
    """Judge by 512-bit instructions, and CPUs without a pause that stay below the clock of all cores."""
    facts = verdict.facts
    rate, everyone, mhz = moment.number("V512/s", row=facts.row), facts.number("TurboAll"), facts.mhz
    top, loaded = facts.number("Turbo1") or facts.top_mhz, facts.loaded_share
    if verdict.state is not LimitState.FREE or rate is None or mhz is None or not (everyone and top and loaded):
        return None
    cpus = len(moment.frame.topology.parts(facts.row, Scope.CPU))
    cycles = mhz * 1e6 * cpus * (facts.busy or 0.0) / 100.0
    if loaded * top >= AT_CLOCK * everyone or not cycles or rate < _DENSE * cycles:
        return None
    return Observed(1.0 - mhz / everyone, f"Package {facts.row.key[0]} runs at {mhz:,.0f} of {everyone:,.0f} MHz, no "
                    f"limit is reported, and {rate / cycles:.2f} 512-bit operations are executed in each cycle: turbo "
                    "is lower for dense vectors", Certainty.POSSIBLE, facts.row)


_EVIDENCE: Final[tuple[tuple[ColumnId, Callable[[JudgedFrame, LimitVerdict], Observed | None]], ...]] = (
    ("Lic2%", _by_licences), ("V512/s", _by_instructions),
)
"""The ways to judge, the most certain first."""

VECTORS: Final = SlownessRule(
    "vectors", "turbo that AVX-512, AMX or dense AVX2 takes",
    (("Busy%", "Load%"), tuple(name for name, _ in _EVIDENCE)), _judge,
    "vector use", "6",
    "Dense code gains all the same: it is its neighbours that lose, so keep them on other cores (taskset). gcc and "
    "clang take -mprefer-vector-width=256, oneMKL MKL_ENABLE_INSTRUCTIONS=AVX2", RankedBy.VECTORS,
    ("Lic1%", "Bzy_MHz", "TurboAll", "Turbo1", "TopMHz", "Throttle", "PKG_%"), costly=True, decides_from=NEVER,
)
