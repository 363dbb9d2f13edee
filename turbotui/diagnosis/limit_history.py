"""Verdicts on packages: what holds them back now, and what did in the last minute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.dataclass import dataclass
from turbotui.diagnosis.limits import (
    AT_CLOCK,
    POWER_HOLDERS,
    EvidenceKind,
    Facts,
    Hold,
    Holder,
    LimitState,
    prefers_less,
)
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.scope import RowId
from turbotui.quantities.unavailable import Unavailable

KEPT = 60
"""Intervals over which shares of time are computed."""

_IDLE = 3.0  # percent busy below which a package is said to be idle
_MANY = 50.0  # percent busy from which the turbo clock of all cores applies
_NOTABLE = 0.25  # share of the interval; a shorter limit is already over, and counts only for the share of the time


def general(holder: Holder) -> Holder:
    """Return the holder under which shares of time are added up: POWER for every power limit."""
    return Holder.POWER if holder in POWER_HOLDERS else holder


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """What holds one package back now, and for which share of the time it did."""

    facts: Facts  # its numbers in this interval
    state: LimitState  # in a word
    hold: Hold | None  # what holds it back now; None if nothing does or it is unknown
    others: tuple[Hold, ...]  # other current limits
    # share of the last `window` seconds for which `hold`, or any power limit if it is one, held the package back
    share: float
    window: float  # seconds observed, up to `KEPT` intervals
    # the holder of the last `window` seconds that is absent now, with its share
    earlier: tuple[Holder, float] | None = None
    # a column and value by which the kernel asks for less, if that may be the reason
    setting: tuple[ColumnId, str] | None = None

    @property
    def row(self) -> RowId:
        """The row of the package."""
        return self.facts.row

    @property
    def weight(self) -> tuple[int, float, float]:
        """Rank of the verdict: the package with the greatest rank needs attention most."""
        rank = {LimitState.HELD: 3, LimitState.UNKNOWN: 2, LimitState.AT_TOP: 1, LimitState.FREE: 1,
                LimitState.IDLE: 0}[self.state]
        return rank, self.share, self.facts.busy or 0.0

    def missing_evidence(self) -> tuple[tuple[str, Unavailable], ...]:
        """The kinds of evidence that this machine lacks, with reasons."""
        asked = (("throttle reasons", "Throttle"), ("power", "PkgWatt"), ("power limits", "PL1"),
                 ("temperature", "PkgTmp"), ("clock", "Bzy_MHz"))
        known = {"clock"} if self.facts.mhz is not None else set()
        if self.facts.celsius is not None:
            known.add("temperature")
        return tuple((what, self.facts.why[name]) for what, name in asked
                     if name in self.facts.why and what not in known)


def _shares(past: Iterable[tuple[float, Sequence[Hold]]]) -> tuple[float, dict[Holder, float]]:
    """Seconds observed, and the share of each holder; POWER has the share of all power limits."""
    window, spent = 0.0, dict[Holder, float]()
    for seconds, holds in past:
        window += seconds
        most: dict[Holder, float] = {}  # several power limits in one interval count once
        for hold in holds:
            holder = general(hold.holder)
            most[holder] = max(most.get(holder, 0.0), hold.share)
        for holder, share in most.items():
            spent[holder] = spent.get(holder, 0.0) + share * seconds
    return window, {holder: seconds / window for holder, seconds in spent.items()} if window else {}


def limit_verdict(facts: Facts, now: Sequence[Hold], past: Iterable[tuple[float, Sequence[Hold]]]) -> LimitVerdict:
    """Judge a package by its numbers and limits in an interval.

    Args:
        past: seconds and limits of the intervals up to this one, itself included.
    """
    window, shares = _shares(past)
    holds = tuple(hold for hold in now if hold.share >= _NOTABLE)
    busy = facts.busy
    idle = busy is not None and busy < _IDLE
    if holds and not (idle and all(hold.sure is EvidenceKind.SETTING for hold in holds)):
        first = holds[0]
        return LimitVerdict(facts, LimitState.HELD, first, holds[1:],
                            shares.get(general(first.holder), first.share), window)
    earlier = max(((holder, share) for holder, share in shares.items() if share >= 0.01), default=None,
                  key=lambda pair: pair[1])
    state, setting = unheld(facts, idle=idle)
    hold = None
    if setting is not None:
        hold, state = Hold(Holder.PREFERENCE, EvidenceKind.INFERRED, 1.0, setting[0]), LimitState.HELD
    return LimitVerdict(facts, state, hold, (), 1.0 if hold else 0.0, window, earlier, setting)


def unheld(facts: Facts, *, idle: bool) -> tuple[LimitState, tuple[ColumnId, str] | None]:
    """The clock of a package that no known limit holds back, and the setting that may be the reason."""
    if facts.busy is None or facts.mhz is None:
        return LimitState.UNKNOWN, None
    if idle:
        return LimitState.IDLE, None
    fastest = facts.mhz if facts.fastest is None else facts.fastest[0]
    single, everyone = facts.number("Turbo1") or facts.top_mhz, facts.number("TurboAll")
    if (single is not None and fastest >= AT_CLOCK * single) or (everyone is not None
            and facts.mhz >= AT_CLOCK * everyone and facts.busy >= _MANY):
        return LimitState.AT_TOP, None
    if not facts.slow and (facts.loaded_share is not None or not facts.loaded):
        return LimitState.FREE, None
    setting = prefers_less(facts) if facts.slow else None
    return LimitState.FREE if setting is not None or facts.well_known else LimitState.UNKNOWN, setting
