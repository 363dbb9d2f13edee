"""Why a package is not faster: what holds it back in an interval, how that is known, and for how long.

Evidence, best first: time counted by the processor, a state bit at the instant of reading, a log bit set since the last
    reading, settings of the kernel, and inference from power and temperature near their limits. Inferred limits are
    marked as such. Nothing here knows Textual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum

from turbotui.dataclass import dataclass
from turbotui.quantities.catalog.power import NO_LIMIT_WATTS
from turbotui.quantities.columns import ColumnId, CounterColumn, Value
from turbotui.quantities.scope import RowId
from turbotui.quantities.unavailable import Unavailable

COLUMNS: tuple[ColumnId, ...] = (
    "Busy%", "Bzy_MHz", "BaseMHz", "TopMHz", "MaxMHz", "Turbo1", "TurboAll", "Governor", "EPP", "PkgWatt", "PL1", "PL2",
    "PL4", "TDP", "PKG_%", "PkgTmp", "TjMax", "PkgThr", "PkgThr%", "Throttle", "ThrLog", "CoreLimit", "CoreLog",
)
"""The columns behind a verdict, as far as available."""

STAND_INS: Mapping[ColumnId, ColumnId] = {"Busy%": "Load%", "Bzy_MHz": "CurMHz", "PkgTmp": "CoreTmp"}
"""Columns read in place of unavailable ones; reading both would add cost without information."""

HEAT: tuple[ColumnId, ...] = ("PkgTmp", "CoreTmp")
"""Temperature of a package's hottest sensor, best column first."""

WORKING = 20.0
"""Percent busy from which a CPU's clock is meaningful."""

AT_CLOCK = 0.97
"""Share of a clock that counts as having reached it; bins are 100 MHz wide."""

_LOW_CLOCK = 0.9  # share of the possible clock
_AT_POWER = 0.95  # share of a limit: the control loop stays slightly below it
_NEAR_TJ = 2.0  # °C below tj_max: readouts are whole degrees
_LEAST_SHARE = 0.005  # share of an interval; less is noise of two time stamps
_ASKS_FOR_LESS = frozenset({"power", "balance_power"})  # kernel intel_pstate.rst, energy performance preferences
_SLOW_GOVERNORS = frozenset({"powersave", "userspace", "conservative"})  # cpufreq.rst
_EPP_SAVES = 192  # of 255: the value that intel_pstate writes for balance_power (kernel intel_pstate.c)


class Holder(Enum):
    """A limit that can hold a package back, in words that follow "by"."""

    PROCHOT = "PROCHOT: heat, or a signal from outside the processor"
    HEAT = "heat"
    REGULATOR = "hot voltage regulators"
    CURRENT = "a limit of current"
    PL2 = "PL2"
    PL1 = "PL1"
    POWER = "a power limit"
    OTHER = "an electrical or other limit that the processor does not name"
    POLICY = "the highest clock that cpufreq allows"
    PREFERENCE = "a setting that saves energy"


POWER_HOLDERS = frozenset({Holder.PL1, Holder.PL2, Holder.POWER})
"""Holders whose shares of time are combined, because it is not always known which of them acted."""


class EvidenceKind(Enum):
    """The kind of evidence for a verdict, as a sentence."""

    COUNTED = "the processor or the kernel counted the time"
    STATE = "the processor's state bit at the instant of reading, once an interval"
    EVENTS = "the kernel counted it happening in this interval, but not for how long"
    LOG = "the processor's log bit was set since the reading before"
    SETTING = "the kernel's setting, and clocks that reach it"
    INFERRED = "inferred from numbers near their limits: no bit and no counter says so here"


class LimitState(Enum):
    """State of a package: held back, not held back, or unknown."""

    HELD = "held"
    AT_TOP = "at its highest clock"
    FREE = "free"
    IDLE = "idle"
    UNKNOWN = "cannot be told"


# Words of the columns Throttle, ThrLog, CoreLimit and CoreLog (quantities.catalog.limits). Those of graphics and ring
# slow no core; turbo limits and transitions are how turbo works; the rest says nothing of the cause.
WORDS: Mapping[str, Holder] = {
    "PL1": Holder.PL1, "PL2": Holder.PL2, "PowerLimit": Holder.POWER, "PowerBudget": Holder.POWER,
    "CorePwr": Holder.POWER, "Thermal": Holder.HEAT, "Critical": Holder.HEAT, "AvgThermal": Holder.HEAT,
    "PROCHOT": Holder.PROCHOT, "VR-Therm": Holder.REGULATOR, "VR-TDC": Holder.CURRENT, "Amps": Holder.CURRENT,
    "CurrentLimit": Holder.CURRENT, "Platform": Holder.OTHER, "Other": Holder.OTHER,
}


