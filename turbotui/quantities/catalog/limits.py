"""The limit-reason and thermal-status registers in words: why a package or core runs slower than it could.

A state bit holds at the instant of reading; its log bit stays set from the first event until something clears it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from turbotui.dataclass import dataclass
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Value
from turbotui.quantities.facts import FactFile, FactRows
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

LIMIT_REASONS: Final = FactFile("quantities/limit_reasons.toml")
_NOTHING = "none"
_DOCUMENT = "Intel SDM vol. 4, MSR 0x1B1, 0x19C, 0x690, 0x64F, 0x6B0, 0x6B1"


@dataclass(frozen=True, slots=True)
class LimitBits:
    """The words for the bits of one register, a table of `LIMIT_REASONS`."""

    register: str  # its address and name
    document: str  # where its bits are defined
    words: tuple[tuple[int, str], ...]  # a state bit and its word, in the order shown
    log: int  # distance in bits from a state bit up to its log bit
    prefix: str = ""  # word before each reason if the register does not describe the cores' limit

    def words_of(self, *, logged: bool) -> Mapping[int, str]:
        """The word for each state bit, or for each log bit."""
        shift = self.log if logged else 0
        return {bit + shift: f"{self.prefix}{word}" for bit, word in self.words}


def limit_bits(signal: SignalId) -> LimitBits:
    """The bits of the register that a signal reads."""
    return LIMIT_REASONS.row(LimitBits, signal, LIMIT_REASONS.find(signal) or {}, words=_pairs)


def _pairs(value: object) -> tuple[tuple[int, str], ...]:
    return tuple((int(bit), str(word)) for bit, word in cast("Sequence[tuple[int, str]]", value))


_STATES: Final = FactRows(LIMIT_REASONS, lambda signal: limit_bits(signal).words_of(logged=False))
_LOGS: Final = FactRows(LIMIT_REASONS, lambda signal: limit_bits(signal).words_of(logged=True))
"""The words of each register by bit, read when a register with them is read: most machines lack most of them."""
_PACKAGE, _CORE = "reasons.pkg", "reasons.core"
_LIMITS: tuple[SignalId, ...] = (
    "reasons.hsw.core", "reasons.hsx.core", "reasons.hsw.gfx", "reasons.hsw.ring",
    "reasons.skl.core", "reasons.skl.gfx", "reasons.skl.ring",
)


def _reasons(signals: tuple[SignalId, ...], words: Mapping[SignalId, Mapping[int, str]]) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        reasons: dict[str, None] = {}  # each once, in the order of the tables
        known = False
        for signal in signals:
            if (bits := row.value(signal)) is not None:
                known = True
                reasons.update(dict.fromkeys(word for bit, word in words[signal].items() if int(bits) >> bit & 1))
        return (" ".join(reasons) or _NOTHING) if known else None

    return compute


def _column(title: str, scope: Scope, signals: tuple[SignalId, ...], formula: str, help_text: str, *,
            logged: bool = False, default: bool = False) -> CounterColumn:
    words = _LOGS if logged else _STATES
    return CounterColumn(id=title, category=Category.THERMAL, scope=scope, unit="", decimals=-1, needs=signals[:1],
        wants=signals[1:], compute=_reasons(signals, words), formula=formula, help=help_text, document=_DOCUMENT,
        width=12, priority=7, default=default, extra=True, bits=words)


_WHOLE = (_PACKAGE, *_LIMITS)
_LICENCES = ("licence.0", "licence.1", "licence.2")


def _licence(level: int) -> Callable[[Inputs], Value]:
    def compute(row: Inputs) -> Value:
        none, first, second = (row.delta(name) for name in _LICENCES)
        if none is None or first is None or second is None:
            return None
        cycles = none + first + second
        return 100 * (first, second)[level - 1] / cycles if cycles else None

    return compute


def _licence_column(level: int, what: str) -> CounterColumn:
    return CounterColumn(
        id=f"Lic{level}%", category=Category.FREQUENCY, scope=Scope.CPU, unit="%", decimals=2, needs=_LICENCES,
        compute=_licence(level),
        help=f"Share of the cycles in which the core had its power licence of level {level}, {what}: turbo is lower "
        "then than without dense vectors, for as long as they are executed and a little longer.",
        document="Intel perfmon, CORE_POWER.LVL0_TURBO_LICENSE to LVL2", width=6, priority=7, default=False, extra=True,
        scale=PERCENT,
    )


LICENCE_COLUMNS = (_licence_column(1, "for dense AVX2 and light AVX-512"), _licence_column(2, "for dense AVX-512"))

CORE_COLUMNS = (
    _column("CoreLimit", Scope.CORE, (_CORE,), "state bits of MSR 0x19C",
            "What holds the core back at the instant of reading; none where nothing does."),
    _column("CoreLog", Scope.CORE, (_CORE,), "log bits of MSR 0x19C",
            "What has held the core back at any time since the log bits were cleared.", logged=True),
)

PACKAGE_COLUMNS = (
    _column("Throttle", Scope.PACKAGE, _WHOLE, "state bits of MSR 0x1B1, and 0x690 or 0x64F, 0x6B0, 0x6B1",
            "What holds the package back at the instant of reading: PL1 and PL2 are the power limits, PROCHOT a "
            "signal from outside or heat, GFX: and Ring: what holds back graphics and ring.", default=True),
    _column("ThrLog", Scope.PACKAGE, _WHOLE, "log bits of MSR 0x1B1, and 0x690 or 0x64F, 0x6B0, 0x6B1",
            "What has held the package back at any time since the log bits were cleared.", logged=True),
)