_NAMED = {"PL1": Holder.PL1, "PL2": Holder.PL2}


@dataclass(frozen=True, slots=True)
class Hold:
    """A limit that holds a package back in one interval."""

    holder: Holder
    sure: EvidenceKind
    share: float  # share of the interval, 0 to 1; 1 if unknown
    evidence: ColumnId  # the column that shows it


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers of one package in one interval, each None if unknown."""

    row: RowId  # the package
    cells: Mapping[ColumnId, Value]  # columns of the package, without stand-ins for known ones
    fastest: tuple[float, RowId] | None  # MHz and row of the fastest working CPU
    # the greatest share of its own highest clock that a CPU reaches which hardly ever idles, and so would use more
    loaded_share: float | None
    # base_mhz, top_mhz, cap_mhz: greatest base clock, highest clock and cpufreq limit of its CPUs
    base_mhz: float | None
    top_mhz: float | None
    cap_mhz: float | None
    why: Mapping[ColumnId, Unavailable]  # why a column has no value, by column id
    # the columns of `cells` by id, which know the user's unit
    columns: Mapping[ColumnId, CounterColumn] = field(default_factory=dict)
    loaded: bool = False  # whether any CPU hardly ever idles

    def amount(self, *names: ColumnId, unit: bool = True) -> str:
        """The first known of these columns, in the user's unit; "" if none is known."""
        for name in names:
            value = self.cells.get(name)
            if isinstance(value, (int, float)):
                return self.columns[name].amount(value, unit=unit)
        return ""

    def number(self, *names: ColumnId) -> float | None:
        """The first known number of these columns."""
        for name in names:
            value = self.cells.get(name)
            if isinstance(value, (int, float)):
                return value
        return None

    def words(self, *names: ColumnId) -> frozenset[str] | None:
        """The combined words of these columns; None if none is known."""
        texts = [value for name in names if isinstance(value := self.cells.get(name), str)]
        return frozenset(word for text in texts for word in text.split()) if texts else None

    def limit(self, name: ColumnId) -> float | None:
        """A power limit in watts; None if there is none, which may be written as an impossibly large number."""
        watts = self.number(name)
        return None if watts is None or not 0 < watts < NO_LIMIT_WATTS else watts

    @property
    def busy(self) -> float | None:
        """Percent of the interval in which the package's CPUs worked."""
        return self.number("Busy%", "Load%")

    @property
    def mhz(self) -> float | None:
        """Mean clock of the package's CPUs while not idle."""
        return self.number("Bzy_MHz", "CurMHz")

    @property
    def celsius(self) -> float | None:
        """Temperature of the package's hottest sensor."""
        return self.number(*HEAT)

    @property
    def well_known(self) -> bool:
        """Whether the processor would report a limit."""
        return self.words("Throttle") is not None or self.number("PKG_%") is not None

    @property
    def slow(self) -> bool:
        """Whether CPUs that hardly ever idle stay clearly below the clock that all cores together can reach."""
        everyone, single = self.number("TurboAll"), self.number("Turbo1") or self.top_mhz
        shared = everyone / single if everyone is not None and single else 1.0
        return self.loaded_share is not None and self.loaded_share < _LOW_CLOCK * shared

    @property
    def possible_mhz(self) -> float | None:
        """The clock that all cores together can reach, or that of a single core if only that is known."""
        return self.number("TurboAll", "Turbo1") or self.top_mhz


def holds_of(facts: Facts, before: Facts | None) -> tuple[Hold, ...]:
    """All limits of a package in an interval, the weightiest first.

    Args:
        facts: of this interval.
        before: facts of the interval directly before; None if it was not seen, when log bits say nothing new.

    Returns:
        Each holder once, with its best evidence.
    """
    holds: dict[Holder, Hold] = {}
    for hold in (*_counted(facts), *_bits(facts, before), *_settings(facts), *_inferred(facts)):
        holds.setdefault(hold.holder, hold)
    if Holder.PL1 in holds or Holder.PL2 in holds:
        holds.pop(Holder.POWER, None)
    order = list(Holder)
    return tuple(sorted(holds.values(), key=lambda hold: (-round(hold.share, 2), order.index(hold.holder))))


def _counted(facts: Facts) -> Iterable[Hold]:
    percent = facts.number("PkgThr%")
    if percent is not None and percent > 100 * _LEAST_SHARE:
        yield Hold(Holder.HEAT, EvidenceKind.COUNTED, min(1.0, percent / 100), "PkgThr%")
    elif percent is None and facts.number("PkgThr"):
        yield Hold(Holder.HEAT, EvidenceKind.EVENTS, 1.0, "PkgThr")
    percent = facts.number("PKG_%")
    if percent is not None and percent > 100 * _LEAST_SHARE:
        yield Hold(_which_power(facts), EvidenceKind.COUNTED, min(1.0, percent / 100), "PKG_%")


def _which_power(facts: Facts) -> Holder:
    """The active power limit: by its bit, otherwise by watts close to a limit, otherwise unknown."""
    for known in (facts.words("Throttle"), facts.words("ThrLog")):
        named = [holder for word, holder in _NAMED.items() if word in (known or ())]
        if len(named) == 1:  # two log bits do not show which of the two limits it was this time
            return named[0]
    watts, first, second = facts.number("PkgWatt"), facts.limit("PL1"), facts.limit("PL2")
    if watts is not None and second is not None and watts >= _AT_POWER * second:
        return Holder.PL2
    if watts is not None and first is not None and _AT_POWER * first <= watts <= (2.0 - _AT_POWER) * first:
        return Holder.PL1
    return Holder.POWER


def _bits(facts: Facts, before: Facts | None) -> Iterable[Hold]:
    counted = facts.number("PKG_%")
    for state, log in (("Throttle", "ThrLog"), ("CoreLimit", "CoreLog")):
        now = facts.words(state) or frozenset()
        logged = facts.words(log) or frozenset()
        earlier = None if before is None else before.words(log)
        fresh = frozenset() if earlier is None else logged - earlier
        if not now and not fresh:
            continue
        for word, holder in WORDS.items():
            named = _which_power(facts) if holder is Holder.POWER else holder
            by_power = named in POWER_HOLDERS
            if by_power and counted:
                continue  # the counter gives the time
            # A counter that stands still may not exist on this model, so a state bit is believed; a log bit beside it
            # can only mean less time than the counter resolves.
            if word in now:
                yield Hold(named, EvidenceKind.STATE, 1.0, state)
            elif word in fresh and not (by_power and counted is not None):
                yield Hold(named, EvidenceKind.LOG, 1.0, log)


def _settings(facts: Facts) -> Iterable[Hold]:
    cap, top, fastest = facts.cap_mhz, facts.top_mhz, facts.fastest
    if cap is None or top is None or fastest is None:
        return
    if cap < AT_CLOCK * top and fastest[0] >= AT_CLOCK * cap:
        yield Hold(Holder.POLICY, EvidenceKind.SETTING, 1.0, "MaxMHz")


def _inferred(facts: Facts) -> Iterable[Hold]:
    mhz, possible, busy = facts.mhz, facts.possible_mhz, facts.busy
    slow = mhz is not None and possible is not None and mhz < AT_CLOCK * possible
    if not slow or busy is None or busy < WORKING:
        return
    if facts.words("Throttle") is not None:
        return  # the bits would show it
    celsius, hottest = facts.celsius, facts.number("TjMax")
    hot = celsius is not None and hottest is not None and celsius >= hottest - _NEAR_TJ
    if hot and facts.number("PkgThr%") is None:
        yield Hold(Holder.HEAT, EvidenceKind.INFERRED, 1.0, "CoreTmp" if "PkgTmp" in facts.why else "PkgTmp")
    if facts.number("PKG_%") is None and (which := _which_power(facts)) is not Holder.POWER:
        yield Hold(which, EvidenceKind.INFERRED, 1.0, "PkgWatt")


def prefers_less(facts: Facts) -> tuple[ColumnId, str] | None:
    """The setting by which the kernel asks for less than the highest clock, and its value; None if there is none."""
    epp = facts.cells.get("EPP")
    if (isinstance(epp, str) and epp in _ASKS_FOR_LESS) or (isinstance(epp, (int, float)) and epp >= _EPP_SAVES):
        return "EPP", str(epp)
    # cpufreq.rst: pstate drivers have a preference in active mode only, and it decides there; "powersave" is then the
    # normal governor
    governor = facts.cells.get("Governor")
    if epp is None and isinstance(governor, str) and governor in _SLOW_GOVERNORS:
        return "Governor", governor
    return None
